// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One execution of a vector instruction, by all PEs of a strip or by one of
// them: computes as far as words have arrived, then waits for more.
#ifndef RUNTIME_STRIPS_INSTRUCTIONRUN_H
#define RUNTIME_STRIPS_INSTRUCTIONRUN_H

#include "runtime/pe/Costs.h"
#include "runtime/strips/Datapath.h"
#include "runtime/strips/Execute.h"
#include "runtime/strips/FabricSource.h"
#include "runtime/strips/NestRunner.h"
#include "runtime/strips/World.h"

#include "runtime/program/Errors.h"

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace wsec::runtime {

/// What a memory operand touches, in halves of words of the SRAM.
struct MemoryPattern {
  int64_t first = 0;
  int dimensions = 0;
  int64_t extent[maxExtents + 1] = {}, stride[maxExtents + 1] = {};

  int64_t lowest = 0, highest = 0; ///< of all its halves
  bool none = false;               ///< there are no halves

  /// Finds the span, once the rest is known.
  void close();
  int64_t low() const { return lowest; }
  int64_t high() const { return highest; }
  bool empty() const { return none; }
  bool operator==(const MemoryPattern &other) const;
  /// Whether the spans from lowest to highest have halves in common.
  bool overlaps(const MemoryPattern &other) const {
    return low() <= other.high() && other.low() <= high();
  }
  /// Whether some half of a word is in both.
  bool sharesHalves(const MemoryPattern &other) const;
};

/// Calls `visit(first, count)` for runs of consecutive halves that cover a
/// pattern.
template <class Visit>
void forEachRun(const MemoryPattern &p, const Visit &visit) {
  if (p.empty())
    return;
  // Dimensions that stay in place add nothing; those that continue their inner
  // neighbour are joined with it.
  int64_t n[maxExtents + 1] = {1, 1, 1, 1, 1}, s[maxExtents + 1] = {};
  int used = maxExtents + 1;
  int64_t last = 1;
  for (int d = p.dimensions; d-- > 0;) {
    if (p.stride[d] == 0 || p.extent[d] == 1)
      continue;
    if (p.stride[d] == last) {
      last *= p.extent[d];
      continue;
    }
    --used;
    n[used] = p.extent[d];
    s[used] = p.stride[d];
    if (last == 1)
      last = 0; // No run of more than one half.
  }
  const int64_t run = std::max<int64_t>(1, last);
  for (int64_t h = 0; h < n[0]; ++h)
    for (int64_t i = 0; i < n[1]; ++i)
      for (int64_t j = 0; j < n[2]; ++j)
        for (int64_t k = 0; k < n[3]; ++k)
          for (int64_t l = 0; l < n[4]; ++l)
            visit(p.first + h * s[0] + i * s[1] + j * s[2] + k * s[3] +
                      l * s[4],
                  run);
}

/// Notes that PE `lane` (-1: all) has written the words of a pattern.
void markInitialised(Strip &strip, const MemoryPattern &pattern, int lane);

/// Whether PE `lane` (-1: all) has written the words of a pattern, but for
/// halves that `isOwn`.
bool isWritten(Strip &strip, const MemoryPattern &pattern, int lane,
               const std::function<bool(int64_t half)> &isOwn);

/// Who executes what, in which launch.
struct RunSite {
  World &world;
  Strip &strip;
  const InstructionCode &code;
  size_t launch;
  int lane;      ///< -1: all lanes
  int count = 1; ///< lanes from that one on, of instructions on memory
};

class InstructionRun {
public:
  /// Memory of those that are done is used again, while it is in the cache.
  static void *operator new(size_t bytes);
  static void operator delete(void *memory, size_t bytes);

  /// Resolves and checks the operands. Called by the main thread.
  InstructionRun(const RunSite &site, Bindings bindings);
  /// Throws UninitializedRead if it reads what nothing has written; notes what
  /// it writes at once.
  void touch();

  /// Sets when it starts.
  void start(double time);
  /// True when it is complete; else `actor` is woken to go on.
  bool advance(Actor &actor);
  /// When it was complete.
  double time() const { return now; }
  /// Cycles of its steps, known from the beginning.
  double work() const { return double(steps) * cost.perStep; }
  /// The share of these in which it has the datapath, if it takes one step, for
  /// which it waits for nothing: the overhead of calls in a nest leaves it to
  /// others. Words that others relay at the pace of several steps come as a
  /// step begins, not in the gap behind it.
  std::optional<double> share() const {
    return stepDepth == 0 && steps == 1 && cost.perStep > 0
               ? std::optional(cost.compute / cost.perStep)
               : std::nullopt;
  }
  /// Words that it takes from the fabric, those that it drops too.
  double wordsReceived() const { return wordsReceived(0) + wordsReceived(1); }
  /// Cycles between words that it takes, on average, while the main thread
  /// `works` and has every second cycle, or does not: those it drops pass
  /// meanwhile. What it hears of what it sends takes as much again. 0: words
  /// come at once.
  double apart(bool works) const;
  /// Whether its words are there as fast as it takes them: those that it sends
  /// from SRAM, or gets from a channel that brings no others meanwhile.
  bool isAhead() const;
  /// Whether it takes those of a channel's words that are for it; others are
  /// for PEs beside it.
  bool isOfRow() const;
  /// How much longer these take while others have the datapath: those of a
  /// window hold up what follows for other PEs.
  Datapath::Slowed slowed() const;

  const InstructionCode &code() const { return site.code; }
  const Strip &strip() const { return site.strip; }
  size_t launch() const { return site.launch; }
  int lane() const { return site.lane; }
  /// Destination in SRAM, if there is one and anything is written.
  const std::optional<MemoryPattern> &destination() const { return written; }
  /// Sources in SRAM, likewise.
  const std::optional<MemoryPattern> &source(int index) const {
    return reads[index];
  }
  /// Colors it receives (-1: none) and sends.
  std::array<int, 2> receives() const {
    return {sources[0].color, sources[1].color};
  }
  int sends() const { return sendColor; }
  /// The color it sends if its words come back to it, else -1.
  int echo() const;
  /// Words that source `index` takes from the fabric, those that it drops too.
  double wordsReceived(int index) const;
  /// Whether it reads or writes some of `pattern`.
  bool touches(const MemoryPattern &pattern) const;
  bool writes(const MemoryPattern &pattern) const {
    return written && written->sharesHalves(pattern);
  }
  /// The color it waits on, for room or for a word.
  int waitsOn() const { return lacksRoom() ? sendColor : waitsForColor; }
  bool lacksRoom() const { return waitsForColor < 0; }
  /// "fmac waits for color 5".
  std::string describeWait() const;

private:
  struct Source {
    program::OperandKind kind = program::OperandKind::None;
    std::optional<SramElements> sram;
    // Fabric.
    std::optional<FabricSource> fabric;
    int depth = 0;
    int color = -1;
    size_t group = 1; ///< steps that share a word
    Chunk chunk;      ///< of the last peek
    float immediate = 0;
  };
  /// A rectangle of the steps: `count` indices of dimension `dimension`, all
  /// of the inner ones.
  struct Block {
    int dimension = 0;
    size_t count = 1;
    size_t steps = 1;
  };

  void resolve(Bindings bindings);
  void resolveSource(Source &source, const OperandCode &operand,
                     Bindings bindings);
  void resolveFabric(Source &source, const OperandCode &operand,
                     Bindings bindings);
  void resolveDestination(Bindings bindings);
  MemoryPattern pattern(const OperandCode &operand, Bindings bindings) const;
  void checkInitialised(const MemoryPattern &read, const OperandCode &operand,
                        int lane) const;
  void touch(int lane);
  void checkSender() const;
  void findOverlap();
  [[noreturn]] void fail(ErrorClass errorClass, const std::string &what,
                         int lane = 0) const;

  bool step(Actor &actor);
  void send(Chunk chunk, Actor &actor);
  bool settle();
  void openTicket(Actor &actor);
  void awaitAll(Actor &actor);
  void acknowledge();
  size_t fit(Source &source, size_t available);
  Block chooseBlock(size_t available) const;
  bool forwards() const;
  void askToForward(Actor &actor);
  /// What became of chunks to pass on: there are none that can be passed on as
  /// they are, some were, or it waits for them.
  enum class Passed { None, Some, Waits };
  Passed forwardChunks(Actor &actor);
  void forward(size_t available, bool taken, Actor &actor);
  Nest nestOf(const Block &block) const;
  void compute(const Block &block, Actor &actor);
  void send(const Block &block, Nest &nest, NestRunner::Operands &operands,
            Actor &actor);
  bool sendView(const Nest &nest, const StripMemory::Place &place,
                Chunk &chunk) const;
  NestOperand operand(const Source &source, const Block &block) const;
  std::optional<SramElements> within(const std::optional<SramElements> &all,
                                     const Block &block) const;
  SramElements elementsOf(const OperandCode &operand,
                          const MemoryPattern &pattern) const;
  uint32_t moveOf(const OperandCode &operand) const;
  void noteAccess(const std::optional<MemoryPattern> &pattern,
                  const OperandCode &operand, int lane, bool reads,
                  bool writes) const;
  void noteOrigin(int lane, bool readsOld) const;
  double receivedAt(size_t uses, const Source &source) const;
  double rampPerStep() const;
  void advanceTime(size_t steps, double &firstSent);
  void popSources(size_t steps);
  void report(Observer &observer) const;

  RunSite site;
  int dimensions = 0;
  int64_t extent[maxExtents] = {};
  size_t inner[maxExtents] = {}; ///< steps inside one index of a dimension
  int stepDepth = 0;
  size_t steps = 1, done = 0;
  InstructionCost cost;
  double began = 0, now = 0;
  double linkPerStep = 0; ///< where colors take turns as they leave the mesh
  int lanes = 1;          ///< executed together
  Source sources[2];      ///< a, b
  std::optional<MemoryPattern> written, reads[2];
  std::optional<SramElements> target;
  const Links *links = nullptr;
  const StripQueue *ownQueue = nullptr; ///< of what it sends, once it was asked
  int sendColor = -1;
  mutable std::optional<bool> hears; ///< its own words, once somebody asked
  bool ordered = false;
  int waitsForColor = -1;
  bool waitsForRoom = false;
  Ticket ticket; ///< of what was sent last, if it awaits that this is taken
  bool awaitsTaken = false;
  bool isPaced = false; ///< some of what it sends is
  bool awaited = false; ///< what it sent in chunks that fit
  double taking = 0;    ///< since when, words that are not acknowledged
};

} // namespace wsec::runtime

#endif // RUNTIME_STRIPS_INSTRUCTIONRUN_H
