// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operations of arith and math, and the operators that mean the same.
#include "compiler/raise/Raiser.h"
#include "dialects/onnx/OnnxSchemas.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>

using namespace mlir;
using namespace wsec;
using namespace wsec::raise;

/// ONNX's function of one element of the same name, if it has one. Of the same
/// name but not the same is only math.round, whose halves go away from zero.
static StringRef sameFunction(StringRef mathOp) {
  if (!mathOp.consume_front("math.") || mathOp == "round")
    return "";
  std::string name = mathOp.take_front().upper() + mathOp.drop_front().str();
  const onnx::OperatorSchema *schema = onnx::findSchema(name, opset);
  return schema && schema->maxInputs == 1 ? StringRef(schema->name) : "";
}

/// Operators with the same operands, NaNs and zeros included.
static StringRef sameOperator(StringRef op) {
  return llvm::StringSwitch<StringRef>(op)
      .Cases({"arith.addf", "arith.addi"}, "Add")
      .Cases({"arith.subf", "arith.subi"}, "Sub")
      .Cases({"arith.mulf", "arith.muli"}, "Mul")
      .Cases({"arith.divf", "arith.divsi"}, "Div")
      .Cases({"arith.maximumf", "arith.maxsi"}, "Max")
      .Cases({"arith.minimumf", "arith.minsi"}, "Min")
      .Case("arith.negf", "Neg")
      .Case("arith.select", "Where")
      .Cases({"math.absf", "math.absi"}, "Abs")
      .Cases({"math.powf", "math.fpowi"}, "Pow")
      .Case("math.roundeven", "Round")
      .Default(sameFunction(op));
}

/// The operator of a comparison, and whether its answer is turned round: what
/// is true of NaNs is the opposite of what is false of them.
static std::pair<StringRef, bool> comparison(arith::CmpFPredicate predicate) {
  return llvm::StringSwitch<std::pair<StringRef, bool>>(
             arith::stringifyCmpFPredicate(predicate))
      .Case("oeq", {"Equal", false})
      .Case("une", {"Equal", true})
      .Case("ogt", {"Greater", false})
      .Case("oge", {"GreaterOrEqual", false})
      .Case("olt", {"Less", false})
      .Case("ole", {"LessOrEqual", false})
      .Case("ugt", {"LessOrEqual", true})
      .Case("uge", {"Less", true})
      .Case("ult", {"GreaterOrEqual", true})
      .Case("ule", {"Greater", true})
      .Default({"", false});
}

static std::pair<StringRef, bool> comparison(arith::CmpIPredicate predicate) {
  return llvm::StringSwitch<std::pair<StringRef, bool>>(
             arith::stringifyCmpIPredicate(predicate))
      .Case("eq", {"Equal", false})
      .Case("ne", {"Equal", true})
      .Case("sgt", {"Greater", false})
      .Case("sge", {"GreaterOrEqual", false})
      .Case("slt", {"Less", false})
      .Case("sle", {"LessOrEqual", false})
      .Default({"", false});
}

/// `x > c ? x : c`, which torch-mlir writes for relu: NaN stays NaN.
static bool isMaximum(arith::SelectOp select, const Term &other) {
  auto compare = select.getCondition().getDefiningOp<arith::CmpFOp>();
  if (!compare || compare.getLhs() != select.getTrueValue() ||
      compare.getRhs() != select.getFalseValue())
    return false;
  std::optional<double> number = uniformNumber(other.value);
  auto predicate = compare.getPredicate();
  return number && !std::isnan(*number) &&
         (predicate == arith::CmpFPredicate::UGT ||
          predicate == arith::CmpFPredicate::UGE);
}

static Type elementOf(Value value) {
  return getElementTypeOrSelf(value.getType());
}

FailureOr<Term> Raiser::scalar(Operation *op, ArrayRef<Term> operands) {
  auto compare = [&](std::pair<StringRef, bool> found) -> FailureOr<Term> {
    if (found.first.empty())
      return refuse("no operator compares so");
    Term result = elementwise(found.first, operands);
    return found.second ? elementwise("Not", result) : result;
  };
  auto logical = [&](StringRef bits, StringRef bools) {
    bool isBool = elementOf(op->getResult(0)).isInteger(1);
    return elementwise(isBool ? bools : bits, operands);
  };
  bool fromBool =
      op->getNumOperands() == 1 && elementOf(op->getOperand(0)).isInteger(1);
  return llvm::TypeSwitch<Operation *, FailureOr<Term>>(op)
      .Case<arith::CmpFOp, arith::CmpIOp>(
          [&](auto op) { return compare(comparison(op.getPredicate())); })
      .Case<arith::AndIOp>([&](auto) { return logical("BitwiseAnd", "And"); })
      .Case<arith::OrIOp>([&](auto) { return logical("BitwiseOr", "Or"); })
      .Case<arith::XOrIOp>([&](auto) { return logical("BitwiseXor", "Xor"); })
      .Case<math::RsqrtOp>([&](auto) {
        return elementwise("Reciprocal", elementwise("Sqrt", operands));
      })
      .Case<math::FmaOp>([&](auto) {
        return elementwise(
            "Add", {elementwise("Mul", operands.take_front(2)), operands[2]});
      })
      .Case<arith::SelectOp>([&](arith::SelectOp op) {
        return isMaximum(op, operands[2])
                   ? elementwise("Max", operands.drop_front())
                   : elementwise("Where", operands);
      })
      .Case<arith::ExtUIOp, arith::UIToFPOp>([&](Operation *op) {
        return fromBool ? converted(operands[0], elementOf(op->getResult(0)))
                        : FailureOr<Term>(refuse("its operand has no sign"));
      })
      .Case<arith::ExtSIOp, arith::SIToFPOp>([&](Operation *op) {
        return fromBool ? FailureOr<Term>(refuse("true is -1 to it"))
                        : converted(operands[0], elementOf(op->getResult(0)));
      })
      .Case<arith::ExtFOp, arith::TruncFOp, arith::FPToSIOp>(
          [&](Operation *op) {
            return converted(operands[0], elementOf(op->getResult(0)));
          })
      .Case<arith::TruncIOp>([&](Operation *op) {
        return elementOf(op->getResult(0)).isInteger(1)
                   ? FailureOr<Term>(refuse("it takes the last bit"))
                   : converted(operands[0], elementOf(op->getResult(0)));
      })
      .Case<arith::IndexCastOp>([&](arith::IndexCastOp op) {
        Type type =
            op.getType().isIndex() ? op.getIn().getType() : op.getType();
        return type.isInteger(64)
                   ? FailureOr<Term>(operands[0])
                   : converted(operands[0], elementOf(op.getResult()));
      })
      .Default([&](Operation *op) -> FailureOr<Term> {
        StringRef type = sameOperator(op->getName().getStringRef());
        if (type.empty())
          return refuse("no operator means the same as " +
                        op->getName().getStringRef());
        return elementwise(type, operands);
      });
}
