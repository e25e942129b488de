// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RUNTIME_HOST_REPORT_H
#define RUNTIME_HOST_REPORT_H

#include "runtime/host/Session.h"

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
};

/// What a run is summed up to, on a terminal and in JSON (see README.md).
struct RunReport {
  std::string model;
  uint64_t parameters = 0, weightBytes = 0;
  std::string machine;
  int32_t width = 0, height = 0;
  double clockGhz = 0;
  double cycles = 0;
  std::string engine; ///< that counted the cycles: streams, strips or wavelet
  uint64_t pesUsed = 0;
  uint64_t sramPeakBytes = 0, sramLimitBytes = 0;
  std::string sramOwner; ///< the ONNX node (else buffer) that ends highest
  /// Weights: words on the wire, 4 bytes each; what of them stays from one
  /// launch to another, and is held in buffers while a launch runs.
  uint64_t streamedBytes = 0, residentBytes = 0, bufferedBytes = 0;
  uint64_t tokens = 0; ///< of a run; 0: the model knows no tokens
  std::vector<KernelReport> kernels;
  uint64_t instructions = 0, elements = 0; ///< vector instructions, all PEs
  double seconds = 0; ///< of the host: the shortest of `runs`
  double firstSeconds = 0;
  uint64_t runs = 1;
  bool replayed = false; ///< runs after the first replay its operations

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

} // namespace wsec::runtime

#endif // RUNTIME_HOST_REPORT_H
