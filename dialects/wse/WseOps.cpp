// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Verifiers. Labels (C1, C2, ...) are those of the descriptions in WseOps.td;
// C0 is the rule every encoding follows (C4 of #wse.tiled).

#include "dialects/StridedRange.h"
#include "dialects/wse/Wse.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace wsec;
using namespace wsec::wse;

static RankedTensorType tensorOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}
static TiledAttr tilingOf(Value value) {
  return TiledAttr::of(value.getType());
}

static bool isWaferElement(Type type) {
  return type.isF32() || type.isInteger(32);
}

static Type elementType(Value value) {
  return cast<RankedTensorType>(value.getType()).getElementType();
}

// Integers of the wafer are integers of the host.
static LogicalResult verifyWire(Operation *op, Value value,
                                RankedTensorType host) {
  if (elementType(value).isF32() || (host.getElementType().isInteger() &&
                                     !host.getElementType().isInteger(1)))
    return success();
  return op->emitOpError("moves i32 to or from ") << host;
}

static bool isReplicatedColumns(TiledAttr tiling) {
  return tiling.getColumns() == ColumnPlacement::Replicated;
}

/// Adds where the other half of an error lies; null: nowhere.
static LogicalResult withNote(InFlightDiagnostic error, Operation *other,
                              const Twine &note) {
  if (other)
    error.attachNote(other->getLoc()) << note;
  return error;
}

/// The same for a source, or a tensor of the program by its name.
static LogicalResult withDeclaration(InFlightDiagnostic error, Operation *op,
                                     Attribute source) {
  auto name = dyn_cast<FlatSymbolRefAttr>(source);
  return withNote(std::move(error),
                  name ? SymbolTable::lookupNearestSymbolFrom(op, name)
                       : nullptr,
                  "the tensor is declared here");
}

//===----------------------------------------------------------------------===//
// Checks that several kernels share
//===----------------------------------------------------------------------===//

// (C4 of #wse.tiled) The encoding describes this tensor.
static LogicalResult verifyEncoding(Operation *op, RankedTensorType type,
                                    TiledAttr tiling) {
  if (!isWaferElement(type.getElementType()) || type.getRank() < 1 ||
      !type.hasStaticShape())
    return op->emitOpError(
               "tensors on the wafer are static and of f32 or i32, found ")
           << type;
  bool anyType = isa<LoadOp, GatherOp, StoreOp, ElementwiseOp, RedistributeOp,
                     ReduceTokensOp, TransferOp>(op);
  if (!anyType && type.getElementType().isInteger())
    return op->emitOpError("computes in f32, found ") << type;
  int64_t tokens = ShapedType::getNumElements(type.getShape().drop_back());
  if (tokens != tiling.getBatch() * tiling.getTokens())
    return op->emitOpError("tensor has ")
           << tokens << " tokens, its encoding batch " << tiling.getBatch()
           << " x tokens " << tiling.getTokens();
  if (tiling.getHeadSize() && type.getShape().back() % tiling.getHeadSize())
    return op->emitOpError("features (")
           << type.getShape().back() << ") are no multiple of head_size "
           << tiling.getHeadSize();
  return success();
}

static LogicalResult verifyVector(Operation *op, StringRef what,
                                  WeightAttr vector, int64_t features) {
  if (vector.getType().getNumElements() == features)
    return success();
  return op->emitOpError(what) << " " << vector.getName() << " has "
                               << vector.getType().getNumElements()
                               << " elements for " << features << " features";
}

static LogicalResult verifySplitColumns(Operation *op, Value value) {
  if (!isReplicatedColumns(tilingOf(value)))
    return success();
  return op->emitOpError("cannot work on features that are replicated over the "
                         "columns; redistribute them first");
}

static LogicalResult verifySplitRows(Operation *op, Value value) {
  if (tilingOf(value).getRows() == RowPlacement::Split)
    return success();
  return op->emitOpError("needs its tokens split over the rows, found them "
                         "replicated");
}

