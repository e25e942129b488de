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

/// One value at one length.
struct Known {
  int64_t length;
  const Fact *fact; // null where its node has no result
};

class FoldedLengths {
public:
  FoldedLengths(const CallSample &entry, ArrayRef<CallSample> samples);
  /// Why a value of the entry is not at the length of `folded` what it is
  /// elsewhere, or nothing.
  std::optional<std::string> differsAt(onnx::NodeOp node, unsigned result,
                                       const CallSample &folded);

private:
  using Nodes = llvm::StringMap<onnx::NodeOp>; // looked up only
  static Nodes nodesOf(func::FuncOp function);
  std::optional<std::string> differs(ArrayRef<Known> all, const Known &here);
  std::optional<std::string> elementDiffers(ArrayRef<Known> all,
                                            const Known &here);

  SmallVector<CallSample> compared;           // entry, and its samples
  SmallVector<Nodes> nodes;                   // of these
  DenseMap<Operation *, Nodes> nodesOfFolded; // looked up only
};
} // namespace

FoldedLengths::Nodes FoldedLengths::nodesOf(func::FuncOp function) {
  Nodes all;
  for (auto node : function.front().getOps<onnx::NodeOp>())
    all.try_emplace(node.getNode(), node);
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

std::optional<std::string> FoldedLengths::elementDiffers(ArrayRef<Known> all,
                                                         const Known &here) {
  // Decisions come from small values.
  constexpr int64_t most = 1 << 12;
  auto isSmall = [](const Known &its) {
    return its.fact->constant.has_value();
  };
  if (numElements(here.fact->shape) > most || !isSmall(here) ||
      !llvm::all_of(all, isSmall))
    return std::nullopt;
  const std::optional<Tensor> its = here.fact->load();
  SmallVector<Tensor> others;
  for (const Known &other : all) {
    // A part that every length has.
    for (auto [extent, whole] : llvm::zip(here.fact->shape, other.fact->shape))
      if (extent > whole)
        return std::nullopt;
    std::optional<Tensor> tensor = other.fact->load();
    if (!its || !tensor)
      return std::nullopt;
    others.push_back(tensor->viewed(StridedView::strided(
        here.fact->shape, 0, rowMajorStrides(other.fact->shape))));
  }
  for (int64_t i = 0; i < its->size(); ++i) {
    Law law;
    for (auto [other, tensor] : llvm::zip(all, others))
      law.add(other.length, tensor.asFloat(i));
    const std::optional<double> expected = law.at(double(here.length));
    const double found = its->asFloat(i);
    if (expected && *expected != found &&
        !(std::isnan(*expected) && std::isnan(found)))
      return text("is", found, *expected, here.length);
  }
  return std::nullopt;
}

std::optional<std::string> FoldedLengths::differs(ArrayRef<Known> all,
                                                  const Known &here) {
  const int64_t rank = all.front().fact->rank();
  if (llvm::any_of(all,
                   [&](const Known &its) { return its.fact->rank() != rank; }))
    return std::nullopt;
  if (!here.fact || here.fact->rank() != rank)
    return llvm::formatv("{0} at length {1}, and a result of {2} dimensions "
                         "at others",
                         here.fact
                             ? "has one of " + std::to_string(here.fact->rank())
                             : "has no result",
                         here.length, rank);
  for (int64_t axis = 0; axis < rank; ++axis) {
    Law law;
    for (const Known &its : all)
      law.add(its.length, double(its.fact->shape[axis]));
    const std::optional<double> expected = law.at(double(here.length));
    if (expected && *expected != double(here.fact->shape[axis]))
      return text("has as extent " + Twine(axis),
                  double(here.fact->shape[axis]), *expected, here.length);
  }
  return elementDiffers(all, here);
}

std::optional<std::string> FoldedLengths::differsAt(onnx::NodeOp node,
                                                    unsigned result,
                                                    const CallSample &folded) {
  auto find = [&](const Nodes &among, const CallSample &its) {
    auto other = among.find(node.getNode());
    const bool isIt =
        other != among.end() && result < other->second->getNumResults();
    return Known{lengthOf(its.function),
                 isIt ? its.lookup(other->second->getResult(result)) : nullptr};
  };
  SmallVector<Known> all;
  for (auto [its, among] : llvm::zip(compared, nodes)) {
    all.push_back(find(among, its));
    if (!all.back().fact)
      return std::nullopt;
  }
  auto [its, isNew] = nodesOfFolded.try_emplace(folded.function);
  if (isNew)
    its->second = nodesOf(folded.function);
  return differs(all, find(its->second, folded));
}

void wsec::infer::compareFolded(const CallSample &entry,
                                ArrayRef<CallSample> samples,
                                ArrayRef<CallSample> folded) {
  FoldedLengths lengths(entry, samples);
  const StringRef name =
      entry.function->getAttrOfType<StringAttr>(onnx::lengthNameAttrName);
  func::FuncOp function = entry.function;
  for (auto node : function.front().getOps<onnx::NodeOp>())
    for (unsigned result = 0; result < node->getNumResults(); ++result)
      for (const CallSample &its : folded)
        if (auto why = lengths.differsAt(node, result, its)) {
          *why += llvm::formatv("; export the model without it, or compile "
                                "for longer ones: --dim {0}={1}..{2}",
                                name, lengthOf(its.function) + 1,
                                lengthOf(entry.function));
          refuseNode(node, *why);
          return refuseConsequences(function);
        }
}
