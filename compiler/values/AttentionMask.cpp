// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/values/AttentionMask.h"
#include "compiler/values/Refused.h"
#include <algorithm>
#include <cmath>
#include <limits>

using namespace mlir;
using namespace wsec;
using namespace wsec::values;

MaskTerms wsec::values::maskTerms(onnx::AttentionOp op) {
  MaskTerms terms;
  auto number = [](FloatAttr value) {
    return value ? std::optional(value.getValueAsDouble()) : std::nullopt;
  };
  for (onnx::TermAttr term : op.eachTerm())
    terms.push_back(
        {term.getKind(),
         term.getOperand() ? op.getMasks()[*term.getOperand()] : Value(),
         number(term.getLater()), number(term.getTo())});
  return terms;
}

void wsec::values::setMaskTerms(onnx::AttentionOp op,
                                ArrayRef<MaskTerm> terms) {
  Builder builder(op);
  auto number = [&](std::optional<double> value) {
    return value ? builder.getF32FloatAttr(float(*value)) : FloatAttr();
  };
  SmallVector<Value> masks;
  SmallVector<Attribute> attributes;
  for (const MaskTerm &term : terms) {
    std::optional<int64_t> operand;
    if (term.operand)
      operand = masks.size(), masks.push_back(term.operand);
    attributes.push_back(onnx::TermAttr::get(op.getContext(), term.kind,
                                             operand, number(term.later),
                                             number(term.to)));
  }
  op.getMasksMutable().assign(masks);
  op.setTermsAttr(builder.getArrayAttr(attributes));
}

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
    if (merged != 1 && extents.heads != 1)
      return because(why, "the mask has merged batch and head dimensions");
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
  if (rank4[3] != extents.keys)
    return because(why, "the mask does not differ between keys");
  return reshapeMask(builder, loc, mask, rank4);
}

/// The elements of a constant, as often as `shape` repeats them.
static std::optional<Tensor> knownAs(Value value, ArrayRef<int64_t> shape) {
  std::optional<Fact> fact = factOf(value);
  std::optional<Tensor> tensor = fact ? fact->load() : std::nullopt;
  if (tensor)
    tensor = tensor->viewed(
        StridedView::whole(tensor->shape()).expanded(Shape(shape)));
  return tensor;
}

Value wsec::values::additiveMask(OpBuilder &builder, Location loc, Value keep,
                                 double masked, bool inverted, Value kept) {
  Shape shape(shapeOf(keep));
  if (kept)
    shape = *broadcastShapes(shape, shapeOf(kept));
  std::optional<Tensor> tensor = knownAs(keep, shape);
  std::optional<Tensor> inner = kept ? knownAs(kept, shape) : std::nullopt;
  if (tensor && (inner || !kept)) {
    Tensor mask(ElementType::Float32, shape);
    for (int64_t i = 0; i < mask.size(); ++i) {
      bool isKept = tensor->asBool(i) != inverted;
      mask.setFloat(i, isKept ? (inner ? inner->asFloat(i) : 0) : masked);
    }
    return materialize(builder, loc, std::move(mask));
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

Value wsec::values::combineMasks(OpBuilder &builder, Location loc,
                                 onnx::BinaryKind kind, Value a, Value b) {
  Shape shape = *broadcastShapes(shapeOf(a), shapeOf(b));
  std::optional<Tensor> x = knownAs(a, shape), y = knownAs(b, shape);
  if (!x || !y)
    return binary(builder, loc, kind, a, b, "");
  Tensor result(ElementType::Float32, shape);
  for (int64_t i = 0; i < result.size(); ++i)
    result.setFloat(i, kind == onnx::BinaryKind::Min
                           ? std::min(x->asFloat(i), y->asFloat(i))
                           : x->asFloat(i) + y->asFloat(i));
  return materialize(builder, loc, std::move(result));
}

Value wsec::values::sumInPlaceOf(OpBuilder &builder, Location loc, Value a,
                                 Value b) {
  if (!isConstant(a) || !isConstant(b) ||
      shapeOf(a).size() != shapeOf(b).size())
    return nullptr;
  std::optional<Shape> shape = broadcastShapes(shapeOf(a), shapeOf(b));
  if (!shape || (*shape != Shape(shapeOf(a)) && *shape != Shape(shapeOf(b))))
    return nullptr;
  std::optional<Tensor> x = knownAs(a, *shape), y = knownAs(b, *shape);
  if (!x || !y)
    return nullptr;
  constexpr double absorbs = 1e30;
  for (int64_t i = 0; i < x->size(); ++i) {
    const double one = x->asFloat(i), other = y->asFloat(i);
    if (one != 0 && other != 0 && !(std::abs(one + other) >= absorbs))
      return nullptr;
  }
  return combineMasks(builder, loc, onnx::BinaryKind::Add, a, b);
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
  std::optional<double> number;
  for (int64_t i = 0; i < tensor->size(); ++i) {
    const bool visible = i % keys <= i / keys;
    const double value = tensor->asFloat(i);
    if (visible ? value != 0 : !(value < 0 && value == number.value_or(value)))
      return std::nullopt;
    if (!visible)
      number = value;
  }
  return number;
}

bool wsec::values::mayHideAll(Value mask, int64_t queries, int64_t keys,
                              bool laterHidden) {
  Shape shape(shapeOf(mask));
  const int64_t row = shape.back(); // of all heads, perhaps
  if (laterHidden)
    shape[shape.size() - 2] = queries;
  std::optional<Tensor> tensor = knownAs(mask, shape);
  if (!tensor)
    return true;
  int64_t hidden = 0;
  for (int64_t i = 0; i < tensor->size(); ++i) {
    const int64_t key = i % row % keys, query = i / row % queries;
    hidden = key == 0 ? 0 : hidden;
    hidden += (laterHidden && key > query) ||
              tensor->asFloat(i) <= std::numeric_limits<float>::lowest();
    if (hidden == keys)
      return true;
  }
  return false;
}
