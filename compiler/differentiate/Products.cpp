// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products: of Y = X W the gradients are dX = dY W^T and dW = X^T dY, whose sum
// runs over all tokens.
#include "compiler/differentiate/Differentiable.h"

using namespace mlir;
using namespace wsec;
using namespace wsec::differentiate;
using namespace wsec::values;

/// Of a weight that is large beside the wafer some columns at a time, each of
/// which leaves before the next ones are made.
static void addOfWeight(onnx::MatMulOp op, Value dyOfAll, Backward &n) {
  Value weight = op.getWeight();
  Value xByFeature = n.swapped(n.asRows(op.getX())), dy = n.asRows(dyOfAll);
  const int64_t parts = n.partsOf(weight), columns = shapeOf(weight).back();
  if (parts == 1)
    return n.add(weight, n.batchMatmul(xByFeature, dy));
  const int64_t each = llvm::divideCeil(columns, parts);
  for (int64_t start = 0; start < columns; start += each) {
    const int64_t size = std::min(each, columns - start);
    n.addPart(weight, n.sliceLast(weight, start, size), start,
              n.batchMatmul(xByFeature, n.sliceLast(dy, start, size)));
  }
}

static void matmul(onnx::MatMulOp op, Value dy, Backward &n) {
  if (n.wants(op.getX()))
    n.add(op.getX(), n.matmul(dy, n.swapped(op.getWeight()), nullptr));
  if (n.wants(op.getWeight()))
    addOfWeight(op, dy, n);
  if (op.getBias())
    n.add(op.getBias(), dy);
}

/// Whether it is a transpose, of what has other features in a row.
static bool isByFeature(Value x) {
  auto transpose = x.getDefiningOp<onnx::TransposeOp>();
  return transpose &&
         transpose.getPerm().back() + 1 != int64_t(transpose.getPerm().size());
}

static void batchMatmul(onnx::BatchMatMulOp op, Value dy, Backward &n) {
  Value a = op.getA(), b = op.getB();
  if (n.wants(a))
    n.add(a, n.batchMatmul(dy, n.swapped(b)));
  if (!n.wants(b))
    return;
  // Keys of an attention get theirs as they are, and not by feature.
  if (isByFeature(b))
    return n.add(b, n.swapped(n.batchMatmul(n.swapped(dy), a)));
  // One matrix for all is a weight.
  const bool isOne = ShapedType::getNumElements(shapeOf(b).drop_back(2)) == 1;
  Value left = isOne ? n.asRows(a) : a, right = isOne ? n.asRows(dy) : dy;
  Value db = n.batchMatmul(n.swapped(left), right);
  n.add(b, isOne ? n.reshape(db, shapeOf(b)) : db);
}

void wsec::differentiate::attachProducts(MLIRContext &context) {
  attach<onnx::MatMulOp, matmul>(context);
  attach<onnx::BatchMatMulOp, batchMatmul>(context);
}
