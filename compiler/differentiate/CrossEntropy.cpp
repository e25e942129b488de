// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// With z the logits of a token, c its label and y its row of a matrix that has
// 1 at c and 0 elsewhere:
//
//   -log p[c] = log(sum exp z) - z[c]        dz = p - y
//
// Nobody looks rows up: labels are compared with the number of each class.
// Where none is equal no logit is taken, and the loss is infinite.
//
// With p = softmax(z), of all classes or of a tile, z - log p is the logarithm
// of the sum of exponentials, whatever class it is of: so it is the sum of
// p (z - log p), and no largest logit is looked for.
#include "compiler/differentiate/CrossEntropy.h"
#include <limits>

using namespace mlir;
using namespace wsec;
using namespace wsec::differentiate;
using namespace wsec::values;
using onnx::LossReduction;
using onnx::ReduceKind;

namespace {
/// What forward and backward need of each token, as [..., 1], and of each of
/// its classes.
struct Tokens {
  Tokens(onnx::CrossEntropyOp op, FoldingBuilder &n);

  double classes, smoothing;
  Term logits, labels, isLabel;
  std::optional<Term> counts;          ///< is not ignored; none: all are not
  std::optional<Term> weights, weight; ///< of classes, and of the label's

  Term orZero(Term x) { return counts ? where(*counts, x, x.all(0)) : x; }
  /// What the sum of losses is divided by.
  Term divisor();
  /// The gradient of each token's loss, given that of all.
  Term ofEach(Value dy);

  onnx::LossReduction reduction;
};
} // namespace

static Term labelsOf(onnx::CrossEntropyOp op, FoldingBuilder &n) {
  Shape shape(shapeOf(op.getLabels()));
  shape.push_back(1);
  return {n, n.reshape(op.getLabels(), shape)};
}

/// The number of each of so many classes.
static Term classesLike(Term labels, int64_t count, int64_t start = 0) {
  Tensor numbers(*elementTypeOf(typeOf(labels.value).getElementType()),
                 {count});
  for (int64_t i = 0; i < count; ++i)
    numbers.setInt(i, start + i);
  return {labels.n,
          materialize(labels.n.builder(), labels.n.loc(), std::move(numbers))};
}

Tokens::Tokens(onnx::CrossEntropyOp op, FoldingBuilder &n)
    : classes(double(shapeOf(op.getLogits()).back())),
      smoothing(op.getLabelSmoothing().convertToDouble()),
      logits(n, op.getLogits()), labels(labelsOf(op, n)),
      isLabel(labels == classesLike(labels, int64_t(classes))),
      reduction(op.getReduction()) {
  if (auto ignored = op.getIgnoreIndex())
    counts = !(labels == double(int64_t(*ignored)));
  if (!op.getWeights())
    return;
  weights = Term{n, op.getWeights()};
  weight = along(where(isLabel, *weights, weights->all(0)), ReduceKind::Sum);
}

Term Tokens::divisor() {
  FoldingBuilder &n = labels.n;
  Term share = weight ? *weight : Term{n, n.filled(shapeOf(labels.value), 1)};
  return {n, n.sumTo(orZero(share).value, {})};
}

Term Tokens::ofEach(Value dy) {
  FoldingBuilder &n = labels.n;
  if (reduction == LossReduction::None)
    dy = n.reshape(dy, shapeOf(labels.value));
  Term each{n, dy};
  return reduction == LossReduction::Mean ? each / divisor() : each;
}

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

/// What a value is another shape of, with the same classes; if only these
/// reshapes read it.
static Value withoutReshapes(Value logits) {
  const int64_t classes = shapeOf(logits).back();
  while (auto reshape = logits.getDefiningOp<onnx::ReshapeOp>()) {
    Value of = reshape.getX();
    if (shapeOf(of).empty() || shapeOf(of).back() != classes || !of.hasOneUse())
      break;
    logits = of;
  }
  return logits;
}

