// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/schedule/FirstFitScheduler.h"
#include "compiler/schedule/Passes.h"
#include "compiler/schedule/ReadSchedule.h"

using namespace mlir;

namespace wsec::schedule {
#define GEN_PASS_DEF_SCHEDULELAUNCHESPASS
#include "compiler/schedule/Passes.h.inc"
} // namespace wsec::schedule

using namespace wsec;

static void writeSchedule(wse::ProgramOp program,
                          ArrayRef<wse::KernelOp> kernels,
                          const SchedulingProblem &problem,
                          const Schedule &schedule) {
  for (auto [i, kernel] : llvm::enumerate(kernels)) {
    wse::KernelOp op = kernel;
    const KernelMemory &memory = problem.kernels[i];
    op.setTimeSlot(schedule.slots[i]);
    if (memory.resultBytes)
      op.setResultAddress(schedule.resultAddresses[i]);
    if (memory.scratchBytes)
      op.setScratch(schedule.scratchAddresses[i], memory.scratchBytes);
  }
  program.setSramPeak(schedule.highWater);
  if (!kernels.empty())
    program.setSramOwner(problem.kernels[schedule.highWaterKernel].name);
  program.setState(wse::State::Scheduled);
}

/// Keeps `codeReserve` bytes below the buffers; where these leave less, code
/// gets what is left. Its size is known, and checked, where it is made
/// (lower/CodeSpace.h).
static bool fit(SchedulingProblem &problem, int64_t codeReserve,
                Schedule &schedule, SramOverflow &overflow) {
  constexpr int64_t alignment = 16;
  const int64_t lowest = problem.firstAddress;
  problem.firstAddress = lowest + codeReserve;
  if (problem.firstAddress < problem.endAddress &&
      scheduleByFirstFit(problem, schedule, overflow))
    return true;
  problem.firstAddress = lowest;
  if (!scheduleByFirstFit(problem, schedule, overflow))
    return false;
  problem.firstAddress +=
      (problem.endAddress - schedule.highWater) / alignment * alignment;
  return scheduleByFirstFit(problem, schedule, overflow);
}

namespace {

struct ScheduleLaunches final
    : schedule::impl::ScheduleLaunchesPassBase<ScheduleLaunches> {
  using ScheduleLaunchesPassBase::ScheduleLaunchesPassBase;

  void runOnOperation() override {
    if (failed(schedule(getOperation())))
      signalPassFailure();
  }

  LogicalResult schedule(wse::ProgramOp program) {
    if (program.getState() != wse::State::Routed)
      return program.emitError("only a routed program can be scheduled, this "
                               "one is ")
             << wse::stringifyState(program.getState());
    FailureOr<SchedulingProblem> problem = readSchedulingProblem(program);
    if (failed(problem))
      return failure();
    if (std::string error = problem->check(); !error.empty())
      return program.emitError(error);
    auto kernels = llvm::to_vector(program.bodyBlock().getOps<wse::KernelOp>());
    Schedule solution;
    SramOverflow overflow;
    if (!fit(*problem, codeReserve, solution, overflow))
      return kernels[overflow.kernel].emitError(overflow.message);
    writeSchedule(program, kernels, *problem, solution);
    return success();
  }
};

} // namespace
