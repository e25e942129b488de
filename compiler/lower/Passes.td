// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef WSEC_COMPILER_LOWER_PASSES_TD
#define WSEC_COMPILER_LOWER_PASSES_TD

include "mlir/Pass/PassBase.td"

def ConvertWseToPePass : Pass<"convert-wse-to-pe", "::mlir::ModuleOp"> {
  let summary = "Writes the code that every PE runs.";
  let description = [{
    scheduled -> pe. Routes become router settings; each kernel, in the order of
    its slot, becomes a routine, host streams and a launch. Kernels whose code
    is equal down to addresses share one routine, so that code does not grow
    with the depth of a model.

    ```mlir
    // wse-opt --wse-route-streams --wse-schedule-launches --convert-wse-to-pe
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
    pe.program @main mesh [1, 1] machine "wse2" launch_color 0 {
      tensor input @x : tensor<2x4xf32>
      tensor output @y : tensor<2x4xf32>
      route 0 [0:1, 0:1] from west to [ramp]
      route 1 [0:1, 0:1] from west to [ramp]
      route 2 [0:1, 0:1] from ramp to [ramp]
      route 3 [0:1, 0:1] from ramp to [east]
      class @every_pe [0:1, 0:1] {
        ...
        routine @load {
          vector mov fabric(2, depth = 2) = fabric(1, depth = 2) over (2, 4) thread 0
          vector mov @tensor_4288[0, strides = [0, 1, 2]] = fabric(2, depth = 3, window = 0 of 8) over (1, 2, 4)
          await [0]
        }
        routine @store {
          vector mov fabric(3, depth = 2) = @tensor_4288[0, strides = [1, 2]] over (2, 4) thread 1
          await [1]
        }
      }
      stream in @to_load color 1 channels [0 -> 0:1] {
        segment @x[0, strides = [1]] over (4) lines 2 step 4
      }
      ...
      launch @load for @wse.load streams [@to_load]
      ...
    }
    ```
  }];
  let dependentDialects = ["::wsec::pe::PeDialect"];
}

#endif // WSEC_COMPILER_LOWER_PASSES_TD
