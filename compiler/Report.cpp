// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/Report.h"
#include "runtime/program/NearestNames.h"
#include "runtime/program/facts/Facts.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>

using namespace wsec;
using llvm::StringRef;

/// 1234567 -> 1.23 M
static std::string readable(double value, StringRef unit) {
  static constexpr StringRef prefixes[] = {"", "k", "M", "G", "T", "P"};
  size_t prefix = 0;
  while (value >= 1000 && prefix + 1 < std::size(prefixes)) {
    value /= 1000;
    ++prefix;
  }
  std::string result;
  llvm::raw_string_ostream os(result);
  if (prefix == 0 && value == uint64_t(value))
    os << uint64_t(value);
  else
    os << llvm::format("%.3g", value);
  os << " " << prefixes[prefix] << unit;
  return StringRef(result).rtrim().str();
}

/// 0.00265 -> 2.65 ms
static std::string readableSeconds(double seconds) {
  static constexpr StringRef units[] = {"s", "ms", "us", "ns"};
  size_t unit = 0;
  for (; seconds < 1 && unit + 1 < std::size(units); ++unit)
    seconds *= 1000;
  std::string result;
  llvm::raw_string_ostream(result)
      << llvm::format("%.3g ", seconds) << units[unit];
  return result;
}

namespace {
/// Kernels of one kind together.
struct KindSummary {
  unsigned count = 0;
  double cycles = 0, lowerBound = 0;
  llvm::MapVector<StringRef, double> bounds; // bound -> cycles
};
} // namespace

static std::string ratio(double cycles, double lowerBound) {
  if (lowerBound <= 0)
    return "-";
  std::string result;
  llvm::raw_string_ostream(result)
      << llvm::format("%.2f x", cycles / lowerBound);
  return result;
}

static void printKinds(const Report &report, llvm::raw_ostream &os) {
  llvm::MapVector<StringRef, KindSummary> kinds;
  double all = 0; // more than those of the run where kernels overlap
  for (const KernelReport &kernel : report.kernels) {
    all += kernel.cycles;
    KindSummary &kind = kinds[kernel.kind];
    ++kind.count;
    kind.cycles += kernel.cycles;
    kind.lowerBound += kernel.lowerBoundCycles;
    kind.bounds[kernel.bound] += kernel.cycles;
  }
  auto sorted = kinds.takeVector();
  llvm::sort(sorted, [](const auto &a, const auto &b) {
    return std::make_pair(-a.second.cycles, a.first) <
           std::make_pair(-b.second.cycles, b.first);
  });
  os << "  kernel            count       cycles   share   vs bound  limited "
        "by\n";
  for (const auto &[name, kind] : sorted) {
    const auto *limit = llvm::max_element(
        kind.bounds, [](auto &a, auto &b) { return a.second < b.second; });
    os << llvm::format("  %-16s %6u %12.0f  %5.1f %%  %9s  %s\n",
                       runtime::printable(name.str()).c_str(), kind.count,
                       kind.cycles, all > 0 ? 100 * kind.cycles / all : 0.0,
                       ratio(kind.cycles, kind.lowerBound).c_str(),
                       runtime::printable(limit->first.str()).c_str());
  }
}

/// Kernels of hand-written programs may lie anywhere, and have no costs.
static bool hasRegion(const Report &report) {
  return !report.regions.empty() && !report.kernels.empty() &&
         report.cycles > 0;
}

/// What canonicalize found in the nodes of exporters, by its kernels, and the
/// softmaxes of attentions that it did not find and products stand in for.
struct Recognized {
  unsigned attentions = 0, norms = 0, rotaries = 0;
  std::vector<StringRef> softmaxes; // names of their nodes
};
static Recognized recognizedIn(const Report &report) {
  Recognized found;
  for (const KernelReport &kernel : report.kernels) {
    found.attentions += kernel.kind == "attention";
    found.rotaries += kernel.kind == "rotary";
    found.norms += kernel.kind == "layer_norm" || kernel.kind == "rms_norm";
    if (kernel.kind == "softmax")
      found.softmaxes.push_back(kernel.onnxNodes.empty()
                                    ? StringRef(kernel.name)
                                    : StringRef(kernel.onnxNodes.front()));
  }
  return found;
}

