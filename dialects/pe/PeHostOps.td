// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the host knows of a program: tensors and the words of them that go in
// and out, values of the model, kernels, entries and launches.
#ifndef WSEC_DIALECTS_PE_PEHOSTOPS_TD
#define WSEC_DIALECTS_PE_PEHOSTOPS_TD

include "dialects/pe/PeOpBase.td"

//===----------------------------------------------------------------------===//
// The host side
//===----------------------------------------------------------------------===//

def Pe_TensorOp : Pe_Op<"tensor", [HasParent<"ProgramOp">, Symbol,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "Declares a tensor of the host.";
  let description = [{
    Inputs and outputs are bound by name. A weight's bytes stay in a file,
    whose path, without `..`, starts from the folder of the program's text or
    from one that `--weights` names; a constant's are part of the program, and a long one may stand behind it, as a
    `dense_resource`. `alias` marks an output that equals another tensor
    unchanged. A weight that is `sparse` is made of another, or of a constant, as
    it streams: `tensor weight @kept sparse <@w at 0 strides [64, 1] rows 64
    columns 64 keep 8 of 32 rest 0 topk seed 0 step 1> : tensor<1536xf32>`.

    (C1) A static shape of floats, or of integers of 1 to 64 bits. (C2) A weight has a
    source or is sparse, nothing else does. (C3) A constant has a value of the tensor's type,
    nothing else does. (C4) Only an output is an alias, of a
    tensor with as many elements of its type. (C5) A sparse weight is made of a
    weight or constant of floats that is not, and has the words of its records.
    (C6) A parameter is a weight or constant of f32, f16 or bf16 with a name of its
    own; of a gradient, an output of f32, there is the parameter, and it stays inside
    of it; its rows are integers.

    What is `parameter` is what training changes: the store may hold others than
    the elements that stand here, by that name. A `gradient` is an output that is
    added to what the store collects for a parameter.

    An intermediate of numbers that tokens `choose` of experts is one whose numbers a
    run counts. (C7) It is of i32, and there is an expert.

    An intermediate is written by streams of launches, then read by streams of
    later ones: the host sends no word of it before all of it has come.

    ```mlir
    pe.program @main mesh [1, 1] machine "wse2" launch_color 0 {
      tensor intermediate @keys : tensor<64x128xf32>
      tensor intermediate @chosen choose of 8 : tensor<64x2xi32>
      tensor input @input_ids : tensor<1x128xi64>
      tensor weight @table from <"model.onnx" at 4096> : tensor<30522x384xf32>
      tensor constant @half = dense<0.5> : tensor<1xf32> : tensor<1xf32>
      tensor output @logits : tensor<1x128x2xf32>
      tensor weight @w from <"model.onnx" at 0> parameter "fc.weight" : tensor<8x2xf32>
      tensor output @dw gradient <"fc.weight" at 0> : tensor<8x2xf32>
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, Pe_Role:$role, TypeAttr:$type,
    OptionalAttr<Pe_FileAttr>:$source, OptionalAttr<ElementsAttr>:$value,
    OptionalAttr<FlatSymbolRefAttr>:$alias, OptionalAttr<Pe_SparseAttr>:$sparse,
    OptionalAttr<StrAttr>:$parameter, OptionalAttr<Pe_GradientAttr>:$gradient,
    OptionalAttr<I64Attr>:$experts);
  let assemblyFormat = [{
    $role $sym_name (`from` $source^)? (`=` $value^)? (`alias` $alias^)?
    (`sparse` $sparse^)? (`parameter` $parameter^)? (`gradient` $gradient^)?
    (`choose` `of` $experts^)? `:` custom<ShapedType>($type) attr-dict
  }];
  let extraClassDeclaration = [{
    ::mlir::RankedTensorType getTensorType() {
      return ::llvm::cast<::mlir::RankedTensorType>(getType());
    }
  }];
  let hasVerifier = 1;
}

def Pe_CopyOp : Pe_Op<"copy", [ParentOneOf<["ProgramOp", "EntryOp"]>,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "Copies a tensor to or from a buffer of every PE of a rectangle.";
  let description = [{
    Happens between the launches it stands between, when all PEs are at rest,
    and takes no time of the wafer. Every PE gets the same share of n elements
    of the tensor. In `row` order element e of the PE in column i and row j of
    the rectangle is tensor element (j * columns + i) * n + e, in `column` order
    (e * columns + i) * rows + j.

    (C1) The tensor exists; a copy out writes an output, a copy in reads
    anything else. (C2) The tensor has as many elements for each PE.

    ```mlir
    pe.program @main mesh [4, 1] machine "wse2" {
      tensor input @x : tensor<4x8xf32>
      tensor output @y : tensor<8x4xf32>
      class @row [0:4, 0:1] {
        buffer @v 32 bytes of f32
      }
      copy in @x to @v [0:4, 0:1]
      copy out @y from @v [0:4, 0:1] order column
    }
    ```
  }];
  let arguments = (ins Pe_Direction:$direction, FlatSymbolRefAttr:$tensor,
    FlatSymbolRefAttr:$buffer, Pe_RectAttr:$rect,
    DefaultValuedAttr<Pe_CopyOrder, "CopyOrder::Row">:$order);
  let assemblyFormat = [{
    $direction $tensor custom<CopyBuffer>(ref($direction), $buffer)
    custom<Rect>($rect) (`order` $order^)? attr-dict
  }];
  let extraClassDeclaration = [{
    /// Elements of each PE.
    int64_t getElements();
  }];
}

def Pe_StreamOp : Pe_RegionOp<"stream",
    [HasParent<"ProgramOp">, IsolatedFromAbove, Symbol]> {
  let summary = "Lists the words the host sends or takes on one color.";
  let description = [{
    `in`: for each segment, for each of its lines, each channel sends one block for
    each column it serves, west to east. `out`: each channel takes one block for
    each row it carries, and in a row for each column from east to west. The
    scalars of the body are evaluated at (column, row): going in, at the row of
    the channel. The stream flows once for each launch that lists it. Arguments,
    written before the body, are the first ones of these launches.

    `type` is that of the elements on the fabric, f32 if none is given, and has
    to agree with the operands `fabric(.., f16, pair)` of who receives or sends
    them. With `pair` two 16-bit elements are in a wavelet; the odd last one of a
    block travels alone. With `indexed` elements that go in have their number
    in the block in the upper half of their wavelet.

    (C1) At least one channel and one segment. (C2) The body holds scalars and
    segments only. (C3) The type is f32, f16, bf16, cb16, i32, i16, ui32 or ui16;
    `pair` and `indexed` are for 16 bits and exclude one another. (C4) Streams that go out
    are not `indexed`.

    ```mlir
    pe.program @main mesh [4, 4] machine "wse2" launch_color 0 {
      tensor weight @w from <"w.bin" at 0> : tensor<64x16xf32>
      stream in @weights color 2 channels [0 -> 0:4] {
        %px = scalar px
        segment @w[%px * 4, strides = [1]] over (4) lines 64 step 16
      }
      stream in @row_of_weights color 3 channels [1 -> 0:4] (%row) {
        segment @w[%row * 16, strides = [1]] over (4)
      }
      stream in @halves color 4 type f16 pair channels [1 -> 0:4] {
        %px = scalar px
        segment @w[%px * 4, strides = [1]] over (4) lines 64 step 16
      }
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, Pe_Direction:$direction,
    ConfinedAttr<I64Attr, [IntNonNegative]>:$color, OptionalAttr<TypeAttr>:$type,
    UnitAttr:$pair, UnitAttr:$indexed, ArrayAttr:$channels);
  let skipDefaultBuilders = 1;
  let builders = [
    OpBuilder<(ins "::llvm::StringRef":$name, "Direction":$direction,
                   "int64_t":$color, "::mlir::ArrayAttr":$channels)>
  ];
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $direction $sym_name `color` custom<Number>($color) (`type` $type^)?
    (`pair` $pair^)? (`indexed` $indexed^)?
    `channels` custom<Channels>($channels) attr-dict-with-keyword
    custom<BodyOf>($body)
  }];
  let hasVerifier = 1;
}

