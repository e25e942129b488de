// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef WSEC_COMPILER_SCHEDULE_PASSES_TD
#define WSEC_COMPILER_SCHEDULE_PASSES_TD

include "mlir/Pass/PassBase.td"

def ScheduleLaunchesPass
    : Pass<"wse-schedule-launches", "::wsec::wse::ProgramOp"> {
  let summary = "Gives every kernel its slot, its data SRAM addresses, and words of the host a time.";
  let description = [{
    routed -> scheduled. Kernels of a region run in the order of the text; a result lives
    until its last reader has run, and an element-wise kernel may write over
    an operand that dies with it. Buffers begin behind the code, whose size the
    kernel library tells. Fails if the SRAM is too small, naming the kernel and
    the largest buffers in its way. Words of the host flow in the order of the
    launches that use them, as early as there is room on their way.

    ```mlir
    %x = load @x : ...                                    // before
    %x = load @x {slot = 3, address = 16384, window = array<i64: 99, 250>,
                  flows = [#wse.flow<@channel slot 2 cycles 87 to 240 ahead 6>]} : ...
    ```

    See test/compiler/schedule/schedule-launches.mlir.
  }];
  let dependentDialects = ["::wsec::pe::PeDialect"];
}

def VerifyScheduledPass
    : Pass<"wse-verify-scheduled", "::wsec::wse::ProgramOp"> {
  let summary = "Replays a scheduled program slot by slot.";
  let description = [{
    Every kernel has a slot, addresses for what it needs, a window and a flow for
    the words it moves on each color; they keep the rules T1 to T4 of
    compiler/schedule/SchedulingProblem.h and T5 to T9 of FlowProblem.h.
  }];
}

#endif // WSEC_COMPILER_SCHEDULE_PASSES_TD
