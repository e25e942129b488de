// RUN: wse-opt %s --split-input-file --wse-select-kernels="mesh=16x16 region=16x16 within=keep-weights" | FileCheck %s
// Meshes of one row, or one column, have no way along the rows.
// RUN: wse-opt %s --split-input-file --wse-select-kernels="mesh=16x1 region=16x1 within=keep-weights" | FileCheck %s --check-prefix=LINE
// RUN: wse-opt %s --split-input-file --wse-select-kernels="mesh=1x16 region=1x16 within=keep-weights" | FileCheck %s --check-prefix=LINE
// LINE-LABEL: wse.program @main
// LINE: matmul

// A norm that only joined products read goes with them. Products of what is made of their results take it along the rows.
// CHECK-LABEL: wse.program @main
// CHECK: %[[X:.*]] = load @x
// CHECK-NOT: rms_norm
// CHECK: %[[G:.*]]:2 = products %[[X]] norm <@norm : tensor<16xf32>> epsilon({{.*}}) weights [{{.*}}@gate{{.*}}@up{{.*}}] {{.*}}nodes = ["norm", "gate", "up"]
// CHECK-SAME: !tokens_1x1x16_balanced -> !tokens_1x96x1_replicated, !tokens_1x96x1_replicated
// CHECK: %[[M:.*]] = elementwise(%[[G]]#0, %[[G]]#1){{.*}} -> !tokens_1x96x1_replicated
// CHECK: products %[[M]] weights [{{.*}}@down{{.*}}] {{.*}}: !tokens_1x96x1_replicated -> !tokens_1x1x16_balanced
func.func @main(%x: tensor<1x1x16xf32> {onnx.name = "x"}, %at: tensor<1xi64> {onnx.name = "at", onnx.argument = array<i64: 0, 95>}, %past: tensor<1x96x16xf32> {onnx.name = "past", onnx.state = "past"})
    -> (tensor<1x1x16xf32> {onnx.name = "y"}, tensor<1x96x16xf32> {onnx.name = "present", onnx.state = "past"}) {
  %n = onnx.constant external<"none.bin", 0, 64> : tensor<16xf32> {node = "norm"}
  %wg = onnx.constant external<"none.bin", 64, 6144> : tensor<16x96xf32> {node = "gate"}
  %wu = onnx.constant external<"none.bin", 4160, 6144> : tensor<16x96xf32> {node = "up"}
  %wd = onnx.constant external<"none.bin", 8256, 6144> : tensor<96x16xf32> {node = "down"}
  %a = onnx.rms_norm %x, %n {epsilon = 1.0e-5 : f32, node = "norm"} : (tensor<1x1x16xf32>, tensor<16xf32>) -> tensor<1x1x16xf32>
  %g = onnx.matmul %a, %wg {node = "gate"} : (tensor<1x1x16xf32>, tensor<16x96xf32>) -> tensor<1x1x96xf32>
  %u = onnx.matmul %a, %wu {node = "up"} : (tensor<1x1x16xf32>, tensor<16x96xf32>) -> tensor<1x1x96xf32>
  %m = onnx.binary mul %g, %u {node = "mul"} : (tensor<1x1x96xf32>, tensor<1x1x96xf32>) -> tensor<1x1x96xf32>
  %d = onnx.matmul %m, %wd {node = "down"} : (tensor<1x1x96xf32>, tensor<96x16xf32>) -> tensor<1x1x16xf32>
  %s = onnx.update %past, %d at %at {node = "write"} : (tensor<1x96x16xf32>, tensor<1x1x16xf32>, tensor<1xi64>) -> tensor<1x96x16xf32>
  return %d, %s : tensor<1x1x16xf32>, tensor<1x96x16xf32>
}

// -----

