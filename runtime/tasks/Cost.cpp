// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/tasks/Cost.h"

#include <algorithm>

namespace wsec::runtime::tasks {

using program::Opcode;
using program::OperandKind;

namespace {

bool isOperand(const OperandCode &operand) {
  return operand.memory() || operand.fabric();
}

/// The same element for the whole innermost vector.
bool isScalar(const OperandCode &operand, size_t last) {
  return operand.kind == OperandKind::Immediate ||
         (operand.memory() && operand.strides[last] == 0);
}

double setupCycles(const program::Machine &machine, const InstructionCode &code,
                   bool reduces) {
  const size_t last = code.extents.size() - 1;
  double setup = 0;
  if (code.op == Opcode::Fmac) {
    if (reduces)
      setup = machine.dot_setup();
    else if (isScalar(code.a, last) || isScalar(code.b, last))
      setup = machine.axpy_setup();
  } else {
    // A reduction reads one vector; its accumulator is a register.
    int vectors = 0;
    for (const OperandCode *source : {&code.a, &code.b})
      vectors += isOperand(*source) &&
                 !(reduces && source->memory() && isScalar(*source, last));
    if (vectors <= 1)
      setup = machine.copy_setup();
  }
  return setup > 0 ? setup : machine.vector_setup();
}

double elementCycles(const program::Machine &machine,
                     const InstructionCode &code, bool reduces) {
  bool halves = true;
  for (const OperandCode *operand : {&code.dst, &code.a, &code.b})
    halves &= !isOperand(*operand) || elementSize(operand->type) == 2;
  auto rateOf = [&](double rate, double rate16) {
    return halves && rate16 > 0 ? rate16 : rate;
  };
  double rate = 0;
  switch (code.op) {
  case Opcode::Mov:
    rate = rateOf(machine.copy_rate(), machine.copy_rate_16());
    break;
  case Opcode::Fmac:
    rate = rateOf(machine.fmac_rate(), machine.fmac_rate_16());
    break;
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
    rate = rateOf(machine.add_rate(), machine.add_rate_16());
  }
  if (reduces && machine.reduce_rate() > 0)
    rate = std::min(rate, machine.reduce_rate());
  return 1 / rate;
}

/// The least cycles between steps that the ramps allow.
double wordCycles(const InstructionCode &code) {
  double cycles = 0;
  for (const OperandCode *operand : {&code.dst, &code.a, &code.b})
    if (operand->fabric())
      cycles = std::max(cycles,
                        operand->packing == program::Packing::Pair ? 0.5 : 1.0);
  return cycles;
}

} // namespace

Cost costOf(const program::Machine &machine, const InstructionCode &code,
            const int64_t *extents, int stepDepth) {
  const size_t last = code.extents.size() - 1;
  const auto length = double(extents[last]);
  const bool reduces =
      code.dst.memory() && code.dst.strides[last] == 0 && extents[last] > 1;
  const double element = elementCycles(machine, code, reduces);
  double inner = 1;
  for (size_t d = size_t(stepDepth); d <= last; ++d)
    inner *= double(extents[d]);
  Cost cost{setupCycles(machine, code, reduces), 0, inner * element};

  // Vector calls inside a nest: for each word, or each scalar of SRAM that a
  // multiply-add takes.
  const bool scalars = code.op == Opcode::Fmac && last > 0 && code.a.memory() &&
                       code.a.strides[last] == 0;
  const bool nest =
      size_t(stepDepth) <= last && (stepDepth > 0 || scalars) && length > 0;
  double overhead = 0;
  if (nest && code.lineBuffer && stepDepth == 2 && extents[1] > 0) {
    cost.compute += std::max(1.0, 1 / machine.copy_rate());
    overhead = inner * machine.map_overhead() / double(extents[1]);
  } else if (nest) {
    overhead = inner / length * machine.map_overhead();
  }
  if (stepDepth > 0)
    cost.compute = std::max(cost.compute, wordCycles(code));
  cost.step = cost.compute + overhead;
  return cost;
}

} // namespace wsec::runtime::tasks
