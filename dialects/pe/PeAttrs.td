// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WSEC_DIALECTS_PE_PEATTRS_TD
#define WSEC_DIALECTS_PE_PEATTRS_TD

include "dialects/fabric/Fabric.td"
include "dialects/pe/PeDialect.td"
include "dialects/pe/PeOpcodes.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinTypeInterfaces.td"
include "mlir/IR/EnumAttr.td"

// Enum values are those of program.fbs; compiler/emit asserts it.

def Pe_Role : I32EnumAttr<"Role", "What a host tensor is for.", [
  I32EnumAttrCase<"Input", 0, "input">,
  I32EnumAttrCase<"Output", 1, "output">,
  I32EnumAttrCase<"Weight", 2, "weight">,
  I32EnumAttrCase<"Constant", 3, "constant">,
  I32EnumAttrCase<"Intermediate", 4, "intermediate">
]> {
  let cppNamespace = "::wsec::pe";
}

def Pe_SparsityMethod : I32EnumAttr<"SparsityMethod",
    "What scores the elements of a group of a sparse matrix.", [
  I32EnumAttrCase<"Random", 0, "random">,
  I32EnumAttrCase<"TopK", 1, "topk">
]> {
  let cppNamespace = "::wsec::pe";
}

def Pe_Direction : I32EnumAttr<"Direction", "Into or out of the wafer.", [
  I32EnumAttrCase<"In", 0, "in">,
  I32EnumAttrCase<"Out", 1, "out">
]> {
  let cppNamespace = "::wsec::pe";
}

def Pe_ScalarKind : I32EnumAttr<"ScalarKind",
    "An integer function of scalars.", [
  I32EnumAttrCase<"Px", 1, "px">,
  I32EnumAttrCase<"Py", 2, "py">,
  I32EnumAttrCase<"Add", 3, "add">,
  I32EnumAttrCase<"Sub", 4, "sub">,
  I32EnumAttrCase<"Mul", 5, "mul">,
  I32EnumAttrCase<"Div", 6, "div">,
  I32EnumAttrCase<"Mod", 7, "mod">,
  I32EnumAttrCase<"Min", 8, "min">,
  I32EnumAttrCase<"Max", 9, "max">,
  I32EnumAttrCase<"Equal", 10, "equal">,
  I32EnumAttrCase<"Less", 11, "less">,
  I32EnumAttrCase<"And", 12, "and">,
  I32EnumAttrCase<"Or", 13, "or">,
  I32EnumAttrCase<"Not", 14, "not">,
  I32EnumAttrCase<"TileStart", 15, "tile_start">,
  I32EnumAttrCase<"TileSize", 16, "tile_size">,
  I32EnumAttrCase<"TileIndex", 17, "tile_index">,
  I32EnumAttrCase<"BitAnd", 18, "bit_and">,
  I32EnumAttrCase<"BitOr", 19, "bit_or">,
  I32EnumAttrCase<"BitXor", 20, "bit_xor">,
  I32EnumAttrCase<"ShiftLeft", 21, "shift_left">,
  I32EnumAttrCase<"ShiftRight", 22, "shift_right">
]> {
  let cppNamespace = "::wsec::pe";
}

def Pe_Opcode : I32EnumAttr<"Opcode", "What a vector instruction computes.",
    Pe_opcodes> {
  let cppNamespace = "::wsec::pe";
}

def Pe_PopMode : I32EnumAttr<"PopMode",
    "Which commands a router takes off a control wavelet.", [
  I32EnumAttrCase<"Never", 0, "never">,
  I32EnumAttrCase<"Always", 1, "always">,
  I32EnumAttrCase<"OnAdvance", 2, "on_advance">
]> {
  let cppNamespace = "::wsec::pe";
}

def Pe_SwitchCommand : I32EnumAttr<"SwitchCommand",
    "What a control wavelet does to a switch.", [
  I32EnumAttrCase<"Nop", 0, "nop">,
  I32EnumAttrCase<"Advance", 1, "advance">,
  I32EnumAttrCase<"Reset", 2, "reset">,
  I32EnumAttrCase<"Teardown", 3, "teardown">
]> {
  let cppNamespace = "::wsec::pe";
}

def Pe_TaskKind : I32EnumAttr<"TaskKind", "What makes a task pending.", [
  I32EnumAttrCase<"Local", 0, "local">,
  I32EnumAttrCase<"Data", 1, "data">,
  I32EnumAttrCase<"Control", 2, "control">
]> {
  let cppNamespace = "::wsec::pe";
}

