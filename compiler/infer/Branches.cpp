// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/infer/Branches.h"
#include "compiler/values/OnnxValues.h"
#include "compiler/values/Refused.h"

using namespace mlir;
using namespace wsec;
using namespace wsec::infer;
using namespace wsec::values;

static constexpr StringLiteral branchNames[] = {"else_branch", "then_branch"};

bool infer::isIf(onnx::NodeOp op) {
  return op.getOpType() == "If" && op.getDomain().empty() &&
         bodyOf(op, branchNames[0]) && bodyOf(op, branchNames[1]);
}

func::FuncOp infer::chosenBranch(onnx::NodeOp op, const Fact *condition,
                                 std::string &why) {
  Value value = op.getInputs().front();
  if (!condition)
    return because(why, unsupportedOperand.str());
  if (condition->type != ElementType::Bool ||
      numElements(condition->shape) != 1)
    return because(why, "its condition is not one truth value");
  std::optional<Tensor> known = condition->load();
  if (!known)
    return because(
        why,
        "its condition is computed in each run" +
            remedyFor(value,
                      "export the model with the branch that it is to take"));
  func::FuncOp branch = bodyOf(op, branchNames[known->asBool(0)]);
  if (branch.getNumArguments() + 1 != op.getInputs().size() ||
      branch.getNumResults() != op.getNumResults())
    return because(why,
                   "its branch is a function of other operands or results");
  return branch;
}
