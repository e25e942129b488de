// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef WSEC_COMPILER_ROUTE_PASSES_TD
#define WSEC_COMPILER_ROUTE_PASSES_TD

include "mlir/Pass/PassBase.td"

def RouteStreamsPass : Pass<"wse-route-streams", "::wsec::wse::ProgramOp"> {
  let summary = "Gives the streams of all kernels colors and routes.";
  let description = [{
    placed -> routed. Asks each kernel which patterns it opens, opens a stream
    for each different one and `launch`, and chooses colors so that no PE has
    two settings of one color.

    ```mlir
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
    wse.program @main state(routed) mesh(1x1) machine("wse2") {
      stream @launch launch colors [0] rules [#wse.rule<color 0, <x = 0 to 1, y = 0 to 1>, west to ramp>]
      stream @channel channel colors [1] rules [#wse.rule<color 1, <x = 0 to 1, y = 0 to 1>, west to ramp>]
      stream @column column rows <groups = 1, pitch = 1, used = 1> colors [2] rules [#wse.rule<color 2, <x = 0 to 1, y = 0 to 1>, ramp to ramp>]
      stream @out_exit out_exit colors [3] rules [#wse.rule<color 3, <x = 0 to 1, y = 0 to 1>, ramp to east>]
      region @r shape(1x1) at (0, 0)
      input @x : tensor<2x4xf32>
      %x = load @x on @r {streams = [@channel, @column]} : !tokens_1x2x4_balanced
      store %x to "y" on @r {streams = [@out_exit]} : !tokens_1x2x4_balanced to tensor<2x4xf32>
    }
    ```
  }];
}

def VerifyRoutedPass : Pass<"wse-verify-routed", "::wsec::wse::ProgramOp"> {
  let summary = "Follows every stream of a routed program hop by hop.";
  let description = [{
    Every kernel has the streams that it needs, and streams keep the rules R1
    to R7 of compiler/route/RoutingProblem.h: every word reaches exactly the
    PEs that are meant and nothing can deadlock.

    ```mlir
    wse.program @main state(routed) mesh(2x1) machine("wse2") {
      stream @launch launch colors [0] rules [#wse.rule<color 0, <x = 0 to 2, y = 0 to 1>, west to north>]
      region @r shape(2x1) at (0, 0)
    }
    ```
    is refused:
    ```
    error: stream 'launch', color 0: PE (0,0) sends words off the mesh to NORTH
    ```
  }];
}

#endif // WSEC_COMPILER_ROUTE_PASSES_TD
