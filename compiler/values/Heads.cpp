// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/values/Heads.h"

using namespace mlir;
using namespace wsec;
using namespace wsec::values;

std::optional<Heads> wsec::values::matchHeads(const TracedView &traced,
                                              size_t rowDim, size_t columnDim) {
  const StridedView &view = traced.view;
  Shape shape = view.shape();
  Heads h{traced.root,
          traced.scale,
          0,
          shape[rowDim],
          0,
          0,
          shape[columnDim],
          0,
          1,
          1};
  ArrayRef<int64_t> root = shapeOf(traced.root);
  if (root.size() < 2 || numElements(shape) == 0)
    return std::nullopt;
  StridedView::Atoms row = view.atoms(rowDim, 1);
  StridedView::Atoms column = view.atoms(columnDim, 1);
  if (row.size() > 1 || column.size() > 1 ||
      (!column.empty() && column.front().stride != 1))
    return std::nullopt;
  // One step of the token is all features of the root.
  h.features =
      row.empty()
          ? numElements(root.drop_front(std::min<size_t>(2, root.size() - 1)))
          : row.front().stride;
  if (h.features <= 0 || numElements(root) % (h.features * h.tokens) != 0)
    return std::nullopt;
  h.batch = numElements(root) / (h.features * h.tokens);
  StridedView::Atoms lead = view.atoms(0, view.rank() - 2);
  if (!lead.empty() && lead.back().stride == 0)
    h.repeats = lead.back().size;
  int64_t all = numElements(ArrayRef<int64_t>(shape).drop_back(2));
  if (all % (h.batch * h.repeats) != 0)
    return std::nullopt;
  h.heads = all / h.batch / h.repeats;
  h.offset = view.getOffset();
  for (; h.groups <= h.heads; ++h.groups) {
    if (h.heads % h.groups != 0 || h.features % h.groups != 0)
      continue;
    int64_t group = h.features / h.groups, heads = h.heads / h.groups;
    auto expected =
        StridedView::strided({h.batch, h.groups, heads, h.repeats}, 0,
                             {h.tokens * h.features, group, h.size, 0});
    if (h.offset >= 0 && h.offset + heads * h.size <= group &&
        lead == expected.atoms(0, 4))
      return h;
  }
  return std::nullopt;
}

Heads wsec::values::withTokensOutside(OpBuilder &builder, Location loc,
                                      const Heads &h, int64_t batch,
                                      StringRef node) {
  if (h.batch == batch || h.batch % batch != 0 || h.heads != 1)
    return h;
  Heads result = h;
  result.batch = batch;
  result.heads = result.groups = h.batch / batch;
  result.features = result.heads * h.features;
  Value x = reshapeTo(builder, loc, h.root,
                      {batch, result.heads, h.tokens, h.features}, node);
  auto outside = withShape(x, {batch, h.tokens, result.heads, h.features});
  x = onnx::TransposeOp::create(builder, loc, outside, x,
                                ArrayRef<int64_t>{0, 2, 1, 3},
                                builder.getStringAttr(node));
  result.root =
      reshapeTo(builder, loc, x, {batch, h.tokens, result.features}, node);
  if (h.size == h.features)
    result.groups = 1;
  return result;
}

Value wsec::values::toRank3(OpBuilder &builder, Location loc, const Heads &h,
                            StringRef node) {
  Value x =
      reshapeTo(builder, loc, h.root, {h.batch, h.tokens, h.features}, node);
  int64_t width = h.heads * h.size;
  if (width == h.features)
    return x;
  Shape shape{h.batch, h.tokens, width};
  if (h.groups > 1)
    return onnx::SliceHeadsOp::create(builder, loc, withShape(x, shape), x,
                                      builder.getI64IntegerAttr(h.groups),
                                      builder.getI64IntegerAttr(h.offset),
                                      builder.getStringAttr(node));
  return onnx::SliceOp::create(
      builder, loc, withShape(x, shape), x, ArrayRef<int64_t>{0, 0, h.offset},
      ArrayRef<int64_t>{1, 1, 1}, builder.getStringAttr(node));
}

Value wsec::values::beforeLayouts(OpBuilder &builder, Location loc, Value x,
                                  int64_t heads, StringRef node) {
  Shape s(shapeOf(x));
  TracedView traced = traceScaledLayout(x);
  auto byHead = traced.view.reshaped({s[0], s[1], heads, s[2] / heads});
  if (traced.root == x || traced.scale != 1 || !byHead)
    return nullptr;
  traced.view = byHead->transposed({0, 2, 1, 3});
  std::optional<Heads> h = matchHeads(traced, 2, 3);
  if (!h || h->repeats != 1 || h->batch != s[0] || h->heads != heads)
    return nullptr;
  auto slice = x.getDefiningOp<onnx::SliceOp>();
  const bool isFeatures = slice && slice.getX() == h->root && h->groups == 1;
  return isFeatures ? Value() : toRank3(builder, loc, *h, node);
}

Value wsec::values::splitHeads(OpBuilder &builder, Location loc, Value x,
                               int64_t heads, StringRef node) {
  ArrayRef<int64_t> s = shapeOf(x);
  int64_t batch = s[0], tokens = s[1], size = s[2] / heads;
  x = reshapeTo(builder, loc, x, {batch, tokens, heads, size}, node);
  auto byHead = withShape(x, {batch, heads, tokens, size});
  return onnx::TransposeOp::create(builder, loc, byHead, x,
                                   ArrayRef<int64_t>{0, 2, 1, 3},
                                   builder.getStringAttr(node));
}
