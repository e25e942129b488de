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
    // wse-opt --wse-route-streams --wse-schedule-launches
    !tokens = tensor<1x2x4xf32, #wse.dist<rows = [0, 1], columns = [2]>>
    wse.program @main state(placed) mesh(1x1) machine("wse2") {
      region @r shape(1x1) at (0, 0)
      input @x : tensor<2x4xf32>
      %x = load @x on @r : !tokens
      store %x to "y" on @r : !tokens to tensor<2x4xf32>
    }
    ```
    becomes
    ```mlir
      ...
      %x = load @x on @r {address = 4288 : i64, flows = [#wse.flow<@channel slot 0 cycles 1700 to 1714 ahead 6>], slot = 0 : i64, streams = [@channel, @column], window = array<i64: 0, 1726>} : !tokens_1x2x4_balanced
      store %x to "y" on @r {flows = [#wse.flow<@out_exit slot 1 cycles 1726 to 1756 ahead 0>], slot = 1 : i64, streams = [@out_exit], window = array<i64: 1726, 1756>} : !tokens_1x2x4_balanced to tensor<2x4xf32>
    }
    ```
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

    ```mlir
    !token = tensor<1x1x8xf32, #wse.dist<rows = [0, 1], columns = [2]>>
    wse.program @main state(scheduled) mesh(1x1) machine("wse2") attributes {sram_peak = 8208 : i64} {
      region @r shape(1x1) at (0, 0)
      input @x : tensor<1x8xf32>
      %a = load @x on @r {nodes = ["a"], slot = 0 : i64, address = 8160 : i64} : !token
      %b = load @x on @r {nodes = ["b"], slot = 1 : i64, address = 8176 : i64} : !token
      %sum = elementwise(%a, %b) on @r {nodes = ["sum"], slot = 2 : i64, address = 8192 : i64} : (!token, !token) -> !token {
      ^bb0(%x: f32, %y: f32):
        %z = arith.addf %x, %y : f32
        wse.yield %z : f32
      }
    }
    ```
    is refused:
    ```
    error: result of 'b' at [8176,8208) overlaps result of 'a' at [8160,8192) in slot 1
    ```
  }];
}

#endif // WSEC_COMPILER_SCHEDULE_PASSES_TD
