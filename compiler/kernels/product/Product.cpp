// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/kernels/product/Product.h"
#include "compiler/kernels/elementwise/TopK.h"

#include "compiler/machine/Tiling.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/TypeUtilities.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace wsec;

Match wsec::matchProduct(Operation *op, bool sparse) {
  if (!isa<onnx::MatMulOp, onnx::BatchMatMulOp, onnx::ExpertsOp>(op) ||
      sparse != op->hasAttr(wse::sparsityAttrName))
    return {};
  if (elementOnWafer(op->getResult(0)).isInteger())
    return Match::refused("multiplies matrices of integers, which f32 does not "
                          "hold exactly; cast to float first");
  return Match::when(true);
}

bool wsec::sumsFeatures(onnx::ReduceOp op) {
  const int64_t last = int64_t(shapeOf(op.getX()).size()) - 1;
  return op.getAxes() == ArrayRef<int64_t>(last) &&
         op.getKind() != onnx::ReduceKind::Max &&
         !elementOnWafer(op.getX()).isInteger() &&
         (op.getKeepdims() || onlyLeavesWafer(op));
}

SmallVector<OpOperand *> wsec::onlyOutputs(Value value) {
  SmallVector<OpOperand *> outputs;
  SmallVector<Value> aliases = {value};
  for (size_t next = 0; next < aliases.size(); ++next)
    for (OpOperand &use : aliases[next].getUses()) {
      if (isa<onnx::ReshapeOp>(use.getOwner()) || isFloatCast(use.getOwner()))
        aliases.push_back(use.getOwner()->getResult(0));
      else if (leavesWafer(use.getOwner()))
        outputs.push_back(&use);
      else
        return {};
    }
  return outputs;
}

/// As many pieces of `features`, or up to twice as many where they are then
/// alike, and have as many features for each of `rows`: these share their code,
/// and weights may stay.
static int64_t evenPieces(int64_t features, int64_t pieces, int64_t rows) {
  for (int64_t each : {rows, int64_t(1)})
    for (int64_t count = pieces; pieces > 1 && count <= 2 * pieces; ++count)
      if (features % (count * each) == 0)
        return count;
  return pieces;
}

/// So many pieces of a product that each is like another product of the entry,
/// and at least so many; 0: there are none.
static int64_t piecesLikeAnother(onnx::MatMulOp op, int64_t features,
                                 int64_t least) {
  int64_t fewest = 0;
  const int64_t depth = shapeOf(op.getWeight()).front();
  for (auto other : op->getBlock()->getOps<onnx::MatMulOp>()) {
    const ArrayRef<int64_t> shape = shapeOf(other.getWeight());
    if (other == op || shape.size() != 2 || shape[0] != depth ||
        features % shape[1] != 0 || other.getBias() || op.getBias())
      continue;
    const int64_t pieces = features / shape[1];
    if (pieces >= least && (!fewest || pieces < fewest))
      fewest = pieces;
  }
  return fewest;
}

/// At least so many pieces, in which the product takes fewest cycles, with
/// looking for the `best` of each and then of what these give. But for what has
/// no room otherwise there are no more such candidates than features of a
/// piece.
static int64_t fastestPieces(int64_t features, int64_t least, onnx::TopKOp best,
                             Selection &selection,
                             function_ref<Value(int64_t pieces)> makeFirst) {
  int64_t most = 32;
  if (best)
    most = std::min(
        most, int64_t(std::sqrt(double(features) /
                                double(shapeOf(best.getIndices()).back()))));
  const int64_t rows = selection.machine().height;
  int64_t fastest = 0;
  std::pair<int64_t, double> taken;
  for (int64_t count = least;
       count <= std::min(features, std::max(least, most)); count *= 2) {
    const int64_t pieces = evenPieces(features, count, rows);
    Value first = makeFirst(pieces);
    auto [missing, cycles] = selection.cheapest(first.getDefiningOp());
    cycles *= double(pieces);
    if (best) {
      auto [itsMissing, its] = BestOfPieces::lookingIn(first, best, selection);
      missing = std::max(missing, itsMissing);
      cycles += its * double(pieces > 1 ? pieces + 1 : 1);
    }
    first.getDefiningOp()->erase();
    if (std::pair now(missing, cycles); !fastest || now < taken) {
      fastest = pieces;
      taken = now;
    }
  }
  return fastest;
}

