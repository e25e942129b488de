// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Delta rules invert I - L for a chunk of N tokens, L below the diagonal, row
// after row: X starts as L, and for r = 1, ..., N - 1
//
//   X[r, :r] += sum over j < r of L[r, j] * X[j, :r]        X = inverse - I
//
// which exporters unroll into N steps of N by N elements. By halves it is
// log2 N steps of two products each (`inverseOf`).
#include "compiler/canonicalize/Passes.h"
#include "compiler/canonicalize/Patterns.h"
#include "compiler/values/OperatorBuilder.h"
#include "compiler/values/Origins.h"

namespace wsec::canonicalize {
#define GEN_PASS_DEF_FUSESUBSTITUTIONS
#include "compiler/canonicalize/Passes.h.inc"
} // namespace wsec::canonicalize

using namespace wsec::canonicalize;

/// Is `x` 0 on and above the diagonal of its matrices, whatever the model is
/// fed? It is if a known condition puts 0 there.
static bool isBelowDiagonal(Value x) {
  while (auto neg = x.getDefiningOp<onnx::UnaryOp>()) {
    if (neg.getKind() != onnx::UnaryKind::Neg)
      return false;
    x = neg.getX();
  }
  auto where = x.getDefiningOp<onnx::WhereOp>();
  std::optional<Fact> fact =
      where ? factOf(where.getCondition()) : std::nullopt;
  const int64_t n = shapeOf(x).back();
  if (!fact || fact->rank() < 2 || numElements(fact->shape) != n * n ||
      fact->shape.back() != n || fact->shape[fact->rank() - 2] != n)
    return false;
  std::optional<Tensor> condition = fact->load();
  if (!condition)
    return false;
  const bool zeroIfTrue = uniformValue(where.getA()) == 0;
  const bool zeroIfFalse = uniformValue(where.getB()) == 0;
  for (int64_t row = 0; row < n; ++row)
    for (int64_t column = row; column < n; ++column)
      if (!(condition->asBool(row * n + column) ? zeroIfTrue : zeroIfFalse))
        return false;
  return true;
}

namespace {
/// Matches what the last row's update joins.
class Substitution {
public:
  Substitution(Origins &origins, Value x)
      : origins(origins), x(x), rank(shapeOf(x).size()),
        size(shapeOf(x).back()) {}

  /// L, or null if this is another computation.
  Value matrix();

private:
  /// The indices of row `row`, columns from `low` up to `high`, of `x`; with a
  /// dimension j < `terms` behind them if there are any.
  Piece places(int64_t row, int64_t low, int64_t high, int64_t terms = 0) const;
  /// As `places`, of L's own elements.
  bool isUntouched(const Piece &box) const;
  bool isUpdated(int64_t row) const;
  bool isTerm(onnx::BinaryOp product, const IndexMap &map, int64_t row) const;

  Origins &origins;
  Value x, lower;
  size_t rank;
  int64_t size;
};
} // namespace

Piece Substitution::places(int64_t row, int64_t low, int64_t high,
                           int64_t terms) const {
  Piece box{lower, IndexMap::identity(rank), Shape(rank, 0), Shape(shapeOf(x))};
  box.low[rank - 2] = row;
  box.high[rank - 2] = row + 1;
  box.low[rank - 1] = low;
  box.high[rank - 1] = high;
  if (terms) {
    box.low.push_back(0);
    box.high.push_back(terms);
  }
  return box;
}

bool Substitution::isUntouched(const Piece &box) const {
  return agree(origins.of(x), {box});
}

/// `product` at the indices that `map` gives to those of `x` and j: row, then
/// j, of L times j, then column, of `x`?
bool Substitution::isTerm(onnx::BinaryOp product, const IndexMap &map,
                          int64_t row) const {
  if (!product || product.getKind() != onnx::BinaryKind::Mul)
    return false;
  const Piece box = places(row, 0, row, row);
  auto factor = [&](Value operand) {
    IndexMap inner =
        IndexMap::broadcast(shapeOf(operand), shapeOf(product.getY()).size());
    for (auto [dim, offset] : zip_equal(inner.dims, inner.offsets))
      if (dim >= 0) {
        offset += map.offsets[dim];
        dim = map.dims[dim];
      }
    return seenThrough(origins.of(operand), inner, box);
  };
  Piece left = box;
  left.map.dims[rank - 1] = rank;
  IndexMap below = IndexMap::identity(rank);
  below.dims[rank - 2] = rank;
  Pieces right = seenThrough(origins.of(x), below, box);
  Pieces a = factor(product.getA()), b = factor(product.getB());
  return (agree(a, {left}) && agree(b, right)) ||
         (agree(b, {left}) && agree(a, right));
}

