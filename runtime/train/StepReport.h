// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RUNTIME_TRAIN_STEPREPORT_H
#define RUNTIME_TRAIN_STEPREPORT_H

#include "runtime/host/Report.h"

#include <string>
#include <vector>

namespace wsec::runtime {

/// Kernels of a call that do one part of a step. They are told apart by the
/// names that the compiler gives nodes: ".../backward", ".../recompute"; those
/// that only send gradients to the store by the tensors that they write.
struct StepPart {
  std::string name; ///< forward, recomputation, backward, gradients out
  uint64_t kernels = 0;
  double cycles = 0; ///< by which they moved the end of the call
  double predictedCycles = 0;
};

/// What a step of training takes of the wafers.
struct StepReport {
  uint64_t calls = 0, passes = 0, systems = 0;
  std::vector<StepPart> parts; ///< of a call
  double cycles = 0;           ///< of the slowest system of each pass, added
  double predictedCycles = 0;  ///< as many passes, as the compiler predicts
  double clockGhz = 0;
  uint64_t size = 0;              ///< what is learned from, in
  std::string unit;               ///< "tokens" or "samples"
  uint64_t weightBytes = 0;       ///< down: what leaves the store
  uint64_t gradientBytes = 0;     ///< up: what leaves all wafers
  uint64_t gradientRootBytes = 0; ///< of that, sums that reach the store

  double seconds() const { return cycles / (clockGhz * 1e9); }
  double predictedSeconds() const { return predictedCycles / (clockGhz * 1e9); }
  /// Some lines for people.
  std::string text() const;
  /// One object (report.schema.json).
  std::string json() const;
};

/// The report of a step with gradients.
StepReport makeStepReport(const Call &call, const Tree &tree,
                          const ClusterRun &run, uint64_t size,
                          const std::string &unit, uint64_t gradientRootBytes);

} // namespace wsec::runtime

#endif // RUNTIME_TRAIN_STEPREPORT_H
