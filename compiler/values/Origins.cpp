// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/values/Origins.h"

using namespace mlir;
using namespace wsec;
using namespace wsec::values;

/// More pieces than this are not followed: the value is a root.
static constexpr size_t maxPieces = 4096;

IndexMap IndexMap::identity(size_t rank) {
  IndexMap map{{}, Shape(rank, 0)};
  for (size_t d = 0; d < rank; ++d)
    map.dims.push_back(d);
  return map;
}

IndexMap IndexMap::broadcast(ArrayRef<int64_t> operand, size_t rank) {
  IndexMap map{{}, Shape(operand.size(), 0)};
  for (size_t d = 0; d < operand.size(); ++d)
    map.dims.push_back(operand[d] == 1 ? -1 : int(d + rank - operand.size()));
  return map;
}

/// Of a reshape from `from` to `to`; nothing unless they differ in extents
/// of 1.
static std::optional<IndexMap> unitReshape(ArrayRef<int64_t> from,
                                           ArrayRef<int64_t> to) {
  IndexMap map{{}, Shape(from.size(), 0)};
  size_t next = 0;
  for (int64_t extent : from) {
    if (extent == 1) {
      map.dims.push_back(-1);
      continue;
    }
    while (next < to.size() && to[next] == 1)
      ++next;
    if (next == to.size() || to[next] != extent)
      return std::nullopt;
    map.dims.push_back(next++);
  }
  bool isWhole = all_of(to.drop_front(next), [](int64_t e) { return e == 1; });
  return isWhole ? std::optional(map) : std::nullopt;
}

Pieces values::seenThrough(ArrayRef<Piece> pieces, const IndexMap &map,
                           const Piece &box) {
  Pieces seen;
  for (const Piece &piece : pieces) {
    Piece result{piece.root, piece.map, box.low, box.high};
    bool isEmpty = false;
    for (auto [d, dim] : enumerate(map.dims)) {
      const int64_t low = piece.low[d] - map.offsets[d];
      const int64_t high = piece.high[d] - map.offsets[d];
      if (dim < 0) {
        isEmpty |= low > 0 || high <= 0;
        continue;
      }
      result.low[dim] = std::max(result.low[dim], low);
      result.high[dim] = std::min(result.high[dim], high);
    }
    for (auto [low, high] : zip_equal(result.low, result.high))
      isEmpty |= low >= high;
    if (isEmpty)
      continue;
    for (auto [dim, offset] : zip_equal(result.map.dims, result.map.offsets))
      if (dim >= 0) {
        offset += map.offsets[dim];
        dim = map.dims[dim];
      }
    seen.push_back(std::move(result));
  }
  return seen;
}

bool values::agree(ArrayRef<Piece> a, ArrayRef<Piece> b) {
  auto agreesWith = [](const Piece &x, const Piece &y) {
    Shape low, high;
    for (size_t d = 0; d < x.low.size(); ++d) {
      low.push_back(std::max(x.low[d], y.low[d]));
      high.push_back(std::min(x.high[d], y.high[d]));
      if (low[d] >= high[d])
        return true;
    }
    if (x.root != y.root)
      return false;
    // An index of which there is one is as good as a number.
    auto term = [&](const IndexMap &map, size_t d) {
      const int dim = map.dims[d];
      bool isOne = dim >= 0 && high[dim] - low[dim] == 1;
      return isOne ? std::pair(-1, map.offsets[d] + low[dim])
                   : std::pair(dim, map.offsets[d]);
    };
    return all_of(llvm::seq(x.map.dims.size()),
                  [&](size_t d) { return term(x.map, d) == term(y.map, d); });
  };
  return all_of(a, [&](const Piece &x) {
    return all_of(b, [&](const Piece &y) { return agreesWith(x, y); });
  });
}

const Pieces &Origins::of(Value value) {
  std::unique_ptr<Pieces> &pieces = known[value];
  if (pieces)
    return *pieces;
  auto traced = std::make_unique<Pieces>(trace(value));
  return *(known[value] = std::move(traced));
}

Pieces Origins::trace(Value value) {
  ArrayRef<int64_t> shape = shapeOf(value);
  const Piece whole{value, IndexMap::identity(shape.size()),
                    Shape(shape.size(), 0), Shape(shape)};
  auto from = [&](Value operand, const IndexMap &map) {
    return seenThrough(of(operand), map, whole);
  };
  Operation *op = value.getDefiningOp();
  if (auto slice = dyn_cast_or_null<onnx::SliceOp>(op)) {
    if (all_of(slice.getSteps(), [](int64_t step) { return step == 1; })) {
      IndexMap map = whole.map;
      map.offsets = Shape(slice.getStarts());
      return from(slice.getX(), map);
    }
  } else if (auto transpose = dyn_cast_or_null<onnx::TransposeOp>(op)) {
    IndexMap map = whole.map;
    for (auto [d, source] : enumerate(transpose.getPerm()))
      map.dims[source] = d;
    return from(transpose.getX(), map);
  } else if (auto reshape = dyn_cast_or_null<onnx::ReshapeOp>(op)) {
    if (auto map = unitReshape(shapeOf(reshape.getX()), shape))
      return from(reshape.getX(), *map);
  } else if (auto expand = dyn_cast_or_null<onnx::ExpandOp>(op)) {
    return from(expand.getX(),
                IndexMap::broadcast(shapeOf(expand.getX()), shape.size()));
  } else if (auto concat = dyn_cast_or_null<onnx::ConcatOp>(op)) {
    const int64_t axis = concat.getAxis();
    Pieces pieces;
    Piece place = whole;
    IndexMap map = whole.map;
    for (Value part : concat.getParts()) {
      place.high[axis] = place.low[axis] + shapeOf(part)[axis];
      map.offsets[axis] = -place.low[axis];
      append_range(pieces, seenThrough(of(part), map, place));
      place.low[axis] = place.high[axis];
    }
    if (pieces.size() <= maxPieces)
      return pieces;
  }
  return {whole};
}
