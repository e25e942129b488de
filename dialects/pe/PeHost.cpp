// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tensors, streams and values of the host.

#include "dialects/StridedRange.h"
#include "dialects/pe/PeMistakes.h"
#include "dialects/pe/PeSyntax.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace wsec::pe;

//===----------------------------------------------------------------------===//
// pe.tensor
//===----------------------------------------------------------------------===//

static LogicalResult withTensor(InFlightDiagnostic error, TensorOp tensor) {
  return withNote(std::move(error), tensor, "the tensor");
}

static LogicalResult verifySparse(TensorOp op, SymbolTableCollection &symbols) {
  SparseAttr sparse = *op.getSparse();
  auto matrix =
      symbols.lookupNearestSymbolFrom<TensorOp>(op, sparse.getTensor());
  if (!matrix || matrix.getSparse() ||
      (matrix.getRole() != Role::Weight &&
       matrix.getRole() != Role::Constant) ||
      !isa<FloatType>(matrix.getTensorType().getElementType())) // C5
    return withTensor(op.emitOpError("is the sparse form of ")
                          << sparse.getTensor()
                          << ", which is no weight or constant of floats",
                      matrix);
  const int64_t words = sparse.getWords();
  if (!op.getTensorType().getElementType().isF32() ||
      op.getTensorType().getNumElements() != words) // C5
    return op.emitOpError("has type ")
           << op.getType() << ", the records are " << words << " words of f32";
  return success();
}

/// (C6) `parameter`: the tensor that has its elements.
static LogicalResult verifyGradient(TensorOp op, TensorOp parameter,
                                    const SymbolTable &symbols) {
  GradientAttr gradient = *op.getGradient();
  RankedTensorType type = op.getTensorType();
  if (!parameter)
    return op.emitOpError("is a gradient of ")
           << gradient.getParameter() << ", which is no parameter";
  RankedTensorType of = parameter.getTensorType();
  bool fits =
      gradient.getOffset() == 0 && type.getNumElements() == of.getNumElements();
  if (FlatSymbolRefAttr rows = gradient.getRows()) {
    auto ids = symbols.lookup<TensorOp>(rows.getValue());
    if (!ids || !ids.getTensorType().getElementType().isInteger() ||
        ids.getRole() == Role::Output)
      return withTensor(op.emitOpError("has its rows in ")
                            << rows << ", which is no tensor of integers",
                        ids);
    fits = of.getRank() == 2 && gradient.getOffset() == 0 &&
           gradient.getStrides().empty() &&
           ids.getTensorType().getNumElements() * of.getDimSize(1) ==
               type.getNumElements();
  } else if (!gradient.getStrides().empty()) {
    auto touched =
        gradient.getStrides().size() == size_t(type.getRank())
            ? wsec::touchedElements(type.getShape(), gradient.getOffset(),
                                    gradient.getStrides())
            : std::nullopt;
    fits =
        touched && touched->first >= 0 && touched->second < of.getNumElements();
  }
  if (!fits)
    return withNote(op.emitOpError("of type ")
                        << type
                        << " is added to elements that the parameter of type "
                        << of << " does not have",
                    parameter, "the parameter");
  return success();
}

LogicalResult wsec::pe::verifyGradients(ProgramOp program,
                                        const SymbolTable &symbols) {
  llvm::DenseMap<StringAttr, TensorOp> parameters; // looked up only
  for (auto tensor : program.getOps<TensorOp>())
    if (StringAttr parameter = tensor.getParameterAttr())
      if (auto [first, isNew] = parameters.insert({parameter, tensor}); !isNew)
        return withNote(tensor.emitOpError("is a second tensor of parameter ")
                            << parameter,
                        first->second, "the first");
  for (auto tensor : program.getOps<TensorOp>())
    if (tensor.getGradient() &&
        failed(verifyGradient(
            tensor, parameters.lookup(tensor.getGradient()->getParameter()),
            symbols)))
      return failure();
  return success();
}

