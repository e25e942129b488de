// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A model and what is made of its result, the loss; then gradients of all that
// trains.
#include "compiler/differentiate/Differentiable.h"
#include "compiler/differentiate/ParameterGradients.h"
#include "compiler/differentiate/Passes.h"
#include "compiler/differentiate/WhatTrains.h"
#include "dialects/onnx/NamedParameters.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringExtras.h"

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
/// A value of the result list of @main.
struct Result {
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
  LogicalResult checkOptions();
  Recomputation recomputation() const;
  FailureOr<Value> predicted();
  FailureOr<Value> lossOf(Value result, Backward &n);
  FailureOr<Value> crossEntropyOf(Value logits, Backward &n);
  Value meanSquareOf(Value result, Backward &n);
  Value addTargets(RankedTensorType type) { return addInput(targets, type); }
  Value addInput(StringRef called, RankedTensorType type);
  Value gradientOf(Value number, Backward &n);
  FailureOr<SmallVector<BlockArgument>> wantedInputs();
  LogicalResult addResult(onnx::ParameterOp parameter,
                          ArrayRef<onnx::ConstantOp> views, Backward &n);
  void setResults();
  void noteWhatTrains(ArrayRef<Parameter> parameters);
  void note(ArrayRef<std::string> sentences);
  StringRef nameOf(BlockArgument argument) {
    auto name = main.getArgAttrOfType<StringAttr>(argument.getArgNumber(),
                                                  onnx::nameAttrName);
    return name ? name.getValue() : StringRef();
  }

  func::FuncOp main;
  SmallVector<Result> results;
};
} // namespace

//===----------------------------------------------------------------------===//
// The loss
//===----------------------------------------------------------------------===//

LogicalResult DifferentiatePass::checkOptions() {
  auto check = [&](StringRef option, StringRef value,
                   ArrayRef<StringRef> words) -> LogicalResult {
    if (llvm::is_contained(words, value))
      return success();
    return main.emitError() << option << " is '" << value << "', expected "
                            << llvm::join(words, ", ");
  };
  if (failed(check("loss", loss, {"result", "cross-entropy", "mean-square"})) ||
      failed(check("reduction", reduction, {"mean", "sum"})) ||
      failed(check("recompute", recompute, {"none", "pieces", "segments"})) ||
      failed(check("inputs-at", inputsAt, {"store", "wafer"})))
    return failure();
  if (!lossScale.empty() &&
      llvm::any_of(main.getArguments(), [&](BlockArgument input) {
        return nameOf(input) == lossScale;
      }))
    return main.emitError() << "the model has an input '" << lossScale
                            << "', as that of the loss scale is called; "
                               "rename it";
  if (!(labelSmoothing >= 0 && labelSmoothing <= 1))
    return main.emitError()
           << "label-smoothing is " << labelSmoothing << ", expected 0 to 1";
  return success();
}

Recomputation DifferentiatePass::recomputation() const {
  using Of = Recomputation::Of;
  return {recompute == "none"     ? Of::None
          : recompute == "pieces" ? Of::Pieces
                                  : Of::Segments,
          segment,
          kept,
          inputsAt == "wafer",
          repeats,
          elementsAgain};
}

/// The result that the loss is of, or that it is.
FailureOr<Value> DifferentiatePass::predicted() {
  Operation *end = main.front().getTerminator();
  SmallVector<std::string> names;
  for (unsigned index = 0; index < main.getNumResults(); ++index) {
    auto name = main.getResultAttrOfType<StringAttr>(index, onnx::nameAttrName);
    StringRef text = name ? name.getValue() : StringRef();
    names.push_back("'" + text.str() + "'");
    if (!of.empty() && text != of)
      continue;
    Value result = end->getOperand(index);
    if (typeOf(result).getElementType().isF32())
      return result;
    return main.emitError()
           << "a loss is of f32, and result " << names.back() << " is "
           << result.getType() << "; name another one of the model";
  }
  return main.emitError() << "the model has no result '" << of
                          << "' to take a loss of; it has "
                          << llvm::join(names, ", ");
}

Value DifferentiatePass::addInput(StringRef called, RankedTensorType type) {
  Builder builder(&getContext());
  NamedAttribute name(builder.getStringAttr(onnx::nameAttrName),
                      builder.getStringAttr(called));
  (void)main.insertArgument(main.getNumArguments(), type,
                            builder.getDictionaryAttr(name), main.getLoc());
  return main.getArguments().back();
}