/// A result that goes nowhere but out of the wafer, or of which only the best
/// features are looked for, need not be there at once: if it is too large, or
/// faster so, features are made piece by piece. False if not.
static bool leaveInPieces(onnx::MatMulOp op, const Kernel &kernel,
                          Selection &selection, Value input,
                          wse::WeightAttr weight, wse::WeightAttr bias,
                          MakeProduct make) {
  SmallVector<OpOperand *> outputs = onlyOutputs(op.getY());
  onnx::TopKOp best = onlyTopK(op.getY());
  if (outputs.empty() && !best)
    return false;
  const Machine &machine = selection.machine();
  int64_t features = weight.getType().getDimSize(1);
  wse::TokenTiling tiling =
      tilingOf(input).withColumns(wse::ColumnPlacement::Balanced);
  int64_t room = selection.roomForOutput(input);
  const int64_t bytes =
      wse::elementBytes(selection.tensorType(tiling, features)) +
      (best ? BestOfPieces::bytesPerFeature : 0);
  const int64_t elements =
      wse::DistAttr::of(selection.tensorType(tiling, features))
          .elementsPerPE({tiling.getBatch(), tiling.getTokens(), features},
                         machine.width, machine.height);
  int64_t pieces = 1;
  if ((room > 0 || !best) && elements * bytes > room) {
    int64_t bytesPerFeature = bytes * tiling.tokensPerRowMax(machine.height);
    int64_t perColumn = std::max<int64_t>(1, room / bytesPerFeature);
    pieces = tileSizeMax(features, perColumn * machine.width);
  }
  if (!kernel.leavesInPieces()) {
    if (pieces == 1 || best)
      return false;
    selection.refuse(op, "its result leaves in " + Twine(pieces) +
                             " pieces, of which the weights are streamed "
                             "dense; let no sparsity filter name it, or use a "
                             "larger mesh");
    return true;
  }
  auto makePiece = [&](int64_t pieces, int64_t piece) {
    const int64_t start = tileStart(features, pieces, piece);
    const int64_t size = tileSize(features, pieces, piece);
    return make(input, weight.slice(1, start, size),
                bias ? bias.slice(0, start, size) : bias, tiling, {});
  };
  // A token alone waits for little but weights. Of an input in columns of heads
  // a product may want another one.
  if ((best || tiling.getTokens() == 1) &&
      tilingOf(input).getColumns() != wse::ColumnPlacement::Heads)
    pieces =
        fastestPieces(features, pieces, best, selection,
                      [&](int64_t pieces) { return makePiece(pieces, 0); });
  // Where its result has but a small part of the room that it would take, room
  // for code is short, too.
  if (pieces > 1 && elements * bytes > 8 * room)
    if (const int64_t alike = piecesLikeAnother(op, features, pieces);
        alike && alike <= 2 * pieces)
      pieces = alike;
  const int64_t looked = best ? shapeOf(best.getIndices()).back() : 1;
  pieces = std::min(pieces, std::max<int64_t>(1, features / looked));
  if (pieces == 1)
    return false;
  if (best && features > BestOfPieces::mostFeatures) {
    selection.refuse(op, "looks for the best of " + Twine(features) +
                             " features, which are made in " + Twine(pieces) +
                             " pieces, expected at most " +
                             Twine(BestOfPieces::mostFeatures) +
                             "; take fewer, or a larger mesh");
    return true;
  }
  std::optional<BestOfPieces> found;
  if (best)
    found.emplace(best, selection, tiling, pieces);
  for (int64_t piece = 0; piece < pieces; ++piece) {
    const int64_t start = tileStart(features, pieces, piece);
    Value result = makePiece(pieces, piece);
    for (OpOperand *output : outputs)
      selection.storePiece(result, *output, start, op);
    if (found)
      found->add(result, start);
  }
  if (found)
    found->finish();
  return true;
}

