// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The table of vector instructions (Opcodes.def), by opcode.
#ifndef RUNTIME_PROGRAM_OPCODES_H
#define RUNTIME_PROGRAM_OPCODES_H

#include "runtime/program/program_generated.h"

namespace wsec::runtime {

struct OpcodeFacts {
  enum Numbers { Any, Floats, Integers };
  /// Functions that a PE calls.
  enum Software { No, Divide, Function };

  int sources = 1; ///< besides the destination
  Numbers numbers = Any;
  Software software = No;
  int words = 0; ///< of the function's code
};

constexpr OpcodeFacts factsOf(program::Opcode opcode) {
  switch (opcode) {
#define WSEC_INSTRUCTION(Name, name, sources, numbers, software, words)        \
  case program::Opcode::Name:                                                  \
    return {sources, OpcodeFacts::numbers, OpcodeFacts::software, words};
#include "runtime/program/Opcodes.def"
  }
  return {};
}

/// The digest of the names of all instructions in order: programs call them by
/// number.
constexpr uint32_t opcodesDigest() {
  uint32_t digest = 2166136261; // FNV-1a
  auto add = [&](const char *name) {
    do
      digest = (digest ^ uint8_t(*name)) * 16777619;
    while (*name++);
  };
#define WSEC_INSTRUCTION(Name, name, sources, numbers, software, words)        \
  add(#Name);
#include "runtime/program/Opcodes.def"
  return digest;
}

} // namespace wsec::runtime

#endif // RUNTIME_PROGRAM_OPCODES_H
