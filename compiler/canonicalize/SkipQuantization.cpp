// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/canonicalize/SkipQuantization.h"
#include "compiler/values/OnnxValues.h"

using namespace mlir;
using namespace wsec;
using namespace wsec::canonicalize;
using namespace wsec::values;
using onnx::BinaryKind;

static bool isInteger(Value value) {
  return isa<IntegerType>(typeOf(value).getElementType());
}

/// Behind casts of integers, and what is taken from or added to them.
static Value throughIntegers(Value value) {
  while (isInteger(value)) {
    if (auto cast = value.getDefiningOp<onnx::CastOp>())
      value = cast.getX();
    else if (auto binary = value.getDefiningOp<onnx::BinaryOp>();
             binary && binary.getKind() == BinaryKind::Sub)
      value = binary.getA();
    else
      return {};
  }
  return value;
}

/// x / scale, of which `value` is the limited, rounded number; or null.
static onnx::BinaryOp quantizedAt(Value value) {
  while (auto binary = value.getDefiningOp<onnx::BinaryOp>()) {
    if (binary.getKind() != BinaryKind::Min &&
        binary.getKind() != BinaryKind::Max &&
        binary.getKind() != BinaryKind::Add)
      return {};
    value = binary.getA();
  }
  Value scaled = operandOf(value, onnx::UnaryKind::Round);
  return scaled ? binaryOf(scaled, BinaryKind::Div) : onnx::BinaryOp();
}

/// In place of a scale that each run computes.
static void takeOne(Value scale) {
  if (isConstant(scale))
    return;
  OpBuilder builder(scale.getContext());
  builder.setInsertionPointAfterValue(scale);
  Tensor one(ElementType::Float32, shapeOf(scale));
  for (int64_t i = 0; i < one.size(); ++i)
    one.setFloat(i, 1);
  scale.replaceAllUsesWith(materialize(builder, scale.getLoc(), one));
}

unsigned canonicalize::skipQuantization(ModuleOp module) {
  unsigned skipped = 0;
  module.walk([&](onnx::CastOp cast) {
    if (!typeOf(cast.getY()).getElementType().isF32() ||
        !isInteger(cast.getX()))
      return;
    Value number = throughIntegers(cast.getX());
    if (!number || !typeOf(number).getElementType().isF32())
      return;
    // A product of integers, too, is the one of numbers.
    if (isa_and_present<onnx::MatMulOp, onnx::BatchMatMulOp>(
            number.getDefiningOp())) {
      cast.getY().replaceAllUsesWith(number);
      return;
    }
    onnx::BinaryOp scaled = quantizedAt(number);
    if (!scaled || scaled.getA().getType() != cast.getY().getType())
      return;
    cast.getY().replaceAllUsesWith(scaled.getA());
    takeOne(scaled.getB());
    ++skipped;
  });
  return skipped;
}
