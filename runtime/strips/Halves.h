// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Integers of 16 bits, two in a word of SRAM. An instruction on them runs for
// the lower halves of words, then for the upper ones.
#ifndef RUNTIME_STRIPS_HALVES_H
#define RUNTIME_STRIPS_HALVES_H

#include "runtime/pe/Code.h"

#include <optional>

namespace wsec::runtime {

/// Whether the operand is of such integers.
bool isOfHalves(const OperandCode &operand);

/// The dimension along which all operands of halves go from the lower to the
/// upper half of a word, if along all others they go by whole words; nothing
/// if they do otherwise, or operands of the fabric take part.
std::optional<int> halvesDimension(const InstructionCode &code);

} // namespace wsec::runtime

#endif // RUNTIME_STRIPS_HALVES_H
