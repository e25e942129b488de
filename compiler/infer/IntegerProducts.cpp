// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products of matrices of 8-bit integers, exactly: as many terms at a time as
// f32 holds the sum of, and the sums of those as integers.
#include "compiler/infer/Operators.h"
#include "compiler/infer/Quantization.h"

using namespace wsec::infer;

//===----------------------------------------------------------------------===//
// Inference
//===----------------------------------------------------------------------===//

/// Whether input `i` is one number, or one for each index of dimension `d` of
/// a matrix, which others may precede.
static bool fitsMatrix(Node &node, size_t i, const Shape &matrix, size_t d) {
  if (!node.has(i))
    return true;
  const Shape &shape = node.input(i).shape;
  const int64_t count = matrix[d];
  Shape along = matrix;
  along[d == matrix.size() - 1 ? d - 1 : d + 1] = 1;
  if (numElements(shape) == 1 || shape == Shape{count} || shape == along)
    return true;
  return node.fail("input " + Twine(i) + " of shape " + printShape(shape) +
                   ", expected 1 or " + Twine(count) + " elements");
}

/// The most whose sum 32 bits hold, of up to 255 * 255 each.
static constexpr int64_t mostTerms = (int64_t(1) << 31) / (255 * 255);

/// The product of inputs `left` and `right`.
static bool product(Node &node, size_t left, size_t right, ElementType type) {
  const Shape &a = node.input(left).shape, &b = node.input(right).shape;
  if (a.size() < 2 || b.size() < 2)
    return node.fail("operands are not matrices");
  auto shape =
      broadcastShapes(ArrayRef(a).drop_back(2), ArrayRef(b).drop_back(2));
  if (!shape || a.back() != b[b.size() - 2])
    return node.fail("cannot multiply " + printShape(a) + " by " +
                     printShape(b));
  if (a.back() < 1 || a.back() > mostTerms)
    return node.fail("sums of " + Twine(a.back()) +
                     " products, expected 1 to " + Twine(mostTerms));
  shape->append({a[a.size() - 2], b.back()});
  return node.setOutput(unknown(type, *shape));
}

static bool matMulInteger(Node &node) {
  if (!product(node, 0, 1, ElementType::Int32))
    return false;
  const Shape &a = node.input(0).shape, &b = node.input(1).shape;
  return fitsMatrix(node, 2, a, a.size() - 2) &&
         fitsMatrix(node, 3, b, b.size() - 1);
}

static bool qLinearMatMul(Node &node) {
  if (!product(node, 0, 3, node.input(7).type))
    return false;
  const Shape &a = node.input(0).shape, &b = node.input(3).shape;
  if (numElements(node.input(6).shape) != 1 ||
      numElements(node.input(7).shape) != 1)
    return node.fail("its result has several scales or zero points");
  return fitsMatrix(node, 1, a, a.size() - 2) &&
         fitsMatrix(node, 2, a, a.size() - 2) &&
         fitsMatrix(node, 4, b, b.size() - 1) &&
         fitsMatrix(node, 5, b, b.size() - 1);
}

//===----------------------------------------------------------------------===//
// Legalization
//===----------------------------------------------------------------------===//

/// One number, or one for each row (or column) of a matrix.
static Value along(Legalization &n, Value numbers, bool ofRows) {
  const int64_t count = numElements(shapeOf(numbers));
  if (count == 1)
    return n.reshape(numbers, {});
  if (shapeOf(numbers).size() > 1)
    return numbers;
  return ofRows ? n.reshape(numbers, {count, 1}) : numbers;
}

/// x - zero, as f32.
static Value centered(Legalization &n, Value x, Value zero, bool ofRows) {
  Type i32 = n.builder().getI32Type();
  x = n.cast(x, i32);
  if (zero)
    x = n.sub(x, along(n, n.cast(zero, i32), ofRows));
  return n.cast(x, n.builder().getF32Type());
}

/// Terms of up to 255 * 255 whose sums f32 holds: below 2^24.
static constexpr int64_t exactTerms = 256;

