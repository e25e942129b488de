// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/differentiate/WhatTrains.h"
#include "compiler/differentiate/Passes.h"
#include "compiler/values/OnnxValues.h"
#include "dialects/onnx/NamedParameters.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace wsec;
using namespace wsec::differentiate;
using namespace wsec::values;

namespace {
/// The one parameter that a value is made of; several, or none but inputs.
struct Origin {
  StringAttr parameter; // null: no parameter
  bool isSeveral = false;
  bool isOf(StringAttr name) const { return parameter == name && !isSeveral; }
};

/// What becomes of what is made of one parameter alone.
class Roles {
public:
  explicit Roles(func::FuncOp main);
  void judge(Parameter &parameter);

private:
  void follow(Value value, StringAttr name);
  void use(OpOperand &operand, StringAttr name);
  void lookUp(Value rows, StringAttr name);

  llvm::DenseMap<Value, Origin> origins; // looked up only
  bool masks = false, turns = false, computes = false, isVector = false;
  bool isTable = false;
};
} // namespace

Roles::Roles(func::FuncOp main) {
  for (Operation &op : main.front()) {
    Origin origin;
    if (auto constant = dyn_cast<onnx::ConstantOp>(op))
      if (auto view = dyn_cast<onnx::ParameterAttr>(constant.getValue()))
        origin.parameter = view.getParameter().getAttr();
    for (Value operand : op.getOperands()) {
      Origin from = origins.lookup(operand);
      if (!from.parameter)
        continue;
      origin.isSeveral |=
          from.isSeveral || (origin.parameter && !origin.isOf(from.parameter));
      origin.parameter = from.parameter;
    }
    for (Value result : op.getResults())
      origins[result] = origin;
  }
}

/// A mask of an attention that nobody recognized is added to its scores.
static bool onlyFeedsSoftmax(Value value) {
  return llvm::all_of(value.getUsers(), [](Operation *user) {
    return isa<onnx::SoftmaxOp>(user);
  });
}

void Roles::use(OpOperand &operand, StringAttr name) {
  Operation *op = operand.getOwner();
  Value value = operand.get();
  if (auto attention = dyn_cast<onnx::AttentionOp>(op);
      attention && llvm::is_contained(attention.getMasks(), value))
    masks = true;
  else if (auto rotary = dyn_cast<onnx::RotaryOp>(op);
           rotary && rotary.getX() != value)
    turns = true;
  else if (auto unary = dyn_cast<onnx::UnaryOp>(op);
           unary &&
           (unary.getKind() == onnx::UnaryKind::Cos ||
            unary.getKind() == onnx::UnaryKind::Sin) &&
           origins[op->getResult(0)].isOf(name))
    turns = true;
  else if (isa<onnx::GatherOp>(op))
    lookUp(op->getResult(0), name);
  else if (op->getNumResults() == 1 && origins[op->getResult(0)].isOf(name))
    follow(op->getResult(0), name);
  else if (isa<onnx::BinaryOp>(op) && onlyFeedsSoftmax(op->getResult(0)))
    masks = true;
  else {
    computes = true;
    isVector |= !isa<onnx::BinaryOp, onnx::WhereOp>(op);
  }
}

/// Rows of a table compute, unless they are angles alone; what is added to
/// scores may be learnt and still be 0.
void Roles::lookUp(Value rows, StringAttr name) {
  isTable = isVector = true;
  if (origins[rows].isOf(name))
    follow(rows, name);
  computes |= masks || !origins[rows].isOf(name);
}

void Roles::follow(Value value, StringAttr name) {
  for (OpOperand &operand : value.getUses())
    use(operand, name);
}

std::optional<Tensor> wsec::differentiate::startOf(const Parameter &parameter,
                                                   int64_t first, int64_t count,
                                                   int64_t step) {
  if (parameter.views.empty())
    return std::nullopt;
  onnx::ConstantOp view = parameter.views.front();
  Fact fact = *factOf(view);
  auto start = std::make_shared<Storage>(*fact.constant->storage);
  start->isTrainable = false;
  fact.shape = {count};
  fact.constant = Constant{std::move(start),
                           StridedView::strided(fact.shape, first, {step})};
  return fact.load();
}

/// No score is left under it.
constexpr double hides = -1e4;

static bool hasValuesOfMask(const Parameter &parameter) {
  onnx::ParameterOp op = parameter.op;
  auto elements = startOf(parameter, 0, op.getTensorType().getNumElements(), 1);
  for (int64_t i = 0; elements && i < elements->size(); ++i)
    if (const double value = elements->asFloat(i);
        value != 0 && value != 1 && !(value <= hides))
      return false;
  return true;
}

void Roles::judge(Parameter &parameter) {
  onnx::ParameterOp op = parameter.op;
  masks = turns = computes = isVector = isTable = false;
  for (onnx::ConstantOp view : parameter.views)
    follow(view, op.getSymNameAttr());
  parameter.isTable = isTable;
  parameter.onlyMasks = masks && !computes;
  const bool isNamed = op->hasAttr(onnx::namedAttrName);
  const bool isNumber = op.getTensorType().getNumElements() == 1 && !isVector;
  if (auto why = op->getAttrOfType<StringAttr>(whyAttrName))
    parameter.role = why.getValue();
  else if (!computes && !masks && !turns)
    parameter.role = "unused";
  else if (isNamed)
    parameter.role = "";
  else if (!computes && !masks)
    parameter.role = "angle";
  else if (isNumber)
    parameter.role = computes ? "scalar" : "mask";
  else if (!computes && hasValuesOfMask(parameter))
    parameter.role = "mask";
  const bool isFrozen = !op.isTrainable() && !op->hasAttr(whyAttrName);
  parameter.reason = isFrozen ? "frozen" : parameter.role;
}

SmallVector<Parameter> wsec::differentiate::whatTrains(func::FuncOp main) {
  llvm::MapVector<StringAttr, Parameter> parameters;
  auto module = main->getParentOfType<ModuleOp>();
  for (auto op : module.getOps<onnx::ParameterOp>())
    parameters[op.getSymNameAttr()].op = op;
  for (auto constant : main.getOps<onnx::ConstantOp>())
    if (auto view = dyn_cast<onnx::ParameterAttr>(constant.getValue()))
      parameters[view.getParameter().getAttr()].views.push_back(constant);
  Roles roles(main);
  SmallVector<Parameter> all;
  for (auto &[name, parameter] : parameters) {
    roles.judge(parameter);
    all.push_back(parameter);
  }
  return all;
}
