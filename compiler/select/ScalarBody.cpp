// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/select/ScalarBody.h"

#include "dialects/onnx/Onnx.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace wsec;
using namespace wsec::select;

static Type elementType(Value value) {
  return cast<RankedTensorType>(value.getType()).getElementType();
}

std::optional<std::string> select::scalarProblem(Operation *op) {
  for (Value value : op->getOperands())
    if (elementType(value).isF64())
      return "computes in f64, the wafer in f32";
  auto binary = dyn_cast<onnx::BinaryOp>(op);
  if (binary && binary.getKind() == onnx::BinaryKind::Div &&
      elementType(binary.getA()).isInteger())
    return "divides integers, which would have to round towards zero";
  return std::nullopt;
}

Value select::buildConstant(OpBuilder &builder, Location location,
                            double value) {
  return arith::ConstantOp::create(builder, location,
                                   builder.getF32FloatAttr(float(value)));
}

Value select::asFloat(OpBuilder &builder, Value scalar) {
  if (scalar.getType().isF32())
    return scalar;
  return arith::UIToFPOp::create(builder, scalar.getLoc(), builder.getF32Type(),
                                 scalar);
}

static Value compare(OpBuilder &builder, Location location,
                     arith::CmpFPredicate predicate, Value a, Value b) {
  return arith::CmpFOp::create(builder, location, predicate,
                               asFloat(builder, a), asFloat(builder, b));
}

static Value asBool(OpBuilder &builder, Value scalar) {
  if (scalar.getType().isInteger(1))
    return scalar;
  Location location = scalar.getLoc();
  return compare(builder, location, arith::CmpFPredicate::UNE, scalar,
                 buildConstant(builder, location, 0));
}

static Value choose(OpBuilder &builder, Location location, Value condition,
                    Value a, Value b) {
  return arith::SelectOp::create(builder, location, condition, a, b);
}

//===----------------------------------------------------------------------===//
// Functions of one element
//===----------------------------------------------------------------------===//

template <typename MathOp>
static Value apply(OpBuilder &builder, Location location, Value x) {
  return MathOp::create(builder, location, x);
}

static Value reciprocal(OpBuilder &builder, Location location, Value x) {
  Value one = buildConstant(builder, location, 1);
  return arith::DivFOp::create(builder, location, one, x);
}

static Value sigmoid(OpBuilder &builder, Location location, Value x) {
  Value power = apply<math::ExpOp>(builder, location,
                                   apply<arith::NegFOp>(builder, location, x));
  Value one = buildConstant(builder, location, 1);
  return reciprocal(builder, location,
                    arith::AddFOp::create(builder, location, one, power));
}

// Zeros and NaNs are their own sign.
static Value sign(OpBuilder &builder, Location location, Value x) {
  Value zero = buildConstant(builder, location, 0);
  Value negative =
      compare(builder, location, arith::CmpFPredicate::OLT, x, zero);
  Value positive =
      compare(builder, location, arith::CmpFPredicate::OGT, x, zero);
  Value rest = choose(builder, location, negative,
                      buildConstant(builder, location, -1), x);
  return choose(builder, location, positive,
                buildConstant(builder, location, 1), rest);
}

static Value buildUnary(OpBuilder &builder, onnx::UnaryOp op, Value x) {
  Location location = op.getLoc();
  switch (op.getKind()) {
  case onnx::UnaryKind::Neg:
    return apply<arith::NegFOp>(builder, location, x);
  case onnx::UnaryKind::Abs:
    return apply<math::AbsFOp>(builder, location, x);
  case onnx::UnaryKind::Exp:
    return apply<math::ExpOp>(builder, location, x);
  case onnx::UnaryKind::Log:
    return apply<math::LogOp>(builder, location, x);
  case onnx::UnaryKind::Sqrt:
    return apply<math::SqrtOp>(builder, location, x);
  case onnx::UnaryKind::Reciprocal:
    return reciprocal(builder, location, x);
  case onnx::UnaryKind::Rsqrt:
    return apply<math::RsqrtOp>(builder, location, x);
  case onnx::UnaryKind::Tanh:
    return apply<math::TanhOp>(builder, location, x);
  case onnx::UnaryKind::Erf:
    return apply<math::ErfOp>(builder, location, x);
  case onnx::UnaryKind::Sigmoid:
    return sigmoid(builder, location, x);
  case onnx::UnaryKind::Sin:
    return apply<math::SinOp>(builder, location, x);
  case onnx::UnaryKind::Cos:
    return apply<math::CosOp>(builder, location, x);
  case onnx::UnaryKind::Floor:
    return apply<math::FloorOp>(builder, location, x);
  case onnx::UnaryKind::Ceil:
    return apply<math::CeilOp>(builder, location, x);
  case onnx::UnaryKind::Round:
    return apply<math::RoundEvenOp>(builder, location, x);
  case onnx::UnaryKind::Sign:
    return sign(builder, location, x);
  case onnx::UnaryKind::Not:
    break;
  }
  Value isTrue =
      arith::ConstantOp::create(builder, location, builder.getBoolAttr(true));
  return arith::XOrIOp::create(builder, location, asBool(builder, x), isTrue);
}

