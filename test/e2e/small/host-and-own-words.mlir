// A relay of words of two kinds: the sender's own, which wait where queues are full, and the host's, which a channel
// paces. Whoever comes first, relays ask for the host's and wait for the others, as on the wafer.
// RUN: wsec %s -o %t.wafer --quiet
// RUN: %python -c "import numpy as np; np.save(r'%t.npy', np.zeros(2000, 'f4'))"
// RUN: wse-run %t.wafer --input x=%t.npy --engine=wavelet | FileCheck %s
// RUN: wse-run %t.wafer --input x=%t.npy --engine=strips | FileCheck %s
// CHECK: cycles {{ *}}562{{[0-9][0-9][0-9]}},

pe.program @mix mesh [1, 6] machine "wse2" launch_color 0 {
  route 0 [0:1, 0:1] from west to [south, ramp]
  route 0 [0:1, 1:5] from north to [south, ramp]
  route 0 [0:1, 5:6] from north to [ramp]
  route 1 [0:1, 0:1] from west to [ramp]
  chain @c even 4 odd 5 [0:1, 0:6] to south
  route 2 [0:1, 1:6] from ramp to [east]
  tensor input @x : tensor<2000 x f32>
  tensor output @y : tensor<5 x f32>
  class @head [0:1, 0:1] {
    buffer @w 8000 bytes of f32
    routine @main {
      vector mov @w[0, strides = [1]] = 2.0 over (2000)
      vector mov fabric(@c) = @w[0, strides = [1]] over (0)
      vector mov fabric(@c) = fabric(1) over (2000)
      vector mov fabric(@c) = @w[0, strides = [1]] over (2000)
    }
  }
  class @mid [0:1, 1:5] {
    buffer @w 8000 bytes of f32
    routine @main {
      vector mov fabric(@c) = fabric(@c) over (4000)
      vector mov @w[0, strides = [1]] = 1.0 over (2000)
      for %i < 10 {
        vector exp @w[0, strides = [1]] = @w[0, strides = [1]] over (1000)
      }
      vector mov fabric(2) = @w[0, strides = [1]] over (1)
    }
  }
  class @tail [0:1, 5:6] {
    buffer @w 16000 bytes of f32
    routine @main {
      vector mov @w[0, strides = [1]] = 1.0 over (1)
      vector mov fabric(2) = @w[0, strides = [1]] over (1)
      vector exp @w[0, strides = [1]] = fabric(@c) over (4000)
    }
  }
  stream in @sx color 1 channels [0 -> 0:1] { segment @x[0, strides = [1]] over (2000) }
  stream out @sy color 2 channels [1 -> 1:2, 2 -> 2:3, 3 -> 3:4, 4 -> 4:5, 5 -> 5:6] {
    %py = scalar py
    %e = scalar sub(%py, 1)
    segment @y[%e, strides = [1]] over (1) }
  launch @main streams [@sx, @sy]
}

