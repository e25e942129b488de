// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef WSEC_DIALECTS_WSE_WSEATTRS_TD
#define WSEC_DIALECTS_WSE_WSEATTRS_TD

include "dialects/wse/WseDialect.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/TensorEncoding.td"

class Wse_Enum<string name, string summary, list<I32EnumAttrCase> cases>
    : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::wsec::wse";
}

def Wse_State : Wse_Enum<"State", "what is decided about a program", [
  I32EnumAttrCase<"Selected", 0, "selected">,
  I32EnumAttrCase<"Placed", 1, "placed">,
  I32EnumAttrCase<"Routed", 2, "routed">,
  I32EnumAttrCase<"Scheduled", 3, "scheduled">
]>;

def Wse_RegionRole : Wse_Enum<"RegionRole", "which kernels of a program a region has", [
  I32EnumAttrCase<"Whole", 0, "whole">, // all
  I32EnumAttrCase<"Part", 1, "part">,   // that share nothing with the others
  I32EnumAttrCase<"Stage", 2, "stage">, // of a pipeline of samples
  I32EnumAttrCase<"Code", 3, "code">    // whose code fits, one after the other
]>;

def Wse_ColumnPlacement : Wse_Enum<"ColumnPlacement", "how columns share features", [
  I32EnumAttrCase<"Balanced", 0, "balanced">,
  I32EnumAttrCase<"Replicated", 1, "replicated">,
  I32EnumAttrCase<"Heads", 2, "heads">
]>;

def Wse_MatmulVariant : Wse_Enum<"MatmulVariant", "which operand of a product moves", [
  I32EnumAttrCase<"Reduce", 0, "reduce">,
  I32EnumAttrCase<"Broadcast", 1, "broadcast">,
  I32EnumAttrCase<"Stationary", 2, "stationary">,
  I32EnumAttrCase<"ReduceStored", 3, "reduce_stored">,
  I32EnumAttrCase<"BroadcastStored", 4, "broadcast_stored">
]>;

def Wse_SparsityMethod : Wse_Enum<"SparsityMethod", "what decides which weights are kept", [
  I32EnumAttrCase<"Random", 0, "random">,
  I32EnumAttrCase<"TopK", 1, "topk">
]>;

def Wse_ReduceKind : Wse_Enum<"ReduceKind", "how a reduction combines", [
  I32EnumAttrCase<"Sum", 0, "sum">,
  I32EnumAttrCase<"Mean", 1, "mean">,
  I32EnumAttrCase<"Max", 2, "max">
]>;

class Wse_Attr<string name, string mnemonicString, list<Trait> traits = []>
    : AttrDef<Wse_Dialect, name, traits> {
  let mnemonic = mnemonicString;
  let genVerifyDecl = 1;
}

