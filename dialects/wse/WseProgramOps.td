// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The program and what its kernels refer to by name: regions, entries, the ends
// of the model, parameters and states.

#ifndef WSEC_DIALECTS_WSE_WSEPROGRAMOPS_TD
#define WSEC_DIALECTS_WSE_WSEPROGRAMOPS_TD

include "dialects/wse/WseAttrs.td"
include "dialects/wse/WseInterfaces.td"
include "dialects/wse/WseStreamOps.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/SymbolInterfaces.td"

//===----------------------------------------------------------------------===//
// The program
//===----------------------------------------------------------------------===//

def Wse_ProgramOp : Wse_Op<"program",
    [IsolatedFromAbove, Symbol, SymbolTable, NoTerminator, SingleBlock,
     DeclareOpInterfaceMethods<OpAsmOpInterface, ["getDefaultDialect"]>]> {
  let summary = "Holds a model on the wafer.";
  let description = [{
    The kernels in `body` are its entry `main`; those of further entries stand in
    `entry` operations. A call of an entry runs its kernels in order of their
    slots (in order of the text until they are scheduled), each on the PEs of its
    region, one launch per kernel. What a call leaves on the wafer are states and
    resident parameters. Operations inside drop the prefix `wse.`.

    `machine` is a preset's name or the JSON text of a machine; `mesh` is the
    sub-rectangle in use, columns x rows: its edges have the I/O channels. A
    scheduled program knows the SRAM of its fullest PE and the kernel to blame
    for it. With `address_arguments` kernels that do the same on other buffers share
    their code: launches carry the addresses. Without, that is so of states alone.
    With `number_arguments` so do kernels that do the same other numbers of times.

    ```mlir
    wse.program @main state(selected) mesh(4x5) machine("wse2") {
      region @r shape(4x5)
      input @x : tensor<6x6xf32>
      %x = load @x on @r {nodes = ["x"]} : tensor<1x6x6xf32, #wse.dist<rows = [0, 1], columns = [2]>>
      store %x to "y" on @r : tensor<1x6x6xf32, #wse.dist<rows = [0, 1], columns = [2]>> to tensor<6x6xf32>
    }
    ```

    - (C1) The mesh fits the machine.
    - (C2) Encodings of all values fit the region of their kernel, as #wse.dist
      says; kernels that compute floats have no integers.
    - (C3) Nothing but `wse` operations stands in the body, and these have no
      attributes that mean nothing: only those of other dialects, as `a.b`.
    - (C4) Every kernel is on a declared region.
    - (C5) Regions of kernels that are placed have no PE in common: code, SRAM
      and routes of a region are its own. They have no PE of a `keep_out`.
    - (C6) A kernel's operands are results on its region; `transfer` brings those
      of another.
    - (C7) Every resident parameter is filled by one kernel.
    - (C8) What is declared as a gradient, once, is an output, of that type.
    - (C9) Resident parameters stand before those of few bits, these before all
      others, and parameters before entries and kernels.
    - (C10) Tokens that rows take in turn are those of states and of what is
      recalled of them, which only `update` and `store` read.
  }];
  let arguments = (ins
    SymbolNameAttr:$sym_name,
    Wse_State:$state,
    DenseI64ArrayAttr:$mesh,
    StrAttr:$machine,
    OptionalAttr<Wse_SelectionAttr>:$selection,
    OptionalAttr<I64Attr>:$sram_peak,
    OptionalAttr<StrAttr>:$sram_owner,
    UnitAttr:$address_arguments,
    UnitAttr:$number_arguments);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $sym_name `state` `(` $state `)` `mesh` `(` custom<MeshExtents>($mesh) `)`
    `machine` `(` $machine `)` attr-dict-with-keyword $body
  }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    int64_t meshWidth() { return getMesh()[0]; }
    int64_t meshHeight() { return getMesh()[1]; }
    /// The machine with this program's mesh; the verifier made sure it exists.
    ::wsec::Machine targetMachine();
    ::mlir::Block &bodyBlock() { return getBody().front(); }
    /// The blocks that hold the kernels of an entry: those of `entry` operations
    /// in the order of the text, then the body.
    ::llvm::SmallVector<::mlir::Block *, 2> entryBlocks();
    /// The kernels of all entries, in that order.
    ::llvm::SmallVector<KernelOp> kernels();
    /// The resident parameters. Asked often, also in programs with thousands of
    /// kernels: they stand first, and nothing behind them is looked at.
    ::llvm::SmallVector<ParameterOp, 4> residents();
    /// The parameter of this name, or null. Those stand before all kernels.
    ParameterOp parameter(::mlir::StringAttr name);
    /// The resident parameters and the states, in the order of the text.
    ::llvm::SmallVector<PersistentOp> persistents();
    /// The rectangles that nothing may use, in the order of the text.
    ::llvm::SmallVector<KeepOutOp, 4> keepOuts();
    /// The regions that have kernels, in the order of the text.
    ::llvm::SmallVector<RegionOp, 4> kernelRegions();
    /// What kernels know of the machine: their regions, or without kernels the
    /// mesh.
    ::llvm::SmallVector<::wsec::Machine, 1> kernelMachines();
  }];
}

