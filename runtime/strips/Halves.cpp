// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/strips/Halves.h"

#include <algorithm>

namespace wsec::runtime {

bool isOfHalves(const OperandCode &operand) {
  return operand.memory() && operand.type == program::ElementType::I16;
}

static bool isEven(const AffineFunction &function) {
  return function.constant % 2 == 0 &&
         std::all_of(
             function.terms.begin(), function.terms.end(),
             [](const AffineTerm &term) { return term.scale % 2 == 0; });
}

/// Whether the operand goes through words as `halvesDimension` says.
static bool goesAlong(const OperandCode &operand, int dimension,
                      int dimensions) {
  for (int d = 0; d < dimensions; ++d) {
    const int64_t stride = operand.strides[size_t(d)];
    if (d == dimension ? stride != 1 : stride % 2 != 0)
      return false;
  }
  return isEven(operand.offset);
}

std::optional<int> halvesDimension(const InstructionCode &code) {
  const OperandCode *operands[] = {&code.dst, &code.a, &code.b};
  for (const OperandCode *operand : operands)
    if (operand->fabric())
      return std::nullopt;
  const int dimensions = int(code.extents.size());
  for (int d = 0; d < dimensions; ++d) {
    const AffineFunction &extent = code.extents[size_t(d)];
    if (extent.terms.empty() && extent.constant == 2 &&
        std::all_of(std::begin(operands), std::end(operands),
                    [&](const OperandCode *operand) {
                      return !isOfHalves(*operand) ||
                             goesAlong(*operand, d, dimensions);
                    }))
      return d;
  }
  return std::nullopt;
}

} // namespace wsec::runtime
