// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a compiled program costs, read from its .wafer file.
#ifndef COMPILER_REPORT_H
#define COMPILER_REPORT_H

#include "compiler/plan/TrainingPlanner.h"
#include "runtime/files/WeightFolders.h"
#include "runtime/program/facts/EdgeForecast.h"
#include "runtime/program/facts/Facts.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <array>
#include <string>
#include <vector>

namespace llvm {
class raw_ostream;
} // namespace llvm

namespace wsec {

struct KernelReport {
  std::string name, kind, bound;
  std::vector<std::string> onnxNodes;
  std::array<int, 4> region = {}; // x0, y0, x1, y1
  double cycles = 0, lowerBoundCycles = 0;
  runtime::SparseWeights sparse;
  bool throughStore = false; ///< moves a computed tensor out or in again
};

/// A shape that the region could have had.
struct ShapeReport {
  int64_t columns = 0, rows = 0;
  double cycles = 0;
  bool fitsSram = true;
};

/// A region that is at work on samples of its own while others are on theirs.
struct StageReport {
  std::array<int, 4> region = {}; // x0, y0, x1, y1
  double cycles = 0;              ///< of a sample
  /// Cycles of a sample that follows no other: from the start of the first
  /// launch to the end of the last.
  double latency = 0;
};

/// A node that looks like attention, and why it is not computed as one.
struct UnrecognizedNode {
  std::string node, reason;
};

/// A parameter of a model that is trained.
struct TrainedParameter {
  std::string name;
  std::string whyNot;     ///< it trains; empty: it does
  std::string moduleName; ///< that patterns match, too; or empty
};

struct Report {
  std::string model, machine;
  uint64_t parameters = 0, weightBytes = 0;
  int width = 0, height = 0;
  double clockGhz = 0;
  runtime::Precision precision;
  double cycles = 0; // predicted, all launches
  /// Whether it has entries for callers, no main, and weights are loaded before
  /// the first call: `cycles` and `kernels` are those of the calls.
  bool hasCalls = false;
  uint64_t pesUsed = 0, pesAvailable = 0;
  uint64_t sramPeakBytes = 0, sramLimitBytes = 0;
  /// Code, and buffers that stay from call to call, of the PE with most.
  uint64_t codeBytes = 0, keptBytes = 0;
  std::string sramOwner; // ONNX node, or the buffer's name
  /// Words on the wire, 4 bytes each, of each run, and once before the first;
  /// what of them stays from one launch to another, and is held in buffers
  /// while a launch runs (runtime/program/facts/Residency.h).
  uint64_t streamedBytes = 0, loadedBytes = 0;
  uint64_t residentBytes = 0, bufferedBytes = 0;
  uint64_t tokens = 0; // of a run; 0: the model knows no tokens
  /// What is proved about deadlock: free, undecided or deadlock; and why not
  /// free.
  std::string deadlock, deadlockReason;
  /// x0, y0, x1, y1 of each region, from the first class on.
  std::vector<std::array<int, 4>> regions;
  /// Rows of the west edge, as the slots of streams predict them.
  std::vector<runtime::EdgeUse> westEdge;
  std::vector<KernelReport> kernels; // in launch order
  /// If there are several: what samples that follow one another take in each.
  std::vector<StageReport> stages;
  /// Cycles from one of many samples to the next: the slowest stage, and what
  /// commands wait for one another. Latency is of one sample.
  double pace = 0;
  double latency = 0, loadCycles = 0; ///< of the entry that loads, if any
  /// What `select` compared, the best first. Not in the file.
  std::vector<ShapeReport> shapes;
  /// By which a model trains, and which were looked at. Not in the file.
  std::vector<plan::Considered> plans;
  /// What `canonicalize` left as products. Not in the file.
  std::vector<UnrecognizedNode> unrecognized;
  /// What was asked for and is not there, and why. Not in the file.
  std::vector<std::string> notes;
  /// Parameters of a model that is trained. Not in the file.
  std::vector<TrainedParameter> whatTrains;
  std::vector<std::string> weightFiles;
  /// The folders a run has to name, since weight files do not lie below that of
  /// the program.
  std::vector<std::string> weightFolders;
  double compileSeconds = 0;

  /// Finds `weightFolders` of a program at `path`.
  void findWeights(const std::string &path,
                   const runtime::WeightFolders &folders);
  /// On the wafer, at the clock of the machine.
  double seconds() const {
    return clockGhz > 0 ? cycles / (clockGhz * 1e9) : 0;
  }
  double perSecond(double each) const {
    return each > 0 ? clockGhz * 1e9 / each : 0;
  }
  const StageReport &slowestStage() const;
  /// Tokens per second of runs one after the other; of a pipeline, of samples
  /// that follow one another.
  double tokensPerSecond() const {
    return double(tokens) * perSecond(stages.empty() ? cycles : pace);
  }
  /// One screen for people.
  void print(llvm::raw_ostream &os) const;
  /// Everything, as runtime/host/report.schema.json says.
  void printJSON(llvm::raw_ostream &os) const;
};

/// Fails when the file is no program.
llvm::Expected<Report> readReport(llvm::StringRef path);

} // namespace wsec

#endif // COMPILER_REPORT_H