// The type of an input or intermediate of the program.
static FailureOr<RankedTensorType> tensorType(Operation *op,
                                              FlatSymbolRefAttr name) {
  Operation *tensor = SymbolTable::lookupNearestSymbolFrom(op, name);
  if (auto input = dyn_cast_or_null<InputOp>(tensor))
    return cast<RankedTensorType>(input.getType());
  if (auto passing = dyn_cast_or_null<IntermediateOp>(tensor))
    return cast<RankedTensorType>(passing.getType());
  return op->emitOpError("refers to ")
         << name << ", which is no input or intermediate";
}

// The type of a source: of the constant itself, or of the input declared in
// the program. Reports what is wrong with it.
static FailureOr<RankedTensorType> sourceType(Operation *op, Attribute source) {
  if (auto weight = dyn_cast<WeightAttr>(source))
    return weight.getType();
  return tensorType(op, cast<FlatSymbolRefAttr>(source));
}

//===----------------------------------------------------------------------===//
// wse.program
//===----------------------------------------------------------------------===//

StringRef ProgramOp::getDefaultDialect() { return "wse"; }

Machine ProgramOp::targetMachine() {
  std::string error;
  Machine machine = *machineFromDescription(getMachine(), error);
  machine.width = int(meshWidth());
  machine.height = int(meshHeight());
  return machine;
}

LogicalResult ProgramOp::verify() {
  // (C1)
  std::string error;
  std::optional<Machine> machine = machineFromDescription(getMachine(), error);
  if (!machine)
    return emitOpError() << error;
  if (getMesh().size() != 2)
    return emitOpError("mesh needs columns and rows");
  if (meshWidth() < 1 || meshHeight() < 1 ||
      meshWidth() > machine->fabricWidth ||
      meshHeight() > machine->fabricHeight)
    return emitOpError("mesh ")
           << meshWidth() << "x" << meshHeight() << " does not fit the fabric "
           << "of " << machine->fabricWidth << "x" << machine->fabricHeight;
  return success();
}

/// (C3) of wse.program.
static LogicalResult verifyAttributes(Operation *op) {
  for (NamedAttribute attribute : op->getDiscardableAttrs())
    if (!attribute.getName().getValue().contains('.'))
      return op->emitOpError("has no attribute '")
             << attribute.getName().getValue() << "'";
  return success();
}

/// (C2) The values of a kernel on its region.
static LogicalResult verifyResults(Operation *op, RegionOp region) {
  const int64_t columns = region.columns(), rows = region.rows();
  const char *const note = "the region is here";
  for (Value result : op->getResults()) {
    TiledAttr tiling = tilingOf(result);
    if (failed(verifyEncoding(op, tensorOf(result), tiling)))
      return failure();
    int64_t batch = tiling.getBatch();
    int64_t group = batch <= rows ? rows / batch : 0;
    if (tiling.getGroup() != group)
      return withNote(op->emitOpError("encoding has groups of ")
                          << tiling.getGroup() << " rows; batch " << batch
                          << " on " << rows << " rows makes groups of "
                          << group,
                      region, note);
    int64_t headColumns = tiling.getHeadColumns();
    if (headColumns > 1 &&
        featuresOf(result) / tiling.getHeadSize() > columns / headColumns)
      return withNote(op->emitOpError("encoding has ")
                          << featuresOf(result) / tiling.getHeadSize()
                          << " heads of " << headColumns
                          << " columns each, the region has " << columns,
                      region, note);
  }
  return success();
}

namespace {
/// The inputs and intermediates of a program, by name.
using Tensors = llvm::DenseMap<StringAttr, RankedTensorType>;
} // namespace

static Tensors tensorsOf(ProgramOp program) {
  Tensors tensors;
  for (auto input : program.getOps<InputOp>())
    tensors[input.getSymNameAttr()] = cast<RankedTensorType>(input.getType());
  for (auto passing : program.getOps<IntermediateOp>())
    tensors[passing.getSymNameAttr()] =
        cast<RankedTensorType>(passing.getType());
  return tensors;
}

