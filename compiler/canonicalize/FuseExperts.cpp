// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Exporters look the weights of experts up for each row, S of them:
//
//   rows = gather(table [E, K*N], ids [S])      S times the bytes of an expert
//   y    = x [S, 1, K] times rows [S, K, N]     or rows [S, N, K] times [S, K,
//   1]
#include "compiler/canonicalize/Passes.h"
#include "compiler/canonicalize/Patterns.h"
#include "compiler/values/OnnxValues.h"
#include "compiler/values/ViewTracing.h"

namespace wsec::canonicalize {
#define GEN_PASS_DEF_FUSEEXPERTS
#include "compiler/canonicalize/Passes.h.inc"
} // namespace wsec::canonicalize

using namespace wsec::canonicalize;

namespace {
/// What is looked up for each row: a matrix of its own.
struct ChosenWeights {
  onnx::GatherOp lookup;
  Fact matrices; // of all experts
};
} // namespace

/// Of `factor`, whose last two dimensions are matrices.
static std::optional<ChosenWeights> chosenWeights(Value factor) {
  TracedView traced = traceLayout(factor);
  auto lookup = traced.root.getDefiningOp<onnx::GatherOp>();
  std::optional<Fact> table = lookup ? factOf(lookup.getTable()) : std::nullopt;
  if (!table || !table->constant || shapeOf(factor).size() < 3)
    return std::nullopt;
  ArrayRef<int64_t> matrix = shapeOf(factor).take_back(2);
  const int64_t rows = numElements(shapeOf(lookup.getIds()));
  const int64_t experts = table->shape[0], size = table->shape[1];
  auto view = traced.view.reshaped({rows, matrix[0], matrix[1]});
  std::optional<Shape> strides = view ? view->strides() : std::nullopt;
  if (!strides || view->getOffset() != 0 || numElements(matrix) != size ||
      (rows > 1 && (*strides)[0] != size))
    return std::nullopt;
  auto isStride = [&](size_t d, int64_t stride) {
    return matrix[d - 1] == 1 || (*strides)[d] == stride;
  };
  if (isStride(1, matrix[1]) && isStride(2, 1))
    return ChosenWeights{lookup, reindexed(*table, [&](const StridedView &of) {
                           return of.reshaped({experts, matrix[0], matrix[1]});
                         })};
  if (!isStride(1, 1) || !isStride(2, matrix[0]))
    return std::nullopt;
  return ChosenWeights{lookup, reindexed(*table, [&](const StridedView &of) {
                         std::optional<StridedView> stored =
                             of.reshaped({experts, matrix[1], matrix[0]});
                         return stored ? std::optional(
                                             stored->transposed({0, 2, 1}))
                                       : std::nullopt;
                       })};
}

/// Whether `product` became an onnx.experts: one of its factors is weights, the
/// other one row for each.
static bool fuse(onnx::NodeOp product) {
  Value left = product.getInputs()[0], right = product.getInputs()[1];
  std::optional<ChosenWeights> chosen = chosenWeights(right);
  Value rows = left;
  const bool isTransposed = !chosen;
  if (isTransposed) {
    chosen = chosenWeights(left);
    rows = right;
  }
  if (!chosen || !chosen->matrices.constant)
    return false;
  if (isTransposed)
    chosen->matrices = reindexed(chosen->matrices, [](const StridedView &view) {
      return std::optional(view.transposed({0, 2, 1}));
    });
  const int64_t inner = chosen->matrices.shape[1];
  const int64_t outer = chosen->matrices.shape[2];
  const int64_t count = numElements(shapeOf(chosen->lookup.getIds()));
  Value result = product.getResult(0);
  if (numElements(shapeOf(rows)) != count * inner ||
      numElements(shapeOf(result)) != count * outer)
    return false;
  OpBuilder builder(product);
  Location loc = product.getLoc();
  StringRef node = product.getNode();
  Value weight = materialize(builder, loc, chosen->matrices, node);
  if (!weight)
    return false;
  auto experts = onnx::ExpertsOp::create(
      builder, loc, withShape(result, {count, outer}),
      reshapeTo(builder, loc, rows, {count, inner}, node),
      reshapeTo(builder, loc, chosen->lookup.getIds(), {count}, node), weight,
      node);
  absorb(experts, chosen->lookup.getOperation());
  result.replaceAllUsesWith(
      reshapeTo(builder, loc, experts.getY(), shapeOf(result), node));
  return true;
}

namespace {
struct FuseExpertsPass
    : wsec::canonicalize::impl::FuseExpertsBase<FuseExpertsPass> {
  void runOnOperation() override {
    for (onnx::NodeOp op : typedProducts(getOperation()))
      if (fuse(op))
        op.erase();
  }
};
} // namespace
