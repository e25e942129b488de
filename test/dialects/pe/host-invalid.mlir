// RUN: wse-opt %s --split-input-file --verify-diagnostics --allow-unregistered-dialect

//===----------------------------------------------------------------------===//
// tensor
//===----------------------------------------------------------------------===//

pe.program @tensor_c1 mesh [1, 1] machine "wse2" launch_color 0 {
  // expected-error @below {{has type 'tensor<?xf32>', expected a static shape of floats or of integers of 1 to 64 bits}}
  tensor input @x : tensor<?xf32>
}

// -----

pe.program @tensor_c2_weight mesh [1, 1] machine "wse2" launch_color 0 {
  // expected-error @below {{is a weight without a source}}
  tensor weight @x : tensor<4xf32>
}

// -----

pe.program @tensor_c2_input mesh [1, 1] machine "wse2" launch_color 0 {
  // expected-error @below {{has a source, but is no weight}}
  tensor input @x from <"w.bin" at 0> : tensor<4xf32>
}

// -----

pe.program @tensor_c2_both mesh [1, 1] machine "wse2" launch_color 0 {
  tensor constant @w = dense<0.0> : tensor<4x8xf32> : tensor<4x8xf32>
  // expected-error @below {{has a source, but is made of another tensor}}
  tensor weight @x from <"w.bin" at 0> sparse <@w at 0 strides [8, 1] rows 4 columns 8 keep 2 of 4 rest 0 topk seed 0 step 1> : tensor<24xf32>
}

// -----

pe.program @tensor_c2_sparse mesh [1, 1] machine "wse2" launch_color 0 {
  tensor constant @w = dense<0.0> : tensor<4x8xf32> : tensor<4x8xf32>
  // expected-error @below {{is sparse, but is no weight}}
  tensor input @x sparse <@w at 0 strides [8, 1] rows 4 columns 8 keep 2 of 4 rest 0 topk seed 0 step 1> : tensor<24xf32>
}

// -----

pe.program @tensor_c5_matrix mesh [1, 1] machine "wse2" launch_color 0 {
  // expected-note @below {{the tensor}}
  tensor input @w : tensor<4x8xf32>
  // expected-error @below {{is the sparse form of @w, which is no weight or constant of floats}}
  tensor weight @x sparse <@w at 0 strides [8, 1] rows 4 columns 8 keep 2 of 4 rest 0 topk seed 0 step 1> : tensor<24xf32>
}

// -----

pe.program @tensor_c5_words mesh [1, 1] machine "wse2" launch_color 0 {
  tensor constant @w = dense<0.0> : tensor<4x8xf32> : tensor<4x8xf32>
  // expected-error @below {{has type 'tensor<20xf32>', the records are 24 words of f32}}
  tensor weight @x sparse <@w at 0 strides [8, 1] rows 4 columns 8 keep 2 of 4 rest 0 topk seed 0 step 1> : tensor<20xf32>
}

// -----

pe.program @sparse_c1 mesh [1, 1] machine "wse2" launch_color 0 {
  tensor constant @w = dense<0.0> : tensor<4x8xf32> : tensor<4x8xf32>
  // expected-error @below {{a sparse weight has two strides, not 1}}
  tensor weight @x sparse <@w at 0 strides [8] rows 4 columns 8 keep 2 of 4 rest 0 topk seed 0 step 1> : tensor<24xf32>
}

// -----

pe.program @sparse_c2_kept mesh [1, 1] machine "wse2" launch_color 0 {
  tensor constant @w = dense<0.0> : tensor<4x8xf32> : tensor<4x8xf32>
  // expected-error @below {{a sparse weight keeps 2 of 4 elements and 1 of the last 0}}
  tensor weight @x sparse <@w at 0 strides [8, 1] rows 4 columns 8 keep 2 of 4 rest 1 topk seed 0 step 1> : tensor<24xf32>
}

// -----

pe.program @sparse_c2_rows mesh [1, 1] machine "wse2" launch_color 0 {
  tensor constant @w = dense<0.0> : tensor<4x8xf32> : tensor<4x8xf32>
  // expected-error @below {{a sparse weight of 0 x 8 elements}}
  tensor weight @x sparse <@w at 0 strides [8, 1] rows 0 columns 8 keep 2 of 4 rest 0 topk seed 0 step 1> : tensor<24xf32>
}

// -----

pe.program @sparse_c2_step mesh [1, 1] machine "wse2" launch_color 0 {
  tensor constant @w = dense<0.0> : tensor<4x8xf32> : tensor<4x8xf32>
  // expected-error @below {{indices of a sparse weight go to 32767, not to 3 times 20000}}
  tensor weight @x sparse <@w at 0 strides [8, 1] rows 4 columns 8 keep 2 of 4 rest 0 topk seed 0 step 20000> : tensor<24xf32>
}

