// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/infer/FoldedLengths.h"
#include "compiler/values/OnnxValues.h"
#include "dialects/onnx/Lengths.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>

using namespace mlir;
using namespace wsec;
using namespace wsec::infer;
using namespace wsec::values;

/// The most that `function` is for.
static int64_t lengthOf(func::FuncOp function) {
  return function->getAttrOfType<DenseI64ArrayAttr>(onnx::lengthAttrName)[1];
}

namespace {
/// Numbers that one thing is at the lengths that are compared, and what that
/// makes it elsewhere.
class Law {
public:
  void add(int64_t length, double number) {
    lengths.push_back(double(length));
    numbers.push_back(number);
  }
  /// Nothing where it is neither the same everywhere nor a whole number times
  /// the length, and more.
  std::optional<double> at(double length) const {
    auto same = [](double a, double b) {
      return a == b || (std::isnan(a) && std::isnan(b));
    };
    if (llvm::all_of(numbers,
                     [&](double its) { return same(its, numbers[0]); }))
      return numbers[0];
    const double factor = (numbers[0] - numbers[1]) / (lengths[0] - lengths[1]);
    auto whole = [&](double its) {
      return numbers[0] + factor * (its - lengths[0]);
    };
    if (factor != std::floor(factor) || numbers[0] != std::floor(numbers[0]))
      return std::nullopt;
    for (auto [its, number] : llvm::zip(lengths, numbers))
      if (number != whole(its))
        return std::nullopt;
    return whole(length);
  }

private:
  SmallVector<double> lengths, numbers;
};

/// What one value is at a length, by what it is at others.
struct Verdict {
  enum { Same, Unknown, Differs } kind;
  std::string why = {}; // it differs
};

/// One value at one length.
struct Known {
  int64_t length;
  const Fact *fact; // null where its node has no result
};

class FoldedLengths {
public:
  FoldedLengths(const CallSample &entry, ArrayRef<CallSample> samples);
  /// Whether a value of the entry is at the length of `folded` what it is
  /// elsewhere.
  Verdict at(OpResult value, const CallSample &folded);
  Verdict at(const Decision &decision, const CallSample &folded) const;

private:
  using Nodes = llvm::StringMap<onnx::NodeOp>; // looked up only
  Nodes nodesOf(func::FuncOp function);
  Verdict compare(ArrayRef<Known> all, const Known &here);
  Verdict compareElements(ArrayRef<Known> all, const Known &here);

  SmallVector<CallSample> compared;           // entry, and its samples
  SmallVector<Nodes> nodes;                   // of these
  DenseMap<Operation *, Nodes> nodesOfFolded; // looked up only
  DenseMap<Operation *, std::string> keys;    // likewise
};
} // namespace

/// By name, and, of those that one node became, by number.
FoldedLengths::Nodes FoldedLengths::nodesOf(func::FuncOp function) {
  Nodes all;
  llvm::StringMap<int64_t> counts;
  for (auto node : function.front().getOps<onnx::NodeOp>()) {
    std::string key = node.getNode().str();
    key += "\n" + std::to_string(counts[node.getNode()]++);
    all.try_emplace(key, node);
    keys[node] = std::move(key);
  }
  return all;
}

FoldedLengths::FoldedLengths(const CallSample &entry,
                             ArrayRef<CallSample> samples)
    : compared{entry} {
  llvm::append_range(compared, samples);
  for (const CallSample &its : compared)
    nodes.push_back(nodesOf(its.function));
}

static std::string text(const Twine &what, double found, double expected,
                        int64_t length) {
  std::string said;
  llvm::raw_string_ostream(said)
      << what << llvm::format(" %g at length ", found) << length
      << llvm::format(", where other lengths would make it %g", expected);
  return said;
}

Verdict FoldedLengths::compareElements(ArrayRef<Known> all, const Known &here) {
  // Decisions come from small values.
  constexpr int64_t most = 1 << 12;
  auto isSmall = [](const Known &its) {
    return its.fact->constant.has_value();
  };
  if (numElements(here.fact->shape) > most || !isSmall(here) ||
      !llvm::all_of(all, isSmall))
    return {Verdict::Unknown};
  const std::optional<Tensor> its = here.fact->load();
  SmallVector<Tensor> others;
  for (const Known &other : all) {
    // A part that every length has.
    for (auto [extent, whole] : llvm::zip(here.fact->shape, other.fact->shape))
      if (extent > whole)
        return {Verdict::Unknown};
    std::optional<Tensor> tensor = other.fact->load();
    if (!its || !tensor)
      return {Verdict::Unknown};
    others.push_back(tensor->viewed(StridedView::strided(
        here.fact->shape, 0, rowMajorStrides(other.fact->shape))));
  }
  Verdict verdict{Verdict::Same};
  for (int64_t i = 0; i < its->size(); ++i) {
    Law law;
    for (auto [other, tensor] : llvm::zip(all, others))
      law.add(other.length, tensor.asFloat(i));
    const std::optional<double> expected = law.at(double(here.length));
    const double found = its->asFloat(i);
    if (!expected)
      verdict.kind = Verdict::Unknown;
    else if (*expected != found &&
             !(std::isnan(*expected) && std::isnan(found)))
      return {Verdict::Differs, text("is", found, *expected, here.length)};
  }
  return verdict;
}

