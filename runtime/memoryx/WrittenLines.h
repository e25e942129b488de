// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RUNTIME_MEMORYX_WRITTENLINES_H
#define RUNTIME_MEMORYX_WRITTENLINES_H

#include "runtime/engine/HostPort.h"

#include <atomic>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace wsec::runtime {

/// Lines of weights and constants as they travel, kept for further runs of a
/// call: these find them where they are instead of converting and gathering
/// them again. Channels may use their own at the same time.
class WrittenLines {
public:
  explicit WrittenLines(size_t mostBytes) : left(int64_t(mostBytes)) {}

  /// The lines of a channel, in the order in which it writes them. Not while
  /// others ask.
  std::vector<WordView> &of(uint32_t stream, uint32_t channel) {
    return lines[{stream, channel}];
  }
  /// Whether there is room for further `bytes`, which are taken.
  bool take(size_t bytes) {
    int64_t now = left;
    while (now >= int64_t(bytes))
      if (left.compare_exchange_weak(now, now - int64_t(bytes)))
        return true;
    return false;
  }

private:
  std::map<std::pair<uint32_t, uint32_t>, std::vector<WordView>> lines;
  std::atomic<int64_t> left;
};

} // namespace wsec::runtime

#endif // RUNTIME_MEMORYX_WRITTENLINES_H
