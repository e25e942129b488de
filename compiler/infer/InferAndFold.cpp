// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Types of all values, and values known at compile time. Two walks: forwards,
// each node's rule turns facts about operands into facts about results;
// backwards, nodes whose results are all known become constants, which then
// are made only where something that stays reads them.
#include "compiler/infer/Branches.h"
#include "compiler/infer/FlexAttention.h"
#include "compiler/infer/FoldedLengths.h"
#include "compiler/infer/Loops.h"
#include "compiler/infer/Operators.h"
#include "compiler/infer/Passes.h"
#include "compiler/infer/Positions.h"
#include "compiler/infer/Statement.h"
#include "dialects/onnx/CachedCalls.h"
#include "dialects/onnx/Lengths.h"
#include "dialects/onnx/RandomOperators.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/TypeUtilities.h"
#include "runtime/program/NearestNames.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringSet.h"
#include <limits>
#include <memory>

namespace wsec::infer {
#define GEN_PASS_DEF_INFERANDFOLD
#include "compiler/infer/Passes.h.inc"
} // namespace wsec::infer

using namespace wsec::infer;

namespace {
class Inference {
public:
  explicit Inference(int64_t opset) : opset(opset) {}

  /// A node with bodies may end with its visit, and what these do stand before
  /// it.
  void visit(Operation &op) {
    if (auto node = dyn_cast<onnx::NodeOp>(op))
      return isIf(node) || isLoop(node) || isFlexAttention(node)
                 ? visitWithBodies(node)
                 : visitNode(node);
    for (Value result : op.getResults())
      remember(result);
  }

  void remember(Value value) {
    std::optional<Fact> fact = factOf(value);
    if (fact && !shapeProblem(fact->shape))
      facts[value] = std::move(*fact);
  }

  const Fact *lookup(Value value) const {
    auto found = facts.find(value);
    return found == facts.end() ? nullptr : &found->second;
  }

  ArrayRef<Decision> decisions() const { return decided; }

private:
  static void refuse(onnx::NodeOp op, const Twine &why) {
    op->setAttr(reasonAttrName, StringAttr::get(op.getContext(), why));
  }

  void visitNode(onnx::NodeOp op) {
    std::string why;
    if (!infer(op, why)) {
      return refuse(op, why);
    }
    op->removeAttr(reasonAttrName);
  }

  /// Whether a value hangs on a mask of which entries a TopK found, and no
  /// product is on the way.
  static bool hangsOnChoice(Value value) {
    SetVector<Operation *> makers;
    llvm::StringSet<> kinds;
    auto add = [&](Value value) {
      if (Operation *maker = value.getDefiningOp())
        makers.insert(maker);
    };
    add(value);
    for (size_t i = 0; i < makers.size(); ++i) {
      auto node = dyn_cast<onnx::NodeOp>(makers[i]);
      const StringRef kind = node ? node.getOpType() : "";
      if (kind == "MatMul" || kind == "Gemm" ||
          isa<onnx::MatMulOp, onnx::BatchMatMulOp>(makers[i]))
        continue;
      kinds.insert(kind);
      llvm::for_each(makers[i]->getOperands(), add);
    }
    return kinds.contains("OneHot") && kinds.contains("TopK");
  }

  /// What makes a value known that is computed from the model's inputs.
  static std::string bindings(Value value) {
    if (hangsOnChoice(value))
      return "a loop over the experts that tokens chose, traced, has as many "
             "as the traced tokens chose, and is wrong for others; export with "
             "experts_implementation=\"batched_mm\"";
    const DecidingInput input = decidingInput(value);
    if (input.readsData)
      return "export the model with one that is known";
    return input.count == 0  ? "--bind NAME=FILE.npy makes an input known"
           : input.count > 1 ? input.binding + " make it known"
                             : input.binding + " makes it known";
  }

  /// Functions of .mlir may have themselves for bodies.
  void visitWithBodies(onnx::NodeOp op) {
    constexpr unsigned most = 16;
    if (depth == most)
      return refuse(op, "inside of " + std::to_string(most) +
                            " others, the most that are supported");
    ++depth;
    std::string why;
    // In front of those of its bodies.
    const size_t number = decided.size();
    const bool decides = !isFlexAttention(op) && !op->use_empty();
    if (decides)
      decided.push_back({op.getNode().str(), op.getOpType().str(), 0});
    int64_t decision = 0;
    std::optional<SmallVector<Value>> values =
        isIf(op) ? takeBranch(op, decision, why) : goThrough(op, decision, why);
    --depth;
    if (!values) {
      decided.resize(number);
      return refuse(op, why);
    }
    if (decides)
      decided[number].number = decision;
    replaceNode(op, *values);
  }

