// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RUNTIME_WAVELET_MEMORY_H
#define RUNTIME_WAVELET_MEMORY_H

#include "runtime/engine/Code.h"

#include <cstdint>
#include <vector>

namespace wsec::runtime::wavelet {

/// The data part of one PE's SRAM, by byte address, and which of it has been
/// written since the start of the run.
class Memory {
public:
  explicit Memory(const ClassCode &code)
      : base(code.firstDataWord * 4),
        bytes(size_t(std::max<int64_t>(0, code.endDataWord * 4 - base))),
        written(bytes.size() / 128 + 1) {}

  uint8_t *at(int64_t address) { return bytes.data() + (address - base); }
  const uint8_t *at(int64_t address) const {
    return bytes.data() + (address - base);
  }
  /// Whether all of [address, address + size) has been written.
  bool initialised(int64_t address, int64_t size) const;
  void mark(int64_t address, int64_t size);

private:
  /// Calls `visit(word, mask)` for the bits of a range; one for two bytes.
  template <class Visit>
  void forEachWord(int64_t address, int64_t size, const Visit &visit) const;

  int64_t base;
  std::vector<uint8_t> bytes;
  std::vector<uint64_t> written;
};

} // namespace wsec::runtime::wavelet

#endif // RUNTIME_WAVELET_MEMORY_H