/// (C3) of #wse.weight: a view of a tensor of the program stays inside of it.
static LogicalResult verifyView(Operation *op, WeightAttr weight,
                                const Tensors &tensors) {
  RankedTensorType type = tensors.lookup(weight.getTensor().getAttr());
  if (!type)
    return op->emitOpError("refers to ")
           << weight.getTensor() << ", which is no input or intermediate";
  // That it can be counted was verified with the attribute.
  auto [first, last] =
      *touchedElements(weight.getType().getShape(), weight.getViewOffset(),
                       weight.viewStrides());
  if (weight.getType().getElementType() != type.getElementType())
    return withDeclaration(op->emitOpError("reads ")
                               << weight.getTensor() << " as "
                               << weight.getType().getElementType()
                               << ", which holds " << type.getElementType(),
                           op, weight.getTensor());
  if (first >= 0 && last < type.getNumElements())
    return success();
  return withDeclaration(op->emitOpError("reads elements ")
                             << first << " to " << last << " of the "
                             << type.getNumElements() << " of "
                             << weight.getTensor(),
                         op, weight.getTensor());
}

/// What the kernel reads and writes of tensors of the program fits them.
static LogicalResult verifyTensors(Operation *op, const Tensors &tensors) {
  for (WeightAttr weight : allWeights(op))
    if (weight.getTensor() && failed(verifyView(op, weight, tensors)))
      return failure();
  auto store = dyn_cast<StoreOp>(op);
  RankedTensorType type =
      store ? tensors.lookup(store.getOutputAttr()) : RankedTensorType();
  // (C3) of wse.store
  if (type && type != store.getType())
    return withDeclaration(op->emitOpError("stores ")
                               << store.getType() << " to '"
                               << store.getOutput() << "', which is " << type,
                           op, FlatSymbolRefAttr::get(store.getOutputAttr()));
  return success();
}

/// (C5) Of a region that a kernel is the first to use.
static LogicalResult
verifyDisjoint(KernelOp kernel, RegionOp region,
               ArrayRef<std::pair<RegionOp, KernelOp>> others) {
  auto covers = [](int64_t a, int64_t lengthA, int64_t b, int64_t lengthB) {
    return a < b + lengthB && b < a + lengthA;
  };
  for (auto [placed, user] : others) {
    RegionOp other = placed;
    if (!region.isPlaced() || !other.isPlaced() ||
        !covers(*region.getX(), region.columns(), *other.getX(),
                other.columns()) ||
        !covers(*region.getY(), region.rows(), *other.getY(), other.rows()))
      continue;
    InFlightDiagnostic error = kernel.emitOpError("is on @")
                               << region.getSymName()
                               << ", which has PEs in common with @"
                               << other.getSymName();
    error.attachNote(user.getLoc())
        << "a kernel on @" << other.getSymName() << " is here";
    return error;
  }
  return success();
}

/// (C6)
static LogicalResult verifyOperandRegions(KernelOp kernel) {
  if (isa<TransferOp>(*kernel))
    return success(); // (C1) of wse.transfer
  for (Value operand : kernel->getOperands()) {
    auto producer = dyn_cast_or_null<KernelOp>(operand.getDefiningOp());
    if (!producer || producer.getRegionRef() == kernel.getRegionRef())
      continue;
    InFlightDiagnostic error = kernel.emitOpError("is on ")
                               << kernel.getRegionRef() << ", its operand on "
                               << producer.getRegionRef()
                               << "; a transfer would bring it here";
    error.attachNote(producer.getLoc()) << "the operand is made here";
    return error;
  }
  return success();
}

LogicalResult ProgramOp::verifyRegions() {
  if (failed(verifyAttributes(*this)))
    return failure();
  const Tensors tensors = tensorsOf(*this);
  llvm::SmallVector<std::pair<RegionOp, KernelOp>> used; // and who uses it
  for (Operation &op : bodyBlock()) {
    // (C3)
    if (!isa<WseDialect>(op.getDialect()))
      return op.emitOpError("is no operation of the wafer");
    if (failed(verifyAttributes(&op)))
      return failure();
    auto kernel = dyn_cast<KernelOp>(op);
    if (!kernel)
      continue;
    auto known = llvm::find_if(used, [&](auto &entry) {
      return entry.second.getRegionRef() == kernel.getRegionRef();
    });
    RegionOp region = known == used.end() ? regionOf(kernel) : known->first;
    // (C4)
    if (!region)
      return op.emitOpError("is on ")
             << kernel.getRegionRef() << ", which is no region";
    if (known == used.end()) {
      if (failed(verifyDisjoint(kernel, region, used)))
        return failure();
      used.push_back({region, kernel});
    }
    // (C2)
    if (failed(verifyResults(&op, region)) ||
        failed(verifyOperandRegions(kernel)) ||
        failed(verifyTensors(&op, tensors)))
      return failure();
  }
  return success();
}