Value DifferentiatePass::meanSquareOf(Value result, Backward &n) {
  Term difference = Term{n, result} - Term{n, addTargets(typeOf(result))};
  Term sum{n, n.sumTo((difference * difference).value, {})};
  if (reduction == "mean")
    sum = sum * (1 / double(typeOf(result).getNumElements()));
  return sum.value;
}

/// Labels are i64, one for each row of logits.
FailureOr<Value> DifferentiatePass::crossEntropyOf(Value logits, Backward &n) {
  RankedTensorType type = typeOf(logits);
  if (type.getRank() == 0)
    return main.emitError() << "cross-entropy is of classes along the last "
                               "axis, and the result is "
                            << type;
  OpBuilder &builder = n.builder();
  Value labels = addTargets(
      RankedTensorType::get(type.getShape().drop_back(), builder.getI64Type()));
  return Value(onnx::CrossEntropyOp::create(
      builder, n.loc(), type.clone(ArrayRef<int64_t>(), type.getElementType()),
      onnx::LossReductionAttr::get(
          &getContext(), reduction == "mean" ? onnx::LossReduction::Mean
                                             : onnx::LossReduction::Sum),
      logits, labels, nullptr, builder.getI64IntegerAttr(ignoreIndex),
      builder.getF32FloatAttr(float(labelSmoothing)), nullptr, n.nameAttr()));
}

FailureOr<Value> DifferentiatePass::lossOf(Value result, Backward &n) {
  if (loss == "mean-square")
    return meanSquareOf(result, n);
  if (loss == "cross-entropy")
    return crossEntropyOf(result, n);
  if (typeOf(result).getNumElements() == 1)
    return result;
  return main.emitError() << "a loss is one number, and the result is "
                          << result.getType()
                          << "; name another one, or a loss of it: "
                             "cross-entropy or mean-square";
}

/// What the loss is multiplied by: 1, or the input that says so. Calls of a
/// batch share out its rows, one a sample, as those of other inputs.
Value DifferentiatePass::gradientOf(Value number, Backward &n) {
  const Shape shape(shapeOf(number));
  if (lossScale.empty())
    return n.filled(shape, 1);
  const Shape first =
      main.getNumArguments() ? Shape(shapeOf(main.getArgument(0))) : Shape();
  const int64_t samples = first.empty() ? 1 : first[0];
  Value scales = addInput(
      lossScale,
      RankedTensorType::get({samples}, typeOf(number).getElementType()));
  return n.reshape(n.sliceLast(scales, 0, 1), shape);
}

//===----------------------------------------------------------------------===//
// Gradients that leave
//===----------------------------------------------------------------------===//

FailureOr<SmallVector<BlockArgument>> DifferentiatePass::wantedInputs() {
  SmallVector<BlockArgument> wanted;
  for (const std::string &name : inputs) {
    auto found = llvm::find_if(main.getArguments(), [&](BlockArgument input) {
      return nameOf(input) == name;
    });
    if (found == main.getArguments().end() ||
        !typeOf(*found).getElementType().isF32())
      return main.emitError() << "there is no input '" << name
                              << "' of f32 to get a gradient of";
    wanted.push_back(*found);
  }
  return wanted;
}

