// Entries that wse-run --generate refuses, of a program whose entries @one and @two fit.

// RUN: rm -rf %t && mkdir %t && cd %t && %python -c "import numpy as np; np.save('ids.npy', [3, 1, 4, 1, 5, 9])"
// DEFINE: %{change} =
// DEFINE: %{refused} = sed '%{change}' %s > m.mlir && wsec m.mlir -o m.wafer --quiet && not wse-run m.wafer --generate --input input_ids=ids.npy 2>&1 | FileCheck %s

// RUN: %{refused} --check-prefix=FITS
// FITS: error: BadCall: a prompt of 6 tokens at 'position' 0 is longer than the capacity of 5 tokens

// REDEFINE: %{change} = s/from 0 to 3/from 0 to 4/
// RUN: %{refused} --check-prefix=ROOM
// ROOM: error: BadCall: entries 'one' and 'two' disagree about the state: they have room for 5 and 6 tokens, at 'position' and 'position'

// REDEFINE: %{change} = s/@two(%%position/@two(%%at/;s/@main(%%position) *\/\/ by two/@main(%%at)/
// RUN: %{refused} --check-prefix=ARGUMENT
// ARGUMENT: error: BadCall: entries 'one' and 'two' disagree about the state: they have room for 5 and 5 tokens, at 'position' and 'at'

// REDEFINE: %{change} = s/tensor<1 x 2 x i64>/tensor<2 x 1 x i64>/
// RUN: %{refused} --check-prefix=TEXTS
// TEXTS: error: BadCall: entry 'two' takes 'input_ids' as int64[2, 1], of which one sequence is generated, [1, tokens]; compile the model for a batch of 1

// REDEFINE: %{change} = s/two.logits/two.top.logits/
// RUN: %{refused} --check-prefix=FITS

// REDEFINE: %{change} = s/"two.logits"/"logits"/
// RUN: %{refused} --check-prefix=NAME
// NAME: error: BadCall: entry 'two' has no output 'logits'; name the model's so

// REDEFINE: %{change} = s/1 x 2 x 7 x f32/1 x 3 x 7 x f32/
// RUN: %{refused} --check-prefix=ROWS
// ROWS: error: BadCall: output 'two.logits' is float32[1, 3, 7], which are no logits of the 2 tokens of entry 'two', nor of the last; name the output that has them 'logits'

// What a call leaves in an output goes into the next by none but the host; what no output has the shape of may stay bound.
// REDEFINE: %{change} = s/7 x f32>  *\/\/ carries/7 x f32>\n  tensor input @"two.past" : tensor<1 x 5 x f32>\n  tensor output @"two.present" : tensor<1 x 5 x f32>/
// RUN: %{refused} --check-prefix=CARRIED
// CARRIED: error: BadCall: input 'two.past', float32[1, 5], is what the call before left in an output, which the host carries, and --generate does not; make the calls with --entry, or a Session, each of as many tokens as its entry takes
// REDEFINE: %{change} = s/7 x f32>  *\/\/ carries/7 x f32>\n  tensor input @"two.past" : tensor<1 x 4 x f32>\n  tensor output @"two.present" : tensor<1 x 5 x f32>/
// RUN: %{refused} --check-prefix=FITS

pe.program @text mesh [1, 1] machine "wse2" {
  tensor input @"one.input_ids" : tensor<1 x 1 x i64>
  tensor output @"one.logits" : tensor<1 x 1 x 7 x f32>
  tensor input @"two.input_ids" : tensor<1 x 2 x i64>
  tensor output @"two.logits" : tensor<1 x 2 x 7 x f32> // carries
  class @pes [0:1, 0:1] {
    buffer @cache 4 bytes of f32 persistent
    routine @main(%position) {
      vector mov @cache[0, strides = [1]] = 0.0 over (1)
    }
  }
  entry @one(%position from 0 to 4) {
    launch @main(%position)
  }
  entry @two(%position from 0 to 3) {
    launch @main(%position) // by two
  }
}
