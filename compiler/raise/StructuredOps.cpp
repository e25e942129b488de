// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operations of linalg: loops, a map from them to the elements of each operand,
// and a body of scalars. Operands are brought into the order of the loops, with
// extent 1 where they lack one, and the body is said in operators of whole
// tensors. A sum of products is MatMul; other reductions are reductions.
#include "compiler/raise/Raiser.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/SetVector.h"
#include <numeric>

using namespace mlir;
using namespace wsec;
using namespace wsec::raise;

namespace {
class Structured {
public:
  Structured(Raiser &raiser, linalg::LinalgOp op)
      : raiser(raiser), op(op), loops(op.getStaticLoopRanges()),
        kinds(op.getIteratorTypesArray()),
        yield(op.getBlock()->getTerminator()) {}

  LogicalResult raise();

private:
  bool reduces(size_t loop) const {
    return kinds[loop] == utils::IteratorType::reduction;
  }
  FailureOr<Term> operand(OpOperand &operand);
  LogicalResult evaluate(ArrayRef<Value> wanted);
  FailureOr<Term> evaluate(Operation &op);
  FailureOr<Term> positions(int64_t loop);
  FailureOr<Term> lookUp(tensor::ExtractOp op);
  FailureOr<Term> contract(Operation *product);
  FailureOr<Term> merged(Value side, ArrayRef<int64_t> batch,
                         ArrayRef<int64_t> rows, ArrayRef<int64_t> columns);
  FailureOr<Term> reduceResult(unsigned index);
  LogicalResult finish(unsigned index, Term term);

  Raiser &raiser;
  linalg::LinalgOp op;
  Extents loops;
  SmallVector<utils::IteratorType> kinds;
  Operation *yield;
  DenseMap<Value, Term> terms; // of the body
};
} // namespace

/// The loop of each dimension of an operand, or -1 of one that is always 0;
/// none where elements are elsewhere.
static std::optional<Extents> loopsOf(AffineMap map) {
  Extents dims;
  for (AffineExpr expr : map.getResults()) {
    if (auto dim = dyn_cast<AffineDimExpr>(expr)) {
      if (llvm::is_contained(dims, dim.getPosition()))
        return std::nullopt;
      dims.push_back(dim.getPosition());
    } else if (auto zero = dyn_cast<AffineConstantExpr>(expr);
               zero && zero.getValue() == 0) {
      dims.push_back(-1);
    } else {
      return std::nullopt;
    }
  }
  return dims;
}

/// An operand in the order of the loops, without those in front that it lacks.
FailureOr<Term> Structured::operand(OpOperand &operand) {
  FailureOr<Term> term = raiser.term(operand.get());
  if (failed(term) || term->shape.empty())
    return term;
  *term = raiser.unexpanded(*term);
  std::optional<Extents> dims = loopsOf(op.getMatchingIndexingMap(&operand));
  if (!dims)
    return raiser.refuse("its elements are not read loop by loop, but by sums "
                         "or multiples of loops");
  Extents kept, order, shape(loops.size(), 1);
  for (auto [dim, extent] : llvm::zip(*dims, term->shape)) {
    if (dim < 0 && extent != 1)
      return raiser.refuse("it reads the first element of several");
    if (dim < 0)
      continue;
    kept.push_back(dim);
    shape[dim] = extent;
  }
  Extents extents;
  for (int64_t dim : kept)
    extents.push_back(shape[dim]);
  order.resize(kept.size());
  std::iota(order.begin(), order.end(), 0);
  llvm::sort(order, [&](int64_t a, int64_t b) { return kept[a] < kept[b]; });
  Term sorted = raiser.transpose(raiser.reshape(*term, extents), order);
  size_t lacking = kept.empty() ? loops.size() : *llvm::min_element(kept);
  return raiser.reshape(sorted, ArrayRef<int64_t>(shape).drop_front(lacking));
}

