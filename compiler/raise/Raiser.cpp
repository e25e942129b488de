// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/raise/Raiser.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/StringExtras.h"
#include <cmath>

using namespace mlir;
using namespace wsec;
using namespace wsec::raise;

Extents wsec::raise::broadcast(ArrayRef<int64_t> a, ArrayRef<int64_t> b) {
  if (a.size() < b.size())
    std::swap(a, b);
  Extents shape(a);
  for (auto [extent, other] : llvm::zip(llvm::reverse(shape), llvm::reverse(b)))
    if (extent == 1)
      extent = other;
  return shape;
}

std::optional<double> wsec::raise::uniformNumber(Value value) {
  auto constant = value.getDefiningOp<onnx::ConstantOp>();
  auto elements = constant ? dyn_cast<DenseElementsAttr>(constant.getValue())
                           : DenseElementsAttr();
  if (!elements || !elements.isSplat())
    return std::nullopt;
  if (isa<FloatType>(elements.getElementType()))
    return elements.getSplatValue<APFloat>().convertToDouble();
  if (isa<IntegerType>(elements.getElementType()))
    return double(elements.getSplatValue<APInt>().getSExtValue());
  return std::nullopt;
}

/// As TensorProto.DataType counts them, or 0.
static int64_t onnxNumber(Type type) {
  if (type.isF32())
    return 1;
  if (type.isF16())
    return 10;
  if (type.isF64())
    return 11;
  if (type.isBF16())
    return 16;
  if (type.isInteger(8))
    return 3;
  if (type.isInteger(16))
    return 5;
  if (type.isInteger(32))
    return 6;
  if (type.isInteger(64) || type.isIndex())
    return 7;
  return type.isInteger(1) ? 9 : 0;
}

/// "generic_5/Add", and "generic_5/Add_1" for the next: the fifth operation.
std::string Raiser::nodeName(StringRef type) {
  std::string name =
      (current->getName().stripDialect() + "_" + Twine(position)).str();
  if (current->hasTrait<OpTrait::ConstantLike>())
    return name;
  name += ("/" + type).str();
  if (unsigned count = names[type]++)
    name += "_" + std::to_string(count);
  return name;
}

Term Raiser::node(StringRef type, ArrayRef<Term> operands, Extents shape,
                  ArrayRef<NamedAttribute> attributes) {
  SmallVector<Value> values;
  for (const Term &operand : operands)
    values.push_back(operand.value);
  auto op = onnx::NodeOp::create(
      builder, current->getLoc(), onnx::UnknownType::get(builder.getContext()),
      type, /*domain=*/"", values, builder.getDictionaryAttr(attributes),
      nodeName(type));
  return {op.getResult(0), std::move(shape)};
}

/// Means and softmaxes come in pieces; phases that follow look for the whole.
Term Raiser::elementwise(StringRef type, ArrayRef<Term> operands,
                         ArrayRef<NamedAttribute> attributes) {
  if (type == "Div") {
    if (Term found = mean(operands[0], operands[1]); found.value)
      return found;
    if (Term found = softmax(operands[0], operands[1]); found.value)
      return found;
  }
  Extents shape;
  for (const Term &operand : operands)
    shape = broadcast(shape, operand.shape);
  // A layout that all operands share stays behind what is done to elements.
  SmallVector<Term> before(operands);
  const Term *first = nullptr;
  for (Term &operand : before) {
    if (operand.shape.empty())
      continue;
    auto source = reshaped.find(operand.value);
    if (source == reshaped.end() || operand.shape != shape ||
        (first && first->shape != source->second.shape))
      return node(type, operands, std::move(shape), attributes);
    operand = source->second;
    first = &operand;
  }
  if (!first)
    return node(type, operands, std::move(shape), attributes);
  return reshape(elementwise(type, before, attributes), shape);
}

static onnx::NodeOp nodeOf(Value value, StringRef type) {
  auto op = value.getDefiningOp<onnx::NodeOp>();
  return op && op.getOpType() == type ? op : onnx::NodeOp();
}

/// The axes of a reduction of constant axes.
static Attribute axesOf(onnx::NodeOp reduction) {
  auto constant = reduction.getInputs()[1].getDefiningOp<onnx::ConstantOp>();
  return constant ? constant.getValue() : Attribute();
}

