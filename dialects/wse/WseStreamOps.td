// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What kernels are made of: the common shape of kernel operations, and the
// streams that carry their words.

#ifndef WSEC_DIALECTS_WSE_WSESTREAMOPS_TD
#define WSEC_DIALECTS_WSE_WSESTREAMOPS_TD

include "dialects/fabric/Fabric.td"
include "dialects/wse/WseAttrs.td"
include "dialects/wse/WseInterfaces.td"
include "mlir/IR/BuiltinTypes.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/SymbolInterfaces.td"

class Wse_Op<string mnemonic, list<Trait> traits = []>
    : Op<Wse_Dialect, mnemonic, traits>;

def Wse_Tiled : Type<
    CPred<"::wsec::wse::DistAttr::of($_self) != nullptr">,
    "tensor on the wafer (with a #wse.dist encoding)",
    "::mlir::RankedTensorType">;

def Wse_SourceAttr : Attr<
    CPred<"::llvm::isa<::mlir::FlatSymbolRefAttr, ::wsec::wse::WeightAttr>($_self)">,
    "declared input or constant"> {
  let storageType = "::mlir::Attribute";
  let returnType = "::mlir::Attribute";
  let convertFromStorage = "$_self";
}

// An operation that a region runs. The last seven attributes are facts that later
// states add: streams (routed), slot, addresses, window and flows (scheduled).
class Wse_KernelOp<string mnemonic, dag specific, list<Trait> traits = []>
    : Wse_Op<mnemonic, !listconcat(traits,
        [ParentOneOf<["ProgramOp", "EntryOp"]>,
         DeclareOpInterfaceMethods<Wse_KernelOpInterface>,
         DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>])> {
  let arguments = !con(specific, (ins
    OptionalAttr<StrArrayAttr>:$nodes,
    FlatSymbolRefAttr:$region,
    OptionalAttr<TypedArrayAttrBase<FlatSymbolRefAttr, "streams">>:$streams,
    OptionalAttr<I64Attr>:$slot,
    OptionalAttr<I64Attr>:$address,
    OptionalAttr<I64Attr>:$scratch_address,
    OptionalAttr<I64Attr>:$scratch_bytes,
    OptionalAttr<DenseI64ArrayAttr>:$window,
    OptionalAttr<TypedArrayAttrBase<Wse_FlowAttr, "flows">>:$flows));
  let extraClassDefinition = [{
    void $cppClass::getAsmResultNames(::mlir::OpAsmSetValueNameFn setName) {
      nameResult(getOperation(), getNodesAttr(), setName);
    }
  }];
}

def Wse_StreamOp : Wse_Op<"stream", [Symbol, HasParent<"ProgramOp">]> {
  let summary = "Gives a pattern of routes its colors.";
  let description = [{
    All routes are static for the whole program, and kernels whose patterns are
    equal share one stream. Where words go (x grows east, y south; rows and
    columns of `rows` and of patterns are those of the region `on`, which may be
    left out where all kernels are on one):

    ```
    channel      in at the west edge of the mesh, east along the channel's row to the injectors of the columns it serves
    channel_row  in likewise, and into every PE of the row
    launch       from PE (0,0) of the mesh to the PEs of all regions: east along its first row and south down every column, or south along its first
                 column and east along every row, or past keep-outs
    column       from the channel's row up and down each column, into the PEs of `rows`
    column_rest  the same, but not into the PE that sends
    row_west     from x to its neighbour x - 1; the color is that of the sender's x mod 2
    row_east     from x to its neighbour x + 1; likewise
    row_cast     from x = 0 along the row into every PE of it, the sender too
    root_west    from the root of each group of columns past the others to the next root; the color is that of the sender's group mod 2
    head_cast    from the root of each group of columns east into every PE of it
    key_north    from y to its neighbour y - 1; the color is that of the sender's y mod 2
    value_north  the same on colors of its own
    root_north   from the head of each group of `rows` past the others to the next head; likewise by groups
    sum_south    from y to its neighbour y + 1; likewise
    key_cast     from the head of each group of `rows` south into every PE of it
    value_cast   the same on a color of its own
    out_north    in the last column from y to its neighbour y - 1; two colors by y mod 2
    out_exit     from the last column of a channel's row east, out over the east edge of the mesh
    out_column   in each column from a row of `rows` to the next one south, and from the last of them to the row of its exit; two colors by the number of the sender's row among `rows`, mod 2.
                 Channels of the east edge in the last of these rows or south of it, from the north, are exits of columns: they share these as the west channels do
    out_band     from the last of the columns of each exit, in its row, east over the edge of the mesh
    out_half     likewise from the last of the west half of these columns, the smaller one, on a color of its own
    transfer     from the last column (to the west: the first) of each row into every PE of row y of the region `to`, wherever that lies; rows take its colors in turn, that of row y mod their number
                 into a region with more or fewer rows: into those that hold some of the row's tokens; `rows` says of how many tokens (`pitch` and `used`) in how many batch elements (`groups`), and rows that meet in one have different colors
    ```

    ```mlir
    stream @column column rows <groups = 1, pitch = 5, used = 5> colors [2] rules [
      #wse.rule<color 2, <x = 0 to 4, y = 0 to 1>, ramp to south|ramp>,
      #wse.rule<color 2, <x = 0 to 4, y = 1 to 4>, north to south|ramp>,
      #wse.rule<color 2, <x = 0 to 4, y = 4 to 5>, north to ramp>]
    ```

    - (C1) Two colors for patterns between neighbours, at least one for
      `transfer`, one for all others.
    - (C2) `rows` is present for `column`, `column_rest`, `key_cast`, `value_cast`, `root_north`, `out_column`,
      `out_band` and `out_half`, and for `root_west` and `head_cast`, where it counts columns; for no other
      but `transfer`.
    - (C3) Every rule is for one of the colors.
    - (C4) `on` and `to` are regions; `to` is present for `transfer`, for no
      other pattern, and `on` is absent for `launch`, which is of all regions.
    - (C5) A `transfer` says which tokens it moves if the regions have different
      numbers of rows, and only then.
  }];
  let arguments = (ins
    SymbolNameAttr:$sym_name, Fabric_StreamPattern:$pattern,
    OptionalAttr<FlatSymbolRefAttr>:$region, OptionalAttr<FlatSymbolRefAttr>:$target,
    OptionalAttr<Wse_RowSetAttr>:$rows, DenseI64ArrayAttr:$colors,
    TypedArrayAttrBase<Wse_RuleAttr, "rules">:$rules);
  let assemblyFormat = [{
    $sym_name custom<Pattern>($pattern) (`on` $region^)? (`to` $target^)? (`rows` $rows^)?
    `colors` $colors `rules` $rules attr-dict
  }];
  let hasVerifier = 1;
}

#endif // WSEC_DIALECTS_WSE_WSESTREAMOPS_TD