LogicalResult TensorOp::verify() {
  auto type = dyn_cast<RankedTensorType>(getType());
  if (!type || !type.hasStaticShape() ||
      !isStoredType(type.getElementType())) // C1
    return emitOpError("has type ")
           << getType()
           << ", expected a static shape of floats or of integers of 1 to 64 "
              "bits";
  if (getSource() && getSparse()) // C2
    return emitOpError("has a source, but is made of another tensor");
  if ((getSource() || getSparse()) != (getRole() == Role::Weight)) // C2
    return emitOpError(getSource()   ? "has a source, but is no weight"
                       : getSparse() ? "is sparse, but is no weight"
                                     : "is a weight without a source");
  if (bool(getValue()) != (getRole() == Role::Constant)) // C3
    return emitOpError(getValue() ? "has a value, but is no constant"
                                  : "is a constant without a value");
  if (getValue() && getValue()->getType() != getType()) // C3
    return emitOpError("has a value of type ") << getValue()->getType();
  if (getAlias() && getRole() != Role::Output) // C4
    return emitOpError("is an alias, but no output");
  Type element = type.getElementType();
  if (getParameter() &&
      ((!getSource() && !getValue()) ||
       !(element.isF32() || element.isF16() || element.isBF16()))) // C6
    return emitOpError("is a parameter, but no weight or constant of f32, f16 "
                       "or bf16");
  if (std::optional<uint64_t> experts = getExperts();
      experts && (getRole() != Role::Intermediate || !element.isInteger(32) ||
                  int64_t(*experts) < 1)) // C7
    return emitOpError("chooses of ")
           << int64_t(*experts)
           << " experts, expected a positive number, of an intermediate of i32";
  if (getGradient() && (getRole() != Role::Output || !element.isF32())) // C6
    return emitOpError("is a gradient, but no output of f32");
  return success();
}

LogicalResult TensorOp::verifySymbolUses(SymbolTableCollection &symbols) {
  if (getSparse() && failed(verifySparse(*this, symbols)))
    return failure();
  if (!getAlias())
    return success();
  auto other = symbols.lookupNearestSymbolFrom<TensorOp>(*this, getAliasAttr());
  auto sameContent = [&](TensorOp other) {
    RankedTensorType a = getTensorType(), b = other.getTensorType();
    return a.getElementType() == b.getElementType() &&
           a.getNumElements() == b.getNumElements();
  };
  if (!other || !sameContent(other)) // C4
    return withTensor(emitOpError("is an alias of ")
                          << getAliasAttr()
                          << ", which is not a tensor of its element type and "
                             "size",
                      other);
  return success();
}

static std::string nearestTensor(StringRef wanted, Operation *op) {
  return nearestSymbol<TensorOp>(wanted, op->getParentOfType<ProgramOp>());
}

//===----------------------------------------------------------------------===//
// pe.copy
//===----------------------------------------------------------------------===//

static int64_t countPes(RectAttr rect) {
  return llvm::divideCeil(rect.getX1() - rect.getX0(), rect.getXstep()) *
         llvm::divideCeil(rect.getY1() - rect.getY0(), rect.getYstep());
}

int64_t CopyOp::getElements() {
  auto tensor =
      SymbolTable::lookupNearestSymbolFrom<TensorOp>(*this, getTensorAttr());
  return tensor.getTensorType().getNumElements() / countPes(getRect());
}

LogicalResult CopyOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto tensor =
      symbols.lookupNearestSymbolFrom<TensorOp>(*this, getTensorAttr());
  if (!tensor) // C1
    return emitOpError("copies ")
           << getTensorAttr() << ", which is not a tensor"
           << nearestTensor(getTensor(), *this);
  bool out = getDirection() == Direction::Out;
  if (tensor.getRole() == Role::Intermediate) // C1
    return withTensor(emitOpError("copies ")
                          << getTensorAttr()
                          << ", which is an intermediate: only streams read "
                             "and write these",
                      tensor);
  if (out != (tensor.getRole() == Role::Output)) // C1
    return withTensor(emitOpError(out ? "writes " : "reads ")
                          << getTensorAttr() << ", which is "
                          << (out ? "not an output" : "an output"),
                      tensor);
  int64_t elements = tensor.getTensorType().getNumElements();
  int64_t pes = countPes(getRect());
  if (elements == 0 || elements % pes) // C2
    return emitOpError("shares ")
           << elements << " elements evenly among " << pes << " PEs";
  return success();
}

//===----------------------------------------------------------------------===//
// pe.stream and pe.segment
//===----------------------------------------------------------------------===//

void StreamOp::build(OpBuilder &builder, OperationState &state, StringRef name,
                     Direction direction, int64_t color, ArrayAttr channels) {
  auto &properties = state.getOrAddProperties<Properties>();
  properties.sym_name = builder.getStringAttr(name);
  properties.direction = DirectionAttr::get(builder.getContext(), direction);
  properties.color = builder.getI64IntegerAttr(color);
  properties.channels = channels;
  state.addRegion();
}