// -----

pe.program @tensor_c6_role mesh [1, 1] machine "wse2" launch_color 0 {
  // expected-error @below {{is a parameter, but no weight or constant of f32, f16 or bf16}}
  tensor input @w parameter "w" : tensor<4xf32>
}

// -----

pe.program @tensor_c6_element mesh [1, 1] machine "wse2" launch_color 0 {
  // expected-error @below {{is a parameter, but no weight or constant of f32, f16 or bf16}}
  tensor weight @w from <"w.bin" at 0> parameter "w" : tensor<4xi32>
}

// -----

pe.program @tensor_c6_second mesh [1, 1] machine "wse2" launch_color 0 {
  // expected-note @below {{the first}}
  tensor constant @w = dense<0.0> : tensor<4x8xf32> parameter "w" : tensor<4x8xf32>
  // expected-error @below {{is a second tensor of parameter "w"}}
  tensor weight @v from <"w.bin" at 0> parameter "w" : tensor<4xf32>
}

// -----

pe.program @tensor_c6_gradient mesh [1, 1] machine "wse2" launch_color 0 {
  tensor constant @w = dense<0.0> : tensor<4x8xf32> parameter "w" : tensor<4x8xf32>
  // expected-error @below {{is a gradient, but no output of f32}}
  tensor input @g gradient <"w" at 0> : tensor<4x8xf32>
}

// -----

pe.program @tensor_c6_whose mesh [1, 1] machine "wse2" launch_color 0 {
  // expected-error @below {{is a gradient of "w", which is no parameter}}
  tensor output @g gradient <"w" at 0> : tensor<4x8xf32>
}

// -----

pe.program @tensor_c6_size mesh [1, 1] machine "wse2" launch_color 0 {
  // expected-note @below {{the parameter}}
  tensor constant @w = dense<0.0> : tensor<4x8xf32> parameter "w" : tensor<4x8xf32>
  // expected-error @below {{of type 'tensor<4x7xf32>' is added to elements that the parameter of type 'tensor<4x8xf32>' does not have}}
  tensor output @g gradient <"w" at 0> : tensor<4x7xf32>
}

// -----

pe.program @tensor_c6_view mesh [1, 1] machine "wse2" launch_color 0 {
  // expected-note @below {{the parameter}}
  tensor constant @w = dense<0.0> : tensor<4x8xf32> parameter "w" : tensor<4x8xf32>
  // expected-error @below {{of type 'tensor<4x7xf32>' is added to elements that the parameter of type 'tensor<4x8xf32>' does not have}}
  tensor output @g gradient <"w" at 2 strides [8, 1]> : tensor<4x7xf32>
}

// -----

pe.program @tensor_c6_ids mesh [1, 1] machine "wse2" launch_color 0 {
  tensor constant @w = dense<0.0> : tensor<4x8xf32> parameter "w" : tensor<4x8xf32>
  // expected-note @below {{the tensor}}
  tensor input @ids : tensor<2xf32>
  // expected-error @below {{has its rows in @ids, which is no tensor of integers}}
  tensor output @g gradient <"w" at 0 rows @ids> : tensor<2x8xf32>
}

// -----

pe.program @tensor_c6_rows mesh [1, 1] machine "wse2" launch_color 0 {
  // expected-note @below {{the parameter}}
  tensor constant @w = dense<0.0> : tensor<4x8xf32> parameter "w" : tensor<4x8xf32>
  tensor input @ids : tensor<3xi64>
  // expected-error @below {{of type 'tensor<2x8xf32>' is added to elements that the parameter of type 'tensor<4x8xf32>' does not have}}
  tensor output @g gradient <"w" at 0 rows @ids> : tensor<2x8xf32>
}

// -----

pe.program @tensor_c3_constant mesh [1, 1] machine "wse2" launch_color 0 {
  // expected-error @below {{is a constant without a value}}
  tensor constant @x : tensor<4xf32>
}

// -----

pe.program @tensor_c3_input mesh [1, 1] machine "wse2" launch_color 0 {
  // expected-error @below {{has a value, but is no constant}}
  tensor input @x = dense<0.0> : tensor<4xf32> : tensor<4xf32>
}

// -----

pe.program @tensor_c3_type mesh [1, 1] machine "wse2" launch_color 0 {
  // expected-error @below {{has a value of type 'tensor<2xf32>'}}
  tensor constant @x = dense<0.0> : tensor<2xf32> : tensor<4xf32>
}

