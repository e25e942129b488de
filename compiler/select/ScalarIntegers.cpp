// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/select/ScalarIntegers.h"

#include "compiler/select/Integers.h"

#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace wsec;
using namespace wsec::select;

/// Whether results of the model may be larger than the PE's integers.
static arith::IntegerOverflowFlags overflowOf(Operation *op) {
  return getElementTypeOrSelf(op->getResult(0)).getIntOrFloatBitWidth() == 64
             ? arith::IntegerOverflowFlags::nsw
             : arith::IntegerOverflowFlags::none;
}

Value select::buildIntegerUnary(ImplicitLocOpBuilder &builder, onnx::UnaryOp op,
                                Value x) {
  Integers of{builder};
  Value zero = buildInteger(builder, 0);
  if (getElementTypeOrSelf(op.getX()).isUnsignedInteger(32)) {
    if (op.getKind() == onnx::UnaryKind::Abs)
      return x;
    if (op.getKind() == onnx::UnaryKind::Sign)
      return of.choose(of.compare(arith::CmpIPredicate::eq, x, zero), zero,
                       of.constant(1));
  }
  auto is = [&](arith::CmpIPredicate predicate) {
    return arith::CmpIOp::create(builder, predicate, x, zero);
  };
  if (op.getKind() == onnx::UnaryKind::Sign) {
    Value below = of.choose(is(arith::CmpIPredicate::slt),
                            buildInteger(builder, -1), zero);
    return of.choose(is(arith::CmpIPredicate::sgt), buildInteger(builder, 1),
                     below);
  }
  if (op.getKind() == onnx::UnaryKind::BitNot)
    return arith::SubIOp::create(builder, buildInteger(builder, -1), x);
  Value negated = arith::SubIOp::create(builder, zero, x, overflowOf(op));
  return op.getKind() == onnx::UnaryKind::Neg
             ? negated
             : of.choose(is(arith::CmpIPredicate::slt), negated, x);
}

/// Of integers, with the sign of the divisor or of the dividend.
static Value integerRemainder(ImplicitLocOpBuilder &builder, onnx::BinaryOp op,
                              Value a, Value b) {
  Integers of{builder};
  if (getElementTypeOrSelf(op.getA()).isUnsignedInteger(32))
    return of.sub(a, of.mul(of.divUnsigned(a, b), b));
  Value rest = arith::RemSIOp::create(builder, a, b);
  if (op.getKind() == onnx::BinaryKind::Remainder)
    return rest;
  // A product of the signs: of bits that differ in the highest.
  Value differ = of.isNegative(arith::XOrIOp::create(builder, rest, b));
  Value isZero = of.compare(arith::CmpIPredicate::eq, rest, of.constant(0));
  return of.choose(isZero, rest, of.choose(differ, of.add(rest, b), rest));
}

/// Squares of `x`, of which each bit of the exponent takes one or not. One that
/// no bit is left for is none, so that it does not have to fit. Negative
/// exponents leave nothing but of 1 and -1.
static Value integerPower(ImplicitLocOpBuilder &builder, onnx::BinaryOp op,
                          Value x, Value n) {
  Integers of{builder};
  auto multiply = [&](Value a, Value b) -> Value {
    return arith::MulIOp::create(builder, a, b, overflowOf(op));
  };
  auto is = [&](arith::CmpIPredicate predicate, Value value, int64_t number) {
    return of.compare(predicate, value, of.constant(number));
  };
  constexpr int bits = 31; // all but the sign
  IntegerAttr known;
  matchPattern(n, m_Constant(&known));
  const int64_t exponent = known ? known.getValue().getSExtValue() : -1;
  Value isFraction = of.isNegative(n), one = of.constant(1), base = x;
  n = of.choose(isFraction, of.bitAnd(n, one), n);
  Value result;
  for (int bit = 0; bit < bits; ++bit) {
    if (exponent < 0 || (exponent >> bit & 1)) {
      Value isSet =
          is(arith::CmpIPredicate::ne, of.bitAnd(n, of.constant(1 << bit)), 0);
      Value factor = exponent < 0 ? of.choose(isSet, x, one) : x;
      result = result ? multiply(result, factor) : factor;
    }
    if (bit + 1 == bits || (exponent >= 0 && exponent >> (bit + 1) == 0))
      break;
    if (exponent < 0)
      x = of.choose(is(arith::CmpIPredicate::sgt, n, (int64_t(2) << bit) - 1),
                    x, one);
    x = multiply(x, x);
  }
  if (exponent >= 0)
    return result ? result : one;
  Value isUnit =
      arith::OrIOp::create(builder, is(arith::CmpIPredicate::eq, base, 1),
                           is(arith::CmpIPredicate::eq, base, -1));
  Value none = of.choose(isUnit, result, of.constant(0));
  return of.choose(isFraction, none, result);
}

