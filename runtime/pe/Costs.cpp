// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/pe/Costs.h"
#include "runtime/program/Opcodes.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace wsec::runtime {

using program::Machine;
using program::Opcode;
using program::OperandKind;

/// The same element for the whole innermost vector.
static bool isScalar(const OperandCode &operand, size_t last) {
  return operand.kind == OperandKind::Immediate ||
         (operand.memory() && operand.strides[last] == 0);
}

/// Into one element, each step needing the one before.
static bool isReduction(const InstructionCode &code, const int64_t *extents) {
  const size_t last = code.extents.size() - 1;
  return code.dst.memory() && code.dst.strides[last] == 0 && extents[last] > 1;
}

static double setupCycles(const Machine &machine, const InstructionCode &code,
                          bool reduces) {
  const size_t last = code.extents.size() - 1;
  if (code.op == Opcode::Fmac) {
    if (reduces)
      return machine.dot_setup();
    return isScalar(code.a, last) || isScalar(code.b, last)
               ? machine.axpy_setup()
               : machine.vector_setup();
  }
  // A reduction reads one vector; its accumulator is a register.
  auto reads = [&](const OperandCode &source) {
    return source.fabric() ||
           (source.memory() && !(reduces && isScalar(source, last)));
  };
  return reads(code.a) && reads(code.b) ? machine.vector_setup()
                                        : machine.copy_setup();
}

/// Cycles of a function that is software, for each element; 0: it is not.
static double softwareCycles(const Machine &machine, Opcode op) {
  switch (factsOf(op).software) {
  case OpcodeFacts::Divide:
    return machine.divide_cycles();
  case OpcodeFacts::Function:
    return machine.function_cycles();
  case OpcodeFacts::No:
    return 0;
  }
  return 0;
}

/// Whether its elements, if it has any, have 16 bits.
static bool ofHalves(const OperandCode &operand) {
  return !(operand.memory() || operand.fabric()) ||
         elementSize(operand.type) == 2;
}

/// Whether it multiplies floats of 16 bits and adds in 32.
static bool isMixed(const InstructionCode &code) {
  auto isHalf = [](const OperandCode &operand) {
    return (operand.memory() || operand.fabric()) &&
           isNarrowFloat(operand.type);
  };
  return code.op == Opcode::Fmac && isHalf(code.a) && isHalf(code.b);
}

/// Elements per cycle of contiguous vectors.
static double contiguousRate(const Machine &machine, Opcode op, bool halves,
                             bool mixed) {
  if (op == Opcode::Mov)
    return halves ? machine.copy_rate_16() : machine.copy_rate();
  if (op == Opcode::Fmac)
    return halves  ? machine.fmac_rate_16()
           : mixed ? machine.fmac_rate_mixed()
                   : machine.fmac_rate();
  return halves ? machine.add_rate_16() : machine.add_rate();
}

static double elementCycles(const Machine &machine, const InstructionCode &code,
                            bool reduces) {
  if (const double cycles = softwareCycles(machine, code.op); cycles > 0)
    return cycles;
  const size_t last = code.extents.size() - 1;
  // Of a product into a register, what is read: its sum may be wider.
  const bool dot = reduces && code.op == Opcode::Fmac;
  const bool factors = ofHalves(code.a) && ofHalves(code.b);
  const bool halves = factors && (dot || ofHalves(code.dst));
  const bool mixed = !halves && isMixed(code);
  int64_t stride = 1;
  for (const OperandCode *operand : {&code.dst, &code.a, &code.b})
    if (operand->memory() && (halves || elementSize(operand->type) == 2))
      stride = std::max<int64_t>(stride, std::abs(operand->strides[last]));
  double rate = contiguousRate(machine, code.op, halves, mixed);
  if (reduces)
    rate = std::min(rate, dot ? machine.dot_rate() : machine.reduce_rate());
  if ((halves || mixed) && stride > 1 && machine.stride_elements() > 0)
    rate = std::min(rate,
                    std::max(1.0, machine.stride_elements() / double(stride)));
  return 1 / rate;
}

/// Whether each run along the innermost extent is a call of its own: it works
/// with a scalar of the fabric, or with another scalar of SRAM than the last.
static bool isNest(const InstructionCode &code, const int64_t *extents,
                   int stepDepth) {
  const size_t last = code.extents.size() - 1;
  if (stepDepth > 0)
    return size_t(stepDepth) <= last;
  if (extents[last] <= 1)
    return false;
  for (const OperandCode *operand : {&code.dst, &code.a, &code.b})
    if (operand->memory() && operand->strides[last] == 0)
      for (size_t d = 0; d < last; ++d)
        if (operand->strides[d] != 0 && extents[d] > 1)
          return true;
  return false;
}

/// The least cycles between steps that the ramps allow.
static double wordCycles(const InstructionCode &code) {
  double cycles = 0;
  for (const OperandCode *operand : {&code.dst, &code.a, &code.b})
    if (operand->fabric())
      cycles = std::max(cycles,
                        operand->packing == program::Packing::Pair ? 0.5 : 1.0);
  return cycles;
}

InstructionCost instructionCost(const Machine &machine,
                                const InstructionCode &code,
                                const int64_t *extents, int stepDepth) {
  if (code.sendsControl)
    return {0, 1, 1};
  const size_t last = code.extents.size() - 1;
  const bool reduces = isReduction(code, extents);
  double inner = 1;
  for (size_t d = size_t(stepDepth); d <= last; ++d)
    inner *= double(extents[d]);
  InstructionCost cost;
  cost.setup = setupCycles(machine, code, reduces);
  cost.compute = inner * elementCycles(machine, code, reduces);

  double overhead = 0;
  const bool nest = isNest(code, extents, stepDepth);
  if (nest && extents[last] > 0)
    overhead = inner / double(extents[last]) * machine.map_overhead();
  // Where every call pays for itself, the first is not set up besides.
  if (nest && stepDepth == 0)
    cost.setup = 0;
  cost.compute = std::max(cost.compute, wordCycles(code));
  cost.perStep = cost.compute + overhead;
  return cost;
}

double issueCycles(const Machine &machine) {
  return machine.async_issue() > 0 ? machine.async_issue() : 1;
}

double addressCycles(const Machine &machine, const AffineFunction &function) {
  return machine.scalar_cycles() * function.runtimeTerms();
}

double addressCycles(const Machine &machine, const InstructionCode &code) {
  return machine.scalar_cycles() * code.runtimeTerms;
}

double valueCycles(const Machine &machine, const AffineFunction &function) {
  if (function.terms.empty())
    return 0;
  int loads = 0, operations = 0;
  bool first = true;
  for (const AffineTerm &term : function.terms) {
    if (!term.atRunTime()) {
      ++loads;
      continue;
    }
    operations += term.scale != 1;
    operations += !std::exchange(first, false);
  }
  return loads * machine.load_cycles() + operations * machine.scalar_cycles();
}

double computeCycles(const Machine &machine, const ComputeCode &compute) {
  double cycles = machine.scalar_cycles();
  for (const AffineFunction *operand : {&compute.a, &compute.b, &compute.c})
    cycles += valueCycles(machine, *operand);
  return cycles;
}

double branchCycles(const Machine &machine, bool falls) {
  return falls ? machine.branch_not_taken() : machine.branch_taken();
}

double guardCycles(const Machine &machine, bool runs) {
  return machine.load_cycles() + branchCycles(machine, runs);
}

double linkLatency(const Machine &machine, int hops, bool fromHost) {
  return hops * double(machine.hop_cycles()) +
         (fromHost ? 1 : 2) * double(machine.ramp_cycles());
}

} // namespace wsec::runtime
