// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WSEC_DIALECTS_PE_PEOPS_TD
#define WSEC_DIALECTS_PE_PEOPS_TD

include "dialects/pe/PeOpBase.td"
include "dialects/pe/PeTaskOps.td"

//===----------------------------------------------------------------------===//
// The program and its routes
//===----------------------------------------------------------------------===//

def Pe_ProgramOp : Pe_RegionOp<"program",
    [IsolatedFromAbove, SymbolTable, Symbol]> {
  let summary = "Holds everything a run needs.";
  let description = [{
    Host tensors, routes, classes, streams and kernels in any order, and the
    launches in the order they are made, or entries that hold launches. Behind the name may stand parameters
    with their defaults, `@main(width = 4 from 2 to 750, words = 8)`: a name in
    place of a number, wherever one stands, in shapes `tensor<width x 8xf32>`.
    Numbers may be computed, `width * 2 - 1` or `div(width, 2)`. A program that
    has been read has numbers only. `machine` is a preset's name or a
    JSON description, as `compiler/machine` reads them.

    With `launch_color c` a launch is a wavelet on color c, and launches overlap as
    far as their data allows. Without it a launch is a call of the host: when
    all PEs are at rest, all enter the routine in the same cycle.

    (C1) The mesh's sides are from 1 to 2^31 - 1. (C2) Every rectangle and channel
    lies inside it.
    (C3) With a launch color, copies stand before the first launch or after
    the last of their entry.

    ```mlir
    pe.program @main mesh [4, 2] machine "wse2" launch_color 0 {
      route 0 [0:4, 0:1] from west to [south, east, ramp]
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name,
    DenseI64ArrayAttr:$mesh,
    StrAttr:$machine,
    OptionalAttr<ConfinedAttr<I64Attr, [IntNonNegative]>>:$launch_color,
    OptionalAttr<StrAttr>:$model,
    OptionalAttr<I64Attr>:$parameters,
    OptionalAttr<I64Attr>:$weight_bytes);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $sym_name `` custom<Parameters>(ref($sym_name)) `mesh` custom<Mesh>($mesh)
    `machine` $machine (`launch_color` custom<Number>($launch_color)^)?
    (`model` $model^)? attr-dict-with-keyword $body
  }];
  let extraClassDeclaration = [{
    int64_t getWidth() { return getMesh()[0]; }
    int64_t getHeight() { return getMesh()[1]; }
  }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

def Pe_RouteOp : Pe_Op<"route", [HasParent<"ProgramOp">]> {
  let summary = "Sets the routers of a rectangle for one color.";
  let description = [{
    Wavelets of `color` that arrive at the `receive` port (ramp: from the PE
    itself) leave through every port of `transmit`.

    `switch` lists further positions; each replaces the receive port or the
    transmit ports of the one before. A control wavelet goes as the position it
    meets says, then moves the switch: only what follows sees the new one. After
    the last position a `ring` returns to the first; otherwise the last stays.
    `initial` is the position at load. `pop` says which commands the router
    takes off a control wavelet it passes on: `never` (all switches on the path
    act on the same one), `always` the first, or the first `on_advance`, if it
    moved this switch.

    (C1) `transmit` is not empty. (C2) Except on the ramp, no wavelet leaves
    through the port it came from, in any position. (C3) `ring` and `initial`
    need a switch, which has that position.

    ```mlir
    pe.program @main mesh [8, 2] machine "wse2" {
      route 3 [0:8:2, 0:2] from west to [east, ramp]
      route 4 [0:8, 0:2] from ramp to [west]
          switch [from east, to [north]] ring pop always initial 1
    }
    ```
  }];
  let arguments = (ins ConfinedAttr<I64Attr, [IntNonNegative]>:$color,
    Pe_RectAttr:$rect, Pe_Port:$receive, Pe_Ports:$transmit,
    OptionalAttr<ArrayAttr>:$positions, UnitAttr:$ring,
    DefaultValuedAttr<Pe_PopMode, "PopMode::Never">:$pop,
    DefaultValuedAttr<I64Attr, "0">:$initial);
  let skipDefaultBuilders = 1;
  let builders = [
    OpBuilder<(ins "int64_t":$color, "RectAttr":$rect, "Port":$receive,
                   "Ports":$transmit)>
  ];
  let assemblyFormat = [{
    custom<Number>($color) custom<Rect>($rect) `from` $receive `to` custom<Ports>($transmit)
    (`switch` custom<Positions>($positions)^)? (`ring` $ring^)?
    (`pop` $pop^)? (`initial` custom<Number>($initial)^)? attr-dict
  }];
  let hasVerifier = 1;
}

def Pe_ChainOp : Pe_Op<"chain", [HasParent<"ProgramOp">, Symbol]> {
  let summary = "Connects each PE of a rectangle with the next one.";
  let description = [{
    Every PE sends to its neighbour in `direction`, where that one is in the
    rectangle, too. A color has one rule in a router, so a PE cannot send on the
    color it receives: PEs in even columns (for north and south: rows) send on
    the color `even`, those in odd ones on `odd`.

    An instruction names the chain instead of a color: `fabric(@right)` is, as a
    destination, the color the PE sends on; as a source, the one it receives.
    The chain of the example is written as these routes otherwise, and in a
    class of several columns as `fabric(%odd + 1)` and `fabric(2 - %odd)`:

    ```
      route 1 [0:3:2, 0:1] from ramp to [east]
      route 1 [1:4:2, 0:1] from west to [ramp]
      route 2 [1:3:2, 0:1] from ramp to [east]
      route 2 [2:4:2, 0:1] from west to [ramp]
    ```

    (C1) The direction is a neighbour's. (C2) The colors differ. (C3) The
    rectangle has no steps.

    ```mlir
    pe.program @main mesh [4, 1] machine "wse2" {
      chain @right even 1 odd 2 [0:4, 0:1] to east
      class @inner [1:3, 0:1] {
        routine @pass {
          vector add fabric(@right) = fabric(@right), 1.0 over (8)
        }
      }
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name,
    ConfinedAttr<I64Attr, [IntNonNegative]>:$even,
    ConfinedAttr<I64Attr, [IntNonNegative]>:$odd,
    Pe_RectAttr:$rect, Pe_Port:$direction);
  let assemblyFormat = [{
    $sym_name `even` custom<Number>($even) `odd` custom<Number>($odd)
    custom<Rect>($rect) `to` $direction attr-dict
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Scalars
//===----------------------------------------------------------------------===//

def Pe_ConstantOp : Pe_Op<"constant", [Pure, ConstantLike,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>]> {
  let summary = "Is a number known at compile time.";
  let description = [{
    (C1) The value fits in 32 bits.

    ```mlir
    %c768 = pe.constant 768
    ```
  }];
  let arguments = (ins I64Attr:$value);
  let results = (outs Pe_ScalarType:$result);
  let assemblyFormat = "custom<Number>($value) attr-dict";
  let hasFolder = 1;
  let hasVerifier = 1;
}

def Pe_ScalarOp : Pe_Op<"scalar", [Pure,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>]> {
  let summary = "Computes an integer from a PE's coordinates.";
  let description = [{
    `px` and `py` are the coordinates. `tile_start(n, p, i)`, `tile_size(n, p,
    i)` and `tile_index(n, p, e)` split n elements over p parts whose sizes
    differ by at most one, the larger parts first. `equal`, `less`, `and`, `or`,
    `not` give 0 or 1; `div` and `mod` round towards zero. `bit_and`, `bit_or`,
    `bit_xor`, `shift_left` and `shift_right` (arithmetic) are of 32 bits. Where
    a scalar stands a number may stand: it is a constant, which the PE holds
    once.

    (C1) As many operands as the function takes: none for px and py, one for
    not, three for the tiling functions, two for all others. (C2) What a PE
    computes while it runs, loop variables too, is no operand of a scalar. (C3)
    Numbers fit in 32 bits.

    ```mlir
    %px = pe.scalar px
    %size = pe.scalar tile_size(768, 8, %px)
    ```
  }];
  let arguments = (ins Pe_ScalarKind:$kind, Variadic<Pe_ScalarType>:$inputs,
    OptionalAttr<DenseI64ArrayAttr>:$literals);
  let results = (outs Pe_ScalarType:$result);
  let builders = [
    OpBuilder<(ins "::mlir::Type":$result, "ScalarKind":$kind,
                   "::mlir::ValueRange":$inputs), [{
      build($_builder, $_state, result, kind, inputs,
            ::mlir::DenseI64ArrayAttr());
    }]>
  ];
  let extraClassDeclaration = [{
    /// Scalars and numbers, in order.
    ::llvm::SmallVector<::mlir::OpFoldResult, 3> getMixedInputs();
  }];
  let assemblyFormat = [{
    $kind `` custom<Inputs>($inputs, $literals) attr-dict
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Classes of PEs
//===----------------------------------------------------------------------===//

def Pe_ClassOp : Pe_RegionOp<"class",
    [HasParent<"ProgramOp">, IsolatedFromAbove, SymbolTable, Symbol]> {
  let summary = "Holds the code of PEs that do the same.";
  let description = [{
    Scalars, buffers, queues, filters, routines and tasks of every PE in the
    rectangles.

    (C1) At least one rectangle. (C2) Code names buffers of the class. (C3) Code
    names tasks of the class; `activate` names local ones. (C4) Code names
    chains of the program.

    ```mlir
    pe.program @main mesh [8, 8] machine "wse2" launch_color 0 {
      class @token_rows [0:8, 0:4], [0:8, 6:8] {
        %px = scalar px
        buffer @x at 8192, 512 bytes of f32
        routine @clear {
          vector mov @x[0, strides = [1]] = 0.0 over (128)
        }
      }
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, ArrayAttr:$rects);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $sym_name custom<Rects>($rects) attr-dict-with-keyword $body
  }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

def Pe_BufferOp : Pe_Op<"buffer", [HasParent<"ClassOp">, Symbol]> {
  let summary = "Reserves SRAM in every PE of the class.";
  let description = [{
    `node` is the ONNX node that needs the memory. Buffers may overlap: what is
    used at different times can share SRAM. Buffers without an address lie one
    after the other, in order, behind the code and all that have one. A
    `persistent` buffer keeps what is written to it from one call of the program
    to the next; in all others nothing is written when a call begins.

    (C1) The address and the size are multiples of the element size. (C2) The
    element type is f32, f16, bf16, i32, i16, i64 or i1. (C3) A persistent
    buffer shares no byte with another buffer of the class.

    ```mlir
    pe.program @main mesh [1, 1] machine "wse2" launch_color 0 {
      class @all [0:1, 0:1] {
        buffer @x at 8192, 512 bytes of f32 node "/layer.0/Add"
        buffer @y at 8704, 512 bytes of f32 node "/layer.0/MatMul"
        buffer @z 64 bytes of f32
        buffer @cache 4096 bytes of f32 persistent
      }
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name,
    OptionalAttr<ConfinedAttr<I64Attr, [IntNonNegative]>>:$address,
    ConfinedAttr<I64Attr, [IntPositive]>:$bytes,
    TypeAttr:$type, UnitAttr:$persistent, OptionalAttr<StrAttr>:$node);
  let assemblyFormat = [{
    $sym_name (`at` custom<Number>($address)^ `,`)? custom<Number>($bytes)
    `bytes` `of` $type (`persistent` $persistent^)?
    (`node` $node^)? attr-dict
  }];
  let hasVerifier = 1;
}

def Pe_RoutineOp : Pe_RegionOp<"routine", [HasParent<"ClassOp">, Symbol]> {
  let summary = "Is what the PEs of a class do on one launch.";
  let description = [{
    Runs from top to bottom. Routines of several classes with one name are
    started by the same launches. Arguments are what a launch carries: integers
    of 32 bits, used like what code computes.

    ```mlir
    pe.program @main mesh [1, 1] machine "wse2" launch_color 0 {
      class @all [0:1, 0:1] {
        buffer @x at 8192, 64 bytes of f32
        routine @clear(%row) {
          vector mov @x[%row * 4, strides = [1]] = 0.0 over (4)
        }
      }
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $sym_name attr-dict-with-keyword `` custom<BodyOf>($body)
  }];
}

def Pe_VectorOp : Pe_Op<"vector",
    [AttrSizedOperandSegments, Pe_InCode]> {
  let summary = "Runs one instruction over up to four nested extents.";
  let description = [{
    dst = op(a, b) for every index in lexicographic order, one element after the
    other. `fmac` is dst = fma(a, b, dst), rounded once; a destination stride of
    0 reduces. `select` is dst = a ? b : dst. Comparisons give 1.0 or 0.0.

    `where %guard` runs the instruction only where the scalar is not zero.
    `thread n` starts it on microthread n, which has to be idle; on wse3 the
    issuing code waits until it is. It reads and writes memory as it goes: until
    it is done, touching what it writes, writing what it reads, or using its
    colors in the same direction is a `DataRace`. `await` waits.

    On completion an asynchronous instruction may `activate` a local task and
    `unblock` a task: `thread 0 then activate @a unblock @b`. `advance` moves
    the switch of the destination's color behind the last word. With
    `on_control end` a control wavelet in the queue of a fabric source ends the
    instruction, however much is missing; without it the wavelet is left to the
    task it names. These follow `over (..)` in this order: `where`, `thread`,
    `then`, `advance`, `on_control end`, `no_wrap`.

    Elements have the type of their buffer, on the fabric the one given there.
    Integers are computed in 32 bits, f16 alone in f16, all else in f32; every
    result is rounded to the destination's type. `bit_and`, `bit_or` and
    `bit_xor` are for integers. Integers wrap, `div` rounds them towards zero,
    and floats that become integers saturate; with `no_wrap` a result that the
    destination's integers do not hold is an `IntegerError`, as a zero divisor
    of integers always is.

    (C1) One to four extents. (C2) The destination is memory or fabric.
    (C3) Mov and functions take one source, all others two. (C4) A memory
    operand has one stride per extent. (C5) A fabric source's depth is between 1
    and the number of extents; a fabric destination's equals it and it has no
    window. (C6) The thread is between 0 and 7. (C7) Affine expressions
    number existing operands. (C8) The guard is a scalar of the class.
    (C9) `activate` and `unblock` need a thread. (C10) `advance` needs a fabric
    destination, `on_control end` a fabric source. (C11) Wavelets hold f32, f16,
    bf16, i32 or i16; a pair is of 16-bit elements, an index beside a single one
    that is sent.

    ```mlir
    pe.program @main mesh [4, 1] machine "wse2" launch_color 0 {
      class @all [0:4, 0:1] {
        %px = scalar px
        %c4 = constant 4
        %c768 = constant 768
        %k = scalar tile_size(%c768, %c4, %px)
        buffer @acc at 8192, 64 bytes of f32
        buffer @x at 8256, 12288 bytes of f32
        routine @matmul {
          vector fmac @acc[0, strides = [0, 1]] = fabric(2),
              @x[0, strides = [16, 1]] over (%k, 16)
          vector mov fabric(3) = @acc[0, strides = [1]] over (16) where %px thread 1
          await [1]
        }
      }
    }
    ```
  }];
  let arguments = (ins Pe_Opcode:$opcode,
    Variadic<Pe_ScalarType>:$values, Optional<Pe_ScalarType>:$guard,
    ArrayAttr:$extents, Pe_OperandAttr:$dst, OptionalAttr<Pe_OperandAttr>:$a,
    OptionalAttr<Pe_OperandAttr>:$b, OptionalAttr<I64Attr>:$thread,
    OptionalAttr<FlatSymbolRefAttr>:$activate,
    OptionalAttr<FlatSymbolRefAttr>:$unblock, UnitAttr:$advance,
    UnitAttr:$end_on_control, UnitAttr:$no_wrap);
  let skipDefaultBuilders = 1;
  let builders = [
    OpBuilder<(ins "Opcode":$opcode, "const Operand &":$dst,
      "::llvm::ArrayRef<Operand>":$sources, "::llvm::ArrayRef<Affine>":$extents,
      CArg<"const Issue &", "{}">:$issue)>
  ];
  let extraClassDeclaration = [{
    /// The operands and extents with the scalars they refer to.
    Operand getDstOperand();
    ::llvm::SmallVector<Operand, 2> getSources();
    ::llvm::SmallVector<Affine, 4> getExtentAffines();
  }];
  let assemblyFormat = [{
    custom<Opcode>($opcode) custom<Operand>($values, $dst)
    custom<Sources>(ref($values), $a, $b) custom<Extents>(ref($values), $extents)
    `` custom<Guard>($guard)
    `` custom<Issue>($thread, $activate, $unblock, $advance, $end_on_control,
                    $no_wrap)
    attr-dict
  }];
  let hasVerifier = 1;
}

def Pe_ForOp : Pe_Op<"for",
    [AttrSizedOperandSegments, NoTerminator, SingleBlock,
     Pe_InCode,
     DeclareOpInterfaceMethods<OpAsmOpInterface,
       ["getDefaultDialect", "getAsmBlockArgumentNames"]>]> {
  let summary = "Repeats its body a number of times each PE knows.";
  let description = [{
    The loop variable counts from 0. `where %guard` leaves the whole loop out
    where the scalar is zero. Where the count is negative, nothing runs.

    (C1) The body has one argument, the loop variable. (C2) The count does not
    use more operands than there are. (C3) The guard is a scalar of the class.
    (C4) A count known at compile time is not negative.

    ```mlir
    pe.program @main mesh [1, 1] machine "wse2" launch_color 0 {
      class @all [0:1, 0:1] {
        buffer @x at 8192, 256 bytes of f32
        routine @clear {
          for %i < 16 {
            vector mov @x[%i * 4, strides = [1]] = 0.0 over (4)
          }
        }
      }
    }
    ```
  }];
  let arguments = (ins Variadic<Pe_ScalarType>:$values,
    Optional<Pe_ScalarType>:$guard, Pe_AffineAttr:$count);
  let regions = (region SizedRegion<1>:$body);
  let skipDefaultBuilders = 1;
  let builders = [
    OpBuilder<(ins "const Affine &":$count,
      CArg<"::mlir::Value", "{}">:$guard)>
  ];
  let extraClassDeclaration = [{
    ::mlir::BlockArgument getVariable() { return getBody().getArgument(0); }
    Affine getCountAffine();
  }];
  let extraClassDefinition = [{
    ::llvm::StringRef $cppClass::getDefaultDialect() { return "pe"; }
  }];
  let assemblyFormat = [{
    custom<Loop>($values, $count, $guard, $body) attr-dict-with-keyword
  }];
  let hasVerifier = 1;
}

def Pe_AwaitOp : Pe_Op<"await", [Pe_InCode]> {
  let summary = "Waits until microthreads have done all they were given.";
  let description = [{
    (C1) At least one thread, each between 0 and 7, none twice.

    ```mlir
    pe.program @main mesh [1, 1] machine "wse2" launch_color 0 {
      class @all [0:1, 0:1] {
        routine @wait {
          await [0, 1]
        }
      }
    }
    ```
  }];
  let arguments = (ins DenseI64ArrayAttr:$threads);
  let assemblyFormat = "$threads attr-dict";
  let hasVerifier = 1;
}

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

    An intermediate is written by streams of launches, then read by streams of
    later ones: the host sends no word of it before all of it has come.

    ```mlir
    pe.program @main mesh [1, 1] machine "wse2" launch_color 0 {
      tensor intermediate @keys : tensor<64x128xf32>
      tensor input @input_ids : tensor<1x128xi64>
      tensor weight @table from <"model.onnx" at 4096> : tensor<30522x384xf32>
      tensor constant @half = dense<0.5> : tensor<1xf32> : tensor<1xf32>
      tensor output @logits : tensor<1x128x2xf32>
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, Pe_Role:$role, TypeAttr:$type,
    OptionalAttr<Pe_FileAttr>:$source, OptionalAttr<ElementsAttr>:$value,
    OptionalAttr<FlatSymbolRefAttr>:$alias, OptionalAttr<Pe_SparseAttr>:$sparse);
  let assemblyFormat = [{
    $role $sym_name (`from` $source^)? (`=` $value^)? (`alias` $alias^)?
    (`sparse` $sparse^)?
    `:` custom<ShapedType>($type) attr-dict
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
    segments only. (C3) The type is f32, f16, bf16, i32 or i16; `pair` and
    `indexed` are for 16 bits and exclude one another. (C4) Streams that go out
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
    the host gathers row ids[l] of n; negative ids count from the end.

    `accumulate` adds blocks that go out to the tensor, which starts at zero: in
    f32, the blocks of a channel in the order in which they come.

    (C1) The tensor exists; a stream that goes out writes an output. (C2) One
    stride per extent, at most eight. (C3) The index tensor is an integer input
    or constant, with a positive number of rows. (C4) A stream that goes out has
    no index. (C5) Only a stream that goes out accumulates, in a tensor of f32.

    ```mlir
    pe.program @main mesh [4, 4] machine "wse2" launch_color 0 {
      tensor weight @table from <"w.bin" at 0> : tensor<100x16xf32>
      tensor input @ids : tensor<1x8xi64>
      stream in @embeddings color 2 channels [0 -> 0:4] {
        %px = scalar px
        segment @table[%px * 4, strides = [1]] over (4) lines 8 step 0
            indexed @ids step 16 rows 100
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
    I64Attr:$index_rows, UnitAttr:$accumulate);
  let skipDefaultBuilders = 1;
  let builders = [OpBuilder<(ins "const Segment &":$segment)>];
  let extraClassDeclaration = [{
    Segment getSegment();
  }];
  let assemblyFormat = [{
    $tensor `` custom<Access>($values, $offset, $strides)
    custom<Extents>(ref($values), $extents)
    `` custom<Lines>(ref($values), $lines, $line_step)
    `` custom<Gather>($index_tensor, $index_step, $index_rows)
    (`accumulate` $accumulate^)? attr-dict
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

    `slots` say when each of the streams flows; without them streams that share a
    row of the west edge take turns.

    (C1) Some class has the routine. (C2) The kernel and the streams exist.
    (C3) It carries as many numbers as the routine takes. (C4) They are scalars
    of the entry. (C5) There are no slots, or one for each stream. (C6) Slots of one
    color and direction ascend in the order of launches.

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
    Variadic<Pe_ScalarType>:$carried,
    OptionalAttr<FlatSymbolRefAttr>:$kernel, OptionalAttr<ArrayAttr>:$streams,
    OptionalAttr<TypedArrayAttrBase<Pe_SlotAttr, "slots">>:$slots);
  let builders = [
    OpBuilder<(ins "::mlir::FlatSymbolRefAttr":$routine,
                   "::mlir::FlatSymbolRefAttr":$kernel,
                   "::mlir::ArrayAttr":$streams,
                   "::mlir::ArrayAttr":$slots), [{
      build($_builder, $_state, routine, ::mlir::ValueRange(), kernel, streams,
            slots);
    }]>
  ];
  let assemblyFormat = [{
    $routine `` custom<Carried>($carried) (`for` $kernel^)?
    (`streams` $streams^ (`slots` $slots^)?)? attr-dict
  }];
}

#endif // WSEC_DIALECTS_PE_PEOPS_TD