std::optional<Head> Head::of(onnx::CrossEntropyOp loss, int64_t mostLogits) {
  auto product =
      withoutReshapes(loss.getLogits()).getDefiningOp<onnx::MatMulOp>();
  auto isConstant = [](Value x) {
    return !x || x.getDefiningOp<onnx::ConstantOp>();
  };
  if (!product || mostLogits <= 0 || !loss.getLogits().hasOneUse() ||
      !product.getY().hasOneUse() || loss.getNormalized() ||
      loss.getWeights() || !loss.getLabelSmoothing().isZero() ||
      !isConstant(product.getWeight()) || !isConstant(product.getBias()))
    return std::nullopt;
  const int64_t classes = shapeOf(loss.getLogits()).back();
  const int64_t tokens = numElements(shapeOf(loss.getLogits())) / classes;
  // The gradient of a tile's weight may take three times as much.
  const int64_t rows =
      std::max({int64_t(1), tokens, shapeOf(product.getWeight()).front() / 3});
  const int64_t least =
      llvm::divideCeil(classes, std::max<int64_t>(1, mostLogits / rows));
  if (least <= 1)
    return std::nullopt;
  return Head{loss, product, evenParts(classes, least)};
}

namespace {
/// Some classes of a head.
struct Tile {
  int64_t start, size;
  Value weight, bias;
  Term isLabel;

  Term logits(Value x) const {
    return {isLabel.n, isLabel.n.matmul(x, weight, bias)};
  }
};

/// Of all classes of each token, as [..., 1].
struct Sums {
  Term total;  ///< the logarithm of the sum of all exponentials
  Term picked; ///< the logit of the label
};
} // namespace

/// What goes from tile to tile does so by the store: all tiles read it alike,
/// and share their code.
static Term kept(Term x) {
  return {x.n, onnx::KeepOp::create(x.n.builder(), x.n.loc(), x.value,
                                    /*on_wafer=*/false, x.n.nameAttr())};
}

static void eachTile(const Head &head, Term labels,
                     llvm::function_ref<void(const Tile &)> use) {
  FoldingBuilder &n = labels.n;
  onnx::MatMulOp product = head.product;
  const int64_t classes = shapeOf(product.getWeight()).back();
  const int64_t each = llvm::divideCeil(classes, head.tiles);
  for (int64_t index = 0; index < head.tiles; ++index) {
    const int64_t start = index * each, size = std::min(each, classes - start);
    Value bias = product.getBias();
    use({start, size, n.sliceLast(product.getWeight(), start, size),
         bias ? n.sliceLast(bias, start, size) : bias,
         labels == classesLike(labels, size, start)});
  }
}

/// What the product multiplies, a row for each label.
static Term rowsFor(Value x, Term labels) {
  Shape shape(shapeOf(labels.value));
  shape.back() = shapeOf(x).back();
  return {labels.n, labels.n.reshape(x, shape)};
}

constexpr double lowestLogit = std::numeric_limits<float>::lowest();

/// The logarithm of the sum of exponentials, less `base`, of logits whose
/// softmax is p.
static Term logOfSum(Term z, Term p, std::optional<Term> base = {}) {
  Term above = base ? z - *base : z;
  return along(where(p == 0, z.all(0), p * (above - log(p))), ReduceKind::Sum);
}

/// Of all at once, less the label's, so that a small loss is exact.
static Sums sumsOf(const Tokens &t) {
  Term z = t.logits, p{z.n, z.n.softmax(z.value)};
  Term picked = along(where(t.isLabel, z, z.all(0)), ReduceKind::Sum);
  Term base = max(picked, lowestLogit);
  return {base + logOfSum(z, p, base), picked};
}

static Sums sumsOf(const Head &head, Term labels) {
  onnx::MatMulOp product = head.product;
  const Term x = rowsFor(product.getX(), labels);
  std::optional<Sums> sums;
  eachTile(head, labels, [&](const Tile &tile) {
    // A tile may have infinities alone.
    Term own = tile.logits(x.value), z = max(own, lowestLogit);
    Term p{z.n, z.n.softmax(z.value)};
    Term total = logOfSum(z, p);
    Term picked = along(where(tile.isLabel, own, z.all(0)), ReduceKind::Sum);
    if (sums) {
      Term before = kept(sums->total), most = max(before, total);
      total = most + log(exp(before - most) + exp(total - most));
      picked = kept(sums->picked) + picked;
    }
    sums.emplace(Sums{total, picked});
  });
  return *sums;
}

