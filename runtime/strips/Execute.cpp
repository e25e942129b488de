// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/strips/Execute.h"

#include "runtime/pe/VectorKernels.h"
#include "runtime/program/Opcodes.h"
#include "runtime/strips/NestElements.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <limits>
#include <utility>

namespace wsec::runtime {

using program::ElementType;
using program::Opcode;

namespace {

using Dimension = PreparedNest::Dimension;
using Dimensions = PreparedNest::Dimensions;

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
    dims.erase(dims.begin() + i);
  }
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

/// Whether elements along `d` are vectors for each operand, or one element.
bool isVector(const Dimension &d) {
  auto contiguous = [](ptrdiff_t stride) { return stride == 0 || stride == 1; };
  return d.extent == 1 || (d.dst == 1 && contiguous(d.a) && contiguous(d.b));
}

/// Runs `body` for each index of the outer dimensions.
template <class Body>
void forEach(const Dimensions &dims, float *dst, const float *a, const float *b,
             const Body &body) {
  forEach(dims.begin(), dims.size(), dst, a, b, body);
}

} // namespace

bool namesEachOnce(int dimensions, const size_t *extent,
                   const ptrdiff_t *stride) {
  // From the shortest stride on: each is longer than all before reach.
  bool seen[maxDimensions] = {};
  for (ptrdiff_t reach = 0;;) {
    int next = -1;
    for (int d = 0; d < dimensions; ++d)
      if (!seen[d] && extent[d] > 1 && stride[d] != 0 &&
          (next < 0 || std::abs(stride[d]) < std::abs(stride[next])))
        next = d;
    if (next < 0)
      return true;
    seen[next] = true;
    if (std::abs(stride[next]) <= reach)
      return false;
    reach += std::abs(stride[next]) * ptrdiff_t(extent[next] - 1);
  }
}

/// A copy of integers is one of their bits.
static NestTypes typesOf(const Nest &nest) {
  constexpr WordPart integer = {ElementType::I32};
  const bool copies = nest.op == Opcode::Mov && nest.types.dst == integer &&
                      nest.types.a == integer;
  return copies ? NestTypes() : nest.types;
}

PreparedNest::PreparedNest(const Nest &nest)
    : op(nest.op), types(typesOf(nest)), starts(nest.starts),
      start(starts ? std::bit_cast<uint32_t>(nest.start) : 0) {
  Dimensions all, dims;
  for (int d = 0; d < nest.dimensions; ++d) {
    if (nest.extent[d] == 0)
      return;
    if (types.apart() && d + 2 == nest.dimensions) {
      apart = nest.dst.stride[d] + nest.a.stride[d]; // The word's is 0.
      continue;
    }
    all.push({nest.extent[d], nest.dst.stride[d],
              nest.a.data ? nest.a.stride[d] : 0,
              nest.b.data ? nest.b.stride[d] : 0});
    if (nest.extent[d] > 1)
      dims.push(*(all.end() - 1));
  }
  coalesce(dims);
  if (nest.ordered ||
      !namesEachOnce(nest.dimensions, nest.extent, nest.dst.stride)) {
    // A vector only over the innermost dimension, the lanes.
    inner = *(all.end() - 1);
    all.erase(all.end() - 1);
    form = formOf(inner);
    outer = all;
    return;
  }
  // A factor that is the accumulator itself changes from term to term.
  bool usesOld = nest.a.data == nest.dst.data || nest.b.data == nest.dst.data;
  if (op != Opcode::Fmac || usesOld || !types.plain() || !prepareProducts(dims))
    prepareVectors(dims);
}

/// How vectors along a dimension are computed.
PreparedNest::Form PreparedNest::formOf(const Dimension &vectors) const {
  if (types.plain())
    return isVector(vectors) ? Form::Rows : Form::Strided;
  if (const Form conversion = conversionOf(vectors);
      conversion != Form::Numbers)
    return conversion;
  const bool isFloats =
      types.floats() && types.numbers != NumberKind::Integer && !types.noWrap;
  return isFloats ? Form::Strided : Form::Numbers;
}