/// What moves through the store for a node: loads and stores of computed
/// tensors.
struct StoreTraffic {
  unsigned moves = 0;
  double cycles = 0;
};
static llvm::SmallVector<std::pair<StringRef, StoreTraffic>, 0>
throughStore(const Report &report) {
  llvm::MapVector<StringRef, StoreTraffic> nodes;
  for (const KernelReport &kernel : report.kernels) {
    if (!kernel.throughStore)
      continue;
    StoreTraffic &traffic =
        nodes[kernel.onnxNodes.empty() ? StringRef(kernel.name)
                                       : StringRef(kernel.onnxNodes.front())];
    ++traffic.moves;
    traffic.cycles += kernel.cycles;
  }
  auto sorted = nodes.takeVector();
  llvm::sort(sorted, [](const auto &a, const auto &b) {
    return std::pair(-a.second.cycles, a.first) <
           std::pair(-b.second.cycles, b.first);
  });
  return sorted;
}

/// Nodes that general, slower kernels compute.
static void printSlow(const Report &report, llvm::raw_ostream &os) {
  constexpr size_t listed = 3;
  for (const UnrecognizedNode &node :
       llvm::ArrayRef(report.unrecognized).take_front(listed))
    os << "  products       " << runtime::inQuotes(node.node) << ": "
       << runtime::printable(node.reason) << "\n";
  if (report.unrecognized.size() > listed)
    os << "                 and " << report.unrecognized.size() - listed
       << " more like these\n";
  auto traffic = throughStore(report);
  unsigned moves = 0;
  double cycles = 0;
  for (const auto &[node, own] : traffic) {
    moves += own.moves;
    cycles += own.cycles;
  }
  if (traffic.empty())
    return;
  os << "  moved by host  " << moves << " tensors, "
     << llvm::format("%.0f", cycles) << " cycles:";
  for (size_t i = 0; i < std::min(listed, traffic.size()); ++i)
    os << (i ? ", " : " ") << runtime::inQuotes(traffic[i].first.str()) << " "
       << traffic[i].second.moves << "x "
       << llvm::format("%.0f", traffic[i].second.cycles);
  os << (traffic.size() > listed ? ", ..\n" : "\n");
}

static void printRecognized(const Report &report, llvm::raw_ostream &os) {
  Recognized found = recognizedIn(report);
  if (found.attentions + found.norms + found.softmaxes.size() == 0)
    return;
  os << "  recognized     " << found.attentions << " attention, " << found.norms
     << " norm";
  if (found.rotaries)
    os << ", " << found.rotaries << " rotary";
  if (!found.softmaxes.empty()) {
    os << "; " << found.softmaxes.size() << " softmax outside of attention ('"
       << runtime::printable(found.softmaxes.front().str()) << "'";
    if (found.softmaxes.size() > 1)
      os << " and " << found.softmaxes.size() - 1 << " more";
    os << ")";
  }
  os << "\n";
}

/// The regions, or the best of the shapes that one was chosen from; the last
/// line is the whole mesh.
static void printRegion(const Report &report, llvm::raw_ostream &os) {
  if (!hasRegion(report))
    return;
  constexpr size_t listed = 6;
  os << (report.regions.size() > 1 ? "  regions       " : "  region        ");
  for (auto [index, region] : llvm::enumerate(report.regions)) {
    auto [x0, y0, x1, y1] = region;
    os << (index ? ", " : " ") << x1 - x0 << "x" << y1 - y0 << " at (" << x0
       << "," << y0 << ")";
  }
  if (report.regions.size() > 1)
    os << ", at the same time";
  else if (report.shapes.size() > 1)
    os << ", the fewest predicted cycles of " << report.shapes.size()
       << " shapes";
  os << "\n";
  for (size_t i = 0; i < report.shapes.size(); ++i) {
    const ShapeReport &shape = report.shapes[i];
    bool whole = shape.columns == report.width && shape.rows == report.height;
    if (i >= listed && !whole)
      continue;
    std::string size =
        std::to_string(shape.columns) + "x" + std::to_string(shape.rows);
    os << llvm::format("    %-12s %12.0f cycles%s\n", size.c_str(),
                       shape.cycles, shape.fitsSram ? "" : ", too little SRAM");
  }
}

const StageReport &Report::slowestStage() const {
  return *llvm::max_element(
      stages, [](const auto &a, const auto &b) { return a.cycles < b.cycles; });
}

