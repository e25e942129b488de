// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/program/Digest.h"

namespace wsec::runtime {

namespace {

constexpr uint64_t wholeFileLimit = 8ull << 20;
constexpr uint64_t blockBytes = 64 << 10;
constexpr uint64_t spacedBlocks = 64;

/// FNV-1a, 64 bit.
class Fnv {
public:
  void add(const uint8_t *data, uint64_t size) {
    for (uint64_t i = 0; i < size; ++i)
      state = (state ^ data[i]) * 0x100000001b3ull;
  }
  uint64_t value() const { return state; }

private:
  uint64_t state = 0xcbf29ce484222325ull;
};

} // namespace

uint64_t fileDigest(const void *data, uint64_t size) {
  auto *bytes = static_cast<const uint8_t *>(data);
  Fnv digest;
  uint8_t sizeBytes[8];
  for (int i = 0; i < 8; ++i)
    sizeBytes[i] = uint8_t(size >> (8 * i));
  digest.add(sizeBytes, sizeof(sizeBytes));
  if (size <= wholeFileLimit) {
    digest.add(bytes, size);
    return digest.value();
  }
  // Block i of 66 starts at i/65 of the way to the last one.
  uint64_t last = size - blockBytes;
  for (uint64_t i = 0; i <= spacedBlocks + 1; ++i) {
    uint64_t parts = spacedBlocks + 1;
    uint64_t start = last / parts * i + last % parts * i / parts;
    digest.add(bytes + start, blockBytes);
  }
  return digest.value();
}

} // namespace wsec::runtime