/// Floats of halves of words, or the inverse, vectors on both sides; Numbers:
/// something else.
PreparedNest::Form PreparedNest::conversionOf(const Dimension &vectors) const {
  auto isVector = [&](ptrdiff_t words, WordPart part, ptrdiff_t floats) {
    return vectors.extent == 1 ||
           (words == 1 && floats == (part.half == HalfOf::Both ? 2 : 1));
  };
  if (op != Opcode::Mov || types.numbers == NumberKind::Integer ||
      types.noWrap || types.rounded != ElementType::F32)
    return Form::Numbers;
  const bool isScalar =
      vectors.dst == 1 && vectors.a == 0 && types.dst.half != HalfOf::Both;
  if (isNarrowFloat(types.a.type) && types.dst == WordPart() &&
      isVector(vectors.a, types.a, vectors.dst))
    return Form::Widen;
  if (isNarrowFloat(types.dst.type) && types.a == WordPart() &&
      (isVector(vectors.dst, types.dst, vectors.a) || isScalar))
    return Form::Narrow;
  return Form::Numbers;
}

/// Whether sums take factors that lie apart, and others that are the same for
/// all of them.
static bool isOneColumn(const Dimensions &dims) {
  bool reduces = false, apart = false;
  for (const Dimension &d : dims) {
    reduces |= d.reduces();
    apart |= !d.reduces() && d.a != 0 && d.a != 1 && d.b == 0;
    if (!d.reduces() && d.b != 0)
      return false;
  }
  return reduces && apart;
}

/// dst = fma(a, b, dst) where one source is the same for a whole vector of
/// destinations: rows x depth x columns. Returns false if it is not that.
bool PreparedNest::prepareProducts(Dimensions dims) {
  if (dims.size() < 2) // One vector, or less: no sum stays in a register.
    return false;
  auto isColumns = [](const Dimension &d) {
    return d.dst == 1 && d.b == 1 && d.a == 0;
  };
  auto found = std::find_if(dims.begin(), dims.end(), isColumns);
  if (found == dims.end()) {
    for (Dimension &d : dims)
      std::swap(d.a, d.b);
    found = std::find_if(dims.begin(), dims.end(), isColumns);
    swapped = true;
  }
  columns = 1;
  if (found != dims.end()) {
    columns = found->extent;
    dims.erase(found);
  } else if (!isOneColumn(dims)) {
    for (Dimension &d : dims)
      std::swap(d.a, d.b);
    swapped = false;
    if (!isOneColumn(dims)) {
      columns = 0;
      return false;
    }
  }
  form = Form::Products;

  // Reductions keep their order; all else may be walked in any order. What
  // continues the columns joins them.
  auto take = [&](const auto &fits) {
    auto best = dims.end();
    for (auto d = dims.begin(); d != dims.end(); ++d)
      if (!d->reduces() && fits(*d) &&
          (best == dims.end() || d->extent > best->extent))
        best = d;
    Dimension result;
    if (best != dims.end()) {
      result = *best;
      dims.erase(best);
    }
    return result;
  };
  auto continues = [&](const Dimension &d) {
    return d.a == 0 && d.dst == ptrdiff_t(columns) && d.b == d.dst;
  };
  for (Dimension more; (more = take(continues)).extent > 1;)
    columns *= more.extent;
  block = take([](const Dimension &d) { return d.a == 0; });
  row = take([](const Dimension &d) { return d.b == 0; });
  for (Dimension *depth : {&inner, &second})
    for (auto d = dims.end(); d != dims.begin();)
      if ((--d)->reduces()) {
        *depth = *d;
        dims.erase(d);
        break;
      }
  sortBy(dims, [](const Dimension &d) { return d.reduces(); });
  outer = dims;
  return true;
}

