// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Verifiers of the operators, each rule with the label of its description.
#include "dialects/StridedRange.h"
#include "dialects/onnx/OnnxVerify.h"
#include "mlir/Dialect/Traits.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace wsec;
using namespace wsec::onnx;

//===----------------------------------------------------------------------===//
// Shapes and names
//===----------------------------------------------------------------------===//

static int64_t lastExtent(Value value) { return shapeOf(value).back(); }

/// A node's name as it can stand in an SSA name: its leading separators go,
/// other characters that are none become underscores. Of a very long name the
/// start.
static std::string asValueName(StringRef node) {
  constexpr size_t longest = 100;
  std::string name;
  for (char c : node.take_front(longest)) {
    bool plain = llvm::isAlnum(c) || c == '.' || c == '_';
    if (plain || !name.empty())
      name.push_back(plain ? c : '_');
  }
  return name;
}

static void nameResultsAfterNode(Operation *op, OpAsmSetValueNameFn setNameFn) {
  auto node = op->getAttrOfType<StringAttr>("node");
  std::string name = node ? asValueName(node.getValue()) : std::string();
  if (name.empty())
    return;
  for (Value result : op->getResults())
    setNameFn(result, name);
}

//===----------------------------------------------------------------------===//
// ConstantOp
//===----------------------------------------------------------------------===//

/// `view offset N strides [...]`, or nothing.
static ParseResult parseView(OpAsmParser &parser, IntegerAttr &offset,
                             DenseI64ArrayAttr &strides) {
  if (failed(parser.parseOptionalKeyword("view")))
    return success();
  int64_t first = 0;
  SmallVector<int64_t> steps;
  auto parseStep = [&] { return parser.parseInteger(steps.emplace_back()); };
  if (parser.parseKeyword("offset") || parser.parseInteger(first) ||
      parser.parseKeyword("strides") ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseStep))
    return failure();
  offset = parser.getBuilder().getI64IntegerAttr(first);
  strides = parser.getBuilder().getDenseI64ArrayAttr(steps);
  return success();
}

static void printView(OpAsmPrinter &printer, Operation *, IntegerAttr offset,
                      DenseI64ArrayAttr strides) {
  if (strides)
    printer << " view offset " << (offset ? offset.getInt() : 0) << " strides ["
            << strides.asArrayRef() << "]";
}

/// Of what says its type itself; null for other values.
static Type statedType(Attribute value) {
  if (auto parameter = dyn_cast<ParameterAttr>(value))
    return parameter.getType();
  auto typed = dyn_cast<TypedAttr>(value);
  return typed ? typed.getType() : Type();
}

OptionalParseResult onnx::parseTensorData(OpAsmParser &parser, Attribute &value,
                                          TypeAttr &type) {
  Type stated;
  if (succeeded(parser.parseOptionalKeyword("external"))) {
    value = ExternalAttr::parse(parser, Type());
    if (!value || parser.parseColonType(stated))
      return failure();
    type = TypeAttr::get(stated);
    return success();
  }
  OptionalParseResult data = parser.parseOptionalAttribute(value);
  if (!data.has_value() || failed(*data))
    return data;
  stated = statedType(value);
  if (auto quantized = dyn_cast<QuantizedAttr>(value))
    stated = quantized.getValues().getType().clone(
        Float32Type::get(parser.getContext()));
  if (!stated)
    return parser.emitError(parser.getNameLoc(), "expected a typed value");
  type = TypeAttr::get(stated);
  return success();
}

static ParseResult parseParameterData(OpAsmParser &parser, Attribute &value,
                                      TypeAttr &type) {
  OptionalParseResult data = onnx::parseTensorData(parser, value, type);
  return data.has_value()
             ? *data
             : parser.emitError(parser.getNameLoc(), "expected a typed value");
}

static void printParameterData(OpAsmPrinter &printer, Operation *,
                               Attribute value, TypeAttr type) {
  onnx::printTensorData(printer, value, type);
}

void onnx::printTensorData(OpAsmPrinter &printer, Attribute value,
                           TypeAttr type) {
  auto external = dyn_cast<ExternalAttr>(value);
  if (!external) {
    printer << value;
    return;
  }
  printer << "external";
  external.print(printer);
  printer << " : " << type.getValue();
}

