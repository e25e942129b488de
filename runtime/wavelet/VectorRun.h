// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One execution of a vector instruction by one PE: step after step, as its
// words come in and room is made for those it sends.
#ifndef RUNTIME_WAVELET_VECTORRUN_H
#define RUNTIME_WAVELET_VECTORRUN_H

#include "runtime/engine/MicrothreadUses.h"
#include "runtime/wavelet/Cost.h"
#include "runtime/wavelet/Fabric.h"
#include "runtime/wavelet/Memory.h"

#include "runtime/program/Errors.h"

#include <string>
#include <vector>

namespace wsec::runtime::wavelet {

/// Where an instruction runs.
struct Place {
  const program::Program &program;
  const program::Machine &machine;
  const ClassCode &code;
  Fabric &fabric;
  Memory &memory;
  int pe;
};

class VectorRun {
public:
  /// Resolves the extents: how much work it is.
  void begin(const Place &place, const InstructionCode &code, Bindings bindings,
             size_t launch);
  /// Resolves and checks the operands. `snapshot`: memory sources are read now.
  void resolve(const Place &place, Bindings bindings, bool snapshot);

  /// What keeps a step from being taken.
  struct Wait {
    enum Kind { Nothing, Word, Room, Time } kind = Nothing;
    Cycle until = 0; ///< of Time
    int color = 0;
  };
  /// Whether the next step can be taken at `now`.
  Wait prepare(const Place &place, Cycle now);
  /// Drops the words outside windows that have come. The ramp does that by
  /// itself, one in each cycle, whatever the thread is at.
  Wait drop(const Place &place, Cycle now);
  /// Takes a step that `prepare` allowed.
  void step(const Place &place, Cycle now);
  /// Whether all steps are taken and all windows are closed.
  bool finished() const { return done == steps && closed; }

  const Cost &cost() const { return price; }
  const InstructionCode &code() const { return *source; }
  size_t launch() const { return launchIndex; }
  uint64_t elements() const { return total; }
  size_t stepsTaken() const { return done; }
  /// Colors it receives (-1: none), and sends.
  int receives(int operand) const { return sources[operand].color; }
  int sends() const { return sendColor; }
  InstructionUse use() const;
  /// Throws UninitializedRead if a memory source has elements that nothing has
  /// written yet.
  void checkSources(const Place &place) const;
  const Wait &waitsOn() const { return waiting; }
  /// "fmac waits for a word of color 5".
  std::string describeWait() const;
  /// "fmac, step 3 of 8, waits for a word of color 5".
  std::string describeState() const;

private:
  struct MemoryOperand {
    uint8_t *data = nullptr;           ///< element (0, ..)
    int64_t address = 0;               ///< of it, in SRAM
    ptrdiff_t stride[maxExtents] = {}; ///< in bytes
    MemorySpan span;
    bool unchecked = false; ///< every byte is known to be initialised
  };
  struct Source : MemoryOperand {
    program::OperandKind kind = program::OperandKind::None;
    program::ElementType type{};
    int color = -1;
    size_t group = 1;  ///< steps that share an element
    Number number{};   ///< of the fabric or immediate
    uint32_t rest = 0; ///< second element of a pair
    bool hasRest = false;
    std::vector<uint8_t> snapshot;
    // Window: of each period of `total` words, `used` from `offset` on.
    bool windowed = false;
    size_t periods = 0, total = 0, offset = 0, used = 0, received = 0;

    bool needsWord(size_t step) const {
      return color >= 0 && step % group == 0 && !hasRest;
    }
    size_t phase() const { return received % total; }
    /// Whether the next word is one to drop.
    bool outside() const {
      return windowed && received < periods * total &&
             (phase() < offset || phase() >= offset + used);
    }
  };

  [[noreturn]] void fail(const Place &place, ErrorClass errorClass,
                         const std::string &what) const;
  void resolveMemory(const Place &place, MemoryOperand &operand,
                     const OperandCode &from, Bindings bindings) const;
  void resolveSource(const Place &place, Source &source,
                     const OperandCode &from, Bindings bindings, bool snapshot);
  void resolveWindow(const Place &place, Source &source,
                     const OperandCode &from, Bindings bindings);
  void checkInitialised(const Place &place, const Source &source,
                        const OperandCode &from) const;
  void takeSnapshot(const Place &place, Source &source,
                    const OperandCode &from);
  Wait awaitWord(const Place &place, Source &source, Cycle now);
  void takeWord(const Place &place, Source &source, const OperandCode &from);
  static void noteReceived(const Place &place, Source &source);
  void advance();
  void compute(const Place &place);
  void computeRow(const Place &place, uint8_t *dst, const uint8_t *a,
                  const uint8_t *b, int d);
  Number load(const Place &place, const MemoryOperand &operand,
              const uint8_t *at, const OperandCode &from) const;
  uint32_t result(const Place &place);
  void sendResult(const Place &place, Cycle now);
  const uint8_t *start(const MemoryOperand &operand) const;

  const InstructionCode *source = nullptr;
  size_t launchIndex = 0;
  Cost price;
  int dimensions = 0, stepDepth = 0;
  int64_t extent[maxExtents] = {};
  int64_t index[maxExtents] = {};
  size_t steps = 0, done = 0;
  uint64_t total = 0;
  bool closed = false;
  Source sources[2];
  MemoryOperand target;
  int sendColor = -1;
  int64_t firstIndex = 0;
  uint32_t firstOfPair = 0;
  bool pairHalf = false; ///< one element of a pair is computed
  bool plain = false;    ///< all in float32
  bool ordered = false;  ///< elements depend on one another
  bool needsOld = false;
  Wait waiting;
};

} // namespace wsec::runtime::wavelet

#endif // RUNTIME_WAVELET_VECTORRUN_H
