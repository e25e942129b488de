// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RUNTIME_PE_MEMORY_H
#define RUNTIME_PE_MEMORY_H

#include <cstdint>
#include <memory>

namespace wsec::runtime::pe {

/// The buffers of one PE, and which of their 16-bit units have been written.
/// Nothing is allocated before the first access.
class Memory {
public:
  /// Bytes [begin, end) of the SRAM.
  void setRange(int64_t begin, int64_t end) {
    base = begin;
    size = end > begin ? end - begin : 0;
  }

  uint8_t *at(int64_t address) {
    if (!bytes)
      allocate();
    return bytes.get() + (address - base);
  }
  /// Whether it was ever accessed.
  bool touched() const { return bytes != nullptr; }
  /// Whether bytes [address, address + count) have all been written.
  bool written(int64_t address, int64_t count);
  void markWritten(int64_t address, int64_t count);
  /// Past the last unit that was written; 0: none was.
  int64_t endOfWritten() const;

private:
  void allocate();
  /// Calls `visit(word, mask)` for the marks of a range.
  template <class Visit>
  bool forEachMark(int64_t address, int64_t count, const Visit &visit);

  int64_t base = 0, size = 0;
  std::unique_ptr<uint8_t[]> bytes;
  std::unique_ptr<uint64_t[]> marks;
};

} // namespace wsec::runtime::pe

#endif // RUNTIME_PE_MEMORY_H
