// RUN: wse-opt %s --wsec-place --wsec-route --wsec-schedule --wsec-lower | FileCheck %s

// Three tokens of 16 bits, one in each of three rows; columns hold three
// features of the input, or two.

#tokens = #wse.dist<rows = [0, 1], columns = [2]>

wse.program @main state(selected) mesh(4x3) machine("wse2") {
  region @r shape(4x3)
  input @x : tensor<3x11xf32>
  parameter @w = external<"w.bin", 0, 528> : tensor<11x12xf32>
  %x = load @x on @r {nodes = ["x"]} : tensor<1x3x11xf16, #tokens>

  // CHECK-LABEL: routine @matmul {
  // Weights come two to a word, the last of three alone: seven words for the
  // eleven of a result feature.
  // CHECK-NEXT: vector mov [[WEIGHTS:@[a-z0-9_]+]]_words[0, strides = [2, 2, 1]] = fabric([[CHANNEL:[0-9]+]], depth = 3, window = %{{.*}} of 7) over ({{[0-9]+}}, 1, %{{.*}}) thread 4
  // Two words a token: they are heard pair of features by pair, token by token.
  // CHECK:      vector mov [[HEARD:@[a-z0-9_]+]]_words[0, strides = [1, 3]] = fabric([[CAST:[0-9]+]], depth = 2) over (3, %{{.*}}) thread 5
  // What is behind an odd number of features is 0.
  // CHECK-NEXT: vector mov [[SENT:@[a-z0-9_]+]][%{{.*}}, strides = [4]] = 0.000000e+00 over (1) where
  // CHECK-NEXT: vector mov [[SENT]][0, strides = [4, 1]] = @{{[a-z0-9_]+}}[0, strides = [1, 1]] over (1, %{{.*}})
  // CHECK:      vector mov fabric(%{{[a-z0-9_]+}}, depth = 2) = [[SENT]]_words[0, strides = [2, 1]] over (1, %{{.*}}) thread 2
  // Vectors run over tokens, whose factors are two elements apart.
  // CHECK:      vector mov [[SUMS:@[a-z0-9_]+]][0, strides = [1]] = 0.000000e+00 over (3)
  // CHECK-NEXT: vector fmac [[SUMS]][0, strides = [3, 0, 0, 1]] = [[WEIGHTS]][0, strides = [4, 2, 1, 0]], [[HEARD]][0, strides = [0, 6, 1, 2]] over ({{[0-9]+}}, %{{.*}}, 2, 3)
  // CHECK-NEXT: vector fmac [[SUMS]][0, strides = [3, 1]] = [[WEIGHTS]][%[[WHOLE:.*]], strides = [4, 0]], [[HEARD]][%[[WHOLE]] * 3, strides = [0, 2]] over ({{[0-9]+}}, 3) where
  // The first column rounds the row's sums in their place, two to a word.
  // CHECK:      vector add [[SUMS]]_halves[0, strides = [4, 1]] = [[SUMS]][0, strides = [3, 1]], fabric({{.*}}, depth = 2) over (4, 3) where [[FIRST:%.*]]
  // CHECK-NEXT: vector mov [[SUMS]]_halves[3, strides = [4]] = 0.000000e+00 over (4) where [[FIRST]]
  // Of the results a row takes the word that its token shares with a neighbour.
  // CHECK:      vector mov [[HEARD]]_words[0, strides = [1, 1]] = fabric([[CAST]], depth = 2, window = %{{.*}} of 2) over (3, %{{.*}}) thread 4
  // CHECK:      vector mov [[SENT]]_words[0, strides = [1]] = fabric([[ROW:[0-9]+]], window = %{{.*}} * 2 of 8) over (%{{.*}} * 2) thread 5
  // CHECK:      vector mov fabric([[ROW]]) = [[SUMS]][0, strides = [1]] over (8) where %{{.*}} thread 1
  // CHECK:      vector add [[RESULT:@[a-z0-9_]+]][0, strides = [1, 1]] = [[RESULT]][0, strides = [1, 1]], [[HEARD]][%{{.*}}, strides = [2, 1]] over (3, 1)
  %y = matmul %x weight #wse.weight<@w : tensor<11x12xf32>> variant(stationary) on @r {nodes = ["stationary"]} : tensor<1x3x11xf16, #tokens> -> tensor<1x3x12xf16, #tokens>
  store %y to "y" on @r : tensor<1x3x12xf16, #tokens> to tensor<3x12xf32>

  // A line for each result feature.
  // CHECK: stream in @to_rows_of_matmul color [[CHANNEL]]
  // CHECK: segment @{{.*}}, strides = [1, 12]] over (1, %{{.*}}) lines {{[0-9]+}} step 1 halves f16
}
