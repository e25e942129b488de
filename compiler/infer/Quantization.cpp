// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Quantised numbers: made, taken, multiplied.
#include "compiler/infer/Quantization.h"
#include "compiler/infer/Operators.h"

#include <cmath>

using namespace wsec::infer;

//===----------------------------------------------------------------------===//
// Inference
//===----------------------------------------------------------------------===//

/// Whether groups of input features are in their own order, known now.
static bool isOrdered(Node &node) {
  std::optional<Tensor> groups = node.input(4).load();
  if (!groups || groups->size() != node.intAttr("K"))
    return false;
  for (int64_t i = 0; i < groups->size(); ++i)
    if (groups->asInt(i) != i / node.intAttr("block_size"))
      return false;
  return true;
}

static bool matMulNBits(Node &node) {
  int64_t bits = node.intAttr("bits"), block = node.intAttr("block_size");
  int64_t rows = node.intAttr("K"), columns = node.intAttr("N");
  constexpr int64_t most = 1 << 20;
  if ((bits != 2 && bits != 4 && bits != 8) || block < 16 || block > most ||
      !llvm::isPowerOf2_64(block) || rows < 1 || columns < 1)
    return node.fail(llvm::Twine(rows) + "x" + llvm::Twine(columns) +
                     " weights of " + llvm::Twine(bits) +
                     " bits in blocks of " + llvm::Twine(block) +
                     ", expected 2, 4 or 8 bits in blocks of 16, 32, ..., " +
                     llvm::Twine(most));
  if (node.has(4) && !isOrdered(node))
    return node.fail("an order of groups (g_idx)");
  const Fact &x = node.input(0);
  if (x.rank() == 0 || x.shape.back() != rows)
    return node.fail("cannot multiply " + printShape(x.shape) + " by " +
                     printShape({rows, columns}));
  int64_t blocks = (rows + block - 1) / block;
  if (!node.hasShape(1, "weights", {columns, blocks, block * bits / 8}) ||
      !node.hasShape(5, "a bias", {columns}))
    return false;
  int64_t zeros = isFloat(node.has(3) ? node.input(3).type : ElementType::UInt8)
                      ? blocks
                      : (blocks * bits + 7) / 8;
  for (auto [i, count] : {std::pair<size_t, int64_t>{2, blocks}, {3, zeros}})
    if (node.has(i) && numElements(node.input(i).shape) != columns * count)
      return node.fail("scales or zero points of shape " +
                       printShape(node.input(i).shape) + ", expected " +
                       printShape({columns, count}));
  Shape shape = x.shape;
  shape.back() = columns;
  return node.setOutputs({unknown(x.type, shape)});
}

/// The table of a GatherBlockQuantized: rows of integers of 4 or 8 bits, in
/// blocks with a scale each. Bytes hold two of 4 bits, lowest first, as zero
/// points do.
namespace {
struct QuantizedTable {
  explicit QuantizedTable(const Node &node)
      : bits(node.intAttr("bits")), block(node.intAttr("block_size")),
        inBytes(node.input(0).type == ElementType::UInt8) {
    const Shape &shape = node.input(0).shape;
    each = inBytes ? 8 / bits : 1;
    rows = shape.front();
    columns = shape.back() * each;
    blocks = (columns + block - 1) / block;
  }

  int64_t field(const Tensor &x, int64_t row, int64_t pitch, int64_t i) const {
    const int64_t value = x.asInt(row * pitch + i / each);
    return each == 1 ? value : value >> (i % each * bits) & 15;
  }
  double number(const Tensor &x, const Tensor &scales,
                const std::optional<Tensor> &zeros, int64_t row,
                int64_t column) const {
    const int64_t its = column / block;
    int64_t zero = inBytes ? 1 << (bits - 1) : 0;
    if (zeros)
      zero = field(*zeros, row, (blocks + each - 1) / each, its);
    return double(field(x, row, columns / each, column) - zero) *
           scales.asFloat(row * blocks + its);
  }

  int64_t bits, block, each, rows, columns, blocks;
  bool inBytes;
};
} // namespace

