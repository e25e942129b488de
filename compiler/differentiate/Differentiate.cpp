// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A model and what is made of its result, the loss; then gradients of all that
// trains.
#include "compiler/differentiate/Differentiable.h"
#include "compiler/differentiate/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/GlobPattern.h"

namespace wsec::differentiate {
#define GEN_PASS_DEF_DIFFERENTIATE
#include "compiler/differentiate/Passes.h.inc"
} // namespace wsec::differentiate

using namespace mlir;
using namespace wsec;
using namespace wsec::differentiate;
using namespace wsec::values;

void wsec::differentiate::registerGradients(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, onnx::OnnxDialect *) {
#define WSEC_FAMILY(Name) attach##Name(*context);
#include "compiler/differentiate/Families.inc"
  });
}

namespace {
/// A value whose gradient leaves, and the name of what it is of.
struct Wanted {
  Value value;
  std::string name;
};

struct DifferentiatePass
    : wsec::differentiate::impl::DifferentiateBase<DifferentiatePass> {
  using DifferentiateBase::DifferentiateBase;

  void runOnOperation() override {
    main = getOperation().lookupSymbol<func::FuncOp>("main");
    if (main && failed(differentiate()))
      signalPassFailure();
  }

  LogicalResult differentiate();
  FailureOr<Value> predicted();
  FailureOr<Value> lossOf(Value result, Backward &n);
  Value addTargets(RankedTensorType type);
  FailureOr<SmallVector<Wanted>> findWanted();
  void setResults(ArrayRef<Wanted> results);
  StringRef nameOf(unsigned argument) {
    auto name = main.getArgAttrOfType<StringAttr>(argument, onnx::nameAttrName);
    return name ? name.getValue() : StringRef();
  }

  func::FuncOp main;
};
} // namespace

/// The result that the loss is of, or that it is.
FailureOr<Value> DifferentiatePass::predicted() {
  Operation *end = main.front().getTerminator();
  std::string names;
  for (unsigned index = 0; index < main.getNumResults(); ++index) {
    auto name = main.getResultAttrOfType<StringAttr>(index, onnx::nameAttrName);
    StringRef text = name ? name.getValue() : StringRef();
    if (of.empty() || text == of)
      return end->getOperand(index);
    names += (names.empty() ? "'" : ", '") + text.str() + "'";
  }
  return main.emitError() << "the model has no result '" << of
                          << "' to take a loss of; it has " << names;
}

Value DifferentiatePass::addTargets(RankedTensorType type) {
  Builder builder(&getContext());
  NamedAttribute name(builder.getStringAttr(onnx::nameAttrName),
                      builder.getStringAttr(targets));
  (void)main.insertArgument(main.getNumArguments(), type,
                            builder.getDictionaryAttr(name), main.getLoc());
  return main.getArguments().back();
}

FailureOr<Value> DifferentiatePass::lossOf(Value result, Backward &n) {
  if (!isa<FloatType>(typeOf(result).getElementType()))
    return main.emitError() << "the loss is of " << result.getType()
                            << ", which has no gradient; name a result of "
                               "floats";
  if (loss == "none") {
    if (typeOf(result).getNumElements() != 1)
      return main.emitError()
             << "a result of " << result.getType()
             << " is no loss, which is one number; name another one, or a "
                "loss: cross-entropy or mean-square";
    return result;
  }
  Term difference = Term{n, result} - Term{n, addTargets(typeOf(result))};
  Term sum{n, n.sumTo((difference * difference).value, {})};
  if (reduction == "mean")
    sum = sum * (1 / double(typeOf(result).getNumElements()));
  return sum.value;
}

/// In the order of inputs and of the model.
FailureOr<SmallVector<Wanted>> DifferentiatePass::findWanted() {
  SmallVector<Wanted> wanted;
  for (BlockArgument input : main.getArguments())
    if (StringRef name = nameOf(input.getArgNumber());
        llvm::is_contained(inputs, name))
      wanted.push_back({input, name.str()});
  for (auto constant : main.getOps<onnx::ConstantOp>())
    if (isa<FloatType>(constant.getTensorType().getElementType()) &&
        constant.getTensorType().getRank() > 0 && !constant.getNode().empty())
      wanted.push_back({constant, constant.getNode().str()});
  return wanted;
}

void DifferentiatePass::setResults(ArrayRef<Wanted> results) {
  Builder builder(&getContext());
  SmallVector<Value> values;
  SmallVector<Type> types;
  SmallVector<Attribute> attributes;
  for (const Wanted &result : results) {
    values.push_back(result.value);
    types.push_back(result.value.getType());
    attributes.push_back(builder.getDictionaryAttr(
        NamedAttribute(builder.getStringAttr(onnx::nameAttrName),
                       builder.getStringAttr(result.name))));
  }
  main.front().getTerminator()->setOperands(values);
  main.setType(
      builder.getFunctionType(main.getFunctionType().getInputs(), types));
  main.setResAttrsAttr(builder.getArrayAttr(attributes));
}

LogicalResult DifferentiatePass::differentiate() {
  FailureOr<Value> result = predicted();
  FailureOr<SmallVector<Wanted>> wanted = findWanted();
  if (failed(result) || failed(wanted))
    return failure();
  Backward backward(main.front());
  FailureOr<Value> number = lossOf(*result, backward);
  if (failed(number))
    return failure();
  for (const Wanted &one : *wanted)
    backward.want(one.value);
  if (!backward.run(*number))
    return backward.refusals.report(&getContext());
  SmallVector<Wanted> results = {{*number, "loss"}};
  for (const Wanted &one : *wanted) {
    Value gradient = backward.of(one.value);
    if (!gradient) // the loss does not depend on it
      gradient = backward.filled(shapeOf(one.value));
    results.push_back({gradient, one.name + ".grad"});
  }
  setResults(results);
  return success();
}
