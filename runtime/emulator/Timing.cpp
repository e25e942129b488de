// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/emulator/Timing.h"

#include <algorithm>

namespace wsec::runtime {

using program::Opcode;

/// Cycles for each element of a contiguous vector.
static double cyclesPerElement(const program::Machine &machine, Opcode op) {
  switch (op) {
  case Opcode::Mov:
    return 1 / machine.copy_rate();
  case Opcode::Fmac:
    return 1 / machine.fmac_rate();
  case Opcode::Div:
  case Opcode::Sqrt:
  case Opcode::Reciprocal:
  case Opcode::Rsqrt:
    return machine.divide_cycles();
  case Opcode::Pow:
  case Opcode::Exp:
  case Opcode::Log:
  case Opcode::Tanh:
  case Opcode::Erf:
  case Opcode::Sigmoid:
  case Opcode::Sin:
  case Opcode::Cos:
    return machine.function_cycles();
  default:
    return 1 / machine.add_rate();
  }
}

InstructionCost instructionCost(const program::Machine &machine,
                                const InstructionCode &instruction,
                                const int64_t *extents, int stepDepth) {
  const int count = int(instruction.extents.size());
  double inner = 1;
  for (int i = stepDepth; i < count; ++i)
    inner *= double(extents[i]);
  const double element = cyclesPerElement(machine, instruction.op);
  const double last = double(extents[count - 1]);
  InstructionCost cost{machine.vector_setup(), inner * element};

  // A word of the fabric is kept in a register while a vector call runs over
  // the elements inside; so is a scalar of SRAM in a multiply-add.
  const bool scalarSource = instruction.op == Opcode::Fmac && count > 1 &&
                            instruction.a.memory() &&
                            instruction.a.strides[count - 1] == 0;
  const bool nest = (stepDepth > 0 && stepDepth < count) ||
                    (stepDepth == 0 && scalarSource);
  if (nest && instruction.lineBuffer && stepDepth == 2 && extents[1] > 0) {
    const double line = double(extents[1]);
    cost.perStep = (line * std::max(1.0, 1 / machine.copy_rate()) +
                    inner * (machine.map_overhead() + line * element)) /
                   line;
  } else if (nest && last > 0) {
    cost.perStep = inner / last * (machine.map_overhead() + last * element);
  }
  if (stepDepth > 0)
    cost.perStep = std::max(cost.perStep, 1.0);
  return cost;
}

double linkLatency(const program::Machine &machine, int hops, bool fromHost) {
  return hops * double(machine.hop_cycles()) +
         (fromHost ? 1 : 2) * double(machine.ramp_cycles());
}

} // namespace wsec::runtime