def Pe_FilterKind : I32EnumAttr<"FilterKind",
    "How a filter chooses wavelets.", [
  I32EnumAttrCase<"Range", 0, "range">,
  I32EnumAttrCase<"Counter", 1, "counter">
]> {
  let cppNamespace = "::wsec::pe";
}

def Pe_QueueKind : I32EnumAttr<"QueueKind",
    "Which way a queue carries words, seen from the PE.", [
  I32EnumAttrCase<"Input", 0, "input">,
  I32EnumAttrCase<"Output", 1, "output">
]> {
  let cppNamespace = "::wsec::pe";
}

def Pe_CopyOrder : I32EnumAttr<"CopyOrder",
    "How a tensor numbers the elements of a rectangle's PEs.", [
  I32EnumAttrCase<"Row", 0, "row">,
  I32EnumAttrCase<"Column", 1, "column">
]> {
  let cppNamespace = "::wsec::pe";
}

class Pe_Attr<string name, string attrMnemonic>
    : AttrDef<Pe_Dialect, name> {
  let mnemonic = attrMnemonic;
}

def Pe_RectAttr : Pe_Attr<"Rect", "rect"> {
  let summary = "Names the PEs of a half-open, strided rectangle.";
  let description = [{
    x runs over x0, x0 + xstep, ... below x1; y alike. Ops print it as
    `[x0:x1:xstep, y0:y1:ystep]` and leave out a step of 1:

    ```
      [0:6:2, 1:3]      . . . . . .
                        # . # . # .
                        # . # . # .
    ```

    (C1) 0 <= x0 < x1 and 0 <= y0 < y1; (C2) steps are positive; (C3) bounds and
    steps are below 2^31.
  }];
  let parameters = (ins
    "int64_t":$x0, "int64_t":$x1, DefaultValuedParameter<"int64_t", "1">:$xstep,
    "int64_t":$y0, "int64_t":$y1, DefaultValuedParameter<"int64_t", "1">:$ystep);
  let builders = [
    AttrBuilder<(ins "const fabric::Rect &":$rect), [{
      return $_get($_ctxt, rect.x0, rect.x1, rect.xstep, rect.y0, rect.y1,
                   rect.ystep);
    }]>
  ];
  let assemblyFormat = [{
    `<` `[` $x0 `` `:` `` $x1 (`` `:` `` $xstep^)? `,`
            $y0 `` `:` `` $y1 (`` `:` `` $ystep^)? `]` `>`
  }];
  let genVerifyDecl = 1;
}

def Pe_PositionAttr : Pe_Attr<"Position", "position"> {
  let summary = "Describes a further position of a switch.";
  let description = [{
    In this position the router receives from another port, or transmits to
    another set of ports; the rest is as in the one before. Ops print it as
    `from east` or `to [west, ramp]`.

    (C1) Exactly one of the two is given.
  }];
  let parameters = (ins "std::optional<Port>":$receive, "Ports":$transmit);
  let assemblyFormat = [{
    `<` custom<Position>($receive, $transmit) `>`
  }];
  let genVerifyDecl = 1;
}

def Pe_ChannelAttr : Pe_Attr<"Channel", "channel"> {
  let summary = "Names a channel of the wafer's west or east edge.";
  let description = [{
    In a stream that goes in, words enter at the west edge of `row` and serve
    the columns [begin, end). In a stream that goes out, words leave at the east
    edge of `row` and come from the rows [begin, end). Ops print it as
    `row -> begin:end`.

    (C1) 0 <= row and 0 <= begin <= end; a channel may serve nobody.
  }];
  let parameters = (ins "int64_t":$row, "int64_t":$begin, "int64_t":$end);
  let assemblyFormat = [{
    `<` $row `->` $begin `` `:` `` $end `>`
  }];
  let genVerifyDecl = 1;
}

def Pe_SlotAttr : Pe_Attr<"Slot", "slot"> {
  let summary = "Says when a host stream flows for a launch.";
  let description = [{
    Where words of several streams could enter a row of the mesh in one cycle,
    that of the lowest `order` does, if there is room for it on the fabric. The
    stream is predicted to have words to offer in the cycles [begin, end) of the
    run; at most `ahead` of a channel wait on their way while launches before run.

    ```mlir
    #pe.slot<order 3 from 1200 to 4500 ahead 8>
    ```

    (C1) Nothing is negative, and it does not end before it begins.
  }];
  let parameters = (ins "int64_t":$order, "int64_t":$begin, "int64_t":$end,
                        "int64_t":$ahead);
  let assemblyFormat = [{
    `<` `order` $order `from` $begin `to` $end `ahead` $ahead `>`
  }];
  let genVerifyDecl = 1;
}

