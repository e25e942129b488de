// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Experts by products of all rows with each expert's weights. Exporters repeat
// a token for each of the k experts that it chose, so that rows are T*k:
//
//   sum over k of weight [T, k] * f(experts(... experts(repeated x)))
//
// With the tokens themselves as rows that is, for each expert e,
//
//   sum += f(... x W[e] ...) * weight of e     where the token chose e
//
// E times T rows of work instead of E times T*k. Where rows are few (`areFew`)
// each is computed alone, by the weights that it has chosen: no others stream.
// Where PEs have room for it, or hold all (`stayRows`), rows stay: T*k of work.
#include "compiler/canonicalize/Passes.h"
#include "compiler/machine/EntryPasses.h"
#include "compiler/values/OperatorBuilder.h"
#include "compiler/values/ViewTracing.h"
#include "dialects/onnx/Experts.h"
#include "dialects/onnx/Lengths.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <cmath>
#include <limits>

namespace wsec::canonicalize {
#define GEN_PASS_DEF_EXPANDEXPERTS
#include "compiler/canonicalize/Passes.h.inc"
} // namespace wsec::canonicalize

using namespace wsec::canonicalize;
using onnx::BinaryKind;
using onnx::ReduceKind;

/// Entry `e` of the leading dimension of `stack`, which goes.
static Value entryOf(OperatorBuilder &n, Value stack, int64_t e) {
  Shape shape(shapeOf(stack).drop_front());
  std::optional<Fact> fact = factOf(stack);
  if (fact && fact->constant) {
    Fact entry = reindexed(*fact, [&](const StridedView &view) {
      std::optional<StridedView> part = view.sliced(0, e, 1, 1);
      return part ? part->reshaped(shape) : std::nullopt;
    });
    if (entry.constant)
      if (Value value = n.materialize(entry))
        return value;
  }
  Box box = wholeBox(stack);
  box.starts[0] = e;
  box.extents[0] = 1;
  return n.reshape(n.slice(stack, box), shape);
}

/// What `slice` takes of the last axis, of `x` in its place: columns of
/// weights, where `x` is a product.
static Value columnsOf(OperatorBuilder &n, Value x, onnx::SliceOp slice) {
  const int64_t start = slice.getStarts().back();
  const int64_t step = slice.getSteps().back();
  const int64_t size = shapeOf(slice.getY()).back();
  if (numElements(shapeOf(x)) == 1 || shapeOf(x).back() == 1)
    return x;
  if (isConstant(x)) {
    const size_t last = shapeOf(x).size() - 1;
    Fact part = reindexed(*factOf(x), [&](const StridedView &view) {
      return view.sliced(last, start, size, step);
    });
    if (part.constant)
      if (Value value = n.materialize(part))
        return value;
  }
  if (auto experts = x.getDefiningOp<onnx::ExpertsOp>())
    return onnx::ExpertsOp::create(
        n.builder(), n.loc(), withShape(x, {shapeOf(x)[0], size}),
        experts.getX(), experts.getIds(),
        columnsOf(n, experts.getWeight(), slice), n.nameAttr());
  if (auto lookup = x.getDefiningOp<onnx::GatherOp>();
      lookup && isConstant(lookup.getTable()))
    return onnx::GatherOp::create(
        n.builder(), n.loc(), withShape(x, {shapeOf(x)[0], size}),
        columnsOf(n, lookup.getTable(), slice), lookup.getIds(), n.nameAttr());
  if (auto product = x.getDefiningOp<onnx::MatMulOp>();
      product && !product.getBias())
    return n.matmul(product.getX(), columnsOf(n, product.getWeight(), slice),
                    Value());
  if (auto op = x.getDefiningOp<onnx::BinaryOp>())
    return n.binary(op.getKind(), columnsOf(n, op.getA(), slice),
                    columnsOf(n, op.getB(), slice));
  Box box = wholeBox(x);
  box.starts.back() = start;
  box.extents.back() = size;
  box.steps.back() = step;
  return n.slice(x, box);
}

/// A value without reshapes that change nothing in sum, or only the shape.
static Value flattened(Value value) {
  TracedView traced = traceLayout(value);
  return traced.view.isContiguous() && numElements(shapeOf(traced.root)) ==
                                           numElements(shapeOf(value))
             ? traced.root
             : value;
}

