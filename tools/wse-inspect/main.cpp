// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// wse-inspect: looks into .wafer files.
#include "runtime/program/Errors.h"
#include "runtime/program/Loader.h"
#include "runtime/program/NearestNames.h"
#include "tools/wse-inspect/Difference.h"
#include "tools/wse-inspect/Places.h"
#include "tools/wse-inspect/Show.h"
#include "tools/wse-inspect/Sram.h"

#include <algorithm>
#include <cstdio>
#include <new>
#include <string>
#include <vector>

using namespace wsec;
using namespace wsec::inspect;

static const char *const helpText =
    R"(usage: wse-inspect show PROGRAM.wafer [--json]
       wse-inspect sram PROGRAM.wafer [--pe X,Y] [--json]
       wse-inspect where PROGRAM.wafer NODE [--json]
       wse-inspect at PROGRAM.wafer X,Y [--json]
       wse-inspect diff FIRST.wafer SECOND.wafer

Looks into compiled programs without running them.

  show    machine, memory, PE classes with their buffers, routes of each
          color, tensors, streams and launches; --json: all of it, and kernels
          and digests of the code, for other programs
  sram    what lies where in the SRAM of each class, or of one PE: host
          runtime, code, buffers with their ONNX nodes and the launches they
          live in, what is free; a drawing of it over the launches
  where   from an ONNX node (or a kernel) to its launches, PE classes,
          rectangles and buffers
  at      from a PE back: class, buffers, kernels and ONNX nodes, tasks, routes
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

/// As JSON, or as `show` says it.
template <class Show>
static int print(const Json &value, bool json, const Show &show) {
  print(json ? value.dump(2, ' ', false, Json::error_handler_t::replace) + "\n"
             : show(value));
  return 0;
}

static int showSramOf(const std::string &path, const std::string &pe,
                      bool json) {
  const auto loaded = runtime::LoadedProgram::open(path);
  int only = -1;
  if (!pe.empty() && (only = classAt(loaded->program(), pe)) < 0)
    throw PlaceError("PE " + pe + " has no code");
  return print(sramMaps(loaded->program(), only), json, showSram);
}

static int showPlace(const std::string &command, const std::string &path,
                     const std::string &what, bool json) {
  const auto loaded = runtime::LoadedProgram::open(path);
  if (command == "where")
    return print(whereIs(loaded->program(), what), json, showWhere);
  return print(whatIsAt(loaded->program(), what), json, showAt);
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
  std::string pe;
  for (size_t i = 0; i < words.size(); ++i) {
    const bool joined = words[i].starts_with("--pe=");
    if (!joined && (words[i] != "--pe" || i + 1 == words.size()))
      continue;
    pe = joined ? words[i].substr(5) : words[i + 1];
    words.erase(words.begin() + ptrdiff_t(i),
                words.begin() + ptrdiff_t(i) + (joined ? 1 : 2));
  }
  for (const std::string &word : words)
    if (word.starts_with("--"))
      return wrongUsage("there is no flag " + word);
  if (words.empty())
    return wrongUsage("say what to do: show, sram, where, at or diff");
  if (!pe.empty() && words[0] != "sram")
    return wrongUsage("--pe goes with sram");
  if (words[0] == "show")
    return words.size() == 2 ? print(read(words[1]), json, show)
                             : wrongUsage("show wants one program");
  if (words[0] == "sram")
    return words.size() == 2 ? showSramOf(words[1], pe, json)
                             : wrongUsage("sram wants one program");
  if (words[0] == "where" || words[0] == "at")
    return words.size() == 3
               ? showPlace(words[0], words[1], words[2], json)
               : wrongUsage(words[0] == "at"
                                ? "at wants a program and a PE, x,y"
                                : "where wants a program and a node");
  if (words[0] != "diff")
    return wrongUsage("there is no command '" + words[0] + "'" +
                      runtime::nearestNames(
                          words[0], {"show", "sram", "where", "at", "diff"}));
  if (json)
    return wrongUsage("--json goes with show, sram, where and at");
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
