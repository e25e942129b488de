// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/infer/Legalization.h"

using namespace wsec::infer;

static std::vector<Fact> inputFacts(onnx::NodeOp op) {
  std::vector<Fact> facts;
  for (Value input : op.getInputs())
    facts.push_back(factOf(input).value_or(Fact()));
  return facts;
}

static SmallVector<const Fact *> pointers(onnx::NodeOp op,
                                          const std::vector<Fact> &facts) {
  SmallVector<const Fact *> result;
  for (auto [input, fact] : llvm::zip(op.getInputs(), facts))
    result.push_back(isa<NoneType>(input.getType()) ? nullptr : &fact);
  return result;
}

Legalization::Legalization(onnx::NodeOp op, const onnx::OperatorSchema &schema,
                           StringRef understood)
    : OperatorBuilder(OpBuilder(op), op.getLoc(), op.getNodeAttr()), nodeOp(op),
      inputs(inputFacts(op)), facts(schema, op.getOnnxAttributes(), understood,
                                    pointers(op, inputs), op.getNumResults()) {}

Value Legalization::constant(const std::optional<Fact> &fact) {
  Value value = fact && fact->constant ? materialize(*fact) : Value();
  if (!value && fact && fact->constant && fact->constant->storage->isTrainable)
    fail("a parameter that trains is needed in an order that no strides "
         "describe; freeze it with --freeze");
  else if (!value)
    fail("a constant is too large to rearrange");
  return value;
}

bool Legalization::replace(ValueRange values) {
  results.assign(values.begin(), values.end());
  return true;
}