  std::optional<SmallVector<Value>>
  takeBranch(onnx::NodeOp op, int64_t &condition, std::string &why) {
    const Fact *fact = lookup(op.getInputs().front());
    func::FuncOp branch = chosenBranch(op, fact, why);
    if (!branch)
      return std::nullopt;
    condition = fact->load()->asBool(0);
    IRMapping places;
    places.map(branch.getArguments(), op.getInputs().drop_front());
    SmallVector<Operation *> copies =
        copyBody(op, branch, prefixOf(op), places);
    Operation *last = copies.pop_back_val();
    for (Operation *copy : copies)
      visit(*copy);
    SmallVector<Value> values = llvm::to_vector(last->getOperands());
    last->erase();
    return values;
  }

  std::optional<SmallVector<Value>> goThrough(onnx::NodeOp op, int64_t &trips,
                                              std::string &why) {
    auto visitMade = [&](Operation &made) { visit(made); };
    auto find = [&](Value value) { return lookup(value); };
    auto forget = [&](Operation &made) {
      for (Value result : made.getResults())
        facts.erase(result);
    };
    const Inferring inferring{visitMade, find, forget};
    return isFlexAttention(op) ? expandFlexAttention(op, inferring, why)
                               : unroll(op, inferring, unrolled, trips, why);
  }

  /// Runs the rule of `op`; on success its results have types and facts.
  bool infer(onnx::NodeOp op, std::string &why) {
    // Said of an operator even where its operands are unknown.
    std::string name = qualifiedName(op);
    const Operator *known = findOperator(name);
    if (!known)
      return because(why, whyUnknown(op, name));
    if (auto problem =
            statementProblem({name, opset, op.getOnnxAttributes(),
                              op.getInputs().size(), op.getNumResults()},
                             known->understood))
      return because(why, *problem);
    const onnx::OperatorSchema &schema = *onnx::findSchema(name, opset);
    SmallVector<const Fact *> inputs;
    SmallVector<Type> elements;
    for (Value input : op.getInputs()) {
      const Fact *fact = lookup(input);
      if (!fact && !isa<NoneType>(input.getType()))
        return because(why, isa<onnx::UnknownType>(input.getType())
                                ? unsupportedOperand.str()
                                : "operand of " + typeString(input.getType()));
      inputs.push_back(fact);
      elements.push_back(fact ? getElementTypeOrSelf(input.getType()) : Type());
    }
    if (auto problem = operandProblem(schema, elements))
      return because(why, *problem);
    Node node(schema, op.getOnnxAttributes(), known->understood,
              std::move(inputs), op.getNumResults());
    if (!apply(known->infer, node)) {
      because(why, node.reason().empty() ? "its operands do not fit"
                                         : node.reason());
      if (auto i = node.unknownInput())
        why += "; " + bindings(op.getInputs()[*i]);
      return false;
    }
    for (Fact &fact : node.outputs)
      if (!fact.constant && numElements(fact.shape) == 0)
        fact = Fact::ofTensor(Tensor(fact.type, fact.shape));
    for (auto [result, fact] : llvm::zip(op.getResults(), node.outputs)) {
      result.setType(RankedTensorType::get(
          fact.shape, toMlirType(op.getContext(), fact.type)));
      facts[result] = std::move(fact);
    }
    return true;
  }

  /// What onnxruntime's quantiser makes of nodes in its other formats.
  static bool isQuantized(StringRef name) {
    name.consume_front("com.microsoft.");
    return name.starts_with("QLinear") ||
           llvm::is_contained({"ConvInteger", "QGemm", "QAttention"}, name);
  }

  /// What there is to say, and to do, about an operator without rules.
  static std::string whyUnknown(onnx::NodeOp op, StringRef name) {
    // The importer leaves of a subgraph that there is one.
    if (llvm::any_of(op.getOnnxAttributes(), [](NamedAttribute attribute) {
          return isa<UnitAttr>(attribute.getValue());
        }))
      return "of nodes with subgraphs If, Loop, Scan and FlexAttention are "
             "supported; write "
             "it with other operators";
    if (isQuantized(name))
      return "the operator is not supported; quantise with QuantFormat.QDQ, "
             "whose weights stay integers, or leave these nodes out of it";
    if (onnx::isRandomOperator(name))
      return "nothing is drawn at random on the wafer; give what it draws, "
             "--bind NAME=FILE.npy with the node's name";
    constexpr int64_t newest = std::numeric_limits<int64_t>::max();
    if (onnx::findSchema(name, newest))
      return "the operator is not supported; write it with other operators, or "
             "compute it outside of the model";
    if (!op.getDomain().empty())
      return "the operator is not known; define it as a function of the model";
    std::vector<std::string> names;
    for (const Operator &operation : allOperators())
      names.push_back(operation.name.str());
    return "ONNX has no such operator" +
           runtime::nearestNames(name.str(), names);
  }

