// Of two entries a region holds what each of them reads, and once what both do.

// RUN: wsec %s --mesh=4x5 --mode=resident --stop-after=select -o %t.mlir
// RUN: FileCheck %s < %t.mlir
// CHECK: fits = false, shape = array<i64: 4, 3>
// RUN: sed 's/other\.w/one.w/; s/0\.25/0.5/' %s > %t.one.mlir
// RUN: wsec %t.one.mlir --mesh=4x5 --mode=resident --stop-after=select -o %t.mlir
// RUN: FileCheck %s --check-prefix=ONE < %t.mlir
// ONE: fits = true, shape = array<i64: 4, 3>

func.func @one(%x: tensor<1x1x256xf32> {onnx.name = "one.x"},
    %at: tensor<1xi64> {onnx.name = "one.at", onnx.argument = array<i64: 0, 7>}, %past: tensor<1x8x256xf32> {onnx.name = "one.past", onnx.state = "past"})
    -> (tensor<1x1x256xf32> {onnx.name = "one.y"}, tensor<1x8x256xf32> {onnx.name = "one.present", onnx.state = "past"}) {
  %w = onnx.constant dense<0.5> : tensor<256x256xf32> {node = "one.w"}
  %k = onnx.matmul %x, %w {node = "one.k"} : (tensor<1x1x256xf32>, tensor<256x256xf32>) -> tensor<1x1x256xf32>
  %s = onnx.update %past, %k at %at {node = "one.write"} : (tensor<1x8x256xf32>, tensor<1x1x256xf32>, tensor<1xi64>) -> tensor<1x8x256xf32>
  return %k, %s : tensor<1x1x256xf32>, tensor<1x8x256xf32>
}
func.func @other(%x: tensor<1x1x256xf32> {onnx.name = "other.x"},
    %at: tensor<1xi64> {onnx.name = "other.at", onnx.argument = array<i64: 0, 7>}, %past: tensor<1x8x256xf32> {onnx.name = "other.past", onnx.state = "past"})
    -> (tensor<1x1x256xf32> {onnx.name = "other.y"}, tensor<1x8x256xf32> {onnx.name = "other.present", onnx.state = "past"}) {
  %w = onnx.constant dense<0.25> : tensor<256x256xf32> {node = "other.w"}
  %k = onnx.matmul %x, %w {node = "other.k"} : (tensor<1x1x256xf32>, tensor<256x256xf32>) -> tensor<1x1x256xf32>
  %s = onnx.update %past, %k at %at {node = "other.write"} : (tensor<1x8x256xf32>, tensor<1x1x256xf32>, tensor<1xi64>) -> tensor<1x8x256xf32>
  return %k, %s : tensor<1x1x256xf32>, tensor<1x8x256xf32>
}
