// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/values/StridedView.h"
#include "llvm/ADT/STLExtras.h"

using namespace wsec::values;
using llvm::ArrayRef;

int64_t wsec::values::numElements(ArrayRef<int64_t> shape) {
  int64_t count = 1;
  for (int64_t extent : shape)
    count *= extent;
  return count;
}

Shape wsec::values::rowMajorStrides(ArrayRef<int64_t> shape) {
  Shape strides(shape.size(), 1);
  for (int64_t d = int64_t(shape.size()) - 2; d >= 0; --d)
    strides[d] = strides[d + 1] * shape[d + 1];
  return strides;
}

/// Drops atoms of size 1 and merges an atom with the next inner one when
/// stepping over all of the inner one is a step of the outer one.
static StridedView::Atoms normalize(ArrayRef<StridedView::Atom> atoms) {
  StridedView::Atoms result;
  for (StridedView::Atom atom : atoms) {
    if (atom.size == 1)
      continue;
    if (!result.empty() && result.back().stride == atom.size * atom.stride) {
      result.back().size *= atom.size;
      result.back().stride = atom.stride;
      continue;
    }
    result.push_back(atom);
  }
  return result;
}

StridedView StridedView::whole(ArrayRef<int64_t> shape) {
  return strided(shape, 0, rowMajorStrides(shape));
}

StridedView StridedView::strided(ArrayRef<int64_t> shape, int64_t offset,
                                 ArrayRef<int64_t> strides) {
  StridedView view;
  view.offset = offset;
  for (auto [extent, stride] : llvm::zip_equal(shape, strides))
    view.dims.push_back(normalize({{extent, stride}}));
  return view;
}

Shape StridedView::shape() const {
  Shape result;
  for (const Atoms &dim : dims) {
    int64_t extent = 1;
    for (const Atom &atom : dim)
      extent *= atom.size;
    result.push_back(extent);
  }
  return result;
}

StridedView::Atoms StridedView::atoms(size_t firstDim, size_t numDims) const {
  Atoms all;
  for (const Atoms &dim : ArrayRef(dims).slice(firstDim, numDims))
    all.append(dim.begin(), dim.end());
  return normalize(all);
}

std::optional<Shape> StridedView::strides() const {
  Shape result;
  for (size_t d = 0; d < dims.size(); ++d) {
    Atoms dim = atoms(d, 1);
    if (dim.size() > 1)
      return std::nullopt;
    result.push_back(dim.empty() ? 0 : dim.front().stride);
  }
  // The stride of an extent of 1 is free; what a dense tensor would have
  // makes whole views recognizable.
  Shape extents = shape(), dense = rowMajorStrides(extents);
  for (size_t d = 0; d < dims.size(); ++d)
    if (extents[d] == 1)
      result[d] = dense[d];
  return result;
}

bool StridedView::isContiguous() const {
  Atoms all = atoms(0, rank());
  return offset == 0 &&
         (all.empty() || (all.size() == 1 && all.front().stride == 1));
}

StridedView StridedView::transposed(ArrayRef<int64_t> perm) const {
  StridedView view;
  view.offset = offset;
  for (int64_t dim : perm)
    view.dims.push_back(dims[dim]);
  return view;
}

StridedView StridedView::expanded(ArrayRef<int64_t> to) const {
  StridedView view;
  view.offset = offset;
  size_t added = to.size() - dims.size();
  for (auto [d, extent] : llvm::enumerate(to)) {
    if (d >= added && !dims[d - added].empty())
      view.dims.push_back(dims[d - added]);
    else
      view.dims.push_back(normalize({{extent, 0}}));
  }
  return view;
}

std::optional<StridedView> StridedView::sliced(size_t dim, int64_t start,
                                               int64_t size,
                                               int64_t step) const {
  StridedView view = *this;
  int64_t extent = shape()[dim];
  if (start == 0 && size == extent && step == 1)
    return view;
  Atoms atom = atoms(dim, 1);
  if (atom.size() > 1)
    return std::nullopt;
  int64_t stride = atom.empty() ? 0 : atom.front().stride;
  if (size > 0)
    view.offset += start * stride;
  view.dims[dim] = normalize({{size, stride * step}});
  return view;
}

std::optional<StridedView> StridedView::reshaped(ArrayRef<int64_t> to) const {
  if (numElements(to) == 0)
    return whole(to);
  StridedView view;
  view.offset = offset;
  view.dims.resize(to.size());
  Atoms left = atoms(0, rank()); // taken from the back, innermost first
  for (size_t d = to.size(); d-- > 0;) {
    int64_t wanted = to[d];
    Atoms taken;
    while (wanted > 1) {
      if (left.empty())
        return std::nullopt;
      Atom &inner = left.back();
      if (wanted % inner.size == 0) {
        wanted /= inner.size;
        taken.insert(taken.begin(), inner);
        left.pop_back();
      } else if (inner.size % wanted == 0) {
        taken.insert(taken.begin(), {wanted, inner.stride});
        inner = {inner.size / wanted, inner.stride * wanted};
        wanted = 1;
      } else {
        return std::nullopt;
      }
    }
    view.dims[d] = normalize(taken);
  }
  if (!left.empty())
    return std::nullopt;
  return view;
}