  static std::string typeString(Type type) {
    std::string text;
    llvm::raw_string_ostream(text) << type;
    return text;
  }

  int64_t opset;
  unsigned depth = 0;          // in nodes with bodies
  size_t unrolled = 0;         // nodes of loops
  DenseMap<Value, Fact> facts; // looked up only, never walked
  std::vector<Decision> decided;
};

struct InferAndFoldPass
    : wsec::infer::impl::InferAndFoldBase<InferAndFoldPass> {
  void runOnOperation() override {
    SmallVector<func::FuncOp> all, done;
    for (auto function : getOperation().getOps<func::FuncOp>())
      // Bodies are where they are gone through, or nowhere.
      if (function.isPrivate() ||
          function->hasAttr(onnx::foldedLengthOfAttrName))
        done.push_back(function);
      else if (!function.isExternal())
        all.push_back(function);
    for (func::FuncOp function : all)
      follow(function);
    for (func::FuncOp function : all)
      foldAll(function);
    inferences.clear();
    for (func::FuncOp function : done)
      function.erase();
  }

  const Inference &inferred(func::FuncOp function) {
    std::shared_ptr<Inference> &its = inferences[function];
    if (its)
      return *its;
    its = std::make_shared<Inference>(opsetOf(function));
    Block &body = function.front();
    for (BlockArgument argument : body.getArguments())
      forgetIfEmpty(argument);
    for (Value argument : body.getArguments())
      its->remember(argument);
    for (Operation &op : llvm::make_early_inc_range(body))
      its->visit(op);
    return *its;
  }

  CallSample sampleOf(func::FuncOp function) {
    const Inference &its = inferred(function);
    return {function, [&its](Value value) { return its.lookup(value); },
            its.decisions()};
  }

  /// What `function` is elsewhere, by an attribute that says so.
  SmallVector<CallSample> samplesOf(func::FuncOp function, StringRef attr) {
    SmallVector<CallSample> samples;
    for (auto sample : getOperation().getOps<func::FuncOp>())
      if (auto its = sample->getAttrOfType<FlatSymbolRefAttr>(attr);
          its && its.getValue() == function.getSymName())
        samples.push_back(sampleOf(sample));
    return samples;
  }

  /// With what the model is at other lengths, of its past or its own.
  void follow(func::FuncOp function) {
    const CallSample entry = sampleOf(function);
    if (auto samples = samplesOf(function, onnx::sampleOfAttrName);
        !samples.empty())
      followPositions(entry, samples);
    if (auto folded = samplesOf(function, onnx::foldedLengthOfAttrName);
        !folded.empty())
      compareFolded(entry, samplesOf(function, onnx::lengthOfAttrName), folded);
  }

  void foldAll(func::FuncOp function) {
    const Inference &inference = inferred(function);
    Block &body = function.front();
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(body)))
      if (auto node = dyn_cast<onnx::NodeOp>(op))
        fold(node, inference);
    function.setFunctionType(
        FunctionType::get(&getContext(), body.getArgumentTypes(),
                          body.getTerminator()->getOperandTypes()));
  }

  /// What has no elements is known.
  static void forgetIfEmpty(BlockArgument argument) {
    std::optional<Fact> fact = factOf(argument);
    if (!fact || shapeProblem(fact->shape) || numElements(fact->shape) != 0)
      return;
    OpBuilder builder = OpBuilder::atBlockBegin(argument.getOwner());
    argument.replaceAllUsesWith(materialize(builder, argument.getLoc(),
                                            Tensor(fact->type, fact->shape)));
  }

  /// Replaces a node whose used results are all known.
  static void fold(onnx::NodeOp op, const Inference &inference) {
    if (op->hasAttr(reasonAttrName))
      return;
    OpBuilder builder(op);
    SmallVector<Value> constants;
    for (Value result : op.getResults())
      if (const Fact *fact = inference.lookup(result);
          fact && fact->constant && numElements(fact->shape) == 0)
        result.replaceAllUsesWith(
            materialize(builder, op.getLoc(), *fact, op.getNode()));
    for (Value result : op.getResults()) {
      const Fact *fact = inference.lookup(result);
      if (!fact || (!fact->constant && !result.use_empty()))
        return;
      Value constant;
      if (!result.use_empty()) {
        constant = materialize(builder, op.getLoc(), *fact, op.getNode());
        if (!constant)
          return;
      }
      constants.push_back(constant);
    }
    for (auto [result, constant] : llvm::zip(op.getResults(), constants))
      if (constant)
        result.replaceAllUsesWith(constant);
    op.erase();
  }

  DenseMap<Operation *, std::shared_ptr<Inference>> inferences; // of this run
};
} // namespace
