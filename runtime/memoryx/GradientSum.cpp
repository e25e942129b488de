// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/memoryx/GradientSum.h"
#include "runtime/memoryx/Elements.h"
#include "runtime/program/Errors.h"

#include <algorithm>
#include <array>
#include <bit>

namespace wsec::runtime {

using program::ElementType;

/// Calls use(first, n, values) for pieces of the gradient as f32.
template <typename Use>
static void inPieces(ElementType type, const void *gradient, uint64_t count,
                     const Use &use) {
  std::array<float, 4096> piece;
  for (uint64_t first = 0; first < count; first += piece.size()) {
    const uint64_t n = std::min<uint64_t>(piece.size(), count - first);
    readElements(type, static_cast<const uint8_t *>(gradient), int64_t(first),
                 1, n, piece.data());
    use(first, n, piece.data());
  }
}

uint64_t GradientSum::samples() const {
  return partials.empty() ? 0 : partials.back().first + partials.back().samples;
}

void GradientSum::checkNext(uint64_t first, uint64_t samples,
                            uint64_t size) const {
  const std::string what = "a gradient of samples [" + std::to_string(first) +
                           ", " + std::to_string(first + samples) + ")";
  if (samples == 0)
    throw Error(ErrorClass::BadCall, what + " has no samples");
  if (first != this->samples())
    throw Error(ErrorClass::BadCall, what + " is out of order: sample " +
                                         std::to_string(this->samples()) +
                                         " comes next");
  if (first % size != 0)
    throw Error(ErrorClass::BadCall,
                what +
                    " is no subtree of the batch: its first sample is no "
                    "multiple of " +
                    std::to_string(size));
  if (!partials.empty() && !partials.back().isWhole())
    throw Error(ErrorClass::BadCall,
                what + " comes after the end of the batch, which " +
                    std::to_string(partials.back().samples) + " samples from " +
                    std::to_string(partials.back().first) + " on have set");
}

bool GradientSum::areHalves(const Partial &left, uint64_t first,
                            uint64_t size) {
  return left.size == size && left.first + size == first &&
         left.first % (2 * size) == 0;
}

std::unique_ptr<StateRegion> GradientSum::takeRegion() {
  if (spare.empty())
    return std::make_unique<StateRegion>(count, folder);
  auto region = std::move(spare.back());
  spare.pop_back();
  return region;
}

void GradientSum::add(ElementType type, const void *gradient, uint64_t first,
                      uint64_t samples) {
  const uint64_t size = std::bit_ceil(samples);
  checkNext(first, samples, size);
  if (partials.empty() || !areHalves(partials.back(), first, size)) {
    partials.push_back({first, samples, size, takeRegion()});
    float *to = partials.back().values->data();
    inPieces(type, gradient, count, [&](uint64_t at, size_t n, const float *g) {
      std::copy_n(g, n, to + at);
    });
    return;
  }
  float *to = partials.back().values->data();
  inPieces(type, gradient, count, [&](uint64_t at, size_t n, const float *g) {
    for (size_t i = 0; i < n; ++i)
      to[at + i] += g[i];
  });
  partials.back().samples += samples;
  partials.back().size *= 2;
  while (partials.size() > 1 &&
         areHalves(partials[partials.size() - 2], partials.back().first,
                   partials.back().size))
    mergeLast();
}

void GradientSum::mergeLast() {
  Partial right = std::move(partials.back());
  partials.pop_back();
  Partial &left = partials.back();
  float *to = left.values->data();
  const float *from = right.values->data();
  for (uint64_t i = 0; i < count; ++i)
    to[i] += from[i];
  left.samples += right.samples;
  left.size *= 2;
  spare.push_back(std::move(right.values));
}

const float *GradientSum::total() {
  while (partials.size() > 1)
    mergeLast();
  return partials.empty() ? nullptr : partials[0].values->data();
}

void GradientSum::mask(const std::vector<uint8_t> &kept) {
  if (!total())
    return;
  float *values = partials[0].values->data();
  for (size_t i = 0; i < kept.size(); ++i)
    if (!kept[i])
      values[i] = 0;
}

void GradientSum::clear() {
  for (Partial &partial : partials)
    spare.push_back(std::move(partial.values));
  partials.clear();
}

uint64_t GradientSum::bytes() const {
  return (partials.size() + spare.size()) * count * sizeof(float);
}

void GradientSum::release() const {
  for (const Partial &partial : partials)
    partial.values->release();
  for (const auto &region : spare)
    region->release();
}

} // namespace wsec::runtime
