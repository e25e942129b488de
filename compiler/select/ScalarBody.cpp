// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/select/ScalarBody.h"

#include "compiler/kernels/Distributions.h"
#include "compiler/kernels/Sources.h"
#include "compiler/select/Integers.h"
#include "compiler/select/ScalarIntegers.h"
#include "dialects/onnx/Onnx.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace wsec;
using namespace wsec::select;

static Type elementType(Value value) {
  return cast<RankedTensorType>(value.getType()).getElementType();
}

static bool isInteger(Value value) { return elementOnWafer(value).isInteger(); }

static bool computesInteger(onnx::UnaryKind kind) {
  return kind == onnx::UnaryKind::Neg || kind == onnx::UnaryKind::Abs ||
         kind == onnx::UnaryKind::Sign || kind == onnx::UnaryKind::BitNot;
}

std::optional<std::string> select::scalarProblem(Operation *op) {
  for (Value value : op->getOperands())
    if (elementType(value).isF64() && !isFloatCast(op))
      return "computes in f64; --allow-f64-as-f32 computes in f32";
  Type result = elementType(op->getResult(0));
  auto binary = dyn_cast<onnx::BinaryOp>(op);
  if (binary && binary.getKind() == onnx::BinaryKind::Pow &&
      result.isUnsignedInteger(32))
    return "raises unsigned integers to a power; cast to int32 first";
  auto unary = dyn_cast<onnx::UnaryOp>(op);
  if (unary && isInteger(unary.getX()) && !computesInteger(unary.getKind()))
    return "computes a function of floats on integers; cast to float first";
  return std::nullopt;
}

Value select::buildConstant(ImplicitLocOpBuilder &builder, double value) {
  return arith::ConstantOp::create(builder,
                                   builder.getF32FloatAttr(float(value)));
}

//===----------------------------------------------------------------------===//
// Integers of other widths
//===----------------------------------------------------------------------===//

/// What is left of `x` in an integer of the model's type: narrow ones wrap; of
/// 64 bits without a sign, a negative number ends the run.
static Value fitted(ImplicitLocOpBuilder &builder, Value x, Type type) {
  auto integer = dyn_cast<IntegerType>(type);
  if (!integer || integer.getWidth() == 1 || !x.getType().isInteger(32))
    return x;
  Integers of{builder};
  if (integer.getWidth() == 64)
    return integer.isUnsigned() ? of.notNegative(x) : x;
  if (integer.getWidth() == 32)
    return x;
  Value mask = of.constant((1 << integer.getWidth()) - 1);
  if (integer.isUnsigned())
    return of.bitAnd(x, mask);
  Value half = of.constant(1 << (integer.getWidth() - 1));
  return of.sub(of.bitAnd(of.add(x, half), mask), half);
}

