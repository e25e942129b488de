// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How fast samples follow one another through stages whose launches wait for
// one another's commands. Plain C++: no MLIR.

#ifndef WSEC_COMPILER_SELECT_PIPELINEPACE_H
#define WSEC_COMPILER_SELECT_PIPELINEPACE_H

#include "compiler/select/StageProblem.h"
#include "runtime/program/facts/CommandRoom.h"

namespace wsec {

/// All PEs take the commands of all stages in one order, and a stage at work
/// holds up those behind its own (CommandRoom). So many short stages are slower
/// than the slowest of them says.
struct PipelinePace {
  runtime::CommandQueues queues;
  double storeLatency = 0;            ///< cycles
  int64_t rows = 0;                   ///< of each stage
  std::vector<int64_t> rowBegins;     ///< of each row of stages, on the mesh
  std::vector<size_t> valuesCrossing; ///< before each kernel

  /// Cycles from sample to sample in a pipeline that has been full for long;
  /// at least those of the slowest stage.
  double operator()(const StageProblem &problem, const StagePlan &plan) const;
};

} // namespace wsec

#endif // WSEC_COMPILER_SELECT_PIPELINEPACE_H
