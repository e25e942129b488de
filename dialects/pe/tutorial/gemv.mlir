// 7. GEMV: y = A x, with A spread over a square of PEs, in 16 bits.
//
//            x_0    x_1    x_2    x_3        a part of x enters each column
//             |      |      |      |         and is multicast down
//   y_0 <--- A_00 - A_01 - A_02 - A_03       partial sums go west and are
//   y_1 <--- A_10 - A_11 - A_12 - A_13       added on the way
//   ...
//
// Each PE holds 32 x 32 numbers of A as f16, a column of its part after the
// other. An x that arrives scales one of these columns: 32 multiply-adds. Sums
// stay in f32, so nothing is rounded to 16 bits on the way. That has its price:
// where all operands are f16, a PE does four multiply-adds a cycle, and in f32
// one in two.

pe.program @gemv mesh [4, 4] machine "wse2" {
  tensor input @A : tensor<4x4x32x32xf16>     // row, column of PEs, k, m
  tensor input @x : tensor<1x4x32xf16>
  tensor output @y : tensor<4x1x32xf32>

  // x down the columns; the PEs that send it receive it, too.
  route 1 [0:4, 0:1] from ramp to [south, ramp]
  route 1 [0:4, 1:3] from north to [south, ramp]
  route 1 [0:4, 3:4] from north to [ramp]
  // Sums along the rows.
  chain @left even 2 odd 3 [0:4, 0:4] to west

  class @pes [0:4, 0:4] {
    %px = scalar px
    %py = scalar py
    %top = scalar equal(%py, 0)
    %first = scalar equal(%px, 0)
    %last = scalar equal(%px, 3)
    %edge = scalar or(%first, %last)
    %inner = scalar not(%edge)
    buffer @a 2048 bytes of f16
    buffer @b 64 bytes of f16
    buffer @sum 128 bytes of f32

    routine @main {
      // Two f16 travel in a wavelet as a `pair`; both ends must say so.
      vector mov fabric(1, f16, pair) = @b[0, strides = [1]] over (32) where %top thread 0
      vector mov @sum[0, strides = [1]] = 0.0 over (32)
      // Two extents: for each of 32 words, over 32 sums. The fabric operand
      // advances over the outer one only, the sums stay where they are there.
      vector fmac @sum[0, strides = [0, 1]] = fabric(1, f16, pair), @a[0, strides = [32, 1]] over (32, 32)
      vector mov fabric(@left) = @sum[0, strides = [1]] over (32) where %last
      vector add fabric(@left) = @sum[0, strides = [1]], fabric(@left) over (32) where %inner
      vector add @sum[0, strides = [1]] = @sum[0, strides = [1]], fabric(@left) over (32) where %first
    }
  }

  copy in @A to @a [0:4, 0:4]
  copy in @x to @b [0:4, 0:1]
  launch @main
  copy out @y from @sum [0:1, 0:4]
}
