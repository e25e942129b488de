// RUN: wse-opt %s --wse-select-kernels="mesh=4x3 region=4x3 within=keep-weights" | FileCheck %s
// RUN: wse-opt %s --wse-select-kernels="mesh=4x3 region=4x3" | FileCheck %s --check-prefix=STREAM
// RUN: wse-opt %s --wse-select-kernels="mesh=4x3 region=4x3 within=keep-weights,little-scratch" | FileCheck %s --check-prefix=STREAM

// Products of an entry with the same token, whose weights stay, are one, which
// has their nodes, what these absorbed, and the names of their values. One with
// a bias is by itself, so are one of another token, and one of fewer features
// than there are rows.
// CHECK-LABEL: wse.program @main
// CHECK: entry @one
// CHECK: %[[X:.*]] = load @one.x
// CHECK: matmul %[[X]] weight <@few : {{.*}}nodes = ["few"]
// CHECK: %[[Y:.*]]:2 = products %[[X]] weights [#wse.weight<@k : tensor<16x8xf32>>, #wse.weight<@v : tensor<16x12xf32>>] on @r
// CHECK-SAME: nodes = ["k", "v"], onnx.absorbed = ["cast", "scale"], onnx.values = {{\[\[\["keys", array<i64: 1, 1, 8>\]\], \[\["values", array<i64: 1, 1, 12>\]\]\]}}
// CHECK-NOT: products
// CHECK: matmul %[[X]] weight <@v : {{.*}} bias <@b : {{.*}}nodes = ["biased"]
// CHECK: matmul %{{.*}} weight <@k : {{.*}}nodes = ["other"]
// Of three tokens each is by itself, and where SRAM was too little.
// CHECK: entry @three
// CHECK-NOT: products
// STREAM-NOT: products
func.func @one(%x: tensor<1x1x16xf32> {onnx.name = "one.x"}, %z: tensor<1x1x16xf32> {onnx.name = "one.z"}, %at: tensor<1xi64> {onnx.name = "one.at", onnx.argument = array<i64: 0, 63>}, %past: tensor<1x64x8xf32> {onnx.name = "one.past", onnx.state = "past"})
    -> (tensor<1x1x12xf32> {onnx.name = "one.v"}, tensor<1x1x12xf32> {onnx.name = "one.b"}, tensor<1x1x8xf32> {onnx.name = "one.o"}, tensor<1x1x2xf32> {onnx.name = "one.f"}, tensor<1x64x8xf32> {onnx.name = "one.present", onnx.state = "past"}) {
  %wk = onnx.constant external<"none.bin", 0, 512> : tensor<16x8xf32> {node = "k"}
  %wv = onnx.constant external<"none.bin", 512, 768> : tensor<16x12xf32> {node = "v"}
  %b = onnx.constant external<"none.bin", 1280, 48> : tensor<12xf32> {node = "b"}
  %wf = onnx.constant external<"none.bin", 1328, 128> : tensor<16x2xf32> {node = "few"}
  %few = onnx.matmul %x, %wf {node = "few"} : (tensor<1x1x16xf32>, tensor<16x2xf32>) -> tensor<1x1x2xf32>
  %k = onnx.matmul %x, %wk {node = "k", onnx.absorbed = ["cast"], onnx.values = [[["keys", array<i64: 1, 1, 8>]]]} : (tensor<1x1x16xf32>, tensor<16x8xf32>) -> tensor<1x1x8xf32>
  %v = onnx.matmul %x, %wv {node = "v", onnx.absorbed = ["cast", "scale"], onnx.values = [[["values", array<i64: 1, 1, 12>]]]} : (tensor<1x1x16xf32>, tensor<16x12xf32>) -> tensor<1x1x12xf32>
  %biased = onnx.matmul %x, %wv bias %b {node = "biased"} : (tensor<1x1x16xf32>, tensor<16x12xf32>, tensor<12xf32>) -> tensor<1x1x12xf32>
  %other = onnx.matmul %z, %wk {node = "other"} : (tensor<1x1x16xf32>, tensor<16x8xf32>) -> tensor<1x1x8xf32>
  %s = onnx.update %past, %k at %at {node = "write"} : (tensor<1x64x8xf32>, tensor<1x1x8xf32>, tensor<1xi64>) -> tensor<1x64x8xf32>
  return %v, %biased, %other, %few, %s : tensor<1x1x12xf32>, tensor<1x1x12xf32>, tensor<1x1x8xf32>, tensor<1x1x2xf32>, tensor<1x64x8xf32>
}
func.func @three(%x: tensor<1x3x16xf32> {onnx.name = "three.x"}, %at: tensor<1xi64> {onnx.name = "three.at", onnx.argument = array<i64: 0, 61>}, %past: tensor<1x64x8xf32> {onnx.name = "three.past", onnx.state = "past"})
    -> (tensor<1x3x12xf32> {onnx.name = "three.v"}, tensor<1x64x8xf32> {onnx.name = "three.present", onnx.state = "past"}) {
  %wk = onnx.constant external<"none.bin", 0, 512> : tensor<16x8xf32> {node = "k"}
  %wv = onnx.constant external<"none.bin", 512, 768> : tensor<16x12xf32> {node = "v"}
  %k = onnx.matmul %x, %wk {node = "k"} : (tensor<1x3x16xf32>, tensor<16x8xf32>) -> tensor<1x3x8xf32>
  %v = onnx.matmul %x, %wv {node = "v"} : (tensor<1x3x16xf32>, tensor<16x12xf32>) -> tensor<1x3x12xf32>
  %s = onnx.update %past, %k at %at {node = "write"} : (tensor<1x64x8xf32>, tensor<1x3x8xf32>, tensor<1xi64>) -> tensor<1x64x8xf32>
  return %v, %s : tensor<1x3x12xf32>, tensor<1x64x8xf32>
}