/// Rows [start, start + size) of a matrix of constants less its zero points:
/// weights, which stay integers where they are. Null if they are none.
static Value weightRows(Legalization &n, size_t matrix, size_t zeros,
                        int64_t start, int64_t size) {
  const Fact &fact = n.node().input(matrix);
  std::optional<Tensor> all = fact.rank() == 2 ? fact.load() : std::nullopt;
  std::optional<Tensor> zero;
  if (n.has(zeros))
    zero = n.node().input(zeros).load();
  if (!all || (n.has(zeros) && !zero))
    return {};
  const int64_t columns = fact.shape[1];
  Tensor rows(fact.type, {size, columns});
  for (int64_t i = 0; i < rows.size(); ++i)
    rows.set(i, *all, start * columns + i);
  if (zero)
    zero = zero->reshaped({1, zero->size()});
  Tensor ones(ElementType::Float32, {1, zero ? zero->size() : 1});
  for (int64_t i = 0; i < ones.size(); ++i)
    ones.setFloat(i, 1);
  return quantized(n, rows, ones, zero, 1);
}

/// Of `a`, centered, and inputs `matrix` less `zeros`.
static Value exactProduct(Legalization &n, Value a, size_t matrix,
                          size_t zeros) {
  const Shape &shape = n.node().input(matrix).shape;
  const size_t column = shapeOf(a).size() - 1, row = shape.size() - 2;
  const int64_t terms = shapeOf(a)[column];
  Value b;
  auto part = [&](Value x, size_t axis, int64_t start, int64_t size) {
    if (size == terms)
      return x;
    Box box{Shape(shapeOf(x).size(), 0), Shape(shapeOf(x)),
            Shape(shapeOf(x).size(), 1)};
    box.starts[axis] = start;
    box.extents[axis] = size;
    return n.slice(x, box);
  };
  Value sum;
  for (int64_t start = 0; start < terms; start += exactTerms) {
    const int64_t size = std::min(exactTerms, terms - start);
    Value rows = weightRows(n, matrix, zeros, start, size);
    if (!rows && !b)
      b = centered(n, n.input(matrix), n.optional(zeros), false);
    Value left = part(a, column, start, size);
    Value piece = rows ? n.matmul(left, rows, Value())
                       : n.batchMatmul(left, part(b, row, start, size));
    piece = n.cast(piece, n.builder().getI32Type());
    sum = sum ? n.add(sum, piece) : piece;
  }
  return sum;
}

static bool matMulInteger(Legalization &n) {
  return n.replace(
      exactProduct(n, centered(n, n.input(0), n.optional(2), true), 1, 3));
}

/// round(sum * scale a * scale b / scale y) + zero y, between the limits.
static bool qLinearMatMul(Legalization &n) {
  Type f32 = n.builder().getF32Type();
  Value sum = exactProduct(n, centered(n, n.input(0), n.input(2), true), 3, 5);
  Value scale = n.mul(along(n, n.cast(n.input(1), f32), true),
                      along(n, n.cast(n.input(4), f32), false));
  scale = n.div(scale, n.reshape(n.cast(n.input(6), f32), {}));
  Value y = n.mul(n.cast(sum, f32), scale);
  y = n.add(n.round(y), n.reshape(n.cast(n.input(7), f32), {}));
  auto integer = dyn_cast<IntegerType>(n.resultType().getElementType());
  if (!integer || integer.getWidth() != 8)
    return n.fail("its result is not of 8-bit integers");
  const double least = integer.isUnsigned() ? 0 : -128;
  y = n.max(y, least);
  y = n.min(y, least + 255);
  return n.replace(n.cast(y, integer));
}

llvm::ArrayRef<Operator> wsec::infer::integerProductsOperators() {
  static const Operator operators[] = {
      {"MatMulInteger", matMulInteger, matMulInteger},
      {"QLinearMatMul", qLinearMatMul, qLinearMatMul},
  };
  return operators;
}
