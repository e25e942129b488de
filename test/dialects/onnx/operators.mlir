// RUN: wse-opt %s --verify-roundtrip | FileCheck %s

// Each named operator reads back as it is printed.

// CHECK-LABEL: func.func @matmul
func.func @matmul(%x: tensor<1x8x16xf32>, %w: tensor<16x24xf32>, %b: tensor<24xf32>) -> tensor<1x8x24xf32> {
  // CHECK: onnx.matmul %{{.*}}, %{{.*}} bias %{{.*}} : (tensor<1x8x16xf32>, tensor<16x24xf32>, tensor<24xf32>) -> tensor<1x8x24xf32>
  %y = onnx.matmul %x, %w bias %b : (tensor<1x8x16xf32>, tensor<16x24xf32>, tensor<24xf32>) -> tensor<1x8x24xf32>
  // CHECK: onnx.matmul %{{.*}}, %{{.*}} : (tensor<1x8x16xf32>, tensor<16x24xf32>) -> tensor<1x8x24xf32>
  %z = onnx.matmul %x, %w : (tensor<1x8x16xf32>, tensor<16x24xf32>) -> tensor<1x8x24xf32>
  return %y : tensor<1x8x24xf32>
}

// CHECK-LABEL: func.func @shared_keys
func.func @shared_keys(%q: tensor<2x8x16xf32>, %k: tensor<2x8x8xf32>, %c: tensor<1x8x2xf32>) -> tensor<2x8x16xf32> {
  // CHECK: %[[T:.*]] = onnx.rotary %{{.*}}, %{{.*}}, %{{.*}} {interleaved, num_heads = 4 : i64, rotary_dim = 4 : i64}
  %t = onnx.rotary %q, %c, %c {num_heads = 4 : i64, rotary_dim = 4 : i64, interleaved} : (tensor<2x8x16xf32>, tensor<1x8x2xf32>, tensor<1x8x2xf32>) -> tensor<2x8x16xf32>
  // CHECK: onnx.attention %[[T]], %{{.*}}, %{{.*}} {kv_heads = 2 : i64, num_heads = 4 : i64, scale = 5.000000e-01 : f32}
  %a = onnx.attention %t, %k, %k {num_heads = 4 : i64, kv_heads = 2 : i64, scale = 0.5 : f32} : (tensor<2x8x16xf32>, tensor<2x8x8xf32>, tensor<2x8x8xf32>) -> tensor<2x8x16xf32>
  return %a : tensor<2x8x16xf32>
}

