// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/strips/NestElements.h"

#include "runtime/pe/UnalignedFloat.h"

#include <algorithm>
#include <cstring>

namespace wsec::runtime {

using program::ElementType;
using program::Opcode;
using Dimension = PreparedNest::Dimension;

namespace {

constexpr size_t bufferLength = 512;

/// `rows` x `columns` elements, gathered one behind the other or scattered.
void gather(const float *data, ptrdiff_t row, ptrdiff_t column, size_t rows,
            size_t columns, float *buffer) {
  for (size_t r = 0; r < rows; ++r, data += row, buffer += columns) {
    const UnalignedFloat *from = data;
    if (column == 1) {
      std::memcpy(buffer, from, columns * sizeof(float));
      continue;
    }
    for (size_t i = 0; i < columns; ++i)
      buffer[i] = from[ptrdiff_t(i) * column];
  }
}
void scatter(const float *buffer, float *data, ptrdiff_t row, ptrdiff_t column,
             size_t rows, size_t columns) {
  for (size_t r = 0; r < rows; ++r, data += row, buffer += columns) {
    if (column == 1) {
      std::memcpy(data, buffer, columns * sizeof(float));
      continue;
    }
    for (size_t i = 0; i < columns; ++i)
      data[ptrdiff_t(i) * column] = buffer[i];
  }
}

/// Vectors of floats, computed with and rounded as the types say.
void computeFloats(Opcode op, const NestTypes &types, size_t n, float *dst,
                   VectorSource a, VectorSource b) {
  auto numbers = [](VectorSource source) -> NumberSource {
    return {reinterpret_cast<const Number *>(source.data), source.scalar};
  };
  if (types.numbers == NumberKind::Single) // at any address
    applyVector(op, n, dst, a, b);
  else
    evaluateElements(op, types.numbers, n, reinterpret_cast<Number *>(dst),
                     numbers(a), numbers(b));
  roundElements(types.rounded, n, dst);
}

/// Bytes of the word in front of the part.
ptrdiff_t bytesBefore(WordPart part) {
  return part.half == HalfOf::Upper ? 2 : 0;
}

/// Elements as numbers: one for each, or one for all.
NumberSource decode(const float *data, ptrdiff_t stride, WordPart part,
                    NumberKind kind, size_t n, Number *numbers) {
  if (!data)
    return {};
  const bool scalar = stride == 0;
  // Of an instruction on integers only an immediate is a float; one on halves
  // has such numbers already.
  if (kind != NumberKind::Single && scalar && part == WordPart())
    *numbers = immediateNumber(kind, *data);
  else
    decodeElements(part.type, kind, scalar ? 1 : n,
                   reinterpret_cast<const char *>(data) + bytesBefore(part),
                   stride * 4, numbers);
  return {numbers, scalar};
}

void requireIntegers(Opcode op, const NestTypes &types, size_t n,
                     NumberSource a, NumberSource b, const Number *old,
                     const float *target, ptrdiff_t stride) {
  static constexpr Number zero{.integer = 0};
  for (size_t i = 0; i < n; ++i) {
    const Number x = a.data[a.scalar ? 0 : i];
    const Number y = b.data ? b.data[b.scalar ? 0 : i] : zero;
    if (const char *what = integerProblem(op, types.numbers, types.dst.type,
                                          types.noWrap, x, y, old[i]))
      throw NestError(std::string(what) + ": its sources are " +
                          describeSources(types.numbers, x, y),
                      target + ptrdiff_t(i) * stride);
  }
}

} // namespace

void applyAlong(Opcode op, const NestTypes &types, const Dimension &rows,
                const Dimension &d, float *dst, const float *a,
                const float *b) {
  alignas(64) float aBuffer[bufferLength], bBuffer[bufferLength],
      results[bufferLength];
  const size_t columns = std::min(bufferLength, d.extent);
  const size_t most = bufferLength / columns;
  auto run = [&](float *dst, const float *a, const float *b, size_t rowCount,
                 size_t n) {
    auto source = [&](const float *data, ptrdiff_t row, ptrdiff_t column,
                      float *buffer) -> VectorSource {
      if (!data)
        return {data, true};
      if (column == 0 && (row == 0 || rowCount == 1)) {
        const UnalignedFloat *only = data; // It may be an immediate.
        *buffer = immediateNumber(types.numbers, *only).real;
        return {buffer, true};
      }
      if (column == 1 && rowCount == 1)
        return {data, false};
      gather(data, row, column, rowCount, n, buffer);
      return {buffer, false};
    };
    const bool inPlace = d.dst == 1 && rowCount == 1;
    if (!inPlace && readsOld(op))
      gather(dst, rows.dst, d.dst, rowCount, n, results);
    computeFloats(op, types, rowCount * n, inPlace ? dst : results,
                  source(a, rows.a, d.a, aBuffer),
                  source(b, rows.b, d.b, bBuffer));
    if (!inPlace)
      scatter(results, dst, rows.dst, d.dst, rowCount, n);
  };
  auto from = [](const auto *data, ptrdiff_t offset) {
    return data ? data + offset : data;
  };
  for (size_t row = 0; row < rows.extent; row += most)
    for (size_t done = 0; done < d.extent; done += columns) {
      const auto r = ptrdiff_t(row), i = ptrdiff_t(done);
      run(dst + r * rows.dst + i * d.dst, from(a, r * rows.a + i * d.a),
          from(b, r * rows.b + i * d.b), std::min(most, rows.extent - row),
          std::min(columns, d.extent - done));
    }
}

void applyNumbers(Opcode op, const NestTypes &types, const Dimension &d,
                  float *dst, const float *a, const float *b) {
  Number aNumbers[bufferLength], bNumbers[bufferLength], results[bufferLength];
  const ElementType type = types.dst.type;
  const bool checks = types.checks(op);
  for (size_t done = 0; done < d.extent; done += bufferLength) {
    const size_t n = std::min(bufferLength, d.extent - done);
    const ptrdiff_t at = ptrdiff_t(done);
    float *target = dst + at * d.dst;
    char *elements = reinterpret_cast<char *>(target) + bytesBefore(types.dst);
    const NumberSource x =
        decode(a ? a + at * d.a : a, d.a, types.a, types.numbers, n, aNumbers);
    const NumberSource y =
        decode(b ? b + at * d.b : b, d.b, types.b, types.numbers, n, bNumbers);
    if (op == Opcode::Fmac || op == Opcode::Select)
      decodeElements(type, types.numbers, n, elements, d.dst * 4, results);
    if (checks)
      requireIntegers(op, types, n, x, y, results, target, d.dst);
    evaluateElements(op, types.numbers, n, results, x, y);
    roundElements(types.rounded, n, &results->real);
    encodeElements(type, types.numbers, n, results, elements, d.dst * 4);
  }
}

} // namespace wsec::runtime
