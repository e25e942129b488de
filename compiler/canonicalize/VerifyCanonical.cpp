// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The boundary behind canonicalize: what cannot be mapped, all of it in one
// error.
#include "compiler/canonicalize/Passes.h"
#include "compiler/values/OnnxValues.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringExtras.h"
#include <limits>
#include <map>

namespace wsec::canonicalize {
#define GEN_PASS_DEF_VERIFYCANONICAL
#include "compiler/canonicalize/Passes.h.inc"
} // namespace wsec::canonicalize

using namespace mlir;
using namespace wsec;
using namespace wsec::canonicalize;
using namespace wsec::values;

namespace {
/// Operations with one problem; the first few are named.
struct Problem {
  std::string what; // "Conv", "FastGelu of com.microsoft"
  std::string why;
  std::string element;
  SmallVector<std::string> nodes;
  unsigned first; // position of the first one, which orders the report

  static constexpr size_t namedNodes = 3;
};
} // namespace

static std::string operatorName(Operation *op) {
  if (auto node = dyn_cast<onnx::NodeOp>(op)) {
    std::string name = node.getOpType().str();
    if (!node.getDomain().empty())
      name += " of " + node.getDomain().str();
    return name;
  }
  return op->getName().stripDialect().str();
}

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

/// The element type of a result the wafer does not have, or null.
static Type unmappedElement(Operation *op) {
  bool isCast = isa<onnx::CastOp>(op);
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

static bool isEmpty(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && llvm::is_contained(tensor.getShape(), 0);
}

/// Why a value has no place on the wafer, whatever computes it; or nothing.
static std::string sizeProblem(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || isTiled(tensor))
    return "";
  return "is of shape " + shapeText(tensor.getShape()) +
         ", expected extents from 1 to 2147483647, of tokens in all and of "
         "features";
}

static std::string printed(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

namespace {
class Report {
public:
  void add(Operation *op, std::string why) {
    if (why == unsupportedOperand) {
      ++behind;
      return;
    }
    Type element =
        op->getNumResults() ? elementOf(op->getResult(0).getType()) : Type();
    tensors |= isa<onnx::ConstantOp>(op);
    add(operatorName(op), element, why, nodeName(op));
  }

  void addInput(StringRef name, Type element, std::string why) {
    tensors = true;
    add("input", element, std::move(why), name);
  }

  static std::string noElement(Type element) {
    return "the wafer has no " + printed(element) +
           (element.isF64() ? "; --allow-f64-as-f32 computes in f32" : "");
  }

  bool empty() const { return problems.empty(); }

  void emit(ModuleOp module) const {
    SmallVector<const Problem *> ordered;
    for (const auto &entry : problems)
      ordered.push_back(&entry.second);
    llvm::sort(ordered, [](const Problem *a, const Problem *b) {
      return a->first < b->first;
    });
    std::string text;
    llvm::raw_string_ostream out(text);
    StringRef one = tensors ? " tensor" : " node";
    StringRef many = tensors ? " tensors and nodes" : " nodes";
    out << next << (next == 1 ? one : many)
        << " of the model cannot be mapped:";
    for (const Problem *problem : ordered) {
      out << "\n  " << problem->what;
      if (!problem->element.empty())
        out << " (" << problem->element << ")";
      out << " x" << problem->nodes.size() << ": " << problem->why
          << "\n    in ";
      llvm::interleaveComma(
          ArrayRef(problem->nodes).take_front(Problem::namedNodes), out);
      if (problem->nodes.size() > Problem::namedNodes)
        out << " and " << problem->nodes.size() - Problem::namedNodes
            << " more";
    }
    if (behind)
      out << "\n  " << behind
          << " more behind them have unknown shapes and were not checked";
    emitError(UnknownLoc::get(module.getContext()), text);
  }

private:
  void add(std::string what, Type element, std::string why, StringRef name) {
    std::string type = element ? printed(element) : "";
    Problem &problem = problems[{what, why, type}];
    if (problem.nodes.empty())
      problem = {what, why, type, {}, next};
    ++next;
    problem.nodes.push_back(name.empty() ? "(unnamed)" : name.str());
  }

  std::map<std::tuple<std::string, std::string, std::string>, Problem> problems;
  unsigned next = 0;
  bool tensors = false; // some of them are inputs or constants
  unsigned behind = 0;
};

struct VerifyCanonicalPass
    : wsec::canonicalize::impl::VerifyCanonicalBase<VerifyCanonicalPass> {
  void runOnOperation() override {
    Report report;
    for (auto function : getOperation().getOps<func::FuncOp>())
      for (BlockArgument input : function.getArguments()) {
        // Nothing of an empty cache reaches the wafer.
        if (input.use_empty() && isEmpty(input.getType()))
          continue;
        auto name = function.getArgAttrOfType<StringAttr>(input.getArgNumber(),
                                                          onnx::nameAttrName);
        Type element = elementOf(input.getType());
        std::string why = element && !isHostType(element)
                              ? Report::noElement(element)
                          : input.use_empty() ? std::string()
                                              : sizeProblem(input.getType());
        if (!why.empty())
          report.addInput(name ? name.getValue() : StringRef(), element, why);
      }
    getOperation().walk([&](Operation *op) {
      if (op->getDialect() != getContext().getLoadedDialect("onnx"))
        return;
      std::string why = reasonOf(op);
      if (why.empty())
        if (Type element = unmappedElement(op))
          why = Report::noElement(element);
      if (why.empty() && !isa<onnx::ConstantOp>(op) && op->getNumResults())
        why = sizeProblem(op->getResult(0).getType());
      if (why.empty() && llvm::any_of(op->getOperandTypes(), isEmpty))
        why = "reads a tensor without elements";
      if (!why.empty())
        report.add(op, why);
    });
    if (report.empty())
      return;
    report.emit(getOperation());
    signalPassFailure();
  }
};
} // namespace
