// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WSEC_DIALECTS_PE_PEOPS_TD
#define WSEC_DIALECTS_PE_PEOPS_TD

include "dialects/pe/PeOpBase.td"
include "dialects/pe/PeHostOps.td"
include "dialects/pe/PeProcedureOps.td"
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
    Pe_RectAttr:$rect, Fabric_Port:$receive, Fabric_Ports:$transmit,
    OptionalAttr<ArrayAttr>:$positions, UnitAttr:$ring,
    DefaultValuedAttr<Pe_PopMode, "PopMode::Never">:$pop,
    DefaultValuedAttr<I64Attr, "0">:$initial);
  let skipDefaultBuilders = 1;
  let builders = [
    OpBuilder<(ins "int64_t":$color, "RectAttr":$rect, "Port":$receive,
                   "Ports":$transmit)>
  ];
  let assemblyFormat = [{
    custom<Number>($color) custom<Rect>($rect) `from` custom<Port>($receive) `to` custom<Ports>($transmit)
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
    Pe_RectAttr:$rect, Fabric_Port:$direction);
  let assemblyFormat = [{
    $sym_name `even` custom<Number>($even) `odd` custom<Number>($odd)
    custom<Rect>($rect) `to` custom<Port>($direction) attr-dict
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
    to the next; in all others nothing is written when a call begins, but the
    values behind `=`: one for each element, or one for all.

    (C1) The address and the size are multiples of the element size. (C2) The
    element type is f32, f16, bf16, cb16, i32, i16, ui32, ui16, i64 or i1. (C3) A
    persistent buffer shares no byte with another buffer of the class, unless that is not
    persistent and is the bytes of such ones: the same under another type, or
    several that follow one another. (C4) There are as many values as elements,
    of their type, or one. (C5) A buffer with values is not persistent, and shares
    no byte with another that has values or is.

    ```mlir
    pe.program @main mesh [1, 1] machine "wse2" launch_color 0 {
      class @all [0:1, 0:1] {
        buffer @x at 8192, 512 bytes of f32 node "/layer.0/Add"
        buffer @y at 8704, 512 bytes of f32 node "/layer.0/MatMul"
        buffer @z 64 bytes of f32
        buffer @cache 4096 bytes of f32 persistent
        buffer @weights 16 bytes of f32 = [0.25, 0.5, 0.25, 0.0]
        buffer @counts 8 bytes of i16 = 0
      }
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name,
    OptionalAttr<ConfinedAttr<I64Attr, [IntNonNegative]>>:$address,
    ConfinedAttr<I64Attr, [IntPositive]>:$bytes,
    TypeAttr:$type, UnitAttr:$persistent, OptionalAttr<StrAttr>:$node,
    OptionalAttr<ElementsAttr>:$initial);
  let assemblyFormat = [{
    $sym_name (`at` custom<Number>($address)^ `,`)? custom<Number>($bytes)
    `bytes` `of` $type
    `` custom<Initial>(ref($bytes), ref($type), $initial)
    (`persistent` $persistent^)? (`node` $node^)? attr-dict
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
    and floats that become integers saturate. Of unsigned sources they are unsigned:
    quotients, comparisons, minima. What has a source of ui32 has no signed one; mov
    makes one of the other. With `no_wrap` a result that the
    destination's integers do not hold is an `IntegerError`, as a zero divisor
    of integers always is.

    (C1) One to four extents. (C2) The destination is memory or fabric.
    (C3) Mov and functions take one source, all others two. (C4) A memory
    operand has one stride per extent. (C5) A fabric source's depth is between 1
    and the number of extents; a fabric destination's equals it and it has no
    window. (C6) The thread is between 0 and 7. (C7) Affine expressions
    number existing operands. (C8) The guard is a scalar of the class;
    it and the microthread may be parameters of a procedure.
    (C9) `activate` and `unblock` need a thread. (C10) `advance` needs a fabric
    destination, `on_control end` a fabric source. (C11) Wavelets hold f32, f16,
    bf16, cb16, i32, i16, ui32 or ui16; a pair is of 16-bit elements, an index
    beside a single one that is sent.

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
    Optional<Pe_ScalarType>:$thread_parameter,
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
    `` custom<Issue>($thread, $thread_parameter, $activate, $unblock, $advance,
                    $end_on_control, $no_wrap)
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

#endif // WSEC_DIALECTS_PE_PEOPS_TD
