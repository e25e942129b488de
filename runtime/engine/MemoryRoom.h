// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RUNTIME_ENGINE_MEMORYROOM_H
#define RUNTIME_ENGINE_MEMORYROOM_H

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace wsec::runtime {

/// Memory that may still be used for something, by several threads.
class MemoryRoom {
public:
  explicit MemoryRoom(size_t bytes) : left(int64_t(bytes)) {}

  /// Whether there is room for further `bytes`, which are taken.
  bool take(size_t bytes) {
    int64_t now = left;
    while (now >= int64_t(bytes))
      if (left.compare_exchange_weak(now, now - int64_t(bytes)))
        return true;
    return false;
  }
  void giveBack(size_t bytes) { left += int64_t(bytes); }

private:
  std::atomic<int64_t> left;
};

} // namespace wsec::runtime

#endif // RUNTIME_ENGINE_MEMORYROOM_H
