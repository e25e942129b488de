// RUN: wse-opt %s --split-input-file --pass-pipeline='builtin.module(wsec-select{mesh=4x3})' | FileCheck %s

// Two entries over the same weights and states: what a call leaves is declared
// once, each entry has its own inputs, outputs and range of positions.

// CHECK-DAG: #[[$STATE:.*]] = #wse.dist<rows = [0, 1 cyclic], columns = [2 by 4 over 2]>
// CHECK-DAG: #[[$KEYS:.*]] = #wse.dist<rows = [0, 1], columns = [2 by 4 over 2]>
// CHECK-DAG: #[[$QUERIES:.*]] = #wse.dist<rows = [0, 1], columns = [2 by 8 over 2]>
// CHECK-DAG: ![[$K1:.*]] = tensor<1x1x8xf32, #[[$KEYS]]>
// CHECK-DAG: ![[$Q1:.*]] = tensor<1x1x16xf32, #[[$QUERIES]]>
// CHECK-DAG: ![[$K3:.*]] = tensor<1x3x8xf32, #[[$KEYS]]>
// CHECK-DAG: ![[$S:.*]] = tensor<1x64x8xf32, #[[$STATE]]>
// CHECK-LABEL: wse.program @main
// CHECK: region @r shape(4x3)
// CHECK: input @one.x : tensor<1x1x16xf32>
// CHECK-NOT: input @one
// CHECK: parameter @w = {{.*}} : tensor<16x8xf32>
// CHECK-COUNT-1: state @past on @r : ![[$S]]
// CHECK: input @three.x : tensor<1x3x16xf32>
// CHECK-NOT: parameter
// CHECK: entry @one(%[[AT:.*]] from 0 to 63) {
// A product gives its result in the columns of the state it goes into.
// CHECK: matmul %{{.*}} -> ![[$K1]]{{$}}
// CHECK-NEXT: update @past at %[[AT]] with %{{.*}} on @r {nodes = ["write"]} : ![[$K1]]
// CHECK: cached_attention %{{.*}} keys @past values @past at %[[AT]] heads(4, 2) scale(5.000000e-01) on @r {nodes = ["attend"]} : ![[$Q1]] -> ![[$Q1]]
// CHECK: store %{{.*}} to "one.y"
// CHECK-NOT: store
// CHECK: entry @three(%[[AT3:.*]] from 0 to 61) {
// CHECK: update @past at %[[AT3]] with %{{.*}} on @r {nodes = ["write"]} : ![[$K3]]
// CHECK: store %{{.*}} to "three.y"
func.func @one(%x: tensor<1x1x16xf32> {onnx.name = "one.x"}, %at: tensor<1xi64> {onnx.name = "one.at", onnx.argument = array<i64: 0, 63>}, %past: tensor<1x64x8xf32> {onnx.name = "one.past", onnx.state = "past"})
    -> (tensor<1x1x16xf32> {onnx.name = "one.y"}, tensor<1x64x8xf32> {onnx.name = "one.present", onnx.state = "past"}) {
  %w = onnx.constant external<"none.bin", 0, 512> : tensor<16x8xf32> {node = "w"}
  %k = onnx.matmul %x, %w {node = "k"} : (tensor<1x1x16xf32>, tensor<16x8xf32>) -> tensor<1x1x8xf32>
  %s = onnx.update %past, %k at %at {node = "write"} : (tensor<1x64x8xf32>, tensor<1x1x8xf32>, tensor<1xi64>) -> tensor<1x64x8xf32>
  %y = onnx.cached_attention %x, %s, %s at %at {node = "attend", num_heads = 4 : i64, kv_heads = 2 : i64, scale = 0.5 : f32} : (tensor<1x1x16xf32>, tensor<1x64x8xf32>, tensor<1x64x8xf32>, tensor<1xi64>) -> tensor<1x1x16xf32>
  return %y, %s : tensor<1x1x16xf32>, tensor<1x64x8xf32>
}
func.func @three(%x: tensor<1x3x16xf32> {onnx.name = "three.x"}, %at: tensor<1xi64> {onnx.name = "three.at", onnx.argument = array<i64: 0, 61>}, %past: tensor<1x64x8xf32> {onnx.name = "three.past", onnx.state = "past"})
    -> (tensor<1x3x16xf32> {onnx.name = "three.y"}, tensor<1x64x8xf32> {onnx.name = "three.present", onnx.state = "past"}) {
  %w = onnx.constant external<"none.bin", 0, 512> : tensor<16x8xf32> {node = "w"}
  %k = onnx.matmul %x, %w {node = "k"} : (tensor<1x3x16xf32>, tensor<16x8xf32>) -> tensor<1x3x8xf32>
  %s = onnx.update %past, %k at %at {node = "write"} : (tensor<1x64x8xf32>, tensor<1x3x8xf32>, tensor<1xi64>) -> tensor<1x64x8xf32>
  %y = onnx.cached_attention %x, %s, %s at %at {node = "attend", num_heads = 4 : i64, kv_heads = 2 : i64, scale = 0.5 : f32} : (tensor<1x3x16xf32>, tensor<1x64x8xf32>, tensor<1x64x8xf32>, tensor<1xi64>) -> tensor<1x3x16xf32>
  return %y, %s : tensor<1x3x16xf32>, tensor<1x64x8xf32>
}

