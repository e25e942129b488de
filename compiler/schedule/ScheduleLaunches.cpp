// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/kernels/code/RoutineSet.h"
#include "compiler/schedule/BackPressureScheduler.h"
#include "compiler/schedule/FirstFitScheduler.h"
#include "compiler/schedule/LaunchOrder.h"
#include "compiler/schedule/LayoutClassScheduler.h"
#include "compiler/schedule/Passes.h"
#include "compiler/schedule/ReadFlows.h"
#include "compiler/schedule/ReadSchedule.h"
#include "mlir/IR/Remarks.h"

using namespace mlir;

namespace wsec::schedule {
#define GEN_PASS_DEF_SCHEDULELAUNCHESPASS
#include "compiler/schedule/Passes.h.inc"
} // namespace wsec::schedule

using namespace wsec;

/// Of the first buffer, so that those of vectors are aligned as in a program
/// without code.
static constexpr int64_t kBufferAlignment = 16;

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
  for (auto [held, address] :
       llvm::zip_equal(program.persistents(), schedule.persistentAddresses))
    held.setHeldAddress(address);
  program.setSramPeak(schedule.highWater);
  if (!kernels.empty())
    program.setSramOwner(problem.ownerName(schedule.highWaterKernel));
  program.setState(wse::State::Scheduled);
}