static Value build(onnx::MatMulOp op, const Kernel &kernel,
                   Selection &selection, MakeProduct make) {
  wse::WeightAttr weight = selection.asWeight(op.getWeight(), op), bias;
  if (!weight ||
      (op.getBias() && !(bias = selection.asWeight(op.getBias(), op))))
    return {};
  Value input = selection.onWafer(op.getX(), op);
  if (!input || leaveInPieces(op, kernel, selection, input, weight, bias, make))
    return {};
  return make(input, weight, bias,
              selection.heads().columnsFor(op.getY(), tilingOf(input)), {});
}

/// Each row by the weights of the expert that it has chosen: of one row they
/// stream alone.
static Value build(onnx::ExpertsOp op, Selection &selection, MakeProduct make) {
  wse::WeightAttr all = selection.asWeight(op.getWeight(), op);
  Value input = selection.onWafer(op.getX(), op);
  if (!all || !input || !selection.toStore(op.getIds(), op) ||
      (shapeOf(op.getIds())[0] > 1 &&
       !selection.host().trace(op.getIds())->view.isContiguous() &&
       !selection.toStoreInOrder(op.getIds(), op)))
    return {};
  const RankedTensorType type = all.getType();
  const SmallVector<int64_t> strides = all.viewStrides();
  auto first = wse::WeightAttr::of(
      all.getTensor(),
      RankedTensorType::get(type.getShape().drop_front(),
                            type.getElementType()),
      all.getViewOffset(), ArrayRef<int64_t>(strides).drop_front());
  wse::WeightAttr id = selection.weight(*selection.host().trace(op.getIds()));
  Value result = make(input, first, {},
                      selection.heads().columnsFor(op.getY(), tilingOf(input)),
                      wse::EntryAttr::get(op.getContext(), id.getTensor(),
                                          id.getViewOffset(),
                                          type.getDimSize(0), strides.front()));
  if (std::isinf(selection.cheapest(result.getDefiningOp()).second)) {
    const ArrayRef<int64_t> shape = shapeOf(op.getX());
    selection.refuse(op, "multiplies " + Twine(shape[0]) + " rows of " +
                             Twine(shape[1]) +
                             " features by an expert of each, for which PEs "
                             "have no room; give fewer tokens, or a larger "
                             "mesh");
    return {};
  }
  return result;
}

/// Words of SRAM that matrices of a row may take.
static constexpr int64_t matrixWords = 4096;

/// A product with a matrix for each of many indices, as its dimensions ask of
/// the wafer.
struct ManyMatrices {
  ArrayRef<int64_t> leading; // dimensions of these indices
  int64_t rows, depth;       // of a left matrix
  int64_t own;               // most result features of a PE
  int64_t elementBytes;
};

/// How it is taken apart: by its leading dimensions, of each of whose indices
/// the result goes to the store, and into a sum over parts of its depth.
struct Apart {
  size_t dims = 0;
  int64_t depths = 1;
};

/// Whether rows keep their matrices in few words, the left operand, the result
/// and its sums take half of the SRAM at most, and so do so many matrices and a
/// left row: a quarter in parts of the depth, which may as well be smaller.
static bool fits(const ManyMatrices &product, Apart apart,
                 const Machine &machine) {
  const int64_t matrices =
      ShapedType::getNumElements(product.leading.drop_front(apart.dims));
  const int64_t depth = tileSizeMax(product.depth, apart.depths);
  const int64_t kept =
      std::min(matrices, tileSizeMax(matrices, machine.height) + 1);
  const int64_t words = kept * depth * product.own;
  const int64_t bytes = // of a token in a PE
      product.elementBytes * (tileSizeMax(depth, machine.width) + product.own) +
      (product.elementBytes < 4 ? 4 * product.own : 0);
  const int64_t most = machine.usableBytes() / 2;
  return (kept == 1 ||
          (words <= matrixWords &&
           (words + depth) * 4 <= most / (apart.depths > 1 ? 2 : 1))) &&
         tileSizeMax(matrices * product.rows, machine.height) * bytes <= most;
}

