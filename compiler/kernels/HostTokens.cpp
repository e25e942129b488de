// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/kernels/HostTokens.h"

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

/// The leading dimensions of the walk, outermost first: ones are left out and
/// neighbours that continue one another become one.
static SmallVector<HostDim> leadingDims(ArrayRef<int64_t> shape,
                                        ArrayRef<int64_t> strides) {
  SmallVector<HostDim> dims;
  for (size_t d = 0; d + 1 < shape.size(); ++d) {
    if (shape[d] == 1)
      continue;
    if (!dims.empty() && dims.back().step == strides[d] * shape[d]) {
      dims.back().size *= shape[d];
      dims.back().step = strides[d];
      continue;
    }
    dims.push_back({shape[d], strides[d]});
  }
  return dims;
}

/// Strides of `shape` over a source that lists the same elements in order
/// under another shape. Only a dense source has them for any shape.
static LogicalResult reshapedStrides(Operation *op, Attribute source,
                                     ArrayRef<int64_t> shape,
                                     SmallVector<int64_t> &strides) {
  if (auto weight = dyn_cast<wse::WeightAttr>(source)) {
    int64_t next = 1;
    for (auto [size, stride] : llvm::reverse(llvm::zip_equal(
             weight.getType().getShape(), weight.viewStrides()))) {
      if (size != 1 && stride != next)
        return op->emitOpError("reshapes a constant whose view is not dense");
      next *= size;
    }
  }
  strides.assign(shape.size(), 1);
  for (int64_t d = int64_t(shape.size()) - 2; d >= 0; --d)
    strides[d] = strides[d + 1] * shape[d + 1];
  return success();
}

LogicalResult wsec::bringTokens(RoutineBuilder &b, Attribute source,
                                RankedTensorType type, const Tile &out,
                                int64_t offset,
                                std::optional<ArrayRef<int64_t>> given,
                                bool inAllRows, Pairing pairing) {
  HostTensor tensor = b.source(source);
  SmallVector<int64_t> strides(tensor.strides.begin(), tensor.strides.end());
  auto weight = dyn_cast<wse::WeightAttr>(source);
  if (given)
    strides.assign(given->begin(), given->end());
  else if (!weight || weight.getType().getShape() != type.getShape())
    if (failed(
            reshapedStrides(b.operation(), source, type.getShape(), strides)))
      return failure();
  SmallVector<HostDim> dims = leadingDims(type.getShape(), strides);
  if (dims.size() > 3)
    return b.operation()->emitOpError("walks its source in ")
           << dims.size() + 1 << " dimensions that do not continue one "
           << "another; streams have at most 4";
  ColumnWords words;
  words.tensor = tensor.symbol;
  words.offset = tensor.offset + offset;
  words.features = out.layout.features;
  words.featureStep = strides.empty() ? 0 : strides.back();
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
