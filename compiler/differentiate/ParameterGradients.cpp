// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/differentiate/ParameterGradients.h"

using namespace mlir;
using namespace wsec;
using namespace wsec::differentiate;
using namespace wsec::values;

/// Whether a view is the whole parameter in its own order.
static bool isWhole(onnx::ParameterOp parameter, onnx::ConstantOp view) {
  return view.getViewOffset() == 0 &&
         view.getTensorType().getNumElements() ==
             parameter.getTensorType().getNumElements() &&
         view.getViewStrides() ==
             rowMajorStrides(view.getTensorType().getShape());
}

void wsec::differentiate::streamOut(onnx::ConstantOp view, Value gradient,
                                    Value ids, Backward &n) {
  OpBuilder &builder = n.builder();
  onnx::ParameterOp parameter = view.getParameter();
  const bool whole = isWhole(parameter, view);
  // Rows of another view are no rows of the parameter.
  if (ids && (!whole || view.getTensorType().getShape() !=
                            parameter.getTensorType().getShape())) {
    gradient = n.scattered(view, ids, gradient);
    ids = nullptr;
  }
  IntegerAttr offset;
  DenseI64ArrayAttr strides;
  if (!whole && !ids) {
    // What a view repeats adds up.
    Shape once(shapeOf(gradient));
    for (auto [extent, stride] : llvm::zip_equal(once, view.getViewStrides()))
      extent = stride == 0 ? 1 : extent;
    gradient = n.sumTo(gradient, once);
    offset = builder.getI64IntegerAttr(view.getViewOffset());
    strides = builder.getDenseI64ArrayAttr(view.getViewStrides());
  }
  onnx::GradientOp::create(builder, n.loc(), gradient,
                           FlatSymbolRefAttr::get(parameter.getSymNameAttr()),
                           ids, offset, strides, n.nameAttr());
}

namespace {
/// The part of a view that runs along one dimension of the parameter.
struct Run {
  SmallVector<int64_t, 2> dims; ///< of the view, outermost first
  int64_t step = 1;             ///< elements of the parameter's dimension
};
} // namespace

/// The shape of a parameter with those dimensions as one along several of which
/// a dimension of the view runs.
static Shape coarsened(ArrayRef<int64_t> of, ArrayRef<int64_t> shape,
                       ArrayRef<int64_t> strides) {
  const Shape steps = rowMajorStrides(of);
  SmallVector<bool> joins(of.size(), false); // the dimension before it
  for (auto [extent, stride] : llvm::zip_equal(shape, strides)) {
    size_t last = 0; // the dimension that it steps along
    while (last + 1 < of.size() && steps[last] > stride)
      ++last;
    for (size_t p = last; p > 0 && stride * (extent - 1) >= steps[p] * of[p];
         --p)
      joins[p] = true;
  }
  Shape coarse;
  for (size_t p = 0; p < of.size(); ++p)
    if (joins[p])
      coarse.back() *= of[p];
    else
      coarse.push_back(of[p]);
  return coarse;
}

/// Which dimensions of the view run along which of the parameter; nothing if
/// one runs along several.
static std::optional<SmallVector<Run>> runsOf(ArrayRef<int64_t> of,
                                              ArrayRef<int64_t> shape,
                                              ArrayRef<int64_t> strides) {
  SmallVector<Run> runs(of.size());
  const Shape steps = rowMajorStrides(of);
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] == 1)
      continue;
    size_t p = 0;
    while (p < of.size() && (of[p] == 1 || steps[p] > strides[d]))
      ++p;
    if (p == of.size() || strides[d] % steps[p] != 0 ||
        strides[d] / steps[p] * (shape[d] - 1) >= of[p])
      return std::nullopt;
    auto outer = llvm::find_if(
        runs[p].dims, [&](int64_t o) { return strides[o] < strides[d]; });
    runs[p].dims.insert(outer, d);
  }
  for (size_t p = 0; p < of.size(); ++p) {
    ArrayRef<int64_t> dims = runs[p].dims;
    for (size_t i = 1; i < dims.size(); ++i) // one within the other
      if (strides[dims[i - 1]] != strides[dims[i]] * shape[dims[i]])
        return std::nullopt;
    if (!dims.empty())
      runs[p].step = strides[dims.back()] / steps[p];
  }
  return runs;
}

Value wsec::differentiate::wholeOf(onnx::ParameterOp parameter,
                                   onnx::ConstantOp view, Value gradient,
                                   Backward &n) {
  ArrayRef<int64_t> of = parameter.getTensorType().getShape();
  if (isWhole(parameter, view))
    return n.reshape(gradient, of);
  SmallVector<int64_t> strides = view.getViewStrides();
  Shape once(shapeOf(gradient));
  for (auto [extent, stride] : llvm::zip_equal(once, strides))
    extent = stride == 0 ? 1 : extent;
  gradient = n.sumTo(gradient, once);
  const Shape coarse = coarsened(of, once, strides);
  std::optional<SmallVector<Run>> runs = runsOf(coarse, once, strides);
  if (!runs)
    return nullptr;
  Shape perm, shape(coarse.size(), 1);
  for (int64_t d = 0; d < int64_t(once.size()); ++d)
    if (once[d] == 1)
      perm.push_back(d);
  for (auto [p, run] : llvm::enumerate(*runs))
    for (int64_t d : run.dims) {
      perm.push_back(d);
      shape[p] *= once[d];
    }
  if (!llvm::is_sorted(perm))
    gradient = n.transpose(gradient, perm);
  gradient = n.reshape(gradient, shape);
  int64_t offset = view.getViewOffset();
  const Shape steps = rowMajorStrides(coarse);
  for (size_t p = 0; p < coarse.size(); ++p) {
    gradient =
        n.spread(gradient, p, offset / steps[p], (*runs)[p].step, coarse[p]);
    offset %= steps[p];
  }
  return n.reshape(gradient, of);
}
