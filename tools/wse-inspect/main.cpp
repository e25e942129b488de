// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// wse-inspect: looks into .wafer files.
#include "runtime/program/Errors.h"
#include "runtime/program/Loader.h"
#include "tools/wse-inspect/Difference.h"
#include "tools/wse-inspect/Show.h"

#include <algorithm>
#include <cstdio>
#include <new>
#include <string>
#include <vector>

using namespace wsec;
using namespace wsec::inspect;

static const char *const helpText =
    R"(usage: wse-inspect show PROGRAM.wafer [--json]
       wse-inspect diff FIRST.wafer SECOND.wafer

Looks into compiled programs without running them.

  show    machine, memory, PE classes with their buffers, routes of each
          color, tensors, streams and launches; --json: all of it, and kernels
          and digests of the code, for other programs
  diff    what differs, a line each, by name: classes, buffers, routes, code

  --help, --version

Exit code: 0 done, for diff: no difference; 1 a file is at fault, for diff: or
the programs differ; 2 wrong usage.
)";

static Json read(const std::string &path) {
  return summarize(runtime::LoadedProgram::open(path)->program());
}

static void print(const std::string &text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
}

static int showProgram(const std::string &path, bool json) {
  Json summary = read(path);
  print(json
            ? summary.dump(2, ' ', false, Json::error_handler_t::replace) + "\n"
            : show(summary));
  return 0;
}

static int diffPrograms(const std::string &first, const std::string &second) {
  std::vector<std::string> lines = differences(read(first), read(second));
  for (const std::string &line : lines)
    print(line + "\n");
  return lines.empty() ? 0 : 1;
}

static int wrongUsage(const std::string &what) {
  std::fprintf(stderr, "wse-inspect: error: %s; see wse-inspect --help\n",
               what.c_str());
  return 2;
}

static int inspectFiles(std::vector<std::string> words) {
  auto take = [&](const char *flag) {
    auto end = std::remove(words.begin(), words.end(), flag);
    bool found = end != words.end();
    words.erase(end, words.end());
    return found;
  };
  if (take("--help")) {
    print(helpText);
    return 0;
  }
  if (take("--version")) {
    print("wse-inspect " WSEC_VERSION "\n");
    return 0;
  }
  bool json = take("--json");
  for (const std::string &word : words)
    if (word.starts_with("--"))
      return wrongUsage("there is no flag " + word);
  if (words.empty())
    return wrongUsage("say what to do: show or diff");
  if (words[0] == "show")
    return words.size() == 2 ? showProgram(words[1], json)
                             : wrongUsage("show wants one program");
  if (words[0] != "diff")
    return wrongUsage("there is no command '" + words[0] + "'");
  if (json)
    return wrongUsage("--json goes with show");
  return words.size() == 3 ? diffPrograms(words[1], words[2])
                           : wrongUsage("diff wants two programs");
}

int main(int argc, char **argv) {
  try {
    return inspectFiles({argv + 1, argv + argc});
  } catch (const std::bad_alloc &) {
    std::fputs("wse-inspect: error: out of memory\n", stderr);
  } catch (const std::exception &error) {
    std::fprintf(stderr, "wse-inspect: error: %s\n", error.what());
  }
  return 1;
}
