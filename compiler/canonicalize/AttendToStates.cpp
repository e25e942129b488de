// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/canonicalize/AttendToStates.h"
#include "compiler/values/AttentionMask.h"
#include "dialects/onnx/CachedCalls.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace wsec;
using namespace wsec::canonicalize;
using namespace wsec::values;

/// From here on down, what is added to a score leaves nothing of its weight:
/// the lowest number of f16.
static constexpr double hides = -65504;

/// Whether a constant that is added hides the keys behind each query's own, of
/// which the last query's is the last key, and no others.
static bool hidesLater(Value mask, int64_t queries, int64_t keys) {
  std::optional<Fact> fact = factOf(mask);
  std::optional<Tensor> numbers = fact ? fact->load() : std::nullopt;
  if (!numbers || numbers->shape().size() != 4 ||
      numbers->shape()[2] != queries || numbers->shape()[3] != keys)
    return false;
  for (int64_t i = 0; i < numbers->size(); ++i) {
    const int64_t own = keys - queries + i / keys % queries;
    const double number = numbers->asFloat(i);
    if (i % keys <= own ? number != 0 : !(number <= hides))
      return false;
  }
  return true;
}

/// Why what acts on scores is more than causality, or nothing.
static StringRef whyNotCausal(onnx::AttentionOp op) {
  const int64_t queries = shapeOf(op.getQ())[1], keys = shapeOf(op.getK())[1];
  bool isCausal = queries == 1;
  for (const MaskTerm &term : maskTerms(op))
    switch (term.kind) {
    case onnx::TermKind::Add:
    case onnx::TermKind::Replace:
      if (term.later || !term.operand ||
          !hidesLater(term.operand, queries, keys))
        return "has a mask or bias besides causality, such as a window";
      isCausal = true;
      break;
    case onnx::TermKind::Raise: // to the lowest number
      if (!(term.to <= hides))
        return "has a bound of scores";
      break;
    default: // guards of what sees nothing: each token sees itself
      break;
    }
  if (op.getSoftcap())
    return "has a softcap, which has no kernel";
  if (!(op.getScale().convertToDouble() > 0))
    return "scales scores by a number that is not positive";
  return isCausal ? "" : "lets tokens see later ones";
}

static void attend(onnx::AttentionOp op) {
  auto keys = op.getK().getDefiningOp<onnx::UpdateOp>();
  auto values = op.getV().getDefiningOp<onnx::UpdateOp>();
  if (!keys && !values)
    return;
  StringRef why;
  if (!keys || !values || keys.getPosition() != values.getPosition())
    why = "has keys or values of which only one is a state; give both";
  else if (shapeOf(keys.getValue())[1] != shapeOf(op.getQ())[1])
    why = "has other queries than the tokens that the state gets";
  else
    why = whyNotCausal(op);
  if (!why.empty()) {
    op->setAttr(reasonAttrName,
                StringAttr::get(op.getContext(),
                                "attends to a state, and " + why +
                                    "; leave --kv-capacity and --states out"));
    return;
  }
  OpBuilder builder(op);
  auto attention = onnx::CachedAttentionOp::create(
      builder, op.getLoc(), op.getType(), op.getQ(), keys, values,
      keys.getPosition(), op.getNumHeadsAttr(),
      builder.getI64IntegerAttr(op.keyHeads()), op.getScaleAttr(),
      op.getNodeAttr());
  for (StringRef kept : {onnx::absorbedAttrName, onnx::valuesAttrName})
    if (Attribute its = op->getAttr(kept))
      attention->setAttr(kept, its);
  op.replaceAllUsesWith(attention.getResult());
  op.erase();
}

void canonicalize::attendToStates(ModuleOp module) {
  for (auto function : module.getOps<func::FuncOp>()) {
    if (!function->hasAttr(onnx::callAttrName))
      continue;
    SmallVector<onnx::AttentionOp> all(function.getOps<onnx::AttentionOp>());
    llvm::for_each(all, attend);
  }
}