llvm::SmallVector<RegionOp, 4> ProgramOp::kernelRegions() {
  llvm::SmallSetVector<Attribute, 4> used;
  for (KernelOp kernel : bodyBlock().getOps<KernelOp>())
    used.insert(kernel.getRegionRef().getAttr());
  llvm::SmallVector<RegionOp, 4> regions;
  for (RegionOp region : bodyBlock().getOps<RegionOp>())
    if (used.contains(region.getSymNameAttr()))
      regions.push_back(region);
  return regions;
}

llvm::SmallVector<Machine, 1> ProgramOp::kernelMachines() {
  llvm::SmallVector<Machine, 1> machines;
  for (RegionOp region : kernelRegions())
    machines.push_back(region.machine());
  if (machines.empty())
    machines.push_back(targetMachine());
  return machines;
}

//===----------------------------------------------------------------------===//
// wse.region
//===----------------------------------------------------------------------===//

RegionOp wsec::wse::regionOf(KernelOp kernel) {
  return SymbolTable::lookupNearestSymbolFrom<RegionOp>(kernel,
                                                        kernel.getRegionRef());
}

Machine RegionOp::machine() {
  return (*this)->getParentOfType<ProgramOp>().targetMachine().region(
      int(getX().value_or(0)), int(getY().value_or(0)), int(columns()),
      int(rows()));
}

LogicalResult RegionOp::verify() {
  // (C1)
  auto program = (*this)->getParentOfType<ProgramOp>();
  if (getShape().size() != 2 || getX().has_value() != getY().has_value())
    return emitOpError("needs a shape of columns and rows, and a position of "
                       "both coordinates or none");
  int64_t x = getX().value_or(0), y = getY().value_or(0);
  int64_t width = program.meshWidth(), height = program.meshHeight();
  if (columns() < 1 || rows() < 1 || x < 0 || y < 0 || columns() > width ||
      rows() > height || x > width - columns() || y > height - rows())
    return emitOpError("of ")
           << columns() << "x" << rows() << " PEs at (" << x << ", " << y
           << ") does not fit the mesh of " << width << "x" << height;
  return success();
}

//===----------------------------------------------------------------------===//
// Ends of the model
//===----------------------------------------------------------------------===//

LogicalResult InputOp::verify() {
  // (C1)
  if (!cast<RankedTensorType>(getType()).hasStaticShape())
    return emitOpError("needs a static shape, found ") << getType();
  return success();
}

LogicalResult IntermediateOp::verify() {
  // (C1)
  auto type = cast<RankedTensorType>(getType());
  if (!type.hasStaticShape() || !isWaferElement(type.getElementType()))
    return emitOpError("needs a static shape of f32 or i32, found ") << type;
  return success();
}

LogicalResult AliasOp::verify() {
  // (C1)
  FailureOr<RankedTensorType> source = sourceType(*this, getSource());
  if (failed(source))
    return failure();
  // (C2)
  auto type = cast<RankedTensorType>(getType());
  if (source->getElementType() != type.getElementType() ||
      source->getNumElements() != type.getNumElements())
    return withDeclaration(
        emitOpError("output of type ")
            << type << " cannot stand for its source of type " << *source,
        *this, getSource());
  return success();
}