/// The given rows of the table as f32, or nothing where they are not constants.
static std::optional<Tensor> rowsOf(const Node &node, ArrayRef<int64_t> which) {
  std::optional<Tensor> x = node.input(0).load(), scales = node.input(2).load();
  std::optional<Tensor> zeros =
      node.has(3) ? node.input(3).load() : std::nullopt;
  if (!x || !scales || (node.has(3) && !zeros))
    return std::nullopt;
  const QuantizedTable table(node);
  Tensor result(ElementType::Float32, {int64_t(which.size()), table.columns});
  int64_t place = 0;
  for (int64_t row : which)
    for (int64_t column = 0; column < table.columns; ++column)
      result.setFloat(place++, table.number(*x, *scales, zeros, row, column));
  return result;
}

static bool gatherQuantized(Node &node) {
  const Fact &x = node.input(0), &ids = node.input(1);
  const int64_t bits = node.intAttr("bits");
  const int64_t block = node.intAttr("block_size");
  const int64_t along = node.intAttr("quantize_axis");
  if (x.rank() != 2 || node.intAttr("gather_axis") != 0 ||
      (along != 1 && along != -1))
    return node.fail("picks along axis " + Twine(node.intAttr("gather_axis")) +
                     " of " + printShape(x.shape) + ", quantised along " +
                     Twine(along) + ", expected rows of a table, axes 0 and 1");
  if ((bits != 4 && bits != 8) || block < 16 || !llvm::isPowerOf2_64(block))
    return node.fail(Twine(bits) + " bits in blocks of " + Twine(block) +
                     ", expected 4 or 8 bits in blocks of 16, 32, ...");
  const QuantizedTable table(node);
  if (!node.hasShape(2, "scales", {table.rows, table.blocks}) ||
      !node.hasShape(
          3, "zero points",
          {table.rows, (table.blocks + table.each - 1) / table.each}))
    return false;
  Shape shape = ids.shape;
  shape.push_back(table.columns);
  const Fact result = unknown(node.input(2).type, shape);
  std::optional<Shape> known =
      ids.constant ? node.ints(1, "indices") : std::nullopt;
  if (!known)
    return node.setOutputs({result});
  for (int64_t &id : *known) {
    if (id < -table.rows || id >= table.rows)
      return node.fail("index " + Twine(id) + " is outside extent " +
                       Twine(table.rows));
    id += id < 0 ? table.rows : 0;
  }
  std::optional<Tensor> picked = rowsOf(node, *known);
  if (!picked)
    return node.setOutputs({result});
  Fact constant = reshapeFact(Fact::ofTensor(picked->cast(result.type)), shape);
  return node.setOutputs({constant});
}

/// A lookup in the table as f32, as large as it is without quantisation.
static bool gatherQuantized(Legalization &n) {
  std::optional<Tensor> all = rowsOf(
      n.node(),
      llvm::to_vector(llvm::seq<int64_t>(0, n.node().input(0).shape.front())));
  if (!all)
    return n.fail("its table is not a constant, or too large to expand");
  Value ids = n.input(1);
  Shape shape(shapeOf(ids));
  shape.push_back(all->shape().back());
  Value table = n.materialize(Fact::ofTensor(std::move(*all)));
  Value y = onnx::GatherOp::create(
      n.builder(), n.loc(), withShape(table, shape), table, ids, n.nameAttr());
  return n.replace(n.cast(y, n.resultType().getElementType()));
}

/// Whether `scale` is one number, one for each index of the axis, or one for
/// each block of `block_size` of them.
static bool scaleFits(Node &node) {
  const Fact &x = node.input(0), &scale = node.input(1);
  if (numElements(scale.shape) == 1)
    return true;
  std::optional<int64_t> axis = node.axisAttr(x.rank());
  if (!axis)
    return false;
  const int64_t block = node.intAttr("block_size");
  if (block < 0)
    return node.fail("blocks of " + Twine(block));
  Shape expected = {x.shape[*axis]};
  if (block > 0) {
    expected = x.shape;
    expected[*axis] =
        int64_t(llvm::divideCeil(uint64_t(x.shape[*axis]), uint64_t(block)));
  }
  return scale.shape == expected ||
         node.fail("its scale has shape " + printShape(scale.shape) +
                   ", expected " + printShape(expected));
}

static bool zeroPointFits(Node &node) {
  return !node.has(2) ||
         numElements(node.input(2).shape) == numElements(node.input(1).shape) ||
         node.fail("its zero point has shape " +
                   printShape(node.input(2).shape) + ", its scale " +
                   printShape(node.input(1).shape));
}