def Pe_SegmentOp : Pe_Op<"segment", [HasParent<"StreamOp">,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "Streams blocks of one tensor.";
  let description = [{
    In line l, index i of a block is element `offset + l * line_step + sum(i[d]
    * strides[d])` of the tensor. `indexed @ids step s rows n` adds `ids[l] * s`:
    the host gathers row ids[l] of n; negative ids count from the end. With `at i`
    ids[i] is that of all lines.

    `accumulate` adds blocks that go out to the tensor, which starts at zero: in
    f32, the blocks of a channel in the order in which they come.

    `halves f16` (or bf16) puts two elements, rounded to that type, in a word, the
    first in its lower half. PEs take and send these as they do other words, and
    have the elements in a buffer of 16-bit elements that shares their memory.

    (C1) The tensor exists; a stream that goes out writes an output. (C2) One
    stride per extent, at most eight. (C3) The index tensor is an integer input
    or constant, with a positive number of rows, and has a number `at`. (C4) A stream that goes out has
    no index. (C5) Only a stream that goes out accumulates, in a tensor of f32.
    (C6) Halves are f16, bf16 or cb16, of a stream of f32. The last word of a block of
    an odd number of elements has one of them.

    ```mlir
    pe.program @main mesh [4, 4] machine "wse2" launch_color 0 {
      tensor weight @table from <"w.bin" at 0> : tensor<100x16xf32>
      tensor input @ids : tensor<1x8xi64>
      stream in @embeddings color 2 channels [0 -> 0:4] {
        %px = scalar px
        segment @table[%px * 4, strides = [1]] over (4) lines 8 step 0
            indexed @ids step 16 rows 100
        segment @table[%px * 4, strides = [1]] over (4) indexed @ids at 7 step 16 rows 100
      }
      stream in @halves color 4 channels [1 -> 0:4] {
        %px = scalar px
        segment @table[%px * 4, strides = [1, 16]] over (4, 2) lines 50 step 32 halves f16
      }
      tensor output @sum : tensor<16xf32>
      stream out @sums color 3 channels [0 -> 0:1] {
        %px = scalar px
        segment @sum[%px * 4, strides = [1]] over (4) lines 8 step 0 accumulate
      }
    }
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$tensor,
    Variadic<Pe_ScalarType>:$values, Pe_AffineAttr:$lines, I64Attr:$line_step,
    ArrayAttr:$extents, DenseI64ArrayAttr:$strides, Pe_AffineAttr:$offset,
    OptionalAttr<FlatSymbolRefAttr>:$index_tensor, I64Attr:$index_step,
    I64Attr:$index_rows, I64Attr:$index_at, UnitAttr:$accumulate, OptionalAttr<TypeAttr>:$halves);
  let skipDefaultBuilders = 1;
  let builders = [OpBuilder<(ins "const Segment &":$segment)>];
  let extraClassDeclaration = [{
    Segment getSegment();
  }];
  let assemblyFormat = [{
    $tensor `` custom<Access>($values, $offset, $strides)
    custom<Extents>(ref($values), $extents)
    `` custom<Lines>(ref($values), $lines, $line_step)
    `` custom<Gather>($index_tensor, $index_step, $index_rows, $index_at)
    (`accumulate` $accumulate^)? (`halves` $halves^)? attr-dict
  }];
}

//===----------------------------------------------------------------------===//
// Values of the model
//===----------------------------------------------------------------------===//

def Pe_ValueOp : Pe_RegionOp<"value",
    [ParentOneOf<["ProgramOp", "EntryOp"]>, IsolatedFromAbove]> {
  let summary = "Says where PEs hold a tensor of the model.";
  let description = [{
    When the launch before it is over, and until later code writes there, the
    PEs of the rectangle hold the tensor in their buffer of that name, a piece
    each. The body has scalars, evaluated in every PE, and one piece.
    `wse-run --output` and `--peek` read the tensor there; nothing else does.

    (C1) A launch stands before it. (C2) The body holds scalars and one piece.
    (C3) The type is a tensor of static shape.

    ```mlir
    pe.program @main mesh [4, 1] machine "wse2" launch_color 0 {
      class @all [0:4, 0:1] {
        buffer @hidden 16 bytes of f32
        routine @relu {
        }
      }
      launch @relu
      value "/act/Relu_output_0" : tensor<1x16xf32> in @hidden [0:4, 0:1] {
        %px = scalar px
        piece [%px * 4, strides = [1]] over (4) at [0, strides = [1]]
      }
    }
    ```
  }];
  let arguments = (ins StrAttr:$name, TypeAttr:$type,
    FlatSymbolRefAttr:$buffer, Pe_RectAttr:$rect);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $name `:` custom<ShapedType>($type) `in` $buffer custom<Rect>($rect)
    attr-dict-with-keyword $body
  }];
  let hasVerifier = 1;
}

def Pe_PieceOp : Pe_Op<"piece", [HasParent<"ValueOp">]> {
  let summary = "Says which elements of a tensor a PE holds, and where.";
  let description = [{
    Index i of a piece is element `offset + sum(i[d] * strides[d])` of the
    tensor and, after `at`, `place + sum(i[d] * places[d])` of the buffer.

    (C1) One stride and one place per extent, at most eight.

    ```mlir
    pe.program @main mesh [1, 1] machine "wse2" launch_color 0 {
      class @all [0:1, 0:1] {
        buffer @v 96 bytes of f32
        routine @work {
        }
      }
      launch @work
      value "transposed" : tensor<4x6xf32> in @v [0:1, 0:1] {
        piece [0, strides = [6, 1]] over (4, 6) at [0, strides = [1, 4]]
      }
    }
    ```
  }];
  let arguments = (ins Variadic<Pe_ScalarType>:$values, ArrayAttr:$extents,
    DenseI64ArrayAttr:$strides, Pe_AffineAttr:$offset,
    DenseI64ArrayAttr:$places, Pe_AffineAttr:$place);
  let skipDefaultBuilders = 1;
  let builders = [OpBuilder<(ins "const ValuePiece &":$piece)>];
  let extraClassDeclaration = [{
    ValuePiece getPiece();
  }];
  let assemblyFormat = [{
    custom<Access>($values, $offset, $strides)
    custom<Extents>(ref($values), $extents)
    `at` custom<Access>(ref($values), $place, $places) attr-dict
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Kernels and launches
//===----------------------------------------------------------------------===//

def Pe_KernelOp : Pe_Op<"kernel", [HasParent<"ProgramOp">, Symbol]> {
  let summary = "Keeps what reports and errors say about a kernel.";
  let description = [{
    `cycles c of l`: predicted cycles, and the lower bound no program of this
    machine could beat; `bound` is what limits the kernel: compute, stream,
    fabric or memory.

    ```mlir
    pe.program @main mesh [4, 4] machine "wse2" launch_color 0 {
      kernel @fc1 kind "matmul" nodes ["/fc1/MatMul", "/fc1/Add"]
          region [0:4, 0:4] cycles 5.120000e+03 of 4.608000e+03 bound "stream"
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, StrAttr:$kind,
    StrArrayAttr:$nodes, Pe_RectAttr:$region, F64Attr:$predicted_cycles,
    F64Attr:$lower_bound_cycles, StrAttr:$bound);
  let assemblyFormat = [{
    $sym_name `kind` $kind `nodes` $nodes `region` custom<Rect>($region)
    `cycles` $predicted_cycles `of` $lower_bound_cycles `bound` $bound attr-dict
  }];
}

def Pe_EntryOp : Pe_Op<"entry",
    [NoTerminator, SingleBlock, HasParent<"ProgramOp">, IsolatedFromAbove,
     Symbol, DeclareOpInterfaceMethods<OpAsmOpInterface,
       ["getDefaultDialect", "getAsmBlockArgumentNames"]>]> {
  let summary = "Is what the host may call, with arguments.";
  let description = [{
    Holds scalars of its arguments, launches, copies and values. Those that stand
    in the program itself are its only entry, `main`. A call of the program
    runs one entry; each argument is an integer in the range behind its name.

    (C1) Without entries, launches, copies and values stand in the program; with
    entries they do not. (C2) An entry holds constants, scalars, launches, copies
    and values only. (C3) Its scalars are no coordinates of PEs. (C4) Arguments have names of
    their own, and a range of 32-bit numbers.

    ```mlir
    pe.program @main mesh [1, 1] machine "wse2" {
      class @all [0:1, 0:1] {
        buffer @cache 4096 bytes of f32 persistent
        routine @clear(%first) {
          vector mov @cache[%first, strides = [1]] = 0.0 over (4)
        }
      }
      entry @clear_row(%row from 0 to 255) {
        %first = scalar mul(%row, 4)
        launch @clear(%first)
      }
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, StrArrayAttr:$names,
    DenseI64ArrayAttr:$from, DenseI64ArrayAttr:$to);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $sym_name `` custom<Entry>($names, $from, $to, $body) attr-dict
  }];
  let extraClassDefinition = [{
    ::llvm::StringRef $cppClass::getDefaultDialect() { return "pe"; }
  }];
  let hasVerifier = 1;
}

def Pe_LaunchOp : Pe_Op<"launch", [ParentOneOf<["ProgramOp", "EntryOp"]>]> {
  let summary = "Starts a routine.";
  let description = [{
    Every PE whose class has the routine runs it, launches in the order of their
    ops. `streams` are the host streams the launch feeds or drains. Without a
    kernel, reports use the name of the routine.

    In an entry a launch may carry numbers to the routine: `launch @step(%row)`.

    With `follows` no launch wavelet starts it: each PE goes on to it when it is
    done with those before it, whether they reach other PEs or not.

    `slots` say when each of the streams flows; without them streams that share a
    row of the west edge take turns.

    (C1) Some class has the routine. (C2) The kernel and the streams exist.
    (C3) It carries as many numbers as the routine takes. (C4) They are scalars
    of the entry. (C5) There are no slots, or one for each stream. (C6) Slots of one
    color and direction ascend in the order of launches. (C7) One that follows has
    a launch before it, and the program a launch color.

    ```mlir
    pe.program @main mesh [1, 1] machine "wse2" launch_color 0 {
      class @all [0:1, 0:1] {
        routine @idle {
        }
      }
      kernel @k kind "test" nodes [] region [0:1, 0:1]
          cycles 0.0 of 0.0 bound "compute"
      launch @idle for @k
    }
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$routine,
    Variadic<Pe_ScalarType>:$carried, UnitAttr:$follows,
    OptionalAttr<FlatSymbolRefAttr>:$kernel, OptionalAttr<ArrayAttr>:$streams,
    OptionalAttr<TypedArrayAttrBase<Pe_SlotAttr, "slots">>:$slots);
  let builders = [
    OpBuilder<(ins "::mlir::FlatSymbolRefAttr":$routine,
                   "::mlir::FlatSymbolRefAttr":$kernel,
                   "::mlir::ArrayAttr":$streams,
                   "::mlir::ArrayAttr":$slots), [{
      build($_builder, $_state, routine, ::mlir::ValueRange(), nullptr, kernel,
            streams, slots);
    }]>
  ];
  let assemblyFormat = [{
    $routine `` custom<Carried>($carried) (`follows` $follows^)? (`for` $kernel^)?
    (`streams` $streams^ (`slots` $slots^)?)? attr-dict
  }];
}

#endif // WSEC_DIALECTS_PE_PEHOSTOPS_TD
