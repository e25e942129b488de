// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One function per operator: which kernel it becomes, and where its result
// lies. A result stays in the rows of its tokens; its columns are balanced
// unless an attention is going to ask for whole heads.

#include "compiler/machine/Tiling.h"
#include "compiler/select/ElementwiseGroup.h"
#include "compiler/select/Passes.h"
#include "compiler/select/RegionChooser.h"
#include "compiler/select/Selector.h"
#include "compiler/select/SideBySide.h"
#include "compiler/select/Stages.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/TypeSwitch.h"

#include <limits>

using namespace mlir;
using namespace wsec;
using namespace wsec::select;
using wse::ColumnPlacement;
using wse::TiledAttr;

void Selector::select(Operation *op) {
  if (op->use_empty() || isa<onnx::ConstantOp, onnx::NoneOp>(op) ||
      hostValues.contains(op->getResult(0)))
    return;
  // What needs a refused value was not looked at: one reason is enough.
  for (Value operand : op->getOperands())
    if (selected.count(operand) && !selected.lookup(operand)) {
      selected[op->getResult(0)] = {};
      return;
    }
  if (isElementwise(op) && !isInGroup(op, op))
    return;
  if (isShapeOnly(op) && !alreadyOnWafer(op->getOperand(0))) {
    if (!selectView(op))
      selected[op->getResult(0)] = {};
    return;
  }
  if (isa<onnx::MatMulOp, onnx::BatchMatMulOp>(op) &&
      elementOnWafer(op->getResult(0)).isInteger()) {
    refuse(op, "multiplies matrices of integers, which f32 does not hold "
               "exactly; cast to float first");
    selected[op->getResult(0)] = {};
    return;
  }
  Value result =
      llvm::TypeSwitch<Operation *, Value>(op)
          .Case<onnx::MatMulOp, onnx::AttentionOp, onnx::RotaryOp,
                onnx::LayerNormOp, onnx::RMSNormOp, onnx::SoftmaxOp,
                onnx::GatherOp, onnx::ReduceOp, onnx::SliceOp, onnx::ReshapeOp,
                onnx::TransposeOp, onnx::ExpandOp, onnx::ConcatOp,
                onnx::BatchMatMulOp>([&](auto named) { return select(named); })
          .Default([&](Operation *other) -> Value {
            if (isElementwise(other))
              return selectElementwise(other);
            refuse(other, "no kernel of this library computes it");
            return {};
          });
  // What only the store holds is no refusal.
  if (result || !hostValues.contains(op->getResult(0)))
    selected[op->getResult(0)] = result;
  nameValues(op, result);
}

