// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// With z the logits of a token, c its label and y its row of a matrix that has
// 1 at c and 0 elsewhere:
//
//   -log p[c] = max z + log(sum exp(z - max z)) - z[c]        dz = softmax(z) -
//   y
//
// Nobody looks rows up: labels are compared with the number of each class.
// Where none is equal no logit is taken, and the loss is infinite.
#include "compiler/differentiate/CrossEntropy.h"
#include <limits>

using namespace mlir;
using namespace wsec;
using namespace wsec::differentiate;
using namespace wsec::values;
using onnx::LossReduction;
using onnx::ReduceKind;

static Term along(Term x, ReduceKind kind) {
  return {x.n, x.n.keptReduced(x.value, kind, typeOf(x.value).getRank() - 1)};
}

namespace {
/// What forward and backward need of each token, as [..., 1], and of each of
/// its classes.
struct Tokens {
  Tokens(onnx::CrossEntropyOp op, FoldingBuilder &n);

  double classes, smoothing;
  Term logits, labels, isLabel;
  std::optional<Term> counts;          ///< is not ignored; none: all are not
  std::optional<Term> weights, weight; ///< of classes, and of the label's

  Term orZero(Term x) { return counts ? where(*counts, x, x.all(0)) : x; }
  /// What the sum of losses is divided by.
  Term divisor(FoldingBuilder &n);
};
} // namespace

static Term labelsOf(onnx::CrossEntropyOp op, FoldingBuilder &n) {
  Shape shape(shapeOf(op.getLabels()));
  shape.push_back(1);
  return {n, n.reshape(op.getLabels(), shape)};
}

/// The number of each class.
static Term classesLike(Term labels, int64_t count) {
  Tensor numbers(*elementTypeOf(typeOf(labels.value).getElementType()),
                 {count});
  for (int64_t i = 0; i < count; ++i)
    numbers.setInt(i, i);
  return {labels.n,
          materialize(labels.n.builder(), labels.n.loc(), std::move(numbers))};
}

Tokens::Tokens(onnx::CrossEntropyOp op, FoldingBuilder &n)
    : classes(double(shapeOf(op.getLogits()).back())),
      smoothing(op.getLabelSmoothing().convertToDouble()),
      logits(n, op.getLogits()), labels(labelsOf(op, n)),
      isLabel(labels == classesLike(labels, int64_t(classes))) {
  if (auto ignored = op.getIgnoreIndex())
    counts = !(labels == double(int64_t(*ignored)));
  if (!op.getWeights())
    return;
  weights = Term{n, op.getWeights()};
  weight = along(where(isLabel, *weights, weights->all(0)), ReduceKind::Sum);
}

Term Tokens::divisor(FoldingBuilder &n) {
  Term share = weight ? *weight : Term{n, n.filled(shapeOf(labels.value), 1)};
  return {n, n.sumTo(orZero(share).value, {})};
}

Value wsec::differentiate::composeLoss(onnx::CrossEntropyOp op,
                                       FoldingBuilder &n) {
  Tokens t(op, n);
  Term z = t.logits;
  constexpr double infinity = std::numeric_limits<double>::infinity();
  Term picked = along(where(t.isLabel, z, z.all(-infinity)), ReduceKind::Max);
  Term total = z.all(0); // log of what all exp(z) sum up to
  if (!op.getNormalized()) {
    Term most = along(z, ReduceKind::Max);
    total = log(along(exp(z - most), ReduceKind::Sum)) + most;
  }
  Term loss = op.getNormalized() ? -picked : total - picked;
  if (t.weight)
    loss = loss * *t.weight;
  if (t.smoothing > 0) {
    Term all = t.weights ? total * Term{n, n.sumTo(t.weights->value, {})}
                         : total * t.classes;
    Term sum = along(t.weights ? z * *t.weights : z, ReduceKind::Sum);
    loss = loss * (1 - t.smoothing) + (all - sum) * (t.smoothing / t.classes);
  }
  loss = t.orZero(loss);
  if (op.getReduction() == LossReduction::None)
    return n.reshape(loss.value, shapeOf(op.getLoss()));
  Term sum{n, n.sumTo(loss.value, {})};
  return op.getReduction() == LossReduction::Mean ? (sum / t.divisor(n)).value
                                                  : sum.value;
}

Value wsec::differentiate::gradientOfLogits(onnx::CrossEntropyOp op,
                                            Value dyValue, FoldingBuilder &n) {
  Tokens t(op, n);
  Term z = t.logits, dy{n, dyValue};
  if (op.getReduction() == LossReduction::None)
    dy = {n, n.reshape(dyValue, shapeOf(t.labels.value))};
  if (op.getReduction() == LossReduction::Mean)
    dy = dy / t.divisor(n);
  std::optional<Term> p;
  if (!op.getNormalized())
    p = Term{n, n.softmax(z.value)};
  Term minusOne = p ? *p + -1 : z.all(-1), other = p ? *p : z.all(0);
  Term dz = where(t.isLabel, minusOne, other);
  if (t.weight)
    dz = dz * *t.weight;
  if (t.smoothing > 0) {
    Term w = t.weights ? *t.weights : z.all(1);
    Term all = t.weights ? Term{n, n.sumTo(w.value, {})} : z.all(t.classes);
    dz = dz * (1 - t.smoothing) +
         (p ? *p * all - w : -w) * (t.smoothing / t.classes);
  }
  return (dz * t.orZero(dy)).value;
}