Verdict FoldedLengths::compare(ArrayRef<Known> all, const Known &here) {
  const int64_t rank = all.front().fact->rank();
  if (llvm::any_of(all,
                   [&](const Known &its) { return its.fact->rank() != rank; }))
    return {Verdict::Unknown};
  if (!here.fact || here.fact->rank() != rank)
    return {Verdict::Differs,
            llvm::formatv("{0} at length {1}, and a result of {2} dimensions "
                          "at others",
                          here.fact ? "has one of " +
                                          std::to_string(here.fact->rank())
                                    : "has no result",
                          here.length, rank)};
  bool isKnown = true;
  for (int64_t axis = 0; axis < rank; ++axis) {
    Law law;
    for (const Known &its : all)
      law.add(its.length, double(its.fact->shape[axis]));
    const std::optional<double> expected = law.at(double(here.length));
    isKnown &= expected.has_value();
    if (expected && *expected != double(here.fact->shape[axis]))
      return {Verdict::Differs,
              text("has as extent " + Twine(axis),
                   double(here.fact->shape[axis]), *expected, here.length)};
  }
  Verdict elements = compareElements(all, here);
  if (elements.kind == Verdict::Same && !isKnown)
    elements.kind = Verdict::Unknown;
  return elements;
}

Verdict FoldedLengths::at(OpResult value, const CallSample &folded) {
  auto [its, isNew] = nodesOfFolded.try_emplace(folded.function);
  if (isNew)
    its->second = nodesOf(folded.function);
  const std::string &key = keys[value.getOwner()];
  const unsigned result = value.getResultNumber();
  auto find = [&](const Nodes &among, const CallSample &its) {
    auto other = among.find(key);
    const bool isIt =
        other != among.end() && result < other->second->getNumResults();
    return Known{lengthOf(its.function),
                 isIt ? its.lookup(other->second->getResult(result)) : nullptr};
  };
  SmallVector<Known> all;
  for (auto [its, among] : llvm::zip(compared, nodes)) {
    all.push_back(find(among, its));
    if (!all.back().fact)
      return {Verdict::Unknown};
  }
  return compare(all, find(its->second, folded));
}

static const Decision *sameIn(const CallSample &sample,
                              const Decision &decision) {
  const Decision *found =
      llvm::find_if(sample.decisions, [&](const Decision &its) {
        return its.node == decision.node && its.operation == decision.operation;
      });
  return found == sample.decisions.end() ? nullptr : found;
}

Verdict FoldedLengths::at(const Decision &decision,
                          const CallSample &folded) const {
  Law law;
  for (const CallSample &its : compared) {
    const Decision *other = sameIn(its, decision);
    if (!other)
      return {Verdict::Unknown};
    law.add(lengthOf(its.function), double(other->number));
  }
  const int64_t length = lengthOf(folded.function);
  const std::optional<double> expected = law.at(double(length));
  const Decision *here = sameIn(folded, decision);
  const StringRef what =
      decision.operation == "If" ? "has as condition" : "has as trips";
  if (!here)
    return {Verdict::Differs,
            llvm::formatv("{0} nothing at length {1}", what, length)};
  if (!expected)
    return {Verdict::Unknown};
  if (*expected == double(here->number))
    return {Verdict::Same};
  return {Verdict::Differs,
          text(what, double(here->number), *expected, length)};
}

/// In the place of a node that is gone, one before all results.
static onnx::NodeOp nodeOf(const Decision &decision, func::FuncOp function) {
  Operation *end = function.front().getTerminator();
  OpBuilder builder(end);
  auto node = onnx::NodeOp::create(
      builder, end->getLoc(), {onnx::UnknownType::get(end->getContext())},
      decision.operation, "", end->getOperands(), builder.getDictionaryAttr({}),
      decision.node);
  for (OpOperand &result : end->getOpOperands())
    result.set(node.getResult(0));
  return node;
}

/// Whether constants take the node's place.
static bool folds(onnx::NodeOp node, const CallSample &entry) {
  return llvm::all_of(node->getResults(), [&](Value result) {
    const Fact *fact = entry.lookup(result);
    return fact && (fact->constant || result.use_empty());
  });
}

void wsec::infer::compareFolded(const CallSample &entry,
                                ArrayRef<CallSample> samples,
                                ArrayRef<CallSample> folded) {
  FoldedLengths lengths(entry, samples);
  func::FuncOp function = entry.function;
  auto refuse = [&](onnx::NodeOp node, std::string why, const CallSample &its) {
    const StringRef name =
        function->getAttrOfType<StringAttr>(onnx::lengthNameAttrName);
    why += llvm::formatv("; export the model without it, or compile for "
                         "longer ones: --dim {0}={1}..{2}",
                         name, lengthOf(its.function) + 1, lengthOf(function));
    refuseNode(node, why);
    refuseConsequences(function);
  };
  for (const Decision &decision : entry.decisions)
    for (const CallSample &its : folded)
      if (Verdict verdict = lengths.at(decision, its);
          verdict.kind == Verdict::Differs)
        return refuse(nodeOf(decision, function), verdict.why, its);

  // From the results back: what is read, and the first of it that differs.
  DenseSet<Value> read;
  auto reads = [&](Operation &op) { read.insert_range(op.getOperands()); };
  reads(*function.front().getTerminator());
  onnx::NodeOp first;
  std::string why;
  const CallSample *where = nullptr;
  for (Operation &op : llvm::reverse(function.front().without_terminator())) {
    auto node = dyn_cast<onnx::NodeOp>(op);
    if (!node || llvm::none_of(op.getResults(), [&](Value result) {
          return read.contains(result);
        }))
      continue;
    bool isKnown = folds(node, entry), isFirst = true;
    for (OpResult result : op.getResults())
      for (const CallSample &its : folded) {
        if (!read.contains(result))
          continue;
        Verdict verdict = lengths.at(result, its);
        isKnown &= verdict.kind == Verdict::Same;
        if (verdict.kind != Verdict::Differs || !isFirst)
          continue;
        isFirst = false;
        first = node;
        why = std::move(verdict.why);
        where = &its;
      }
    if (!isKnown)
      reads(op);
  }
  if (first)
    refuse(first, std::move(why), *where);
}