namespace {
/// A part of what is computed in `repeats` rows for each token, as if it were
/// all there is.
class Part {
public:
  Part(OperatorBuilder &n, int64_t tokens, int64_t repeats)
      : n(n), tokens(tokens), repeats(repeats), axes{tokens} {}
  virtual ~Part() = default;

  /// `value` of its rows; null if it is not known how.
  Value of(Value value);
  onnx::ExpertsOp chosenBy() { return experts; }
  /// Sizes of the axes along which tokens lie where they are repeated.
  const Shape &axesOfTokens() const { return axes; }

protected:
  virtual int64_t count() = 0; ///< of rows
  virtual Value product(Value x, onnx::ExpertsOp of) = 0;
  virtual Value found(onnx::GatherOp lookup) = 0;
  /// Of `all`, [tokens, size], which are repeated.
  virtual Value ofTokens(Value all) = 0;
  /// Of rows that are computed somehow.
  virtual Value ofAny(Value rows) = 0;

  OperatorBuilder &n;
  int64_t tokens, repeats;

private:
  Shape axes;

  Value make(Value value);
  Value ofConstant(Value value);
  Value ofRepeated(Value value);
  Value ofShared(Value value);
  bool areIds(Value ids) {
    return experts && flattened(ids) == flattened(experts.getIds());
  }

  onnx::ExpertsOp experts; // any: all have the same ids
  DenseMap<Value, Value> known;
};

/// What one expert makes of all tokens.
class OneExpert : public Part {
public:
  OneExpert(OperatorBuilder &n, int64_t tokens, int64_t repeats, int64_t number)
      : Part(n, tokens, repeats), number(number) {}

private:
  int64_t count() final { return tokens; }
  Value product(Value x, onnx::ExpertsOp of) final {
    return n.matmul(x, entryOf(n, of.getWeight(), number), Value());
  }
  Value found(onnx::GatherOp lookup) final {
    return entryOf(n, lookup.getTable(), number);
  }
  Value ofTokens(Value all) final { return all; }
  /// Of tokens with one expert each, whatever it is, the row is the token's.
  Value ofAny(Value rows) final { return repeats == 1 ? rows : Value(); }

  int64_t number;
};

/// What one row is, by the expert that it has chosen.
class OneRow : public Part {
public:
  OneRow(OperatorBuilder &n, int64_t tokens, int64_t repeats, int64_t number)
      : Part(n, tokens, repeats), number(number) {}

private:
  int64_t count() final { return 1; }
  Value product(Value x, onnx::ExpertsOp of) final {
    return onnx::ExpertsOp::create(
        n.builder(), n.loc(), withShape(of.getY(), {1, shapeOf(of.getY())[1]}),
        x, row(of.getIds(), number), of.getWeight(), n.nameAttr());
  }
  Value found(onnx::GatherOp lookup) final {
    Value y = lookup.getY();
    return onnx::GatherOp::create(
        n.builder(), n.loc(), withShape(y, {1, shapeOf(y)[1]}),
        lookup.getTable(), row(lookup.getIds(), number), n.nameAttr());
  }
  Value ofTokens(Value all) final { return row(all, number / repeats); }
  Value ofAny(Value rows) final { return row(rows, number); }

  Value row(Value of, int64_t at) {
    Box box = wholeBox(of);
    box.starts[0] = at;
    box.extents[0] = 1;
    return shapeOf(of)[0] == 1 ? of : n.slice(of, box);
  }

  int64_t number;
};
} // namespace

Value Part::of(Value value) {
  if (auto found = known.find(value); found != known.end())
    return found->second;
  Value made = make(value);
  ArrayRef<int64_t> shape = shapeOf(value);
  if (!made && shape.size() == 2 && shape[0] == tokens * repeats)
    made = ofAny(value);
  known[value] = made;
  return made;
}

/// One number, or a vector along the last axis.
Value Part::ofConstant(Value value) {
  ArrayRef<int64_t> shape = shapeOf(value);
  const bool isVector = shape.empty() || numElements(shape.drop_back()) == 1;
  return isVector && shape.size() <= 2 ? value : Value();
}

