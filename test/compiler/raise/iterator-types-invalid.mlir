// The packaged parser takes iterators for words, whatever they are.
// RUN: not wse-opt %s 2>&1 | FileCheck %s
// RUN: not wsec %s -o %t.wafer 2>&1 | FileCheck %s
// CHECK: error: '{{.*}}iterator-types-invalid.mlir': line 9 has iterator_types that are no words in quotes, as "parallel"
func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
  %e = tensor.empty() : tensor<3xf32>
  %y = linalg.generic {
      indexing_maps = [affine_map<(a) -> (a)>, affine_map<(a) -> (a)>],
      iterator_types = [ index ]}
      ins(%x : tensor<3xf32>) outs(%e : tensor<3xf32>) {
  ^bb0(%i: f32, %o: f32):
    linalg.yield %i : f32
  } -> tensor<3xf32>
  return %y : tensor<3xf32>
}