// -----

// Values lie as keys that are rotated, in whole heads: the products of both
// share their code.
// CHECK-LABEL: wse.program @main
// CHECK: matmul %{{.*}} weight <@k : {{.*}} -> ![[HEADS:[a-z0-9_]+_heads]]{{$}}
// CHECK: matmul %{{.*}} weight <@v : {{.*}} -> ![[HEADS]]{{$}}
func.func @main(%x: tensor<1x1x16xf32> {onnx.name = "x"}, %cos: tensor<1x1x2xf32> {onnx.name = "cos"}, %sin: tensor<1x1x2xf32> {onnx.name = "sin"},
    %at: tensor<1xi64> {onnx.name = "at", onnx.argument = array<i64: 0, 63>},
    %keys: tensor<1x64x8xf32> {onnx.name = "keys", onnx.state = "keys"}, %values: tensor<1x64x8xf32> {onnx.name = "values", onnx.state = "values"})
    -> (tensor<1x1x16xf32> {onnx.name = "y"}, tensor<1x64x8xf32> {onnx.name = "new_keys", onnx.state = "keys"}, tensor<1x64x8xf32> {onnx.name = "new_values", onnx.state = "values"}) {
  %wk = onnx.constant external<"none.bin", 0, 512> : tensor<16x8xf32> {node = "k"}
  %wv = onnx.constant external<"none.bin", 512, 512> : tensor<16x8xf32> {node = "v"}
  %k = onnx.matmul %x, %wk {node = "k"} : (tensor<1x1x16xf32>, tensor<16x8xf32>) -> tensor<1x1x8xf32>
  %v = onnx.matmul %x, %wv {node = "v"} : (tensor<1x1x16xf32>, tensor<16x8xf32>) -> tensor<1x1x8xf32>
  %r = onnx.rotary %k, %cos, %sin {num_heads = 2 : i64, rotary_dim = 4 : i64, node = "rotary"} : (tensor<1x1x8xf32>, tensor<1x1x2xf32>, tensor<1x1x2xf32>) -> tensor<1x1x8xf32>
  %s = onnx.update %keys, %r at %at {node = "keys"} : (tensor<1x64x8xf32>, tensor<1x1x8xf32>, tensor<1xi64>) -> tensor<1x64x8xf32>
  %t = onnx.update %values, %v at %at {node = "values"} : (tensor<1x64x8xf32>, tensor<1x1x8xf32>, tensor<1xi64>) -> tensor<1x64x8xf32>
  %y = onnx.cached_attention %x, %s, %t at %at {node = "attend", num_heads = 4 : i64, kv_heads = 2 : i64, scale = 0.5 : f32} : (tensor<1x1x16xf32>, tensor<1x64x8xf32>, tensor<1x64x8xf32>, tensor<1xi64>) -> tensor<1x1x16xf32>
  return %y, %s, %t : tensor<1x1x16xf32>, tensor<1x64x8xf32>, tensor<1x64x8xf32>
}

// -----

// Sinks, the same for each batch element, come to all columns.
// CHECK-DAG: #[[$WHOLE:.*]] = #wse.dist<rows = [0, 1], columns = []>
// CHECK-DAG: ![[$SINKS:.*]] = tensor<2x1x4xf32, #[[$WHOLE]]>
// CHECK-LABEL: wse.program @main
// CHECK: %[[SINKS:.*]] = load <@s : tensor<2x1x4xf32> view 0 strides [0, 4, 1]> on @r {nodes = ["attend"]} : ![[$SINKS]]
// CHECK: cached_attention %{{.*}} at %{{.*}} heads(4, 2) scale(5.000000e-01) sinks(%[[SINKS]] : ![[$SINKS]]) on @r
func.func @main(%x: tensor<2x1x16xf32> {onnx.name = "x"}, %k: tensor<2x1x8xf32> {onnx.name = "k"}, %at: tensor<2xi64> {onnx.name = "at", onnx.argument = array<i64: 0, 63>},
    %past: tensor<2x64x8xf32> {onnx.name = "past", onnx.state = "past"})
    -> (tensor<2x1x16xf32> {onnx.name = "y"}, tensor<2x64x8xf32> {onnx.name = "present", onnx.state = "past"}) {
  %sinks = onnx.constant external<"none.bin", 0, 16> : tensor<4xf32> {node = "s"}
  %s = onnx.update %past, %k at %at {node = "write"} : (tensor<2x64x8xf32>, tensor<2x1x8xf32>, tensor<2xi64>) -> tensor<2x64x8xf32>
  %y = onnx.cached_attention %x, %s, %s at %at sinks %sinks {node = "attend", num_heads = 4 : i64, kv_heads = 2 : i64, scale = 0.5 : f32} : (tensor<2x1x16xf32>, tensor<2x64x8xf32>, tensor<2x64x8xf32>, tensor<2xi64>, tensor<4xf32>) -> tensor<2x1x16xf32>
  return %y, %s : tensor<2x1x16xf32>, tensor<2x64x8xf32>
}
