// RUN: wse-opt %s --split-input-file --pass-pipeline='builtin.module(wsec-select{mesh=4x3})' | FileCheck %s

// An encoder layer of two heads: queries, keys and values get whole heads, the
// padding mask becomes one row of keys per batch element, Gelu one kernel.

// CHECK: #[[ROWS:.*]] = #wse.tiled<batch = 1, tokens = 6, rows = split, group = 3, columns = balanced>
// CHECK: #[[HEADS:.*]] = #wse.tiled<batch = 1, tokens = 6, rows = split, group = 3, columns = heads, head_size = 4>
// CHECK: #[[KEYS:.*]] = #wse.tiled<batch = 1, tokens = 1, rows = replicated, group = 3, span = 3, columns = replicated>
// CHECK-LABEL: wse.program @main state(selected) mesh(4x3) machine("wse2")
// CHECK: input @ids : tensor<1x6xi64>
// CHECK: input @mask : tensor<1x6xi64>
// CHECK: %[[WORD:.*]] = gather <"wte" : tensor<10x8xf32> file "m.data" offset 0 bytes 320> at @ids {nodes = ["word"]} : tensor<1x6x8xf32, #[[ROWS]]>
// CHECK: %[[POSITION:.*]] = load #wse.weight<"wpe" : tensor<1x6x8xf32> file "m.data" offset 320 bytes 192>
// CHECK: %[[EMBED:.*]] = elementwise(%[[WORD]], %[[POSITION]])
// CHECK: arith.addf
// CHECK: %[[LN:.*]] = layer_norm %[[EMBED]] scale <"g" {{.*}} epsilon(9.9
// CHECK: %[[Q:.*]] = matmul %[[LN]] weight <"w" : tensor<8x8xf32> file "m.data" offset 512 bytes 256> bias <"b" {{.*}} variant({{.*}}) {nodes = ["q"]} : tensor<1x6x8xf32, #[[ROWS]]> -> tensor<1x6x8xf32, #[[HEADS]]>
// CHECK: %[[K:.*]] = matmul %[[LN]] weight <"w" : tensor<8x8xf32> file "m.data" offset 512 bytes 256 view 0 strides [1, 8]>
// CHECK: %[[MASK:.*]] = load @mask {nodes = ["attend"]} : tensor<1x1x6xf32, #[[KEYS]]>
// CHECK: %[[BIAS:.*]] = elementwise(%[[MASK]]) {nodes = ["to_float", "not_mask", "padding"]} : (tensor<1x1x6xf32, #[[KEYS]]>) -> tensor<1x1x6xf32, #[[KEYS]]>
// CHECK: %[[ATTEND:.*]] = attention %[[Q]], %[[K]], %[[K]] key_bias %[[BIAS]] heads(2) scale(5.000000e-01) {nodes = ["attend"]}
// CHECK: %[[UP:.*]] = matmul %[[ATTEND]] {{.*}} #[[HEADS]]> -> tensor<1x6x8xf32, #[[ROWS]]>
// CHECK: %[[GELU:.*]] = elementwise(%[[UP]]) {nodes = ["div", "erf", "plus", "times", "gelu"]}
// CHECK-NEXT: ^bb0
// CHECK-NOT: elementwise
// CHECK: math.erf
// CHECK: store %[[GELU]] to "hidden" {{.*}} : tensor<1x6x8xf32, #[[ROWS]]> to tensor<6x8xf32>
func.func @main(%ids: tensor<1x6xi64> {onnx.name = "ids"}, %mask: tensor<1x6xi64> {onnx.name = "mask"}) -> (tensor<6x8xf32> {onnx.name = "hidden"}) {
  %table = onnx.constant external<"m.data", 0, 320> : tensor<10x8xf32> {node = "wte"}
  %positions = onnx.constant external<"m.data", 320, 192> : tensor<1x6x8xf32> {node = "wpe"}
  %g = onnx.constant dense<1.0> : tensor<8xf32> {node = "g"}
  %b = onnx.constant dense<0.5> : tensor<8xf32> {node = "b"}
  %w = onnx.constant external<"m.data", 512, 256> : tensor<8x8xf32> {node = "w"}
  %wt = onnx.constant external<"m.data", 512, 256> view offset 0 strides [1, 8] : tensor<8x8xf32> {node = "w"}
  %one = onnx.constant dense<1.0> : tensor<f32>
  %half = onnx.constant dense<0.5> : tensor<f32>
  %root = onnx.constant dense<1.41421354> : tensor<1xf32>
  %low = onnx.constant dense<-1.0e4> : tensor<f32>
  %word = onnx.gather %table, %ids {node = "word"} : (tensor<10x8xf32>, tensor<1x6xi64>) -> tensor<1x6x8xf32>
  %embed = onnx.binary add %word, %positions {node = "embed"} : (tensor<1x6x8xf32>, tensor<1x6x8xf32>) -> tensor<1x6x8xf32>
  %ln = onnx.layer_norm %embed, %g bias %b {epsilon = 1.0e-5 : f32, node = "ln"} : (tensor<1x6x8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<1x6x8xf32>
  %q = onnx.matmul %ln, %w bias %b {node = "q"} : (tensor<1x6x8xf32>, tensor<8x8xf32>, tensor<8xf32>) -> tensor<1x6x8xf32>
  %k = onnx.matmul %ln, %wt {node = "k"} : (tensor<1x6x8xf32>, tensor<8x8xf32>) -> tensor<1x6x8xf32>
  %mask4 = onnx.reshape %mask {node = "unsqueeze"} : tensor<1x6xi64> -> tensor<1x1x1x6xi64>
  %mask_float = onnx.cast %mask4 {node = "to_float"} : tensor<1x1x1x6xi64> -> tensor<1x1x1x6xf32>
  %not_mask = onnx.binary sub %one, %mask_float {node = "not_mask"} : (tensor<f32>, tensor<1x1x1x6xf32>) -> tensor<1x1x1x6xf32>
  %padding = onnx.binary mul %not_mask, %low {node = "padding"} : (tensor<1x1x1x6xf32>, tensor<f32>) -> tensor<1x1x1x6xf32>
  %attend = onnx.attention %q, %k, %k bias %padding {num_heads = 2 : i64, scale = 0.5 : f32, node = "attend"} : (tensor<1x6x8xf32>, tensor<1x6x8xf32>, tensor<1x6x8xf32>, tensor<1x1x1x6xf32>) -> tensor<1x6x8xf32>
  %up = onnx.matmul %attend, %w {node = "up"} : (tensor<1x6x8xf32>, tensor<8x8xf32>) -> tensor<1x6x8xf32>
  %div = onnx.binary div %up, %root {node = "div"} : (tensor<1x6x8xf32>, tensor<1xf32>) -> tensor<1x6x8xf32>
  %erf = onnx.unary erf %div {node = "erf"} : tensor<1x6x8xf32>
  %plus = onnx.binary add %erf, %one {node = "plus"} : (tensor<1x6x8xf32>, tensor<f32>) -> tensor<1x6x8xf32>
  %times = onnx.binary mul %up, %plus {node = "times"} : (tensor<1x6x8xf32>, tensor<1x6x8xf32>) -> tensor<1x6x8xf32>
  %gelu = onnx.binary mul %times, %half {node = "gelu"} : (tensor<1x6x8xf32>, tensor<f32>) -> tensor<1x6x8xf32>
  %flat = onnx.reshape %gelu {node = "flat"} : tensor<1x6x8xf32> -> tensor<6x8xf32>
  return %flat : tensor<6x8xf32>
}