static LogicalResult verifyWire(StreamOp stream) {
  Type type = stream.getType().value_or(Float32Type::get(stream.getContext()));
  if (!isWireType(type)) // C3
    return stream.emitOpError("has elements of ")
           << type << ", expected " << kWireTypes;
  bool half = elementBytes(type) == 2;
  if (!half && (stream.getPair() || stream.getIndexed())) // C3
    return stream.emitOpError("has ")
           << (stream.getPair() ? "pairs" : "an index") << " with elements of "
           << type << ", which fill a wavelet";
  if (stream.getPair() && stream.getIndexed()) // C3
    return stream.emitOpError(
        "has pairs and an index, which share half a wavelet");
  if (stream.getIndexed() && stream.getDirection() == Direction::Out) // C4
    return stream.emitOpError(
        "leaves the wafer: the host knows the number of each element");
  return success();
}

LogicalResult StreamOp::verify() {
  if (failed(verifyWire(*this)))
    return failure();
  if (getChannels().empty()) // C1
    return emitOpError("has no channel");
  for (Attribute channel : getChannels())
    if (!isa<ChannelAttr>(channel)) // C1
      return emitOpError("has ") << channel << " where a channel is expected";
  bool hasSegment = false;
  for (Operation &op : getBody().getOps()) {
    if (!isa<ConstantOp, ScalarOp, SegmentOp>(op)) // C2
      return withNote(emitOpError("holds ")
                          << op.getName() << ", expected scalars and segments",
                      &op, "the operation");
    hasSegment |= isa<SegmentOp>(op);
  }
  if (!hasSegment) // C1
    return emitOpError("has no segment");
  return success();
}

void SegmentOp::build(OpBuilder &builder, OperationState &state,
                      const Segment &segment) {
  MLIRContext *context = builder.getContext();
  AffineEncoder encoder(context);
  auto &properties = state.getOrAddProperties<Properties>();
  properties.tensor = FlatSymbolRefAttr::get(context, segment.tensor);
  properties.offset = encoder.encode(segment.offset);
  properties.strides = builder.getDenseI64ArrayAttr(segment.strides);
  properties.extents = encoder.encode(ArrayRef<Affine>(segment.extents));
  properties.lines = encoder.encode(segment.lines);
  properties.line_step = builder.getI64IntegerAttr(segment.lineStep);
  if (!segment.index.tensor.empty())
    properties.index_tensor =
        FlatSymbolRefAttr::get(context, segment.index.tensor);
  properties.index_step = builder.getI64IntegerAttr(segment.index.step);
  properties.index_rows = builder.getI64IntegerAttr(segment.index.rows);
  properties.index_at = builder.getI64IntegerAttr(segment.index.at);
  if (segment.accumulate)
    properties.accumulate = builder.getUnitAttr();
  if (segment.halves)
    properties.halves = TypeAttr::get(segment.halves);
  state.addOperands(encoder.getValues());
}

Segment SegmentOp::getSegment() {
  Segment segment;
  segment.tensor = getTensor().str();
  segment.lines = decode(getLines(), getValues());
  segment.lineStep = getLineStep();
  for (auto extent : getExtents().getAsRange<AffineAttr>())
    segment.extents.push_back(decode(extent, getValues()));
  segment.strides.assign(getStrides().begin(), getStrides().end());
  segment.offset = decode(getOffset(), getValues());
  segment.index.tensor = getIndexTensor().value_or("").str();
  segment.index.step = getIndexStep();
  segment.index.rows = getIndexRows();
  segment.index.at = getIndexAt();
  segment.accumulate = getAccumulate();
  segment.halves = getHalves().value_or(Type());
  return segment;
}

static LogicalResult verifyIndex(SegmentOp op, SymbolTableCollection &symbols) {
  if (!op.getIndexTensor())
    return success();
  auto ids =
      symbols.lookupNearestSymbolFrom<TensorOp>(op, op.getIndexTensorAttr());
  bool known =
      ids && (ids.getRole() == Role::Input || ids.getRole() == Role::Constant ||
              ids.getRole() == Role::Intermediate);
  if (!known || !ids.getTensorType().getElementType().isInteger()) // C3
    return withTensor(op.emitOpError("is indexed by ")
                          << op.getIndexTensorAttr()
                          << ", expected an integer input or constant",
                      ids);
  auto rows = static_cast<int64_t>(op.getIndexRows());
  if (rows <= 0) // C3
    return op.emitOpError("gathers from a table of ") << rows << " rows";
  const auto at = static_cast<int64_t>(op.getIndexAt());
  if (at >= ids.getTensorType().getNumElements()) // C3
    return withTensor(op.emitOpError("is indexed by number ")
                          << at << " of " << op.getIndexTensorAttr(),
                      ids);
  return success();
}

