// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/values/AttentionMask.h"
#include <algorithm>
#include <limits>
#include <optional>

using namespace mlir;
using namespace wsec;
using namespace wsec::values;

Value wsec::values::withoutRepeats(OpBuilder &builder, Location loc, Value mask,
                                   size_t dim) {
  std::optional<Fact> fact = factOf(mask);
  if (!fact || !fact->constant || fact->shape[dim] == 1)
    return mask;
  StridedView::Atoms atoms = fact->constant->view.atoms(dim, 1);
  Shape shape = fact->shape;
  shape[dim] = 1;
  if (atoms.size() == 1 && atoms.front().stride == 0) {
    fact->constant->view = *fact->constant->view.sliced(dim, 0, 1, 1);
    fact->shape = shape;
    return materialize(builder, loc, *fact, nodeName(mask.getDefiningOp()));
  }
  // Or its elements say so: worth reading only where repeats are refused.
  if (dim > 1)
    return mask;
  std::optional<Tensor> all = fact->load();
  if (!all)
    return mask;
  Tensor first =
      all->viewed(*StridedView::whole(fact->shape).sliced(dim, 0, 1, 1));
  Tensor again = first.viewed(StridedView::whole(shape).expanded(fact->shape));
  for (int64_t i = 0; i < all->size(); ++i)
    if (again.asFloat(i) != all->asFloat(i))
      return mask;
  return materialize(builder, loc, std::move(first));
}

static Value reshapeMask(OpBuilder &builder, Location loc, Value mask,
                         ArrayRef<int64_t> shape) {
  if (shapeOf(mask) == shape)
    return mask;
  StringRef name = mask.getDefiningOp() ? nodeName(mask.getDefiningOp()) : "";
  std::optional<Fact> fact = factOf(mask);
  if (fact && fact->constant) {
    Fact reshaped = reshapeFact(*fact, shape);
    if (reshaped.constant)
      if (Value value = materialize(builder, loc, reshaped, name))
        return value;
  }
  return reshapeTo(builder, loc, mask, shape, name);
}

Value wsec::values::maskOfRank4(OpBuilder &builder, Location loc, Value mask,
                                ArrayRef<int64_t> scores,
                                const AttentionExtents &extents,
                                std::string &why) {
  // The addition would repeat the mask; nothing else has to.
  while (auto expand = mask.getDefiningOp<onnx::ExpandOp>())
    mask = expand.getX();
  Shape shape(scores.size() - shapeOf(mask).size(), 1);
  llvm::append_range(shape, shapeOf(mask));
  mask = reshapeMask(builder, loc, mask, shape);
  // Scores are [B,H,S,T], or [B*H,S,T] with merged heads, or less.
  size_t lead = scores.size() - 2;
  Shape rank4;
  if (lead == 2 && scores[0] == extents.batch && scores[1] == extents.heads) {
    for (size_t dim : {0, 1, 2})
      mask = withoutRepeats(builder, loc, mask, dim);
    rank4 = Shape(shapeOf(mask));
  } else if (int64_t merged =
                 numElements(ArrayRef<int64_t>(shape).take_front(lead));
             merged == extents.batch * extents.heads && extents.heads != 1) {
    rank4 = {extents.batch, extents.heads, shape[lead], shape[lead + 1]};
  } else {
    if (merged != 1 && extents.heads != 1) {
      why = "the mask has merged batch and head dimensions";
      return nullptr;
    }
    // Heads are batch elements here, for which the mask repeats.
    if (merged != 1 && merged != extents.batch) {
      Shape repeated(scores.take_front(lead));
      repeated.append({shape[lead], shape[lead + 1]});
      mask = onnx::ExpandOp::create(builder, loc, withShape(mask, repeated),
                                    mask, builder.getStringAttr(""));
      merged = extents.batch;
    }
    rank4 = {merged, 1, shape[lead], shape[lead + 1]};
  }
  if (rank4[3] != extents.keys) {
    why = "the mask does not differ between keys";
    return nullptr;
  }
  return reshapeMask(builder, loc, mask, rank4);
}

