// RUN: not wse-opt --onnx-raise-linalg --split-input-file %s 2>&1 | FileCheck %s

// All that is refused, once a kind, with places; what only reads it is counted.
// CHECK: error: linalg.generic: no operator means the same as math.log1p: 2 operations, at line [[#]] and at line [[#]], and 1 operation that needs them
// CHECK-NEXT: {{.*}}error: linalg.conv_1d_nwc_wcf: its elements are not read loop by loop, but by sums or multiples of loops
// CHECK-NEXT: {{.*}}error: linalg.matmul: it reads a tensor that holds nothing
func.func @several(%x: tensor<2x3xf32>, %s: tensor<1x8x2xf32>, %k: tensor<3x2x4xf32>) -> (tensor<2x3xf32>, tensor<1x6x4xf32>, tensor<2x2xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x3xf32>
  %a = linalg.generic {indexing_maps = [affine_map<(a, b) -> (a, b)>, affine_map<(a, b) -> (a, b)>], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<2x3xf32>) outs(%e : tensor<2x3xf32>) {
  ^bb0(%i: f32, %o: f32):
    %r = math.log1p %i : f32
    linalg.yield %r : f32
  } -> tensor<2x3xf32>
  %b = linalg.generic {indexing_maps = [affine_map<(a, b) -> (a, b)>, affine_map<(a, b) -> (a, b)>], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<2x3xf32>) outs(%e : tensor<2x3xf32>) {
  ^bb0(%i: f32, %o: f32):
    %r = math.log1p %i : f32
    linalg.yield %r : f32
  } -> tensor<2x3xf32>
  %c = arith.addf %a, %b : tensor<2x3xf32>
  %f = tensor.empty() : tensor<1x6x4xf32>
  %g = linalg.fill ins(%zero : f32) outs(%f : tensor<1x6x4xf32>) -> tensor<1x6x4xf32>
  %conv = linalg.conv_1d_nwc_wcf ins(%s, %k : tensor<1x8x2xf32>, tensor<3x2x4xf32>) outs(%g : tensor<1x6x4xf32>) -> tensor<1x6x4xf32>
  %h = tensor.empty() : tensor<2x2xf32>
  %t = tensor.empty() : tensor<3x2xf32>
  %m = linalg.matmul ins(%x, %t : tensor<2x3xf32>, tensor<3x2xf32>) outs(%h : tensor<2x2xf32>) -> tensor<2x2xf32>
  return %c, %conv, %m : tensor<2x3xf32>, tensor<1x6x4xf32>, tensor<2x2xf32>
}

// -----

// CHECK: error: argument 0 is 'tensor<?x3xf32>', expected a tensor of known extents; export with static shapes
func.func @dynamic(%x: tensor<?x3xf32>) -> tensor<?x3xf32> {
  %y = math.exp %x : tensor<?x3xf32>
  return %y : tensor<?x3xf32>
}

// -----

// CHECK: error: expected one function of one block, found 2; inline what is called, and export without control flow
func.func @two(%x: tensor<3xf32>) -> tensor<3xf32> {
  %y = math.exp %x : tensor<3xf32>
  return %y : tensor<3xf32>
}
func.func @more(%x: tensor<3xf32>) -> tensor<3xf32> {
  return %x : tensor<3xf32>
}

// -----

// CHECK: error: result 0 is 'tensor<3xf32>' that nothing computes
func.func @nothing() -> tensor<3xf32> {
  %y = tensor.empty() : tensor<3xf32>
  return %y : tensor<3xf32>
}

// -----

// CHECK: error: linalg.generic: what it computes along its loops is no sum, product, maximum or minimum
// CHECK-NEXT: {{.*}}error: linalg.generic: no operator compares so
// CHECK-NEXT: {{.*}}error: linalg.generic: true is -1 to it
func.func @bodies(%x: tensor<3xf32>, %b: tensor<3xi1>) -> (tensor<f32>, tensor<f32>, tensor<3xi1>, tensor<3xi32>) {
  %zero = arith.constant 0.0 : f32
  %s = tensor.empty() : tensor<f32>
  %f = linalg.fill ins(%zero : f32) outs(%s : tensor<f32>) -> tensor<f32>
  %last = linalg.generic {indexing_maps = [affine_map<(a) -> (a)>, affine_map<(a) -> ()>], iterator_types = ["reduction"]}
      ins(%x : tensor<3xf32>) outs(%f : tensor<f32>) {
  ^bb0(%i: f32, %o: f32):
    linalg.yield %i : f32
  } -> tensor<f32>
  %horner = linalg.generic {indexing_maps = [affine_map<(a) -> (a)>, affine_map<(a) -> ()>], iterator_types = ["reduction"]}
      ins(%x : tensor<3xf32>) outs(%f : tensor<f32>) {
  ^bb0(%i: f32, %o: f32):
    %p = arith.mulf %o, %i : f32
    %q = arith.addf %p, %o : f32
    linalg.yield %q : f32
  } -> tensor<f32>
  %e = tensor.empty() : tensor<3xi1>
  %ordered = linalg.generic {indexing_maps = [affine_map<(a) -> (a)>, affine_map<(a) -> (a)>], iterator_types = ["parallel"]}
      ins(%x : tensor<3xf32>) outs(%e : tensor<3xi1>) {
  ^bb0(%i: f32, %o: i1):
    %c = arith.cmpf ord, %i, %i : f32
    linalg.yield %c : i1
  } -> tensor<3xi1>
  %g = tensor.empty() : tensor<3xi32>
  %sign = linalg.generic {indexing_maps = [affine_map<(a) -> (a)>, affine_map<(a) -> (a)>], iterator_types = ["parallel"]}
      ins(%b : tensor<3xi1>) outs(%g : tensor<3xi32>) {
  ^bb0(%i: i1, %o: i32):
    %c = arith.extsi %i : i1 to i32
    linalg.yield %c : i32
  } -> tensor<3xi32>
  return %last, %horner, %ordered, %sign : tensor<f32>, tensor<f32>, tensor<3xi1>, tensor<3xi32>
}