/// `external<...> view : type` or `dense<...> : stored-type view -> type`,
/// where a result of the stored type is not repeated.
static ParseResult parseStoredTensor(OpAsmParser &parser, Attribute &value,
                                     IntegerAttr &offset,
                                     DenseI64ArrayAttr &strides, Type &type) {
  if (succeeded(parser.parseOptionalKeyword("external"))) {
    value = ExternalAttr::parse(parser, Type());
    return failure(!value || parseView(parser, offset, strides) ||
                   parser.parseColonType(type));
  }
  if (parser.parseAttribute(value) || parseView(parser, offset, strides))
    return failure();
  if (succeeded(parser.parseOptionalArrow()))
    return parser.parseType(type);
  type = statedType(value);
  return type ? success()
              : parser.emitError(parser.getNameLoc(), "expected a typed value");
}

static void printStoredTensor(OpAsmPrinter &printer, ConstantOp op,
                              Attribute value, IntegerAttr offset,
                              DenseI64ArrayAttr strides, Type type) {
  if (auto external = dyn_cast<ExternalAttr>(value)) {
    printer << "external";
    external.print(printer);
    printView(printer, op, offset, strides);
    printer << " : " << type;
    return;
  }
  printer << value;
  printView(printer, op, offset, strides);
  if (statedType(value) != type)
    printer << " -> " << type;
}

unsigned ConstantOp::storedBits(Type elementType) {
  return std::max(8u, elementType.getIntOrFloatBitWidth());
}

Type ConstantOp::getStoredType() {
  if (auto dense = dyn_cast<DenseElementsAttr>(getValue()))
    return dense.getElementType();
  if (isa<QuantizedAttr>(getValue()))
    return Float32Type::get(getContext());
  if (auto parameter = dyn_cast<ParameterAttr>(getValue()))
    return parameter.getType().getElementType();
  auto external = dyn_cast<ExternalAttr>(getValue());
  if (external && external.getStored())
    return external.getStored();
  return getTensorType().getElementType();
}

int64_t ConstantOp::getStoredElements() {
  if (auto external = dyn_cast<ExternalAttr>(getValue()))
    return external.getBytes() * 8 / storedBits(getStoredType());
  if (auto quantized = dyn_cast<QuantizedAttr>(getValue()))
    return quantized.getValues().getNumElements();
  if (auto parameter = dyn_cast<ParameterAttr>(getValue()))
    return parameter.getType().getNumElements();
  return cast<DenseElementsAttr>(getValue()).getNumElements();
}

SmallVector<int64_t> ConstantOp::getViewStrides() {
  if (std::optional<ArrayRef<int64_t>> strides = getStrides())
    return llvm::to_vector(*strides);
  return denseStrides(getTensorType().getShape());
}

/// Asked for each constant that is looked at: names are compared as pointers,
/// which a lookup of any symbol does not do.
ParameterOp ConstantOp::getParameter() {
  auto named = dyn_cast<ParameterAttr>(getValue());
  auto module = named ? (*this)->getParentOfType<ModuleOp>() : ModuleOp();
  if (module)
    for (auto parameter : module.getOps<ParameterOp>())
      if (parameter.getSymNameAttr() == named.getParameter().getAttr())
        return parameter;
  return ParameterOp();
}

LogicalResult ConstantOp::verify() {
  RankedTensorType type = getTensorType();
  if (!isa<DenseElementsAttr, ExternalAttr, QuantizedAttr, ParameterAttr>(
          getValue())) // C1
    return emitOpError("value is neither dense elements, #onnx.external, "
                       "#onnx.quantized nor #onnx.parameter");
  if (!type.getElementType().isIntOrFloat() || !countElements(type.getShape()))
    return emitOpError() << "holds no tensor of countable numbers, but "
                         << type; // C6
  Type stored = getStoredType(), read = type.getElementType();
  bool widened = isa<FloatType>(stored) && read.isF32();
  if (stored != read && !widened) // C2
    return emitOpError() << "stored elements are " << stored
                         << ", those of the result " << read;
  if (!hasView()) {
    if (getOffset())
      return emitOpError("has an offset but no strides");
    if (getStoredElements() != type.getNumElements()) // C3
      return emitOpError() << "stores " << getStoredElements()
                           << " elements, the result has "
                           << type.getNumElements();
    return success();
  }
  if (getStrides()->size() != size_t(type.getRank())) // C4
    return emitOpError() << "has " << getStrides()->size()
                         << " strides for a result of rank " << type.getRank();
  if (type.getNumElements() == 0)
    return success();
  auto touched =
      touchedElements(type.getShape(), getViewOffset(), *getStrides());
  if (!touched) // C5
    return emitOpError("view touches elements that cannot be counted");
  auto [first, last] = *touched;
  if (first < 0 || last >= getStoredElements()) // C5
    return emitOpError() << "view touches elements " << first << " to " << last
                         << " of " << getStoredElements() << " stored";
  return success();
}

