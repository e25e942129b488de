// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/kernels/move/HostTokens.h"

using namespace mlir;
using namespace wsec;

KernelCost wsec::hostTokensCost(const Layout &layout, const Machine &machine) {
  CostModel model(machine);
  double words = layout.tokenCount() * layout.features.largest(machine.width);
  KernelCost cost;
  cost.compute = model.copies(1, layout.words(machine.width, machine.height));
  cost.fabric = words;
  cost.stream =
      model.channelCycles(layout, layout.features, layout.tokenCount());
  cost.lowerBound = double(layout.tokenCount()) * layout.features.total() /
                    machine.westCount();
  return cost;
}

SmallVector<HostFlow> wsec::hostTokensFlows(const Layout &layout,
                                            const Machine &machine) {
  return {CostModel(machine).columnFlow(layout.features, layout.tokenCount())};
}

bool wsec::sharesFills(Operation *op) {
  auto kernel = cast<wse::KernelOp>(op);
  auto program = op->getParentOfType<wse::ProgramOp>();
  return llvm::any_of(program.residents(), [&](wse::ParameterOp parameter) {
    return parameter.getHome() == kernel.getRegionRef();
  });
}

SmallVector<StreamNeed> wsec::hostTokensStreams(const Layout &layout,
                                                const Machine &machine,
                                                bool inAllRows) {
  if (!inAllRows)
    return columnStreams(layout, machine);
  return {{StreamPattern::Channel, {}},
          {StreamPattern::Column, {1, machine.height, machine.height}}};
}

HeldWords wsec::heldWords(RankedTensorType type, const Machine &machine) {
  Layout layout = Layout::of(type, machine.height);
  if (pe::elementBytes(type.getElementType()) != 2)
    return {Pairing::None, layout};
  if (auto pairs =
          layout.inPairs(Pairing::Channels, machine.width, machine.height))
    return {Pairing::Channels, *pairs};
  auto pairs = layout.features.inPairsAndTails(machine.width);
  if (!pairs)
    return {Pairing::None, layout};
  layout.features = *pairs;
  return {Pairing::Tails, layout};
}

void wsec::keepOwnTokens(RoutineBuilder &b, const Tile &out, bool inAllRows) {
  ScalarBuilder &s = b.scalars();
  Affine total = Affine(out.features) * out.layout.tokenCount();
  // Of no tokens it keeps nothing, and lets all words go by.
  Value hears = b.hears(StreamPattern::Column, out.active);
  b.where(inAllRows ? s.constant(1) : hears, [&] {
    b.vector(Opcode::Mov, {1, out.channels, out.features},
             Operand::memory(out.buffer, 0, {0, out.step, out.pitch}),
             {b.columnWords(3).windowed(s.mul(out.firstToken, out.features),
                                        total)});
  });
}

LogicalResult wsec::bringTokens(RoutineBuilder &b, Attribute source,
                                RankedTensorType type, const Tile &out,
                                int64_t offset,
                                std::optional<ArrayRef<int64_t>> given,
                                bool inAllRows, Pairing pairing) {
  HostTensor tensor = b.source(source);
  SmallVector<int64_t> shape(type.getShape());
  std::optional<StridedView> view = StridedView::whole(shape);
  if (given)
    view = StridedView::strided(shape, 0, *given);
  else if (auto weight = dyn_cast<wse::WeightAttr>(source)) {
    const ArrayRef<int64_t> its = weight.getType().getShape();
    const StridedView all = StridedView::strided(its, 0, tensor.strides);
    view = withStrides(all.reshaped(shape));
    if (!view &&
        Layout::of(type, b.height()).features.unitSize % its.back() == 0) {
      // Entries beside one another, of each feature.
      shape.back() /= its.back();
      shape.push_back(its.back());
      view = withStrides(all.reshaped(shape));
    }
  }
  if (!view)
    return b.operation()->emitOpError(
        "reshapes a constant in a way that no strides describe");
  SmallVector<HostDim> dims;
  ColumnWords words;
  if (shape.size() > type.getShape().size()) {
    values::Shape strides = *view->strides();
    words.unit = {shape.pop_back_val(), strides.pop_back_val()};
    view = StridedView::strided(shape, 0, strides);
  }
  if (!shape.empty())
    for (StridedView::Atom atom : view->atoms(0, shape.size() - 1))
      dims.push_back({atom.size, atom.stride});
  if (dims.size() + (words.unit.size > 1) > 3)
    return b.operation()->emitOpError("walks its source in ")
           << dims.size() + 1 << " dimensions that do not continue one "
           << "another; streams have at most 4";
  words.tensor = tensor.symbol;
  words.offset = tensor.offset + offset;
  words.features = out.layout.features;
  words.featureStep = shape.empty() ? 0 : view->strides()->back();
  if (pairing != Pairing::None)
    words.halves = type.getElementType();
  if (pairing == Pairing::Channels) {
    HostDim &tokens = dims.back();
    words.halfStep = tokens.step;
    tokens = {tokens.size / 2, 2 * tokens.step};
  } else if (pairing != Pairing::None) {
    words.pairs = Layout::of(type, b.height()).features;
  }
  if (!dims.empty()) {
    words.lines = dims.front();
    words.inner.assign(dims.begin() + 1, dims.end());
  }
  b.streamToColumns(words);
  keepOwnTokens(b, out, inAllRows);
  return success();
}
