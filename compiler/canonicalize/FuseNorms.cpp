// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Norms out of primitives:
//
//   d = x - mean(x)                 only for layer_norm; else d = x
//   n = d / sqrt(mean(d * d) + e)   or d * rsqrt(...), d * (1 / sqrt(...))
//   y = n * scale + bias            each of them if it is there
#include "compiler/canonicalize/Passes.h"
#include "compiler/values/OnnxValues.h"
#include "compiler/values/ValueNames.h"
#include "mlir/IR/BuiltinOps.h"

namespace wsec::canonicalize {
#define GEN_PASS_DEF_FUSENORMS
#include "compiler/canonicalize/Passes.h.inc"
} // namespace wsec::canonicalize

using namespace wsec::canonicalize;
using onnx::BinaryKind;
using onnx::UnaryKind;

/// What the mean over the last axis is taken of, or null.
static Value meanOperand(Value value) {
  auto op = value.getDefiningOp<onnx::ReduceOp>();
  if (!op || op.getKind() != onnx::ReduceKind::Mean || !op.getKeepdims())
    return nullptr;
  int64_t last = shapeOf(op.getX()).size() - 1;
  return op.getAxes() == ArrayRef<int64_t>(last) ? op.getX() : Value();
}

/// `v` such that `value` is 1 / sqrt(v), or null.
static Value inverseRootOf(Value value) {
  if (Value v = operandOf(value, UnaryKind::Rsqrt))
    return v;
  if (Value root = operandOf(value, UnaryKind::Reciprocal))
    return operandOf(root, UnaryKind::Sqrt);
  if (auto division = binaryOf(value, BinaryKind::Div))
    if (uniformValue(division.getA()) == 1.0)
      return operandOf(division.getB(), UnaryKind::Sqrt);
  return nullptr;
}

namespace {
struct Norm {
  Value x;
  bool subtractsMean = false;
  double epsilon = 0;
};
} // namespace

/// Holds when `v` is mean(d * d).
static bool isMeanSquare(Value v, Value d) {
  Value square = meanOperand(v);
  auto product = square ? binaryOf(square, BinaryKind::Mul) : onnx::BinaryOp();
  return product && product.getA() == d && product.getB() == d;
}

/// Holds when `v` is mean(d * d) + epsilon, which an exporter leaves out where
/// it is too small for it.
static bool isMeanSquare(Value v, Value d, double &epsilon) {
  if (isMeanSquare(v, d))
    return true;
  auto sum = binaryOf(v, BinaryKind::Add);
  if (!sum)
    return false;
  for (auto [mean, constant] :
       {std::pair(sum.getA(), sum.getB()), std::pair(sum.getB(), sum.getA())}) {
    std::optional<double> number = uniformValue(constant);
    if (!number || !isMeanSquare(mean, d))
      continue;
    epsilon = *number;
    return true;
  }
  return false;
}

static std::optional<Norm> matchNorm(onnx::BinaryOp op) {
  Value d, v;
  if (op.getKind() == BinaryKind::Div) {
    d = op.getA();
    v = operandOf(op.getB(), UnaryKind::Sqrt);
  } else if (op.getKind() == BinaryKind::Mul) {
    d = op.getA();
    v = inverseRootOf(op.getB());
    if (!v) {
      d = op.getB();
      v = inverseRootOf(op.getA());
    }
  }
  Norm norm;
  if (!v || !isMeanSquare(v, d, norm.epsilon))
    return std::nullopt;
  norm.x = d;
  if (auto difference = binaryOf(d, BinaryKind::Sub))
    if (meanOperand(difference.getB()) == difference.getA()) {
      norm.x = difference.getA();
      norm.subtractsMean = true;
    }
  return norm;
}

/// The only user of `value`, if it combines it with a vector of `extent`
/// elements, which is returned; `value` moves on to the result.
static Value takeVector(Value &value, BinaryKind kind, int64_t extent) {
  if (!value.hasOneUse())
    return nullptr;
  auto op = dyn_cast<onnx::BinaryOp>(*value.user_begin());
  if (!op || op.getKind() != kind)
    return nullptr;
  Value vector = op.getA() == value ? op.getB() : op.getA();
  if (shapeOf(vector) != ArrayRef<int64_t>(extent))
    return nullptr;
  value = op.getResult();
  return vector;
}

namespace {
struct FuseNormsPass : wsec::canonicalize::impl::FuseNormsBase<FuseNormsPass> {
  void runOnOperation() override {
    SmallVector<onnx::BinaryOp> ops;
    getOperation().walk([&](onnx::BinaryOp op) { ops.push_back(op); });
    for (onnx::BinaryOp op : ops)
      if (std::optional<Norm> norm = matchNorm(op);
          norm && 4 * shapeOf(norm->x).back() <= maxFoldedBytes)
        replace(op, *norm);
  }

  void replace(onnx::BinaryOp op, const Norm &norm) {
    int64_t extent = shapeOf(norm.x).back();
    Value last = op.getResult();
    Value scale = takeVector(last, BinaryKind::Mul, extent);
    Value bias = norm.subtractsMean ? takeVector(last, BinaryKind::Add, extent)
                                    : Value();
    // Behind the last operator of the norm everything it needs is there.
    OpBuilder builder(last.getDefiningOp());
    Location loc = op.getLoc();
    if (!scale) {
      Tensor ones(*elementTypeOf(typeOf(norm.x).getElementType()), {extent});
      for (int64_t i = 0; i < extent; ++i)
        ones.setFloat(i, 1);
      scale = materialize(builder, loc, std::move(ones));
    }
    auto epsilon = builder.getF32FloatAttr(norm.epsilon);
    auto node = builder.getStringAttr(nodeName(last.getDefiningOp()));
    Value y;
    if (norm.subtractsMean)
      y = onnx::LayerNormOp::create(builder, loc, norm.x.getType(), norm.x,
                                    scale, bias, epsilon, node);
    else
      y = onnx::RMSNormOp::create(builder, loc, norm.x.getType(), norm.x, scale,
                                  epsilon, IntegerAttr(), node);
    moveValueNames(last, y);
    last.replaceAllUsesWith(y);
    absorb(y.getDefiningOp(), neededOnlyBy(last.getDefiningOp()));
  }
};
} // namespace
