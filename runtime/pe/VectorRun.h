// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One execution of a vector instruction by one PE: its operands, resolved, and
// how far it is. Knows no fabric and no clock; elements go in and come out.
#ifndef RUNTIME_PE_VECTORRUN_H
#define RUNTIME_PE_VECTORRUN_H

#include "runtime/pe/Costs.h"
#include "runtime/pe/Elements.h"
#include "runtime/pe/Memory.h"
#include "runtime/program/Errors.h"

#include <array>
#include <string>
#include <vector>

namespace wsec::runtime::pe {

class VectorRun {
public:
  /// What went wrong, and where in the instruction; the PE adds who it is.
  struct Fault {
    ErrorClass errorClass;
    std::string what;
  };

  /// Starts an instruction. Throws Fault.
  void begin(const program::Machine &machine, const ClassCode &code,
             const InstructionCode &instruction, Bindings bindings);

  /// A fabric source: words in, elements kept until they are used.
  struct Source {
    int color = -1;
    int64_t group = 1; ///< steps that share an element
    bool paired = false;
    // Of each period of `total` words, `used` from `offset` on are taken.
    bool windowed = false;
    int64_t offset = 0, used = 0, total = 0, position = 0, words = 0;
    std::vector<uint32_t> elements; ///< of the steps from `firstStep` on
    int64_t firstStep = 0;

    bool receives() const { return color >= 0; }
    /// Nothing is received.
    void clear() {
      color = -1;
      group = 1;
      paired = windowed = false;
      offset = used = total = position = words = firstStep = 0;
      elements.clear();
    }
    /// Whether a step takes a word.
    bool needsWord(int64_t step) const {
      return receives() &&
             step / group - firstStep / group >= int64_t(elements.size());
    }
    /// Whether the next word is one to drop.
    bool outside() const {
      if (!windowed || position == words)
        return false;
      const int64_t phase = position % total;
      return phase < offset || phase >= offset + used;
    }
    /// Goes on to the next word that is used, or to the end. Returns how many
    /// words are to be dropped before.
    int64_t skip();
    /// A word that is used. `half`: of a pair only the first element.
    void accept(uint32_t word, bool half);
  };

  int64_t steps() const { return stepCount; }
  int64_t done() const { return stepsDone; }
  /// Takes a step that is ready; what is sent is appended to `sent`, words as
  /// on the wire. The last word may wait for the second half of a pair.
  void step(Memory &memory, std::vector<uint32_t> &sent);
  /// No further elements will come: it ends with the steps taken.
  void end() { stepCount = stepsDone; }

  const InstructionCode &code() const { return *instruction; }
  /// What it reads and writes of the SRAM.
  Elements reads(int source) const { return elements(from[source]); }
  Elements writes() const { return elements(dst); }

  const InstructionCost &cost() const { return price; }
  std::array<Source, 2> sources;
  int sendColor = -1;
  bool relays() const { return sources[0].receives() || sources[1].receives(); }
  uint64_t elementCount() const { return total; }

private:
  struct Operand {
    const OperandCode *code = nullptr;
    program::ElementType type{};
    int size = 0;                    ///< bytes of an element
    int64_t address = 0;             ///< of the first element
    int64_t stride[maxExtents] = {}; ///< bytes
    Number constant{};
  };

  [[noreturn]] void fail(ErrorClass errorClass, const std::string &what) const;
  void resolve(Operand &operand, const OperandCode &from, Bindings bindings);
  void resolveSource(const program::Machine &machine, int index,
                     const OperandCode &from, Bindings bindings);
  int64_t address(const Operand &operand, const int64_t *index) const;
  Elements elements(const Operand &operand) const;
  void requireIntegers(int64_t count, NumberSource a, NumberSource b,
                       const Number *old) const;
  void requireWritten(Memory &memory, const Operand &operand, int64_t at,
                      int64_t stride, int64_t count) const;
  void runRow(Memory &memory, const int64_t *index, int64_t count,
              std::vector<uint32_t> &sent);
  bool dependent(int64_t dst, const int64_t *sourceAddress,
                 int64_t count) const;
  void runDependent(Memory &memory, int64_t dst, const int64_t *from,
                    const int64_t *stride, int64_t count, int64_t step);
  Number element(Memory &memory, int source, int64_t address, int64_t step);
  void fetch(Memory &memory, int source, int64_t at, int64_t stride,
             int64_t step, int64_t count, Number *numbers, bool &scalar);
  void emit(const Number *numbers, int64_t count, std::vector<uint32_t> &sent);

  const ClassCode *classCode = nullptr;
  const InstructionCode *instruction = nullptr;
  InstructionCost price;
  int rank = 0, stepDepth = 0;
  int64_t extent[maxExtents] = {1, 1, 1, 1};
  int64_t inner = 1; ///< elements of a step
  int64_t stepCount = 0, stepsDone = 0;
  uint64_t total = 0;
  Operand dst, from[2];
  int64_t wireIndex = 0, elementsSent = 0;
  uint32_t half = 0; ///< first of a pair
  bool halfFull = false;
};

} // namespace wsec::runtime::pe

#endif // RUNTIME_PE_VECTORRUN_H