static bool quantizeLinear(Node &node) {
  if (!scaleFits(node) || !zeroPointFits(node))
    return false;
  ElementType type = ElementType::UInt8;
  if (int64_t stated = node.intAttr("output_dtype")) {
    std::optional<ElementType> known = elementTypeOfOnnx(stated);
    if (!known)
      return node.fail("gives ONNX element type " + llvm::Twine(stated));
    type = *known;
  }
  if (node.has(2))
    type = node.input(2).type;
  if (int64_t precision = node.intAttr("precision"); precision > 1)
    return node.fail("divides in ONNX element type " + llvm::Twine(precision));
  return node.setOutput(unknown(type, node.input(0).shape));
}

static bool dequantizeLinear(Node &node) {
  if (!scaleFits(node) || !zeroPointFits(node))
    return false;
  ElementType type = node.input(1).type;
  if (int64_t stated = node.intAttr("output_dtype")) {
    std::optional<ElementType> known = elementTypeOfOnnx(stated);
    if (!known)
      return node.fail("gives ONNX element type " + llvm::Twine(stated));
    type = *known;
  }
  return node.setOutput(unknown(type, node.input(0).shape));
}

static bool dynamicQuantizeLinear(Node &node) {
  if (node.outputs.size() != 3)
    return false;
  node.outputs[0] = unknown(ElementType::UInt8, node.input(0).shape);
  node.outputs[1] = unknown(ElementType::Float32, {});
  node.outputs[2] = unknown(ElementType::UInt8, {});
  return true;
}

//===----------------------------------------------------------------------===//
// Legalization
//===----------------------------------------------------------------------===//

/// Whether scales are 0, or may be divided by 2^12 and lose nothing: where
/// integers are bits of a wider word, they come multiplied by up to that.
static bool canBeDivided(const Tensor &scales) {
  for (int64_t i = 0; i < scales.size(); ++i) {
    const double scale = std::abs(scales.asFloat(i));
    if (scale != 0 && !(scale >= 0x1p-114 && scale <= 0x1p127))
      return false;
  }
  return true;
}

/// Its elements as an attribute, one where all are equal.
static DenseElementsAttr denseOrSplat(MLIRContext *context,
                                      const Tensor &tensor) {
  for (int64_t i = 1; i < tensor.size(); ++i)
    if (tensor.asFloat(i) != tensor.asFloat(0))
      return denseOf(context, tensor);
  Tensor one(tensor.type(), {1});
  one.set(0, tensor, 0);
  return DenseElementsAttr::getFromRawBuffer(
      RankedTensorType::get(tensor.shape(), toMlirType(context, tensor.type())),
      one.toBytes());
}

Value infer::quantized(Legalization &n, const Tensor &values,
                       const Tensor &scales, const std::optional<Tensor> &zeros,
                       int64_t block) {
  MLIRContext *context = n.builder().getContext();
  DenseElementsAttr noZeros;
  auto attribute = onnx::QuantizedAttr::get(
      context, denseOf(context, values),
      denseOrSplat(context, scales.cast(ElementType::Float32)),
      zeros ? denseOrSplat(context, *zeros) : noZeros, block);
  Attribute kept = attribute;
  if (!canBeDivided(scales))
    kept = attribute.expanded();
  return onnx::ConstantOp::create(
      n.builder(), n.loc(),
      RankedTensorType::get(values.shape(), n.builder().getF32Type()), kept,
      IntegerAttr(), DenseI64ArrayAttr(), n.nameAttr());
}

/// The bits of MatMulNBits: integers of 2, 4 or 8 bits, lowest bits first, in
/// blocks with a scale each.
namespace {
struct Bits {
  explicit Bits(const Node &node)
      : bits(node.intAttr("bits")), block(node.intAttr("block_size")),
        rows(node.intAttr("K")), columns(node.intAttr("N")),
        blocks((rows + block - 1) / block), each(8 / bits) {}

  int64_t field(const Tensor &bytes, int64_t first, int64_t number) const {
    return (bytes.asInt(first + number / each) >> (number % each * bits)) &
           ((1 << bits) - 1);
  }
  int64_t value(const Tensor &packed, int64_t row, int64_t column) const {
    return field(packed, (column * blocks + row / block) * (block / each),
                 row % block);
  }
  double zero(const std::optional<Tensor> &zeros, int64_t number,
              int64_t column) const {
    if (!zeros)
      return 1 << (bits - 1);
    if (isFloat(zeros->type()))
      return zeros->asFloat(column * blocks + number);
    return field(*zeros, column * ((blocks + each - 1) / each), number);
  }