/// What samples that follow one another take.
static void printStages(const Report &report, llvm::raw_ostream &os) {
  if (report.stages.empty())
    return;
  const StageReport &slowest = report.slowestStage();
  os << "  stages         a sample every " << llvm::format("%.0f", report.pace)
     << " cycles, " << readable(report.perSecond(report.pace), "")
     << " per second (" << llvm::format("%.0f", slowest.cycles)
     << " cycles if commands never waited); latency of one "
     << llvm::format("%.0f", report.latency) << " cycles";
  if (report.loadCycles > 0)
    os << "; weights, once, " << llvm::format("%.0f", report.loadCycles);
  os << "\n    stage                  cycles   per second      latency\n";
  for (const StageReport &stage : report.stages) {
    auto [x0, y0, x1, y1] = stage.region;
    std::string at;
    llvm::raw_string_ostream(at)
        << x1 - x0 << "x" << y1 - y0 << " at (" << x0 << "," << y0 << ")";
    os << llvm::format(
        "    %-18s %10.0f   %10s   %10.0f%s\n", at.c_str(), stage.cycles,
        readable(report.perSecond(stage.cycles), "").c_str(), stage.latency,
        &stage == &slowest ? "  the slowest" : "");
  }
}

void Report::print(llvm::raw_ostream &os) const {
  os << runtime::printable(model.empty() ? "program" : model) << " on "
     << runtime::printable(machine) << ", " << width << "x" << height
     << " PEs at " << llvm::format("%.3g", clockGhz) << " GHz\n";
  if (parameters)
    os << "  parameters     " << readable(parameters, "") << ", "
       << readable(weightBytes, "B") << "\n";
  if (parameters || streamedBytes)
    os << "  streamed       " << readable(streamedBytes, "B")
       << " of weights per run, "
       << (loadedBytes ? readable(loadedBytes, "B") + " once; " : "")
       << readable(residentBytes, "B") << " stay on the wafer\n"
       << "  buffered       at most " << readable(bufferedBytes, "B")
       << " of weights at a time\n";
  if (precision.elementsPerWord() > 1)
    os << "  precision      " << precision.name() << ", sums in f32; "
       << readable(precision.streamedBytesAsF32, "B")
       << " of weights would stream in f32\n";
  if (!weightFolders.empty()) {
    os << "  weight files   not beside the program: wse-run wants";
    for (const std::string &folder : weightFolders)
      os << " --weights=" << folder;
    os << "\n";
  }
  runtime::SparseWeights sparse;
  for (const KernelReport &kernel : kernels)
    sparse += kernel.sparse;
  if (sparse.weights)
    os << "  sparse         " << sparse.text() << "\n";
  printRegion(*this, os);
  os << "  PEs used       " << pesUsed << " of " << pesAvailable << "\n"
     << "  SRAM peak      " << sramPeakBytes << " of " << sramLimitBytes
     << " bytes";
  if (!sramOwner.empty())
    os << " (" << runtime::inQuotes(sramOwner) << ")";
  os << "\n  predicted      ";
  if (cycles > 0)
    os << llvm::format("%.0f", cycles) << " cycles, "
       << readableSeconds(seconds())
       << (hasCalls ? "; weights, once, " +
                          std::to_string(std::llround(loadCycles)) + "\n"
           : loadCycles > 0 ? ", weights loaded and one sample\n"
                            : "\n");
  else
    os << "nothing: hand-written code has no cost model, a run counts\n";
  printStages(*this, os);
  if (!deadlock.empty())
    os << "  deadlock       "
       << (deadlock == "free"       ? "proved impossible"
           : deadlock == "deadlock" ? "certain in every run"
                                    : deadlock)
       << "\n";
  if (!westEdge.empty() && cycles > 0)
    os << "  channels       " << westEdge.size()
       << " in: " << runtime::shares(westEdge, cycles) << "\n";
  if (tokens)
    os << "  tokens         " << tokens << " per run, "
       << readable(tokensPerSecond(), "") << " per second" << "\n";
  plan::print(plans, os);
  for (const std::string &note : notes)
    os << "  note           " << runtime::printable(note) << "\n";
  printRecognized(*this, os);
  printSlow(*this, os);
  if (cycles > 0)
    printKinds(*this, os);
  os << "compiled in " << llvm::format("%.2f", compileSeconds) << " s\n";
}

