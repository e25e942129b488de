// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What one run computes, written down: every nest with the memory its operands
// lie in, and what passes between wafer and host. Where that does not depend
// on the data, later runs can replay it (see Replay.h).
#ifndef RUNTIME_STRIPS_RECORDING_H
#define RUNTIME_STRIPS_RECORDING_H

#include "runtime/engine/HostPort.h"
#include "runtime/pe/VectorKernels.h"
#include "runtime/strips/Execute.h"
#include "runtime/strips/SpinLock.h"

#include <algorithm>
#include <atomic>
#include <compare>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

namespace wsec::runtime {

/// Threads of a run write into it at the same time, operations behind those
/// whose results they read. It is read when they are done.
class Recording {
public:
  using BufferId = uint32_t;
  static constexpr BufferId nothing = 0; ///< of an operand that is absent

  /// Memory that operands lie in.
  struct Buffer {
    enum class Kind : uint8_t {
      Nothing,
      Constant,
      External, ///< what was there before, and does not change
      Sram,
      Moving, ///< an Sram, where a replay may find it elsewhere
      Scratch,
      View
    };
    Kind kind = Kind::Nothing;
    const float *base = nullptr;
    size_t floats = 0;      ///< of Sram and Scratch
    uint32_t viewIndex = 0; ///< or index of `moving`
  };

  /// How arguments of a launch move operands: element of four bytes i lies
  /// scale * argument words further on, in each of `lanes` PEs.
  struct Move {
    uint32_t launch = 0, lanes = 0;
    std::vector<std::pair<uint16_t, int64_t>> terms = {}; ///< argument, scale
    auto operator<=>(const Move &) const = default;
  };
  struct Moving {
    BufferId area; ///< what moves
    uint32_t move; ///< how, index of `moves`
  };

  /// Words that the host gave: what was asked for, and their form.
  struct View {
    uint32_t stream, channel;
    size_t maxWords, rows, length, stride, wordStride;
    bool constant; ///< the same words in all runs
  };

  struct Operand {
    BufferId buffer = nothing;
    ptrdiff_t offset = 0; ///< in floats
    bool operator==(const Operand &) const = default;
  };

  struct Operation {
    enum class Kind : uint8_t {
      Compute,    ///< nest `index`
      Next,       ///< takes view `index` from the host
      Store,      ///< gives view `index` of `a` to the host
      Launch,     ///< the first PE enters launch `index`
      Interleave, ///< words of lanes, `index` of `interleaved`
      Expect      ///< finds in `a` what it found, `index` of `expectations`
    };
    Kind kind;
    uint32_t actor; ///< whose operations follow one another
    uint32_t index;
    Operand dst, a, b;
    /// Compute: 0, or one more than its place in `joined`.
    uint32_t parts = 0;
  };

  /// One of several nests into the same destination that were executed as one,
  /// since the views that they read lie evenly apart. If those of a later run
  /// do not, each is executed by itself.
  struct Part {
    uint32_t index; ///< of the nest
    Operand a, b;
    ptrdiff_t aOffset, bOffset; ///< of its sources from the first's, in bytes
  };

  /// A nest that is computed, and what was joined to it.
  struct Joined {
    Nest nest;
    BufferId a = nothing, b = nothing;
    std::vector<Part> parts = {};
  };

  /// Words that lanes got from different senders, brought side by side.
  struct Interleaved {
    InterleaveProblem problem;
    std::vector<Operand> sources;
  };

  /// Bits of a word that decided where operands lie.
  struct Expectation {
    uint32_t bits, mask;
  };

  /// Words [begin, end) of an SRAM.
  struct Words {
    const float *begin, *end;
  };

  /// Holds at most about `limitBytes`; a longer run is not recorded. `lasting`
  /// are words, in order, that outlive it.
  explicit Recording(size_t limitBytes, std::vector<Words> lasting = {});

  BufferId addSram(const float *base, size_t floats);
  BufferId addScratch(const float *base, size_t floats);
  /// A constant, and where it is read.
  std::pair<BufferId, const float *> addConstant(float value);
  BufferId addExternal(const float *base);
  /// A move, by its place; the first is none. And an SRAM that moves so.
  uint32_t addMove(Move move);
  BufferId moving(BufferId area, uint32_t move);
  /// Some operand that should move so cannot.
  void pin(uint32_t move) {
    Guard guard(lock);
    pinned.insert(move);
  }
  BufferId addView(uint32_t actor, uint32_t stream, uint32_t channel,
                   size_t maxWords, const WordView &view);

