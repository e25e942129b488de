// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/program/facts/NamedBuffers.h"
#include "runtime/program/NearestNames.h"
#include "runtime/program/RectSet.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace wsec::runtime {

namespace {

/// The number below `modulus` that, times `a`, leaves 1; the two share no
/// divisor.
int64_t inverse(int64_t a, int64_t modulus) {
  int64_t r = modulus, next = a % modulus, t = 0, inverse = 1;
  while (next != 0) {
    const int64_t quotient = r / next;
    r = std::exchange(next, r - quotient * next);
    t = std::exchange(inverse, t - quotient * inverse);
  }
  return (t % modulus + modulus) % modulus;
}

/// Coordinates that two strided ranges share: every lcm(astep, bstep) from the
/// first one on, by the Chinese remainder theorem.
int64_t commonCount(int64_t a0, int64_t a1, int64_t astep, int64_t b0,
                    int64_t b1, int64_t bstep) {
  const int64_t divisor = std::gcd(astep, bstep);
  if ((b0 - a0) % divisor != 0)
    return 0;
  const int64_t modulus = bstep / divisor, period = astep * modulus;
  const int64_t wanted = ((b0 - a0) / divisor % modulus + modulus) % modulus;
  int64_t first =
      a0 + wanted * inverse(astep / divisor, modulus) % modulus * astep;
  const int64_t low = std::max(a0, b0), high = std::min(a1, b1);
  if (first < low)
    first += (low - first + period - 1) / period * period;
  return first < high ? (high - 1 - first) / period + 1 : 0;
}

int64_t commonPes(const program::Rect &a, const program::Rect &b) {
  return commonCount(a.x0(), a.x1(), a.xstep(), b.x0(), b.x1(), b.xstep()) *
         commonCount(a.y0(), a.y1(), a.ystep(), b.y0(), b.y1(), b.ystep());
}

} // namespace

NamedBuffers::NamedBuffers(const program::Program &program) {
  for (const program::PEClass *peClass : *program.classes())
    if (peClass->buffers())
      for (const program::Buffer *buffer : *peClass->buffers())
        buffers.insert({buffer->name()->string_view(), {peClass, buffer}});
}

int64_t NamedBuffers::visit(const flatbuffers::String &name,
                            const program::Rect &rect, CheckerWork &work,
                            const Where &where, const Visit &visit) const {
  auto [named, end] = buffers.equal_range(name.string_view());
  const program::PEClass *before = nullptr;
  for (auto at = named; at != end; ++at)
    if (std::exchange(before, at->second.first) == at->second.first)
      throw badProgram(where, "class " + inQuotes(before->name()->str()) +
                                  " has two buffers " + inQuotes(name.str()));
  int64_t covered = 0;
  for (; named != end; ++named) {
    auto [peClass, buffer] = named->second;
    work.add(1, peClass->rects()->size(), "to find who has its buffer", where);
    int64_t common = 0;
    for (const program::Rect *its : *peClass->rects())
      common += commonPes(*its, rect);
    if (common > 0)
      visit(*peClass, *buffer);
    covered += common;
  }
  return covered;
}

std::string NamedBuffers::nearest(const flatbuffers::String &name) const {
  std::vector<std::string> names;
  for (const auto &[known, buffer] : buffers)
    names.emplace_back(known);
  return nearestNames(name.str(), names);
}

} // namespace wsec::runtime
