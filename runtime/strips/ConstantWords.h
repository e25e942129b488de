// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RUNTIME_STRIPS_CONSTANTWORDS_H
#define RUNTIME_STRIPS_CONSTANTWORDS_H

#include "runtime/engine/MemoryRoom.h"
#include "runtime/strips/Recording.h"

#include <cstdint>
#include <optional>
#include <set>
#include <vector>

namespace wsec::runtime {

/// What of a recording has the same words in all runs, such as weights that
/// were brought side by side or widened: memory into which nothing but these is
/// moved, before any of it is read. Numbers that are computed with others are
/// none.
struct ConstantWords {
  /// Buffers of `lasting` outlive the recording.
  ConstantWords(const Recording &recording,
                const std::set<Recording::BufferId> &lasting);

  std::vector<bool> buffers;
  /// Operations that write them, or take words of the host, of channels that
  /// bring nothing else.
  std::vector<bool> operations;

private:
  void findMoved(const Recording &recording);
  void findTaken(const Recording &recording);
};

/// Where constant words lie for replays: side by side in the order in which
/// they are used.
class ConstantPlaces {
public:
  /// Nowhere, if there is no `room` for them.
  ConstantPlaces(const Recording &recording,
                 const std::set<Recording::BufferId> &lasting,
                 MemoryRoom *room);

  /// Gives them places; `operations` are all of the recording, in the order in
  /// which they are to be done.
  void place(const std::vector<uint32_t> &operations);

  /// Null: there are none.
  const ConstantWords *words() const { return its ? &*its : nullptr; }
  bool contains(Recording::BufferId buffer) const {
    return its && its->buffers[buffer] &&
           recording.buffers[buffer].kind == Recording::Buffer::Kind::Scratch;
  }
  size_t at(Recording::BufferId buffer) const { return *places[buffer]; }
  size_t floats() const { return all; } ///< of all of them

  /// Words of a channel that need not be taken once they are made.
  struct Known {
    uint32_t stream, channel;
    uint64_t words;
  };
  std::vector<Known> known() const;
  /// Views that these words are, by index.
  std::vector<bool> onlyTaken() const;

private:
  void place(Recording::BufferId buffer);

  const Recording &recording;
  std::optional<ConstantWords> its;
  std::vector<std::optional<size_t>> places;
  size_t all = 0, end = 0; ///< floats, and those that have a place
};

} // namespace wsec::runtime

#endif // RUNTIME_STRIPS_CONSTANTWORDS_H