def Pe_FileAttr : Pe_Attr<"File", "file"> {
  let summary = "Says where the bytes of a weight lie.";
  let description = [{
    The tensor's bytes start at `offset` of the file at `path`; they are read
    when the program runs, never by the compiler.
  }];
  let parameters = (ins StringRefParameter<"path of the file">:$path,
                        "uint64_t":$offset);
  let assemblyFormat = "`<` $path `at` $offset `>`";
}

def Pe_SparseAttr : Pe_Attr<"Sparse", "sparse"> {
  let summary = "Says which elements of a matrix a sparse weight keeps.";
  let description = [{
    Element (k, n) of a matrix of `rows` x `columns` is element
    `offset + k * strides[0] + n * strides[1]` of `tensor`. Of each group of
    `group` columns of a row `kept` elements stay, of a shorter last one `rest`:
    those with the highest score, of equal ones the first. `random` scores an
    element by its number in `tensor` and the seed, `topk` by absolute value. The weight is what `Sparsity` in
    program.fbs describes: a record for each group of columns, for each row, with
    indices in steps of `step`, two in a word, then values.

    (C1) Two strides. (C2) Indices fit 15 bits; of a group no more is kept than
    it has.

    ```mlir
    #pe.sparse<@w at 0 strides [300, 1] rows 64 columns 300 keep 32 of 128 rest 11 random seed 7 step 4>
    ```
  }];
  let parameters = (ins "::mlir::FlatSymbolRefAttr":$tensor, "int64_t":$offset,
    ArrayRefParameter<"int64_t">:$strides, "int64_t":$rows, "int64_t":$columns,
    "int64_t":$kept, "int64_t":$group, "int64_t":$rest,
    EnumParameter<Pe_SparsityMethod>:$method, "int64_t":$seed,
    "int64_t":$step);
  let assemblyFormat = [{
    `<` $tensor `at` $offset `strides` ` ` `[` $strides `]` `rows` $rows
    `columns` $columns `keep` $kept `of` $group `rest` $rest $method
    `seed` $seed `step` $step `>`
  }];
  let extraClassDeclaration = [{
    /// PEs read indices as signed numbers.
    static constexpr int64_t largestIndex = 0x7fff;
    /// Words of the record of a group that keeps `kept` elements.
    static int64_t recordWords(int64_t kept) { return (kept + 1) / 2 + kept; }
    /// Words of all records of whole groups, and of all.
    int64_t getWholeWords() const {
      return getColumns() / getGroup() * getRows() * recordWords(getKept());
    }
    int64_t getWords() const {
      return getWholeWords() + getRows() * recordWords(getRest());
    }
  }];
  let genVerifyDecl = 1;
}

def Pe_GradientAttr : Pe_Attr<"Gradient", "gradient"> {
  let summary = "Says to which elements of a parameter an output is added.";
  let description = [{
    Element i of the output to element `at` + sum(i[d] * strides[d]) of the
    parameter; without strides both are in row-major order. With `rows` the
    output has rows as the parameter: row i is added to row `rows[i]`.

    ```mlir
    #pe.gradient<"fc.weight" at 8 strides [1, 24]>
    #pe.gradient<"wte" at 0 rows @ids>
    ```
  }];
  let parameters = (ins "::mlir::StringAttr":$parameter, "int64_t":$offset,
    OptionalArrayRefParameter<"int64_t">:$strides,
    OptionalParameter<"::mlir::FlatSymbolRefAttr">:$rows);
  let assemblyFormat = [{
    `<` $parameter `at` $offset (`strides` ` ` `[` $strides^ `]`)?
    (`rows` $rows^)? `>`
  }];
}

def Pe_AffineAttr : Pe_Attr<"Affine", "affine"> {
  let summary = "Adds up multiples of an op's scalar operands.";
  let description = [{
    constant + sum(scales[i] * values[i]), where `values` number the scalar
    operands of the op that holds the attribute. Ops print it with the operands'
    names, as in `%i * 4 - %j + 2`. Build it through `wsec::pe::Affine`.

    (C1) as many values as scales.
  }];
  let parameters = (ins "int64_t":$constant,
                        OptionalArrayRefParameter<"int64_t">:$values,
                        OptionalArrayRefParameter<"int64_t">:$scales);
  let assemblyFormat = [{
    `<` $constant (`,` `values` `=` `[` $values^ `]` `,`
        `scales` `=` `[` $scales `]`)? `>`
  }];
  let genVerifyDecl = 1;
}

