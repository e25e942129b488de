// RUN: wse-opt %s --pass-pipeline='builtin.module(wsec-select{mesh=4x3 kv-precision=f16})' | FileCheck %s --check-prefix=HALF
// RUN: wse-opt %s --pass-pipeline='builtin.module(wsec-select{mesh=4x3 kv-precision=int8})' | FileCheck %s --check-prefix=BYTES

// Keys and values have a precision of their own. In 8 bits two features of a
// head are an element, and each of its columns has a scale.

// HALF: ![[S:.*]] = tensor<1x64x8xf16, #{{.*}}>
// HALF: state @past on @r : ![[S]]
// HALF-NOT: state @
// HALF: update @past at %{{.*}} with %{{.*}} : !tokens_1x1x8_heads
// HALF: cached_attention %{{.*}} keys @past values @past at

// BYTES-DAG: #[[BYTES:.*]] = #wse.dist<rows = [0, 1 cyclic], columns = [2 by 2 over 2]>
// BYTES-DAG: ![[S:.*]] = tensor<1x64x4xi16, #[[BYTES]]>
// BYTES-DAG: ![[SCALES:.*]] = tensor<1x64x4xf16, #[[BYTES]]>
// BYTES: state @past on @r : ![[S]] {wse.scales = @past.scales}
// BYTES: state @past.scales on @r : ![[SCALES]]
// BYTES: update @past at %{{.*}} with %{{.*}} : !tokens_1x1x8_heads
// BYTES: cached_attention %{{.*}} keys @past values @past at
func.func @main(%x: tensor<1x1x16xf32> {onnx.name = "x"}, %k: tensor<1x1x8xf32> {onnx.name = "k"}, %at: tensor<1xi64> {onnx.name = "at", onnx.argument = array<i64: 0, 63>}, %past: tensor<1x64x8xf32> {onnx.name = "past", onnx.state = "past"})
    -> (tensor<1x1x16xf32> {onnx.name = "y"}, tensor<1x64x8xf32> {onnx.name = "present", onnx.state = "past"}) {
  %s = onnx.update %past, %k at %at {node = "write"} : (tensor<1x64x8xf32>, tensor<1x1x8xf32>, tensor<1xi64>) -> tensor<1x64x8xf32>
  %y = onnx.cached_attention %x, %s, %s at %at {node = "attend", num_heads = 4 : i64, kv_heads = 2 : i64, scale = 0.5 : f32} : (tensor<1x1x16xf32>, tensor<1x64x8xf32>, tensor<1x64x8xf32>, tensor<1xi64>) -> tensor<1x1x16xf32>
  return %y, %s : tensor<1x1x16xf32>, tensor<1x64x8xf32>
}