LogicalResult
ConstantOp::verifySymbolUses(SymbolTableCollection &symbols) { // C7
  auto named = dyn_cast<ParameterAttr>(getValue());
  if (!named)
    return success();
  ParameterOp parameter = parameterOf(*this, named.getParameter(), symbols);
  if (!parameter)
    return failure();
  if (parameter.getType() == named.getType())
    return success();
  return withDeclaration(emitOpError() << "views " << named.getParameter()
                                       << " as " << named.getType()
                                       << ", it is " << parameter.getType(),
                         parameter);
}

bool onnx::isDataOf(Attribute value, RankedTensorType type) {
  auto external = dyn_cast<ExternalAttr>(value);
  if (!external)
    return isa<DenseElementsAttr>(value) && statedType(value) == type;
  const int64_t bits = ConstantOp::storedBits(type.getElementType());
  return !external.getStored() &&
         int64_t(external.getBytes()) * 8 == type.getNumElements() * bits;
}

LogicalResult ParameterOp::verify() {
  RankedTensorType type = getTensorType();
  Type element = type.getElementType();
  const bool trains = element.isF32() || element.isF16() || element.isBF16();
  if (!trains || type.getRank() == 0 || !countElements(type.getShape())) // C2
    return emitOpError() << "is " << type
                         << ", expected f16, bf16 or f32 of rank 1 or more";
  if (!isDataOf(getValue(), type)) // C1
    return emitOpError() << "needs dense elements or bytes of a file for "
                         << type << ", found " << getValue();
  return success();
}

LogicalResult NodeOp::verify() {
  if (getOpType().empty()) // C1
    return emitOpError("has no operator name");
  if (getOutputs().empty()) // C2
    return emitOpError("has no results");
  return success();
}

//===----------------------------------------------------------------------===//
// Products, attention, norms
//===----------------------------------------------------------------------===//

LogicalResult MatMulOp::verify() {
  ArrayRef<int64_t> x = shapeOf(getX()), weight = shapeOf(getWeight());
  if (x.empty() || weight.size() != 2 || weight[0] != x.back()) // C1
    return withMaker(emitOpError() << "cannot multiply " << getX().getType()
                                   << " by " << getWeight().getType(),
                     getWeight());
  Type element = elementOf(getY());
  if (getBias() && shapeOf(getBias()) != ArrayRef<int64_t>(weight[1])) // C2
    return typeError(*this, "bias", getBias(),
                     RankedTensorType::get(weight[1], element));
  SmallVector<int64_t> shape(x);
  shape.back() = weight[1];
  return expectType(*this, "result", getY(), shape, element); // C3
}

LogicalResult BatchMatMulOp::verify() {
  ArrayRef<int64_t> a = shapeOf(getA()), b = shapeOf(getB());
  if (a.size() < 2 || b.size() < 2 || a.back() != b[b.size() - 2]) // C1
    return withMaker(emitOpError() << "cannot multiply " << getA().getType()
                                   << " by " << getB().getType(),
                     getB());
  SmallVector<int64_t> shape;
  if (!OpTrait::util::getBroadcastedShape(a.drop_back(2), b.drop_back(2),
                                          shape)) // C2
    return withMaker(emitOpError()
                         << "has matrices that do not pair: "
                         << getA().getType() << " and " << getB().getType(),
                     getB());
  shape.append({a[a.size() - 2], b.back()});
  return expectType(*this, "result", getY(), shape, elementOf(getY()));
}

LogicalResult wsec::onnx::verifyTerms(Operation *op, ArrayAttr terms,
                                      int64_t masks, int64_t queries,
                                      int64_t keys) {
  int64_t taken = 0;
  const size_t last = terms.size() - 1;
  for (auto [number, term] : llvm::enumerate(terms.getAsRange<TermAttr>())) {
    if (term.getOperand() && *term.getOperand() != taken++) // C7
      return op->emitOpError()
             << "term " << number << " takes mask " << *term.getOperand()
             << ", expected " << taken - 1;
    if (!term.isOfScores() && number != last) // C8
      return op->emitOpError()
             << "term " << number << " of weights, "
             << stringifyTermKind(term.getKind()) << ", is not the last one";
    if (term.getKind() == TermKind::ZeroHidden) { // C8
      auto before = number == 1 ? cast<TermAttr>(terms[0]) : TermAttr();
      if (!before || before.getKind() != TermKind::Add || !before.getOperand())
        return op->emitOpError("zero_hidden needs one term before it, which "
                               "adds a mask");
    }
    if (term.getLater() && queries != keys) // C9
      return op->emitOpError() << "hides later keys of " << queries
                               << " queries and " << keys << " keys";
  }
  if (taken != masks) // C7
    return op->emitOpError()
           << masks << " masks, of which terms take " << taken;
  return success();
}