def Pe_MemoryAttr : Pe_Attr<"Memory", "memory"> {
  let summary = "Describes an operand in SRAM.";
  let description = [{
    Element `offset + sum(index[d] * strides[d])` of `buffer`, a buffer of the
    class the instruction is in. Instructions print it as
    `@x[%i * 4, strides = [1, 0]]`.
  }];
  let parameters = (ins "::mlir::FlatSymbolRefAttr":$buffer,
                        "AffineAttr":$offset,
                        OptionalArrayRefParameter<"int64_t">:$strides);
  let assemblyFormat = "`<` $buffer `,` $offset (`,` `[` $strides^ `]`)? `>`";
}

def Pe_FabricAttr : Pe_Attr<"Fabric", "fabric"> {
  let summary = "Describes an operand that comes from or goes to the fabric.";
  let description = [{
    The next wavelet of `color`, received or sent. It advances over the `depth`
    outermost extents; inner iterations use the same word again.

    With a window, each iteration of the outermost extent takes `total` words
    from the fabric and drops all but those from `offset` on that the inner
    extents up to `depth` need. With one extent the window applies once, to the
    whole instruction.

    A wavelet holds one element of `type` (f32 if none is given), or with `pair`
    two elements of 16 bits. Sent 16-bit elements may carry `index` + i in the
    upper half, for filters and data tasks. Instructions print it as
    `fabric(3, f16, pair, depth = 2, window = %first of %all)` or
    `fabric(3, i16, index = %i)` and leave out a depth of 1.

    In place of a color may stand a chain, as in `fabric(@east)`: its color that
    the PE sends on, or in a source the one it receives.
  }];
  let parameters = (ins "AffineAttr":$color, "unsigned":$depth,
                        OptionalParameter<"AffineAttr">:$windowOffset,
                        OptionalParameter<"AffineAttr">:$windowTotal,
                        OptionalParameter<"::mlir::Type">:$type,
                        OptionalParameter<"bool">:$pair,
                        OptionalParameter<"AffineAttr">:$index,
                        OptionalParameter<"::mlir::FlatSymbolRefAttr">:$chain);
  let builders = [
    AttrBuilder<(ins "AffineAttr":$color, "unsigned":$depth,
                     "AffineAttr":$windowOffset, "AffineAttr":$windowTotal,
                     "::mlir::Type":$type, "bool":$pair, "AffineAttr":$index), [{
      return $_get($_ctxt, color, depth, windowOffset, windowTotal, type, pair,
                   index, ::mlir::FlatSymbolRefAttr());
    }]>
  ];
  let assemblyFormat = [{
    `<` $color `,` $depth (`chain` `=` $chain^)? (`window` `=` $windowOffset^ `of` $windowTotal)?
        (`type` `=` $type^)? (`pair` `=` $pair^)? (`index` `=` $index^)? `>`
  }];
}

def Pe_OperandAttr : AnyAttrOf<[Pe_MemoryAttr, Pe_FabricAttr, F32Attr],
    "memory, fabric or an f32 constant">;

def Pe_ScalarType : TypeDef<Pe_Dialect, "Scalar"> {
  let mnemonic = "scalar";
  let summary = "Is an integer a PE computes.";
  let description = [{
    Scalars of a class depend on the PE's coordinates alone. Loop variables and
    what scalar code computes while it runs (`load`, `compute`) have the same
    type and 32 bits. They cost no SRAM; their evaluation is part of the code.
  }];
}

def Pe_CB16Type : TypeDef<Pe_Dialect, "CB16",
    [DeclareTypeInterfaceMethods<FloatTypeInterface, ["getFloatSemantics"]>]> {
  let mnemonic = "cb16";
  let summary = "Is a float of a sign, 6 bits of exponent and 9 of mantissa.";
  let description = [{
    Elements of buffers, of tensors on the wafer and of wavelets: between the
    ranges of `f16` and `bf16`, and between their precisions. The bias is 31;
    subnormal numbers, infinities and NaNs are as in IEEE's formats. LLVM has no
    such numbers, so no attribute holds one: initial values are refused.

    ```mlir
    class @all [0:1, 0:1] {
      buffer @x 16 bytes of !pe.cb16
    }
    ```
  }];
}

#endif // WSEC_DIALECTS_PE_PEATTRS_TD