/// Is this row what it was, plus the sum over its products?
bool Substitution::isUpdated(int64_t row) const {
  const Piece box = places(row, 0, row);
  Pieces pieces = seenThrough(origins.of(x), IndexMap::identity(rank), box);
  if (pieces.size() != 1)
    return false;
  auto sum = pieces[0].root.getDefiningOp<onnx::BinaryOp>();
  if (!sum || sum.getKind() != onnx::BinaryKind::Add)
    return false;
  auto operand = [&](Value of) {
    IndexMap map = IndexMap::broadcast(shapeOf(of), shapeOf(sum.getY()).size());
    Piece whole{of, map, Shape(shapeOf(sum.getY()).size(), 0),
                Shape(shapeOf(sum.getY()))};
    return seenThrough(seenThrough(origins.of(of), map, whole), pieces[0].map,
                       box);
  };
  for (auto [old, added] :
       {std::pair(sum.getA(), sum.getB()), std::pair(sum.getB(), sum.getA())}) {
    Pieces terms = operand(added);
    auto reduce = terms.size() == 1
                      ? terms[0].root.getDefiningOp<onnx::ReduceOp>()
                      : nullptr;
    if (!reduce || reduce.getKind() != onnx::ReduceKind::Sum ||
        reduce.getAxes().size() != 1 || !agree(operand(old), {box}))
      continue;
    const int64_t axis = reduce.getAxes()[0];
    if (shapeOf(reduce.getX())[axis] != row)
      continue;
    IndexMap map = terms[0].map;
    if (reduce.getKeepdims()) {
      map.dims[axis] = rank;
      map.offsets[axis] = 0;
    } else {
      map.dims.insert(map.dims.begin() + axis, rank);
      map.offsets.insert(map.offsets.begin() + axis, 0);
    }
    if (isTerm(reduce.getX().getDefiningOp<onnx::BinaryOp>(), map, row))
      return true;
  }
  return false;
}

Value Substitution::matrix() {
  const Pieces &pieces = origins.of(x);
  // A piece for each row that was updated, and one at least of what was there.
  if (rank < 2 || size < 3 || shapeOf(x)[rank - 2] != size ||
      int64_t(pieces.size()) < size)
    return {};
  for (const Piece &piece : pieces)
    if (all_of(piece.low, [](int64_t low) { return low == 0; }))
      lower = piece.root;
  if (lower.getType() != x.getType())
    return {};
  for (int64_t row = 0; row < size; ++row)
    if (!isUntouched(places(row, row, size)) || (row > 0 && !isUpdated(row)))
      return {};
  return isBelowDiagonal(lower) ? lower : Value();
}

/// Of I - `lower`, minus I. With D the inverses of its diagonal blocks of 2^k
/// rows, and C what stands below them within those of 2^(k+1), those of the
/// latter are D + D C D; no power of `lower` is formed, which may be far larger
/// than the inverse.
static Value inverseOf(OperatorBuilder build, Value lower) {
  const int64_t n = shapeOf(lower).back();
  auto matrix = [&](ElementType type, auto isOne) {
    Tensor tensor(type, {n, n});
    for (int64_t i = 0; i < n * n; ++i)
      if (isFloat(type))
        tensor.setFloat(i, isOne(i / n, i % n));
      else
        tensor.setInt(i, isOne(i / n, i % n));
    return build.materialize(std::move(tensor));
  };
  Value identity =
      matrix(ElementType::Float32,
             [](int64_t row, int64_t column) { return row == column; });
  Value zero = build.scalarLike(lower, 0);
  Value inverse;
  for (int64_t half = 1; half < n; half *= 2) {
    Value isBelow =
        matrix(ElementType::Bool, [half](int64_t row, int64_t column) {
          return row / half % 2 == 1 && column / half == row / half - 1;
        });
    Value below = build.where(isBelow, lower, zero);
    inverse = build.add(
        inverse ? build.batchMatmul(build.batchMatmul(inverse, below), inverse)
                : below,
        inverse ? inverse : identity);
  }
  return build.sub(inverse, identity);
}

namespace {
struct FuseSubstitutionsPass
    : wsec::canonicalize::impl::FuseSubstitutionsBase<FuseSubstitutionsPass> {
  void runOnOperation() override {
    Origins origins;
    SmallVector<std::pair<onnx::ConcatOp, Value>> found;
    getOperation()->walk([&](onnx::ConcatOp op) {
      if (typeOf(op.getY()).getElementType().isF32())
        if (Value lower = Substitution(origins, op.getY()).matrix())
          found.emplace_back(op, lower);
    });
    for (auto [op, lower] : found) {
      OperatorBuilder build(OpBuilder(op), op.getLoc(), op.getNodeAttr());
      Value inverse = inverseOf(build, lower);
      absorb(inverse.getDefiningOp(), neededOnlyBy(op));
      op.getY().replaceAllUsesWith(inverse);
    }
  }
};
} // namespace
