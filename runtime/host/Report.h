// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RUNTIME_HOST_REPORT_H
#define RUNTIME_HOST_REPORT_H

#include "runtime/host/Cluster.h"
#include "runtime/host/Compare.h"
#include "runtime/host/Generator.h"
#include "runtime/host/Pipeline.h"
#include "runtime/program/facts/EdgeForecast.h"
#include "runtime/program/facts/Facts.h"

#include <array>
#include <string>
#include <vector>

namespace wsec::runtime {

struct KernelReport {
  std::string name, kind, bound;
  std::vector<std::string> onnxNodes;
  std::array<int32_t, 4> region{}; ///< x0, y0, x1, y1, half open
  double cycles = 0; ///< by which its launches moved the end of the run
  double span = 0;   ///< from its first PE to its last, overlap included
  double lowerBoundCycles = 0;
  SparseWeights sparse;
};

/// What a batch on several systems took (see runtime/swarmx/README.md).
struct SystemsReport {
  uint64_t calls = 0, passes = 0;
  double cycles = 0;          ///< of the slowest system of each pass, added
  double oneSystemCycles = 0; ///< of all calls, one after the other
  double speedUp = 1;         ///< of which the first are the second
  std::vector<SystemRun> systems;
  unsigned nodes = 0, depth = 0; ///< of the tree
  struct Edge {
    std::string from, to;
    unsigned level; ///< of the lower end; 0: a system
    uint64_t bytes;
  };
  std::vector<Edge> edges; ///< the one below the store comes last
};

/// What a run is summed up to, on a terminal and in JSON (see README.md).
struct RunReport {
  std::string model;
  uint64_t parameters = 0, weightBytes = 0;
  std::string machine;
  int32_t width = 0, height = 0;
  double clockGhz = 0;
  double cycles = 0;
  std::string engine; ///< that counted the cycles: strips or wavelet
  uint64_t pesUsed = 0;
  uint64_t sramPeakBytes = 0, sramLimitBytes = 0;
  uint64_t sramWrittenBytes = 0; ///< past the last one; 0: not counted
  std::string sramOwner; ///< the ONNX node (else buffer) that ends highest
  /// Weights: words on the wire, 4 bytes each; what of them stays from one
  /// launch to another, and is held in buffers while a launch runs.
  uint64_t streamedBytes = 0, residentBytes = 0, bufferedBytes = 0;
  Precision precision;
  uint64_t tokens = 0; ///< of a run; 0: the model knows no tokens
  /// Rows of the west edge, as counted (not by strips) and as the compiler
  /// predicts them in a run of so many cycles; empty where nobody knows.
  std::vector<EdgeUse> westEdge, predictedWestEdge;
  double predictedCycles = 0;
  std::vector<KernelReport> kernels;
  std::vector<ExpertLoad> experts; ///< of a run, or of all that is generated
  uint64_t instructions = 0, elements = 0; ///< vector instructions, all PEs
  double seconds = 0; ///< of the host: the shortest of `runs`
  double firstSeconds = 0;
  uint64_t runs = 1;
  uint64_t rememberedLaunches = 0; ///< done as equal ones before them were
  bool replayed = false; ///< runs after the first replay its operations
  std::vector<OutputError> errors; ///< against references, where there are any
  std::optional<SystemsReport> systems; ///< the rest is of one call then
  std::optional<PipelineRun> pipeline;  ///< the rest is of all samples then
  std::optional<Generation> generation; ///< the rest is of its last call then

  /// On the wafer, at the clock of the machine.
  double wallClock() const { return cycles / (clockGhz * 1e9); }
  double tokensPerSecond() const {
    return cycles > 0 ? double(tokens) / wallClock() : 0;
  }
  /// One screen for people.
  std::string text() const;
  /// Everything, as report.schema.json says.
  std::string json() const;
};

RunReport makeReport(const Call &call, const std::vector<SessionRun> &runs);
RunReport makeReport(const Call &call, const Tree &tree, const ClusterRun &run);
RunReport makeReport(const Pipeline &pipeline, const PipelineRun &run);
RunReport makeReport(const Generator &generator, const Generation &generation);

} // namespace wsec::runtime

#endif // RUNTIME_HOST_REPORT_H
