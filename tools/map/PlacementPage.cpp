// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The map for browsers. What it shows and how is in page/, as files of the
// page; here they become one, with the placement and what was measured inside.

#include "compiler/PlacementFile.h"
#include "tools/map/PageParts.h"
#include "tools/map/PlacementDump.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <map>

using namespace wsec;
using namespace wsec::map;
using llvm::StringRef;

/// JSON inside of an element of the page: no text in it may end the element.
static std::string inPage(StringRef json) {
  std::string result;
  for (char c : json)
    result += c == '<' ? "\\u003c" : std::string(1, c);
  return result;
}

std::string map::placementAsHtml(const PlacementView &view,
                                 const MeasuredRun &run) {
  std::string measured = "{";
  if (!run.counters.empty())
    measured += "\"counters\":" + run.counters;
  if (!run.report.empty())
    measured += std::string(measured.size() > 1 ? "," : "") +
                "\"report\":" + run.report + ",\"entry\":" +
                llvm::formatv("{0}", llvm::json::Value(run.entry)).str();
  std::string result;
  StringRef page = pageText;
  for (auto [mark, text] :
       {std::pair<StringRef, std::string>{"/*STYLE*/", styleText.str()},
        {"/*PLACEMENT*/", inPage(placementAsJson(view, 0))},
        {"/*MEASURED*/", inPage(measured + "}")},
        {"/*SCRIPT*/", scriptText.str()}}) {
    auto [before, after] = page.split(mark);
    result += before.str() + text;
    page = after;
  }
  return result + page.str();
}

//===----------------------------------------------------------------------===//
// What wse-run measured
//===----------------------------------------------------------------------===//

static std::string meshProblem(const llvm::json::Array *mesh,
                               const Machine &machine) {
  auto extent = [&](size_t i) {
    return mesh && mesh->size() == 2 ? (*mesh)[i].getAsInteger().value_or(0)
                                     : 0;
  };
  if (extent(0) == machine.width && extent(1) == machine.height)
    return "";
  return "is of a mesh of " + std::to_string(extent(0)) + "x" +
         std::to_string(extent(1)) + ", the program of " +
         std::to_string(machine.width) + "x" + std::to_string(machine.height);
}

static std::string modelProblem(std::optional<StringRef> model,
                                const PlacementView &view) {
  if (model == StringRef(view.model))
    return "";
  return "is of the model '" + model.value_or("").str() +
         "', the program of '" + view.model + "'";
}

/// Keeps of a run's report what it says of the entry that ran: it lists the
/// kernels of all entries in the order of their launches, those that did not
/// run with no cycles. Returns empty or why it is of another program.
static std::string keepEntry(llvm::json::Array &kernels,
                             llvm::json::Array &cycles,
                             const PlacementView &view, std::string &entry) {
  std::map<int64_t, const PlacementView::KernelView *> launches;
  for (size_t i = 0; i < view.kernels.size(); ++i)
    launches[view.kernels[i].slot.value_or(i)] = &view.kernels[i];
  // Names may have numbers added, nodes are those of the model.
  const bool same = std::equal(
      kernels.begin(), kernels.end(), launches.begin(), launches.end(),
      [](const llvm::json::Value &value, const auto &launch) {
        const llvm::json::Object *kernel = value.getAsObject();
        const llvm::json::Array *nodes =
            kernel ? kernel->getArray("onnx_nodes") : nullptr;
        return nodes && *nodes == llvm::json::Array(launch.second->nodes);
      });
  if (!same || kernels.empty())
    return "is of other kernels than the program's; measure with the program "
           "of the same flags";
  if (cycles.size() != kernels.size())
    return "has cycles of " + std::to_string(cycles.size()) + " kernels, not " +
           std::to_string(kernels.size());
  std::map<std::string, double> ran;
  size_t number = 0;
  for (auto [slot, launch] : launches)
    ran[launch->entry] += cycles[number++].getAsNumber().value_or(0);
  entry = std::max_element(
              ran.begin(), ran.end(),
              [](const auto &a, const auto &b) { return a.second < b.second; })
              ->first;
  llvm::json::Array itsKernels, itsCycles;
  number = 0;
  for (auto [slot, launch] : launches) {
    if (launch->entry == entry) {
      itsKernels.push_back(std::move(kernels[number]));
      itsCycles.push_back(std::move(cycles[number]));
    }
    ++number;
  }
  kernels = std::move(itsKernels);
  cycles = std::move(itsCycles);
  return "";
}

static std::string reportProblem(llvm::json::Object &report,
                                 const PlacementView &view,
                                 std::string &entry) {
  llvm::json::Object *cycles = report.getObject("cycles");
  const llvm::json::Object *machine = report.getObject("machine");
  llvm::json::Array *each = cycles ? cycles->getArray("per_kernel") : nullptr;
  if (!each || !machine)
    return "is neither the counters nor the report of a run: expected what "
           "wse-run writes with --counters=FILE.json or --report=FILE.json";
  if (!cycles->get("engine"))
    return "is the report of a compilation; that of a run is written by "
           "wse-run";
  if (std::string problem =
          meshProblem(machine->getArray("mesh"), view.machine);
      !problem.empty())
    return problem;
  llvm::json::Array none, *kernels = report.getArray("kernels");
  return keepEntry(kernels ? *kernels : none, *each, view, entry);
}

std::string map::readMeasured(const std::string &path,
                              const PlacementView &view, MeasuredRun &run) {
  auto problem = [&](const std::string &what) {
    return "'" + path + "' " + what;
  };
  llvm::Expected<llvm::json::Object> object = readJsonObject(path);
  if (!object)
    return llvm::toString(object.takeError());
  const bool counts = object->getString("format") == "wsec-counters-1";
  std::string wrong = counts
                          ? meshProblem(object->getArray("mesh"), view.machine)
                          : reportProblem(*object, view, run.entry);
  if (wrong.empty() && counts)
    wrong = modelProblem(object->getString("model"), view);
  if (!wrong.empty())
    return problem(wrong);
  std::string &into = counts ? run.counters : run.report;
  if (!into.empty())
    return problem("is a second file of the same kind");
  llvm::raw_string_ostream(into) << llvm::json::Value(std::move(*object));
  return "";
}
