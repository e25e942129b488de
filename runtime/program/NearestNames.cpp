// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/program/NearestNames.h"

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

#include <algorithm>
#include <tuple>

namespace wsec::runtime {

/// Bytes from `at` on that control a terminal: of ASCII one, of Latin 1's
/// controls (U+0080 to U+009F) both of their UTF-8.
static size_t controlBytes(std::string_view text, size_t at) {
  if (absl::ascii_iscntrl(uint8_t(text[at])))
    return 1;
  const bool pair = text[at] == '\xc2' && at + 1 < text.size();
  return pair && uint8_t(text[at + 1]) < 0xa0 ? 2 : 0;
}

std::string printable(std::string_view text) {
  std::string result;
  for (size_t at = 0; at < text.size();) {
    const size_t control = text[at] == '\n' ? 0 : controlBytes(text, at);
    if (control > 0)
      result += absl::CEscape({text.data() + at, control});
    else
      result += text[at];
    at += std::max<size_t>(control, 1);
  }
  return result;
}

std::string inQuotes(std::string_view name) {
  constexpr size_t longest = 200, start = 120, end = 40;
  const auto inside = [&](size_t at) { return (name[at] & 0xc0) == 0x80; };
  std::string shortened(name);
  if (name.size() > longest) {
    // Not within a character of several bytes.
    size_t from = start, to = name.size() - end;
    while (from > 0 && inside(from))
      --from;
    while (to < name.size() && inside(to))
      ++to;
    shortened =
        absl::StrCat(shortened.substr(0, from), " ... ", shortened.substr(to));
  }
  return absl::StrCat(
      "'", absl::StrReplaceAll(printable(shortened), {{"\n", "\\n"}}), "'");
}

/// Insertions, removals and replacements from one word to another; a * of the
/// first is any part of the other.
static size_t distance(const std::string &a, const std::string &b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j)
    row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] += a[i - 1] != '*';
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t above = row[j];
      row[j] = a[i - 1] == '*' ? std::min(above, row[j - 1])
                               : std::min({above + 1, row[j - 1] + 1,
                                           diagonal + (a[i - 1] != b[j - 1])});
      diagonal = above;
    }
  }
  return row[b.size()];
}

std::string nearestNames(const std::string &wanted,
                         std::vector<std::string> names) {
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  if (names.empty())
    return "; there are none";
  auto rank = [&](const std::string &name) {
    // A part of a name is close, however long the rest.
    const bool part = name.find(wanted) != name.npos;
    return std::tuple(!part, part ? name.size() : distance(wanted, name), name);
  };
  std::sort(names.begin(), names.end(),
            [&](const auto &a, const auto &b) { return rank(a) < rank(b); });
  constexpr size_t most = 5;
  std::string text = names.size() > most ? "; nearest:" : "; there is";
  for (size_t i = 0; i < std::min(most, names.size()); ++i)
    absl::StrAppend(&text, i ? ", " : " ", inQuotes(names[i]));
  return text;
}

} // namespace wsec::runtime