LogicalResult AttentionOp::verify() {
  ArrayRef<int64_t> q = shapeOf(getQ()), k = shapeOf(getK()),
                    v = shapeOf(getV());
  if (q.size() != 3 || k.size() != 3 || v.size() != 3 || q[0] != k[0] ||
      q[0] != v[0]) // C1
    return withMaker(
        emitOpError("needs q, k and v of rank 3 and equal batch, found ")
            << getQ().getType() << ", " << getK().getType() << ", "
            << getV().getType(),
        getK());
  const int64_t heads = getNumHeads(), shared = keyHeads();
  if (failed(verifyHeads(*this, "q", getQ(), heads)) ||
      failed(verifyHeads(*this, "k", getK(), shared)) ||
      failed(verifyHeads(*this, "v", getV(), shared))) // C2
    return failure();
  if (heads % shared != 0) // C2
    return emitOpError() << heads << " heads cannot share " << shared
                         << " heads of keys evenly";
  if (q[2] / heads != k[2] / shared || k[1] != v[1]) // C3
    return withMaker(
        emitOpError("q and k differ in features or k and v in tokens: ")
            << getQ().getType() << ", " << getK().getType() << ", "
            << getV().getType(),
        getK());
  for (Value mask : getMasks()) {
    ArrayRef<int64_t> shape = shapeOf(mask);
    bool fits = shape.size() == 4 && shape[1] == 1 &&
                (shape[2] == q[1] || shape[2] == 1) && shape[3] == k[1];
    fits |= shape.size() == 3 && shape[1] == q[1] && shape[2] == heads * k[1];
    if (!fits || (shape[0] != q[0] && shape[0] != 1)) // C5
      return withMaker(emitOpError()
                           << "mask is " << mask.getType() << ", expected ["
                           << q[0] << " or 1, 1, " << q[1] << " or 1, " << k[1]
                           << "], or [" << q[0] << " or 1, " << q[1] << ", "
                           << heads * k[1] << "]",
                       mask);
  }
  if (std::optional<APFloat> cap = getSoftcap();
      cap && !(cap->convertToFloat() > 0)) // C6
    return emitOpError() << "caps scores at " << cap->convertToFloat()
                         << ", expected a positive number";
  if (failed(verifyTerms(*this, getTerms(), getMasks().size(), q[1], k[1])))
    return failure();
  return expectType(*this, "result", getY(),
                    {q[0], q[1], v[2] / shared * heads},
                    elementOf(getQ())); // C4
}

static LogicalResult rankError(Operation *op, Value x) {
  return withMaker(op->emitOpError("needs x of rank 3, found ") << x.getType(),
                   x);
}

LogicalResult RotaryOp::verify() {
  ArrayRef<int64_t> x = shapeOf(getX()), angles = shapeOf(getCos());
  if (x.size() != 3) // C1
    return rankError(*this, getX());
  if (failed(verifyHeads(*this, "x", getX(), getNumHeads()))) // C1
    return failure();
  const int64_t size = x[2] / int64_t(getNumHeads()), turned = getRotaryDim();
  if (turned <= 0 || turned % 2 != 0 || turned > size) // C2
    return emitOpError() << "turns " << turned << " features of heads of "
                         << size;
  const bool fits = getCos().getType() == getSin().getType() &&
                    angles.size() == 3 &&
                    (angles[0] == x[0] || angles[0] == 1) &&
                    (angles[1] == x[1] || angles[1] == 1) &&
                    (angles[2] == turned || angles[2] == turned / 2);
  if (!fits) // C3
    return withMaker(emitOpError()
                         << "cos is " << getCos().getType() << " and sin "
                         << getSin().getType() << ", expected [" << x[0]
                         << " or 1, " << x[1] << " or 1, " << turned << " or "
                         << turned / 2 << "]",
                     getCos());
  return expectType(*this, "result", getY(), x, elementOf(getX())); // C4
}

LogicalResult wsec::onnx::verifyFeatureVector(Operation *op, StringRef what,
                                              Value x, Value vector) {
  if (!shapeOf(x).empty() &&
      shapeOf(vector) == ArrayRef<int64_t>(lastExtent(x)))
    return success();
  return withMaker(op->emitOpError() << what << " is " << vector.getType()
                                     << ", expected one element per feature of "
                                     << x.getType(),
                   vector);
}