/// Terms of what `wanted` needs of the body.
LogicalResult Structured::evaluate(ArrayRef<Value> wanted) {
  llvm::SmallSetVector<Value, 8> needed(wanted.begin(), wanted.end());
  for (Operation &inner : llvm::reverse(op.getBlock()->without_terminator()))
    if (llvm::any_of(inner.getResults(),
                     [&](Value result) { return needed.contains(result); }))
      needed.insert(inner.operand_begin(), inner.operand_end());
  for (Value before : op.getRegionOutputArgs())
    if (op.getNumReductionLoops() && needed.contains(before))
      return raiser.refuse("what it computes along its loops is no sum, "
                           "product, maximum or minimum");
  for (OpOperand &outer : op->getOpOperands())
    if (Value inner = op.getMatchingBlockArgument(&outer);
        needed.contains(inner)) {
      FailureOr<Term> term = operand(outer);
      if (failed(term))
        return failure();
      terms[inner] = *term;
    }
  for (Value value : needed)
    if (!terms.contains(value) && value.getParentBlock() != op.getBlock()) {
      // A table that the body reads is no operand.
      FailureOr<Term> term = raiser.term(value);
      if (failed(term))
        return failure();
      terms[value] = *term;
    }
  for (Operation &inner : op.getBlock()->without_terminator()) {
    if (inner.getNumResults() != 1 || !needed.contains(inner.getResult(0)))
      continue;
    FailureOr<Term> term = evaluate(inner);
    if (failed(term))
      return failure();
    terms[inner.getResult(0)] = *term;
  }
  return success();
}

FailureOr<Term> Structured::evaluate(Operation &inner) {
  if (auto index = dyn_cast<linalg::IndexOp>(inner))
    return positions(int64_t(index.getDim()));
  if (auto extract = dyn_cast<tensor::ExtractOp>(inner))
    return lookUp(extract);
  if (inner.hasTrait<OpTrait::ConstantLike>())
    return raiser.term(inner.getResult(0));
  SmallVector<Term> operands;
  for (Value value : inner.getOperands())
    operands.push_back(terms.lookup(value));
  return raiser.scalar(&inner, operands);
}

/// 0, 1, 2, ... along a loop.
FailureOr<Term> Structured::positions(int64_t loop) {
  constexpr int64_t most = 1 << 24;
  if (loops[loop] > most)
    return raiser.refuse("it counts further than to 2^24");
  SmallVector<int64_t> numbers(loops[loop]);
  std::iota(numbers.begin(), numbers.end(), 0);
  Extents shape(loops.size() - loop, 1);
  shape.front() = loops[loop];
  return raiser.reshape(raiser.integers(numbers), shape);
}