namespace {

struct ScheduleLaunches final
    : schedule::impl::ScheduleLaunchesPassBase<ScheduleLaunches> {
  using ScheduleLaunchesPassBase::ScheduleLaunchesPassBase;
  ScheduleLaunches(plan::Shortages *shortages)
      : ScheduleLaunchesPassBase(), shortages(shortages) {}

  plan::Shortages *shortages = nullptr;

  void runOnOperation() override {
    wse::ProgramOp program = getOperation();
    int64_t code = 0;
    if (failed(schedule(program, code)))
      return signalPassFailure();
    remark::analysis(
        program.getLoc(),
        remark::RemarkOpts::name("scheduled").category(getArgument()))
        << remark::metric("launches", program.kernels().size())
        << remark::metric("code bytes", code)
        << remark::metric("SRAM peak", program.getSramPeak().value_or(0));
  }

  /// `code`: bytes of it in a PE.
  LogicalResult schedule(wse::ProgramOp program, int64_t &code) {
    if (program.getState() != wse::State::Routed)
      return program.emitError("only a routed program can be scheduled, this "
                               "one is ")
             << wse::stringifyState(program.getState());
    FailureOr<SchedulingProblem> problem = readSchedulingProblem(program);
    if (failed(problem))
      return failure();
    if (std::string error = problem->check(); !error.empty())
      return program.emitError(error);
    // Few addresses make less code, and waste some room for buffers: what does
    // not fit so may fit where layers alone repeat them, or by first fit.
    // Addresses that launches carry make less code, and take cycles; with other
    // numbers, where the plan asks for these, the least. By breadth leaves the
    // smallest gaps and repeats few addresses: it is for those.
    const std::vector<size_t> order = orderLaunches(*problem);
    Overflow overflow;
    Placer placers[] = {{byForm}, {byLayers}, {byBreadth}, {byFirstFit}};
    const bool asksForNumbers = program.getNumberArguments();
    for (Carried carried :
         {Carried::StateAddresses, Carried::Addresses, Carried::Numbers}) {
      if (carried == Carried::Numbers && !asksForNumbers)
        break;
      program.setAddressArguments(carried != Carried::StateAddresses);
      program.setNumberArguments(carried == Carried::Numbers);
      overflow = {};
      for (Placer &placer : placers) {
        if (placer.solver == byBreadth && carried == Carried::StateAddresses)
          continue;
        FailureOr<bool> fits =
            placeBehindCode(program, *problem, order, placer, overflow);
        if (failed(fits))
          return failure();
        code = overflow.code;
        if (*fits)
          return scheduleFlows(program);
      }
    }
    auto error = overflow.op->emitError(overflow.message);
    plan::add(shortages, error, plan::Lack::Sram, overflow.code,
              problem->bytesOfLaunch(), std::move(overflow.scratch));
    return error;
  }

  /// Why a program does not fit.
  struct Overflow {
    Operation *op = nullptr;
    std::string message;
    int64_t code = 0; ///< bytes of a PE, as it was tried last; 0: not known
    std::vector<plan::ScratchShortage> scratch = {};
  };

  /// Gives all buffers an address, or says why there is none.
  using Solver = bool (*)(wse::ProgramOp, const SchedulingProblem &,
                          const std::vector<size_t> &order, Overflow &);
  /// One, and what is known of the code of its addresses.
  struct Placer {
    Solver solver;
    std::optional<int64_t> carried = std::nullopt;
  };

  static FailureOr<bool> placeBehindCode(wse::ProgramOp program,
                                         SchedulingProblem problem,
                                         const std::vector<size_t> &order,
                                         Placer &placer, Overflow &overflow) {
    int64_t code = placer.carried.value_or(0);
    if (!placer.carried || carriedIn(program) != Carried::Addresses) {
      if (!placer.solver(program, problem, order, overflow))
        return false;
      // Now that all have an address, it is known how much code there is.
      FailureOr<CodeBytes> found = codeBytes(program);
      if (failed(found))
        return failure();
      code = found->bytes;
      placer.carried = found->carried;
    }
    // Buffers lie above it, in the same order: then there is as much.
    problem.firstAddress =
        llvm::alignTo(problem.firstAddress + code, kBufferAlignment);
    problem.codeBytes = overflow.code = code;
    if (problem.firstAddress <= problem.endAddress)
      return placer.solver(program, problem, order, overflow);
    if (!overflow.op) {
      overflow.op = program;
      overflow.message = "SramOverflow: " + std::to_string(code) +
                         " bytes of code leave no room for buffers in the " +
                         std::to_string(problem.endAddress) +
                         " bytes of a PE; compile for fewer tokens or a "
                         "smaller batch, or split "
                         "the model into programs with fewer different kernels";
    }
    return false;
  }

  /// When launches run and words flow, in a call of each entry.
  static LogicalResult scheduleFlows(wse::ProgramOp program) {
    FailureOr<SmallVector<FlowReading>> entries = readFlows(program);
    if (failed(entries))
      return failure();
    for (const FlowReading &flows : *entries) {
      if (std::string error = flows.problem.check(); !error.empty())
        return program.emitError(error);
      writeFlows(flows, scheduleByBackPressure(flows.problem));
    }
    return success();
  }

  /// The kernels whose scratch lacks room wherever others lie; if there are no
  /// such, those that lack a gap.
  static std::vector<plan::ScratchShortage>
  scratchWithoutRoom(wse::ProgramOp program, const SchedulingProblem &problem,
                     const SramOverflow &overflow) {
    std::vector<plan::ScratchShortage> room, gaps;
    const std::vector<std::string> names = planNames(program);
    SmallVector<wse::KernelOp> kernels = program.kernels();
    for (const SramOverflow::Scratch &its : overflow.scratch) {
      wse::KernelOp kernel = kernels[its.kernel];
      const int64_t bytes = problem.kernels[its.kernel].scratchBytes;
      int64_t least = bytes;
      for (const Offer &offer :
           findKernel(kernel)->offers(kernel, wse::regionOf(kernel).machine()))
        if (!offer.input && offer.applies())
          least = std::min(least, offer.scratchBytes);
      if (its.free < bytes)
        room.push_back({names[its.kernel], its.free, bytes, least});
      else
        gaps.push_back({names[its.kernel], its.gap, bytes, least});
    }
    return room.empty() ? gaps : room;
  }

  static bool byFirstFit(wse::ProgramOp program,
                         const SchedulingProblem &problem,
                         const std::vector<size_t> &order, Overflow &overflow) {
    SmallVector<wse::KernelOp> kernels = program.kernels();
    Schedule solution;
    SramOverflow found;
    if (scheduleByFirstFit(problem, solution, found, order)) {
      writeSchedule(program, kernels, problem, solution);
      return true;
    }
    overflow.op = found.owner < kernels.size()
                      ? kernels[found.owner].getOperation()
                      : program.persistents()[found.owner - kernels.size()];
    overflow.message = found.message;
    overflow.scratch = scratchWithoutRoom(program, problem, found);
    return false;
  }

  static bool take(wse::ProgramOp program, const SchedulingProblem &problem,
                   const std::optional<Schedule> &solution) {
    if (solution)
      writeSchedule(program, program.kernels(), problem, *solution);
    return solution.has_value();
  }

  static bool byForm(wse::ProgramOp program, const SchedulingProblem &problem,
                     const std::vector<size_t> &order, Overflow &) {
    return take(program, problem, scheduleByLayoutClass(problem, order));
  }

  static bool byLayers(wse::ProgramOp program, const SchedulingProblem &problem,
                       const std::vector<size_t> &order, Overflow &) {
    return take(program, problem, scheduleByLayers(problem, order));
  }

  static bool byBreadth(wse::ProgramOp program,
                        const SchedulingProblem &problem,
                        const std::vector<size_t> &order, Overflow &) {
    return take(program, problem, scheduleByBreadth(problem, order));
  }
};

} // namespace

std::unique_ptr<Pass>
schedule::createScheduleLaunchesPass(plan::Shortages *shortages) {
  return std::make_unique<ScheduleLaunches>(shortages);
}