/// The innermost dimension is the one to make vectors of, that with the
/// shortest stride; the one before it, rows of vectors, is a reduction, if
/// there are some, else the longest. Other reductions are outermost, in order.
void PreparedNest::prepareVectors(Dimensions &dims) {
  sortBy(dims, [](const Dimension &d) {
    return d.reduces() ? std::numeric_limits<ptrdiff_t>::min()
                       : -std::abs(d.dst);
  });
  coalesce(dims);
  if (dims.size() > 0 && !(dims.end() - 1)->reduces()) {
    inner = *(dims.end() - 1);
    dims.erase(dims.end() - 1);
  }
  form = formOf(inner);
  if (form == Form::Strided && op == Opcode::Mov && types.plain())
    form = Form::Copy;
  const bool ofRows = form == Form::Rows || form == Form::Copy ||
                      form == Form::Strided || form == Form::Widen ||
                      form == Form::Narrow;
  if (ofRows && dims.size() > 0) {
    Dimension *best = dims.begin();
    for (Dimension &d : dims)
      if (best->reduces() ? d.reduces() : d.extent > best->extent)
        best = &d;
    if (form != Form::Strided || !best->reduces()) {
      row = *best;
      dims.erase(best);
      if (form == Form::Strided && row.extent > inner.extent && inner.dst != 1)
        std::swap(row, inner); // Elements are gathered along it.
    }
    if (form == Form::Rows && row.reduces())
      form = Form::Reduction;
  }
  outer = dims;
}

HalvesProblem PreparedNest::halves(WordPart part) const {
  const bool widens = form == Form::Widen;
  return {part.type,
          part.half,
          row.extent,
          inner.extent,
          widens ? row.a : row.dst,
          widens ? row.dst : row.a,
          inner.extent > 1 && inner.a == 0,
          apart};
}

/// One half of each word, then the other.
void PreparedNest::applyHalves(float *dst, const float *a) const {
  NestTypes its = types;
  WordPart &words = types.a.half == HalfOf::Apart ? its.a : its.dst;
  const bool widens = &words == &its.a;
  for (HalfOf half : {HalfOf::Lower, HalfOf::Upper}) {
    words.half = half;
    applyNumbers(op, its, inner, dst, a, nullptr);
    if (widens)
      dst += apart;
    else
      a += apart;
  }
}

void PreparedNest::run(float *dst, const float *a, const float *b) const {
  auto rows = [&](float *dst, const float *a, const float *b) -> RowsProblem {
    return {op,    row.extent,        inner.extent,
            dst,   row.dst,           {a, inner.a == 0},
            row.a, {b, inner.b == 0}, row.b};
  };
  switch (form) {
  case Form::Nothing:
    return;
  case Form::Rows:
    return forEach(outer, dst, a, b,
                   [&](float *dst, const float *a, const float *b) {
                     applyRows(rows(dst, a, b));
                   });
  case Form::Reduction:
    return forEach(outer, dst, a, b,
                   [&](float *dst, const float *a, const float *b) {
                     reduceRows(rows(dst, a, b));
                   });
  case Form::Copy:
    return forEach(outer, dst, a, b,
                   [&](float *dst, const float *a, const float *) {
                     copyStrided({row.extent, inner.extent, dst, row.dst,
                                  inner.dst, a, row.a, inner.a});
                   });
  case Form::Strided:
    return forEach(outer, dst, a, b,
                   [&](float *dst, const float *a, const float *b) {
                     applyAlong(op, types, row, inner, dst, a, b);
                   });
  case Form::Widen:
    return forEach(outer, dst, a, b,
                   [&](float *dst, const float *a, const float *) {
                     widenWords(halves(types.a), a, dst);
                   });
  case Form::Narrow:
    return forEach(outer, dst, a, b,
                   [&](float *dst, const float *a, const float *) {
                     narrowWords(halves(types.dst), a, dst);
                   });
  case Form::Numbers:
    return forEach(outer, dst, a, b,
                   [&](float *dst, const float *a, const float *b) {
                     if (types.apart())
                       return applyHalves(dst, a);
                     applyNumbers(op, types, inner, dst, a, b);
                   });
  case Form::Products:
    if (swapped)
      std::swap(a, b);
    return forEach(outer, dst, a, b,
                   [&](float *dst, const float *a, const float *b) {
                     const Factors factors{a, b};
                     accumulate(dst, &factors, 1);
                   });
  }
}

