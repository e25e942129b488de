// RUN: wse-opt %s --wse-select-kernels="mesh=2x2 region=2x2" | FileCheck %s --check-prefix=MANY
// RUN: wse-opt %s --wse-select-kernels="mesh=2x2 region=2x2 within='scratch=16895:attention first 0'" | FileCheck %s
// RUN: wse-opt %s --wse-select-kernels="mesh=2x2 region=2x2 within='scratch=1:attention first 0'" | FileCheck %s
// RUN: not wse-opt %s --wse-select-kernels="mesh=2x2 region=2x2 within='scratch=30000'" 2>&1 | FileCheck %s --check-prefix=WRONG

// What a launch leaves to a kernel's scratch is kept to by those that are alike,
// with the least there is, if nothing takes so little.
// MANY-NOT: few_scores
// CHECK: selection = #wse.selection<code 0 {{.*}} scratch {"attention first 0" = {{1|16895}} : i64}>
// CHECK: attention {{.*}}few_scores{{.*}}nodes = ["first"]
// CHECK: attention {{.*}}few_scores{{.*}}nodes = ["second"]
// CHECK: attention
// CHECK-NOT: few_scores
// CHECK-SAME: nodes = ["narrow"]
// WRONG: 'scratch=30000' is no constraint: {{.*}} scratch=N:KERNEL
func.func @main(%x: tensor<1x64x64xf32> {onnx.name = "x"}, %y: tensor<1x64x32xf32> {onnx.name = "y"})
    -> (tensor<1x64x64xf32> {onnx.name = "wide"}, tensor<1x64x32xf32> {onnx.name = "z"}) {
  %a = onnx.attention %x, %x, %x {num_heads = 2 : i64, scale = 0.5 : f32, node = "first"} : (tensor<1x64x64xf32>, tensor<1x64x64xf32>, tensor<1x64x64xf32>) -> tensor<1x64x64xf32>
  %b = onnx.attention %a, %a, %a {num_heads = 2 : i64, scale = 0.5 : f32, node = "second"} : (tensor<1x64x64xf32>, tensor<1x64x64xf32>, tensor<1x64x64xf32>) -> tensor<1x64x64xf32>
  %c = onnx.attention %y, %y, %y {num_heads = 2 : i64, scale = 0.5 : f32, node = "narrow"} : (tensor<1x64x32xf32>, tensor<1x64x32xf32>, tensor<1x64x32xf32>) -> tensor<1x64x32xf32>
  return %b, %c : tensor<1x64x64xf32>, tensor<1x64x32xf32>
}