// Sums of tokens and products lie along the rows where more than one are, and products alternate: from there to a row, and back.
// CHECK-LABEL: wse.program @main
// CHECK: %[[X:.*]] = load @x
// CHECK: %[[ALONG_X:.*]] = redistribute %[[X]] {{.*}} -> !tokens_1x16x1_replicated
// CHECK: %[[G0:.*]] = products %[[X]] norm {{.*}} -> !tokens_1x1x96_balanced
// CHECK: %[[M0:.*]] = softmax %[[G0]]
// CHECK: %[[D0:.*]] = products %[[M0]] weights {{.*}} : !tokens_1x1x96_balanced -> !tokens_1x16x1_replicated
// CHECK: %[[Y0:.*]] = elementwise(%[[ALONG_X]], %[[D0]])
// CHECK: %[[G1:.*]] = products %[[Y0]] norm {{.*}} -> !tokens_1x1x96_balanced
// CHECK: %[[M1:.*]] = softmax %[[G1]]
// CHECK: %[[D1:.*]] = products %[[M1]] weights {{.*}} : !tokens_1x1x96_balanced -> !tokens_1x16x1_replicated
// CHECK: %[[Y1:.*]] = elementwise(%[[Y0]], %[[D1]])
// CHECK: %[[G2:.*]] = products %[[Y1]] norm {{.*}} -> !tokens_1x1x96_balanced
// CHECK: %[[M2:.*]] = softmax %[[G2]]
// CHECK: %[[D2:.*]] = products %[[M2]] weights {{.*}} : !tokens_1x1x96_balanced -> !tokens_1x16x1_replicated
// CHECK: %[[Y2:.*]] = elementwise(%[[Y1]], %[[D2]])
// CHECK: %[[G3:.*]] = products %[[Y2]] norm {{.*}} -> !tokens_1x1x96_balanced
// CHECK: %[[M3:.*]] = softmax %[[G3]]
// CHECK: %[[D3:.*]] = products %[[M3]] weights {{.*}} : !tokens_1x1x96_balanced -> !tokens_1x16x1_replicated
// CHECK: %[[Y3:.*]] = elementwise(%[[Y2]], %[[D3]])
// CHECK: redistribute %[[Y3]] {{.*}} : !tokens_1x16x1_replicated -> !tokens_1x1x16_balanced
func.func @main(%x: tensor<1x1x16xf32> {onnx.name = "x"}, %at: tensor<1xi64> {onnx.name = "at", onnx.argument = array<i64: 0, 95>}, %past: tensor<1x96x16xf32> {onnx.name = "past", onnx.state = "past"})
    -> (tensor<1x1x16xf32> {onnx.name = "y"}, tensor<1x96x16xf32> {onnx.name = "present", onnx.state = "past"}) {
  %n0 = onnx.constant external<"none.bin", 60000, 64> : tensor<16xf32> {node = "norm0"}
  %w0 = onnx.constant external<"none.bin", 64, 6144> : tensor<16x96xf32> {node = "up0"}
  %d0 = onnx.constant external<"none.bin", 6208, 6144> : tensor<96x16xf32> {node = "down0"}
  %a0 = onnx.rms_norm %x, %n0 {epsilon = 1.0e-5 : f32, node = "norm0"} : (tensor<1x1x16xf32>, tensor<16xf32>) -> tensor<1x1x16xf32>
  %g0 = onnx.matmul %a0, %w0 {node = "up0"} : (tensor<1x1x16xf32>, tensor<16x96xf32>) -> tensor<1x1x96xf32>
  %m0 = onnx.softmax %g0 {node = "softmax0"} : tensor<1x1x96xf32>
  %p0 = onnx.matmul %m0, %d0 {node = "down0"} : (tensor<1x1x96xf32>, tensor<96x16xf32>) -> tensor<1x1x16xf32>
  %y0 = onnx.binary add %x, %p0 {node = "add0"} : (tensor<1x1x16xf32>, tensor<1x1x16xf32>) -> tensor<1x1x16xf32>
  %n1 = onnx.constant external<"none.bin", 60064, 64> : tensor<16xf32> {node = "norm1"}
  %w1 = onnx.constant external<"none.bin", 12352, 6144> : tensor<16x96xf32> {node = "up1"}
  %d1 = onnx.constant external<"none.bin", 18496, 6144> : tensor<96x16xf32> {node = "down1"}
  %a1 = onnx.rms_norm %y0, %n1 {epsilon = 1.0e-5 : f32, node = "norm1"} : (tensor<1x1x16xf32>, tensor<16xf32>) -> tensor<1x1x16xf32>
  %g1 = onnx.matmul %a1, %w1 {node = "up1"} : (tensor<1x1x16xf32>, tensor<16x96xf32>) -> tensor<1x1x96xf32>
  %m1 = onnx.softmax %g1 {node = "softmax1"} : tensor<1x1x96xf32>
  %p1 = onnx.matmul %m1, %d1 {node = "down1"} : (tensor<1x1x96xf32>, tensor<96x16xf32>) -> tensor<1x1x16xf32>
  %y1 = onnx.binary add %y0, %p1 {node = "add1"} : (tensor<1x1x16xf32>, tensor<1x1x16xf32>) -> tensor<1x1x16xf32>
  %n2 = onnx.constant external<"none.bin", 60128, 64> : tensor<16xf32> {node = "norm2"}
  %w2 = onnx.constant external<"none.bin", 24640, 6144> : tensor<16x96xf32> {node = "up2"}
  %d2 = onnx.constant external<"none.bin", 30784, 6144> : tensor<96x16xf32> {node = "down2"}
  %a2 = onnx.rms_norm %y1, %n2 {epsilon = 1.0e-5 : f32, node = "norm2"} : (tensor<1x1x16xf32>, tensor<16xf32>) -> tensor<1x1x16xf32>
  %g2 = onnx.matmul %a2, %w2 {node = "up2"} : (tensor<1x1x16xf32>, tensor<16x96xf32>) -> tensor<1x1x96xf32>
  %m2 = onnx.softmax %g2 {node = "softmax2"} : tensor<1x1x96xf32>
  %p2 = onnx.matmul %m2, %d2 {node = "down2"} : (tensor<1x1x96xf32>, tensor<96x16xf32>) -> tensor<1x1x16xf32>
  %y2 = onnx.binary add %y1, %p2 {node = "add2"} : (tensor<1x1x16xf32>, tensor<1x1x16xf32>) -> tensor<1x1x16xf32>
  %n3 = onnx.constant external<"none.bin", 60192, 64> : tensor<16xf32> {node = "norm3"}
  %w3 = onnx.constant external<"none.bin", 36928, 6144> : tensor<16x96xf32> {node = "up3"}
  %d3 = onnx.constant external<"none.bin", 43072, 6144> : tensor<96x16xf32> {node = "down3"}
  %a3 = onnx.rms_norm %y2, %n3 {epsilon = 1.0e-5 : f32, node = "norm3"} : (tensor<1x1x16xf32>, tensor<16xf32>) -> tensor<1x1x16xf32>
  %g3 = onnx.matmul %a3, %w3 {node = "up3"} : (tensor<1x1x16xf32>, tensor<16x96xf32>) -> tensor<1x1x96xf32>
  %m3 = onnx.softmax %g3 {node = "softmax3"} : tensor<1x1x96xf32>
  %p3 = onnx.matmul %m3, %d3 {node = "down3"} : (tensor<1x1x96xf32>, tensor<96x16xf32>) -> tensor<1x1x16xf32>
  %y3 = onnx.binary add %y2, %p3 {node = "add3"} : (tensor<1x1x16xf32>, tensor<1x1x16xf32>) -> tensor<1x1x16xf32>
  %s = onnx.update %past, %y3 at %at {node = "write"} : (tensor<1x96x16xf32>, tensor<1x1x16xf32>, tensor<1xi64>) -> tensor<1x96x16xf32>
  return %y3, %s : tensor<1x1x16xf32>, tensor<1x96x16xf32>
}
