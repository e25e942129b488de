// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/values/OnnxValues.h"
#include "mlir/Dialect/Traits.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace wsec;
using namespace wsec::values;

StringRef wsec::values::nodeName(Operation *op) {
  auto name = op->getAttrOfType<StringAttr>("node");
  return name ? name.getValue() : StringRef();
}

std::string wsec::values::qualifiedName(onnx::NodeOp op) {
  if (op.getDomain().empty())
    return op.getOpType().str();
  return (op.getDomain() + "." + op.getOpType()).str();
}

void wsec::values::absorb(Operation *op, ArrayRef<Operation *> others) {
  llvm::SmallSetVector<Attribute, 8> names;
  auto add = [&](Operation *from) {
    if (auto more = from->getAttrOfType<ArrayAttr>(onnx::absorbedAttrName))
      names.insert(more.begin(), more.end());
  };
  add(op);
  for (Operation *other : others) {
    // What is computed now is done by nobody when the program runs.
    if (isa<onnx::ConstantOp>(other))
      continue;
    if (!nodeName(other).empty())
      names.insert(other->getAttr("node"));
    add(other);
  }
  names.remove(op->getAttr("node"));
  if (!names.empty())
    op->setAttr(onnx::absorbedAttrName,
                ArrayAttr::get(op->getContext(), names.getArrayRef()));
}

SmallVector<Operation *> wsec::values::neededOnlyBy(Operation *root) {
  SmallVector<Operation *> found = {root};
  llvm::DenseMap<Operation *, int64_t> otherUses; // looked up only
  for (size_t i = 0; i < found.size(); ++i)
    for (Value operand : found[i]->getOperands()) {
      Operation *source = operand.getDefiningOp();
      if (!source)
        continue;
      auto [uses, isNew] = otherUses.try_emplace(source, 0);
      if (isNew)
        uses->second = std::distance(source->use_begin(), source->use_end());
      if (--uses->second == 0)
        found.push_back(source);
    }
  llvm::sort(found,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  return found;
}

bool wsec::values::isConstant(Value value) {
  return value.getDefiningOp<onnx::ConstantOp>() != nullptr;
}

static std::shared_ptr<const Storage> storageOf(onnx::ConstantOp op) {
  auto storage = std::make_shared<Storage>();
  storage->type = *elementTypeOf(op.getStoredType());
  Attribute value = op.getValue();
  if (onnx::ParameterOp parameter = op.getParameter()) {
    storage->parameter = cast<onnx::ParameterAttr>(value);
    storage->isTrainable = parameter.isTrainable();
    value = parameter.getValue();
  }
  if (auto external = dyn_cast<onnx::ExternalAttr>(value)) {
    storage->file = external.getFile().str();
    storage->weightFolders =
        &op->getContext()->getLoadedDialect<onnx::OnnxDialect>()->weightFolders;
    storage->fileOffset = external.getOffset();
    storage->fileBytes = external.getBytes();
    return storage;
  }
  storage->quantized = dyn_cast<onnx::QuantizedAttr>(value);
  storage->dense = dyn_cast<DenseElementsAttr>(value);
  return storage;
}

std::optional<Fact> wsec::values::factOf(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type || !type.hasStaticShape())
    return std::nullopt;
  std::optional<ElementType> element = elementTypeOf(type.getElementType());
  if (!element)
    return std::nullopt;
  Fact fact{*element, Shape(type.getShape()), std::nullopt};
  auto op = value.getDefiningOp<onnx::ConstantOp>();
  if (!op)
    return fact;
  fact.constant = Constant{storageOf(op),
                           StridedView::strided(fact.shape, op.getViewOffset(),
                                                op.getViewStrides())};
  return fact;
}

/// Stored elements of `storage` as an attribute of a constant that reads them
/// as `type`.
static Attribute attributeOf(MLIRContext *context, const Storage &storage,
                             ElementType type) {
  if (storage.parameter)
    return storage.parameter;
  if (storage.quantized)
    return storage.quantized;
  if (storage.dense)
    return storage.dense;
  if (!storage.isExternal())
    return denseOf(context, storage.inMemory());
  return onnx::ExternalAttr::get(
      context, storage.file, storage.fileOffset, storage.fileBytes,
      storage.type == type ? Type() : toMlirType(context, storage.type));
}