/// The way of fewest launches of those that fit, or matrix by matrix.
static Apart takeApart(const ManyMatrices &product, const Machine &machine) {
  Apart best{product.leading.size(), 1};
  int64_t fewest = std::numeric_limits<int64_t>::max();
  for (size_t dims = 0; dims <= product.leading.size(); ++dims) {
    const int64_t results =
        ShapedType::getNumElements(product.leading.take_front(dims));
    for (int64_t least = 1; least <= product.depth; ++least) {
      const Apart apart = {dims, evenPieces(product.depth, least, 1)};
      // A load and a product of each part, a sum of several, and a store.
      const int64_t launches =
          results * (2 * apart.depths + (apart.depths > 1) + (dims > 0));
      if (launches >= fewest)
        break;
      if (!fits(product, apart, machine))
        continue;
      best = apart;
      fewest = launches;
    }
  }
  return best;
}

/// The sum of tensors that lie alike, in order.
static Value sumOf(ArrayRef<Value> terms, Operation *op, Selection &selection) {
  if (terms.size() == 1)
    return terms.front();
  return selection.elementwise(op, terms.front().getType(), terms, {},
                               [&](OpBuilder &body, ValueRange elements) {
                                 Value sum = elements.front();
                                 for (Value next : elements.drop_front())
                                   sum = arith::AddFOp::create(
                                       body, op->getLoc(), sum, next);
                                 return sum;
                               });
}

