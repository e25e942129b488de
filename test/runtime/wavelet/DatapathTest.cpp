// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/wavelet/WaveletEngine.h"
#include "test/runtime/TaskProgram.h"

#include <gtest/gtest.h>

namespace wsec::runtime::test {
namespace {

using program::Opcode;
using program::Port;

/// A microthread relays words to the PE's own routine, which multiplies: a
/// cycle for each word and 1 / 0.467 for each product, no fraction lost.
TEST(DatapathTest, RelayAndProductsShareItToFractionsOfACycle) {
  constexpr int words = 1000;
  TaskProgram program(2, 1);
  program.route(1, 0, 1, 0, 1, Port::Ramp, {Port::East});
  program.route(1, 1, 2, 0, 1, Port::West, {Port::Ramp});
  program.route(2, 1, 2, 0, 1, Port::Ramp, {Port::Ramp});
  TaskClass sender = program.pes("sender", 0, 1, 0, 1);
  sender.body(0).add(Opcode::Mov, {words}, fabric(1), immediate(2));
  TaskClass receiver = program.pes("receiver", 1, 2, 0, 1);
  const uint16_t sum = receiver.buffer("sum", words);
  TaskBody body = receiver.body(0);
  body.add(Opcode::Mov, {words}, memory(sum, {1}), immediate(0));
  body.add(Opcode::Mov, {words}, fabric(2), fabric(1)).thread = 0;
  body.add(Opcode::Fmac, {words}, memory(sum, {1}), fabric(2), immediate(3));
  program.launch(0);
  TensorHost host;
  const double cycles = WaveletEngine(program.finish(), {}).run(host).cycles;
  const double before = words / 2, shared = words * (1 + 1 / 0.467);
  EXPECT_GE(cycles, before + shared);
  EXPECT_LE(cycles, (before + shared) * 1.02);
}

/// Cycles of one more multiply-add of so many elements, which may lie apart.
double cyclesOfFmac(int elements, program::ElementType factors,
                    program::ElementType sums, int factorStride = 1,
                    int sumStride = 1) {
  auto cycles = [&](int times) {
    TaskProgram program(1, 1);
    program.source.machine->stride_elements = 8;
    TaskClass pe = program.pes("pe", 0, 1, 0, 1);
    const uint16_t a = pe.typed("a", factors, elements * factorStride);
    const uint16_t b = pe.typed("b", factors, elements);
    const uint16_t sum = pe.typed("sum", sums, elements * sumStride);
    TaskBody body = pe.body(0);
    for (auto [buffer, stride] : {std::pair{a, factorStride}, std::pair{b, 1},
                                  std::pair{sum, sumStride}})
      body.add(Opcode::Mov, {elements}, memory(buffer, {stride}), immediate(1));
    for (int i = 0; i < times; ++i)
      body.add(Opcode::Fmac, {elements}, memory(sum, {sumStride}),
               memory(a, {factorStride}), memory(b, {1}));
    program.launch(0);
    TensorHost host;
    return WaveletEngine(program.finish(), {}).run(host).cycles;
  };
  return cycles(2) - cycles(1);
}

/// Two a cycle, where factors of 16 bits alone make four, and those of 32 less
/// than one half.
TEST(DatapathTest, FactorsOf16BitsAndSumsOf32HaveARateOfTheirOwn) {
  using program::ElementType;
  constexpr int elements = 1000, setup = 6;
  for (ElementType half : {ElementType::F16, ElementType::BF16}) {
    EXPECT_NEAR(cyclesOfFmac(elements, half, ElementType::F32),
                setup + elements / 2, 1);
    EXPECT_NEAR(cyclesOfFmac(elements, half, half), setup + elements / 4, 1);
  }
  EXPECT_NEAR(cyclesOfFmac(elements, ElementType::F32, ElementType::F32),
              setup + elements / 0.467, 1);
}

/// Elements of 16 bits that lie apart come at 8 a cycle over their distance, at
/// least one; words of 32 bits lie as they like.
TEST(DatapathTest, FactorsOf16BitsComeSlowerFromAfar) {
  using program::ElementType;
  constexpr int elements = 400, setup = 6;
  auto rate = [&](int factorStride, int sumStride) {
    return elements / (cyclesOfFmac(elements, ElementType::F16,
                                    ElementType::F32, factorStride, sumStride) -
                       setup);
  };
  EXPECT_NEAR(rate(2, 1), 2, 0.02);
  EXPECT_NEAR(rate(5, 1), 1.6, 0.02);
  EXPECT_NEAR(rate(8, 1), 1, 0.02);
  EXPECT_NEAR(rate(16, 1), 1, 0.02);
  EXPECT_NEAR(rate(1, 8), 2, 0.02);
}

} // namespace
} // namespace wsec::runtime::test
