// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/emulator/Execute.h"

#include "runtime/emulator/VectorKernels.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <vector>

namespace wsec::runtime {

using program::Opcode;

namespace {

struct Dimension {
  size_t extent;
  ptrdiff_t dst, a, b;

  bool reduces() const { return dst == 0; }
};
using Dimensions = std::vector<Dimension>;

/// Drops dimensions of one element; false if there is nothing to do.
bool listDimensions(const Nest &nest, Dimensions &dims) {
  for (int d = 0; d < nest.dimensions; ++d) {
    if (nest.extent[d] == 0)
      return false;
    if (nest.extent[d] > 1)
      dims.push_back({nest.extent[d], nest.dst.stride[d], nest.a.stride[d],
                      nest.b.stride[d]});
  }
  return true;
}

/// Sorts by a key, smallest first, keeping the order of equals.
template <class Key>
void sortBy(Dimensions &dims, const Key &key) {
  for (size_t i = 1; i < dims.size(); ++i)
    for (size_t j = i; j > 0 && key(dims[j]) < key(dims[j - 1]); --j)
      std::swap(dims[j], dims[j - 1]);
}

/// Joins neighbours that all operands walk through as one.
void coalesce(Dimensions &dims) {
  for (size_t i = dims.size(); i-- > 1;) {
    Dimension &outer = dims[i - 1];
    const Dimension &inner = dims[i];
    ptrdiff_t n = ptrdiff_t(inner.extent);
    if (outer.dst != inner.dst * n || outer.a != inner.a * n ||
        outer.b != inner.b * n)
      continue;
    outer = {outer.extent * inner.extent, inner.dst, inner.a, inner.b};
    dims.erase(dims.begin() + ptrdiff_t(i));
  }
}

/// Whether different indices of the non-reducing dimensions name different
/// elements of the destination (sufficient condition).
bool injective(const Dimensions &dims) {
  std::vector<std::pair<ptrdiff_t, size_t>> strides;
  for (const Dimension &d : dims)
    if (!d.reduces())
      strides.push_back({std::abs(d.dst), d.extent});
  std::sort(strides.begin(), strides.end());
  ptrdiff_t reach = 0;
  for (auto [stride, extent] : strides) {
    if (stride <= reach)
      return false;
    reach += stride * ptrdiff_t(extent - 1);
  }
  return true;
}

/// Runs `body(dst, a, b)` for each index of `dims` in lexicographic order.
template <class Body>
void forEach(const Dimension *dims, size_t count, float *dst, const float *a,
             const float *b, const Body &body) {
  if (count == 0)
    return body(dst, a, b);
  for (size_t i = 0; i < dims->extent; ++i) {
    forEach(dims + 1, count - 1, dst, a, b, body);
    dst += dims->dst;
    a += dims->a;
    b += dims->b;
  }
}

/// A source of a vector along one dimension: in place if contiguous, else
/// gathered into `buffer`.
constexpr size_t bufferLength = 512;
VectorSource fetch(const float *data, ptrdiff_t stride, size_t n,
                   float *buffer) {
  if (!data || stride == 0)
    return {data, true};
  if (stride == 1)
    return {data, false};
  for (size_t i = 0; i < n; ++i)
    buffer[i] = data[ptrdiff_t(i) * stride];
  return {buffer, false};
}

/// One vector along `d`, whose destination elements all differ.
void applyAlong(Opcode op, const Dimension &d, float *dst, const float *a,
                const float *b) {
  if (d.dst == 1 && (d.a == 0 || d.a == 1) && (d.b == 0 || d.b == 1))
    return applyVector(op, d.extent, dst, {a, d.a == 0}, {b, d.b == 0});
  alignas(64) float aBuffer[bufferLength], bBuffer[bufferLength],
      results[bufferLength];
  for (size_t done = 0; done < d.extent; done += bufferLength) {
    size_t n = std::min(bufferLength, d.extent - done);
    ptrdiff_t at = ptrdiff_t(done);
    float *target = dst + at * d.dst;
    for (size_t i = 0; i < n; ++i)
      results[i] = target[ptrdiff_t(i) * d.dst];
    applyVector(op, n, results, fetch(a ? a + at * d.a : a, d.a, n, aBuffer),
                fetch(b ? b + at * d.b : b, d.b, n, bBuffer));
    for (size_t i = 0; i < n; ++i)
      target[ptrdiff_t(i) * d.dst] = results[i];
  }
}

/// Exactly as written: lexicographic, a vector only over the innermost
/// dimension if that is the lanes.
void executeOrdered(const Nest &nest) {
  Dimensions dims;
  for (int d = 0; d < nest.dimensions; ++d)
    dims.push_back({nest.extent[d], nest.dst.stride[d], nest.a.stride[d],
                    nest.b.stride[d]});
  Dimension lanes = dims.back();
  dims.pop_back();
  forEach(dims.data(), dims.size(), nest.dst.data, nest.a.data, nest.b.data,
          [&](float *dst, const float *a, const float *b) {
            applyAlong(nest.op, lanes, dst, a, b);
          });
}

/// dst = fma(a, b, dst) where one source is the same for a whole vector of
/// destinations: rows x depth x columns. Returns false if it is not that.
bool executeProducts(Dimensions dims, const Nest &nest) {
  Strided<const float> scalar = nest.a, vector = nest.b;
  auto isColumns = [&](const Dimension &d) {
    return d.dst == 1 && d.b == 1 && d.a == 0;
  };
  auto columns = std::find_if(dims.begin(), dims.end(), isColumns);
  if (columns == dims.end()) {
    for (Dimension &d : dims)
      std::swap(d.a, d.b);
    std::swap(scalar, vector);
    columns = std::find_if(dims.begin(), dims.end(), isColumns);
    if (columns == dims.end())
      return false;
  }
  size_t columnCount = columns->extent;
  dims.erase(columns);

  // Reductions keep their order; all else may be walked in any order. The
  // innermost reduction is the depth, the longest dimension that `b` does not
  // depend on the rows.
  auto isRow = [](const Dimension &d) { return !d.reduces() && d.b == 0; };
  Dimension row{1, 0, 0, 0}, depth{1, 0, 0, 0};
  auto best = dims.end();
  for (auto d = dims.begin(); d != dims.end(); ++d)
    if (isRow(*d) && (best == dims.end() || d->extent > best->extent))
      best = d;
  if (best != dims.end()) {
    row = *best;
    dims.erase(best);
  }
  auto last = std::find_if(dims.rbegin(), dims.rend(),
                           [](const Dimension &d) { return d.reduces(); });
  if (last != dims.rend()) {
    depth = *last;
    dims.erase(std::next(last).base());
  }
  sortBy(dims, [](const Dimension &d) { return d.reduces(); });
  forEach(dims.data(), dims.size(), nest.dst.data, scalar.data, vector.data,
          [&](float *dst, const float *a, const float *b) {
            accumulateProducts({row.extent, depth.extent, columnCount, dst,
                                row.dst, a, row.a, depth.a, b, depth.b});
          });
  return true;
}

/// A reduction to one element through `dst = op(dst, x)`.
bool reducible(Opcode op) {
  return op == Opcode::Add || op == Opcode::Mul || op == Opcode::Min ||
         op == Opcode::Max;
}

} // namespace

void execute(const Nest &nest) {
  Dimensions dims;
  if (!listDimensions(nest, dims))
    return;
  coalesce(dims);
  if (nest.ordered || !injective(dims))
    return executeOrdered(nest);
  if (nest.op == Opcode::Fmac && executeProducts(dims, nest))
    return;

  // Reductions outermost in their order, then long strides, so that the
  // innermost dimension is the one to make vectors of.
  sortBy(dims, [](const Dimension &d) {
    return d.reduces() ? std::numeric_limits<ptrdiff_t>::min()
                       : -std::abs(d.dst);
  });
  coalesce(dims);
  Dimension inner{1, 1, 0, 0};
  if (!dims.empty()) {
    inner = dims.back();
    dims.pop_back();
  }
  bool toOne = inner.reduces() && inner.extent > 1;
  forEach(dims.data(), dims.size(), nest.dst.data, nest.a.data, nest.b.data,
          [&](float *dst, const float *a, const float *b) {
            if (!toOne)
              return applyAlong(nest.op, inner, dst, a, b);
            if (reducible(nest.op) && a == dst && inner.a == 0) {
              *dst = reduceVector(nest.op, *dst, inner.extent, b, inner.b);
              return;
            }
            for (size_t i = 0; i < inner.extent; ++i) {
              applyVector(nest.op, 1, dst, {a, true}, {b, true});
              a += inner.a;
              b += b ? inner.b : 0;
            }
          });
}

} // namespace wsec::runtime