// -----

pe.program @tensor_c4_role mesh [1, 1] machine "wse2" launch_color 0 {
  tensor input @x : tensor<4xf32>
  // expected-error @below {{is an alias, but no output}}
  tensor input @y alias @x : tensor<4xf32>
}

// -----

pe.program @tensor_c4_type mesh [1, 1] machine "wse2" launch_color 0 {
  // expected-note @below {{the tensor}}
  tensor input @x : tensor<4xf32>
  // expected-error @below {{is an alias of @x, which is not a tensor of its element type and size}}
  tensor output @y alias @x : tensor<8xf32>
}

// -----

//===----------------------------------------------------------------------===//
// stream and segment
//===----------------------------------------------------------------------===//

pe.program @stream_c1_channel mesh [1, 1] machine "wse2" launch_color 0 {
  tensor input @x : tensor<4xf32>
  // expected-error @below {{has no channel}}
  stream in @s color 1 channels [] {
    segment @x[0, strides = [1]] over (4)
  }
}

// -----

pe.program @stream_c1_segment mesh [1, 1] machine "wse2" launch_color 0 {
  // expected-error @below {{has no segment}}
  stream in @s color 1 channels [0 -> 0:1] {
  }
}

// -----

pe.program @stream_c2 mesh [1, 1] machine "wse2" launch_color 0 {
  tensor input @x : tensor<4xf32>
  // expected-error @below {{holds test.op, expected scalars and segments}}
  stream in @s color 1 channels [0 -> 0:1] {
    segment @x[0, strides = [1]] over (4)
    // expected-note @below {{the operation}}
    "test.op"() : () -> ()
  }
}

// -----

pe.program @segment_c1_absent mesh [1, 1] machine "wse2" launch_color 0 {
  stream in @s color 1 channels [0 -> 0:1] {
    // expected-error @below {{streams @x, which is not a tensor}}
    segment @x[0, strides = [1]] over (4)
  }
}

// -----

pe.program @segment_c1_reads mesh [1, 1] machine "wse2" launch_color 0 {
  // expected-note @below {{the tensor}}
  tensor output @y : tensor<4xf32>
  stream in @s color 1 channels [0 -> 0:1] {
    // expected-error @below {{reads @y, which is an output}}
    segment @y[0, strides = [1]] over (4)
  }
}

// -----

pe.program @segment_c1_writes mesh [1, 1] machine "wse2" launch_color 0 {
  // expected-note @below {{the tensor}}
  tensor input @x : tensor<4xf32>
  stream out @s color 1 channels [0 -> 0:1] {
    // expected-error @below {{writes @x, which is not an output}}
    segment @x[0, strides = [1]] over (4)
  }
}

// -----

pe.program @segment_c2 mesh [1, 1] machine "wse2" launch_color 0 {
  tensor input @x : tensor<4xf32>
  stream in @s color 1 channels [0 -> 0:1] {
    // expected-error @below {{has 2 extents and 1 strides, expected as many, at most eight}}
    segment @x[0, strides = [1]] over (2, 2)
  }
}

// -----

pe.program @segment_c3_type mesh [1, 1] machine "wse2" launch_color 0 {
  // expected-note @below {{the tensor}}
  tensor input @x : tensor<4xf32>
  stream in @s color 1 channels [0 -> 0:1] {
    // expected-error @below {{is indexed by @x, expected an integer input or constant}}
    segment @x[0, strides = [1]] over (1) lines 4 step 0 indexed @x step 1 rows 4
  }
}

// -----

pe.program @segment_c3_rows mesh [1, 1] machine "wse2" launch_color 0 {
  tensor input @ids : tensor<4xi64>
  stream in @s color 1 channels [0 -> 0:1] {
    // expected-error @below {{gathers from a table of 0 rows}}
    segment @ids[0, strides = [1]] over (1) lines 4 step 0 indexed @ids step 1 rows 0
  }
}

// -----

pe.program @segment_c3_at mesh [1, 1] machine "wse2" launch_color 0 {
  // expected-note @below {{the tensor}}
  tensor input @ids : tensor<4xi64>
  stream in @s color 1 channels [0 -> 0:1] {
    // expected-error @below {{is indexed by number 4 of @ids}}
    segment @ids[0, strides = [1]] over (1) lines 4 step 0 indexed @ids at 4 step 1 rows 4
  }
}

// -----

pe.program @tensor_c7_role mesh [1, 1] machine "wse2" launch_color 0 {
  // expected-error @below {{chooses of 8 experts, expected a positive number, of an intermediate of i32}}
  tensor input @ids choose of 8 : tensor<4xi32>
}

// -----