def Wse_RegionOp : Wse_Op<"region", [Symbol, HasParent<"ProgramOp">]> {
  let summary = "Declares a rectangle of PEs that kernels run on.";
  let description = [{
    `select` decides the shape, columns x rows, `place` where on the mesh its
    north-west corner lies. Distributions, streams and the code of its kernels
    count columns and rows from there. A position that is already there when a
    program is placed is kept. PEs outside of all regions have no code; streams
    of the host pass through their routers.

    ```mlir
    region @r shape(4x3) at (0, 2)
    ```

    Regions side by side have the same rows, and so the same I/O channels. Those
    that take turns with samples share out those of the west edge: a region has
    a number of neighbouring ones to itself, counted from the first whose row it
    has. So no PE passes words of two regions on, and their streams need one
    color, however many regions there are. Regions that share out the same ones
    are of one group, lie in the same rows, and have no row in common with those
    of another.

    ```mlir
    region @a shape(2x4) channels(1 from 0 group 0)
    region @b shape(2x4) channels(3 from 1 group 0)
    region @c shape(3x4) channels(4 from 0 group 1)
    ```

    Several regions have a role: parts of the model that share nothing, the
    stages of a pipeline, or, one after the other for one sample, as many kernels
    each as have room for their code. A stage begins with a kernel of the list
    that select cuts: that of the whole program, without those that bring or
    prepare words of the host. `spread_heads` says that each head has as many
    columns as there are for it.

    ```mlir
    region @c shape(2x4) as stage from 7 spread_heads
    ```

    - (C1) The shape is positive and fits the mesh; so does the region at its
      position.
    - (C2) Channels of its own are of those whose rows it has, and no other
      region of its group has one of them.
    - (C3) What has a role of a list begins with one of its kernels.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, DenseI64ArrayAttr:$shape,
                       OptionalAttr<I64Attr>:$x, OptionalAttr<I64Attr>:$y,
                       OptionalAttr<I64Attr>:$share_count,
                       OptionalAttr<I64Attr>:$share_begin,
                       OptionalAttr<I64Attr>:$group,
                       OptionalAttr<Wse_RegionRole>:$role,
                       OptionalAttr<I64Attr>:$first_kernel,
                       UnitAttr:$spread_heads);
  let assemblyFormat = [{
    $sym_name `shape` `(` custom<MeshExtents>($shape) `)`
    (`at` ` ` `(` $x^ `,` $y `)`)?
    (`channels` `(` $share_count^ `from` $share_begin `group` $group `)`)?
    (`as` $role^)? (`from` $first_kernel^)? (`spread_heads` $spread_heads^)?
    attr-dict
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// A stage of some kind: it has its kernels from one of the list on.
    bool isCut() {
      return getRole() == RegionRole::Stage || getRole() == RegionRole::Code;
    }
    int64_t columns() { return getShape()[0]; }
    int64_t rows() { return getShape()[1]; }
    bool isPlaced() { return getX().has_value(); }
    /// Whether both have one of the channels of their group to themselves.
    bool sharesChannelsWith(RegionOp other);
    /// What the machine is to its kernels; until it is placed, as at (0, 0).
    ::wsec::Machine machine();
  }];
}

def Wse_KeepOutOp : Wse_Op<"keep_out", [HasParent<"ProgramOp">]> {
  let summary = "Declares a rectangle of PEs that nothing may use.";
  let description = [{
    Its PEs are broken, or somebody else's: no region has them, no code runs on
    them, and no route passes through their routers. `select` writes down those
    of the machine and those that a user asks for.

    ```mlir
    keep_out shape(1x2) at (3, 0)
    ```

    - (C1) It has PEs, and lies inside the mesh.
  }];
  let arguments = (ins DenseI64ArrayAttr:$shape, I64Attr:$x, I64Attr:$y);
  let assemblyFormat = [{
    `shape` `(` custom<MeshExtents>($shape) `)` `at` ` ` `(` $x `,` $y `)`
    attr-dict
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    int64_t columns() { return getShape()[0]; }
    int64_t rows() { return getShape()[1]; }
  }];
}

def Wse_NearOp : Wse_Op<"near", [HasParent<"ProgramOp">]> {
  let summary = "Wishes that a region lies close to something.";
  let description = [{
    To another region, a PE, or a side of the mesh. `place` makes the distances
    short, those of more weight first; one of weight 1 counts like the transfer
    between regions that moves most words. It is a wish: rules go first.

    ```mlir
    region @a shape(2x2)
    region @b shape(2x2)
    near @a to @b weight 3
    near @a to (2, 0)
    near @b to east
    ```

    - (C1) It is a region that is to lie near another one, a PE of the mesh or a
      side of it.
    - (C2) The weight is positive, and at most 1000.
  }];
  let arguments = (ins FlatSymbolRefAttr:$region, AnyAttr:$target,
                       DefaultValuedAttr<I64Attr, "1">:$weight);
  let assemblyFormat = [{
    $region `to` custom<NearTarget>($target) (`weight` $weight^)? attr-dict
  }];
  let hasVerifier = 1;
}

def Wse_EntryOp : Wse_Op<"entry",
    [Symbol, HasParent<"ProgramOp">, IsolatedFromAbove, NoTerminator,
     SingleBlock,
     DeclareOpInterfaceMethods<OpAsmOpInterface,
       ["getDefaultDialect", "getAsmBlockArgumentNames"]>]> {
  let summary = "Holds the kernels of a further entry of the program.";
  let description = [{
    What the host calls by this name: `wse-run --entry=load`. Values are those of
    one call; states and resident parameters go from call to call. Kernels that
    stand in the program itself are its entry `main`. Arguments are integers of
    the call in the range behind their names, which its launches carry:
    `wse-run --entry=step --argument position=3`.

    ```mlir
    parameter @w.resident = <@w : tensor<6x8xf32>> resident on @r as tensor<1x6x8xf32, #wse.dist<rows = [0, 1], columns = [2]>>
    parameter @w = dense<1.0> : tensor<6x8xf32>
    entry @load {
      fill @w.resident on @r {nodes = ["fc"]}
    }
    ```

    - (C1) It has kernels, and nothing else.
    - (C2) It is not called `main` where kernels stand in the program.
    - (C3) Arguments have names of their own, and a range of 32-bit numbers.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, StrArrayAttr:$names,
                       DenseI64ArrayAttr:$from, DenseI64ArrayAttr:$to);
  let regions = (region SizedRegion<1>:$body);
  let builders = [
    OpBuilder<(ins "::llvm::StringRef":$name), [{
      build($_builder, $_state, name, $_builder.getArrayAttr({}),
            ::llvm::ArrayRef<int64_t>(), ::llvm::ArrayRef<int64_t>());
    }]>
  ];
  let assemblyFormat = [{
    $sym_name `` custom<EntryBody>($names, $from, $to, $body) attr-dict
  }];
  let extraClassDeclaration = [{
    /// The least and the greatest value of an argument.
    std::pair<int64_t, int64_t> rangeOf(::mlir::BlockArgument argument) {
      return {getFrom()[argument.getArgNumber()],
              getTo()[argument.getArgNumber()]};
    }
  }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

//===----------------------------------------------------------------------===//
// What outlives a kernel
//===----------------------------------------------------------------------===//

def Wse_ParameterOp : Wse_Op<"parameter",
    [Symbol, HasParent<"ProgramOp">,
     DeclareOpInterfaceMethods<Wse_PersistentOpInterface>]> {
  let summary = "Declares a tensor that the store holds from the start.";
  let description = [{
    A weight, or another constant: its elements lie in a file, used in place and
    never copied, or in the program. Kernels refer to it by name, as
    `#wse.weight<@w ...>`, with a view; it is one tensor of the store under that
    name, however many kernels read it, and whatever others hold the same
    elements. They stream past the PEs that use them. A
    resident parameter is a view of such a one that stays in the SRAM of a region,
    in the distribution of its type, which lists its elements in order;
    an entry fills it once, and kernels of any later call read it there. A
    scheduled program knows its `address`, the same in every PE and entry.

    Of one that is `trainable` the value is where training starts: the store may
    hold another in each call.

    ```mlir
    parameter @held = <@w : tensor<1x8x6xf32> view 0 strides [48, 1, 8]> resident on @r as tensor<1x8x6xf32, #wse.dist<rows = [0, 1], columns = [2]>>
    parameter @w = external<"m.data", 240, 192> : tensor<6x8xf32>
    fill @held on @r {nodes = ["fc"]}
    ```

    ```mlir
    parameter @fc.bias = dense<0.0> : tensor<8xf32> trainable
    ```

    - (C1) A value is dense elements, `#onnx.quantized` or bytes of a file, as many
      as its type has; a resident parameter's is a view of a streamed one that
      does not train.
    - (C2) A resident parameter has as many elements as its value, of f32, and
      its distribution fits its region.
    - (C3) A trainable one streams, of floats that are not quantised.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, AnyAttr:$value,
                       TypeAttrOf<AnyStaticShapeTensor>:$stored,
                       UnitAttr:$trainable,
                       OptionalAttr<FlatSymbolRefAttr>:$region,
                       OptionalAttr<TypeAttrOf<Wse_Tiled>>:$type,
                       OptionalAttr<I64Attr>:$address);
  let assemblyFormat = [{
    $sym_name `=` custom<ParameterValue>($value, $stored)
    (`trainable` $trainable^)? (`resident` `on` $region^ `as` $type)? attr-dict
  }];
  let extraClassDeclaration = [{
    bool isResident() { return getRegionAttr() != nullptr; }
    /// Of its elements, as they are stored.
    ::mlir::RankedTensorType getTensorType() {
      return ::llvm::cast<::mlir::RankedTensorType>(getStored());
    }
    /// Values of few bits; null where it has none.
    ::wsec::onnx::QuantizedAttr getQuantized() {
      return ::llvm::dyn_cast<::wsec::onnx::QuantizedAttr>(getValue());
    }
    /// Of a resident one, what it is a view of.
    WeightAttr getView() { return ::llvm::cast<WeightAttr>(getValue()); }
  }];
  let hasVerifier = 1;
}

def Wse_StateOp : Wse_Op<"state",
    [Symbol, HasParent<"ProgramOp">,
     DeclareOpInterfaceMethods<Wse_PersistentOpInterface>]> {
  let summary = "Declares a tensor that stays on the wafer from call to call.";
  let description = [{
    Its type is its capacity, and says which PE of the region owns which element.
    `update` writes it, `recall` reads it, in any entry; before the first `update`
    there is nothing to read, and a run that does ends, unless a `recall` at
    position 0 takes zeros. A scheduled program knows
    its `address`, the same in every PE and entry.

    ```mlir
    state @k on @r : tensor<1x6x6xf32, #wse.dist<rows = [0, 1], columns = [2]>>
    ```

    One that grows token by token, as the keys and values of a decoder do, has
    rows that take its tokens in turn (`TokenTiling::ofState`):

    ```mlir
    state @k on @r : tensor<1x6x6xf32, #wse.dist<rows = [0, 1 cyclic], columns = [2 by 3 over 2]>>
    ```

    - (C1) Its distribution fits its region.
    - (C2) Elements of i16 are pairs of numbers of 8 bits: rows take tokens in
      turn, and `wse.scales` names a state on this region of floats in the same
      rows, one for each head in each column (`entries.md`), which no second
      state names. No other state has scales.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, FlatSymbolRefAttr:$region,
                       TypeAttrOf<Wse_Tiled>:$type,
                       OptionalAttr<I64Attr>:$address);
  let assemblyFormat = "$sym_name `on` $region `:` $type attr-dict";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Ends of the model
//===----------------------------------------------------------------------===//

def Wse_InputOp : Wse_Op<"input", [Symbol, HasParent<"ProgramOp">]> {
  let summary = "Declares a tensor that the host passes in.";
  let description = [{
    Kernels refer to it by name; it is never a value, because only they say
    where its elements go.

    ```mlir
    input @input_ids : tensor<1x128xi64>
    ```

    - (C1) The shape is static.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttrOf<AnyRankedTensor>:$type);
  let assemblyFormat = "$sym_name `:` $type attr-dict";
  let hasVerifier = 1;
}

def Wse_IntermediateOp : Wse_Op<"intermediate", [Symbol, HasParent<"ProgramOp">]> {
  let summary = "Declares a tensor that passes through the store.";
  let description = [{
    Kernels `store` it, in one piece or several, and later ones read it as they
    read an input or a weight, in any order that strides describe: this is how
    elements change their places on the wafer where no kernel moves them.

    ```mlir
    intermediate @scores : tensor<2x6x6xf32>
    ```

    Of one whose numbers are those that tokens `choose` of experts a run says how many
    chose each.

    ```mlir
    intermediate @chosen : tensor<6x2xi32> choose of 8
    ```

    - (C1) The shape is static, the elements are f32 or i32.
    - (C2) Choices are i32, of one expert at least.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttrOf<AnyRankedTensor>:$type,
                       OptionalAttr<I64Attr>:$experts);
  let assemblyFormat = "$sym_name `:` $type (`choose` `of` $experts^)? attr-dict";
  let hasVerifier = 1;
}

def Wse_GradientOp : Wse_Op<"gradient", [HasParent<"ProgramOp">]> {
  let summary = "Declares an output whose elements are added to a gradient.";
  let description = [{
    Kernels `store` it as any output, and the store adds it to what it collects
    for the parameter: element i of it to element
    `offset + sum(i[d] * strides[d])`, in row-major order of the parameter without
    a view. With `rows` it has rows as the parameter has them, and row i of it is
    added to row `rows[i]`, one after the other; negative numbers count from the
    end. Several of one parameter are added in the order of the text.

    ```mlir
    parameter @w = dense<0.0> : tensor<6x3xf32> trainable
    gradient "w.gradient" of @w view 0 strides [1, 3] : tensor<3x6xf32>
    store %dw to "w.gradient" on @r : tensor<1x3x6xf32, #wse.dist<rows = [0, 1], columns = [2]>> to tensor<3x6xf32>
    gradient "w.rows" of @w rows @ids : tensor<6x3xf32>
    store %dx to "w.rows" on @r : tensor<1x6x3xf32, #wse.dist<rows = [0, 1], columns = [2]>> to tensor<6x3xf32>
    ```

    - (C1) The parameter is a trainable one of the program, the output of f32.
    - (C2) Without a view and rows the output has as many elements; a view has a
      stride for each dimension and stays inside of the parameter.
    - (C3) Rows are an integer for each of the output, whose elements are rows of
      a matrix; there is no view then.
  }];
  let arguments = (ins StrAttr:$output, FlatSymbolRefAttr:$parameter,
                       DefaultValuedAttr<I64Attr, "0">:$offset,
                       OptionalAttr<DenseI64ArrayAttr>:$strides,
                       OptionalAttr<Wse_SourceAttr>:$rows,
                       TypeAttrOf<AnyRankedTensor>:$type);
  let assemblyFormat = [{
    $output `of` $parameter (`view` $offset `strides` $strides^)?
    (`rows` custom<Source>($rows)^)? `:` $type attr-dict
  }];
  let hasVerifier = 1;
}

def Wse_AliasOp : Wse_Op<"alias", [HasParent<"ProgramOp">]> {
  let summary = "Declares an output that equals another tensor of the host.";
  let description = [{
    Nothing moves on the wafer; the host hands out the tensor itself.

    ```mlir
    parameter @c = dense<1.0> : tensor<2xf32>
    alias "y" = @x : tensor<2x3xf32>
    alias "c" = <@c : tensor<2xf32>> : tensor<2xf32>
    ```

    - (C1) The source is a declared input or intermediate, or a constant.
    - (C2) It has as many elements as the output, of the same type.
  }];
  let arguments = (ins StrAttr:$output, Wse_SourceAttr:$source,
                       TypeAttrOf<AnyRankedTensor>:$type);
  let assemblyFormat = "$output `=` custom<Source>($source) `:` $type attr-dict";
  let hasVerifier = 1;
}

#endif // WSEC_DIALECTS_WSE_WSEPROGRAMOPS_TD