/// The bits of an i32 as an unsigned number.
static Value unsignedAsFloat(ImplicitLocOpBuilder &builder, Value x) {
  Integers of{builder};
  Value low = of.bitAnd(x, of.constant(0xffff));
  // Without the lowest bits the division has no remainder.
  Value high = of.bitAnd(of.div(of.sub(x, low), of.constant(1 << 16)),
                         of.constant(0xffff));
  Value scaled = arith::MulFOp::create(builder, asFloat(builder, high),
                                       buildConstant(builder, 1 << 16));
  return arith::AddFOp::create(builder, scaled, asFloat(builder, low));
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

Value select::buildInteger(ImplicitLocOpBuilder &builder, int32_t value) {
  return arith::ConstantOp::create(builder, builder.getI32IntegerAttr(value));
}

Value select::asInteger(OpBuilder &builder, Value scalar) {
  if (scalar.getType().isInteger(32))
    return scalar;
  // The store sends booleans as 0.0 and 1.0.
  if (scalar.getType().isF32())
    return arith::FPToSIOp::create(builder, scalar.getLoc(),
                                   builder.getI32Type(), scalar);
  return arith::ExtUIOp::create(builder, scalar.getLoc(), builder.getI32Type(),
                                scalar);
}

static Value compare(ImplicitLocOpBuilder &builder,
                     arith::CmpFPredicate predicate, Value a, Value b) {
  return arith::CmpFOp::create(builder, predicate, asFloat(builder, a),
                               asFloat(builder, b));
}

static Value asBool(ImplicitLocOpBuilder &builder, Value scalar) {
  if (scalar.getType().isInteger(1))
    return scalar;
  if (scalar.getType().isInteger(32))
    return arith::CmpIOp::create(builder, arith::CmpIPredicate::ne, scalar,
                                 buildInteger(builder, 0));
  return compare(builder, arith::CmpFPredicate::UNE, scalar,
                 buildConstant(builder, 0));
}

static Value choose(ImplicitLocOpBuilder &builder, Value condition, Value a,
                    Value b) {
  return arith::SelectOp::create(builder, condition, a, b);
}

//===----------------------------------------------------------------------===//
// Functions of one element
//===----------------------------------------------------------------------===//

template <typename MathOp>
static Value apply(ImplicitLocOpBuilder &builder, Value x) {
  return MathOp::create(builder, x);
}

static Value reciprocal(ImplicitLocOpBuilder &builder, Value x) {
  Value one = buildConstant(builder, 1);
  return arith::DivFOp::create(builder, one, x);
}

static Value sigmoid(ImplicitLocOpBuilder &builder, Value x) {
  Value power = apply<math::ExpOp>(builder, apply<arith::NegFOp>(builder, x));
  Value one = buildConstant(builder, 1);
  return reciprocal(builder, arith::AddFOp::create(builder, one, power));
}

// Zeros and NaNs are their own sign.
static Value sign(ImplicitLocOpBuilder &builder, Value x) {
  Value zero = buildConstant(builder, 0);
  Value negative = compare(builder, arith::CmpFPredicate::OLT, x, zero);
  Value positive = compare(builder, arith::CmpFPredicate::OGT, x, zero);
  Value rest = choose(builder, negative, buildConstant(builder, -1), x);
  return choose(builder, positive, buildConstant(builder, 1), rest);
}

static Value buildUnary(ImplicitLocOpBuilder &builder, onnx::UnaryOp op,
                        Value x) {
  switch (op.getKind()) {
#define WSEC_FUNCTION(Name, name, numbers, software, words, value)             \
  case onnx::UnaryKind::Name:                                                  \
    return apply<math::Name##Op>(builder, x);
#include "runtime/program/Opcodes.def"
  case onnx::UnaryKind::Neg:
    return apply<arith::NegFOp>(builder, x);
  case onnx::UnaryKind::Abs:
    return apply<math::AbsFOp>(builder, x);
  case onnx::UnaryKind::Reciprocal:
    return reciprocal(builder, x);
  case onnx::UnaryKind::Rsqrt:
    return apply<math::RsqrtOp>(builder, x);
  case onnx::UnaryKind::Sigmoid:
    return sigmoid(builder, x);
  case onnx::UnaryKind::Round:
    return apply<math::RoundEvenOp>(builder, x);
  case onnx::UnaryKind::Sign:
    return sign(builder, x);
  case onnx::UnaryKind::Trunc:
    return choose(builder,
                  compare(builder, arith::CmpFPredicate::OLT, x,
                          buildConstant(builder, 0)),
                  apply<math::CeilOp>(builder, x),
                  apply<math::FloorOp>(builder, x));
  case onnx::UnaryKind::BitNot:
  case onnx::UnaryKind::Not:
    break;
  }
  Value isTrue = arith::ConstantOp::create(builder, builder.getBoolAttr(true));
  return arith::XOrIOp::create(builder, asBool(builder, x), isTrue);
}

//===----------------------------------------------------------------------===//
// Functions of two elements
//===----------------------------------------------------------------------===//

// Small constant powers are products, as every library computes them.
static Value power(ImplicitLocOpBuilder &builder, Value x, Value y) {
  FloatAttr constant;
  if (matchPattern(y, m_Constant(&constant))) {
    double exponent = constant.getValueAsDouble();
    if (exponent == 0.5)
      return math::SqrtOp::create(builder, x);
    if (exponent == 2 || exponent == 3) {
      Value square = arith::MulFOp::create(builder, x, x);
      return exponent == 2 ? square : arith::MulFOp::create(builder, square, x);
    }
  }
  return math::PowFOp::create(builder, x, y);
}

/// a - n * b for the whole n next to a / b towards zero. The product is taken
/// apart, so that nothing is lost, in two steps: n may have 46 bits.
static Value floatRemainder(ImplicitLocOpBuilder &builder, onnx::BinaryOp op,
                            Value a, Value b) {
  auto add = [&](Value x, Value y) -> Value {
    return arith::AddFOp::create(builder, x, y);
  };
  auto sub = [&](Value x, Value y) -> Value {
    return arith::SubFOp::create(builder, x, y);
  };
  auto mul = [&](Value x, Value y) -> Value {
    return arith::MulFOp::create(builder, x, y);
  };
  auto is = [&](arith::CmpFPredicate predicate, Value x, Value y) {
    return compare(builder, predicate, x, y);
  };
  auto constant = [&](double x) { return buildConstant(builder, x); };
  auto magnitude = [&](Value x) -> Value {
    return math::AbsFOp::create(builder, x);
  };
  // Magnitudes first; the sign comes back at the end.
  Value x = magnitude(a), y = magnitude(b);
  auto upper = [&](Value value) {
    Value wide = mul(value, constant(4097)); // 2^12 + 1
    return sub(wide, sub(wide, value));
  };
  Value yHigh = upper(y), yLow = sub(y, yHigh), rest = x;
  for (int step = 0; step < 2; ++step) {
    Value n =
        math::FloorOp::create(builder, arith::DivFOp::create(builder, rest, y));
    Value nHigh = upper(n), nLow = sub(n, nHigh), product = mul(n, y);
    Value lost = add(add(sub(mul(nHigh, yHigh), product),
                         add(mul(nHigh, yLow), mul(nLow, yHigh))),
                     mul(nLow, yLow));
    rest = sub(sub(rest, product), lost);
  }
  // A quotient may have been rounded to the next whole number.
  rest = choose(builder, is(arith::CmpFPredicate::OLT, rest, constant(0)),
                add(rest, y), rest);
  rest = choose(builder, is(arith::CmpFPredicate::OLE, y, rest), sub(rest, y),
                rest);
  Value infinite = is(arith::CmpFPredicate::OEQ, y,
                      constant(std::numeric_limits<double>::infinity()));
  Value finite = is(arith::CmpFPredicate::OLT, x,
                    constant(std::numeric_limits<double>::infinity()));
  Value whole = arith::AndIOp::create(builder, infinite, finite);
  rest = choose(builder, whole, x, rest);
  // Beyond that, and where the parts of a product are not finite, the run ends:
  // no integer of 32 bits holds 2^40.
  Value quotient = arith::DivFOp::create(builder, x, y);
  auto both = [&](Value first, Value second) -> Value {
    return arith::AndIOp::create(builder, first, second);
  };
  Value isLarge = arith::OrIOp::create(
      builder, is(arith::CmpFPredicate::OLT, constant(std::exp2(45)), quotient),
      arith::OrIOp::create(
          builder, is(arith::CmpFPredicate::OLT, constant(std::exp2(112)), x),
          is(arith::CmpFPredicate::OLT, constant(std::exp2(112)), y)));
  Value isUsual =
      both(finite, both(is(arith::CmpFPredicate::OLT, constant(0), y),
                        is(arith::CmpFPredicate::OLT, y,
                           constant(std::numeric_limits<double>::infinity()))));
  Value checked =
      arith::FPToSIOp::create(builder, builder.getI32Type(),
                              choose(builder, both(isLarge, isUsual),
                                     constant(std::exp2(40)), constant(0)));
  rest = add(rest,
             arith::SIToFPOp::create(builder, builder.getF32Type(), checked));
  rest = choose(builder, is(arith::CmpFPredicate::OLT, a, constant(0)),
                apply<arith::NegFOp>(builder, rest), rest);
  if (op.getKind() == onnx::BinaryKind::Remainder)
    return rest;
  Value differ =
      is(arith::CmpFPredicate::OLT, mul(rest, sign(builder, b)), constant(0));
  return choose(builder, differ, add(rest, b), rest);
}

static Value buildBinary(ImplicitLocOpBuilder &builder, onnx::BinaryOp op,
                         Value a, Value b) {
  if (Value result = buildIntegerBinary(builder, op, a, b))
    return result;
  switch (op.getKind()) {
  case onnx::BinaryKind::Equal:
    return compare(builder, arith::CmpFPredicate::OEQ, a, b);
  case onnx::BinaryKind::Less:
    return compare(builder, arith::CmpFPredicate::OLT, a, b);
  case onnx::BinaryKind::LessOrEqual:
    return compare(builder, arith::CmpFPredicate::OLE, a, b);
  case onnx::BinaryKind::And:
    return arith::AndIOp::create(builder, asBool(builder, a),
                                 asBool(builder, b));
  case onnx::BinaryKind::Or:
    return arith::OrIOp::create(builder, asBool(builder, a),
                                asBool(builder, b));
  default:
    break;
  }
  a = asFloat(builder, a);
  b = asFloat(builder, b);
  switch (op.getKind()) {
  case onnx::BinaryKind::Add:
    return arith::AddFOp::create(builder, a, b);
  case onnx::BinaryKind::Sub:
    return arith::SubFOp::create(builder, a, b);
  case onnx::BinaryKind::Mul:
    return arith::MulFOp::create(builder, a, b);
  case onnx::BinaryKind::Div:
    return arith::DivFOp::create(builder, a, b);
  case onnx::BinaryKind::Min:
    return arith::MinimumFOp::create(builder, a, b);
  case onnx::BinaryKind::Max:
    return arith::MaximumFOp::create(builder, a, b);
  case onnx::BinaryKind::Mod:
  case onnx::BinaryKind::Remainder:
    return floatRemainder(builder, op, a, b);
  default:
    return power(builder, a, b);
  }
}

//===----------------------------------------------------------------------===//
// The rest
//===----------------------------------------------------------------------===//

static Value buildCast(ImplicitLocOpBuilder &builder, onnx::CastOp op,
                       Value x) {
  Type from = elementType(op.getX()), to = elementType(op.getY());
  if (to.isInteger(1))
    return asBool(builder, x);
  if (!to.isInteger())
    return from.isUnsignedInteger(32) ? unsignedAsFloat(builder, x)
                                      : asFloat(builder, x);
  Integers of{builder};
  if (from.isInteger()) {
    x = asInteger(builder, x);
    const bool isWider = to.getIntOrFloatBitWidth() == 64;
    return from.isUnsignedInteger(32) && isWider ? of.notNegative(x) : x;
  }
  auto whole = [&](Value value) -> Value {
    return arith::FPToSIOp::create(builder, builder.getI32Type(), value);
  };
  if (!to.isUnsignedInteger(32))
    return whole(x);
  // The upper half of the range without its highest bit.
  Value high = buildConstant(builder, std::exp2(31));
  Value isHigh = compare(builder, arith::CmpFPredicate::OGE, x, high);
  Value low = whole(
      choose(builder, isHigh, arith::SubFOp::create(builder, x, high), x));
  return of.choose(isHigh, of.add(low, of.constant(INT32_MIN)), low);
}

/// The value before it is brought into the model's type.
static Value buildUnfitted(ImplicitLocOpBuilder &builder, Operation *op,
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
  if (isa<onnx::BitCastOp>(op)) {
    const bool toFloat = !elementType(op->getResult(0)).isInteger();
    return arith::BitcastOp::create(
        builder, toFloat ? Type(builder.getF32Type()) : builder.getI32Type(),
        toFloat ? asInteger(builder, operands[0])
                : asFloat(builder, operands[0]));
  }
  return buildCast(builder, cast<onnx::CastOp>(op), operands[0]);
}

Value select::buildScalar(OpBuilder &body, Operation *op, ValueRange operands) {
  ImplicitLocOpBuilder builder(op->getLoc(), body);
  Type result = elementType(op->getResult(0));
  if (!isa<onnx::WhereOp>(op)) {
    Value value = buildUnfitted(builder, op, operands);
    return fitted(builder, value, result);
  }
  Value condition = asBool(builder, operands[0]);
  auto part = [&](Value value) {
    return isInteger(op->getResult(0)) ? asInteger(builder, value)
                                       : asFloat(builder, value);
  };
  return choose(builder, condition, part(operands[1]), part(operands[2]));
}