def Wse_DistAttr : Wse_Attr<"Dist", "dist",
    [DeclareAttrInterfaceMethods<VerifiableTensorEncoding>]> {
  let summary = "Says which PEs own which elements of a tensor.";
  let genMnemonicAlias = 1;
  let description = [{
    The encoding of every tensor on the wafer: what each axis of its region
    shares out. `rows` and `columns` list dimensions of the tensor by their
    numbers, the outermost first. The tensor's shape and the region's say the
    rest, so neither is repeated here.

    ```
    2               single elements of dimension 2
    2 by 3          whole units of 3 of them, such as heads
    2 by 3 over 2   units of 3, each of which two columns share
    (0, 1)          dimensions 0 and 1 as one, in row-major order
    1 cyclic        element i at position i mod as many as are used
    replicated over 4   what is left, copied to 4 rows
    ```

    A dimension of n units takes n positions of its axis, or all if it has fewer,
    and each of them is the head of an equal run of positions that the next
    entry shares out; the last entry takes all that are left. Parts differ by
    one unit at most: the larger ones come first along rows, and are evenly
    spaced along columns, so that columns that share a channel of the edge hold
    about equally many features (compiler/machine/Tiling.h). Positions that no
    unit falls to hold nothing. A dimension that is on no list is whole wherever
    the tensor is, and with `columns = []` every column has all of it.

    Two batch elements of three tokens, six features, on a region of 4 x 5:

    ```
                             f 0    f 1 2    f 3   f 4 5
      b 0, s 0 1           (0,0)   (1,0)   (2,0)  (3,0)
      b 0, s 2             (0,1)   (1,1)   (2,1)  (3,1)
      b 1, s 0 1           (0,2)   (1,2)   (2,2)  (3,2)
      b 1, s 2             (0,3)   (1,3)   (2,3)  (3,3)
      (nothing)            (0,4)   (1,4)   (2,4)  (3,4)
    ```

    ```mlir
    tensor<2x3x6xf32, #wse.dist<rows = [0, 1], columns = [2]>>
    tensor<2x3x6xf32, #wse.dist<rows = [0, 1], columns = [2 by 3 over 2]>>
    tensor<2x1x4xf32, #wse.dist<rows = [0, replicated over 2], columns = []>>
    tensor<6x4xf32, #wse.dist<rows = [0], columns = [1]>>
    tensor<2x3x4x6xf32, #wse.dist<rows = [0, (1, 2)], columns = [3]>>
    tensor<1x512x192xf32, #wse.dist<rows = [0, 1 cyclic], columns = [2 by 64 over 10]>>
    ```

    The last is a state that grows token by token: rows take its tokens in turn,
    so that a few of them are in as many rows, of which none has more than one
    beyond another.

    Inside a PE the last dimension is outermost: local token p and local feature
    i are element i * Pmax + p, where Pmax is the largest number of tokens that
    any row holds.

    - (C1) Dimensions are not negative; `by` and `over` are positive, and all
      are below 2^31. Of a unit no more columns than it has elements share it.
    - (C2) No dimension is listed twice; those that are taken as one follow one
      another.
    - (C3) `replicated` ends the list of the rows.
    - (C4) The tensor has the dimensions, is static and of f32, f16, bf16, cb16 or
      i32, has at least one element and fewer than 2^31, and a dimension that is
      shared in units consists of whole ones.
    - (C5) Kernels see batch, tokens and features: the last dimension alone is on
      the list of the columns or on none; all others are on that of the rows in
      their order, in one entry or two, or what is missing is replicated.
    - (C6) The region has all columns that units lie over, and for every batch
      element the rows that replicate it.
    - (C7) Only tokens are `cyclic`, the last entry of the rows.
  }];
  let parameters = (ins
    ArrayRefParameter<"DistEntry">:$rows,
    ArrayRefParameter<"DistEntry">:$columns);
  let assemblyFormat = [{
    `<` `rows` `=` custom<DistAxis>($rows) `,`
    `columns` `=` custom<DistAxis>($columns) `>`
  }];
  let extraClassDeclaration = [{
    /// The encoding of a tensor on the wafer; null for any other type.
    static DistAttr of(::mlir::Type type);

    /// The entries of an axis of so many positions, for a tensor of this shape.
    static ::llvm::SmallVector<DistPart>
    partsOf(::llvm::ArrayRef<DistEntry> axis, ::llvm::ArrayRef<int64_t> shape,
            int64_t positions);

    /// The (first) column and row of the element at `index` of a tensor of this
    /// shape on a region of `width` x `height`: what tests hold layouts against.
    PEPosition ownerOf(::llvm::ArrayRef<int64_t> index,
                       ::llvm::ArrayRef<int64_t> shape, int64_t width,
                       int64_t height) const;
    /// Elements that the fullest PE makes room for.
    int64_t elementsPerPE(::llvm::ArrayRef<int64_t> shape, int64_t width,
                          int64_t height) const;
    /// SRAM that a tensor takes in the fullest PE: whole words.
    static int64_t bytesPerPE(::mlir::Type type, int64_t width, int64_t height);
    /// The same of a parameter: the features of each token are neighbours and
    /// begin with a word.
    static int64_t heldBytesPerPE(::mlir::Type type, int64_t width,
                                  int64_t height);
  }];
}

def Wse_RuleAttr : Wse_Attr<"Rule", "rule"> {
  let summary = "Sets the routers of a rectangle for one color.";
  let description = [{
    In every PE of the rectangle, words of the color that come in on the
    receiving port leave on all of the sending ports. `ramp` is the PE itself.

    ```mlir
    #wse.rule<color 3, <x = 0 to 7, y = 0 to 1>, west to east|ramp>
    ```

    - (C1) The color is not negative.
    - (C2) A word leaves on some port, and not on the link it came in on; only
      the PE itself may hear what it says.
    - (C3) The rectangle, x in {x0, x0 + step, ...} below x1 and y likewise, has
      `0 <= x0 < x1`, `0 <= y0 < y1`, and steps that are positive.
  }];
  let parameters = (ins
    "int64_t":$color, "::wsec::fabric::Rect":$rect,
    "::wsec::fabric::Port":$receive, "::wsec::fabric::Ports":$transmit);
  let assemblyFormat = [{
    `<` `color` $color `,` custom<Rect>($rect) `,`
        custom<Port>($receive) `to` custom<Ports>($transmit) `>`
  }];
}