/// Tokens that an exporter repeats, once for each expert that they chose.
Value Part::ofRepeated(Value value) {
  const int64_t size = shapeOf(value).back();
  TracedView traced = traceRepeated(value);
  if (numElements(shapeOf(traced.root)) != tokens * size)
    return {};
  auto once =
      StridedView::whole(shapeOf(traced.root)).reshaped({tokens, 1, size});
  auto expected = once ? once->expanded({tokens, repeats, size})
                             .reshaped({tokens * repeats, size})
                       : std::nullopt;
  if (!expected || expected->atoms(0, 1) != traced.view.atoms(0, 1) ||
      expected->atoms(1, 1) != traced.view.atoms(1, 1) ||
      traced.view.getOffset() != 0)
    return {};
  // Tokens lie along two axes at most.
  if (ArrayRef<int64_t> shape = shapeOf(traced.root);
      shape.back() == size && shape.size() <= 3)
    axes = Shape(shape.drop_back());
  return ofTokens(n.reshape(traced.root, {tokens, size}));
}

/// An operator that does the same to every row.
Value Part::ofShared(Value value) {
  Operation *op = value.getDefiningOp();
  if (auto slice = dyn_cast<onnx::SliceOp>(op)) {
    if (slice.getStarts()[0] != 0 || slice.getSteps()[0] != 1 ||
        shapeOf(slice.getX())[0] != tokens * repeats)
      return {};
    Value whole = of(slice.getX());
    return whole ? columnsOf(n, whole, slice) : Value();
  }
  if (!isa<onnx::UnaryOp, onnx::BinaryOp, onnx::WhereOp, onnx::CastOp>(op))
    return {};
  SmallVector<Value> operands;
  for (Value operand : op->getOperands()) {
    operands.push_back(of(operand));
    if (!operands.back())
      return {};
  }
  Operation *copy = n.builder().clone(*op);
  copy->setOperands(operands);
  copy->getResult(0).setType(
      withShape(value, {count(), shapeOf(value).back()}));
  return copy->getResult(0);
}

Value Part::make(Value value) {
  if (isConstant(value))
    return ofConstant(value);
  ArrayRef<int64_t> shape = shapeOf(value);
  if (shape.size() != 2 || shape[0] != tokens * repeats)
    return {};
  if (Value root = flattened(value); root != value && shapeOf(root) == shape)
    return of(root);
  if (auto op = value.getDefiningOp<onnx::ExpertsOp>()) {
    if (experts && !areIds(op.getIds()))
      return {};
    experts = op;
    Value x = of(op.getX());
    return x ? product(x, op) : Value();
  }
  if (Value token = repeats > 1 ? ofRepeated(value) : Value())
    return token;
  Operation *op = value.getDefiningOp();
  if (!op)
    return {};
  if (auto lookup = dyn_cast<onnx::GatherOp>(op))
    return isConstant(lookup.getTable()) && areIds(lookup.getIds())
               ? found(lookup)
               : Value();
  return ofShared(value);
}

namespace {
/// sum over axis 1 of weights [T*k, 1] * rows [T*k, H]
struct WeightedSum {
  Value weights, rows;
  int64_t tokens, repeats, size;
};
} // namespace

static std::optional<WeightedSum> weightedSum(onnx::ReduceOp op) {
  ArrayRef<int64_t> shape = shapeOf(op.getX());
  if (op.getKind() != ReduceKind::Sum || shape.size() != 3 ||
      op.getAxes() != ArrayRef<int64_t>(1))
    return std::nullopt;
  auto product = flattened(op.getX()).getDefiningOp<onnx::BinaryOp>();
  if (!product || product.getKind() != BinaryKind::Mul ||
      shapeOf(product.getY()).back() != shape[2])
    return std::nullopt;
  for (unsigned i : {0u, 1u}) {
    Value weights = product->getOperand(i), rows = product->getOperand(1 - i);
    if (shapeOf(weights).empty() || shapeOf(weights).back() != 1 ||
        shape[2] == 1 || numElements(shapeOf(weights)) != shape[0] * shape[1])
      continue;
    rows = flattened(rows);
    if (shapeOf(rows) == ArrayRef<int64_t>({shape[0] * shape[1], shape[2]}))
      return WeightedSum{flattened(weights), rows, shape[0], shape[1],
                         shape[2]};
  }
  return std::nullopt;
}

