// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Common subexpressions and dead code. MLIR's own CSE takes the name of a node
// for a part of what an operator computes; here it is only a label.
#include "compiler/canonicalize/Passes.h"
#include "compiler/values/OnnxValues.h"
#include "compiler/values/ValueNames.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/DenseMap.h"

namespace wsec::canonicalize {
#define GEN_PASS_DEF_COMMONSUBEXPRESSIONS
#include "compiler/canonicalize/Passes.h.inc"
} // namespace wsec::canonicalize

using namespace wsec::canonicalize;

/// Everything but names and the reason, which say nothing of the value.
static DictionaryAttr meaningOf(Operation *op) {
  NamedAttrList attributes(op->getAttrDictionary());
  attributes.erase("node");
  attributes.erase(onnx::absorbedAttrName);
  attributes.erase(onnx::valuesAttrName);
  attributes.erase(reasonAttrName);
  return attributes.getDictionary(op->getContext());
}

namespace {
/// Looked up only, so the order of the pointers in it does not matter.
struct Computed {
  llvm::DenseMap<llvm::hash_code, SmallVector<Operation *, 1>> byHash;

  static llvm::hash_code hash(Operation *op, DictionaryAttr meaning) {
    return llvm::hash_combine(
        op->getName(), meaning,
        llvm::hash_combine_range(op->operand_begin(), op->operand_end()));
  }

  /// An earlier operation that computes the same, or null.
  Operation *findOrInsert(Operation *op) {
    DictionaryAttr meaning = meaningOf(op);
    SmallVector<Operation *, 1> &same = byHash[hash(op, meaning)];
    for (Operation *other : same)
      if (other->getName() == op->getName() && meaningOf(other) == meaning &&
          llvm::equal(other->getOperands(), op->getOperands()) &&
          llvm::equal(other->getResultTypes(), op->getResultTypes()))
        return other;
    same.push_back(op);
    return nullptr;
  }
};

struct CommonSubexpressionsPass
    : wsec::canonicalize::impl::CommonSubexpressionsBase<
          CommonSubexpressionsPass> {
  void runOnOperation() override {
    getOperation().walk([&](Block *block) { runOnBlock(*block); });
  }

  void runOnBlock(Block &block) {
    Computed computed;
    for (Operation &op : llvm::make_early_inc_range(block)) {
      if (op.getNumResults() == 0 || op.getNumRegions() || !isPure(&op))
        continue;
      if (Operation *other = computed.findOrInsert(&op)) {
        absorb(other, &op);
        for (auto [from, to] :
             llvm::zip_equal(op.getResults(), other->getResults()))
          moveValueNames(from, to);
        op.replaceAllUsesWith(other);
        op.erase();
      }
    }
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
      if (isOpTriviallyDead(&op))
        op.erase();
  }
};
} // namespace