void Selector::nameValues(Operation *op, Value result) {
  auto names = op->getAttrOfType<ArrayAttr>(onnx::valuesAttrName);
  Operation *kernel = result ? result.getDefiningOp() : nullptr;
  if (!names || !kernel)
    return;
  llvm::SetVector<Attribute> all;
  if (auto known = kernel->getAttrOfType<ArrayAttr>(onnx::valuesAttrName))
    all.insert_range(known);
  int64_t elements = cast<RankedTensorType>(result.getType()).getNumElements();
  for (Attribute name : cast<ArrayAttr>(names[0])) {
    auto pair = dyn_cast<ArrayAttr>(name);
    if (pair && ShapedType::getNumElements(
                    cast<DenseI64ArrayAttr>(pair[1]).asArrayRef()) == elements)
      all.insert(name);
  }
  if (!all.empty())
    kernel->setAttr(onnx::valuesAttrName,
                    ArrayAttr::get(op->getContext(), all.getArrayRef()));
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

Value Selector::buildMatmul(Operation *op, Value input, wse::WeightAttr weight,
                            wse::WeightAttr bias, TiledAttr tiling) {
  int64_t features = weight.getType().getDimSize(1);
  if (auto sparsity =
          op->getAttrOfType<wse::SparsityAttr>(wse::sparsityAttrName))
    return create<wse::SparseMatmulOp>(op, nodesOf(op),
                                       Type(tensorType(tiling, features)),
                                       input, weight, bias, sparsity);
  auto variant = wse::MatmulVariantAttr::get(main.getContext(),
                                             wse::MatmulVariant::Reduce);
  auto matmul =
      create<wse::MatmulOp>(op, nodesOf(op), Type(tensorType(tiling, features)),
                            input, weight, bias, variant);
  VariantChoice choice = cheapestVariant(matmul, machine);
  if (tilingOf(input).getColumns() == ColumnPlacement::Heads)
    choice = spreadInput(matmul, choice, op);
  findKernel(matmul)->setVariant(matmul, choice.variant);
  return matmul.getResult();
}

// Fewer heads than columns leave columns without input. Where it costs less to
// spread its features over all of them first, the product reads those.
VariantChoice Selector::spreadInput(wse::MatmulOp matmul,
                                    VariantChoice asItLies, Operation *op) {
  Value input = matmul.getInput();
  Operation *last = &target.bodyBlock().back();
  Value spread = redistribute(input, ColumnPlacement::Balanced, 0, op);
  Operation *move = spread.getDefiningOp();
  const bool isNew = &target.bodyBlock().back() != last;
  matmul.getInputMutable().assign(spread);
  VariantChoice choice = cheapestVariant(matmul, machine);
  if (isNew) {
    matmul->moveAfter(move);
    choice.cycles += findKernel(move)->cost(move, machine).total();
  }
  if (choice < asItLies)
    return choice;
  matmul.getInputMutable().assign(input);
  if (isNew) {
    moved.erase({input, spread.getType()});
    move->erase();
  }
  return asItLies;
}

// A result that goes nowhere but out of the wafer need not be there at once: if
// it is too large, features leave piece by piece.
bool Selector::storeInPieces(onnx::MatMulOp op, Value input,
                             wse::WeightAttr weight, wse::WeightAttr bias) {
  SmallVector<OpOperand *> outputs;
  SmallVector<Value> aliases = {op.getY()};
  for (size_t next = 0; next < aliases.size(); ++next)
    for (OpOperand &use : aliases[next].getUses()) {
      if (isa<onnx::ReshapeOp>(use.getOwner()) || isFloatCast(use.getOwner()))
        aliases.push_back(use.getOwner()->getResult(0));
      else if (isa<func::ReturnOp>(use.getOwner()))
        outputs.push_back(&use);
      else
        return false;
    }
  int64_t features = weight.getType().getDimSize(1);
  TiledAttr tiling = tilingOf(input).withColumns(ColumnPlacement::Balanced);
  int64_t room = roomForOutput(input, machine);
  if (tiling.bytesPerPE(features, machine.width, machine.height) <= room)
    return false;
  int64_t bytesPerFeature = 4 * tiling.tokensPerRowMax(machine.height);
  int64_t perColumn = std::max<int64_t>(1, room / bytesPerFeature);
  int64_t pieces = tileSizeMax(features, perColumn * machine.width);
  if (op->hasAttr(wse::sparsityAttrName)) {
    refuse(op, "its result leaves in " + Twine(pieces) +
                   " pieces, of which the weights are streamed dense: let no "
                   "sparsity filter name it, or use a larger mesh");
    return true;
  }
  for (int64_t piece = 0; piece < pieces; ++piece) {
    int64_t start = tileStart(features, pieces, piece);
    int64_t size = tileSize(features, pieces, piece);
    Value result =
        buildMatmul(op, input, weight.slice(1, start, size),
                    bias ? bias.slice(0, start, size) : bias, tiling);
    for (OpOperand *output : outputs)
      create<wse::StoreOp>(
          op, nodesOf(op.getOperation()), result,
          kernels.getStringAttr(outputName(output->getOperandNumber())),
          kernels.getI64IntegerAttr(start), DenseI64ArrayAttr(),
          TypeAttr::get(output->get().getType()));
  }
  for (OpOperand *output : outputs)
    storedOutputs.insert(output->getOperandNumber());
  return true;
}

Value Selector::select(onnx::MatMulOp op) {
  wse::WeightAttr weight = asWeight(op.getWeight(), op), bias;
  if (!weight || (op.getBias() && !(bias = asWeight(op.getBias(), op))))
    return {};
  Value input = onWafer(op.getX(), op);
  if (!input || storeInPieces(op, input, weight, bias))
    return {};
  return buildMatmul(op, input, weight, bias,
                     wantedHeads.columnsFor(op.getY(), tilingOf(input)));
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

/// `value` with whole heads in each column, each `repeat` times in a row.
Value Selector::wholeHeads(Operation *op, Value value, int64_t heads,
                           int64_t repeat) {
  Value tensor = onWafer(value, op);
  if (!tensor)
    return {};
  int64_t headSize = wse::featuresOf(tensor) / heads;
  TiledAttr tiling = tilingOf(tensor);
  if (tiling.getBatch() != shapeOf(value)[0]) {
    tiling = defaultTiling(shapeOf(value))
                 .withColumns(ColumnPlacement::Heads, headSize);
    tensor = bring(value, shapeOf(value), tiling, op);
    if (!tensor)
      return {};
  }
  if (tiling.getColumns() == ColumnPlacement::Heads &&
      tiling.getHeadSize() == headSize && repeat == 1)
    return tensor;
  return redistribute(tensor, ColumnPlacement::Heads, headSize, op, repeat);
}

// A bias per key is one row of keys for each batch element; any other one row
// of keys for each query.
Value Selector::attentionBias(onnx::AttentionOp op, TiledAttr query,
                              int64_t keys, bool &perKey) {
  Value bias = op.getBias();
  if (!hostValues.contains(bias) && !toStore(bias, op))
    return {};
  perKey = shapeOf(bias)[2] == 1;
  TiledAttr rows = perKey ? query.perBatchElement() : query;
  return bring(bias,
               {query.getBatch(), 1, perKey ? 1 : query.getTokens(), keys},
               rows.withColumns(ColumnPlacement::Replicated), op);
}

Value Selector::select(onnx::AttentionOp op) {
  Value query = wholeHeads(op, op.getQ(), op.getNumHeads());
  Value key = wholeHeads(op, op.getK(), op.keyHeads(), op.headsPerKey());
  Value value = wholeHeads(op, op.getV(), op.keyHeads(), op.headsPerKey());
  if (!query || !key || !value)
    return {};
  TiledAttr queryTiling = tilingOf(query);
  Value keyBias, scoreBias;
  if (op.getBias()) {
    bool perKey = false;
    Value bias =
        attentionBias(op, queryTiling, tilingOf(key).getTokens(), perKey);
    if (!bias)
      return {};
    (perKey ? keyBias : scoreBias) = bias;
  }
  TiledAttr tiling = queryTiling.withColumns(ColumnPlacement::Heads,
                                             tilingOf(value).getHeadSize());
  return create<wse::AttentionOp>(
      op, nodesOf(op.getOperation()),
      Type(tensorType(tiling, wse::featuresOf(value))), query, key, value,
      keyBias, scoreBias, op.getNumHeadsAttr(),
      kernels.getF64FloatAttr(op.getScale().convertToFloat()),
      op.getCausalAttr());
}

Value Selector::rotaryAngles(onnx::RotaryOp op, Value angles, TiledAttr rows) {
  if (!hostValues.contains(angles) && !toStore(angles, op))
    return {};
  return bring(angles,
               {rows.getBatch(), rows.getTokens(), shapeOf(angles).back()},
               rows.withColumns(ColumnPlacement::Replicated), op);
}

Value Selector::select(onnx::RotaryOp op) {
  Value input = wholeHeads(op, op.getX(), op.getNumHeads());
  if (!input)
    return {};
  Value cos = rotaryAngles(op, op.getCos(), tilingOf(input));
  Value sin = rotaryAngles(op, op.getSin(), tilingOf(input));
  if (!cos || !sin)
    return {};
  return create<wse::RotaryOp>(op, nodesOf(op.getOperation()), input.getType(),
                               input, cos, sin, op.getRotaryDimAttr(),
                               op.getInterleavedAttr());
}

//===----------------------------------------------------------------------===//
// Norms and softmax
//===----------------------------------------------------------------------===//

// Row reductions work with any columns that own their features alone.
Value Selector::normInput(Value value, Operation *op) {
  Value tensor = onWafer(value, op);
  if (tensor && tilingOf(tensor).getColumns() == ColumnPlacement::Replicated) {
    refuse(op, "every column holds all features of its operand");
    return {};
  }
  return tensor;
}

Value Selector::select(onnx::LayerNormOp op) {
  Value input = normInput(op.getX(), op);
  wse::WeightAttr scale = asWeight(op.getScale(), op), bias;
  if (!input || !scale ||
      (op.getBias() && !(bias = asWeight(op.getBias(), op))))
    return {};
  return create<wse::LayerNormOp>(
      op, nodesOf(op.getOperation()), input.getType(), input, scale, bias,
      kernels.getF64FloatAttr(op.getEpsilon().convertToFloat()));
}

Value Selector::select(onnx::RMSNormOp op) {
  Value input = normInput(op.getX(), op);
  wse::WeightAttr scale = asWeight(op.getScale(), op);
  if (!input || !scale)
    return {};
  return create<wse::RMSNormOp>(
      op, nodesOf(op.getOperation()), input.getType(), input, scale,
      kernels.getF64FloatAttr(op.getEpsilon().convertToFloat()));
}

Value Selector::select(onnx::SoftmaxOp op) {
  Value input = normInput(op.getX(), op);
  if (!input)
    return {};
  return create<wse::SoftmaxOp>(op, nodesOf(op.getOperation()), input.getType(),
                                input);
}

//===----------------------------------------------------------------------===//
// Gather
//===----------------------------------------------------------------------===//

// Ids are resolved in the store: inputs and constants are there, in the order
// of the tokens. Casts between integers do not change them.
static std::optional<HostView> asIds(const HostValues &values, Value ids) {
  while (auto cast = ids.getDefiningOp<onnx::CastOp>()) {
    Type from =
        mlir::cast<RankedTensorType>(cast.getX().getType()).getElementType();
    if (!from.isInteger())
      return std::nullopt;
    ids = cast.getX();
  }
  return values.view(ids);
}

Value Selector::select(onnx::GatherOp op) {
  wse::WeightAttr table = asWeight(op.getTable(), op);
  if (!table)
    return {};
  std::optional<HostView> ids = asIds(hostValues, op.getIds());
  if (!ids || !ids->isWhole()) {
    if (!toStoreInOrder(op.getIds(), op))
      return {};
    ids = hostValues.view(op.getIds());
  }
  TiledAttr tiling =
      wantedHeads.columnsFor(op.getY(), defaultTiling(shapeOf(op.getY())));
  return create<wse::GatherOp>(
      op, nodesOf(op.getOperation()),
      Type(tensorType(tiling, shapeOf(op.getY()).back(), op.getY())), table,
      ids->source());
}

//===----------------------------------------------------------------------===//
// Element-wise groups
//===----------------------------------------------------------------------===//

Value Selector::selectElementwise(Operation *root) {
  ArrayRef<int64_t> shape = shapeOf(root->getResult(0));
  int64_t features = shape.empty() ? 1 : shape.back();
  int64_t leading =
      shape.empty() ? 1 : ShapedType::getNumElements(shape.drop_back());
  // The first operand on the wafer with all tokens decides the rows; columns
  // are balanced unless all operands hold heads or heads are wanted.
  TiledAttr rows;
  bool allHeads = true;
  TiledAttr heads;
  llvm::SetVector<Operation *> group;
  group.insert(root);
  for (size_t next = 0; next < group.size(); ++next)
    for (Value operand : group[next]->getOperands()) {
      if (hostValues.contains(operand))
        continue;
      if (isInGroup(operand.getDefiningOp(), root)) {
        group.insert(operand.getDefiningOp());
        continue;
      }
      Value tensor = alreadyOnWafer(operand);
      if (!tensor)
        return {};
      TiledAttr tiling = tilingOf(tensor);
      if (tiling.getRows() == wse::RowPlacement::Split &&
          tiling.getBatch() * tiling.getTokens() == leading && !rows)
        rows = tiling;
      if (wse::featuresOf(tensor) != features)
        continue;
      allHeads &= tiling.getColumns() == ColumnPlacement::Heads &&
                  (!heads || heads.sameColumns(tiling));
      heads = tiling;
    }
  if (!rows)
    rows = defaultTiling(shape);
  TiledAttr tiling = wantedHeads.columnsFor(root->getResult(0), rows);
  if (tiling.getColumns() == ColumnPlacement::Balanced && heads && allHeads)
    tiling = rows.withColumns(ColumnPlacement::Heads, heads.getHeadSize());
  return ElementwiseGroup(*this, root->getResult(0), shape, tiling, root)
      .build();
}

//===----------------------------------------------------------------------===//
// Outputs
//===----------------------------------------------------------------------===//

void Selector::storeOutput(OpOperand &output, StringRef name) {
  Value value = beforeFloatCasts(output.get());
  Operation *producer = value.getDefiningOp();
  Operation *user = producer ? producer : output.getOwner();
  auto type = cast<RankedTensorType>(output.get().getType());
  std::optional<HostView> host;
  if (hostValues.contains(value))
    host = hostValues.view(value);
  // All elements of an input or a constant, in order: nothing has to move.
  if (host && !host->tensor && host->isWhole() &&
      host->storedType() == type.getElementType()) {
    host->view = View::dense(shapeOf(value));
    wse::AliasOp::create(kernels, user->getLoc(), kernels.getStringAttr(name),
                         host->source(), TypeAttr::get(type));
    return;
  }
  Value tensor = onWafer(value, user);
  if (!tensor)
    return;
  create<wse::StoreOp>(user, nodesOf(user), tensor, kernels.getStringAttr(name),
                       kernels.getI64IntegerAttr(0), DenseI64ArrayAttr(),
                       TypeAttr::get(type));
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace wsec::select {
#define GEN_PASS_DEF_SELECTKERNELSPASS
#include "compiler/select/Passes.h.inc"
} // namespace wsec::select

namespace {
struct SelectKernelsPass
    : select::impl::SelectKernelsPassBase<SelectKernelsPass> {
  using SelectKernelsPassBase::SelectKernelsPassBase;

  FailureOr<Machine> readTarget(Operation *op) {
    std::string error;
    std::optional<Machine> read = readMachine(machine, error);
    if (!read)
      return op->emitError() << error;
    if (mesh.empty())
      return *read;
    std::optional<std::pair<int, int>> extents = parseMesh(mesh);
    if (!extents)
      return op->emitError()
             << "mesh '" << mesh << "' is not columns x rows, such as 8x8";
    if (std::optional<std::string> problem =
            read->setMesh(extents->first, extents->second))
      return op->emitError() << *problem;
    return *read;
  }

  /// The shapes that the option asks for, of regions side by side if there are
  /// several; none: to be chosen.
  FailureOr<SmallVector<RegionShape>> readRegions(Operation *op,
                                                  const Machine &target) {
    SmallVector<StringRef> texts;
    StringRef(region).split(texts, ',', -1, /*KeepEmpty=*/false);
    SmallVector<RegionShape> shapes;
    for (StringRef text : texts) {
      std::optional<std::pair<int, int>> extents = parseMesh(text.str());
      if (!extents)
        return op->emitError()
               << "region '" << text << "' is not columns x rows, such as 8x8";
      if (extents->first > target.width || extents->second > target.height)
        return op->emitError() << "region " << text << " does not fit the mesh "
                               << "of " << target.width << "x" << target.height;
      shapes.push_back({extents->first, extents->second});
    }
    return shapes;
  }

  /// The program with all kernels on a region of that shape; null if some
  /// operator has no kernel.
  wse::ProgramOp select(func::FuncOp main, const Machine &target,
                        RegionShape shape) {
    OpBuilder builder(main);
    auto program = wse::ProgramOp::create(
        builder, main.getLoc(), "main", wse::State::Selected,
        {target.width, target.height}, describeMachine(target), IntegerAttr(),
        StringAttr());
    auto body = OpBuilder::atBlockEnd(&program.getBody().emplaceBlock());
    auto region = wse::RegionOp::create(body, main.getLoc(), regionName(main),
                                        {shape.columns, shape.rows},
                                        IntegerAttr(), IntegerAttr());
    if (succeeded(Selector(main, program, region).run()))
      return program;
    program.erase();
    return {};
  }

  /// Puts the kernels on several regions, if that is asked for or pays.
  bool spread(wse::ProgramOp program, double cyclesOfOne) {
    if (stages > 1 &&
        spreadOverStages(program, size_t(stages),
                         whereFaster
                             ? cyclesOfOne
                             : std::numeric_limits<double>::infinity()))
      return true;
    auto parts = oneRegion ? std::nullopt
                           : chooseSideBySide(program, cyclesOfOne);
    if (parts)
      spreadOverRegions(program, *parts);
    return parts.has_value();
  }

  /// Inputs are symbols, too, and keep their names.
  static std::string regionName(func::FuncOp main) {
    std::string name = "r";
    while (llvm::any_of(main.getArguments(), [&](BlockArgument input) {
      return inputName(input) == name;
    }))
      name += "_";
    return name;
  }

  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto main = module.lookupSymbol<func::FuncOp>("main");
    if (!main) {
      module.emitError("has no function @main to select kernels for");
      return signalPassFailure();
    }
    FailureOr<Machine> target = readTarget(module);
    if (failed(target))
      return signalPassFailure();
    RegionShape whole{target->width, target->height};
    FailureOr<SmallVector<RegionShape>> shapes = readRegions(module, *target);
    if (failed(shapes))
      return signalPassFailure();
    RegionShape shape = shapes->size() == 1 ? shapes->front() : whole;
    wse::ProgramOp program = select(main, *target, shape);
    if (!program)
      return signalPassFailure();
    if (shapes->size() > 1) {
      FailureOr<SideBySide> parts = sideBySideOn(program, *shapes);
      if (failed(parts))
        return signalPassFailure();
      spreadOverRegions(program, *parts);
      chooseVariants(program, littleScratch);
      main.erase();
      return;
    }
    if (shapes->empty()) {
      RegionChoice choice = chooseRegion(program);
      module->setAttr(wse::candidatesAttrName, choice.candidates);
      if (spread(program, choice.cycles)) {
        chooseVariants(program, littleScratch);
        main.erase();
        return;
      }
      shape = choice.shape;
      if (shape.columns != whole.columns || shape.rows != whole.rows) {
        program.erase();
        program = select(main, *target, shape);
      }
    } else {
      shape = chooseHeads(program, shape);
    }
    spreadHeads(program, shape);
    chooseVariants(program, littleScratch);
    main.erase();
  }
};
} // namespace