/// Can any expert's weights be taken, by numbers that are all right?
static bool canChoose(onnx::ExpertsOp op) {
  std::optional<Fact> weight = factOf(op.getWeight());
  return weight && weight->constant && !weight->constant->storage->quantized &&
         !weight->constant->storage->isTrainable &&
         arePlacesOfLargest(op.getIds(), shapeOf(op.getWeight())[0]);
}

using Mesh = ExpandExpertsOptions; // of no channels rows never stay

/// What found the numbers of experts.
static onnx::TopKOp choiceOf(onnx::ExpertsOp op) {
  Operation *choice = op.getIds().getDefiningOp();
  while (!isa<onnx::TopKOp>(choice))
    choice = choice->getOperand(0).getDefiningOp();
  return cast<onnx::TopKOp>(choice);
}

/// Are these rows so few that the weights that they choose are at most half of
/// all, though two rows choose the same? Of weights that stay, rows of a token
/// alone, which need not be brought together.
static bool areFew(onnx::ExpertsOp op, const Mesh &mesh) {
  const int64_t rows = shapeOf(op.getX())[0];
  return canChoose(op) && 2 * rows <= shapeOf(op.getWeight())[0] &&
         (!mesh.held || shapeOf(choiceOf(op).getIndices()).back() == rows);
}

/// Have PEs room for rows that take their own of all weights, and is it faster?
/// By cycles of a result feature: an element of a vector takes two, a vector
/// four elements more, a product some hundred; three use the store five times.
static bool stayRows(onnx::ExpertsOp op, const Mesh &mesh) {
  ArrayRef<int64_t> shape = shapeOf(op.getWeight());
  const int64_t experts = shape[0], inputs = shape[1], results = shape[2];
  const int64_t rows = shapeOf(op.getX())[0];
  if (mesh.columns < 2 || mesh.rows < 2 || mesh.channels == 0 || experts < 2 ||
      !canChoose(op) || (rows < 2 && !mesh.held))
    return false;
  const int64_t own = tileSizeMax(inputs, mesh.columns);
  if (mesh.held)
    return true;
  if (!EntryPasses::fits({rows, experts, inputs, results, mesh.columns,
                          mesh.channels, /*areColumnsEven=*/true, own,
                          tileSizeMax(results, mesh.columns)}))
    return false;
  const double tokens =
      double(rows) / double(shapeOf(choiceOf(op).getIndices()).back());
  const auto each = double(own), stream = double(experts * inputs);
  const double apart = std::max(stream, 2 * double(rows) * (each + 4) +
                                            stream / double(mesh.columns));
  const double multiplied = 2 * double(experts) * each;
  const double together = std::min(
      1.1 * stream + 0.6 * multiplied * tokens,
      std::max(1.1 * stream, 1.5 * multiplied * double(mesh.channels) *
                                 std::ceil(tokens / double(mesh.rows))));
  constexpr double product = 600;
  const double moves =
      5 * (double(mesh.latency + mesh.columns + mesh.rows) + product) / 3;
  const auto features = double(tileSizeMax(results, mesh.channels));
  return features * apart + product + moves <
         features * together + double(experts) * product;
}

namespace {
/// One of those of each token: columns of numbers and of weights.
struct Choice {
  Value id, weight;
};
} // namespace

/// A sum over all experts, of which the first makes `product`. Its axes are
/// those of the tokens, so that no expert's rows move.
static Value sumOfExperts(OperatorBuilder &n, const WeightedSum &sum,
                          OneExpert &first, Value product) {
  onnx::ExpertsOp chosen = first.chosenBy();
  Value zero = n.scalarLike(sum.weights, 0);
  Shape choices = first.axesOfTokens(), rows = choices;
  choices.push_back(sum.repeats);
  rows.push_back(sum.size);
  Value ids = n.reshape(flattened(chosen.getIds()), choices);
  Value weights = n.reshape(sum.weights, choices);
  SmallVector<Choice> all;
  for (int64_t i = 0; i < sum.repeats; ++i)
    all.push_back({n.sliceLast(ids, i, 1), n.sliceLast(weights, i, 1)});
  Value total = zero;
  for (int64_t e = 0; e < shapeOf(chosen.getWeight())[0]; ++e) {
    if (e > 0)
      product = OneExpert(n, sum.tokens, sum.repeats, e).of(sum.rows);
    Value isChosen, weight = zero;
    for (const Choice &choice : all) {
      Value here = n.equal(choice.id, double(e));
      isChosen = isChosen ? n.logicalOr(isChosen, here) : here;
      weight = n.where(here, n.add(weight, choice.weight), weight);
    }
    Value term = n.mul(n.reshape(product, rows), weight);
    Value added = e > 0 ? n.add(total, term) : term;
    total = n.where(isChosen, added, total);
  }
  return total;
}