void wsec::differentiate::addTiledGradients(const Head &head, Value dyValue,
                                            Backward &n) {
  onnx::MatMulOp product = head.product;
  n.notes.push_back(
      "the " + std::to_string(shapeOf(product.getWeight()).back()) +
      " logits of a token are made in " + std::to_string(head.tiles) +
      " tiles, by the loss and again by its gradients");
  Tokens t(head.loss, n);
  const Term total = sumsOf(head, t.labels).total;
  const Term dy = t.orZero(t.ofEach(dyValue));
  const Term x = rowsFor(product.getX(), t.labels);
  std::optional<Term> dx;
  // What was made of `x`, and numbers of classes of the labels' type, would be
  // there since: these are others.
  const Term again = rowsFor(kept({n, product.getX()}).value, t.labels);
  const unsigned width = typeOf(t.labels.value).getElementTypeBitWidth();
  const Term labels{
      n, n.cast(t.labels.value, n.builder().getIntegerType(96 - width))};
  eachTile(head, labels, [&](const Tile &tile) {
    Term p = exp(tile.logits(again.value) - total);
    Term dz = where(tile.isLabel, p + -1, p) * dy;
    n.addPart(product.getWeight(), tile.weight, tile.start,
              n.batchMatmul(n.swapped(n.asRows(x.value)), n.asRows(dz.value)));
    if (tile.bias)
      n.addPart(product.getBias(), tile.bias, tile.start, dz.value);
    if (!n.wants(product.getX()))
      return;
    Term part{n, n.matmul(dz.value, n.swapped(tile.weight), nullptr)};
    dx.emplace(dx ? kept(*dx) + part : part);
  });
  if (dx)
    n.add(product.getX(), n.reshape(dx->value, shapeOf(product.getX())));
}

//===----------------------------------------------------------------------===//
// The loss, and what all logits get
//===----------------------------------------------------------------------===//

Value wsec::differentiate::composeLoss(onnx::CrossEntropyOp op,
                                       FoldingBuilder &n, int64_t mostLogits) {
  Tokens t(op, n);
  Term z = t.logits;
  constexpr double infinity = std::numeric_limits<double>::infinity();
  std::optional<Term> label, all;
  if (op.getNormalized()) {
    label = along(where(t.isLabel, z, z.all(-infinity)), ReduceKind::Max);
    all = z.all(0);
  } else {
    const std::optional<Head> head = Head::of(op, mostLogits);
    const Sums sums = head ? sumsOf(*head, t.labels) : sumsOf(t);
    Term isClass = t.labels < t.classes, none = sums.picked.all(-infinity);
    label = where(isClass, where(t.labels < 0.0, none, sums.picked), none);
    all = sums.total;
  }
  Term picked = *label, total = *all; // log of what all exp(z) sum up to
  Term loss = op.getNormalized() ? -picked : total - picked;
  if (t.weight)
    loss = loss * *t.weight;
  if (t.smoothing > 0) {
    Term each = t.weights ? total * Term{n, n.sumTo(t.weights->value, {})}
                          : total * t.classes;
    Term sum = along(t.weights ? z * *t.weights : z, ReduceKind::Sum);
    loss = loss * (1 - t.smoothing) + (each - sum) * (t.smoothing / t.classes);
  }
  loss = t.orZero(loss);
  if (op.getReduction() == LossReduction::None)
    return n.reshape(loss.value, shapeOf(op.getLoss()));
  Term sum{n, n.sumTo(loss.value, {})};
  return op.getReduction() == LossReduction::Mean ? (sum / t.divisor()).value
                                                  : sum.value;
}

Value wsec::differentiate::gradientOfLogits(onnx::CrossEntropyOp op,
                                            Value dyValue, FoldingBuilder &n) {
  Tokens t(op, n);
  Term z = t.logits, dy = t.ofEach(dyValue);
  std::optional<Term> p;
  if (!op.getNormalized())
    p = Term{n, n.softmax(z.value)};
  Term minusOne = p ? *p + -1 : z.all(-1), other = p ? *p : z.all(0);
  Term dz = where(t.isLabel, minusOne, other);
  if (t.weight)
    dz = dz * *t.weight;
  if (t.smoothing > 0) {
    Term w = t.weights ? *t.weights : z.all(1);
    Term all = t.weights ? Term{n, n.sumTo(w.value, {})} : z.all(t.classes);
    dz = dz * (1 - t.smoothing) +
         (p ? *p * all - w : -w) * (t.smoothing / t.classes);
  }
  return (dz * t.orZero(dy)).value;
}