// CHECK-LABEL: func.func @heads
func.func @heads(%x: tensor<2x8x24xf32>, %g: tensor<24xf32>, %bias: tensor<1x8x32xf32>) -> tensor<2x8x8xf32> {
  // CHECK: %[[N:.*]] = onnx.rms_norm %{{.*}}, %{{.*}} {epsilon = 5.000000e-01 : f32, num_heads = 4 : i64}
  %n = onnx.rms_norm %x, %g {epsilon = 0.5 : f32, num_heads = 4 : i64} : (tensor<2x8x24xf32>, tensor<24xf32>) -> tensor<2x8x24xf32>
  // CHECK: %[[S:.*]] = onnx.slice_heads %[[N]] {num_heads = 4 : i64, start = 2 : i64} : tensor<2x8x24xf32> -> tensor<2x8x8xf32>
  %s = onnx.slice_heads %n {num_heads = 4 : i64, start = 2 : i64} : tensor<2x8x24xf32> -> tensor<2x8x8xf32>
  // CHECK: onnx.attention %[[S]], %[[S]], %[[S]] masks %{{.*}} {num_heads = 4 : i64, scale = 5.000000e-01 : f32, softcap = 2.000000e+00 : f32, terms = [#onnx.term<add operand 0 later -1.000000e+04 : f32>, #onnx.term<raise to -3.40282347E+38 : f32>, #onnx.term<replace later 0xFF800000 : f32>, #onnx.term<zero_nan>]}
  %a = onnx.attention %s, %s, %s masks %bias {num_heads = 4 : i64, scale = 0.5 : f32, softcap = 2.0 : f32, terms = [#onnx.term<add operand 0 later -1.0e4 : f32>, #onnx.term<raise to -3.40282347e38 : f32>, #onnx.term<replace later 0xFF800000 : f32>, #onnx.term<zero_nan>]} : (tensor<2x8x8xf32>, tensor<2x8x8xf32>, tensor<2x8x8xf32>, tensor<1x8x32xf32>) -> tensor<2x8x8xf32>
  return %a : tensor<2x8x8xf32>
}

// CHECK-LABEL: func.func @attention
func.func @attention(%q: tensor<2x8x16xf32>, %k: tensor<2x8x16xf32>, %v: tensor<2x8x16xf32>, %mask: tensor<2x1x1x8xf32>) -> tensor<2x8x16xf32> {
  // CHECK: onnx.attention %{{.*}}, %{{.*}}, %{{.*}} masks %{{.*}} {num_heads = 4 : i64, scale = 5.000000e-01 : f32, terms = [#onnx.term<add operand 0>, #onnx.term<zero_hidden>]}
  %a = onnx.attention %q, %k, %v masks %mask {num_heads = 4 : i64, scale = 0.5 : f32, terms = [#onnx.term<add operand 0>, #onnx.term<zero_hidden>]}
      : (tensor<2x8x16xf32>, tensor<2x8x16xf32>, tensor<2x8x16xf32>, tensor<2x1x1x8xf32>) -> tensor<2x8x16xf32>
  return %a : tensor<2x8x16xf32>
}

// CHECK-LABEL: func.func @attention_gradient
func.func @attention_gradient(%q: tensor<2x8x16xf32>, %v: tensor<2x8x12xf32>) -> tensor<2x8x12xf32> {
  // CHECK: %{{.*}}:3 = onnx.attention_gradient %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} {num_heads = 4 : i64, scale = 5.000000e-01 : f32, terms = [#onnx.term<replace later 0xFF800000 : f32>]}
  %dq, %dk, %dv = onnx.attention_gradient %q, %q, %v, %v, %v {num_heads = 4 : i64, scale = 0.5 : f32, terms = [#onnx.term<replace later 0xFF800000 : f32>]}
      : (tensor<2x8x16xf32>, tensor<2x8x16xf32>, tensor<2x8x12xf32>, tensor<2x8x12xf32>, tensor<2x8x12xf32>) -> (tensor<2x8x16xf32>, tensor<2x8x16xf32>, tensor<2x8x12xf32>)
  return %dv : tensor<2x8x12xf32>
}

// CHECK-LABEL: func.func @norms
func.func @norms(%x: tensor<1x8x16xf32>, %g: tensor<16xf32>, %b: tensor<16xf32>) -> tensor<1x8x16xf32> {
  // CHECK: onnx.layer_norm %{{.*}}, %{{.*}} bias %{{.*}} {epsilon = {{.*}} : f32}
  %l = onnx.layer_norm %x, %g bias %b {epsilon = 1.0e-5 : f32} : (tensor<1x8x16xf32>, tensor<16xf32>, tensor<16xf32>) -> tensor<1x8x16xf32>
  // CHECK: onnx.norm_gradient %{{.*}}, %{{.*}}, %{{.*}} {centred, epsilon = {{.*}} : f32}
  %d:2 = onnx.norm_gradient %x, %g, %l {centred, epsilon = 1.0e-5 : f32} : (tensor<1x8x16xf32>, tensor<16xf32>, tensor<1x8x16xf32>) -> (tensor<1x8x16xf32>, tensor<1x8x16xf32>)
  // CHECK: onnx.rms_norm
  %r = onnx.rms_norm %l, %g {epsilon = 1.0e-6 : f32} : (tensor<1x8x16xf32>, tensor<16xf32>) -> tensor<1x8x16xf32>
  // CHECK: onnx.softmax %{{.*}} : tensor<1x8x16xf32>
  %s = onnx.softmax %r : tensor<1x8x16xf32>
  return %s : tensor<1x8x16xf32>
}

// CHECK-LABEL: func.func @top_k
func.func @top_k(%x: tensor<8x16xf32>) -> (tensor<8x3xi64>, tensor<8x1xf32>) {
  // CHECK: onnx.top_k %{{.*}} : tensor<8x16xf32> -> tensor<8x3xi64>, tensor<8x3xf32>
  %i, %v = onnx.top_k %x : tensor<8x16xf32> -> tensor<8x3xi64>, tensor<8x3xf32>
  // CHECK: onnx.top_k %{{.*}} smallest {node = "least"}
  %j, %w = onnx.top_k %x smallest {node = "least"} : tensor<8x16xf32> -> tensor<8x1xi64>, tensor<8x1xf32>
  return %i, %w : tensor<8x3xi64>, tensor<8x1xf32>
}

// CHECK-LABEL: func.func @experts
func.func @experts(%x: tensor<18x16xf32>, %ids: tensor<18xi64>, %w: tensor<4x16x24xf32>) -> tensor<18x24xf32> {
  // CHECK: onnx.experts %{{.*}}, %{{.*}}, %{{.*}} {node = "mixture"} : (tensor<18x16xf32>, tensor<18xi64>, tensor<4x16x24xf32>) -> tensor<18x24xf32>
  %y = onnx.experts %x, %ids, %w {node = "mixture"} : (tensor<18x16xf32>, tensor<18xi64>, tensor<4x16x24xf32>) -> tensor<18x24xf32>
  return %y : tensor<18x24xf32>
}

// CHECK-LABEL: func.func @gather
func.func @gather(%table: tensor<100x16xf32>, %ids: tensor<1x8xi64>) -> tensor<1x8x16xf32> {
  // CHECK: onnx.gather %{{.*}}, %{{.*}} : (tensor<100x16xf32>, tensor<1x8xi64>) -> tensor<1x8x16xf32>
  %e = onnx.gather %table, %ids : (tensor<100x16xf32>, tensor<1x8xi64>) -> tensor<1x8x16xf32>
  return %e : tensor<1x8x16xf32>
}

// CHECK-LABEL: func.func @elementwise
func.func @elementwise(%x: tensor<8x16xf32>, %b: tensor<16xf32>, %i: tensor<8x1xi64>) -> tensor<8x16xf32> {
  // CHECK: onnx.unary tanh %{{.*}} : tensor<8x16xf32>
  %t = onnx.unary tanh %x : tensor<8x16xf32>
  // CHECK: onnx.binary add %{{.*}}, %{{.*}} : (tensor<8x16xf32>, tensor<16xf32>) -> tensor<8x16xf32>
  %s = onnx.binary add %t, %b : (tensor<8x16xf32>, tensor<16xf32>) -> tensor<8x16xf32>
  // CHECK: onnx.cast %{{.*}} : tensor<8x1xi64> -> tensor<8x1xf32>
  %f = onnx.cast %i : tensor<8x1xi64> -> tensor<8x1xf32>
  // CHECK: onnx.binary less_or_equal
  %c = onnx.binary less_or_equal %f, %s : (tensor<8x1xf32>, tensor<8x16xf32>) -> tensor<8x16xi1>
  // CHECK: onnx.where %{{.*}}, %{{.*}}, %{{.*}} : (tensor<8x16xi1>, tensor<8x16xf32>, tensor<16xf32>) -> tensor<8x16xf32>
  %w = onnx.where %c, %s, %b : (tensor<8x16xi1>, tensor<8x16xf32>, tensor<16xf32>) -> tensor<8x16xf32>
  return %w : tensor<8x16xf32>
}

// CHECK-LABEL: func.func @shapes
func.func @shapes(%x: tensor<2x8x16xf32>) -> tensor<2x2x16xf32> {
  // CHECK: onnx.reduce mean %{{.*}} {axes = array<i64: 1>, keepdims = true} : tensor<2x8x16xf32> -> tensor<2x1x16xf32>
  %m = onnx.reduce mean %x {axes = array<i64: 1>, keepdims = true} : tensor<2x8x16xf32> -> tensor<2x1x16xf32>
  // CHECK: onnx.running_sum %{{.*}} exclusive reverse {axis = 1 : i64} : tensor<2x8x16xf32>
  %sums = onnx.running_sum %x exclusive reverse {axis = 1 : i64} : tensor<2x8x16xf32>
  // CHECK: onnx.bit_cast %{{.*}} : tensor<2x8x16xf32> -> tensor<2x8x16xi32>
  %bits = onnx.bit_cast %sums : tensor<2x8x16xf32> -> tensor<2x8x16xi32>
  // CHECK: onnx.expand %{{.*}} : tensor<2x1x16xf32> -> tensor<2x8x16xf32>
  %e = onnx.expand %m : tensor<2x1x16xf32> -> tensor<2x8x16xf32>
  // CHECK: onnx.transpose %{{.*}} {perm = array<i64: 1, 0, 2>} : tensor<2x8x16xf32> -> tensor<8x2x16xf32>
  %t = onnx.transpose %e {perm = array<i64: 1, 0, 2>} : tensor<2x8x16xf32> -> tensor<8x2x16xf32>
  // CHECK: onnx.slice %{{.*}} {starts = array<i64: 7, 0, 0>, steps = array<i64: -2, 1, 1>} : tensor<8x2x16xf32> -> tensor<4x2x16xf32>
  %s = onnx.slice %t {starts = array<i64: 7, 0, 0>, steps = array<i64: -2, 1, 1>} : tensor<8x2x16xf32> -> tensor<4x2x16xf32>
  // CHECK: onnx.reshape %{{.*}} : tensor<4x2x16xf32> -> tensor<2x4x16xf32>
  %r = onnx.reshape %s : tensor<4x2x16xf32> -> tensor<2x4x16xf32>
  %one = onnx.slice %r {starts = array<i64: 0, 0, 0>, steps = array<i64: 1, 1, 1>} : tensor<2x4x16xf32> -> tensor<2x1x16xf32>
  // CHECK: onnx.concat %{{.*}}, %{{.*}} {axis = 1 : i64} : (tensor<2x1x16xf32>, tensor<2x1x16xf32>) -> tensor<2x2x16xf32>
  %c = onnx.concat %one, %one {axis = 1 : i64} : (tensor<2x1x16xf32>, tensor<2x1x16xf32>) -> tensor<2x2x16xf32>
  return %c : tensor<2x2x16xf32>
}

// CHECK-LABEL: func.func @cross_entropy
func.func @cross_entropy(%z: tensor<2x8x97xf32>, %c: tensor<2x8xi64>, %w: tensor<97xf32>) -> tensor<2x8xf32> {
  // CHECK: onnx.cross_entropy mean %{{.*}}, %{{.*}} {ignore_index = -100 : i64, label_smoothing = 1.000000e-01 : f32} : (tensor<2x8x97xf32>, tensor<2x8xi64>) -> tensor<f32>
  %mean = onnx.cross_entropy mean %z, %c {ignore_index = -100 : i64, label_smoothing = 0.1 : f32} : (tensor<2x8x97xf32>, tensor<2x8xi64>) -> tensor<f32>
  // CHECK: onnx.cross_entropy none %{{.*}}, %{{.*}} weights %{{.*}} {label_smoothing = 0.000000e+00 : f32, normalized} : (tensor<2x8x97xf32>, tensor<2x8xi64>, tensor<97xf32>) -> tensor<2x8xf32>
  %each = onnx.cross_entropy none %z, %c weights %w {label_smoothing = 0.0 : f32, normalized} : (tensor<2x8x97xf32>, tensor<2x8xi64>, tensor<97xf32>) -> tensor<2x8xf32>
  return %each : tensor<2x8xf32>
}

// CHECK-LABEL: func.func @states
func.func @states(%k: tensor<1x64x8xf32>, %v: tensor<1x2x64x4xf32>, %new: tensor<1x2x8xf32>, %q: tensor<1x2x16xf32>, %at: tensor<1xi64>, %sinks: tensor<4xf32>) -> tensor<1x2x16xf32> {
  // CHECK: %[[K:.*]] = onnx.update %{{.*}}, %{{.*}} at %{{.*}} : (tensor<1x64x8xf32>, tensor<1x2x8xf32>, tensor<1xi64>) -> tensor<1x64x8xf32>
  %0 = onnx.update %k, %new at %at : (tensor<1x64x8xf32>, tensor<1x2x8xf32>, tensor<1xi64>) -> tensor<1x64x8xf32>
  // CHECK: %[[V:.*]] = onnx.update %{{.*}}, %{{.*}} at %{{.*}} : (tensor<1x2x64x4xf32>, tensor<1x2x8xf32>, tensor<1xi64>) -> tensor<1x64x8xf32>
  %1 = onnx.update %v, %new at %at : (tensor<1x2x64x4xf32>, tensor<1x2x8xf32>, tensor<1xi64>) -> tensor<1x64x8xf32>
  // CHECK: onnx.cached_attention %{{.*}}, %[[K]], %[[V]] at %{{.*}} {kv_heads = 2 : i64, num_heads = 4 : i64, scale = 5.000000e-01 : f32}
  %y = onnx.cached_attention %q, %0, %1 at %at {num_heads = 4 : i64, kv_heads = 2 : i64, scale = 0.5 : f32} : (tensor<1x2x16xf32>, tensor<1x64x8xf32>, tensor<1x64x8xf32>, tensor<1xi64>) -> tensor<1x2x16xf32>
  // CHECK: onnx.cached_attention %{{.*}}, %[[K]], %[[V]] at %{{.*}} sinks %{{.*}} {kv_heads = 2 : i64, num_heads = 4 : i64, scale = 5.000000e-01 : f32}
  %z = onnx.cached_attention %q, %0, %1 at %at sinks %sinks {num_heads = 4 : i64, kv_heads = 2 : i64, scale = 0.5 : f32} : (tensor<1x2x16xf32>, tensor<1x64x8xf32>, tensor<1x64x8xf32>, tensor<1xi64>, tensor<4xf32>) -> tensor<1x2x16xf32>
  return %y : tensor<1x2x16xf32>
}