/// A sum over the rows of each token.
static Value sumOfRows(OperatorBuilder &n, const WeightedSum &sum) {
  Value weights = n.reshape(sum.weights, {sum.tokens * sum.repeats, 1});
  SmallVector<Value> all;
  for (int64_t t = 0; t < sum.tokens; ++t) {
    Value total;
    for (int64_t i = t * sum.repeats; i < (t + 1) * sum.repeats; ++i) {
      OneRow row(n, sum.tokens, sum.repeats, i);
      Value term = n.mul(row.of(sum.rows), row.of(weights));
      total = total ? n.add(total, term) : term;
    }
    all.push_back(total);
  }
  return all.size() == 1 ? all.front() : n.concat(all, 0);
}

/// Whether the first dimensions of a shape are so many rows.
static bool hasRows(ArrayRef<int64_t> shape, int64_t rows) {
  int64_t count = 1;
  return llvm::any_of(shape,
                      [&](int64_t size) { return (count *= size) == rows; });
}

/// All whose rows make `rows`, one for one.
static SmallVector<onnx::ExpertsOp> expertsOf(Value rows) {
  SetVector<Operation *> makers;
  SmallVector<onnx::ExpertsOp> found;
  if (Operation *maker = rows.getDefiningOp())
    makers.insert(maker);
  for (size_t i = 0; i < makers.size(); ++i) {
    if (auto experts = dyn_cast<onnx::ExpertsOp>(makers[i]))
      found.push_back(experts);
    for (Value operand : makers[i]->getOperands())
      if (Operation *maker = operand.getDefiningOp();
          maker && hasRows(shapeOf(operand), shapeOf(rows)[0]))
        makers.insert(maker);
  }
  return found;
}

/// A sum over the rows of each token, of parts of all rows.
static Value sumOfParts(OperatorBuilder &n, const WeightedSum &sum,
                        const Shape &axes) {
  Shape choices = axes, size = axes;
  choices.push_back(sum.repeats);
  size.push_back(sum.size);
  Value rows = n.reshape(sum.rows, {sum.tokens, sum.repeats, sum.size});
  Value weights = n.reshape(sum.weights, choices), total;
  for (int64_t i = 0; i < sum.repeats; ++i) {
    Box box = wholeBox(rows);
    box.starts[1] = i;
    box.extents[1] = 1;
    Value term =
        n.mul(n.reshape(n.slice(rows, box), size), n.sliceLast(weights, i, 1));
    total = total ? n.add(total, term) : term;
  }
  return total;
}

/// Makes a sum over the experts that tokens chose one over all experts, or over
/// few rows.
static void expandSum(onnx::ReduceOp op, const Mesh &mesh) {
  std::optional<WeightedSum> sum = weightedSum(op);
  if (!sum)
    return;
  OperatorBuilder n(OpBuilder(op), op.getLoc(), op.getNodeAttr());
  OneExpert first(n, sum->tokens, sum->repeats, 0);
  Value product = first.of(sum->rows);
  onnx::ExpertsOp chosen = first.chosenBy();
  if (!product || !chosen ||
      !arePlacesOfLargest(chosen.getIds(), shapeOf(chosen.getWeight())[0]))
    return;
  auto stays = [&](onnx::ExpertsOp op) { return stayRows(op, mesh); };
  const bool areApart = llvm::all_of(expertsOf(sum->rows), stays);
  Value total = areFew(chosen, mesh) ? sumOfRows(n, *sum)
                : areApart           ? sumOfParts(n, *sum, first.axesOfTokens())
                                     : sumOfExperts(n, *sum, first, product);
  SmallVector<Operation *> replaced = neededOnlyBy(op);
  absorb(total.getDefiningOp(), replaced);
  op.getY().replaceAllUsesWith(n.reshape(total, shapeOf(op.getY())));
  for (Operation *dead : llvm::reverse(replaced))
    dead->erase();
}

