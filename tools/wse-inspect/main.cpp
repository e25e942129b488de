// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// wse-inspect: looks into .wafer files.
#include "absl/flags/flag.h"
#include "runtime/host/OutputFiles.h"
#include "runtime/program/Call.h"
#include "runtime/program/Loader.h"
#include "runtime/program/NearestNames.h"
#include "tools/flags/CommandLine.h"
#include "tools/wse-inspect/Difference.h"
#include "tools/wse-inspect/MapPages.h"
#include "tools/wse-inspect/PlacementText.h"
#include "tools/wse-inspect/Places.h"
#include "tools/wse-inspect/ProgramText.h"
#include "tools/wse-inspect/Show.h"
#include "tools/wse-inspect/Sram.h"
#include "tools/wse-inspect/Store.h"

#include <cstdio>
#include <string>
#include <vector>

using namespace wsec;
using namespace wsec::inspect;

ABSL_FLAG(bool, json, false, "as JSON, for other programs");
ABSL_FLAG(bool, values, false,
          "with show: the values of the model that PEs hold, alone");
ABSL_FLAG(bool, verify, false,
          "with store: compare the files of a checkpoint with their digests");
ABSL_FLAG(
    std::string, o, "",
    "FILE  with pe: where the text goes; with diff: the page with two maps");
ABSL_FLAG(std::string, pe, "", "X,Y  with sram: of this PE alone");
ABSL_FLAG(std::string, entry, "",
          "NAME  with sram: in a call of this entry, else of the first");

static const char *const usageText =
    R"(usage: wse-inspect show PROGRAM.wafer [--values] [--json]
       wse-inspect sram PROGRAM.wafer [--pe X,Y] [--entry NAME] [--json]
       wse-inspect where PROGRAM.wafer NODE [--json]
       wse-inspect at PROGRAM.wafer X,Y [--json]
       wse-inspect pe PROGRAM.wafer [-o FILE.mlir]
       wse-inspect diff FIRST.wafer SECOND.wafer
       wse-inspect diff FIRST.json SECOND.json
       wse-inspect diff FIRST.html SECOND.html [-o BOTH.html]
       wse-inspect store PATH [--verify] [--json]

Looks into compiled programs without running them, and into stored weights.

  show    machine, memory, PE classes with their buffers, routes of each
          color, tensors, streams, entries and launches; --json: all of it, and kernels
          and digests of the code, for other programs; --values: the values
          of the model that PEs hold after some launch, and where, which
          wse-run reads with --output and --peek
  sram    what lies where in the SRAM of each class, or of one PE: host
          runtime, code, buffers with their ONNX nodes and the launches they
          live in, what is free; a drawing of it over the launches
  where   from an ONNX node (or a kernel) to its launches, PE classes,
          rectangles and buffers
  at      from a PE back: class, buffers, kernels and ONNX nodes, tasks, routes
  pe      the program as text of the pe dialect, which wsec compiles to the
          same bytes; -o: to a file, which wants --weights=DIR if that
          lies elsewhere
  diff    what differs, a line each, by name: classes, buffers, routes, code; of
          two placements of wsec --dump-placement=FILE.json (or .html) regions,
          channels, kernels, streams; -o: two maps on one page, side by side,
          below what differs
  store   tensors of a safetensors file, of an index or folder of several, or of
          a checkpoint and where it stands; of a folder of checkpoints the last
          one. Malformed files are refused with what is wrong
)";

static const char *const exitCodesText =
    R"(Exit code: 0 done; 1 a file is at fault; 2 wrong usage. For diff: 0 there is no
difference; 1 there is one; 2 a file is at fault or wrong usage.
)";

static Json read(const std::string &path) {
  return summarize(runtime::LoadedProgram::open(path)->program());
}

static void print(const std::string &text) {
  const std::string shown = runtime::printable(text);
  std::fwrite(shown.data(), 1, shown.size(), stdout);
}

/// As JSON, or as `show` says it.
template <class Show>
static int print(const Json &value, bool json, const Show &show) {
  print(json ? value.dump(2, ' ', false, Json::error_handler_t::replace) + "\n"
             : show(value));
  return 0;
}

static int showSramOf(const std::string &path, const std::string &pe,
                      const std::string &name, bool json) {
  const auto loaded = runtime::LoadedProgram::open(path);
  const program::Program &program = loaded->program();
  const unsigned entry = name.empty() ? 0 : runtime::findEntry(program, name);
  if (pe.empty())
    return print(sramMaps(program, -1, nullptr, entry), json, showSram);
  const std::pair<int, int> at = parsePe(program, pe);
  const int only = classAt(program, pe);
  if (only < 0)
    throw PlaceError("PE " + pe + " has no code");
  return print(sramMaps(program, only, &at, entry), json, showSram);
}