static LogicalResult verifyHalves(SegmentOp op, StreamOp stream) {
  if (!op.getHalves())
    return success();
  if (!isNarrowFloat(*op.getHalves())) // C6
    return op.emitOpError("has halves of ")
           << *op.getHalves() << ", expected f16, bf16 or !pe.cb16";
  if (stream.getType() || stream.getPair() || stream.getIndexed()) // C6
    return op.emitOpError("has halves, and its stream is not of f32");
  return success();
}

LogicalResult SegmentOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto stream = cast<StreamOp>((*this)->getParentOp());
  auto tensor =
      symbols.lookupNearestSymbolFrom<TensorOp>(stream, getTensorAttr());
  if (!tensor) // C1
    return emitOpError("streams ")
           << getTensorAttr() << ", which is not a tensor"
           << nearestTensor(getTensor(), stream);
  bool out = stream.getDirection() == Direction::Out;
  if (tensor.getRole() != Role::Intermediate &&
      out != (tensor.getRole() == Role::Output)) // C1
    return withTensor(emitOpError(out ? "writes " : "reads ")
                          << getTensorAttr() << ", which is "
                          << (out ? "not an output" : "an output"),
                      tensor);
  size_t extents = getExtents().size();
  if (extents > 8 || getStrides().size() != extents) // C2
    return emitOpError("has ")
           << extents << " extents and " << getStrides().size()
           << " strides, expected as many, at most eight";
  if (out && getIndexTensor()) // C4
    return emitOpError("leaves the wafer: expected no index");
  if (getAccumulate() &&
      (!out || !tensor.getTensorType().getElementType().isF32())) // C5
    return withTensor(emitOpError("accumulates in ")
                          << getTensorAttr() << ", expected an output of f32",
                      tensor);
  if (failed(verifyHalves(*this, stream)))
    return failure();
  return verifyIndex(*this, symbols);
}

//===----------------------------------------------------------------------===//
// pe.value and pe.piece
//===----------------------------------------------------------------------===//

LogicalResult ValueOp::verify() {
  auto type = dyn_cast<RankedTensorType>(getType());
  if (!type || !type.hasStaticShape() ||
      !isElementType(type.getElementType())) // C3
    return emitOpError("has type ") << getType() << ", expected a static shape";
  if (llvm::none_of((*this)->getBlock()->getOps<LaunchOp>(),
                    [&](LaunchOp launch) {
                      return launch->isBeforeInBlock(*this);
                    })) // C1
    return emitOpError("stands before the first launch: nothing has made it");
  unsigned pieces = 0;
  for (Operation &op : getBody().getOps()) {
    if (!isa<ConstantOp, ScalarOp, PieceOp>(op)) // C2
      return withNote(emitOpError("holds ")
                          << op.getName() << ", expected scalars and a piece",
                      &op, "the operation");
    pieces += isa<PieceOp>(op);
  }
  if (pieces != 1) // C2
    return emitOpError("has ") << pieces << " pieces, expected one";
  return success();
}

void PieceOp::build(OpBuilder &builder, OperationState &state,
                    const ValuePiece &piece) {
  AffineEncoder encoder(builder.getContext());
  auto &properties = state.getOrAddProperties<Properties>();
  properties.extents = encoder.encode(ArrayRef<Affine>(piece.extents));
  properties.strides = builder.getDenseI64ArrayAttr(piece.strides);
  properties.offset = encoder.encode(piece.offset);
  properties.places = builder.getDenseI64ArrayAttr(piece.places);
  properties.place = encoder.encode(piece.place);
  state.addOperands(encoder.getValues());
}

ValuePiece PieceOp::getPiece() {
  ValuePiece piece;
  for (auto extent : getExtents().getAsRange<AffineAttr>())
    piece.extents.push_back(decode(extent, getValues()));
  piece.strides.assign(getStrides().begin(), getStrides().end());
  piece.offset = decode(getOffset(), getValues());
  piece.places.assign(getPlaces().begin(), getPlaces().end());
  piece.place = decode(getPlace(), getValues());
  return piece;
}

LogicalResult PieceOp::verify() {
  size_t extents = getExtents().size();
  if (extents > 8 || getStrides().size() != extents ||
      getPlaces().size() != extents) // C1
    return emitOpError("has ")
           << extents << " extents, " << getStrides().size() << " strides and "
           << getPlaces().size() << " places, expected as many, at most eight";
  return success();
}