pe.program @tensor_c7_type mesh [1, 1] machine "wse2" launch_color 0 {
  // expected-error @below {{chooses of 8 experts, expected a positive number, of an intermediate of i32}}
  tensor intermediate @scores choose of 8 : tensor<4xf32>
}

// -----

pe.program @tensor_c7_number mesh [1, 1] machine "wse2" launch_color 0 {
  // expected-error @below {{chooses of 0 experts, expected a positive number, of an intermediate of i32}}
  tensor intermediate @ids choose of 0 : tensor<4xi32>
}

// -----

pe.program @segment_c4 mesh [1, 1] machine "wse2" launch_color 0 {
  tensor input @ids : tensor<4xi64>
  tensor output @y : tensor<4xf32>
  stream out @s color 1 channels [0 -> 0:1] {
    // expected-error @below {{leaves the wafer: expected no index}}
    segment @y[0, strides = [1]] over (1) lines 4 step 1 indexed @ids step 1 rows 4
  }
}

// -----

pe.program @segment_c5_in mesh [1, 1] machine "wse2" launch_color 0 {
  // expected-note @below {{the tensor}}
  tensor input @x : tensor<4xf32>
  stream in @s color 1 channels [0 -> 0:1] {
    // expected-error @below {{accumulates in @x, expected an output of f32}}
    segment @x[0, strides = [1]] over (1) lines 4 step 1 accumulate
  }
}

// -----

pe.program @segment_c5_type mesh [1, 1] machine "wse2" launch_color 0 {
  // expected-note @below {{the tensor}}
  tensor output @y : tensor<4xf16>
  stream out @s color 1 channels [0 -> 0:1] {
    // expected-error @below {{accumulates in @y, expected an output of f32}}
    segment @y[0, strides = [1]] over (1) lines 4 step 1 accumulate
  }
}

// -----

pe.program @segment_c6_type mesh [1, 1] machine "wse2" launch_color 0 {
  tensor input @x : tensor<4xf32>
  stream in @s color 1 channels [0 -> 0:1] {
    // expected-error @below {{has halves of 'i16', expected f16, bf16 or !pe.cb16}}
    segment @x[0, strides = [1]] over (2) lines 2 step 2 halves i16
  }
}

// -----

pe.program @segment_c6_wire mesh [1, 1] machine "wse2" launch_color 0 {
  tensor input @x : tensor<4xf32>
  stream in @s color 1 type f16 pair channels [0 -> 0:1] {
    // expected-error @below {{has halves, and its stream is not of f32}}
    segment @x[0, strides = [1]] over (2) lines 2 step 2 halves f16
  }
}

// -----

pe.program @segment_c6_out mesh [1, 1] machine "wse2" launch_color 0 {
  tensor output @y : tensor<4xf32>
  stream out @s color 1 type f16 channels [0 -> 0:1] {
    // expected-error @below {{has halves, and its stream is not of f32}}
    segment @y[0, strides = [1]] over (2) lines 2 step 2 halves f16
  }
}

// -----

pe.program @stream_c3_type mesh [1, 1] machine "wse2" launch_color 0 {
  tensor input @x : tensor<4xi64>
  // expected-error @below {{has elements of 'i64', expected f32, f16, bf16, !pe.cb16, i32, i16, ui32 or ui16}}
  stream in @s color 1 type i64 channels [0 -> 0:1] {
    segment @x[0, strides = [1]] over (4)
  }
}

// -----

pe.program @stream_c3_pair mesh [1, 1] machine "wse2" launch_color 0 {
  tensor input @x : tensor<4xi32>
  // expected-error @below {{has pairs with elements of 'i32', which fill a wavelet}}
  stream in @s color 1 type i32 pair channels [0 -> 0:1] {
    segment @x[0, strides = [1]] over (4)
  }
}

// -----

pe.program @stream_c3_both mesh [1, 1] machine "wse2" launch_color 0 {
  tensor input @x : tensor<4xf16>
  // expected-error @below {{has pairs and an index, which share half a wavelet}}
  stream in @s color 1 type f16 pair indexed channels [0 -> 0:1] {
    segment @x[0, strides = [1]] over (4)
  }
}

// -----

pe.program @stream_c4 mesh [1, 1] machine "wse2" launch_color 0 {
  tensor output @y : tensor<4xf16>
  // expected-error @below {{leaves the wafer: the host knows the number of each element}}
  stream out @s color 1 type f16 indexed channels [0 -> 0:1] {
    segment @y[0, strides = [1]] over (4)
  }
}

// -----