/// A sum over as many elements as it is divided by.
Term Raiser::mean(const Term &sum, const Term &count) {
  onnx::NodeOp reduction = nodeOf(sum.value, "ReduceSum");
  std::optional<double> number = uniformNumber(count.value);
  auto from = reduction ? reduced.find(sum.value) : reduced.end();
  if (!number || from == reduced.end())
    return {};
  double elements = 1;
  for (auto [all, left] : llvm::zip(from->second.shape, sum.shape))
    elements *= all == left ? 1 : double(all);
  if (elements != *number || broadcast(sum.shape, count.shape) != sum.shape)
    return {};
  Term axes{reduction.getInputs()[1], {}};
  return node("ReduceMean", {from->second, axes}, sum.shape);
}

/// exp(x - max(x)) / sum(exp(x - max(x))), each along the same dimension.
Term Raiser::softmax(const Term &above, const Term &below) {
  onnx::NodeOp sum = nodeOf(below.value, "ReduceSum");
  onnx::NodeOp exp = nodeOf(above.value, "Exp");
  onnx::NodeOp difference =
      exp ? nodeOf(exp.getInputs()[0], "Sub") : onnx::NodeOp();
  if (!sum || !difference || sum.getInputs()[0] != above.value)
    return {};
  onnx::NodeOp largest = nodeOf(difference.getInputs()[1], "ReduceMax");
  auto axes = dyn_cast_or_null<DenseElementsAttr>(axesOf(sum));
  if (!largest || largest.getInputs()[0] != difference.getInputs()[0] ||
      !axes || axes.getNumElements() != 1 || axesOf(largest) != axes)
    return {};
  auto axis = builder.getNamedAttr(
      "axis", builder.getI64IntegerAttr(*axes.value_begin<int64_t>()));
  return node("Softmax", Term{largest.getInputs()[0], {}}, above.shape, axis);
}

Term Raiser::reduce(StringRef type, const Term &from, ArrayRef<int64_t> axes) {
  Extents shape = from.shape;
  for (int64_t axis : axes)
    shape[axis] = 1;
  Term result = node(type, {from, integers(axes)}, std::move(shape));
  reduced[result.value] = from;
  return result;
}

Term Raiser::constant(DenseElementsAttr elements) {
  auto op = onnx::ConstantOp::create(
      builder, current->getLoc(), elements.getType(), elements,
      /*offset=*/IntegerAttr(), /*strides=*/DenseI64ArrayAttr(),
      builder.getStringAttr(nodeName("Constant")));
  return {op.getResult(), Extents(elements.getType().getShape())};
}

Term Raiser::integers(ArrayRef<int64_t> numbers) {
  return constant(DenseElementsAttr::get(
      RankedTensorType::get(int64_t(numbers.size()), builder.getI64Type()),
      numbers));
}

FailureOr<Term> Raiser::converted(Term from, Type element) {
  int64_t number = onnxNumber(element);
  if (number == 0)
    return refuse("its elements are of a type that ONNX does not have");
  constexpr double exact = 1LL << 53;
  if (auto known = uniformNumber(from.value);
      known && std::abs(*known) < exact && isa<FloatType>(element)) {
    APFloat value(*known);
    bool isRounded;
    value.convert(cast<FloatType>(element).getFloatSemantics(),
                  APFloat::rmNearestTiesToEven, &isRounded);
    return constant(DenseElementsAttr::get(
        RankedTensorType::get(from.shape, element), value));
  }
  return elementwise(
      "Cast", from,
      builder.getNamedAttr("to", builder.getI64IntegerAttr(number)));
}

Term Raiser::reshape(Term from, ArrayRef<int64_t> shape) {
  if (ArrayRef<int64_t>(from.shape) == shape)
    return from;
  if (auto source = reshaped.find(from.value); source != reshaped.end())
    from = source->second;
  if (ArrayRef<int64_t>(from.shape) == shape)
    return from;
  Term result =
      node("Reshape", {from, integers(shape)}, Extents(shape),
           builder.getNamedAttr("allowzero", builder.getI64IntegerAttr(1)));
  reshaped[result.value] = from;
  return result;
}

