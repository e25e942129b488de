// Functions are software, of which a class has one copy for elements of 32 bits,
// and one for those of 16.
// RUN: wsec %s -o %t.wafer --quiet
// RUN: wse-inspect show %t.wafer | FileCheck %s

// 2 words of the routine, 25 instructions of 6 or 8, 544 of functions, and 272.
// CHECK: class 'all': 1 PEs ({{.*}}), 3904 bytes of code
pe.program @functions mesh [1, 1] machine "wse2" {
  class @all [0:1, 0:1] {
    buffer @v 32 bytes of f32
    buffer @h 16 bytes of f16
    routine @main {
      vector div @v[0, strides = [1]] = @v[0, strides = [1]], @v[0, strides = [1]] over (8)
      vector pow @v[0, strides = [1]] = @v[0, strides = [1]], @v[0, strides = [1]] over (8)
      vector exp @v[0, strides = [1]] = @v[0, strides = [1]] over (8)
      vector log @v[0, strides = [1]] = @v[0, strides = [1]] over (8)
      vector sqrt @v[0, strides = [1]] = @v[0, strides = [1]] over (8)
      vector reciprocal @v[0, strides = [1]] = @v[0, strides = [1]] over (8)
      vector rsqrt @v[0, strides = [1]] = @v[0, strides = [1]] over (8)
      vector tanh @v[0, strides = [1]] = @v[0, strides = [1]] over (8)
      vector erf @v[0, strides = [1]] = @v[0, strides = [1]] over (8)
      vector sigmoid @v[0, strides = [1]] = @v[0, strides = [1]] over (8)
      vector sin @v[0, strides = [1]] = @v[0, strides = [1]] over (8)
      vector cos @v[0, strides = [1]] = @v[0, strides = [1]] over (8)
      vector div @h[0, strides = [1]] = @h[0, strides = [1]], @h[0, strides = [1]] over (8)
      vector pow @h[0, strides = [1]] = @h[0, strides = [1]], @h[0, strides = [1]] over (8)
      vector exp @h[0, strides = [1]] = @h[0, strides = [1]] over (8)
      vector log @h[0, strides = [1]] = @h[0, strides = [1]] over (8)
      vector sqrt @h[0, strides = [1]] = @h[0, strides = [1]] over (8)
      vector reciprocal @h[0, strides = [1]] = @h[0, strides = [1]] over (8)
      vector rsqrt @h[0, strides = [1]] = @h[0, strides = [1]] over (8)
      vector tanh @h[0, strides = [1]] = @h[0, strides = [1]] over (8)
      vector erf @h[0, strides = [1]] = @h[0, strides = [1]] over (8)
      vector sigmoid @h[0, strides = [1]] = @h[0, strides = [1]] over (8)
      vector sin @h[0, strides = [1]] = @h[0, strides = [1]] over (8)
      vector cos @h[0, strides = [1]] = @h[0, strides = [1]] over (8)
      vector exp @v[0, strides = [1]] = @v[0, strides = [1]] over (8)
    }
  }
  launch @main
}
