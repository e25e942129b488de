// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/files/ProceduralFile.h"
#include "runtime/files/Digest.h"

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace wsec::runtime {

static constexpr absl::string_view kScheme = "procedural:";

bool ProceduralFile::isNamedBy(const std::string &location) {
  return absl::StartsWith(location, kScheme);
}

std::optional<ProceduralFile>
ProceduralFile::parse(const std::string &location) {
  if (!isNamedBy(location))
    return std::nullopt;
  ProceduralFile file;
  const std::string rest = location.substr(kScheme.size());
  const std::vector<std::string> fields = absl::StrSplit(rest, ',');
  // All of it, in order, so that one file has one name.
  const bool wellFormed = fields.size() == 3 &&
                          absl::StartsWith(fields[0], "seed=") &&
                          absl::SimpleAtoi(fields[0].substr(5), &file.seed) &&
                          absl::StartsWith(fields[1], "range=") &&
                          absl::SimpleAtof(fields[1].substr(6), &file.range) &&
                          absl::StartsWith(fields[2], "mean=") &&
                          absl::SimpleAtof(fields[2].substr(5), &file.mean) &&
                          std::isfinite(file.range) && std::isfinite(file.mean);
  if (!wellFormed)
    return std::nullopt;
  return file;
}

std::string ProceduralFile::location() const {
  return absl::StrFormat("%sseed=%d,range=%.9g,mean=%.9g", kScheme, seed, range,
                         mean);
}

uint64_t ProceduralFile::digest() const {
  const std::string name = location();
  return digestOf(name.data(), name.size()) | 1;
}

std::optional<std::vector<char>> ProceduralFile::bytesAt(uint64_t offset,
                                                         uint64_t bytes) const {
  if (offset % sizeof(float) != 0 || bytes % sizeof(float) != 0)
    return std::nullopt;
  std::vector<float> elements(bytes / sizeof(float));
  read(offset / sizeof(float), 1, elements.size(), elements.data());
  std::vector<char> result(bytes);
  std::memcpy(result.data(), elements.data(), bytes);
  return result;
}

static uint64_t splitMix(uint64_t x) {
  x += 0x9e3779b97f4a7c15U;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

static uint64_t keyOf(uint64_t seed, uint64_t block) {
  return splitMix(seed + block * 0x9e3779b97f4a7c15U);
}

static inline uint32_t mixed(uint32_t x, uint32_t low, uint32_t high) {
  x ^= low;
  x ^= x >> 16;
  x *= 0x7feb352dU;
  x += high;
  x ^= x >> 15;
  x *= 0x846ca68bU;
  return x ^ (x >> 16);
}

/// Two roundings, on every processor: no fused multiply-add.
static inline float element(uint32_t bits, float range, float mean) {
#pragma clang fp contract(off)
  const auto centered = float(int32_t(bits >> 8) - (1 << 23));
  const float moved = range * (centered * 0x1p-23F);
  return mean + moved;
}

void ProceduralFile::read(uint64_t first, int64_t stride, size_t count,
                          float *to) const {
  const float r = range, m = mean;
  while (count > 0) {
    // As many as have one key; their numbers have 32 bits.
    const uint64_t block = first >> 32;
    const uint64_t key = keyOf(seed, block);
    const auto low = uint32_t(key), high = uint32_t(key >> 32);
    const auto start = uint32_t(first);
    uint64_t same = count;
    if (stride > 0)
      same = (uint64_t(UINT32_MAX) - start) / uint64_t(stride) + 1;
    else if (stride < 0)
      same = start / uint64_t(-stride) + 1;
    const size_t n = size_t(std::min<uint64_t>(same, count));
    const auto step = uint32_t(stride);
    for (size_t i = 0; i < n; ++i)
      to[i] = element(mixed(start + uint32_t(i) * step, low, high), r, m);
    to += n;
    count -= n;
    first += n * uint64_t(stride);
  }
}

} // namespace wsec::runtime