/// Of one index of the outer dimensions.
void PreparedNest::accumulate(float *dst, const Factors *factors,
                              size_t count) const {
  accumulateProducts({row.extent,
                      row.dst,
                      row.a,
                      {second.extent, second.a, second.b},
                      {inner.extent, inner.a, inner.b},
                      block.extent,
                      block.dst,
                      block.b,
                      columns,
                      dst,
                      factors,
                      count,
                      starts,
                      std::bit_cast<float>(start)});
}

void PreparedNest::run(float *dst, const Factors *sources, size_t count) const {
  Factors factors[mostJoined];
  for (size_t i = 0; i < count; ++i)
    factors[i] = swapped ? Factors{sources[i].b, sources[i].a} : sources[i];
  accumulate(dst, factors, count);
}

/// Whether no source lies where a nest writes, but element by element.
static bool readsApart(const Nest &nest) {
  auto reach = [&](const auto &operand) {
    auto low = reinterpret_cast<intptr_t>(operand.data), high = low;
    for (int d = 0; d < nest.dimensions; ++d) {
      const intptr_t last = intptr_t(nest.extent[d] - 1) * operand.stride[d];
      (last < 0 ? low : high) += last * intptr_t(sizeof(float));
    }
    return std::pair(low, high + intptr_t(sizeof(float)));
  };
  const auto [low, high] = reach(nest.dst);
  auto isApart = [&, low = low, high = high](const Strided<const float> &its) {
    const auto [first, last] = reach(its);
    return !its.data || last <= low || high <= first ||
           (its.data == nest.dst.data &&
            std::equal(its.stride, its.stride + nest.dimensions,
                       nest.dst.stride));
  };
  return isApart(nest.a) && isApart(nest.b);
}

std::optional<PreparedNest> PreparedNest::repeated(const Dimension &times,
                                                   const float *dst,
                                                   const float *a,
                                                   const float *b) const {
  const bool ofElements =
      form == Form::Rows || form == Form::Copy || form == Form::Strided;
  if (!ofElements || types.checks(op) || outer.size() + 3 > maxDimensions)
    return {};
  Nest nest;
  nest.op = op;
  nest.types = types;
  nest.dst.data = const_cast<float *>(dst);
  nest.a.data = a;
  nest.b.data = b;
  bool stays = false;
  auto push = [&](const Dimension &its) {
    const int d = nest.dimensions++;
    stays |= its.extent > 1 && its.reduces();
    nest.extent[d] = its.extent;
    nest.dst.stride[d] = its.dst;
    nest.a.stride[d] = its.a;
    nest.b.stride[d] = its.b;
  };
  push(times);
  for (const Dimension &its : outer)
    push(its);
  push(row);
  push(inner);
  if (stays || !readsApart(nest) ||
      !namesEachOnce(nest.dimensions, nest.extent, nest.dst.stride))
    return {};
  static constexpr float elsewhere = 0;
  for (Strided<const float> *source : {&nest.a, &nest.b})
    if (!source->data)
      source->data = &elsewhere;
  return PreparedNest(nest);
}