/// Shifts by the width or more leave zeros, or the sign.
static Value shift(ImplicitLocOpBuilder &builder, onnx::BinaryOp op, Value x,
                   Value n) {
  Integers of{builder};
  auto type = cast<IntegerType>(getElementTypeOrSelf(op.getA()));
  const unsigned width = type.getWidth();
  Value inside = of.isLessUnsigned(n, of.constant(width), false);
  Value zero = of.constant(0);
  if (width == 64 && op.getKind() == onnx::BinaryKind::ShiftLeft)
    return of.shiftFar(of.choose(inside, x, zero), n);
  Value most = of.isLessUnsigned(n, of.constant(32), false);
  Value power = of.powerOfTwo(of.choose(most, n, of.constant(31)));
  if (op.getKind() == onnx::BinaryKind::ShiftLeft)
    return of.choose(inside, of.mul(x, power), zero);
  if (type.isUnsigned())
    return of.choose(inside, of.divUnsigned(x, power), zero);
  Value sign = of.choose(of.isNegative(x), of.constant(-1), zero);
  // Rounds down; 2^31 is negative, and leaves the sign.
  Value low = of.bitAnd(x, of.sub(power, of.constant(1)));
  Value moved =
      of.choose(of.isNegative(power), sign, of.div(of.sub(x, low), power));
  return of.choose(inside, moved, sign);
}

/// What differs where the highest bit is no sign; nothing for all else.
static Value buildUnsignedBinary(ImplicitLocOpBuilder &builder,
                                 onnx::BinaryOp op, Value a, Value b) {
  Integers of{builder};
  switch (op.getKind()) {
  case onnx::BinaryKind::Div:
    return of.divUnsigned(a, b);
  case onnx::BinaryKind::Less:
    return of.isLessUnsigned(a, b, false);
  case onnx::BinaryKind::LessOrEqual:
    return of.isLessUnsigned(a, b, true);
  case onnx::BinaryKind::Min:
    return of.choose(of.isLessUnsigned(a, b, false), a, b);
  case onnx::BinaryKind::Max:
    return of.choose(of.isLessUnsigned(a, b, false), b, a);
  default:
    return {};
  }
}

Value select::buildIntegerBinary(ImplicitLocOpBuilder &builder,
                                 onnx::BinaryOp op, Value a, Value b) {
  Integers of{builder};
  if (getElementTypeOrSelf(op.getA()).isUnsignedInteger(32))
    if (Value result = buildUnsignedBinary(builder, op, a, b))
      return result;
  if (!a.getType().isInteger(32) || !b.getType().isInteger(32))
    return {};
  auto compareAs = [&](arith::CmpIPredicate predicate) -> Value {
    return arith::CmpIOp::create(builder, predicate, a, b);
  };
  auto compareWith = [&](Value value, int64_t constant) -> Value {
    return arith::CmpIOp::create(
        builder, arith::CmpIPredicate::eq, value,
        arith::ConstantIntOp::create(builder, constant, 32));
  };
  switch (op.getKind()) {
  case onnx::BinaryKind::Add:
    return arith::AddIOp::create(builder, a, b, overflowOf(op));
  case onnx::BinaryKind::Sub:
    return arith::SubIOp::create(builder, a, b, overflowOf(op));
  case onnx::BinaryKind::Mul:
    return arith::MulIOp::create(builder, a, b, overflowOf(op));
  case onnx::BinaryKind::Div: {
    Value quotient = arith::DivSIOp::create(builder, a, b);
    if (overflowOf(op) == arith::IntegerOverflowFlags::none)
      return quotient;
    // The least integer over -1 has no 32 bits: a negation that may not wrap.
    Value zero = arith::ConstantIntOp::create(builder, 0, 32);
    Value isNegation = compareWith(b, -1);
    Value negated = arith::SubIOp::create(
        builder, zero, of.choose(isNegation, a, zero), overflowOf(op));
    return of.choose(isNegation, negated, quotient);
  }
  case onnx::BinaryKind::Min:
    return arith::MinSIOp::create(builder, a, b);
  case onnx::BinaryKind::Max:
    return arith::MaxSIOp::create(builder, a, b);
  case onnx::BinaryKind::Equal:
    return compareAs(arith::CmpIPredicate::eq);
  case onnx::BinaryKind::Less:
    return compareAs(arith::CmpIPredicate::slt);
  case onnx::BinaryKind::LessOrEqual:
    return compareAs(arith::CmpIPredicate::sle);
  case onnx::BinaryKind::Mod:
  case onnx::BinaryKind::Remainder:
    return integerRemainder(builder, op, a, b);
  case onnx::BinaryKind::Pow:
    return integerPower(builder, op, a, b);
  case onnx::BinaryKind::BitAnd:
    return arith::AndIOp::create(builder, a, b);
  case onnx::BinaryKind::BitOr:
    return arith::OrIOp::create(builder, a, b);
  case onnx::BinaryKind::BitXor:
    return arith::XOrIOp::create(builder, a, b);
  case onnx::BinaryKind::ShiftLeft:
  case onnx::BinaryKind::ShiftRight:
    return shift(builder, op, a, b);
  default:
    return {};
  }
}
