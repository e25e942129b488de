// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Instructions with operands of 16 bits. A word of a strip's SRAM lies beside
// that of the next PE, so elements of 16 bits that follow one another lie in
// one word or in words of all PEs apart. They are taken out, one to a float,
// before an instruction computes, and what it makes is put back behind it; both
// are copies whose loops run over lower halves of words, then over upper ones.
#ifndef RUNTIME_STRIPS_HALVES_H
#define RUNTIME_STRIPS_HALVES_H

#include "runtime/pe/Code.h"
#include "runtime/strips/Execute.h"
#include "runtime/strips/Recording.h"
#include "runtime/strips/Strip.h"

#include <optional>

namespace wsec::runtime {

inline bool isOfHalves(const OperandCode &operand) {
  return operand.memory() && elementSize(operand.type) == 2;
}

/// Elements of an operand, counted in halves of words of the SRAM; strides by
/// dimension of a nest, but for the lanes.
struct HalfElements {
  program::ElementType type = program::ElementType::F16;
  int64_t first = 0;
  int64_t stride[maxDimensions] = {};
};

/// The operands of a nest that lie in halves of words.
struct HalfOperands {
  std::optional<HalfElements> dst, a, b;

  bool any() const { return dst || a || b; }
};

/// What the operands of a nest lie in, for a recording.
struct NestBuffers {
  Recording::BufferId dst = Recording::nothing, a = Recording::nothing,
                      b = Recording::nothing;
};

/// Runs nests of a strip, or of one of its lanes.
class NestRunner {
public:
  NestRunner(Strip &strip, int lane, Recording *recording,
             Recording::BufferId sram)
      : strip(strip), lane(lane), recording(recording), sram(sram) {}

  void run(const Nest &nest, const NestBuffers &buffers) const;
  void run(Nest nest, NestBuffers buffers, HalfOperands halves) const;

private:
  void copy(Nest nest, NestBuffers buffers, HalfOperands halves) const;
  std::unique_ptr<float[]> takeOut(const HalfElements &elements,
                                   const Nest &nest, bool fill,
                                   Strided<float> &into,
                                   Recording::BufferId &buffer) const;

  Strip &strip;
  const int lane; ///< -1: all
  Recording *const recording;
  const Recording::BufferId sram;
};

} // namespace wsec::runtime

#endif // RUNTIME_STRIPS_HALVES_H