static int showPlace(const std::string &command, const std::string &path,
                     const std::string &what, bool json) {
  const auto loaded = runtime::LoadedProgram::open(path);
  if (command == "where")
    return print(whereIs(loaded->program(), what), json, showWhere);
  return print(whatIsAt(loaded->program(), what), json, showAt);
}

static int printText(const std::string &path, const std::string &output) {
  if (output.empty()) {
    print(programText(path));
    return 0;
  }
  runtime::checkOutputPaths({output}, {path});
  const std::string text = programText(path);
  runtime::OutputFiles files;
  files.add(output, text);
  files.commit();
  return 0;
}

static int diffMaps(const std::string &first, const std::string &second,
                    const std::string &output) {
  std::vector<std::string> lines;
  try {
    if (!output.empty())
      runtime::checkOutputPaths({output}, {first, second});
    const MapPage pages[] = {readMapPage(first), readMapPage(second)};
    std::istringstream before(pages[0].placement()),
        after(pages[1].placement());
    lines = placementDifferences(readPlacement(first, before),
                                 readPlacement(second, after));
    if (!output.empty()) {
      const std::string page = sideBySide(pages[0], pages[1], lines);
      runtime::OutputFiles files;
      files.add(output, page);
      files.commit();
    }
  } catch (const std::exception &error) {
    throw tools::Trouble(error.what());
  }
  for (const std::string &line : lines)
    print(line + "\n");
  return lines.empty() ? 0 : 1;
}

static int diffFiles(const std::string &first, const std::string &second) {
  const bool placements = first.ends_with(".json");
  if (placements != second.ends_with(".json"))
    throw tools::UsageError("diff wants two programs or two placements");
  std::vector<std::string> lines;
  try {
    lines = placements ? placementDifferences(readPlacement(first),
                                              readPlacement(second))
                       : differences(read(first), read(second));
  } catch (const std::exception &error) {
    throw tools::Trouble(error.what());
  }
  for (const std::string &line : lines)
    print(line + "\n");
  return lines.empty() ? 0 : 1;
}

static void require(bool right, const std::string &what) {
  if (!right)
    throw tools::UsageError(what);
}

static int inspectFiles(const std::vector<std::string> &words) {
  const bool json = absl::GetFlag(FLAGS_json);
  const std::string pe = absl::GetFlag(FLAGS_pe),
                    entry = absl::GetFlag(FLAGS_entry),
                    output = absl::GetFlag(FLAGS_o);
  require(!words.empty(),
          "say what to do: show, sram, where, at, pe, diff or store");
  const std::string &command = words[0];
  require(pe.empty() || command == "sram", "--pe goes with sram");
  require(entry.empty() || command == "sram", "--entry goes with sram");
  require(output.empty() || command == "pe" || command == "diff",
          "-o goes with pe and diff");
  const bool verify = absl::GetFlag(FLAGS_verify);
  require(!verify || command == "store", "--verify goes with store");
  const bool values = absl::GetFlag(FLAGS_values);
  require(!values || command == "show", "--values goes with show");
  if (command == "show" || command == "sram") {
    require(words.size() == 2, command + " wants one program");
    if (values) {
      const Json summary = read(words[1]);
      Json values = Json::array();
      for (const Json &entry : summary["entries"])
        for (const Json &value : entry["values"])
          values.push_back(value);
      return json ? print(values, json, show)
                  : print(summary, json, showValues);
    }
    return command == "show" ? print(read(words[1]), json, show)
                             : showSramOf(words[1], pe, entry, json);
  }
  if (command == "where" || command == "at") {
    require(words.size() == 3, command == "at"
                                   ? "at wants a program and a PE, x,y"
                                   : "where wants a program and a node");
    return showPlace(command, words[1], words[2], json);
  }
  if (command == "store") {
    require(words.size() == 2, "store wants one file or folder");
    return print(storedTensors(words[1], verify), json, showStored);
  }
  require(command == "diff" || command == "pe",
          "there is no command " + runtime::inQuotes(command) +
              runtime::nearestNames(command, {"show", "sram", "where", "at",
                                              "pe", "diff", "store"}));
  require(!json, "--json goes with show, sram, where, at and store");
  if (command == "pe") {
    require(words.size() == 2, "pe wants one program");
    return printText(words[1], output);
  }
  require(words.size() == 3, "diff wants two programs or two placements");
  if (words[1].ends_with(".html") && words[2].ends_with(".html"))
    return diffMaps(words[1], words[2], output);
  require(output.empty(), "-o wants two maps, FIRST.html and SECOND.html");
  return diffFiles(words[1], words[2]);
}

int main(int argc, char **argv) {
  return tools::runTool(
      {"wse-inspect",
       usageText,
       {{"flags",
         {"json", "o", "pe", "entry", "values", "verify", "help", "version"}}},
       exitCodesText,
       inspectFiles},
      argc, argv);
}