/// Results of @main are the loss and, if asked for, gradients.
void DifferentiatePass::setResults() {
  Builder builder(&getContext());
  SmallVector<Value> values;
  SmallVector<Type> types;
  SmallVector<Attribute> attributes;
  for (const Result &result : results) {
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

/// All of a parameter's gradient, of its shape.
LogicalResult DifferentiatePass::addResult(onnx::ParameterOp parameter,
                                           ArrayRef<onnx::ConstantOp> views,
                                           Backward &n) {
  std::optional<Term> sum;
  for (onnx::ConstantOp view : views) {
    Value gradient = n.of(view);
    if (!gradient)
      continue;
    n.at(view);
    Term whole{n, wholeOf(parameter, view, gradient, n)};
    if (!whole.value)
      return view.emitError()
             << "views " << parameter.getSymNameAttr()
             << " in a way whose gradient is no result; let it leave by name";
    sum = sum ? *sum + whole : whole;
  }
  Value value =
      sum ? sum->value : n.filled(parameter.getTensorType().getShape());
  results.push_back({value, parameter.getSymName().str() + ".grad"});
  return success();
}

/// For the report.
void DifferentiatePass::noteWhatTrains(ArrayRef<Parameter> parameters) {
  Builder builder(&getContext());
  SmallVector<Attribute> all;
  for (Parameter parameter : parameters) {
    auto module = parameter.op->getAttrOfType<StringAttr>(onnx::moduleAttrName);
    all.push_back(
        builder.getStrArrayAttr({parameter.op.getSymName(), parameter.reason,
                                 module ? module.getValue() : ""}));
  }
  if (!all.empty())
    getOperation()->setAttr(whatTrainsAttrName, builder.getArrayAttr(all));
  note(whatExportersChanged(main, parameters));
}

void DifferentiatePass::note(ArrayRef<std::string> sentences) {
  Builder builder(&getContext());
  SmallVector<Attribute> all;
  if (auto before = getOperation()->getAttrOfType<ArrayAttr>(notesAttrName))
    llvm::append_range(all, before);
  for (const std::string &sentence : sentences)
    all.push_back(builder.getStringAttr(sentence));
  if (!all.empty())
    getOperation()->setAttr(notesAttrName, builder.getArrayAttr(all));
}

LogicalResult DifferentiatePass::differentiate() {
  if (failed(checkOptions()))
    return failure();
  FailureOr<Value> result = predicted();
  FailureOr<SmallVector<BlockArgument>> wanted = wantedInputs();
  if (failed(result) || failed(wanted))
    return failure();
  SmallVector<Parameter> parameters = whatTrains(main);
  noteWhatTrains(parameters);
  llvm::erase_if(parameters,
                 [](auto &parameter) { return !parameter.reason.empty(); });
  if (parameters.empty() && wanted->empty())
    return main.emitError("nothing trains: no parameter is left to change");

  Backward backward(main.front());
  backward.fusesAttention = fuseAttention;
  backward.fusesNorms = fuseNorms;
  backward.mostLogits = mostLogits;
  backward.room = room;
  FailureOr<Value> number = lossOf(*result, backward);
  if (failed(number))
    return failure();
  for (BlockArgument input : *wanted)
    backward.want(input);
  for (const Parameter &parameter : parameters)
    for (onnx::ConstantOp view : parameter.views)
      gradientsAsResults ? backward.want(view) : backward.wantLeaving(view);
  backward.leave = [&](Value value, Value gradient, Value ids) {
    streamOut(value.getDefiningOp<onnx::ConstantOp>(), gradient, ids, backward);
  };
  // The model's own results are nobody's any more.
  main.front().getTerminator()->setOperands(*number);
  if (!backward.run(*number, gradientOf(*number, backward), recomputation()))
    return backward.refusals.report(&getContext());
  const auto most = std::max<int64_t>(1, int64_t(backward.pieces));
  using Asked = std::pair<const char *, int64_t>;
  for (auto [key, count] : {Asked("kept", kept), Asked("segment", segment)})
    if (recompute != "none" && count > most)
      return main.emitError() << "a training plan with " << key << "=" << count
                              << ": pieces of the model are " << most
                              << "; give " << key << "=1 to " << most;
  note(backward.notes);
  getOperation()->setAttr(
      piecesAttrName,
      Builder(&getContext())
          .getDenseI64ArrayAttr({int64_t(backward.pieces),
                                 int64_t(backward.layers.length),
                                 int64_t(backward.layers.count)}));

  results.push_back({*number, "loss"});
  for (BlockArgument input : *wanted) {
    Value gradient = backward.of(input);
    if (!gradient) // the loss does not depend on it
      gradient = backward.filled(shapeOf(input));
    results.push_back({gradient, nameOf(input).str() + ".grad"});
  }
  if (gradientsAsResults)
    for (const Parameter &parameter : parameters)
      if (failed(addResult(parameter.op, parameter.views, backward)))
        return failure();
  setResults();
  // Of a program that only gives gradients weights stay what the model has.
  if (gradientsAsResults)
    for (auto parameter : getOperation().getOps<onnx::ParameterOp>())
      parameter.setUse(onnx::ParameterUse::Frozen);
  return success();
}