LogicalResult LayerNormOp::verify() {
  if (failed(verifyFeatureVector(*this, "scale", getX(), getScale())))
    return failure(); // C1
  if (getBias() &&
      failed(verifyFeatureVector(*this, "bias", getX(), getBias())))
    return failure(); // C1
  return expectType(*this, "result", getY(), shapeOf(getX()),
                    elementOf(getX())); // C2
}

LogicalResult RMSNormOp::verify() {
  if (failed(verifyFeatureVector(*this, "scale", getX(), getScale())))
    return failure(); // C1
  if (std::optional<uint64_t> heads = getNumHeads())
    if (failed(verifyHeads(*this, "x", getX(), *heads)))
      return failure(); // C3
  return expectType(*this, "result", getY(), shapeOf(getX()),
                    elementOf(getX())); // C2
}

LogicalResult SliceHeadsOp::verify() {
  ArrayRef<int64_t> x = shapeOf(getX()), y = shapeOf(getY());
  const int64_t heads = getNumHeads(), start = getStart();
  if (x.size() != 3) // C1
    return rankError(*this, getX());
  if (failed(verifyHeads(*this, "x", getX(), heads))) // C1
    return failure();
  if (y.size() != 3 || y.drop_back() != x.drop_back() ||
      elementOf(getY()) != elementOf(getX())) // C2
    return emitOpError() << "takes features of " << getX().getType()
                         << ", found " << getY().getType();
  if (failed(verifyHeads(*this, "the result", getY(), heads))) // C2
    return failure();
  if (start < 0 || start + y[2] / heads > x[2] / heads) // C3
    return emitOpError() << "takes features " << start << " to "
                         << start + y[2] / heads << " of heads of "
                         << x[2] / heads;
  return success();
}

LogicalResult CrossEntropyOp::verify() {
  ArrayRef<int64_t> logits = shapeOf(getLogits()),
                    labels = shapeOf(getLabels());
  Type label = elementOf(getLabels());
  if (logits.empty() || labels != logits.drop_back() ||
      !(label.isInteger(32) || label.isInteger(64))) // C1
    return withMaker(emitOpError()
                         << "cannot hold " << getLogits().getType()
                         << " against labels " << getLabels().getType(),
                     getLabels());
  if (getWeights() &&
      failed(verifyFeatureVector(*this, "weights", getLogits(), getWeights())))
    return failure(); // C2
  const double smoothing = getLabelSmoothing().convertToDouble();
  if (!(smoothing >= 0 && smoothing <= 1)) // C3
    return emitOpError() << "label_smoothing is " << smoothing
                         << ", expected 0 to 1";
  const bool isNone = getReduction() == LossReduction::None;
  return expectType(*this, "result", getLoss(),
                    isNone ? labels : ArrayRef<int64_t>(),
                    elementOf(getLogits())); // C4
}

LogicalResult GatherOp::verify() {
  ArrayRef<int64_t> table = shapeOf(getTable());
  Type ids = elementOf(getIds());
  if (table.size() != 2 || !(ids.isInteger(32) || ids.isInteger(64))) // C1
    return withMaker(emitOpError() << "cannot look " << getIds().getType()
                                   << " up in " << getTable().getType(),
                     getIds());
  SmallVector<int64_t> shape(shapeOf(getIds()));
  shape.push_back(table[1]);
  return expectType(*this, "result", getY(), shape,
                    elementOf(getTable())); // C2
}

LogicalResult ExpertsOp::verify() {
  ArrayRef<int64_t> x = shapeOf(getX()), weight = shapeOf(getWeight());
  if (x.size() != 2 || weight.size() != 3 || weight[1] != x[1]) // C1
    return withMaker(emitOpError() << "cannot multiply " << getX().getType()
                                   << " by " << getWeight().getType(),
                     getWeight());
  Type ids = elementOf(getIds());
  if (shapeOf(getIds()) != x.take_front() ||
      !(ids.isInteger(32) || ids.isInteger(64))) // C2
    return withMaker(emitOpError()
                         << "cannot choose experts for " << getX().getType()
                         << " by " << getIds().getType(),
                     getIds());
  return expectType(*this, "result", getY(), {x[0], weight[2]},
                    elementOf(getX())); // C3
}

#define GET_OP_CLASSES
#include "dialects/onnx/OnnxOps.cpp.inc"
