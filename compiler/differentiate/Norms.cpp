// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Norms and softmax, along the last axis. Of norms that have no operator for
// their gradients, with x' = (x - mean) / deviation and g = dy * scale:
//
//   dx = (g - mean(g) - x' mean(g x')) / deviation
#include "compiler/differentiate/Differentiable.h"

using namespace mlir;
using namespace wsec;
using namespace wsec::differentiate;
using namespace wsec::values;

static Term mean(Term x) { return along(x, onnx::ReduceKind::Mean); }

static void fusedNorm(Value x, Value scale, Value bias, FloatAttr epsilon,
                      bool isCentred, Value dy, Backward &n) {
  auto gradient = onnx::NormGradientOp::create(
      n.builder(), n.loc(), x.getType(), x.getType(), x, scale, dy,
      isCentred ? n.builder().getUnitAttr() : UnitAttr(), epsilon,
      n.nameAttr());
  if (n.wants(scale))
    n.add(scale, (Term{n, dy} * Term{n, gradient.getNormal()}).value);
  if (bias)
    n.add(bias, dy);
  if (n.wants(x))
    n.add(x, gradient.getDx());
}

/// Without means of x and g unless `isCentred`; of `heads` norms side by side,
/// which no row reduces.
static void norm(Value x, Value scale, Value bias, FloatAttr epsilon,
                 bool isCentred, int64_t heads, Value dyValue, Backward &n) {
  if (n.fusesNorms && heads == 1)
    return fusedNorm(x, scale, bias, epsilon, isCentred, dyValue, n);
  const Shape shape(shapeOf(x));
  Shape byHead(shape), ofScale = {shape.back()};
  if (heads > 1) {
    byHead.back() /= heads;
    byHead.insert(byHead.end() - 1, heads);
    ofScale = {heads, shape.back() / heads};
  }
  Term centred{n, n.reshape(x, byHead)}, dy{n, n.reshape(dyValue, byHead)};
  if (isCentred)
    centred = centred - mean(centred);
  const double least = epsilon.getValue().convertToFloat();
  Term inverse{n, n.unary(onnx::UnaryKind::Rsqrt,
                          (mean(centred * centred) + least).value)};
  Term normal = centred * inverse;
  if (n.wants(scale))
    n.add(scale,
          n.reshape(n.sumTo((dy * normal).value, ofScale), shapeOf(scale)));
  if (bias)
    n.add(bias, dyValue);
  if (!n.wants(x))
    return;
  Term g = dy * Term{n, n.reshape(scale, ofScale)};
  Term rest = g - normal * mean(g * normal);
  if (isCentred)
    rest = rest - mean(g);
  n.add(x, n.reshape((rest * inverse).value, shape));
}

static void layerNorm(onnx::LayerNormOp op, Value dy, Backward &n) {
  norm(op.getX(), op.getScale(), op.getBias(), op.getEpsilonAttr(), true, 1, dy,
       n);
}

static void rmsNorm(onnx::RMSNormOp op, Value dy, Backward &n) {
  norm(op.getX(), op.getScale(), nullptr, op.getEpsilonAttr(), false,
       op.getNumHeads().value_or(1), dy, n);
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