void PreparedNest::prefetch(const float *a, const float *b, bool aNew,
                            bool bNew) const {
  if (!asks() || outer.size() > 0)
    return;
  constexpr ptrdiff_t line = 16;  // floats
  constexpr ptrdiff_t most = 256; // lines
  if (isProduct() && (swapped ? aNew : bNew)) {
    ptrdiff_t reach = ptrdiff_t(columns);
    for (const Dimension &d : {inner, second, block})
      reach += ptrdiff_t(d.extent - 1) * std::abs(d.b);
    for (ptrdiff_t at = 0; at < std::min(reach, most * line); at += line)
      __builtin_prefetch((swapped ? a : b) + at, 0, 2);
  }
  const float *factors = swapped ? b : a;
  // The shorter stride is that of the pieces.
  Dimension piece = inner, next = row;
  if (std::abs(next.a) < std::abs(piece.a))
    std::swap(piece, next);
  if (std::abs(next.a) < line)
    return; // The processor finds out by itself.
  const ptrdiff_t length = std::abs(piece.a) * ptrdiff_t(piece.extent - 1) + 1;
  const ptrdiff_t lines = length / line + 1;
  const auto pieces = std::min(ptrdiff_t(next.extent), most / lines);
  for (ptrdiff_t i = 0; i < pieces; ++i)
    for (ptrdiff_t at = 0; at < length + line; at += line)
      __builtin_prefetch(factors + i * next.a + at, 0, 2);
}

std::array<std::pair<ptrdiff_t, ptrdiff_t>, 3> PreparedNest::reaches() const {
  std::array<std::pair<ptrdiff_t, ptrdiff_t>, 3> result{
      {{0, 1}, {0, 1}, {0, 1}}};
  auto add = [&](const Dimension &d) {
    const ptrdiff_t strides[] = {d.dst, d.a, d.b};
    for (size_t i = 0; i < 3; ++i) {
      const ptrdiff_t last = ptrdiff_t(d.extent - 1) * strides[i];
      (last < 0 ? result[i].first : result[i].second) += last;
    }
  };
  for (const Dimension &d : outer)
    add(d);
  for (const Dimension &d : {inner, row, second, block})
    add(d);
  if (isProduct())
    add({columns, 1, 0, 1});
  // Halves of a word lie side by side or apart.
  if (!types.floats())
    for (auto &[begin, end] : result) {
      (apart < 0 ? begin : end) += apart;
      ++end;
    }
  if (swapped)
    std::swap(result[1], result[2]);
  return result;
}

size_t PreparedNest::hash() const {
  size_t result = size_t(op) * 8 + size_t(form);
  auto mix = [&](size_t value) {
    result = (result ^ value) * 0x9e3779b97f4a7c15;
    result ^= result >> 29;
  };
  auto mixDimension = [&](const Dimension &d) {
    mix(d.extent);
    mix(size_t(d.dst));
    mix(size_t(d.a));
    mix(size_t(d.b));
  };
  for (size_t part : {size_t(types.numbers), size_t(types.noWrap),
                      size_t(types.rounded), size_t(starts), size_t(start)})
    mix(part);
  for (WordPart part : {types.dst, types.a, types.b})
    mix(size_t(part.type) * 4 + size_t(part.half));
  for (const Dimension &d : outer)
    mixDimension(d);
  for (const Dimension &d : {inner, row, second, block})
    mixDimension(d);
  mix(columns);
  mix(size_t(apart));
  return result;
}

/// Of one element, on one core: what kernels reach on short vectors.
static double nanosecondsPerElement(Opcode op) {
  if (op == Opcode::Fmac)
    return 0.03;
  return factsOf(op).software == OpcodeFacts::Function ? 3 : 0.2;
}

double PreparedNest::estimateNanoseconds() const {
  double vectors = 1;
  for (const Dimension &d : outer)
    vectors *= double(d.extent);
  double elements =
      vectors *
      double(inner.extent * row.extent * second.extent * block.extent) *
      double(std::max<size_t>(columns, 1));
  return 20 + 10 * vectors + elements * nanosecondsPerElement(op);
}

void execute(const Nest &nest) {
  PreparedNest(nest).run(nest.dst.data, nest.a.data, nest.b.data);
}

} // namespace wsec::runtime
