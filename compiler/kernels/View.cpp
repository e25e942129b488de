// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/kernels/View.h"

#include "dialects/onnx/Onnx.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace wsec;

View View::dense(ArrayRef<int64_t> shape) {
  View view{llvm::to_vector(shape), 0, SmallVector<int64_t>(shape.size())};
  int64_t stride = 1;
  for (size_t d = shape.size(); d-- > 0; stride *= shape[d])
    view.strides[d] = stride;
  return view;
}

int64_t View::numElements() const { return ShapedType::getNumElements(shape); }

bool View::isDense() const {
  if (offset != 0)
    return false;
  int64_t stride = 1;
  for (size_t d = shape.size(); d-- > 0; stride *= shape[d])
    if (shape[d] != 1 && strides[d] != stride)
      return false;
  return true;
}

int64_t View::walkedDimensions() const {
  int64_t count = 1;
  std::optional<int64_t> step;
  for (size_t d = 0; d + 1 < shape.size(); ++d) {
    if (shape[d] == 1)
      continue;
    if (step != strides[d] * shape[d])
      ++count;
    step = strides[d];
  }
  return count;
}

View View::broadcast(ArrayRef<int64_t> newShape) const {
  View view{llvm::to_vector(newShape), offset,
            SmallVector<int64_t>(newShape.size(), 0)};
  size_t added = newShape.size() - shape.size();
  for (size_t d = 0; d < shape.size(); ++d)
    if (shape[d] != 1)
      view.strides[added + d] = strides[d];
  return view;
}

View View::transpose(ArrayRef<int64_t> permutation) const {
  View view{{}, offset, {}};
  for (int64_t d : permutation) {
    view.shape.push_back(shape[d]);
    view.strides.push_back(strides[d]);
  }
  return view;
}

View View::slice(ArrayRef<int64_t> starts, ArrayRef<int64_t> steps,
                 ArrayRef<int64_t> newShape) const {
  View view{llvm::to_vector(newShape), offset, strides};
  for (size_t d = 0; d < shape.size(); ++d) {
    view.offset += starts[d] * strides[d];
    view.strides[d] *= steps[d];
  }
  return view;
}

// Old and new dimensions are matched in the smallest groups of equal extent,
// as in 2x3x4 -> 6x4: {2,3} with {6}, {4} with {4}. Old dimensions of a group
// must run through their elements as one: stride[d] = stride[d+1]*shape[d+1].
std::optional<View> View::reshape(ArrayRef<int64_t> newShape) const {
  View view{llvm::to_vector(newShape), offset,
            SmallVector<int64_t>(newShape.size(), 0)};
  SmallVector<size_t> old;
  for (size_t d = 0; d < shape.size(); ++d)
    if (shape[d] != 1)
      old.push_back(d);
  size_t next = 0, d = 0;
  while (next < old.size()) {
    size_t firstOld = next, firstNew = d;
    int64_t oldExtent = shape[old[next++]], newExtent = 1;
    while (oldExtent != newExtent) {
      if (newExtent < oldExtent && d < newShape.size())
        newExtent *= newShape[d++];
      else if (next < old.size())
        oldExtent *= shape[old[next++]];
      else
        return std::nullopt;
    }
    for (size_t i = firstOld; i + 1 < next; ++i)
      if (strides[old[i]] != strides[old[i + 1]] * shape[old[i + 1]])
        return std::nullopt;
    int64_t stride = strides[old[next - 1]];
    for (size_t i = d; i-- > firstNew; stride *= newShape[i])
      view.strides[i] = newShape[i] == 1 ? 0 : stride;
  }
  return view;
}

bool wsec::isShapeOnly(Operation *op) {
  return op && isa<onnx::ReshapeOp, onnx::ExpandOp, onnx::TransposeOp,
                   onnx::SliceOp, onnx::KeepOp>(op);
}

std::optional<View> wsec::applyShapeOp(Operation *op, const View &operand) {
  ArrayRef<int64_t> shape =
      cast<RankedTensorType>(op->getResult(0).getType()).getShape();
  if (auto transpose = dyn_cast<onnx::TransposeOp>(op))
    return operand.transpose(transpose.getPerm());
  if (auto slice = dyn_cast<onnx::SliceOp>(op))
    return operand.slice(slice.getStarts(), slice.getSteps(), shape);
  if (isa<onnx::ExpandOp>(op))
    return operand.broadcast(shape);
  return operand.reshape(shape);
}
