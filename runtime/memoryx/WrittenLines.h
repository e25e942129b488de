// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RUNTIME_MEMORYX_WRITTENLINES_H
#define RUNTIME_MEMORYX_WRITTENLINES_H

#include "runtime/engine/HostPort.h"
#include "runtime/engine/MemoryRoom.h"

#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

namespace wsec::runtime {

/// Lines of weights and constants as they travel, kept for further calls: these
/// find them where they are instead of converting and gathering them again.
/// Channels may use their own at the same time.
class WrittenLines {
public:
  explicit WrittenLines(size_t mostBytes) : room(mostBytes) {}

  /// The lines of a channel, in the order in which it writes them. `arguments`
  /// are those of the stream that say which they are. Not while others ask.
  std::vector<WordView> &of(uint32_t stream, uint32_t channel,
                            const std::vector<int64_t> &arguments) {
    return lines[{stream, channel, arguments}];
  }
  /// For more of them.
  MemoryRoom room;

private:
  std::map<std::tuple<uint32_t, uint32_t, std::vector<int64_t>>,
           std::vector<WordView>>
      lines;
};

} // namespace wsec::runtime

#endif // RUNTIME_MEMORYX_WRITTENLINES_H
