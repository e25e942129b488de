// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The code of a program's PE classes in the form the engines execute, and what
// can be said about it before it runs.
#ifndef RUNTIME_EMULATOR_CODE_H
#define RUNTIME_EMULATOR_CODE_H

#include "runtime/program/program_generated.h"

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

namespace wsec::runtime {

inline constexpr int maxExtents = 4;

/// Values a routine's affine functions refer to.
struct Bindings {
  const int64_t *scalars = nullptr;
  const int64_t *loops = nullptr;
};

struct AffineTerm {
  bool loop;
  uint16_t index;
  int64_t scale;
};

struct AffineFunction {
  int64_t constant = 0;
  std::vector<AffineTerm> terms;

  int64_t value(Bindings bindings) const {
    int64_t result = constant;
    for (const AffineTerm &term : terms)
      result += term.scale * (term.loop ? bindings.loops[term.index]
                                        : bindings.scalars[term.index]);
    return result;
  }
};

struct OperandCode {
  program::OperandKind kind = program::OperandKind::None;
  uint16_t buffer = 0;
  AffineFunction offset;
  std::array<int64_t, maxExtents> strides{};
  AffineFunction color;
  int depth = 0;
  bool windowed = false;
  AffineFunction windowOffset, windowTotal;
  float immediate = 0;

  bool fabric() const { return kind == program::OperandKind::Fabric; }
  bool memory() const { return kind == program::OperandKind::Memory; }
};

struct InstructionCode {
  program::Opcode op{};
  std::vector<AffineFunction> extents;
  OperandCode dst, a, b;
  int guard = -1;
  int thread = -1;
  bool lineBuffer = false;
  int index = 0; ///< in the class, for tables
  uint32_t routine = 0;
  /// Scalars whose values may differ among the PEs of a strip, and that decide
  /// what the instruction does.
  std::vector<uint16_t> looseScalars;

  bool asynchronous() const { return thread >= 0; }
  bool usesFabric() const { return dst.fabric() || a.fabric() || b.fabric(); }
};

struct LoopCode;
struct AwaitCode {
  uint8_t threads = 0;
};
using StatementCode = std::variant<InstructionCode, LoopCode, AwaitCode>;
using Body = std::vector<StatementCode>;
struct LoopCode {
  AffineFunction count;
  Body body;
  int guard = -1;
};

struct BufferCode {
  std::string name;
  int64_t firstWord = 0; ///< in the SRAM of the PE
  int64_t words = 0;
};

struct ClassCode {
  const program::PEClass *source = nullptr;
  std::string name;
  std::vector<BufferCode> buffers;
  std::map<uint32_t, Body> routines;
  /// Scalars that must be equal in all PEs of a strip.
  std::vector<uint16_t> strictScalars;
  int instructions = 0;
  int loopDepth = 0;
  int64_t firstDataWord = 0; ///< of the SRAM; code lies before
  int64_t endDataWord = 0;
  uint64_t highWaterBytes = 0;

  const Body *routine(uint32_t id) const {
    auto found = routines.find(id);
    return found == routines.end() ? nullptr : &found->second;
  }
};

/// Decodes a class; throws BadProgram or SramOverflow.
ClassCode decodeClass(const program::Program &program, uint32_t index);

/// For messages: "fmac", or "fmac (microthread 2)".
std::string describe(const InstructionCode &instruction);

} // namespace wsec::runtime

#endif // RUNTIME_EMULATOR_CODE_H
