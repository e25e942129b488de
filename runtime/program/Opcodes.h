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

} // namespace wsec::runtime

#endif // RUNTIME_PROGRAM_OPCODES_H