  int64_t bits, block, rows, columns, blocks, each;
};
} // namespace

/// The weights [K, N] of a MatMulNBits, as f32.
static Value weightsOf(Legalization &n, const Tensor &packed,
                       const Tensor &scales,
                       const std::optional<Tensor> &zeros) {
  const Bits of(n.node());
  const bool isKept = of.bits >= 4 && !(zeros && isFloat(zeros->type()));
  const ElementType type =
      of.bits == 4 ? ElementType::UInt4 : ElementType::UInt8;
  Tensor values(isKept ? type : ElementType::Float32, {of.rows, of.columns});
  Tensor scale(ElementType::Float32, {of.blocks, of.columns});
  Tensor zero(type, {of.blocks, of.columns});
  for (int64_t column = 0; column < of.columns; ++column) {
    for (int64_t number = 0; number < of.blocks; ++number) {
      const int64_t place = number * of.columns + column;
      scale.setFloat(place, scales.asFloat(column * of.blocks + number));
      if (isKept)
        zero.setInt(place, int64_t(of.zero(zeros, number, column)));
    }
    for (int64_t row = 0; row < of.rows; ++row) {
      const int64_t element = row * of.columns + column;
      const int64_t number = row / of.block;
      const int64_t q = of.value(packed, row, column);
      if (isKept)
        values.setInt(element, q);
      else
        values.setFloat(element,
                        (double(q) - of.zero(zeros, number, column)) *
                            scales.asFloat(column * of.blocks + number));
    }
  }
  if (isKept)
    return quantized(n, values, scale, zero, of.block);
  return n.materialize(Fact::ofTensor(std::move(values)));
}

static bool matMulNBits(Legalization &n) {
  std::optional<Tensor> packed = n.node().input(1).load();
  std::optional<Tensor> scales = n.node().input(2).load();
  std::optional<Tensor> zeros =
      n.has(3) ? n.node().input(3).load() : std::nullopt;
  if (!packed || !scales || (n.has(3) && !zeros))
    return n.fail("its weights are not constants, or too many to expand");
  return n.replace(n.matmul(n.input(0), weightsOf(n, *packed, *scales, zeros),
                            n.optional(5)));
}

static Value asF32(Legalization &n, Value x) {
  return n.cast(x, n.builder().getF32Type());
}

/// A scale or zero point against `x`: of one number, of one for each index of
/// the axis, or of one for each block, which is repeated.
static Value spread(Legalization &n, Value parameter, Value x) {
  Shape shape(shapeOf(x));
  const int64_t rank = shape.size();
  if (numElements(shapeOf(parameter)) == 1)
    return n.reshape(parameter, {});
  const int64_t axis = *n.node().axisAttr(rank);
  const int64_t block = n.node().intAttr("block_size");
  if (block <= 0) {
    Shape along(rank, 1);
    along[axis] = shape[axis];
    return n.reshape(parameter, along);
  }
  Shape blocks(shapeOf(parameter)), once = blocks, repeated = blocks;
  once.insert(once.begin() + axis + 1, 1);
  repeated.insert(repeated.begin() + axis + 1, block);
  blocks[axis] *= block;
  Value wide = n.reshape(parameter, once);
  wide = onnx::ExpandOp::create(n.builder(), n.loc(), withShape(wide, repeated),
                                wide, n.nameAttr());
  wide = n.reshape(wide, blocks);
  if (blocks == shape)
    return wide;
  // The last block may be smaller.
  return n.slice(wide, Box{Shape(rank, 0), shape, Shape(rank, 1)});
}

/// round(x / scale) + zero point, between the least and the largest number.
static bool quantizeLinear(Legalization &n) {
  Value x = asF32(n, n.input(0));
  x = n.div(x, spread(n, asF32(n, n.input(1)), x));
  auto integer = dyn_cast<IntegerType>(n.resultType().getElementType());
  if (!integer) { // floats of 8 bits have no zero point
    if (x.getType() != n.resultType())
      return n.fail("gives elements that are rounded no further");
    return n.replace(x);
  }
  if (integer.getWidth() > 16)
    return n.fail("gives integers of more than 16 bits");
  x = n.round(x);
  if (n.has(2))
    x = n.add(x, spread(n, asF32(n, n.input(2)), x));
  const double count = double(int64_t(1) << integer.getWidth());
  const double least = integer.isUnsigned() ? 0 : -count / 2;
  x = n.max(x, least);
  x = n.min(x, least + count - 1);
  return n.replace(n.cast(x, integer));
}

