// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/wse-inspect/MapPages.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "runtime/program/NearestNames.h"

#include <fstream>
#include <sstream>
#include <stdexcept>

namespace wsec::inspect {

static std::string escaped(const std::string &text) {
  return absl::StrReplaceAll(
      text, {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\"", "&quot;"}});
}

MapPage readMapPage(const std::string &path) {
  std::ifstream stream(path, std::ios::binary);
  std::ostringstream text;
  if (!stream || !(text << stream.rdbuf()))
    throw std::runtime_error("cannot read " + runtime::inQuotes(path));
  return {path, text.str()};
}

std::string MapPage::placement() const {
  const std::string begin =
      "<script type=\"application/json\" id=\"placement\">";
  const size_t from = text.find(begin);
  const size_t to =
      from == std::string::npos ? from : text.find("</script>", from);
  if (to == std::string::npos)
    throw std::runtime_error(runtime::inQuotes(path) +
                             " is not what wsec --dump-placement=FILE.html "
                             "writes: it holds no placement");
  return text.substr(from + begin.size(), to - from - begin.size());
}

static std::string frame(const MapPage &page) {
  return absl::StrCat("<figure><figcaption>", escaped(page.path),
                      "</figcaption><iframe srcdoc=\"", escaped(page.text),
                      "\"></iframe></figure>\n");
}

std::string sideBySide(const MapPage &first, const MapPage &second,
                       const std::vector<std::string> &differences) {
  std::string items;
  for (const std::string &line : differences)
    absl::StrAppend(&items, "<li>", escaped(runtime::printable(line)),
                    "</li>\n");
  return absl::StrCat(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
      "<title>Two placements</title>\n<style>body { margin: 0; font: 13px "
      "sans-serif; display: flex; flex-direction: column; height: 100vh } "
      "ul { margin: 4px 0; max-height: 22vh; overflow: auto } main { flex: 1; "
      "display: flex; min-height: 0 } figure { flex: 1; margin: 0; display: "
      "flex; flex-direction: column; min-width: 0 } figcaption { padding: 2px "
      "8px; font-weight: bold } iframe { flex: 1; border: 1px solid #999 "
      "}</style></head>\n<body><ul id=\"differences\">\n",
      differences.empty() ? "<li>no difference</li>\n" : items, "</ul><main>\n",
      frame(first), frame(second), "</main></body></html>\n");
}

} // namespace wsec::inspect
