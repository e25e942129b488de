// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/select/ScalarBody.h"

#include "compiler/select/Sources.h"
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

static bool isInteger(Value value) {
  return elementOnWafer(value).isInteger();
}

/// Whether results of the model may be larger than the PE's integers.
static arith::IntegerOverflowFlags overflowOf(Operation *op) {
  return elementType(op->getResult(0)).isInteger(64)
             ? arith::IntegerOverflowFlags::nsw
             : arith::IntegerOverflowFlags::none;
}

static bool computesInteger(onnx::UnaryKind kind) {
  return kind == onnx::UnaryKind::Neg || kind == onnx::UnaryKind::Abs ||
         kind == onnx::UnaryKind::Sign;
}

std::optional<std::string> select::scalarProblem(Operation *op) {
  for (Value value : op->getOperands())
    if (elementType(value).isF64())
      return "computes in f64, the wafer in f32";
  Type result = elementType(op->getResult(0));
  if (result.isInteger() && !result.isInteger(1) &&
      result.getIntOrFloatBitWidth() < 32)
    return "computes integers of " +
           std::to_string(result.getIntOrFloatBitWidth()) +
           " bits, which would have to wrap; cast to int32 first";
  auto unary = dyn_cast<onnx::UnaryOp>(op);
  if (unary && isInteger(unary.getX()) && !computesInteger(unary.getKind()))
    return "computes a function of floats on integers; cast to float first";
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
  if (scalar.getType().isInteger(32))
    return arith::SIToFPOp::create(builder, scalar.getLoc(),
                                   builder.getF32Type(), scalar);
  return arith::UIToFPOp::create(builder, scalar.getLoc(), builder.getF32Type(),
                                 scalar);
}

Value select::buildInteger(OpBuilder &builder, Location location,
                           int32_t value) {
  return arith::ConstantOp::create(builder, location,
                                   builder.getI32IntegerAttr(value));
}

Value select::asInteger(OpBuilder &builder, Value scalar) {
  if (scalar.getType().isInteger(32))
    return scalar;
  return arith::ExtUIOp::create(builder, scalar.getLoc(), builder.getI32Type(),
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
  if (scalar.getType().isInteger(32))
    return arith::CmpIOp::create(builder, location, arith::CmpIPredicate::ne,
                                 scalar, buildInteger(builder, location, 0));
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

/// Neg, Abs or Sign. Subtracting says where a negated integer does not fit.
static Value buildIntegerUnary(OpBuilder &builder, onnx::UnaryOp op, Value x) {
  Location location = op.getLoc();
  Value zero = buildInteger(builder, location, 0);
  auto is = [&](arith::CmpIPredicate predicate) {
    return arith::CmpIOp::create(builder, location, predicate, x, zero);
  };
  if (op.getKind() == onnx::UnaryKind::Sign) {
    Value below = choose(builder, location, is(arith::CmpIPredicate::slt),
                         buildInteger(builder, location, -1), zero);
    return choose(builder, location, is(arith::CmpIPredicate::sgt),
                  buildInteger(builder, location, 1), below);
  }
  Value negated =
      arith::SubIOp::create(builder, location, zero, x, overflowOf(op));
  return op.getKind() == onnx::UnaryKind::Neg
             ? negated
             : choose(builder, location, is(arith::CmpIPredicate::slt),
                      negated, x);
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

/// f32 powers are off by a unit in the last place at most: below 2^22 the
/// nearest integer is right. Scaled by 2^9, larger ones do not fit.
static Value integerPower(OpBuilder &builder, Location location, Value x,
                          Value y) {
  Value real = power(builder, location, asFloat(builder, x),
                     asFloat(builder, y));
  Value nearest = math::RoundEvenOp::create(builder, location, real);
  Value whole = arith::FPToSIOp::create(builder, location, builder.getI32Type(),
                                        nearest);
  Value scale = buildInteger(builder, location, 1 << 9);
  Value scaled = arith::MulIOp::create(builder, location, whole, scale,
                                       arith::IntegerOverflowFlags::nsw);
  return arith::DivSIOp::create(builder, location, scaled, scale);
}

/// Nothing for what is no function of integers.
static Value buildIntegerBinary(OpBuilder &builder, onnx::BinaryOp op, Value a,
                                Value b) {
  Location location = op.getLoc();
  auto compareAs = [&](arith::CmpIPredicate predicate) -> Value {
    return arith::CmpIOp::create(builder, location, predicate, a, b);
  };
  switch (op.getKind()) {
  case onnx::BinaryKind::Add:
    return arith::AddIOp::create(builder, location, a, b, overflowOf(op));
  case onnx::BinaryKind::Sub:
    return arith::SubIOp::create(builder, location, a, b, overflowOf(op));
  case onnx::BinaryKind::Mul:
    return arith::MulIOp::create(builder, location, a, b, overflowOf(op));
  case onnx::BinaryKind::Div:
    return arith::DivSIOp::create(builder, location, a, b);
  case onnx::BinaryKind::Min:
    return arith::MinSIOp::create(builder, location, a, b);
  case onnx::BinaryKind::Max:
    return arith::MaxSIOp::create(builder, location, a, b);
  case onnx::BinaryKind::Equal:
    return compareAs(arith::CmpIPredicate::eq);
  case onnx::BinaryKind::Less:
    return compareAs(arith::CmpIPredicate::slt);
  case onnx::BinaryKind::LessOrEqual:
    return compareAs(arith::CmpIPredicate::sle);
  case onnx::BinaryKind::Pow:
    return integerPower(builder, location, a, b);
  default:
    return {};
  }
}

static Value buildBinary(OpBuilder &builder, onnx::BinaryOp op, Value a,
                         Value b) {
  Location location = op.getLoc();
  if (a.getType().isInteger(32) && b.getType().isInteger(32))
    if (Value result = buildIntegerBinary(builder, op, a, b))
      return result;
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
  if (!to.isInteger())
    return asFloat(builder, x);
  if (from.isInteger())
    return asInteger(builder, x);
  return arith::FPToSIOp::create(builder, location, builder.getI32Type(), x);
}

Value select::buildScalar(OpBuilder &builder, Operation *op,
                          ValueRange operands) {
  if (auto unary = dyn_cast<onnx::UnaryOp>(op)) {
    if (operands[0].getType().isInteger(32))
      return buildIntegerUnary(builder, unary, operands[0]);
    bool isNot = unary.getKind() == onnx::UnaryKind::Not;
    return buildUnary(builder, unary,
                      isNot ? operands[0] : asFloat(builder, operands[0]));
  }
  if (auto binary = dyn_cast<onnx::BinaryOp>(op))
    return buildBinary(builder, binary, operands[0], operands[1]);
  if (auto cast = dyn_cast<onnx::CastOp>(op))
    return buildCast(builder, cast, operands[0]);
  Value condition = asBool(builder, operands[0]);
  auto part = [&](Value value) {
    return isInteger(op->getResult(0)) ? asInteger(builder, value)
                                       : asFloat(builder, value);
  };
  return choose(builder, op->getLoc(), condition, part(operands[1]),
                part(operands[2]));
}
