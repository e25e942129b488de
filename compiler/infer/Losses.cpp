// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Losses: of [batch, classes, ...] scores and [batch, ...] labels.
#include "compiler/infer/Operators.h"

using namespace wsec::infer;
using onnx::LossReduction;

static bool lossOf(Node &node) {
  const Fact &scores = node.input(0);
  if (scores.rank() < 2)
    return node.fail("scores of " + printShape(scores.shape) +
                     " have no classes; expected batch x classes x ...");
  Shape labels = scores.shape;
  labels.erase(labels.begin() + 1);
  if (!node.hasShape(1, "labels", labels) ||
      !node.hasShape(2, "weights of classes", {scores.shape[1]}))
    return false;
  if (node.stringAttr("reduction") != "none")
    labels.clear();
  std::vector<Fact> results = {unknown(scores.type, labels)};
  if (node.outputs.size() > 1)
    results.push_back(unknown(scores.type, scores.shape));
  return node.setOutputs(results);
}

/// Exchanges classes and the last axis: the last one moves where classes were,
/// or, of `back`, the other way round.
static Value withClassesLast(Legalization &n, Value x, bool back = false) {
  const int64_t rank = typeOf(x).getRank();
  Shape perm = {0};
  for (int64_t d = 2; d < rank; ++d)
    perm.push_back(d);
  perm.push_back(1);
  if (back) {
    perm = {0, rank - 1};
    for (int64_t d = 1; d < rank - 1; ++d)
      perm.push_back(d);
  }
  return rank == 2 ? x : n.transpose(x, perm);
}

static Value logSoftmax(Legalization &n, Value z) {
  const int64_t last = typeOf(z).getRank() - 1;
  Value centred = n.sub(z, n.keptReduced(z, ReduceKind::Max, last));
  Value sum = n.keptReduced(n.exp(centred), ReduceKind::Sum, last);
  return n.sub(centred, n.log(sum));
}

template <bool isNormalized>
static bool legalizeLoss(Legalization &n) {
  OpBuilder &builder = n.builder();
  Value scores = withClassesLast(n, n.input(0));
  StringRef word = n.node().stringAttr("reduction");
  const auto reduction = word == "none"   ? LossReduction::None
                         : word == "mean" ? LossReduction::Mean
                                          : LossReduction::Sum;
  IntegerAttr ignored;
  if (n.node().hasAttr("ignore_index"))
    ignored = builder.getI64IntegerAttr(n.node().intAttr("ignore_index"));
  SmallVector<Value> results = {onnx::CrossEntropyOp::create(
      builder, n.loc(), n.resultType(),
      onnx::LossReductionAttr::get(builder.getContext(), reduction), scores,
      n.input(1), n.optional(2), ignored, builder.getF32FloatAttr(0),
      isNormalized ? builder.getUnitAttr() : UnitAttr(), n.nameAttr())};
  if (n.op().getNumResults() > 1)
    results.push_back(withClassesLast(n, logSoftmax(n, scores), true));
  return n.replace(results);
}

llvm::ArrayRef<Operator> wsec::infer::lossesOperators() {
  static const Operator operators[] = {
      {"SoftmaxCrossEntropyLoss", lossOf, legalizeLoss<false>,
       "ignore_index reduction=none|mean|sum"},
      {"NegativeLogLikelihoodLoss", lossOf, legalizeLoss<true>,
       "ignore_index reduction=none|mean|sum"},
  };
  return operators;
}
