// A task with a branch; load-errors.test breaks it.
// RUN: wsec %s -o %t.wafer --quiet
// RUN: wse-run %t.wafer --quiet
pe.program @branch mesh [1, 1] machine "wse2" {
  class @all [0:1, 0:1] {
    %px = scalar px
    buffer @v 32 bytes of i32
    task @later local 1 {
      %a = compute add(%px, 1)
      if %a {
        clock @v[1]
      } else {
        %b = load @v[0]
        store @v[1] = %b
      }
    }
    routine @main {
      store @v[0] = 3
      activate @later
    }
  }
  launch @main
}