static void expand(onnx::ExpertsOp op) {
  OperatorBuilder n(OpBuilder(op), op.getLoc(), op.getNodeAttr());
  Value x = op.getX();
  Value column = n.reshape(op.getIds(), {shapeOf(x)[0], 1});
  Value result = n.scalarLike(x, std::numeric_limits<double>::quiet_NaN());
  for (int64_t e = 0; e < shapeOf(op.getWeight())[0]; ++e) {
    Value product = n.matmul(x, entryOf(n, op.getWeight(), e), Value());
    Value here = n.equal(column, double(e));
    result = n.where(here, product, result);
  }
  absorb(result.getDefiningOp(), op.getOperation());
  op.getY().replaceAllUsesWith(result);
}

/// A product for each row, of all there are.
static void splitRows(onnx::ExpertsOp op) {
  const int64_t count = shapeOf(op.getX())[0];
  if (count == 1)
    return;
  OperatorBuilder n(OpBuilder(op), op.getLoc(), op.getNodeAttr());
  SmallVector<Value> rows;
  for (int64_t i = 0; i < count; ++i)
    rows.push_back(OneRow(n, count, 1, i).of(op.getY()));
  Value all = n.concat(rows, 0);
  absorb(all.getDefiningOp(), op.getOperation());
  op.getY().replaceAllUsesWith(all);
  op.erase();
}

/// Says of what tokens choose that they are numbers of experts.
static void markChoice(onnx::ExpertsOp op) {
  const int64_t experts = shapeOf(op.getWeight())[0];
  if (arePlacesOfLargest(op.getIds(), experts))
    choiceOf(op)->setAttr(onnx::expertsAttrName,
                          OpBuilder(op).getI64IntegerAttr(experts));
}

/// Makes columns of what experts make a product by these columns of weights.
static void narrow(onnx::SliceOp op) {
  Operation *maker = op.getX().getDefiningOp();
  auto experts = dyn_cast_or_null<onnx::ExpertsOp>(maker);
  for (unsigned i = 0; i < 2 && isa_and_nonnull<onnx::BinaryOp>(maker); ++i)
    if (auto its = maker->getOperand(i).getDefiningOp<onnx::ExpertsOp>())
      experts = its;
  if (!experts || !canChoose(experts) ||
      shapeOf(op.getX()) != shapeOf(experts.getY()) ||
      shapeOf(op.getY())[0] != shapeOf(op.getX())[0])
    return;
  OperatorBuilder n(OpBuilder(op), op.getLoc(), op.getNodeAttr());
  op.getY().replaceAllUsesWith(columnsOf(n, op.getX(), op));
  op.erase();
  if (maker != experts && maker->use_empty())
    maker->erase();
  if (experts->use_empty())
    experts->erase();
}

namespace {
struct ExpandExpertsPass
    : wsec::canonicalize::impl::ExpandExpertsBase<ExpandExpertsPass> {
  using ExpandExpertsBase::ExpandExpertsBase;
  void runOnOperation() override {
    if (allOf<onnx::ExpertsOp>().empty())
      return;
    for (onnx::SliceOp op : allOf<onnx::SliceOp>())
      narrow(op);
    for (onnx::ExpertsOp op : allOf<onnx::ExpertsOp>())
      markChoice(op);
    const bool canStay = llvm::none_of(
        getOperation().getOps<func::FuncOp>(), [](func::FuncOp function) {
          return function->hasAttr(onnx::lengthAttrName);
        });
    const Mesh mesh = {columns, rows, canStay ? channels : 0, latency,
                       held && canStay && columns > 1 && rows > 1};
    for (onnx::ReduceOp op : allOf<onnx::ReduceOp>())
      expandSum(op, mesh);
    for (onnx::ExpertsOp op : allOf<onnx::ExpertsOp>()) {
      if (areFew(op, mesh)) {
        splitRows(op);
        continue;
      }
      if (stayRows(op, mesh))
        continue;
      expand(op);
      op.erase();
    }
  }

  template <typename OpType>
  SmallVector<OpType> allOf() {
    SmallVector<OpType> found;
    getOperation().walk([&](OpType op) { found.push_back(op); });
    return found;
  }
};
} // namespace