LogicalResult LoadOp::verify() {
  // (C1)
  FailureOr<RankedTensorType> source = sourceType(*this, getSource());
  if (failed(source))
    return failure();
  // (C4)
  if (failed(verifyWire(*this, getResult(), *source)))
    return failure();
  // (C2)
  RankedTensorType type = tensorOf(getResult());
  std::optional<ArrayRef<int64_t>> strides = getStrides();
  if (strides && isa<WeightAttr>(getSource()))
    return emitOpError("has strides beside those of the constant's own view");
  if (strides && int64_t(strides->size()) != type.getRank())
    return emitOpError("has ") << strides->size() << " strides for a result of "
                               << type.getRank() << " dimensions";
  // (C3)
  if (!strides) {
    if (source->getNumElements() != type.getNumElements())
      return withDeclaration(emitOpError("loads ")
                                 << type.getNumElements()
                                 << " elements from a source of "
                                 << source->getNumElements(),
                             *this, getSource());
    return success();
  }
  auto touched = touchedElements(type.getShape(), getViewOffset(), *strides);
  if (!touched)
    return emitOpError("reads elements that cannot be counted");
  auto [first, last] = *touched;
  if (first < 0 || last >= source->getNumElements())
    return emitOpError("reads elements ")
           << first << " to " << last << " of a source of "
           << source->getNumElements();
  return success();
}

LogicalResult GatherOp::verify() {
  // (C1)
  RankedTensorType table = getTable().getType();
  if (table.getRank() != 2 || table.getDimSize(1) != featuresOf(getResult()))
    return emitOpError("needs a matrix of ")
           << featuresOf(getResult()) << " columns as table, found " << table;
  // (C2)
  FailureOr<RankedTensorType> ids = sourceType(*this, getIds());
  if (failed(ids))
    return failure();
  TiledAttr tiling = tilingOf(getResult());
  int64_t tokens = tiling.getBatch() * tiling.getTokens();
  if (!ids->getElementType().isInteger() || ids->getNumElements() != tokens)
    return emitOpError("needs ") << tokens << " integer ids, found " << *ids;
  return success();
}

int64_t StoreOp::outputFeatures() {
  TiledAttr tiling = tilingOf(getValue());
  return cast<RankedTensorType>(getType()).getNumElements() /
         (tiling.getBatch() * tiling.getTokens());
}

std::array<int64_t, 3> StoreOp::outputStrides() {
  if (std::optional<ArrayRef<int64_t>> given = getStrides())
    return {(*given)[0], (*given)[1], (*given)[2]};
  int64_t features = outputFeatures();
  return {tilingOf(getValue()).getTokens() * features, features, 1};
}

