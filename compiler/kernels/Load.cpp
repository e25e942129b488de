// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Words of the host into a tensor on the wafer: all tokens of a column pass all
// its PEs, each keeps a window of its own. Loads walk an input or constant,
// fills that of a resident parameter, gathers the rows of a table that ids
// name.

#include "compiler/kernels/KernelLibrary.h"

using namespace mlir;

namespace wsec {
namespace {

using pe::Affine;
using pe::Opcode;
using pe::Operand;

KernelCost loadCost(const Layout &layout, const Machine &machine) {
  CostModel model(machine);
  double words = layout.tokenCount() * layout.features.largest(machine.width);
  KernelCost cost;
  cost.compute = model.copies(1, layout.words(machine.width, machine.height));
  cost.fabric = words;
  cost.stream =
      model.channelCycles(layout, layout.features, layout.tokenCount());
  cost.lowerBound = double(layout.tokenCount()) * layout.features.total() /
                    machine.channelsInUse();
  return cost;
}

SmallVector<HostFlow> loadFlows(const Layout &layout, const Machine &machine) {
  return {CostModel(machine).columnFlow(layout.features, layout.tokenCount())};
}

/// Keeps the own tokens of a stream that lists all of them, features inside.
void keepOwnTokens(RoutineBuilder &b, const Tile &out) {
  ScalarBuilder &s = b.scalars();
  Affine total = Affine(out.features) * out.layout.tokenCount();
  b.where(out.active, [&] {
    b.vector(Opcode::Mov, {1, out.channels, out.features},
             Operand::memory(out.buffer, 0, {0, 1, out.pitch}),
             {b.columnWords(3).windowed(s.mul(out.firstToken, out.features),
                                        total)});
  });
}

/// The leading dimensions of the walk, outermost first: ones are left out and
/// neighbours that continue one another become one.
SmallVector<HostDim> leadingDims(ArrayRef<int64_t> shape,
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
LogicalResult reshapedStrides(Operation *op, Attribute source,
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

/// Streams the elements of `type` from `source` at `offset`, with these strides
/// or, without, in its own order; each PE keeps its own in `out`.
LogicalResult bring(RoutineBuilder &b, Attribute source, RankedTensorType type,
                    const Tile &out, int64_t offset = 0,
                    std::optional<ArrayRef<int64_t>> given = {}) {
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
  if (!dims.empty()) {
    words.lines = dims.front();
    words.inner.assign(dims.begin() + 1, dims.end());
  }
  b.streamToColumns(words);
  keepOwnTokens(b, out);
  return success();
}

class Load final : public KernelFor<wse::LoadOp> {
  KernelCost costOf(wse::LoadOp op, const Machine &machine) const final {
    return loadCost(Layout::of(op.getResult()), machine);
  }
  SmallVector<StreamNeed> streamsOf(wse::LoadOp op,
                                    const Machine &machine) const final {
    return columnStreams(Layout::of(op.getResult()), machine);
  }
  SmallVector<HostFlow> flowsOf(wse::LoadOp op,
                                const Machine &machine) const final {
    return loadFlows(Layout::of(op.getResult()), machine);
  }
  LogicalResult lowerOp(wse::LoadOp op, RoutineBuilder &b) const final {
    return bring(b, op.getSource(),
                 cast<RankedTensorType>(op.getResult().getType()),
                 b.tile(op.getResult()), op.getViewOffset(), op.getStrides());
  }
};

class Fill final : public KernelFor<wse::FillOp> {
  static wse::ParameterOp parameterOf(wse::FillOp op) {
    return SymbolTable::lookupNearestSymbolFrom<wse::ParameterOp>(
        op, op.getParameterAttr());
  }
  static Layout layoutOf(wse::FillOp op) {
    return Layout::of(parameterOf(op).getHeldType());
  }

  KernelCost costOf(wse::FillOp op, const Machine &machine) const final {
    return loadCost(layoutOf(op), machine);
  }
  SmallVector<StreamNeed> streamsOf(wse::FillOp op,
                                    const Machine &machine) const final {
    return columnStreams(layoutOf(op), machine);
  }
  SmallVector<HostFlow> flowsOf(wse::FillOp op,
                                const Machine &machine) const final {
    return loadFlows(layoutOf(op), machine);
  }
  LogicalResult lowerOp(wse::FillOp op, RoutineBuilder &b) const final {
    wse::ParameterOp parameter = parameterOf(op);
    return bring(b, parameter.getValue(), parameter.getHeldType(),
                 b.tile(parameter));
  }
};

class Gather final : public KernelFor<wse::GatherOp> {
  KernelCost costOf(wse::GatherOp op, const Machine &machine) const final {
    return loadCost(Layout::of(op.getResult()), machine);
  }
  SmallVector<StreamNeed> streamsOf(wse::GatherOp op,
                                    const Machine &machine) const final {
    return columnStreams(Layout::of(op.getResult()), machine);
  }

  SmallVector<HostFlow> flowsOf(wse::GatherOp op,
                                const Machine &machine) const final {
    return loadFlows(Layout::of(op.getResult()), machine);
  }

  LogicalResult lowerOp(wse::GatherOp op, RoutineBuilder &b) const final {
    HostTensor table = b.source(op.getTable());
    Layout layout = Layout::of(op.getResult());
    ColumnWords words;
    words.tensor = table.symbol;
    words.offset = table.offset;
    words.features = layout.features;
    words.lines = {layout.tokenCount(), 0};
    words.featureStep = table.strides[1];
    words.indexTensor = b.source(op.getIds()).symbol;
    words.indexStep = table.strides[0];
    words.indexRows = op.getTable().getType().getDimSize(0);
    b.streamToColumns(words);
    keepOwnTokens(b, b.tile(op.getResult()));
    return success();
  }
};

} // namespace

const Kernel *loadKernel() {
  static const Load kernel;
  return &kernel;
}

const Kernel *fillKernel() {
  static const Fill kernel;
  return &kernel;
}

const Kernel *gatherKernel() {
  static const Gather kernel;
  return &kernel;
}

} // namespace wsec
