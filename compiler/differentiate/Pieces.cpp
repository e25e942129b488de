// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/differentiate/Pieces.h"
#include "dialects/onnx/Onnx.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace wsec;
using namespace wsec::differentiate;

/// What so many read is not of one layer: it is there throughout.
static constexpr int64_t readersOfOneLayer = 4;

static bool severalRead(Value value) {
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    return user != *value.getUsers().begin();
  });
}

/// Cuts before operators where, of what earlier ones computed that is wanted
/// and that later ones read, only one value is left, and several read it: the
/// residual stream of a transformer. What more than a layer's operators read,
/// such as biases by position, is no part of that.
SmallVector<Piece>
wsec::differentiate::cutIntoPieces(ArrayRef<Operation *> ops,
                                   llvm::function_ref<bool(Value)> isWanted) {
  llvm::DenseMap<Operation *, size_t> lastReader; // looked up only
  for (auto [index, op] : llvm::enumerate(ops))
    for (Value operand : op->getOperands())
      if (Operation *source = operand.getDefiningOp())
        lastReader[source] = index;
  SmallVector<Piece> pieces(1);
  SmallVector<Operation *> live;
  for (auto [index, op] : llvm::enumerate(ops)) {
    const size_t now = index;
    llvm::erase_if(live, [&](Operation *source) {
      return lastReader.lookup(source) < now;
    });
    Value only = live.size() == 1 ? live.front()->getResult(0) : Value();
    if (only && severalRead(only) && only != pieces.back().start)
      pieces.push_back({{}, only});
    pieces.back().ops.push_back(op);
    const bool isComputed = op->getNumOperands() > 0 &&
                            op->getNumResults() == 1 &&
                            isWanted(op->getResult(0));
    if (isComputed &&
        std::distance(op->user_begin(), op->user_end()) <= readersOfOneLayer)
      live.push_back(op);
  }
  return pieces;
}

SmallVector<Operation *> wsec::differentiate::opsOf(ArrayRef<Piece> pieces) {
  SmallVector<Operation *> ops;
  for (const Piece &piece : pieces)
    llvm::append_range(ops, piece.ops);
  return ops;
}

//===----------------------------------------------------------------------===//
// Layers that are alike
//===----------------------------------------------------------------------===//

/// All that tells an operator from others, but for names, and which parameter a
/// constant is a view of.
static Attribute meaningOf(Operation *op) {
  NamedAttrList attributes(op->getAttrDictionary());
  for (StringRef name : {StringRef("node"), StringRef(onnx::absorbedAttrName),
                         StringRef(onnx::valuesAttrName)})
    attributes.erase(name);
  if (isa<onnx::ConstantOp>(op))
    attributes.erase("value");
  return attributes.getDictionary(op->getContext());
}

/// Whether operands of two pieces are the same within them: both computed by
/// the operator of one number, what they begin with, constants alike, or one
/// value.
static bool areAlike(const Piece &a, const Piece &b) {
  auto isConstant = [](Operation *op) { return isa<onnx::ConstantOp>(op); };
  SmallVector<Operation *> left(a.ops), right(b.ops);
  llvm::erase_if(left, isConstant); // stand where they were used first
  llvm::erase_if(right, isConstant);
  if (left.size() != right.size() || !a.start || !b.start ||
      a.start.getType() != b.start.getType())
    return false;
  llvm::DenseMap<Value, Value> same; // of a, in b; looked up only
  same[a.start] = b.start;
  auto correspond = [&](Value x, Value y) {
    if (x == y || same.lookup(x) == y)
      return true;
    auto c = x.getDefiningOp<onnx::ConstantOp>(),
         d = y.getDefiningOp<onnx::ConstantOp>();
    return c && d && c.getType() == d.getType() && meaningOf(c) == meaningOf(d);
  };
  for (auto [x, y] : llvm::zip_equal(left, right)) {
    if (x->getName() != y->getName() || meaningOf(x) != meaningOf(y) ||
        x->getNumOperands() != y->getNumOperands() ||
        x->getResultTypes() != y->getResultTypes() ||
        !llvm::all_of(llvm::zip(x->getOperands(), y->getOperands()),
                      [&](auto pair) {
                        return correspond(std::get<0>(pair), std::get<1>(pair));
                      }))
      return false;
    for (auto [from, to] : llvm::zip_equal(x->getResults(), y->getResults()))
      same[from] = to;
  }
  return true;
}

/// Pieces of a layer, at most.
static constexpr size_t mostOfLayer = 8;

Repeats wsec::differentiate::findRepeats(ArrayRef<Piece> pieces) {
  Repeats best;
  for (size_t length = 1; length <= mostOfLayer; ++length) {
    size_t alike = 0; // pieces before this that are like one of a layer before
    for (size_t at = length; at + 1 < pieces.size(); ++at) {
      alike = areAlike(pieces[at - length], pieces[at]) ? alike + 1 : 0;
      const size_t count = alike / length + 1;
      if (count > 1 && count * length > best.count * best.length)
        best = {at + 1 - count * length, length, count};
    }
  }
  return best;
}

void wsec::differentiate::leaveOut(SmallVectorImpl<Piece> &pieces,
                                   const Repeats &repeats, size_t most) {
  if (repeats.count <= most)
    return;
  const size_t begin = repeats.first + most * repeats.length,
               end = repeats.first + repeats.count * repeats.length;
  const Value from = pieces[begin].start;
  Value to = pieces[end].start;
  pieces[end].start = from;
  to.replaceUsesWithIf(from, [&](OpOperand &use) {
    return !llvm::is_contained(pieces[end - 1].ops, use.getOwner());
  });
  // Nobody uses what they compute; parameters may know their constants.
  pieces.erase(pieces.begin() + begin, pieces.begin() + end);
}
