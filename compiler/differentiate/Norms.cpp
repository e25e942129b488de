// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Norms and softmax, along the last axis. Norms have an operator for their
// gradients but those by head, with x' = x / root mean square and g = dy *
// scale:
//
//   dx = (g - x' mean(g x')) / root mean square
#include "compiler/differentiate/Differentiable.h"

using namespace mlir;
using namespace wsec;
using namespace wsec::differentiate;
using namespace wsec::values;

static Term along(Term x, onnx::ReduceKind kind) {
  return {x.n, x.n.keptReduced(x.value, kind, typeOf(x.value).getRank() - 1)};
}
static Term mean(Term x) { return along(x, onnx::ReduceKind::Mean); }

static void norm(Value x, Value scale, Value bias, FloatAttr epsilon,
                 bool isCentred, Value dy, Backward &n) {
  auto gradient = onnx::NormGradientOp::create(
      n.builder(), n.loc(), x.getType(), x.getType(), x, scale, dy,
      isCentred ? n.builder().getUnitAttr() : UnitAttr(), epsilon,
      n.nameAttr());
  if (n.wants(scale))
    n.add(scale, (Term{n, dy} * Term{n, gradient.getNormal()}).value);
  if (bias)
    n.add(bias, dy);
  n.add(x, gradient.getDx());
}

static void layerNorm(onnx::LayerNormOp op, Value dy, Backward &n) {
  norm(op.getX(), op.getScale(), op.getBias(), op.getEpsilonAttr(), true, dy,
       n);
}

/// The norms of heads are side by side, and no row reduces them.
static void rmsNormByHead(onnx::RMSNormOp op, Value dyValue, Backward &n) {
  const Shape shape(shapeOf(op.getX()));
  const int64_t heads = *op.getNumHeads(), size = shape.back() / heads;
  Shape byHead(shape);
  byHead.back() = size;
  byHead.insert(byHead.end() - 1, heads);
  Term x{n, n.reshape(op.getX(), byHead)}, dy{n, n.reshape(dyValue, byHead)};
  Term inverse{n,
               n.unary(onnx::UnaryKind::Rsqrt,
                       (mean(x * x) + op.getEpsilon().convertToFloat()).value)};
  Term normal = x * inverse;
  if (n.wants(op.getScale()))
    n.add(op.getScale(), n.reshape(n.sumTo((dy * normal).value, {heads, size}),
                                   shapeOf(op.getScale())));
  if (!n.wants(op.getX()))
    return;
  Term g = dy * Term{n, n.reshape(op.getScale(), {heads, size})};
  n.add(op.getX(),
        n.reshape(((g - normal * mean(g * normal)) * inverse).value, shape));
}

static void rmsNorm(onnx::RMSNormOp op, Value dy, Backward &n) {
  if (op.getNumHeads().value_or(1) > 1)
    return rmsNormByHead(op, dy, n);
  norm(op.getX(), op.getScale(), nullptr, op.getEpsilonAttr(), false, dy, n);
}

static void softmax(onnx::SoftmaxOp op, Value dyValue, Backward &n) {
  Term y{n, op.getY()}, dy{n, dyValue};
  n.add(op.getX(), (y * (dy - along(dy * y, onnx::ReduceKind::Sum))).value);
}

void wsec::differentiate::attachNorms(MLIRContext &context) {
  attach<onnx::LayerNormOp, layerNorm>(context);
  attach<onnx::RMSNormOp, rmsNorm>(context);
  attach<onnx::SoftmaxOp, softmax>(context);
}