/// The right matrices stream from the store: one for all tokens, or one for the
/// rows of each left matrix.
static Value build(onnx::BatchMatMulOp op, Selection &selection,
                   MakeProduct make) {
  ArrayRef<int64_t> shape = shapeOf(op.getY()), leading = shape.drop_back(2);
  const int64_t depth = shapeOf(op.getA()).back(), columns = shape.back();
  const int64_t rows = shape[shape.size() - 2];
  auto under = [](ArrayRef<int64_t> leading, int64_t m, int64_t n) {
    SmallVector<int64_t> extents(leading);
    extents.append({m, n});
    return extents;
  };
  // The selection leaves it to products what becomes of a transposed operand.
  const Value a = op.getA();
  if (!selection.alreadyOnWafer(a) && !selection.host().contains(a) &&
      !selection.toStore(a, op))
    return {};
  if (!selection.toStore(op.getB(), op))
    return {};
  auto expanded = [&](Value value, ArrayRef<int64_t> extents) {
    values::TracedView traced = *selection.host().trace(value);
    traced.view = traced.view.expanded(extents);
    return traced;
  };
  auto multiply = [&](Value input, const values::TracedView &right) {
    return make(input, selection.weight(right), {},
                selection.heads().columnsFor(op.getY(), tilingOf(input)), {});
  };
  values::TracedView right = *selection.host().trace(op.getB());
  if (ShapedType::getNumElements(shapeOf(op.getB())) == depth * columns) {
    right.view = *right.view.reshaped({depth, columns});
    Value input = selection.onWafer(op.getA(), op);
    return input ? multiply(input, right) : Value();
  }
  const SmallVector<int64_t> extents = under(leading, depth, columns);
  constexpr size_t mostWalked = 4; // by a stream, the features among them
  right = expanded(op.getB(), extents);
  if (right.view.atoms(0, extents.size() - 1).size() >= mostWalked) {
    if (!selection.toStoreInOrder(op.getB(), op))
      return {};
    right = expanded(op.getB(), extents);
  }
  const Machine &machine = selection.machine();
  const ManyMatrices product{leading, rows, depth,
                             tileSizeMax(columns, machine.width),
                             wse::elementBytes(selection.tensorType(
                                 selection.defaultTiling(shape), columns))};
  const Apart apart = takeApart(product, machine);
  const bool isWhole = ShapedType::getNumElements(shapeOf(op.getA())) ==
                       ShapedType::getNumElements(leading) * rows * depth;
  // The tokens of the result, in its order.
  if (apart.dims == 0 && apart.depths == 1 && isWhole) {
    Value input = selection.onWafer(op.getA(), op);
    return input ? multiply(input, right) : Value();
  }
  if (!selection.toStore(op.getA(), op))
    return {};
  const values::TracedView left =
      expanded(op.getA(), under(leading, rows, depth));
  const ArrayRef<int64_t> inner = leading.drop_front(apart.dims);
  // Of index number `index` of the dimensions that it is taken apart by, part
  // number `part` of its depth, which is dimension `d` from the end.
  auto partOf = [&](values::TracedView its, int64_t index, size_t d,
                    int64_t part) {
    for (size_t dim = apart.dims; dim-- > 0; index /= leading[dim])
      its.view = *its.view.sliced(dim, index % leading[dim], 1, 1);
    its.view = *its.view.sliced(leading.size() + 2 - d,
                                tileStart(depth, apart.depths, part),
                                tileSize(depth, apart.depths, part), 1);
    const values::Shape extents = its.view.shape();
    its.view = *its.view.reshaped(
        under(inner, extents[leading.size()], extents.back()));
    return its;
  };
  auto productOf = [&](int64_t index) {
    SmallVector<Value> products;
    for (int64_t part = 0; part < apart.depths; ++part) {
      values::TracedView its = partOf(left, index, 1, part);
      if (inner.empty())
        its.view = *its.view.reshaped({1, rows, its.view.shape().back()});
      products.push_back(multiply(
          selection.load(selection.weight(its),
                         selection.defaultTiling(its.view.shape()), op),
          partOf(right, index, 2, part)));
    }
    return sumOf(products, op, selection);
  };
  if (apart.dims == 0)
    return productOf(0);
  wse::IntermediateOp into = selection.declare(shape, op.getY(), op);
  const int64_t results =
      ShapedType::getNumElements(leading.take_front(apart.dims));
  const int64_t step = ShapedType::getNumElements(inner) * rows * columns;
  for (int64_t index = 0; index < results; ++index) {
    Value result = productOf(index);
    selection.store(result, into, index * step,
                    {tilingOf(result).getTokens() * columns, columns, 1}, op);
  }
  selection.provide(op.getY(), into);
  return {};
}

/// Ones, or what makes a mean of a sum.
static wse::WeightAttr columnOfOnes(onnx::ReduceOp op, int64_t features,
                                    Selection &selection) {
  Builder builder(op.getContext());
  const bool isMean = op.getKind() == onnx::ReduceKind::Mean;
  auto type = RankedTensorType::get({features, 1}, builder.getF32Type());
  auto ones =
      DenseElementsAttr::get(type, isMean ? 1.0f / float(features) : 1.0f);
  return wse::WeightAttr::get(op.getContext(),
                              selection.parameterOf(ones, isMean ? "1/n" : "1"),
                              type, 0, {});
}

static Value build(onnx::ReduceOp op, Selection &selection, MakeProduct make) {
  Value input = selection.onWafer(op.getX(), op);
  if (!input)
    return {};
  return make(input, columnOfOnes(op, wse::featuresOf(input), selection), {},
              tilingOf(input).withColumns(wse::ColumnPlacement::Balanced), {});
}

Value wsec::buildProduct(Operation *op, const Kernel &kernel,
                         Selection &selection, MakeProduct make) {
  if (auto matmul = dyn_cast<onnx::MatMulOp>(op))
    return build(matmul, kernel, selection, make);
  if (auto reduce = dyn_cast<onnx::ReduceOp>(op))
    return build(reduce, selection, make);
  if (auto experts = dyn_cast<onnx::ExpertsOp>(op))
    return build(experts, selection, make);
  return build(cast<onnx::BatchMatMulOp>(op), selection, make);
}