/// Rows of a table: the first index is computed, the others are the last loops.
FailureOr<Term> Structured::lookUp(tensor::ExtractOp extract) {
  Term table = terms.lookup(extract.getTensor());
  size_t rest = extract.getIndices().size() - 1, first = loops.size() - rest;
  bool isRow = !extract.getIndices().empty() && rest <= loops.size();
  for (size_t i = 0; isRow && i < rest; ++i) {
    auto index = extract.getIndices()[i + 1].getDefiningOp<linalg::IndexOp>();
    isRow = index && index.getDim() == first + i &&
            table.shape[i + 1] == loops[first + i];
  }
  Term ids;
  if (isRow)
    ids = terms.lookup(extract.getIndices()[0]);
  // Which row it is must not depend on the place in the row.
  for (size_t i = 0; i < std::min(rest, ids.shape.size()); ++i)
    isRow &= ids.shape[ids.shape.size() - 1 - i] == 1;
  if (!isRow)
    return raiser.refuse("tensor.extract reads elements that are no rows of a "
                         "table");
  Extents all(loops);
  std::fill(all.begin() + first, all.end(), 1);
  ids = raiser.expand(ids, all);
  ids = raiser.reshape(ids, ArrayRef<int64_t>(all).take_front(first));
  return raiser.node("Gather", {table, ids}, loops);
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

/// The reduction of an operation that combines two values.
static StringRef reductionOf(Operation *combiner) {
  // Of bools.
  if (combiner->getNumResults() == 1 &&
      combiner->getResult(0).getType().isInteger(1))
    return isa<arith::AndIOp>(combiner)  ? "ReduceMin"
           : isa<arith::OrIOp>(combiner) ? "ReduceMax"
                                         : "";
  if (isa<arith::AddFOp, arith::AddIOp>(combiner))
    return "ReduceSum";
  if (isa<arith::MulFOp, arith::MulIOp>(combiner))
    return "ReduceProd";
  if (isa<arith::MaximumFOp, arith::MaxSIOp>(combiner))
    return "ReduceMax";
  if (isa<arith::MinimumFOp, arith::MinSIOp>(combiner))
    return "ReduceMin";
  return "";
}

/// Whether a reduction may begin with `init` as if it were not there.
static bool isNeutral(Operation *combiner, Value init) {
  Attribute number;
  if (auto fill = init.getDefiningOp<linalg::FillOp>())
    init = fill.getInputs()[0];
  if (!matchPattern(init, m_Constant(&number)))
    return false;
  if (auto splat = dyn_cast<SplatElementsAttr>(number))
    number = splat.getSplatValue<Attribute>();
  StringRef kind = reductionOf(combiner);
  if (auto value = dyn_cast<FloatAttr>(number)) {
    const APFloat &x = value.getValue();
    return kind == "ReduceSum" ? x.isZero()
           : kind == "ReduceProd"
               ? x.isExactlyValue(1)
               : x.isInfinity() && x.isNegative() == (kind == "ReduceMax");
  }
  auto value = dyn_cast<IntegerAttr>(number);
  if (!value)
    return false;
  const APInt &x = value.getValue();
  if (x.getBitWidth() == 1)
    return x.isOne() == (kind == "ReduceMin");
  return kind == "ReduceSum"    ? x.isZero()
         : kind == "ReduceProd" ? x.isOne()
         : kind == "ReduceMax"  ? x.isMinSignedValue()
                                : x.isMaxSignedValue();
}

/// One side of a product as [batch..., rows, columns], of which rows and
/// columns may be several loops.
FailureOr<Term> Structured::merged(Value side, ArrayRef<int64_t> batch,
                                   ArrayRef<int64_t> rows,
                                   ArrayRef<int64_t> columns) {
  Term term = terms.lookup(side);
  Extents all(loops.size() - term.shape.size(), 1);
  llvm::append_range(all, term.shape);
  Extents order(batch), shape;
  llvm::append_range(order, rows);
  llvm::append_range(order, columns);
  // The loops that it lacks have extent 1, wherever they stand.
  for (size_t loop = 0; loop < loops.size(); ++loop)
    if (!llvm::is_contained(order, int64_t(loop)))
      order.push_back(int64_t(loop));
  auto product = [&](ArrayRef<int64_t> dims) {
    int64_t elements = 1;
    for (int64_t dim : dims)
      elements *= all[dim];
    return elements;
  };
  for (int64_t dim : batch)
    shape.push_back(all[dim]);
  // A matrix that all of a batch share is one.
  if (product(batch) == 1)
    shape.clear();
  shape.push_back(product(rows));
  shape.push_back(product(columns));
  return raiser.reshape(raiser.transpose(raiser.reshape(term, all), order),
                        shape);
}

/// A sum of products of two operands as MatMul, in the order of the loops; no
/// value where it is none.
FailureOr<Term> Structured::contract(Operation *product) {
  Value a = product->getOperand(0), b = product->getOperand(1);
  if (failed(evaluate({a, b})))
    return failure();
  auto has = [&](Value side, size_t loop) {
    Extents shape = terms.lookup(side).shape;
    size_t lacking = loops.size() - shape.size();
    return loop >= lacking && shape[loop - lacking] == loops[loop];
  };
  Extents batch, rows, columns, inner;
  for (size_t loop = 0; loop < loops.size(); ++loop) {
    bool ofA = has(a, loop), ofB = has(b, loop);
    Extents &kind = reduces(loop) ? inner
                    : !ofB        ? rows
                    : !ofA        ? columns
                                  : batch;
    if (reduces(loop) && !(ofA && ofB))
      return Term();
    kind.push_back(int64_t(loop));
  }
  if (rows.empty() && columns.empty())
    return Term();
  FailureOr<Term> left = merged(a, batch, rows, inner);
  FailureOr<Term> right = merged(b, batch, inner, columns);
  Extents flat, extents, order;
  for (ArrayRef<int64_t> dims : {batch, rows, columns, inner})
    for (int64_t dim : dims) {
      order.push_back(dim);
      // Along a loop of neither operand the result is the same.
      const bool varies = !reduces(dim) && (has(a, dim) || has(b, dim));
      extents.push_back(varies ? loops[dim] : 1);
    }
  auto ahead = [](ArrayRef<int64_t> shape) { return shape.drop_back(2); };
  flat = broadcast(ahead(left->shape), ahead(right->shape));
  flat.push_back(left->shape[left->shape.size() - 2]);
  flat.push_back(right->shape.back());
  Term result = raiser.node("MatMul", {*left, *right}, flat);
  Extents back(order.size());
  for (auto [place, dim] : llvm::enumerate(order))
    back[dim] = int64_t(place);
  return raiser.transpose(raiser.reshape(result, extents), back);
}

FailureOr<Term> Structured::reduceResult(unsigned index) {
  Operation *combiner = yield->getOperand(index).getDefiningOp();
  OpOperand &init = *op.getDpsInitOperand(index);
  Value before = op.getMatchingBlockArgument(&init);
  if (!combiner || combiner->getNumOperands() != 2 ||
      reductionOf(combiner).empty() ||
      !llvm::is_contained(combiner->getOperands(), before))
    return raiser.refuse("what it computes along its loops is no sum, product, "
                         "maximum or minimum");
  Value along = combiner->getOperand(combiner->getOperand(0) == before);
  Term result;
  Operation *product = along.getDefiningOp();
  if (isa_and_nonnull<arith::MulFOp, arith::MulIOp>(product) &&
      reductionOf(combiner) == "ReduceSum") {
    FailureOr<Term> matrix = contract(product);
    if (failed(matrix))
      return failure();
    result = *matrix;
  }
  if (!result.value) {
    if (failed(evaluate(along)))
      return failure();
    SmallVector<int64_t> axes;
    for (size_t loop = 0; loop < loops.size(); ++loop)
      if (reduces(loop))
        axes.push_back(int64_t(loop));
    result = raiser.reduce(reductionOf(combiner),
                           raiser.expand(terms.lookup(along), loops), axes);
  }
  if (isNeutral(combiner, init.get()))
    return result;
  FailureOr<Term> first = operand(init);
  if (failed(first))
    return failure();
  return raiser.elementwise(reductionOf(combiner) == "ReduceSum"    ? "Add"
                            : reductionOf(combiner) == "ReduceProd" ? "Mul"
                            : reductionOf(combiner) == "ReduceMax"  ? "Max"
                                                                    : "Min",
                            {result, *first});
}

/// From the order of the loops to that of the result.
LogicalResult Structured::finish(unsigned index, Term term) {
  OpOperand &init = *op.getDpsInitOperand(index);
  std::optional<Extents> dims = loopsOf(op.getMatchingIndexingMap(&init));
  Extents all(loops), written, extents;
  for (size_t loop = 0; loop < loops.size(); ++loop)
    if (reduces(loop))
      all[loop] = 1;
  for (int64_t dim : dims.value_or(Extents()))
    if (dim >= 0)
      written.push_back(dim);
  Extents order(written);
  for (size_t loop = 0; dims && loop < loops.size(); ++loop)
    if (!llvm::is_contained(written, int64_t(loop))) {
      order.push_back(int64_t(loop));
      if (all[loop] != 1)
        dims.reset();
    }
  if (!dims)
    return raiser.refuse("it does not write an element for each of its loops");
  Value result = op->getResult(index);
  term = raiser.transpose(raiser.expand(term, all), order);
  raiser.define(result,
                raiser.reshape(
                    term, cast<RankedTensorType>(result.getType()).getShape()));
  return success();
}

LogicalResult Structured::raise() {
  if (!op.hasPureTensorSemantics() ||
      llvm::any_of(loops, ShapedType::isDynamic))
    return raiser.refuse("its extents are not known, or it works on buffers");
  int64_t elements = 1;
  for (int64_t extent : loops)
    if (llvm::MulOverflow(elements, std::max<int64_t>(extent, 1), elements))
      return raiser.refuse("its loops are too long");
  bool isReduction = op.getNumReductionLoops() > 0;
  for (unsigned index = 0; index < op->getNumResults(); ++index) {
    if (op->getResult(index).use_empty())
      continue;
    FailureOr<Term> term = Term();
    if (isReduction)
      term = reduceResult(index);
    else if (succeeded(evaluate(yield->getOperand(index))))
      term = terms.lookup(yield->getOperand(index));
    else
      return failure();
    if (failed(term) || failed(finish(index, *term)))
      return failure();
  }
  return success();
}

LogicalResult Raiser::raiseStructured(Operation *op) {
  return Structured(*this, cast<linalg::LinalgOp>(op)).raise();
}
