// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The boundary behind canonicalize: all that cannot be mapped, said at once.
#include "compiler/Refusals.h"
#include "compiler/canonicalize/Passes.h"
#include "compiler/canonicalize/VerifyStates.h"
#include "compiler/values/OnnxValues.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringExtras.h"
#include <limits>

namespace wsec::canonicalize {
#define GEN_PASS_DEF_VERIFYCANONICAL
#include "compiler/canonicalize/Passes.h.inc"
} // namespace wsec::canonicalize

using namespace wsec::canonicalize;

static Type elementOf(Type type) {
  if (auto tensor = dyn_cast<RankedTensorType>(type))
    return tensor.getElementType();
  return nullptr;
}

/// The wafer computes on f32 and i32, which carries integers of all types.
static bool isMapped(Type element) {
  return element.isF32() || isa<IntegerType>(element);
}

/// What the host holds is converted at the wafer's edge.
static bool isHostType(Type element) {
  return isMapped(element) || isa<FloatType>(element);
}

/// Rounding to 8 bits or less is what the store does with outputs.
static bool roundsInside(Operation *op) {
  auto cast = dyn_cast<onnx::CastOp>(op);
  Type element = cast ? elementOf(cast.getY().getType()) : Type();
  return element && isa<FloatType>(element) &&
         element.getIntOrFloatBitWidth() <= 8 &&
         llvm::any_of(op->getUsers(), [](Operation *user) {
           return !isa<func::ReturnOp>(user);
         });
}

/// Why an operation cannot be mapped, or nothing.
static std::string reasonOf(Operation *op) {
  if (auto reason = op->getAttrOfType<StringAttr>(reasonAttrName);
      reason && isa<onnx::NodeOp>(op))
    return reason.str();
  if (roundsInside(op))
    return "is rounded to fewer bits, which only outputs are";
  if (isa<onnx::NodeOp>(op))
    return "the operator has no kernel";
  return "";
}

static bool isEmpty(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && llvm::is_contained(tensor.getShape(), 0);
}

/// The element type of a result the wafer does not have, or null. Constants
/// without elements stay with the host.
static Type unmappedElement(Operation *op) {
  bool isCast = isa<onnx::CastOp>(op);
  if (isa<onnx::ConstantOp>(op) && llvm::all_of(op->getResultTypes(), isEmpty))
    return nullptr;
  for (Type type : op->getResultTypes())
    if (Type element = elementOf(type);
        element && !(isCast ? isHostType(element) : isMapped(element)))
      return element;
  return nullptr;
}

/// What distributions count with: tokens in all, and features.
static bool isTiled(RankedTensorType type) {
  constexpr int64_t most = std::numeric_limits<int32_t>::max();
  int64_t tokens = 1;
  for (int64_t extent : type.getShape())
    if (extent < 1 || extent > most)
      return false;
  for (int64_t extent : type.getShape().drop_back(type.getRank() > 0)) {
    tokens *= extent;
    if (tokens > most)
      return false;
  }
  return true;
}

static std::string shapeText(ArrayRef<int64_t> shape) {
  return llvm::join(llvm::map_range(shape,
                                    [](int64_t extent) {
                                      return ShapedType::isDynamic(extent)
                                                 ? std::string("?")
                                                 : std::to_string(extent);
                                    }),
                    "x");
}

/// Why a value has no place on the wafer, whatever computes it; or nothing.
static std::string sizeProblem(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || isTiled(tensor))
    return "";
  return "shape " + shapeText(tensor.getShape()) +
         "; extents are from 1 to 2147483647, of tokens in all and of features";
}

static std::string printed(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

static std::string noElement(Type element) {
  return "the wafer has no " + printed(element) +
         (element.isF64() ? "; --allow-f64-as-f32 computes in f32" : "");
}

/// Why an input has no place on the wafer, or nothing.
static std::string inputProblem(BlockArgument input) {
  // Nothing of an empty cache reaches the wafer.
  if (input.use_empty() && isEmpty(input.getType()))
    return "";
  Type element = elementOf(input.getType());
  if (element && !isHostType(element))
    return noElement(element);
  return input.use_empty() ? std::string() : sizeProblem(input.getType());
}

/// Why an operation on tensors of known types has no place on the wafer, or
/// nothing.
static std::string typeProblem(Operation *op) {
  if (Type element = unmappedElement(op))
    return noElement(element);
  std::string why;
  if (!isa<onnx::ConstantOp>(op) && op->getNumResults())
    why = sizeProblem(op->getResult(0).getType());
  if (why.empty() && llvm::any_of(op->getOperandTypes(), isEmpty))
    why = "reads a tensor without elements";
  return why;
}

static void check(Operation *op, Refusals &refusals) {
  std::string why = reasonOf(op);
  // What needs a refused value was not looked at.
  if (why == unsupportedOperand && refusals.countConsequence(op))
    return;
  if (!why.empty())
    return refusals.refuse(op, why);
  why = typeProblem(op);
  if (why.empty() || refusals.countConsequence(op))
    return;
  bool ofElement = unmappedElement(op) != nullptr;
  refusals.refuse(op, why, ofElement ? "" : Refusals::operatorName(op));
}

namespace {
struct VerifyCanonicalPass
    : wsec::canonicalize::impl::VerifyCanonicalBase<VerifyCanonicalPass> {
  void runOnOperation() override {
    markAllAnalysesPreserved();
    Refusals refusals;
    for (auto function : getOperation().getOps<func::FuncOp>())
      for (BlockArgument input : function.getArguments()) {
        auto name = function.getArgAttrOfType<StringAttr>(input.getArgNumber(),
                                                          onnx::nameAttrName);
        std::string why = inputProblem(input);
        if (!why.empty())
          refusals.refuseInput(input, why, name ? name.getValue() : "");
      }
    getOperation().walk([&](Operation *op) {
      if (op->getDialect() == getContext().getLoadedDialect("onnx"))
        check(op, refusals);
    });
    for (auto function : getOperation().getOps<func::FuncOp>())
      verifyStates(function, refusals);
    verifySharedStates(getOperation(), refusals);
    if (failed(refusals.report(&getContext())))
      signalPassFailure();
  }
};
} // namespace