Value wsec::values::additiveMask(OpBuilder &builder, Location loc, Value keep,
                                 double masked, bool inverted, Value kept) {
  Shape shape(shapeOf(keep));
  if (kept)
    shape = *broadcastShapes(shape, shapeOf(kept));
  auto broadcast = [&](Value value) -> std::optional<Tensor> {
    std::optional<Fact> fact = factOf(value);
    std::optional<Tensor> tensor = fact ? fact->load() : std::nullopt;
    if (tensor)
      tensor =
          tensor->viewed(StridedView::whole(tensor->shape()).expanded(shape));
    return tensor;
  };
  std::optional<Tensor> tensor = broadcast(keep);
  std::optional<Tensor> inner = kept ? broadcast(kept) : std::nullopt;
  if (tensor && (inner || !kept)) {
    Tensor bias(ElementType::Float32, shape);
    for (int64_t i = 0; i < bias.size(); ++i) {
      bool isKept = tensor->asBool(i) != inverted;
      bias.setFloat(i, isKept ? (inner ? inner->asFloat(i) : 0) : masked);
    }
    return materialize(builder, loc, std::move(bias));
  }
  auto scalar = [&](double value) {
    return materialize(builder, loc,
                       Tensor::scalar(ElementType::Float32, value));
  };
  auto type = RankedTensorType::get(shape, builder.getF32Type());
  Value seen = kept ? kept : scalar(0), unseen = scalar(masked);
  if (inverted)
    std::swap(seen, unseen);
  return onnx::WhereOp::create(builder, loc, type, keep, seen, unseen,
                               builder.getStringAttr(""));
}

Value wsec::values::addMasks(OpBuilder &builder, Location loc, Value a,
                             Value b) {
  std::optional<Fact> x = factOf(a), y = factOf(b);
  std::optional<Tensor> left = x ? x->load() : std::nullopt;
  std::optional<Tensor> right = y ? y->load() : std::nullopt;
  if (!left || !right)
    return binary(builder, loc, onnx::BinaryKind::Add, a, b, "");
  Shape shape = *broadcastShapes(left->shape(), right->shape());
  Tensor sum = left->viewed(StridedView::whole(left->shape()).expanded(shape));
  Tensor other =
      right->viewed(StridedView::whole(right->shape()).expanded(shape));
  for (int64_t i = 0; i < sum.size(); ++i)
    sum.setFloat(i, sum.asFloat(i) + other.asFloat(i));
  return materialize(builder, loc, std::move(sum));
}

Value wsec::values::biasOfRank4(OpBuilder &builder, Location loc, Value mask,
                                int64_t queries) {
  ArrayRef<int64_t> s = shapeOf(mask);
  if (s[1] == 1)
    return mask;
  Shape every{s[0], s[1], queries, s[3]}, rank3{s[0], queries, s[1] * s[3]};
  std::optional<Fact> fact = factOf(mask);
  if (std::optional<Tensor> known = fact ? fact->load() : std::nullopt)
    return materialize(
        builder, loc,
        known
            ->viewed(
                StridedView::whole(s).expanded(every).transposed({0, 2, 1, 3}))
            .reshaped(rank3));
  StringAttr node = builder.getStringAttr("");
  if (s[2] != queries)
    mask = onnx::ExpandOp::create(builder, loc, withShape(mask, every), mask,
                                  node);
  mask = onnx::TransposeOp::create(
      builder, loc, withShape(mask, {s[0], queries, every[1], every[3]}), mask,
      ArrayRef<int64_t>{0, 2, 1, 3}, node);
  return reshapeTo(builder, loc, mask, rank3, "");
}

std::optional<double> wsec::values::causalMask(Value mask, int64_t queries,
                                               int64_t keys) {
  // Kernels hide keys by the number of the query, so there are as many.
  if (queries != keys ||
      shapeOf(mask) != ArrayRef<int64_t>{1, 1, queries, keys})
    return std::nullopt;
  std::optional<Fact> fact = factOf(mask);
  std::optional<Tensor> tensor = fact ? fact->load() : std::nullopt;
  if (!tensor)
    return std::nullopt;
  double largest = -std::numeric_limits<double>::infinity();
  for (int64_t i = 0; i < tensor->size(); ++i) {
    bool visible = i % keys <= i / keys;
    double value = tensor->asFloat(i);
    if (visible ? value != 0 : !(value <= maskedScore))
      return std::nullopt;
    if (!visible)
      largest = std::max(largest, value);
  }
  return largest;
}
