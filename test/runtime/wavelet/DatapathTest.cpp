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

/// Cycles of one more multiply-add of so many elements.
double cyclesOfFmac(int elements, program::ElementType factors,
                    program::ElementType sums) {
  auto cycles = [&](int times) {
    TaskProgram program(1, 1);
    TaskClass pe = program.pes("pe", 0, 1, 0, 1);
    const uint16_t a = pe.typed("a", factors, elements);
    const uint16_t b = pe.typed("b", factors, elements);
    const uint16_t sum = pe.typed("sum", sums, elements);
    TaskBody body = pe.body(0);
    for (uint16_t buffer : {a, b, sum})
      body.add(Opcode::Mov, {elements}, memory(buffer, {1}), immediate(1));
    for (int i = 0; i < times; ++i)
      body.add(Opcode::Fmac, {elements}, memory(sum, {1}), memory(a, {1}),
               memory(b, {1}));
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

} // namespace
} // namespace wsec::runtime::test
