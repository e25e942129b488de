// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/canonicalize/LengthMasks.h"
#include "compiler/values/OnnxValues.h"
#include "dialects/onnx/Lengths.h"

using namespace mlir;
using namespace wsec;
using namespace wsec::canonicalize;
using namespace wsec::values;

std::string LengthMasks::name() const {
  return function->getAttrOfType<StringAttr>(onnx::lengthNameAttrName).str();
}

/// An input of one number, behind the model's own.
BlockArgument LengthMasks::length() {
  if (argument)
    return argument;
  Builder builder(function);
  const unsigned index = function.getNumArguments();
  (void)function.insertArgument(
      index, RankedTensorType::get({1}, builder.getI64Type()),
      builder.getDictionaryAttr(
          {builder.getNamedAttr(onnx::nameAttrName,
                                builder.getStringAttr(name())),
           builder.getNamedAttr(onnx::lengthAttrName,
                                function->getAttr(onnx::lengthAttrName))}),
      function.getLoc());
  return argument = function.getArgument(index);
}

Value LengthMasks::number(OpBuilder &builder, Location loc, Value like,
                          double factor, double more) {
  const Type element = typeOf(like).getElementType();
  Value its = length();
  if (typeOf(its).getElementType() != element)
    its =
        onnx::CastOp::create(builder, loc, RankedTensorType::get({1}, element),
                             its, builder.getStringAttr(name()));
  if (factor != 1)
    its = binary(builder, loc, onnx::BinaryKind::Mul, its,
                 scalarLike(builder, loc, its, factor), name());
  if (more != 0)
    its = binary(builder, loc, onnx::BinaryKind::Add, its,
                 scalarLike(builder, loc, its, more), name());
  return reshapeTo(builder, loc, its, Shape(shapeOf(like).size(), 1), name());
}

Value LengthMasks::number(onnx::ConstantOp op, double factor, double more) {
  OpBuilder builder(op);
  return number(builder, op.getLoc(), op, factor, more);
}

Value LengthMasks::isThere(OpBuilder &builder, int64_t axis, int64_t rank,
                           Operation *user) {
  if (!there) {
    OpBuilder first = OpBuilder::atBlockBegin(&function.front());
    const int64_t most =
        function->getAttrOfType<DenseI64ArrayAttr>(onnx::lengthAttrName)[1];
    auto parts =
        function->getAttrOfType<IntegerAttr>(onnx::lengthPartsAttrName);
    SmallVector<int64_t> places(most);
    for (int64_t i = 0; i < most; ++i)
      places[onnx::dealtPlace(i, most, parts.getInt())] = i;
    Value numbers =
        materialize(first, function.getLoc(), Tensor::ofInts(places));
    there = binary(first, function.getLoc(), onnx::BinaryKind::Less, numbers,
                   length(), name());
  }
  Shape shape(rank, 1);
  shape[axis] = shapeOf(there)[0];
  return reshapeTo(builder, user->getLoc(), there, shape, nodeName(user));
}

Value LengthMasks::masked(OpBuilder &builder, Value x, int64_t axis,
                          double value, Operation *user) {
  const int64_t rank = int64_t(shapeOf(x).size());
  Value condition = isThere(builder, axis, rank, user);
  return onnx::WhereOp::create(builder, user->getLoc(), x.getType(), condition,
                               x, scalarLike(builder, user->getLoc(), x, value),
                               nodeName(user));
}

Value LengthMasks::hidden(OpBuilder &builder, onnx::AttentionOp op) {
  Value condition = isThere(builder, 3, 4, op);
  Value like = op.getK();
  auto type =
      RankedTensorType::get(shapeOf(condition), typeOf(like).getElementType());
  return onnx::WhereOp::create(
      builder, op.getLoc(), type, condition,
      scalarLike(builder, op.getLoc(), like, 0),
      scalarLike(builder, op.getLoc(), like, -INFINITY), op.getNode());
}

static bool holdsNumbers(Value constant) {
  const std::optional<Fact> fact = factOf(constant);
  const std::optional<Tensor> tensor = fact ? fact->load() : std::nullopt;
  if (!tensor || !isFloat(tensor->type()))
    return tensor.has_value();
  for (int64_t i = 0; i < tensor->size(); ++i)
    if (!std::isfinite(tensor->asFloat(i)))
      return false;
  return true;
}

/// Whether an operation makes numbers of numbers.
static bool keepsFinite(Operation *op) {
  if (auto unary = dyn_cast<onnx::UnaryOp>(op)) {
    constexpr StringLiteral kinds[] = {"neg",  "abs",     "erf",   "tanh",
                                       "sign", "sigmoid", "round", "trunc"};
    return llvm::is_contained(kinds, stringifyUnaryKind(unary.getKind()));
  }
  if (auto binary = dyn_cast<onnx::BinaryOp>(op)) {
    constexpr StringLiteral kinds[] = {"add", "sub", "mul", "min", "max"};
    const std::optional<double> by = uniformValue(binary.getB());
    return llvm::is_contained(kinds, stringifyBinaryKind(binary.getKind())) ||
           (binary.getKind() == onnx::BinaryKind::Div && by && *by != 0);
  }
  if (auto norm = dyn_cast<onnx::LayerNormOp>(op))
    return norm.getEpsilon().convertToFloat() > 0;
  if (auto norm = dyn_cast<onnx::RMSNormOp>(op))
    return norm.getEpsilon().convertToFloat() > 0;
  if (isa<onnx::ConstantOp>(op))
    return holdsNumbers(op->getResult(0));
  return isa<onnx::MatMulOp, onnx::BatchMatMulOp, onnx::AttentionOp,
             onnx::RotaryOp, onnx::SoftmaxOp, onnx::GatherOp, onnx::WhereOp,
             onnx::CastOp, onnx::ReduceOp, onnx::ReshapeOp, onnx::ExpandOp,
             onnx::TransposeOp, onnx::SliceOp, onnx::SliceHeadsOp,
             onnx::ConcatOp>(op);
}

bool LengthMasks::isFinite(Value value) {
  SmallVector<Value> open{value};
  while (!open.empty()) {
    Value next = open.back();
    Operation *op = next.getDefiningOp();
    if (finite.contains(next) || !op || !keepsFinite(op)) {
      finite.try_emplace(next, !op || keepsFinite(op));
      open.pop_back();
      continue;
    }
    const size_t before = open.size();
    for (Value operand : op->getOperands())
      if (!finite.contains(operand))
        open.push_back(operand);
    if (open.size() > before)
      continue;
    finite[next] =
        llvm::all_of(op->getOperands(), [&](Value its) { return finite[its]; });
    open.pop_back();
  }
  return finite[value];
}