// -----

// CHECK: error: tensor.insert_slice: it leaves elements of an empty tensor out
// CHECK-NEXT: {{.*}}error: math.exp: it reads a tensor that is filled in part
// CHECK-NEXT: {{.*}}error: tensor.insert_slice: it writes to places that are not known, or apart
// CHECK-NEXT: {{.*}}error: tensor.insert_slice: it writes a part of several dimensions
// CHECK-NEXT: {{.*}}error: tensor.gather: no operator means the same
// CHECK-NEXT: {{.*}}error: linalg.fill: it reads a scalar that is no constant
func.func @tensors(%x: tensor<2xf32>, %i: tensor<1x1xindex>, %m: tensor<2x2xf32>) -> (tensor<5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<4x4xf32>, tensor<1xf32>, tensor<5xf32>) {
  %e = tensor.empty() : tensor<5xf32>
  %a = tensor.insert_slice %x into %e[1] [2] [1] : tensor<2xf32> into tensor<5xf32>
  %b = tensor.insert_slice %x into %e[0] [2] [1] : tensor<2xf32> into tensor<5xf32>
  %c = math.exp %b : tensor<5xf32>
  %d = tensor.insert_slice %x into %e[0] [2] [2] : tensor<2xf32> into tensor<5xf32>
  %f = tensor.empty() : tensor<4x4xf32>
  %g = tensor.insert_slice %m into %f[0, 0] [2, 2] [1, 1] : tensor<2x2xf32> into tensor<4x4xf32>
  %h = tensor.gather %x[%i] gather_dims([0]) : (tensor<2xf32>, tensor<1x1xindex>) -> tensor<1xf32>
  %zero = arith.constant 0 : index
  %n = tensor.extract %x[%zero] : tensor<2xf32>
  %o = linalg.fill ins(%n : f32) outs(%e : tensor<5xf32>) -> tensor<5xf32>
  return %a, %c, %d, %g, %h, %o : tensor<5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<4x4xf32>, tensor<1xf32>, tensor<5xf32>
}

// -----

// CHECK: error: linalg.generic: its loops are too long
// CHECK-NEXT: {{.*}}error: linalg.generic: it counts further than to 2^24
// CHECK-NEXT: {{.*}}error: linalg.generic: tensor.extract reads elements that are no rows of a table
func.func @extents(%x: tensor<4000000000x4000000000xf32>, %y: tensor<4x4xf32>) -> (tensor<4000000000x4000000000xf32>, tensor<4000000000xi64>, tensor<4xf32>) {
  %e = tensor.empty() : tensor<4000000000x4000000000xf32>
  %a = linalg.generic {indexing_maps = [affine_map<(a, b) -> (a, b)>, affine_map<(a, b) -> (a, b)>], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<4000000000x4000000000xf32>) outs(%e : tensor<4000000000x4000000000xf32>) {
  ^bb0(%i: f32, %o: f32):
    linalg.yield %i : f32
  } -> tensor<4000000000x4000000000xf32>
  %f = tensor.empty() : tensor<4000000000xi64>
  %b = linalg.generic {indexing_maps = [affine_map<(a) -> (a)>], iterator_types = ["parallel"]}
      outs(%f : tensor<4000000000xi64>) {
  ^bb0(%o: i64):
    %i = linalg.index 0 : index
    %j = arith.index_cast %i : index to i64
    linalg.yield %j : i64
  } -> tensor<4000000000xi64>
  %g = tensor.empty() : tensor<4xf32>
  %c = linalg.generic {indexing_maps = [affine_map<(a) -> (a)>], iterator_types = ["parallel"]}
      outs(%g : tensor<4xf32>) {
  ^bb0(%o: f32):
    %i = linalg.index 0 : index
    %d = tensor.extract %y[%i, %i] : tensor<4x4xf32>
    linalg.yield %d : f32
  } -> tensor<4xf32>
  return %a, %b, %c : tensor<4000000000x4000000000xf32>, tensor<4000000000xi64>, tensor<4xf32>
}
