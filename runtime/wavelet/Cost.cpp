// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/wavelet/Cost.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace wsec::runtime::wavelet {

using program::Opcode;
using program::Packing;

namespace {

/// One instruction, asked for its parts of the cost.
class Pricing {
public:
  Pricing(const program::Machine &machine, const InstructionCode &code,
          const int64_t *extents)
      : machine(machine), code(code), last(int(code.extents.size()) - 1),
        extents(extents), lastExtent(extents[last]) {}

  double setup() const {
    if (code.op != Opcode::Fmac)
      return operandsIn() <= 1 ? machine.copy_setup() : machine.vector_setup();
    if (reduces())
      return machine.dot_setup();
    return scalesBy(code.a) || scalesBy(code.b) ? machine.axpy_setup()
                                                : machine.vector_setup();
  }

  double cyclesPerElement() const {
    double rate;
    switch (code.op) {
    case Opcode::Mov:
      rate = pick(machine.copy_rate(), machine.copy_rate_16());
      break;
    case Opcode::Fmac:
      rate = pick(machine.fmac_rate(), machine.fmac_rate_16());
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
      rate = pick(machine.add_rate(), machine.add_rate_16());
    }
    if (reduces())
      rate = std::min(rate, code.op == Opcode::Fmac ? machine.dot_rate()
                                                    : machine.reduce_rate());
    return 1 / std::min(rate, stridedRate());
  }

  /// Whether the scalar of a vector call in memory is not the one of the call
  /// before.
  bool takesScalars() const {
    auto changes = [&](const OperandCode &operand) {
      if (!operand.memory() || operand.strides[size_t(last)] != 0)
        return false;
      for (int d = 0; d < last; ++d)
        if (operand.strides[size_t(d)] != 0 && extents[d] > 1)
          return true;
      return false;
    };
    return lastExtent > 1 &&
           (changes(code.dst) || changes(code.a) || changes(code.b));
  }

  /// Wavelets for each element, the most of all fabric operands.
  double wordsPerElement() const {
    double words = 0;
    for (const OperandCode *operand : {&code.dst, &code.a, &code.b})
      if (operand->fabric())
        words = std::max(words, operand->packing == Packing::Pair ? 0.5 : 1.0);
    return words;
  }

private:
  /// Into one element, each step needing the one before.
  bool reduces() const {
    return code.dst.memory() && code.dst.strides[size_t(last)] == 0 &&
           lastExtent > 1;
  }
  bool scalesBy(const OperandCode &operand) const {
    return operand.kind == program::OperandKind::Immediate ||
           (operand.memory() && operand.strides[size_t(last)] == 0);
  }
  /// Operands that elements are read from: constants are none, nor is the
  /// register that a reduction adds to.
  int operandsIn() const {
    int count = 0;
    for (const OperandCode *operand : {&code.a, &code.b})
      count += operand->fabric() ||
               (operand->memory() &&
                !(reduces() && operand->strides[size_t(last)] == 0));
    return count;
  }
  /// Elements per cycle that the banks of the SRAM allow.
  double stridedRate() const {
    double rate = std::numeric_limits<double>::infinity();
    if (!halves() || machine.stride_elements() <= 0)
      return rate;
    for (const auto operand : operands) {
      const double stride =
          std::abs(double((code.*operand).strides[size_t(last)]));
      if ((code.*operand).memory() && stride > 1)
        rate =
            std::min(rate, std::max(machine.stride_elements() / stride, 1.0));
    }
    return rate;
  }
  /// Whether 16-bit rates count. The sum of a product into a register may be
  /// wider than its factors.
  bool halves() const {
    const bool dot = code.op == Opcode::Fmac && reduces();
    return std::all_of(operands.begin() + (dot ? 1 : 0), operands.end(),
                       [&](const OperandCode InstructionCode::*operand) {
                         const OperandCode &o = code.*operand;
                         return (!o.memory() && !o.fabric()) ||
                                elementSize(o.type) == 2;
                       });
  }
  double pick(double rate, double rate16) const {
    return halves() ? rate16 : rate;
  }

  static constexpr std::array<const OperandCode InstructionCode::*, 3> operands{
      &InstructionCode::dst, &InstructionCode::a, &InstructionCode::b};
  const program::Machine &machine;
  const InstructionCode &code;
  const int last;
  const int64_t *extents;
  const int64_t lastExtent;
};

} // namespace

Cost costOf(const program::Machine &machine, const InstructionCode &code,
            const int64_t *extents, int stepDepth) {
  const int count = int(code.extents.size());
  const Pricing pricing(machine, code, extents);
  const double element = pricing.cyclesPerElement();
  const double last = double(extents[count - 1]);
  double inner = 1;
  for (int d = stepDepth; d < count; ++d)
    inner *= double(extents[d]);
  Cost cost{pricing.setup(), inner * element, 0};

  // Vector calls inside a nest pay the overhead of a call each if each works
  // with a scalar of its own, from the fabric or from SRAM.
  const bool nest = stepDepth > 0 ? stepDepth < count : pricing.takesScalars();
  if (nest && code.lineBuffer && stepDepth == 2 && extents[1] > 0) {
    // A line of words is copied, then a vector of its length runs for each of
    // the elements inside; here spread over the words.
    const double line = double(extents[1]);
    cost.work = std::max(1.0, 1 / machine.copy_rate()) + inner * element;
    cost.overhead = inner * machine.map_overhead() / line;
  } else if (nest && last > 0) {
    cost.overhead = inner / last * machine.map_overhead();
  }
  // Such a call needs no set-up besides, nor does the first of a nest in SRAM.
  if (nest && stepDepth == 0)
    cost.setup = 0;
  if (stepDepth > 0)
    cost.work = std::max(cost.work, pricing.wordsPerElement());
  return cost;
}

double issueCycles(const program::Machine &machine) {
  return machine.async_issue() > 0 ? machine.async_issue() : 1;
}

} // namespace wsec::runtime::wavelet