def Wse_RowSetAttr : Wse_Attr<"RowSet", "rows"> {
  let summary = "Names rows of the mesh in equal groups.";
  let description = [{
    In each of `groups` groups of `pitch` rows, the first `used`.

    ```mlir
    #wse.rows<groups = 2, pitch = 3, used = 2>
    ```

    - (C1) All are positive and `used` is at most `pitch`.
  }];
  let parameters = (ins "int64_t":$groups, "int64_t":$pitch, "int64_t":$used);
  let builders = [AttrBuilder<(ins "const fabric::RowSet &":$rows), [{
    return $_get($_ctxt, rows.groups, rows.pitch, rows.used);
  }]>];
  let assemblyFormat = "`<` struct(params) `>`";
  let extraClassDeclaration = [{
    fabric::RowSet getRows() const {
      return {getGroups(), getPitch(), getUsed()};
    }
  }];
}

def Wse_FlowAttr : Wse_Attr<"Flow", "flow"> {
  let summary = "Says when words flow on a host stream for a kernel.";
  let description = [{
    Words of `stream` enter (or leave) the mesh for one launch, in the cycles
    [begin, end) of the run as predicted: the channels of the region have one to
    offer in each of them. Flows that share rows of the edge take precedence by
    `slot`, the lowest first. Of a channel at most `ahead` words wait on their
    way while the launches before still run.

    ```mlir
    #wse.flow<@channel slot 3 cycles 1200 to 4500 ahead 8>
    ```

    - (C1) Nothing is negative, and it does not end before it begins.
  }];
  let parameters = (ins
    "::mlir::FlatSymbolRefAttr":$stream, "int64_t":$slot, "int64_t":$begin,
    "int64_t":$end, "int64_t":$ahead);
  let assemblyFormat = [{
    `<` $stream `slot` $slot `cycles` $begin `to` $end `ahead` $ahead `>`
  }];
}

def Wse_WeightAttr : Wse_Attr<"Weight", "weight"> {
  let summary = "Names a parameter as a kernel reads it.";
  let description = [{
    What kernels read of the store: `tensor` is a parameter of the program, or an
    input or intermediate, and `type` what the kernel sees of it, in the element
    type that is stored; words are converted to f32 on the wire. A view says where
    element (i0, i1, ...) is: at stored element
    `view_offset + i0 * strides[0] + i1 * strides[1] + ...`; without one they are
    the first of the tensor, in row-major order. Transposes, slices and splits of
    weights are views, and move nothing.

    ```mlir
    #wse.weight<@fc1.weight : tensor<768x3072xf32> view 0 strides [1, 768]>
    #wse.weight<@fc1.bias : tensor<2xf32>>
    #wse.weight<@keys : tensor<64x8xf32> view 512 strides [1, 64]>
    ```

    - (C1) The shape is static; a view has one stride per dimension.
    - (C2) Every element lies inside the tensor, which holds elements of that
      type: the kernel that reads it is held against the declaration.
  }];
  let parameters = (ins
    "::mlir::FlatSymbolRefAttr":$tensor, "::mlir::RankedTensorType":$type,
    DefaultValuedParameter<"int64_t", "0">:$view_offset,
    OptionalArrayRefParameter<"int64_t">:$strides);
  let assemblyFormat = [{
    `<` $tensor `:` $type
    (`view` custom<Count>($view_offset) `strides` ` ` `[` $strides^ `]`)? `>`
  }];
  let extraClassDeclaration = [{
    /// Without a view where it is that of a dense tensor.
    static WeightAttr of(::mlir::FlatSymbolRefAttr tensor,
                         ::mlir::RankedTensorType type, int64_t offset,
                         ::llvm::ArrayRef<int64_t> strides);
    /// The tensor's name.
    ::mlir::StringAttr getName() const { return getTensor().getAttr(); }
    /// Strides of the view, or those of the dense row-major tensor.
    ::llvm::SmallVector<int64_t> viewStrides() const;
    /// Bytes that a program streams for it once: elements of the view.
    int64_t streamedBytes() const;
    /// The part with indices [start, start + size) in dimension `dim`.
    WeightAttr slice(int64_t dim, int64_t start, int64_t size) const;
    /// The tensors of all entries, of which this one is the first, along one more
    /// dimension in front.
    WeightAttr entries(EntryAttr entry) const;
  }];
}

