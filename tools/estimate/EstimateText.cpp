// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/estimate/Report.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <stdexcept>

namespace wsec::estimate {

StepReport reportStep(const Workload &work, const Cluster &cluster,
                      const Step &step,
                      const std::vector<Efficiency> &efficiencies) {
  StepReport report{work, cluster, step, {}, {}, {}};
  for (const Efficiency &each : efficiencies)
    report.estimates.push_back(estimateStep(work, cluster, step, each));
  report.memory = memoryOf(work, cluster, step);
  report.schemes = schemesOf(work, cluster, step);
  return report;
}

/// What is known to have that many wafers.
static const char *machineOf(int64_t systems) {
  switch (systems) {
  case 16:
    return "Andromeda (2022)";
  case 192:
    return "largest announced";
  default:
    return "";
  }
}

ScaleReport reportScale(const Workload &work, const Cluster &cluster,
                        const Step &step, const std::vector<int64_t> &systems,
                        const std::vector<Efficiency> &efficiencies) {
  ScaleReport report{work, cluster, step, efficiencies, {}};
  bool any = false;
  for (int64_t number : systems) {
    ScaleReport::Row row{number, machineOf(number), "", {}};
    Step its = step;
    its.systems = number;
    try {
      for (const Efficiency &each : efficiencies)
        row.estimates.push_back(estimateStep(work, cluster, its, each));
      any = true;
    } catch (const std::invalid_argument &error) {
      row.problem = error.what();
    }
    report.rows.push_back(std::move(row));
  }
  if (!any)
    throw std::invalid_argument(report.rows.empty()
                                    ? "no number of systems is given"
                                    : report.rows.front().problem);
  return report;
}

//===----------------------------------------------------------------------===//
// Numbers with units
//===----------------------------------------------------------------------===//

/// Three digits and a prefix: 1.53 k, 349 G.
static std::string scaled(double value, const char *unit) {
  static constexpr const char *prefixes[] = {"n", "u", "m", "",  "k",
                                             "M", "G", "T", "P", "E"};
  size_t prefix = 3;
  while (value >= 999.5 && prefix < 9) {
    value /= 1000;
    ++prefix;
  }
  while (value > 0 && value < 0.9995 && prefix > 0) {
    value *= 1000;
    --prefix;
  }
  const int digits = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
  return absl::StrFormat("%.*f %s%s", digits, value, prefixes[prefix], unit);
}

static std::string count(double value) {
  std::string text = scaled(value, "");
  return text.back() == ' ' ? text.substr(0, text.size() - 1) : text;
}

static std::string percent(double fraction) {
  return fraction < 0.01 ? absl::StrFormat("%.2g %%", 100 * fraction)
                         : absl::StrFormat("%.1f %%", 100 * fraction);
}

/// Seconds, and days and the like where it is long.
static std::string duration(double seconds) {
  if (seconds == 0)
    return "0 s";
  if (seconds >= 86400)
    return absl::StrFormat("%.1f days", seconds / 86400);
  if (seconds >= 1000)
    return absl::StrFormat("%.0f s", seconds);
  return scaled(seconds, "s");
}

//===----------------------------------------------------------------------===//
// One step
//===----------------------------------------------------------------------===//

static const char *verbOf(const Step &step) {
  return step.mode == Step::Mode::Train ? "training" : "evaluation";
}

static std::string heading(const Workload &work, const Cluster &cluster,
                           const Step &step) {
  return absl::StrFormat(
      "%s: %sparameters%s, %d layers of width %d, sequences of %d tokens\n"
      "%s, %d sequences per step%s\n"
      "An estimate, not a measurement. eta and beta: used fractions of %s "
      "and %s of one wafer's link.\n",
      work.name, count(double(work.parameters)) + " ",
      work.activeParameters < work.parameters
          ? absl::StrFormat(", of which a token meets %s",
                            count(double(work.activeParameters)))
          : "",
      work.layers, work.width, work.sequence, verbOf(step), step.batch,
      step.density < 1 ? absl::StrFormat(", %g of the weights", step.density)
                       : "",
      scaled(cluster.peakFlops, "FLOP/s"),
      scaled(cluster.linkBytesPerSecond, "B/s"));
}

static void addMemory(std::string &text, const StepReport &report) {
  const Memory &memory = report.memory;
  const Estimate &first = report.estimates.front();
  absl::StrAppendFormat(
      &text,
      "  weights         %s per pass; the store keeps %s\n"
      "  wafer           %s per token for activations, so at most %d "
      "sequences per pass;\n                  %s for the layer that streams\n"
      "  microbatches    %d of %.0f tokens per wafer; slowest wafer %.2f x the "
      "mean\n",
      scaled(memory.weightBytes, "B"), scaled(memory.storeBytes, "B"),
      scaled(memory.activationBytesPerToken, "B"), memory.sequencesPerWafer,
      scaled(memory.layerBytes, "B"), first.microbatches, first.tokensPerWafer,
      memory.imbalance);
}

/// A row of the table: a name, and a number for each used fraction.
static void addRow(std::string &text, const StepReport &report,
                   const char *name,
                   const std::function<std::string(const Estimate &)> &cell) {
  std::string line = absl::StrFormat("  %-26s", name);
  for (const Estimate &each : report.estimates)
    absl::StrAppendFormat(&line, "%13s", cell(each));
  absl::StrAppend(&text, line, "\n");
}

static void addTimes(std::string &text, const StepReport &report) {
  auto row = [&](const char *name, double Estimate::*value) {
    addRow(text, report, name,
           [&](const Estimate &e) { return duration(e.*value); });
  };
  addRow(text, report, "eta", [](const Estimate &e) {
    return absl::StrFormat("%g", e.efficiency.eta);
  });
  addRow(text, report, "beta", [](const Estimate &e) {
    return absl::StrFormat("%g", e.efficiency.beta);
  });
  row("forward, compute", &Estimate::forwardCompute);
  row("forward, weights down", &Estimate::weightsDown);
  if (report.step.mode == Step::Mode::Train) {
    row("backward, compute", &Estimate::backwardCompute);
    row("backward, gradients up", &Estimate::gradientsUp);
    row("boundary of steps", &Estimate::boundary);
    row("optimizer", &Estimate::optimizer);
    row("  of it not hidden", &Estimate::exposedOptimizer);
  }
  if (report.step.offload)
    row("offload, each way", &Estimate::offload);
  if (report.cluster.inputTokensPerSecond > 0)
    row("input not hidden", &Estimate::exposedInput);
  row("step", &Estimate::step);
}

static void addRates(std::string &text, const StepReport &report) {
  addRow(text, report, "tokens per second",
         [](const Estimate &e) { return count(e.tokensPerSecond); });
  addRow(text, report, "sustained",
         [](const Estimate &e) { return scaled(e.sustainedFlops, "FLOP/s"); });
  addRow(text, report, "of the peak",
         [](const Estimate &e) { return percent(e.peakFraction); });
  addRow(text, report, "efficiency, of 1 system",
         [](const Estimate &e) { return percent(e.scaling); });
  addRow(text, report, "tokens that hide the pass",
         [](const Estimate &e) { return count(e.breakEvenForward); });
  addRow(text, report, "linear up to, systems",
         [](const Estimate &e) { return count(e.linearSystems); });
  addRow(text, report, "regime",
         [](const Estimate &e) { return std::string(nameOf(e.regime)); });
}

static void addTotals(std::string &text, const StepReport &report) {
  const Cluster &cluster = report.cluster;
  absl::StrAppendFormat(
      &text,
      "\n%s tokens, at %s a system (the most it draws), %g dollars a system "
      "and hour, and %g a kWh\n",
      count(double(report.step.totalTokens)), scaled(cluster.systemWatts, "W"),
      cluster.dollarsPerSystemHour, cluster.dollarsPerKilowattHour);
  addRow(text, report, "time",
         [](const Estimate &e) { return duration(e.seconds); });
  addRow(text, report, "energy",
         [](const Estimate &e) { return scaled(e.joules / 3600, "Wh"); });
  addRow(text, report, "money, dollars",
         [](const Estimate &e) { return count(e.dollars); });
}

static std::string fractions(const Estimate &e) {
  return absl::StrFormat("eta %g, beta %g", e.efficiency.eta,
                         e.efficiency.beta);
}

/// Of all used fractions, or not.
static bool flaggedAlike(const StepReport &report, const Flag &flag) {
  return std::all_of(report.estimates.begin(), report.estimates.end(),
                     [&](const Estimate &each) {
                       return std::any_of(each.flags.begin(), each.flags.end(),
                                          [&](const Flag &other) {
                                            return other.reason == flag.reason;
                                          });
                     });
}

static void addReasons(std::string &text, const StepReport &report) {
  for (const Estimate &each : report.estimates) {
    absl::StrAppendFormat(&text, "  %s: %s: %s\n", fractions(each),
                          nameOf(each.regime), each.reason);
    for (const Flag &flag : each.flags)
      if (!flaggedAlike(report, flag))
        absl::StrAppendFormat(&text, "    %s: %s\n", flag.name, flag.reason);
  }
  for (const Flag &flag : report.estimates.front().flags)
    if (flaggedAlike(report, flag))
      absl::StrAppendFormat(&text, "  %s: %s\n", flag.name, flag.reason);
}

static void addSchemes(std::string &text, const StepReport &report) {
  absl::StrAppendFormat(&text,
                        "\nthe same training shared among %d processors of any "
                        "kind, each\n  %-18s%12s%16s%12s  %s\n",
                        report.step.systems, "", "memory", "traffic/step",
                        "waits/step", "limit");
  for (const Scheme &scheme : report.schemes)
    absl::StrAppendFormat(&text, "  %-18s%12s%16s%12.0f  %s\n", scheme.name,
                          scaled(scheme.memoryBytes, "B"),
                          scaled(scheme.trafficBytes, "B"),
                          scheme.blockingEvents, scheme.limit);
}

std::string textOf(const StepReport &report) {
  std::string text = heading(report.work, report.cluster, report.step);
  absl::StrAppendFormat(&text, "\n%d system%s\n", report.step.systems,
                        report.step.systems == 1 ? "" : "s");
  addMemory(text, report);
  absl::StrAppend(&text, "\n");
  addTimes(text, report);
  addRates(text, report);
  if (report.step.totalTokens)
    addTotals(text, report);
  absl::StrAppend(&text, "\n");
  addReasons(text, report);
  if (report.step.mode == Step::Mode::Train)
    addSchemes(text, report);
  return text;
}

//===----------------------------------------------------------------------===//
// Over systems
//===----------------------------------------------------------------------===//

static std::string limited(const Estimate &e) {
  std::string text = nameOf(e.regime);
  for (const Flag &flag : e.flags)
    absl::StrAppend(&text, ", ", flag.name);
  return text;
}

std::string textOf(const ScaleReport &report) {
  std::string text = heading(report.work, report.cluster, report.step);
  for (size_t i = 0; i < report.efficiencies.size(); ++i) {
    absl::StrAppendFormat(
        &text, "\neta %g, beta %g\n%9s%15s%12s%12s%12s  %s\n",
        report.efficiencies[i].eta, report.efficiencies[i].beta, "systems",
        "tokens/wafer", "step", "tokens/s", "efficiency", "regime, flags");
    for (const ScaleReport::Row &row : report.rows) {
      if (!row.problem.empty()) {
        absl::StrAppendFormat(&text, "%9d  %s\n", row.systems, row.problem);
        continue;
      }
      const Estimate &e = row.estimates[i];
      std::string line = absl::StrFormat(
          "%9d%15s%12s%12s%12s  %-20s%s", row.systems,
          absl::StrFormat("%d x %.0f", e.microbatches, e.tokensPerWafer),
          duration(e.step), count(e.tokensPerSecond), percent(e.scaling),
          limited(e), row.note.empty() ? "" : "  " + row.note);
      absl::StrAppend(&text, line.substr(0, line.find_last_not_of(' ') + 1),
                      "\n");
    }
  }
  return text;
}

} // namespace wsec::estimate
