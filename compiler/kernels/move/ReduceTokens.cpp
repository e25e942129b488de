// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sum, mean or maximum over the tokens of each batch element: every PE combines
// its own tokens, partial results are reduced in a chain north to the root of
// the group.

#include "compiler/kernels/KernelLibrary.h"
#include "compiler/kernels/move/RowExchange.h"
#include "compiler/kernels/product/Product.h"
#include "dialects/wse/InherentAttributes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <limits>

using namespace mlir;

namespace wsec {
namespace {

class ReduceTokens final : public KernelFor<wse::ReduceTokensOp> {
  Match match(Operation *op, const Selection &selection) const final;
  Value build(Operation *op, Selection &selection) const final;

  Value moved(Operation *op) const final { return op->getResult(0); }
  SmallVector<Relay> relays() const final { return gatherColumnRelays(); }

  int variantOf(Operation *op) const final {
    return op->hasAttr(wse::twoPhasesAttrName);
  }
  void take(Operation *op, int variant) const final {
    if (variant)
      op->setAttr(wse::twoPhasesAttrName, UnitAttr::get(op->getContext()));
    else
      op->removeAttr(wse::twoPhasesAttrName);
  }
  StringRef variantName(int variant) const final {
    return variant ? "in two phases" : "in a chain";
  }
  SmallVector<Offer> offers(Operation *op, const Machine &machine) const final {
    auto reduce = cast<wse::ReduceTokensOp>(op);
    const int64_t scratch = 4 * scratchWords(reduce, machine);
    SmallVector<Offer> offers = {{.variant = 0,
                                  .cost = costIn(reduce, false, machine),
                                  .scratchBytes = scratch}};
    const Layout layout = Layout::of(reduce.getInput(), machine.height);
    // Of floats: whether integers wrap is asked of each sum.
    if (columnPitch(machine) && layout.group == machine.height &&
        layout.span == machine.height &&
        !elementTypeOf(reduce.getInput()).isInteger())
      offers.push_back({.variant = 1,
                        .cost = costIn(reduce, true, machine),
                        .scratchBytes = scratch,
                        .addsColor = true});
    return offers;
  }
  KernelCost costOf(wse::ReduceTokensOp op,
                    const Machine &machine) const final {
    return costIn(op, variantOf(op) != 0, machine);
  }
  static KernelCost costIn(wse::ReduceTokensOp op, bool twoPhases,
                           const Machine &machine) {
    Layout layout = Layout::of(op.getInput(), machine.height);
    CostModel model(machine);
    double features = layout.features.largest(machine.width);
    KernelCost cost;
    cost.compute = model.adds(features, layout.pitch(machine.height));
    cost.lowerBound =
        model.leastAdds(double(layout.features.total()) / machine.width *
                        layout.pitch(machine.height));
    if (layout.span > 1)
      cost.serial += twoPhases
                         ? reduceBatchCycles(machine, layout.span, features)
                         : model.chain(layout.span, features);
    return cost;
  }
  SmallVector<StreamNeed> streamsOf(wse::ReduceTokensOp op,
                                    const Machine &machine) const final {
    return streamsIn(op, variantOf(op), machine);
  }
  SmallVector<StreamNeed> streamsIn(Operation *op, int variant,
                                    const Machine &machine) const final {
    SmallVector<StreamNeed> needs;
    if (Layout::of(op->getOperand(0), machine.height).span > 1)
      needs.push_back({StreamPattern::KeyNorth, {}});
    if (variant)
      needs.append(reduceBatchStreams(machine, machine.height));
    return needs;
  }

  int64_t scratchWords(wse::ReduceTokensOp op,
                       const Machine &machine) const final {
    return isNarrow(op.getResult()) ? Layout::of(op.getResult(), machine.height)
                                          .words(machine.width, machine.height)
                                    : 0;
  }