def Wse_EntryAttr : Wse_Attr<"Entry", "entry"> {
  let summary = "Says which of several matrices of a tensor streams.";
  let description = [{
    The one of number `ids[at]`, of `count` that begin `step` stored elements after
    one another; of token t that of number `ids[at + t]`. `ids`, an input or intermediate of integers, is read where the
    tensor is, when its words begin to flow.

    ```mlir
    #wse.entry<@chosen at 1 of 8 step 98304>
    ```

    - (C1) There is one at least, and a number outside makes the run fail.
  }];
  let parameters = (ins "::mlir::FlatSymbolRefAttr":$ids, "int64_t":$at,
                        "int64_t":$count, "int64_t":$step);
  let assemblyFormat = "`<` $ids `at` $at `of` $count `step` $step `>`";
  let genVerifyDecl = 1;
}

def Wse_SparsityAttr : Wse_Attr<"Sparsity", "sparsity"> {
  let summary = "Says how many weights of a product are kept.";
  let description = [{
    For each input feature the result features are cut into groups of `group`
    consecutive ones, the last perhaps shorter. Of the weights of a whole group
    `kept` are kept, of the last `rest`; all others count as zero. `random` keeps
    those with the highest score, a function of their number in the stored
    tensor, its name and `seed`; `topk` those of the largest absolute value. So
    every column of PEs gets equally many words whatever it holds, and no weight
    is needed to know how many.

    ```mlir
    #wse.sparsity<keep 32 of 128 rest 0 random seed 1>
    ```

    - (C1) At most as many are kept as there are, and of some group at least one.
  }];
  let parameters = (ins "int64_t":$kept, "int64_t":$group, "int64_t":$rest,
    EnumParameter<Wse_SparsityMethod>:$method, "int64_t":$seed);
  let assemblyFormat = [{
    `<` `keep` $kept `of` $group `rest` $rest $method `seed` $seed `>`
  }];
  let extraClassDeclaration = [{
    /// Of a matrix of `outputs` columns: groups that are whole, features of the
    /// last one if it is not, and weights kept of a row.
    int64_t wholeGroups(int64_t outputs) const { return outputs / getGroup(); }
    int64_t lastGroup(int64_t outputs) const { return outputs % getGroup(); }
    int64_t keptOfRow(int64_t outputs) const {
      return wholeGroups(outputs) * getKept() + getRest();
    }
    /// What the scores of the tensor of this name begin with.
    int64_t seedOf(::llvm::StringRef tensor) const;
  }];
}

def Wse_SelectionAttr : Wse_Attr<"Selection", "selection"> {
  let summary = "Says for how much room kernels were selected.";
  let description = [{
    What select was told after earlier attempts did not fit: bytes of code in a
    PE (0: not known), whether variants are those with few colors, and with
    little scratch; whether weights stay on the wafer; and bytes of scratch
    that single kernels take at most, by operation, nodes, and the how many-th
    of these each is. With it, a placement is read back to the same program.

    ```mlir
    #wse.selection<code 8076 few_colors false little_scratch false weights_stay true scratch {"attention attn 0" = 4096 : i64}>
    ```

    - (C1) Code has no negative size.
    - (C2) Scratch is of `i64` that are not negative.
  }];
  let parameters = (ins "int64_t":$code, "bool":$fewColors,
    "bool":$littleScratch, "bool":$weightsStay,
    OptionalParameter<"::mlir::DictionaryAttr">:$scratch);
  let assemblyFormat = [{
    `<` `code` $code `few_colors` $fewColors `little_scratch` $littleScratch
    `weights_stay` $weightsStay (`scratch` $scratch^)? `>`
  }];
  let genVerifyDecl = 1;
}

#endif // WSEC_DIALECTS_WSE_WSEATTRS_TD