Term Raiser::transpose(Term from, ArrayRef<int64_t> order) {
  Extents shape, moved, kept;
  for (int64_t extent : from.shape)
    if (extent != 1)
      kept.push_back(extent);
  for (int64_t dim : order) {
    shape.push_back(from.shape[dim]);
    if (from.shape[dim] != 1)
      moved.push_back(dim);
  }
  if (llvm::is_sorted(moved))
    return reshape(from, shape);
  if (kept.size() < shape.size()) {
    for (int64_t &dim : moved)
      dim = llvm::count_if(ArrayRef(from.shape).take_front(dim),
                           [](int64_t extent) { return extent != 1; });
    return reshape(transpose(reshape(from, kept), moved), shape);
  }
  Transposed made{from, Extents(order)};
  if (auto inner = transposed.find(from.value); inner != transposed.end()) {
    made.from = inner->second.from;
    for (int64_t &dim : made.order)
      dim = inner->second.order[dim];
    if (llvm::is_sorted(made.order))
      return made.from;
  }
  Term result =
      node("Transpose", made.from, std::move(shape),
           builder.getNamedAttr("perm", builder.getI64ArrayAttr(made.order)));
  transposed[result.value] = std::move(made);
  return result;
}

Term Raiser::expand(Term from, ArrayRef<int64_t> shape) {
  if (ArrayRef<int64_t>(from.shape) == shape)
    return from;
  if (broadcast(from.shape, Extents(shape.size(), 1)) == shape)
    return reshape(from, shape);
  Term result = node("Expand", {from, integers(shape)}, Extents(shape));
  expanded[result.value] = from;
  return result;
}

Term Raiser::unexpanded(const Term &from) {
  auto source = expanded.find(from.value);
  if (source == expanded.end())
    return from;
  Term before = source->second;
  Extents shape(from.shape.size() - before.shape.size(), 1);
  llvm::append_range(shape, before.shape);
  return reshape(before, shape);
}

FailureOr<Term> Raiser::term(Value value) {
  reason.clear();
  auto tensor = dyn_cast<RankedTensorType>(value.getType());
  if (auto found = terms.find(value); found != terms.end())
    return !tensor || tensor.getShape() == ArrayRef(found->second.shape)
               ? FailureOr<Term>(found->second)
               : FailureOr<Term>(
                     refuse("it reads a tensor that is filled in part"));
  // Scalars are constants of the function, made where they are read.
  Attribute number;
  if (!tensor && matchPattern(value, m_Constant(&number)) &&
      succeeded(raiseConstant(value, number)))
    return terms[value];
  if (!tensor)
    return refuse("it reads a scalar that is no constant");
  if (value.getDefiningOp() && isEmpty(value.getDefiningOp()))
    return refuse("it reads a tensor that holds nothing");
  return failure();
}

Term Raiser::filled(Value value) const {
  auto found = terms.find(value);
  return found == terms.end() ? Term() : found->second;
}

/// The elements of a constant as ONNX has them, or null.
static DenseElementsAttr elementsOf(Attribute value, Type type) {
  if (auto dense = dyn_cast<DenseElementsAttr>(value))
    return dense;
  if (auto resource = dyn_cast<DenseResourceElementsAttr>(value)) {
    AsmResourceBlob *blob = resource.getRawHandle().getBlob();
    auto tensor = cast<ShapedType>(type);
    bool isSplat = false;
    if (blob &&
        DenseElementsAttr::isValidRawBuffer(tensor, blob->getData(), isSplat))
      return DenseElementsAttr::getFromRawBuffer(tensor, blob->getData());
    return nullptr;
  }
  if (auto number = dyn_cast<IntegerAttr>(value)) {
    bool isIndex = number.getType().isIndex();
    Type element =
        isIndex ? IntegerType::get(value.getContext(), 64) : number.getType();
    return DenseElementsAttr::get(RankedTensorType::get({}, element),
                                  number.getValue());
  }
  if (auto number = dyn_cast<FloatAttr>(value))
    return DenseElementsAttr::get(RankedTensorType::get({}, number.getType()),
                                  number.getValue());
  return nullptr;
}

LogicalResult Raiser::raiseConstant(Value result, Attribute value) {
  DenseElementsAttr elements = elementsOf(value, result.getType());
  if (!elements)
    return refuse("its elements are not in the file");
  if (onnxNumber(elements.getElementType()) == 0)
    return refuse("its elements are of a type that ONNX does not have");
  if (isa<FloatType>(elements.getElementType()) &&
      elements.getType().getRank() > 0) {
    parameters += elements.getNumElements();
    weightBytes += elements.getNumElements() *
                   elements.getElementType().getIntOrFloatBitWidth() / 8;
  }
  define(result, constant(elements));
  return success();
}