static void printRecognized(const Report &report, llvm::json::OStream &json) {
  Recognized found = recognizedIn(report);
  json.attributeObject("recognized", [&] {
    json.attribute("attention", found.attentions);
    json.attribute("norm", found.norms);
    json.attribute("rotary", found.rotaries);
    json.attributeArray("softmax_outside_of_attention", [&] {
      for (StringRef node : found.softmaxes)
        json.value(node);
    });
    json.attributeArray("unrecognized", [&] {
      for (const UnrecognizedNode &node : report.unrecognized)
        json.object([&] {
          json.attribute("node", llvm::json::fixUTF8(node.node));
          json.attribute("reason", llvm::json::fixUTF8(node.reason));
        });
    });
    json.attributeArray("moved_by_host", [&] {
      for (const auto &moved : throughStore(report))
        json.object([&] {
          json.attribute("node", moved.first);
          json.attribute("moves", moved.second.moves);
          json.attribute("cycles", moved.second.cycles);
        });
    });
  });
}

static void printRegion(const Report &report, llvm::json::OStream &json) {
  if (!hasRegion(report))
    return;
  auto pair = [&](StringRef name, int64_t a, int64_t b) {
    json.attributeArray(name, [&] {
      json.value(a);
      json.value(b);
    });
  };
  json.attributeArray("regions", [&] {
    for (const std::array<int, 4> &region : report.regions)
      json.object([&] {
        pair("shape", region[2] - region[0], region[3] - region[1]);
        pair("at", region[0], region[1]);
      });
  });
  json.attributeObject("region", [&] {
    auto [x0, y0, x1, y1] = report.regions.front();
    pair("shape", x1 - x0, y1 - y0);
    pair("at", x0, y0);
    if (report.shapes.empty())
      return;
    json.attribute("reason", "fewest predicted cycles, then fewest PEs");
    json.attributeArray("candidates", [&] {
      for (const ShapeReport &shape : report.shapes)
        json.object([&] {
          pair("shape", shape.columns, shape.rows);
          // Not finite where some kernel has no variant that fits.
          if (std::isfinite(shape.cycles))
            json.attribute("cycles", shape.cycles);
          json.attribute("fits_sram", shape.fitsSram);
        });
    });
  });
}

static void printPlans(llvm::ArrayRef<plan::Considered> plans,
                       llvm::json::OStream &json) {
  if (plans.empty())
    return;
  json.attributeObject("training", [&] {
    json.attribute("plan", plans.front().plan.text());
    json.attributeArray("considered", [&] {
      for (const plan::Considered &its : plans)
        json.object([&] {
          json.attribute("plan", its.plan.text());
          json.attribute("fits", its.its.fits);
          json.attribute("cycles", its.its.cycles);
          if (its.its.fits)
            json.attribute("sram_bytes", its.its.sramBytes);
          else
            json.attribute("why", llvm::json::fixUTF8(its.its.why));
        });
    });
  });
}

static void printStages(const Report &report, llvm::json::OStream &json) {
  if (report.stages.empty())
    return;
  json.attributeObject("pipeline", [&] {
    json.attribute("predicted_cycles_per_sample", report.pace);
    json.attribute("predicted_samples_per_second",
                   report.perSecond(report.pace));
    json.attribute("predicted_first_latency_cycles", report.latency);
    json.attribute("predicted_load_cycles", report.loadCycles);
    json.attributeArray("stages", [&] {
      for (const StageReport &stage : report.stages)
        json.object([&] {
          json.attributeArray("region", [&] {
            for (int coordinate : stage.region)
              json.value(coordinate);
          });
          json.attribute("predicted_cycles", stage.cycles);
          json.attribute("predicted_samples_per_second",
                         report.perSecond(stage.cycles));
          json.attribute("predicted_latency_cycles", stage.latency);
        });
    });
  });
}

static void printChannels(const Report &report, llvm::json::OStream &json) {
  if (report.westEdge.empty())
    return;
  json.attributeArray("channels", [&] {
    for (const runtime::EdgeUse &row : report.westEdge)
      json.object([&] {
        json.attribute("row", row.row);
        json.attributeObject("predicted", [&] {
          json.attribute("busy_cycles", row.words);
          json.attribute("stalled_cycles", row.stalledCycles);
          json.attribute("idle_cycles", row.idleCycles(report.cycles));
        });
      });
  });
}

