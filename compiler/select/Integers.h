// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What integers of the model take that are wider than i32, or have no sign.

#ifndef WSEC_COMPILER_SELECT_INTEGERS_H
#define WSEC_COMPILER_SELECT_INTEGERS_H

#include "compiler/select/ScalarBody.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace wsec::select {

/// i32 arithmetic without overflow checks at one place.
struct Integers {
  mlir::ImplicitLocOpBuilder &builder;

  mlir::Value constant(int64_t value) {
    return buildInteger(builder, int32_t(value));
  }
  template <typename Op>
  mlir::Value make(mlir::Value a, mlir::Value b) {
    return Op::create(builder, a, b);
  }
  mlir::Value add(mlir::Value a, mlir::Value b) {
    return make<mlir::arith::AddIOp>(a, b);
  }
  mlir::Value sub(mlir::Value a, mlir::Value b) {
    return make<mlir::arith::SubIOp>(a, b);
  }
  mlir::Value mul(mlir::Value a, mlir::Value b) {
    return make<mlir::arith::MulIOp>(a, b);
  }
  mlir::Value div(mlir::Value a, mlir::Value b) {
    return make<mlir::arith::DivSIOp>(a, b);
  }
  mlir::Value bitAnd(mlir::Value a, mlir::Value b) {
    return make<mlir::arith::AndIOp>(a, b);
  }
  mlir::Value bitOr(mlir::Value a, mlir::Value b) {
    return make<mlir::arith::OrIOp>(a, b);
  }
  mlir::Value compare(mlir::arith::CmpIPredicate predicate, mlir::Value a,
                      mlir::Value b) {
    return mlir::arith::CmpIOp::create(builder, predicate, a, b);
  }
  mlir::Value isNegative(mlir::Value x) {
    return compare(mlir::arith::CmpIPredicate::slt, x, constant(0));
  }
  mlir::Value choose(mlir::Value condition, mlir::Value a, mlir::Value b) {
    return mlir::arith::SelectOp::create(builder, condition, a, b);
  }

  /// As an unsigned number, as a signed one of the same order.
  mlir::Value ordered(mlir::Value x) { return add(x, constant(INT32_MIN)); }
  mlir::Value isLessUnsigned(mlir::Value a, mlir::Value b, bool orEqual) {
    return compare(orEqual ? mlir::arith::CmpIPredicate::sle
                           : mlir::arith::CmpIPredicate::slt,
                   ordered(a), ordered(b));
  }

  /// Half of the dividend is no negative number; a divisor of 2^31 or more is
  /// taken out at most once.
  mlir::Value divUnsigned(mlir::Value a, mlir::Value b) {
    mlir::Value half = div(bitAnd(a, constant(INT32_MAX - 1)), constant(2));
    half = bitOr(half, choose(isNegative(a), constant(1 << 30), constant(0)));
    mlir::Value twice = mul(div(half, b), constant(2));
    mlir::Value more = isLessUnsigned(b, sub(a, mul(twice, b)), true);
    twice = choose(more, add(twice, constant(1)), twice);
    mlir::Value once =
        choose(isLessUnsigned(b, a, true), constant(1), constant(0));
    return choose(isNegative(b), once, twice);
  }

  /// Ends the run if `x` is negative: INT32_MIN - 1 does not fit.
  mlir::Value notNegative(mlir::Value x) {
    mlir::Value negative = isNegative(x);
    return mlir::arith::SubIOp::create(
        builder, choose(negative, constant(INT32_MIN), x),
        choose(negative, constant(1), constant(0)),
        mlir::arith::IntegerOverflowFlags::nsw);
  }

  /// 2^n modulo 2^32, for n from 0 to 31.
  mlir::Value powerOfTwo(mlir::Value n) {
    mlir::Value power = constant(1);
    for (int bit = 0; bit < 5; ++bit) {
      mlir::Value isSet = compare(mlir::arith::CmpIPredicate::ne,
                                  bitAnd(n, constant(1 << bit)), constant(0));
      power = mul(power, choose(isSet, constant(1 << (1 << bit)), constant(1)));
    }
    return power;
  }

  /// x * 2^n, of which 32 bits have to hold the result: by 2^30 at most, then
  /// by 4 if there is more to come.
  mlir::Value shiftFar(mlir::Value x, mlir::Value n) {
    auto fitting = mlir::arith::IntegerOverflowFlags::nsw;
    mlir::Value isFar = isLessUnsigned(constant(30), n, false);
    mlir::Value power = powerOfTwo(choose(isFar, constant(30), n));
    mlir::Value near = mlir::arith::MulIOp::create(builder, x, power, fitting);
    return mlir::arith::MulIOp::create(
        builder, near, choose(isFar, constant(4), constant(1)), fitting);
  }
};

} // namespace wsec::select

#endif // WSEC_COMPILER_SELECT_INTEGERS_H
