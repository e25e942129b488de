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
    %y = softmax %x : ...                                 // before
    stream @row_west row_west colors [0, 1] rules [...]   // after
    stream @row_cast row_cast colors [2] rules [...]
    %y = softmax %x {streams = [@row_west, @row_cast]} : ...
    ```

    See test/compiler/route/route-streams.mlir.
  }];
}

def VerifyRoutedPass : Pass<"wse-verify-routed", "::wsec::wse::ProgramOp"> {
  let summary = "Follows every stream of a routed program hop by hop.";
  let description = [{
    Every kernel has the streams that it needs, and streams keep the rules R1
    to R7 of compiler/route/RoutingProblem.h: every word reaches exactly the
    PEs that are meant and nothing can deadlock.
  }];
}

#endif // WSEC_COMPILER_ROUTE_PASSES_TD