  /// Whether both hold words of the host.
  bool areViews(BufferId a, BufferId b);

  /// Executes a nest and notes it. `parts` are of a nest that was joined.
  void compute(uint32_t actor, const Nest &nest, BufferId dst, BufferId a,
               BufferId b, std::vector<Part> parts = {});
  /// Executes several nests with one destination, one behind the other.
  void compute(uint32_t actor, BufferId dst, std::vector<Joined> nests);
  /// A part of a joined nest; the offsets are set as that is computed.
  Part part(const Nest &nest, BufferId a, BufferId b);
  /// Notes a copy, made elsewhere: `rows` x `length` words. Strides of rows
  /// and words.
  void copy(uint32_t actor, size_t rows, size_t length, Strided<float> dst,
            BufferId dstBuffer, Strided<const float> from, BufferId fromBuffer);
  /// Notes an interleaving, made elsewhere.
  void interleave(uint32_t actor, const InterleaveProblem &problem, float *dst,
                  BufferId dstBuffer, const std::vector<const float *> &sources,
                  const std::vector<BufferId> &sourceBuffers);
  void store(uint32_t actor, uint32_t stream, uint32_t channel,
             const WordView &words, BufferId buffer);
  /// What follows holds only for runs that find the same bits in `word`.
  void expect(uint32_t actor, const float *word, BufferId buffer,
              uint32_t mask);
  void enterLaunch(uint32_t launch);

  /// Memory it takes, about.
  size_t bytes() const {
    return operations.size() * sizeof(Operation) +
           buffers.size() * sizeof(Buffer) + partBytes;
  }
  /// Whether all of the run is here.
  bool complete() const { return !overflown; }

  std::vector<Buffer> buffers{Buffer{}};
  std::vector<View> views;
  std::vector<PreparedNest> nests;
  std::vector<Operation> operations;
  std::vector<std::vector<Part>> joined;
  std::vector<Interleaved> interleaved;
  std::vector<Expectation> expectations;
  std::deque<float> constants; ///< that buffers point to
  std::vector<Move> moves{Move{}};
  std::vector<Moving> movings;
  std::set<uint32_t> pinned; ///< moves that must not take operands elsewhere
  /// What of the words that last operations write into, and perhaps more.
  std::vector<std::pair<Words, uint32_t>> lastingWrites; ///< and how they move
  /// Tensors of each stream that are written and read in the same call.
  std::vector<std::vector<uint32_t>> passing;

private:
  Operand operand(BufferId buffer, const float *data) const {
    return {buffer, buffer == nothing ? 0 : data - buffers[buffer].base};
  }
  using Guard = std::lock_guard<SpinLock>;
  BufferId add(Buffer buffer);
  void add(Operation operation);
  uint32_t indexOf(const PreparedNest &nest, size_t hash);
  void note(uint32_t actor, uint32_t index, const Nest &nest, BufferId dst,
            BufferId a, BufferId b);
  void note(uint32_t actor, uint32_t index, BufferId dst, Joined its);
  void noteWrites(BufferId dst, const float *from, ptrdiff_t span);

  SpinLock lock;
  const size_t limitBytes;
  const std::vector<Words> lasting;
  size_t partBytes = 0;
  bool overflown = false;
  std::unordered_multimap<size_t, uint32_t> nestIndex;  ///< by hash
  std::unordered_map<uint32_t, BufferId> constantIndex; ///< by bits
  std::map<Move, uint32_t> moveIndex;
  std::map<std::pair<BufferId, uint32_t>, BufferId> movingIndex;
};

/// Calls `visit` for all that an operation reads.
template <class Visit>
void forEachSource(const Recording &recording,
                   const Recording::Operation &operation, const Visit &visit) {
  visit(operation.a);
  visit(operation.b);
  if (operation.kind == Recording::Operation::Kind::Interleave)
    for (const Recording::Operand &source :
         recording.interleaved[operation.index].sources)
      visit(source);
  if (operation.parts)
    for (const Recording::Part &part : recording.joined[operation.parts - 1]) {
      visit(part.a);
      visit(part.b);
    }
}

} // namespace wsec::runtime

#endif // RUNTIME_STRIPS_RECORDING_H