//===----------------------------------------------------------------------===//
// Functions of two elements
//===----------------------------------------------------------------------===//

// Small constant powers are products, as every library computes them.
static Value power(OpBuilder &builder, Location location, Value x, Value y) {
  FloatAttr constant;
  if (matchPattern(y, m_Constant(&constant))) {
    double exponent = constant.getValueAsDouble();
    if (exponent == 0.5)
      return math::SqrtOp::create(builder, location, x);
    if (exponent == 2 || exponent == 3) {
      Value square = arith::MulFOp::create(builder, location, x, x);
      return exponent == 2
                 ? square
                 : arith::MulFOp::create(builder, location, square, x);
    }
  }
  return math::PowFOp::create(builder, location, x, y);
}

static Value buildBinary(OpBuilder &builder, onnx::BinaryOp op, Value a,
                         Value b) {
  Location location = op.getLoc();
  switch (op.getKind()) {
  case onnx::BinaryKind::Equal:
    return compare(builder, location, arith::CmpFPredicate::OEQ, a, b);
  case onnx::BinaryKind::Less:
    return compare(builder, location, arith::CmpFPredicate::OLT, a, b);
  case onnx::BinaryKind::LessOrEqual:
    return compare(builder, location, arith::CmpFPredicate::OLE, a, b);
  case onnx::BinaryKind::And:
    return arith::AndIOp::create(builder, location, asBool(builder, a),
                                 asBool(builder, b));
  case onnx::BinaryKind::Or:
    return arith::OrIOp::create(builder, location, asBool(builder, a),
                                asBool(builder, b));
  default:
    break;
  }
  a = asFloat(builder, a);
  b = asFloat(builder, b);
  switch (op.getKind()) {
  case onnx::BinaryKind::Add:
    return arith::AddFOp::create(builder, location, a, b);
  case onnx::BinaryKind::Sub:
    return arith::SubFOp::create(builder, location, a, b);
  case onnx::BinaryKind::Mul:
    return arith::MulFOp::create(builder, location, a, b);
  case onnx::BinaryKind::Div:
    return arith::DivFOp::create(builder, location, a, b);
  case onnx::BinaryKind::Min:
    return arith::MinimumFOp::create(builder, location, a, b);
  case onnx::BinaryKind::Max:
    return arith::MaximumFOp::create(builder, location, a, b);
  default:
    return power(builder, location, a, b);
  }
}

//===----------------------------------------------------------------------===//
// The rest
//===----------------------------------------------------------------------===//

static Value buildCast(OpBuilder &builder, onnx::CastOp op, Value x) {
  Location location = op.getLoc();
  Type from = elementType(op.getX()), to = elementType(op.getY());
  if (to.isInteger(1))
    return asBool(builder, x);
  x = asFloat(builder, x);
  if (!isa<FloatType>(from) || !to.isInteger())
    return x;
  // Towards zero.
  Value zero = buildConstant(builder, location, 0);
  Value negative =
      compare(builder, location, arith::CmpFPredicate::OLT, x, zero);
  return choose(builder, location, negative,
                math::CeilOp::create(builder, location, x),
                math::FloorOp::create(builder, location, x));
}

Value select::buildScalar(OpBuilder &builder, Operation *op,
                          ValueRange operands) {
  if (auto unary = dyn_cast<onnx::UnaryOp>(op)) {
    bool isNot = unary.getKind() == onnx::UnaryKind::Not;
    return buildUnary(builder, unary,
                      isNot ? operands[0] : asFloat(builder, operands[0]));
  }
  if (auto binary = dyn_cast<onnx::BinaryOp>(op))
    return buildBinary(builder, binary, operands[0], operands[1]);
  if (auto cast = dyn_cast<onnx::CastOp>(op))
    return buildCast(builder, cast, operands[0]);
  return choose(builder, op->getLoc(), asBool(builder, operands[0]),
                asFloat(builder, operands[1]), asFloat(builder, operands[2]));
}