  LogicalResult lowerOp(wse::ReduceTokensOp op, RoutineBuilder &b) const final;
};

//===----------------------------------------------------------------------===//
// What it computes of a model
//===----------------------------------------------------------------------===//

wse::ReduceKind kindOf(onnx::ReduceOp op) {
  switch (op.getKind()) {
  case onnx::ReduceKind::Sum:
    return wse::ReduceKind::Sum;
  case onnx::ReduceKind::Mean:
    return wse::ReduceKind::Mean;
  case onnx::ReduceKind::Max:
    return wse::ReduceKind::Max;
  }
  llvm_unreachable("all kinds are handled");
}

Value reduceTokens(Operation *op, Value input, wse::ReduceKind kind,
                   Selection &selection) {
  wse::TokenTiling tiling = tilingOf(input);
  return selection.createFor<wse::ReduceTokensOp>(
      op,
      Type(selection.tensorType(tiling.withTokens(1), wse::featuresOf(input),
                                input)),
      input, wse::ReduceKindAttr::get(op->getContext(), kind));
}

/// Any axes: they become the tokens, all others features of one batch element.
Value reduceInStore(onnx::ReduceOp op, Selection &selection) {
  wse::WeightAttr stored = selection.asWeight(op.getX(), op);
  if (!stored)
    return {};
  SmallVector<int64_t> permutation = llvm::to_vector(op.getAxes());
  const ArrayRef<int64_t> shape = stored.getType().getShape();
  int64_t rank = int64_t(shape.size()), tokens = 1;
  for (int64_t axis : op.getAxes())
    tokens *= shape[axis];
  for (int64_t axis = 0; axis < rank; ++axis)
    if (!llvm::is_contained(op.getAxes(), axis))
      permutation.push_back(axis);
  int64_t features = values::numElements(shape) / tokens;
  Value rows = selection.loadReshaped(
      withView(stored, stridedView(stored).transposed(permutation)),
      {1, tokens, features}, selection.defaultTiling({1, tokens, features}),
      op);
  selection.storeWhole(op.getY(), reduceTokens(op, rows, kindOf(op), selection),
                       op);
  return {};
}

/// Partial results are i32, which would have to wrap in between.
bool reducesOtherIntegers(onnx::ReduceOp op) {
  auto integer = dyn_cast<IntegerType>(
      cast<RankedTensorType>(op.getX().getType()).getElementType());
  if (!integer || integer.getWidth() == 1)
    return false;
  const bool isMax = op.getKind() == onnx::ReduceKind::Max;
  return isMax ? integer.isUnsignedInteger(32)
               : integer.getWidth() < 32 || integer.isUnsigned();
}

Match matchReduce(onnx::ReduceOp op) {
  if (reducesOtherIntegers(op))
    return Match::refused(
        "combines integers whose partial results 32 bits with a sign do not "
        "hold; cast to int32 or int64 first");
  const bool integers = elementOnWafer(op.getX()).isInteger();
  if (integers && op.getKind() == onnx::ReduceKind::Mean)
    return Match::refused("takes a mean of integers, which would have to round "
                          "towards zero; cast to float first");
  return Match::when(!sumsFeatures(op));
}

/// The mask of a token streams in from the program file, which has to hold it.
constexpr int64_t maxStoredMask = 1 << 24;

/// The token of each batch element of `input` that is all a slice keeps, or
/// nothing.
std::optional<int64_t> tokenOf(onnx::SliceOp op, Value input) {
  wse::TokenTiling tiling = tilingOf(input);
  int64_t batch = tiling.getBatch(), tokens = tiling.getTokens();
  int64_t features = wse::featuresOf(input);
  StridedView view =
      *values::throughShapeOp(op, StridedView::whole(shapeOf(op.getX())));
  if (values::numElements(view.shape()) != batch * features ||
      tokens > maxStoredMask)
    return std::nullopt;
  // Tokens of the batch elements stand one way apart, features side by side.
  auto first = StridedView::whole({batch, tokens, features}).sliced(1, 0, 1, 1);
  const int64_t offset = view.getOffset();
  if (view.atoms(0, view.rank()) == first->atoms(0, 3) &&
      offset % features == 0 && offset / features < tokens)
    return offset / features;
  return std::nullopt;
}

/// A 1 at the token, 0 at all others, for each batch element.
Value loadMask(Operation *op, wse::TokenTiling tiling, int64_t token,
               Selection &selection) {
  Builder builder(op->getContext());
  int64_t tokens = tiling.getTokens();
  auto f32 = [&](ArrayRef<int64_t> shape) {
    return RankedTensorType::get(shape, builder.getF32Type());
  };
  SmallVector<float> oneHot(tokens, 0.0f);
  oneHot[token] = 1.0f;
  FlatSymbolRefAttr elements = selection.parameterOf(
      DenseElementsAttr::get(f32({tokens}), ArrayRef<float>(oneHot)), "token");
  auto source =
      wse::WeightAttr::get(op->getContext(), elements,
                           f32({tiling.getBatch(), tokens, 1}), 0, {0, 1, 0});
  wse::TokenTiling perToken =
      tiling.withColumns(wse::ColumnPlacement::Replicated);
  return selection.createLoad(selection.tensorType(perToken, 1), source, 0, {},
                              op);
}

/// One token of each batch element: all others become 0, then tokens add up.
Value takeToken(Operation *op, Value input, int64_t token,
                Selection &selection) {
  wse::TokenTiling tiling = tilingOf(input);
  Value mask = loadMask(op, tiling, token, selection);
  Location loc = op->getLoc();
  Value kept = selection.elementwise(
      op, selection.tensorType(tiling, wse::featuresOf(input), input),
      {input, mask}, {}, [&](OpBuilder &body, ValueRange of) -> Value {
        Value zero =
            arith::ConstantOp::create(body, loc, body.getF32FloatAttr(0));
        Value isChosen = arith::CmpFOp::create(
            body, loc, arith::CmpFPredicate::UNE, of[1], zero);
        Value none = zero;
        if (of[0].getType().isInteger())
          none =
              arith::ConstantOp::create(body, loc, body.getI32IntegerAttr(0));
        return arith::SelectOp::create(body, loc, isChosen, of[0], none);
      });
  return reduceTokens(op, kept, wse::ReduceKind::Sum, selection);
}

Match ReduceTokens::match(Operation *op, const Selection &selection) const {
  if (auto reduce = dyn_cast<onnx::ReduceOp>(op))
    return matchReduce(reduce);
  auto slice = dyn_cast<onnx::SliceOp>(op);
  Value input = slice ? selection.alreadyOnWafer(slice.getX()) : Value();
  if (!input)
    return {};
  if (tilingOf(input).getColumns() == wse::ColumnPlacement::Replicated)
    return Match::refused("every column holds all features of its operand");
  return Match::when(tokenOf(slice, input).has_value());
}

Value ReduceTokens::build(Operation *op, Selection &selection) const {
  Value input = selection.onWafer(op->getOperand(0), op);
  if (!input)
    return {};
  if (auto slice = dyn_cast<onnx::SliceOp>(op))
    return takeToken(op, input, *tokenOf(slice, input), selection);
  auto reduce = cast<onnx::ReduceOp>(op);
  return areTokens(shapeOf(reduce.getX()), reduce.getAxes(), tilingOf(input))
             ? reduceTokens(op, input, kindOf(reduce), selection)
             : reduceInStore(reduce, selection);
}

//===----------------------------------------------------------------------===//
// Code
//===----------------------------------------------------------------------===//

/// Sums of integers must not wrap: the model's may have 64 bits.
pe::Issue sumsOf(wse::ReduceTokensOp op) {
  pe::Issue issue;
  issue.noWrap = op.getKind() == wse::ReduceKind::Sum &&
                 cast<RankedTensorType>(op.getInput().getType())
                     .getElementType()
                     .isInteger();
  return issue;
}

/// Partial results, last row of the group to the group root.
void chainNorth(RoutineBuilder &b, const Tile &in, const Tile &out,
                Opcode opcode, const pe::Issue &sums) {
  ScalarBuilder &s = b.scalars();
  Value row = s.mod(s.py(), in.layout.group);
  Value isLast = s.equal(row, in.layout.span - 1);
  Value isHead = s.equal(row, 0);
  Value parity = s.mod(s.py(), 2);
  Operand mine = Operand::memory(out.buffer, 0, {out.pitch});
  Operand onward =
      Operand::fabric(b.parityColor(StreamPattern::KeyNorth, parity));
  Operand incoming = Operand::fabric(
      b.parityColor(StreamPattern::KeyNorth, s.logicalNot(parity)));
  // On a microthread, so that all rows run the same main thread.
  auto start = [&](Value guard, Opcode operation, Operand to,
                   ArrayRef<Operand> sources) {
    pe::Issue issue = sums;
    issue.noWrap &= operation != Opcode::Mov;
    issue.guard = guard;
    issue.thread = KeyThread;
    b.vector(operation, {in.features}, to, sources, issue);
  };
  start(isLast, Opcode::Mov, onward, {mine});
  if (in.layout.span > 2)
    start(s.logicalNot(s.add(isLast, isHead)), opcode, onward,
          {mine, incoming});
  start(isHead, opcode, mine, {mine, incoming});
  b.await(KeyThread);
}

LogicalResult ReduceTokens::lowerOp(wse::ReduceTokensOp op,
                                    RoutineBuilder &b) const {
  Tile in = b.tile(op.getInput()), out = b.tile(op.getResult());
  bool isMax = op.getKind() == wse::ReduceKind::Max;
  Opcode opcode = isMax ? Opcode::Max : Opcode::Add;
  const std::string result = out.buffer;
  if (isNarrow(op.getResult()))
    out.buffer = b.scratch("sums", out.layout.words(b.width(), b.height()));
  b.where(in.active, [&] {
    Operand all = Operand::memory(out.buffer, 0, {out.pitch, 1});
    b.vector(Opcode::Mov, {in.features, in.sequences}, all,
             {Operand::immediate(isMax ? -std::numeric_limits<float>::infinity()
                                       : 0)});
    // Sequences of a row have equally many tokens; there is more than one only
    // where rows hold whole batch elements.
    int64_t sequence = in.layout.group == 0 ? in.layout.tokens : 0;
    Operand sums = Operand::memory(out.buffer, 0, {out.pitch, 1, 0});
    b.vector(opcode, {in.features, in.sequences, in.tokens}, sums,
             {sums, Operand::memory(in.buffer, 0, {in.pitch, sequence, 1})},
             sumsOf(op));
    if (op->hasAttr(wse::twoPhasesAttrName)) {
      const PEGroups rows = PEGroups::ofBatch(in.layout);
      StartedReduction sums{b, rows, opcode, out.buffer, in.features};
      sums.inGroups();
      b.await(KeyThread);
      sums.ofRoots();
      b.await(ValueThread);
    } else if (in.layout.span > 1) {
      chainNorth(b, in, out, opcode, sumsOf(op));
    }
    if (op.getKind() == wse::ReduceKind::Mean)
      b.vector(Opcode::Mul, {in.features, in.sequences}, all,
               {all, Operand::immediate(1.0f / in.layout.tokens)});
    if (out.buffer != result)
      b.vector(Opcode::Mov, {in.features, in.sequences},
               Operand::memory(result, 0, {out.pitch, 1}), {all});
  });
  return success();
}

} // namespace

WSEC_DEFINE_KERNEL(ReduceTokens)

} // namespace wsec