Value wsec::values::materialize(OpBuilder &builder, Location loc,
                                const Fact &fact, StringRef node) {
  MLIRContext *context = builder.getContext();
  auto type = RankedTensorType::get(fact.shape, toMlirType(context, fact.type));
  const Storage &storage = *fact.constant->storage;
  const StridedView &view = fact.constant->view;
  std::optional<Shape> strides = view.strides();
  // A view keeps what is in a file there, what is quantised as it is, and
  // repetitions unrepeated.
  bool keepsView = storage.isExternal() || storage.quantized ||
                   numElements(fact.shape) > storage.numElements();
  if (strides && keepsView && numElements(fact.shape) > 0) {
    int64_t stored = storage.numElements();
    bool whole = view.isContiguous() && stored == numElements(fact.shape);
    return onnx::ConstantOp::create(
        builder, loc, type, attributeOf(context, storage, fact.type),
        whole ? IntegerAttr() : builder.getI64IntegerAttr(view.getOffset()),
        whole ? DenseI64ArrayAttr() : builder.getDenseI64ArrayAttr(*strides),
        builder.getStringAttr(node));
  }
  std::optional<Tensor> tensor = fact.load();
  if (!tensor)
    return nullptr;
  return onnx::ConstantOp::create(builder, loc, type, denseOf(context, *tensor),
                                  IntegerAttr(), DenseI64ArrayAttr(),
                                  builder.getStringAttr(node));
}

Value wsec::values::materialize(OpBuilder &builder, Location loc,
                                Tensor tensor) {
  return materialize(builder, loc, Fact::ofTensor(std::move(tensor)), "");
}

Value wsec::values::scalarLike(OpBuilder &builder, Location loc, Value like,
                               double value) {
  ElementType type = *elementTypeOf(typeOf(like).getElementType());
  return materialize(builder, loc, Tensor::scalar(type, value));
}

std::optional<double> wsec::values::uniformValue(Value value) {
  auto op = value.getDefiningOp<onnx::ConstantOp>();
  std::optional<Fact> fact = op ? factOf(value) : std::nullopt;
  if (!fact || fact->bytes() > (64 << 10) || numElements(fact->shape) == 0)
    return std::nullopt;
  std::optional<Tensor> tensor = fact->load();
  if (!tensor)
    return std::nullopt;
  for (int64_t i = 1; i < tensor->size(); ++i)
    if (tensor->asFloat(i) != tensor->asFloat(0))
      return std::nullopt;
  return tensor->asFloat(0);
}

Value wsec::values::reshapeTo(OpBuilder &builder, Location loc, Value x,
                              ArrayRef<int64_t> shape, StringRef node) {
  if (shapeOf(x) == shape)
    return x;
  return onnx::ReshapeOp::create(builder, loc, withShape(x, shape), x,
                                 builder.getStringAttr(node));
}

static bool isComparison(onnx::BinaryKind kind) {
  return kind == onnx::BinaryKind::Equal || kind == onnx::BinaryKind::Less ||
         kind == onnx::BinaryKind::LessOrEqual;
}

Value wsec::values::binary(OpBuilder &builder, Location loc,
                           onnx::BinaryKind kind, Value a, Value b,
                           StringRef node) {
  Shape shape = *broadcastShapes(shapeOf(a), shapeOf(b));
  Type element =
      isComparison(kind) ? builder.getI1Type() : typeOf(a).getElementType();
  return onnx::BinaryOp::create(builder, loc,
                                RankedTensorType::get(shape, element), kind, a,
                                b, builder.getStringAttr(node));
}

Value wsec::values::operandOf(Value value, onnx::UnaryKind kind) {
  auto op = value.getDefiningOp<onnx::UnaryOp>();
  return op && op.getKind() == kind ? op.getX() : Value();
}

onnx::BinaryOp wsec::values::binaryOf(Value value, onnx::BinaryKind kind) {
  auto op = value.getDefiningOp<onnx::BinaryOp>();
  return op && op.getKind() == kind ? op : onnx::BinaryOp();
}

Value wsec::values::unary(OpBuilder &builder, Location loc,
                          onnx::UnaryKind kind, Value x, StringRef node) {
  return onnx::UnaryOp::create(builder, loc, x.getType(), kind, x,
                               builder.getStringAttr(node));
}

int64_t wsec::values::opsetOf(Operation *op) {
  auto module = dyn_cast<ModuleOp>(op);
  if (!module)
    module = op->getParentOfType<ModuleOp>();
  auto opset = module->getAttrOfType<IntegerAttr>(onnx::opsetAttrName);
  return opset ? opset.getInt() : 24;
}

Value wsec::values::batchMatmul(OpBuilder &builder, Location loc, Value a,
                                Value b, StringRef node) {
  Shape left(shapeOf(a)), right(shapeOf(b)), shape;
  auto reshape = [&](Value x, ArrayRef<int64_t> to) {
    return reshapeTo(builder, loc, x, to, node);
  };
  bool row = left.size() == 1, column = right.size() == 1;
  if (row)
    left.insert(left.begin(), 1);
  if (column)
    right.push_back(1);
  OpTrait::util::getBroadcastedShape(ArrayRef(left).drop_back(2),
                                     ArrayRef(right).drop_back(2), shape);
  shape.append({left[left.size() - 2], right.back()});
  Value product = onnx::BatchMatMulOp::create(
      builder, loc, withShape(a, shape), reshape(a, left), reshape(b, right),
      builder.getStringAttr(node));
  if (column)
    shape.pop_back();
  if (row)
    shape.erase(shape.end() - (column ? 1 : 2));
  return reshape(product, shape);
}