pe.program @value_c1 mesh [1, 1] machine "wse2" launch_color 0 {
  // expected-error @below {{stands before the first launch: nothing has made it}}
  value "v" : tensor<4xf32> in @v [0:1, 0:1] {
    piece [0, strides = [1]] over (4) at [0, strides = [1]]
  }
}

// -----

pe.program @value_c2 mesh [1, 1] machine "wse2" launch_color 0 {
  class @all [0:1, 0:1] {
    buffer @v 16 bytes of f32
    routine @r {
    }
  }
  launch @r
  // expected-error @below {{has 0 pieces, expected one}}
  value "v" : tensor<4xf32> in @v [0:1, 0:1] {
  }
}

// -----

pe.program @value_c3 mesh [1, 1] machine "wse2" launch_color 0 {
  class @all [0:1, 0:1] {
    buffer @v 16 bytes of f32
    routine @r {
    }
  }
  launch @r
  // expected-error @below {{has type 'tensor<?xf32>', expected a static shape}}
  value "v" : tensor<?xf32> in @v [0:1, 0:1] {
    piece [0, strides = [1]] over (4) at [0, strides = [1]]
  }
}

// -----

// expected-note @below {{the program with this mesh}}
pe.program @value_outside mesh [1, 1] machine "wse2" launch_color 0 {
  class @all [0:1, 0:1] {
    buffer @v 16 bytes of f32
    routine @r {
    }
  }
  launch @r
  // expected-error @below {{has a rectangle that reaches to (1, 0), but the mesh is 1x1}}
  value "v" : tensor<4xf32> in @v [0:2, 0:1] {
    piece [0, strides = [1]] over (4) at [0, strides = [1]]
  }
}

// -----

pe.program @piece_c1 mesh [1, 1] machine "wse2" launch_color 0 {
  class @all [0:1, 0:1] {
    buffer @v 16 bytes of f32
    routine @r {
    }
  }
  launch @r
  value "v" : tensor<4xf32> in @v [0:1, 0:1] {
    // expected-error @below {{has 1 extents, 1 strides and 2 places, expected as many, at most eight}}
    piece [0, strides = [1]] over (4) at [0, strides = [1, 1]]
  }
}

// -----

//===----------------------------------------------------------------------===//
// launch
//===----------------------------------------------------------------------===//

pe.program @launch_c1 mesh [1, 1] machine "wse2" launch_color 0 {
  kernel @k kind "test" nodes [] region [0:1, 0:1] cycles 0.0 of 0.0 bound "compute"
  // expected-error @below {{starts routine @r, which no class has}}
  launch @r for @k
}

// -----

pe.program @launch_c2_kernel mesh [1, 1] machine "wse2" launch_color 0 {
  class @all [0:1, 0:1] {
    routine @r {
    }
  }
  // expected-error @below {{is for kernel @k, which does not exist}}
  launch @r for @k
}

// -----

pe.program @launch_c2_stream mesh [1, 1] machine "wse2" launch_color 0 {
  class @all [0:1, 0:1] {
    routine @r {
    }
  }
  kernel @k kind "test" nodes [] region [0:1, 0:1] cycles 0.0 of 0.0 bound "compute"
  // expected-error @below {{names stream @s, which does not exist}}
  launch @r for @k streams [@s]
}

// -----

//===----------------------------------------------------------------------===//
// copy
//===----------------------------------------------------------------------===//

pe.program @copy_c1 mesh [2, 1] machine "wse2" {
  // expected-error @below {{copies @x, which is not a tensor}}
  copy in @x to @v [0:2, 0:1]
}

// -----

pe.program @copy_c1_in mesh [2, 1] machine "wse2" {
  // expected-note @below {{the tensor}}
  tensor output @y : tensor<2xf32>
  // expected-error @below {{reads @y, which is an output}}
  copy in @y to @v [0:2, 0:1]
}

// -----

pe.program @copy_c1_out mesh [2, 1] machine "wse2" {
  // expected-note @below {{the tensor}}
  tensor input @x : tensor<2xf32>
  // expected-error @below {{writes @x, which is not an output}}
  copy out @x from @v [0:2, 0:1]
}

// -----

pe.program @copy_c2 mesh [2, 1] machine "wse2" {
  tensor input @x : tensor<3xf32>
  // expected-error @below {{shares 3 elements evenly among 2 PEs}}
  copy in @x to @v [0:2, 0:1]
}

// -----

// expected-note @below {{the program with this mesh}}
pe.program @copy_place mesh [2, 1] machine "wse2" {
  tensor input @x : tensor<3xf32>
  // expected-error @below {{has a rectangle that reaches to (2, 0), but the mesh is 2x1}}
  copy in @x to @v [0:3, 0:1]
}