/// A constant of 4 or 8 bits stays as it is; null if this is none.
static Value keptConstant(Legalization &n) {
  const Fact &x = n.node().input(0);
  const bool isSmall =
      x.type == ElementType::Int4 || x.type == ElementType::UInt4 ||
      x.type == ElementType::Int8 || x.type == ElementType::UInt8;
  if (!isSmall || !n.resultType().getElementType().isF32() || x.rank() == 0)
    return nullptr;
  std::optional<Tensor> values = x.load(), scales = n.node().input(1).load();
  std::optional<Tensor> zeros =
      n.has(2) ? n.node().input(2).load() : std::nullopt;
  if (!values || !scales || (n.has(2) && !zeros))
    return nullptr;
  // One for each index of the axis, or of its blocks, or one for all.
  const int64_t block = n.node().intAttr("block_size");
  Shape shape = scales->shape();
  if (block <= 0 || scales->size() == 1) {
    shape.assign(x.rank(), 1);
    if (scales->size() > 1)
      shape[*n.node().axisAttr(x.rank())] = scales->size();
  }
  if (zeros)
    zeros = zeros->reshaped(shape);
  return quantized(n, *values, scales->reshaped(shape), zeros,
                   std::max<int64_t>(1, block));
}

static bool dequantizeLinear(Legalization &n) {
  if (Value constant = keptConstant(n))
    return n.replace(constant);
  Value x = n.input(0);
  auto integer = dyn_cast<IntegerType>(typeOf(x).getElementType());
  if (n.has(2) && integer) {
    Type i32 = n.builder().getI32Type();
    x = n.cast(x, i32);
    x = n.sub(x, spread(n, n.cast(n.input(2), i32), x));
  }
  x = asF32(n, x);
  x = n.mul(x, spread(n, asF32(n, n.input(1)), x));
  return n.replace(n.cast(x, n.resultType().getElementType()));
}

/// Scale and zero point from the extremes, which take 0 in.
static bool dynamicQuantizeLinear(Legalization &n) {
  Value x = n.input(0);
  const int64_t count = numElements(shapeOf(x));
  Value flat = n.reshape(x, {count});
  auto largest = [&](Value value) -> Value {
    Value most =
        onnx::ReduceOp::create(n.builder(), n.loc(), withShape(value, Shape{}),
                               ReduceKind::Max, value, 0, false, n.nameAttr());
    return n.max(most, 0.0);
  };
  Value high = largest(flat);
  Value low = n.neg(largest(n.neg(flat)));
  Value range = n.sub(high, low);
  // All zero: 1, as onnxruntime has it.
  Value isEmpty = n.equal(range, n.scalarLike(range, 0));
  Value scale = Value(onnx::WhereOp::create(
      n.builder(), n.loc(), cast<RankedTensorType>(range.getType()), isEmpty,
      n.scalarLike(range, 1), n.div(range, 255.0), n.nameAttr()));
  auto clamped = [&](Value value) { return n.min(n.max(value, 0.0), 255.0); };
  Value zero = n.round(clamped(n.neg(n.div(low, scale))));
  Value y = n.round(n.div(x, scale));
  y = clamped(n.add(y, zero));
  Type byte = n.resultType().getElementType();
  return n.replace({n.cast(y, byte), scale, n.cast(zero, byte)});
}

llvm::ArrayRef<Operator> wsec::infer::quantizationOperators() {
  static const Operator operators[] = {
      {"QuantizeLinear", quantizeLinear, quantizeLinear,
       "axis block_size output_dtype saturate precision"},
      {"DequantizeLinear", dequantizeLinear, dequantizeLinear,
       "axis block_size output_dtype"},
      {"DynamicQuantizeLinear", dynamicQuantizeLinear, dynamicQuantizeLinear},
      {"com.microsoft.MatMulNBits", matMulNBits, matMulNBits,
       "K N bits block_size accuracy_level"},
      {"com.microsoft.GatherBlockQuantized", gatherQuantized, gatherQuantized,
       "bits block_size gather_axis quantize_axis"},
  };
  return operators;
}