static void printKernel(const KernelReport &kernel, llvm::json::OStream &json) {
  json.object([&] {
    json.attribute("name", kernel.name);
    json.attributeArray("onnx_nodes", [&] {
      for (const std::string &node : kernel.onnxNodes)
        json.value(node);
    });
    json.attribute("kind", kernel.kind);
    json.attributeArray("region", [&] {
      for (int coordinate : kernel.region)
        json.value(coordinate);
    });
    json.attribute("cycles", kernel.cycles);
    json.attribute("bound", kernel.bound);
    json.attribute("lower_bound_cycles", kernel.lowerBoundCycles);
    const runtime::SparseWeights &sparse = kernel.sparse;
    if (sparse.weights == 0)
      return;
    json.attributeObject("sparse", [&] {
      json.attribute("weights", sparse.weights);
      json.attribute("kept", sparse.kept);
      json.attribute("density", sparse.density());
      json.attribute("streamed_bytes", sparse.bytes);
    });
  });
}

void Report::printJSON(llvm::raw_ostream &os) const {
  llvm::json::OStream json(os, 2);
  json.object([&] {
    json.attributeObject("model", [&] {
      json.attribute("name", model);
      json.attribute("parameters", parameters);
      json.attribute("weight_bytes", weightBytes);
    });
    json.attributeObject("machine", [&] {
      json.attribute("name", machine);
      json.attributeArray("mesh", [&] {
        json.value(width);
        json.value(height);
      });
      json.attribute("clock_ghz", clockGhz);
    });
    json.attributeObject("precision", [&] {
      json.attribute("format", precision.name());
      json.attribute("accumulate", "f32");
      json.attribute("elements_per_word", precision.elementsPerWord());
      json.attributeObject("streamed_bytes", [&] {
        json.attribute("here", precision.streamedBytes);
        json.attribute("in_f32", precision.streamedBytesAsF32);
      });
    });
    json.attributeObject("cycles", [&] {
      json.attribute("total", cycles);
      json.attributeArray("per_kernel", [&] {
        for (const KernelReport &kernel : kernels)
          json.value(kernel.cycles);
      });
    });
    json.attributeObject("pes", [&] {
      json.attribute("used", pesUsed);
      json.attribute("available", pesAvailable);
    });
    json.attributeObject("sram", [&] {
      json.attribute("peak_bytes", sramPeakBytes);
      json.attribute("limit_bytes", sramLimitBytes);
      json.attribute("owner", sramOwner);
      json.attribute("code_bytes", codeBytes);
      json.attribute("kept_bytes", keptBytes);
    });
    json.attributeObject("weights", [&] {
      json.attribute("resident_bytes", residentBytes);
      json.attribute("buffered_bytes", bufferedBytes);
      json.attribute("streamed_bytes", streamedBytes);
      if (loadedBytes)
        json.attribute("loaded_bytes", loadedBytes);
    });
    if (!deadlock.empty())
      json.attributeObject("deadlock", [&] {
        json.attribute("verdict", deadlock);
        json.attribute("reason", deadlockReason);
      });
    if (tokens)
      json.attributeObject("tokens", [&] {
        json.attribute("per_run", tokens);
        json.attribute("per_second", tokensPerSecond());
      });
    if (!notes.empty())
      json.attributeArray("notes", [&] {
        for (const std::string &note : notes)
          json.value(llvm::json::fixUTF8(note));
      });
    if (!whatTrains.empty())
      json.attributeArray("parameters", [&] {
        for (const TrainedParameter &parameter : whatTrains)
          json.object([&] {
            json.attribute("name", llvm::json::fixUTF8(parameter.name));
            if (!parameter.moduleName.empty())
              json.attribute("module_name", parameter.moduleName);
            json.attribute("trains", parameter.whyNot.empty());
            if (!parameter.whyNot.empty())
              json.attribute("why", parameter.whyNot);
          });
      });
    printPlans(plans, json);
    printRegion(*this, json);
    printStages(*this, json);
    printChannels(*this, json);
    printRecognized(*this, json);
    json.attributeArray("kernels", [&] {
      for (const KernelReport &kernel : kernels)
        printKernel(kernel, json);
    });
    json.attributeObject("time",
                         [&] { json.attribute("compile_s", compileSeconds); });
  });
  os << "\n";
}