LogicalResult StoreOp::verify() {
  // (C1)
  auto type = cast<RankedTensorType>(getType());
  TiledAttr tiling = tilingOf(getValue());
  int64_t tokens = tiling.getBatch() * tiling.getTokens();
  if (!type.hasStaticShape())
    return emitOpError("output ") << type << " has no static shape";
  // (C4)
  if (failed(verifyWire(*this, getValue(), type)))
    return failure();
  if (std::optional<ArrayRef<int64_t>> strides = getStrides()) {
    if (strides->size() != 3)
      return emitOpError("has ")
             << strides->size() << " strides for batch, tokens and features";
    auto touched = touchedElements(
        {tiling.getBatch(), tiling.getTokens(), featuresOf(getValue())},
        getOffset(), *strides);
    if (!touched || touched->first < 0 ||
        touched->second >= type.getNumElements())
      return emitOpError("writes elements outside of the ")
             << type.getNumElements() << " of '" << getOutput() << "'";
  } else {
    if (type.getNumElements() % tokens)
      return emitOpError("output ")
             << type << " does not consist of " << tokens << " tokens";
    int64_t begin = getOffset(), end = begin + featuresOf(getValue());
    if (begin < 0 || end > outputFeatures())
      return emitOpError("stores features ")
             << begin << " to " << end << " of an output with "
             << outputFeatures();
  }
  // (C2)
  return verifySplitRows(*this, getValue());
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

/// (C1) to (C4) of wse.matmul
template <typename ProductOp>
static LogicalResult verifyProduct(ProductOp op) {
  // (C1)
  RankedTensorType weight = op.getWeight().getType();
  if (weight.getRank() != 2 ||
      weight.getDimSize(0) != featuresOf(op.getInput()) ||
      weight.getDimSize(1) != featuresOf(op.getResult()))
    return op.emitOpError("maps ")
           << featuresOf(op.getInput()) << " features to "
           << featuresOf(op.getResult()) << ", but its weight is " << weight;
  // (C2)
  if (op.getBias() && failed(verifyVector(op, "bias", *op.getBias(),
                                          featuresOf(op.getResult()))))
    return failure();
  // (C3)
  if (!tilingOf(op.getInput()).sameRows(tilingOf(op.getResult())))
    return op.emitOpError("needs input and result tokens in the same rows");
  // (C4)
  if (failed(verifySplitColumns(op, op.getInput())))
    return failure();
  return verifySplitColumns(op, op.getResult());
}

LogicalResult MatmulOp::verify() { return verifyProduct(*this); }

LogicalResult SparseMatmulOp::verify() {
  if (failed(verifyProduct(*this)))
    return failure();
  // (C5)
  if (getWeight().getTensor() ||
      !isa<FloatType>(getWeight().getType().getElementType()))
    return emitOpError("keeps some weights of ")
           << getWeight().getName() << ", which is no constant of floats";
  const int64_t outputs = featuresOf(getResult());
  if (getSparsity().getRest() > getSparsity().lastGroup(outputs))
    return emitOpError("keeps ")
           << getSparsity().getRest() << " weights of a last group of "
           << getSparsity().lastGroup(outputs);
  return success();
}

// (C1) of wse.attention
static LogicalResult verifyHeads(AttentionOp op, StringRef what, Value value) {
  TiledAttr tiling = tilingOf(value);
  int64_t heads = op.getNumHeads();
  if (tiling.getColumns() == ColumnPlacement::Heads &&
      tiling.getHeadSize() * heads == featuresOf(value))
    return success();
  return op.emitOpError(what)
         << " needs " << heads << " heads over the columns, found "
         << value.getType();
}

LogicalResult AttentionOp::verify() {
  // (C1)
  if (failed(verifyHeads(*this, "query", getQuery())) ||
      failed(verifyHeads(*this, "key", getKey())) ||
      failed(verifyHeads(*this, "value", getValue())) ||
      failed(verifyHeads(*this, "result", getResult())))
    return failure();
  TiledAttr query = tilingOf(getQuery()), key = tilingOf(getKey());
  if (!query.sameColumns(key) ||
      !tilingOf(getValue()).sameColumns(tilingOf(getResult())))
    return emitOpError("needs query and key, and value and result, with heads "
                       "of the same size");
  if (query.getHeadColumns() != tilingOf(getValue()).getHeadColumns())
    return emitOpError("needs the heads of all tensors over equally many "
                       "columns");
  // (C2)
  if (!query.sameRows(tilingOf(getResult())) ||
      !key.sameRows(tilingOf(getValue())) || query.getBatch() != key.getBatch())
    return emitOpError("needs query and result, and key and value, with tokens "
                       "in the same rows, all of one batch");
  int64_t keys = key.getTokens();
  // (C3)
  if (Value bias = getKeyBias())
    if (!tilingOf(bias).sameRows(query.perBatchElement()) ||
        !isReplicatedColumns(tilingOf(bias)) || featuresOf(bias) != keys)
      return emitOpError("needs a key bias of one token with ")
             << keys << " features for each of " << query.getBatch()
             << " batch elements, replicated over " << query.rowsUsed()
             << " rows and all columns";
  // (C4)
  if (Value bias = getScoreBias())
    if (!tilingOf(bias).sameRows(query) ||
        !isReplicatedColumns(tilingOf(bias)) || featuresOf(bias) != keys)
      return emitOpError("needs a score bias with the tokens of the query and ")
             << keys << " features, replicated over the columns";
  // (C5)
  if (getCausal() && query.getTokens() != keys)
    return emitOpError("is causal with ")
           << query.getTokens() << " queries and " << keys << " keys";
  return success();
}

LogicalResult LayerNormOp::verify() {
  // (C1)
  int64_t features = featuresOf(getResult());
  if (failed(verifyVector(*this, "scale", getScale(), features)) ||
      (getBias() && failed(verifyVector(*this, "bias", *getBias(), features))))
    return failure();
  // (C2)
  return verifySplitColumns(*this, getInput());
}

LogicalResult RMSNormOp::verify() {
  // (C1)
  if (failed(verifyVector(*this, "scale", getScale(), featuresOf(getResult()))))
    return failure();
  // (C2)
  return verifySplitColumns(*this, getInput());
}

LogicalResult SoftmaxOp::verify() {
  // (C1)
  return verifySplitColumns(*this, getInput());
}

LogicalResult ReduceTokensOp::verify() {
  // (C1)
  TiledAttr input = tilingOf(getInput()), result = tilingOf(getResult());
  if (result.getTokens() != 1 || result.getBatch() != input.getBatch() ||
      result.getGroup() != input.getGroup() ||
      result.getRows() != RowPlacement::Split || result.rowsUsed() != 1 ||
      !result.sameColumns(input) ||
      featuresOf(getResult()) != featuresOf(getInput()))
    return emitOpError("needs a result of one token with the batch, features "
                       "and columns of the input, in the group roots");
  // (C2)
  return verifySplitRows(*this, getInput());
}

LogicalResult RotaryOp::verify() {
  // (C1)
  TiledAttr input = tilingOf(getInput()), angles = tilingOf(getCos());
  const int64_t turned = getRotaryDim();
  if (input.getColumns() != ColumnPlacement::Heads ||
      input.getHeadColumns() != 1 || input.getHeadSize() < turned ||
      turned <= 0 || turned % 2 != 0)
    return emitOpError("turns ")
           << turned << " features of each head, of which whole ones lie in a "
           << "column, found " << getInput().getType();
  // (C2)
  if (!angles.sameRows(input) || !isReplicatedColumns(angles) ||
      (featuresOf(getCos()) != turned && featuresOf(getCos()) != turned / 2))
    return emitOpError("needs cosines and sines of the tokens of its input, ")
           << turned << " or " << turned / 2
           << " features in all columns, found " << getCos().getType();
  return success();
}

LogicalResult RedistributeOp::verify() {
  // (C3)
  TiledAttr input = tilingOf(getInput()), result = tilingOf(getResult());
  const int64_t repeat = getRepeat();
  if (repeat < 1 ||
      (repeat > 1 && result.getColumns() != ColumnPlacement::Heads))
    return emitOpError("repeats heads ")
           << repeat << " times in " << getResult().getType();
  // (C1)
  if (!input.sameRows(result) ||
      repeat * featuresOf(getInput()) != featuresOf(getResult()))
    return emitOpError("moves features between columns only; rows, tokens and "
                       "features must stay");
  if (repeat == 1 && input.sameColumns(result))
    return emitOpError("moves nothing");
  // (C2)
  return verifySplitColumns(*this, getInput());
}

RegionOp TransferOp::sourceRegion() {
  return regionOf(cast<KernelOp>(getInput().getDefiningOp()));
}

LogicalResult TransferOp::verify() {
  // (C1)
  auto producer = dyn_cast_or_null<KernelOp>(getInput().getDefiningOp());
  RegionOp from = producer ? regionOf(producer) : RegionOp();
  RegionOp to = regionOf(cast<KernelOp>(getOperation()));
  if (from && to && (from == to || from.rows() != to.rows())) {
    InFlightDiagnostic error =
        emitOpError("moves a tensor between regions of as many rows, from @")
        << from.getSymName() << " of " << from.rows() << " rows to @"
        << to.getSymName() << " of " << to.rows();
    error.attachNote(producer.getLoc()) << "the tensor is made here";
    return error;
  }
  // (C2)
  TiledAttr input = tilingOf(getInput()), result = tilingOf(getResult());
  if (!input.sameRows(result) ||
      elementType(getInput()) != elementType(getResult()) ||
      featuresOf(getInput()) != featuresOf(getResult()))
    return emitOpError("keeps rows, tokens, features and type of a tensor");
  // (C3)
  return verifySplitColumns(*this, getInput());
}

//===----------------------------------------------------------------------===//
// wse.elementwise
//===----------------------------------------------------------------------===//

LogicalResult ElementwiseOp::verify() {
  // (C1)
  if (getInputs().empty())
    return emitOpError("needs an input");
  TiledAttr result = tilingOf(getResult());
  int64_t features = featuresOf(getResult());
  for (auto [index, input] : llvm::enumerate(getInputs())) {
    TiledAttr tiling = tilingOf(input);
    // (C2)
    if (!tiling.sameRows(result) && !tiling.sameRows(result.perBatchElement()))
      return emitOpError("input ")
             << index << " has its tokens in other rows than the result";
    // (C3)
    bool perFeature =
        featuresOf(input) == features && tiling.sameColumns(result);
    bool perToken = featuresOf(input) == 1 && isReplicatedColumns(tiling);
    if (!perFeature && !perToken)
      return emitOpError("input ")
             << index << " has its features in other columns than the result";
  }
  // (C4)
  for (WeightAttr vector : getVectors().getAsRange<WeightAttr>())
    if (failed(verifyVector(*this, "vector", vector, features)))
      return failure();
  return success();
}

// (C5)
LogicalResult ElementwiseOp::verifyRegions() {
  Block &block = getBody().front();
  size_t expected = getInputs().size() + getVectors().size();
  auto isArgument = [&](BlockArgument argument) {
    unsigned index = argument.getArgNumber();
    return index < getInputs().size()
               ? argument.getType() == elementType(getInputs()[index])
               : argument.getType().isF32();
  };
  if (block.getNumArguments() != expected ||
      !llvm::all_of(block.getArguments(), isArgument))
    return emitOpError("body needs ")
           << expected
           << " arguments: an element of each input, an f32 of each vector";
  if (block.empty() || !isa<YieldOp>(block.back()))
    return emitOpError("body must end with wse.yield");
  if (block.back().getOperand(0).getType() != elementType(getResult()))
    return emitOpError("body yields ")
           << block.back().getOperand(0).getType() << " for a result of "
           << elementType(getResult());
  for (Operation &op : block.without_terminator()) {
    StringRef dialect = op.getName().getDialectNamespace();
    bool scalar = llvm::all_of(op.getResultTypes(), [](Type type) {
      return isWaferElement(type) || type.isInteger(1);
    });
    if ((dialect != "arith" && dialect != "math") || !scalar)
      return op.emitOpError("cannot stand in an element-wise body: only arith "
                            "and math on scalars of f32 and i32 can");
  }
  return success();
}

//===----------------------------------------------------------------------===//
// wse.stream
//===----------------------------------------------------------------------===//

static bool isNeighbourPattern(StreamPattern pattern) {
  switch (pattern) {
  case StreamPattern::RowWest:
  case StreamPattern::RowEast:
  case StreamPattern::KeyNorth:
  case StreamPattern::ValueNorth:
  case StreamPattern::OutNorth:
  case StreamPattern::RootWest:
    return true;
  default:
    return false;
  }
}

static bool dependsOnRows(StreamPattern pattern) {
  return pattern == StreamPattern::Column ||
         pattern == StreamPattern::KeyCast ||
         pattern == StreamPattern::ValueCast ||
         pattern == StreamPattern::RootWest ||
         pattern == StreamPattern::HeadCast;
}

LogicalResult StreamOp::verify() {
  // (C1)
  size_t colors = isNeighbourPattern(getPattern()) ? 2 : 1;
  if (getColors().size() != colors)
    return emitOpError() << stringifyStreamPattern(getPattern()) << " takes "
                         << colors << " color" << (colors > 1 ? "s" : "")
                         << ", found " << getColors().size();
  // (C2)
  if (getRows().has_value() != dependsOnRows(getPattern()))
    return emitOpError() << stringifyStreamPattern(getPattern())
                         << (getRows() ? " does not depend on rows"
                                       : " needs the rows it reaches");
  // (C3)
  for (RuleAttr rule : getRules().getAsRange<RuleAttr>())
    if (!llvm::is_contained(getColors(), rule.getColor()))
      return emitOpError("has a rule for color ")
             << rule.getColor() << ", which is none of its own";
  // (C4)
  bool transfers = getPattern() == StreamPattern::Transfer;
  if (getTarget().has_value() != transfers)
    return emitOpError() << stringifyStreamPattern(getPattern())
                         << (transfers ? " needs the region it goes to"
                                       : " goes to no other region");
  if (getRegion() && getPattern() == StreamPattern::Launch)
    return emitOpError("launches start the kernels of all regions");
  for (FlatSymbolRefAttr region : {getRegionAttr(), getTargetAttr()})
    if (region &&
        !SymbolTable::lookupNearestSymbolFrom<RegionOp>(*this, region))
      return emitOpError("refers to ") << region << ", which is no region";
  return success();
}
