// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What operations of a recording must wait for, and what need not be done when
// the recorded run did it.
#ifndef RUNTIME_STRIPS_OPERATIONORDER_H
#define RUNTIME_STRIPS_OPERATIONORDER_H

#include "runtime/strips/Recording.h"

#include <array>
#include <map>
#include <span>
#include <utility>
#include <vector>

namespace wsec::runtime {

using ChannelKey = std::pair<uint32_t, uint32_t>; ///< stream, channel

/// The channel that words are taken of or stored to.
inline ChannelKey channelOf(const Recording &recording,
                            const Recording::Operation &operation) {
  const Recording::View &view = recording.views[operation.index];
  return {view.stream, view.channel};
}

/// What operations must wait for: those of other actors, and takes.
class Dependencies {
public:
  explicit Dependencies(const Recording &recording);

  std::span<const uint32_t> of(uint32_t operation) const {
    return {list.data() + begins[operation],
            list.data() + begins[operation + 1]};
  }

private:
  static constexpr uint32_t none = UINT32_MAX;
  /// What must be used in the order of the recording: a buffer, a channel that
  /// is stored to, a tensor that is stored and taken in the same call.
  struct Resource {
    uint32_t writer = none;
    std::vector<uint32_t> readers; ///< since it was written
  };

  bool follows(uint32_t before, uint32_t after) const;
  void after(uint32_t operation, uint32_t other);
  void read(uint32_t operation, Resource &resource);
  void write(uint32_t operation, Resource &resource);
  Resource &resourceOf(const Recording::Operand &operand);
  void note(uint32_t index);

  const Recording &recording;
  std::vector<Resource> resources;      ///< buffers
  std::map<uint32_t, Resource> passing; ///< tensors
  std::map<ChannelKey, Resource> stored;
  std::vector<uint32_t> list, begins; ///< those of an operation side by side
};

/// Operations that only bring words of other actors into the SRAM of their own.
/// An actor may do them later than the recorded run did, before its next
/// operation that writes what they use, or uses what they write. Nobody else
/// waits for them: no other actor uses that SRAM, and what others have sent is
/// not written any more.
class Delays {
public:
  explicit Delays(const Recording &recording);

  /// Floats [begin, end) of a buffer.
  struct Range {
    Recording::BufferId buffer = Recording::nothing;
    ptrdiff_t begin = 0, end = 0;
    bool overlaps(const Range &other) const {
      return buffer != Recording::nothing && buffer == other.buffer &&
             begin < other.end && other.begin < end;
    }
  };
  /// What an operation writes, and what it reads.
  struct Ranges {
    Range written;
    std::array<Range, 2> read;
    std::vector<Range> more = {}; ///< that it reads, of several parts
    /// Whether one of two operations writes what the other uses.
    bool conflict(const Ranges &other) const;
  };

  /// Whether an operation may be put off.
  bool allowed(uint32_t operation) const;
  Ranges rangesOf(uint32_t operation) const;

private:
  static constexpr uint32_t none = UINT32_MAX;
  /// Who uses a buffer, and the last operation that writes it, and whose.
  struct Accesses {
    uint32_t actor = none;
    bool shared = false;
    uint32_t written = 0, writer = none;
  };
  const Recording &recording;
  std::vector<Accesses> accesses; ///< by buffer
};

} // namespace wsec::runtime

#endif // RUNTIME_STRIPS_OPERATIONORDER_H
