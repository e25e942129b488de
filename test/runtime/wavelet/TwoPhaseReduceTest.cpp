// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The two-phase reduction of a row, the best published measurement of the
// fabric: 512 PEs, 4096 words each, groups of S PEs whose leaders go on alone.
#include "runtime/wavelet/WaveletEngine.h"
#include "test/runtime/TaskProgram.h"

#include <gtest/gtest.h>

namespace wsec::runtime::test {
namespace {

using program::ElementType;
using program::Opcode;
using program::Port;
using program::SwitchCommand;

constexpr int row = 512;

/// Inside a group neighbours alternate which of two colors they send west on;
/// the last PE of a group sends first. The leader's own send color is the next
/// leader's receive color: groups flip.
class Reduction : public TaskProgram {
public:
  Reduction(int group, int words)
      : TaskProgram(row, 1), group(group), words(words) {
    for (int x = 0; x < row; ++x)
      addPE(x);
    launch(0);
    ones = copy(program::Direction::In, "v", ElementType::F32, uint32_t(words),
                0, row, 0, 1, 0);
    sum = copy(program::Direction::Out, "v", ElementType::F32, uint32_t(words),
               0, 1, 0, 1, 1);
  }

  uint32_t ones, sum;

private:
  /// The color that PE x sends on.
  int color(int x) const { return (x % group + x / group) % 2; }

  void addPE(int x) {
    const int place = x % group;
    const bool leader = place == 0, last = place == group - 1;
    const int out = color(x), in = 1 - out;
    // A leader receives what its neighbour in the group sends, then what the
    // next leader sends, which comes on the same color.
    const bool chain = group == row;
    if (x > 0) {
      route(out, x, x + 1, 0, 1, Port::Ramp, {Port::West});
      if (!leader && !chain)
        switching({from(Port::East)});
    }
    if (x + 1 < row && !last) {
      route(in, x, x + 1, 0, 1, Port::East, {Port::Ramp});
      if (!leader && !chain)
        switching({to({Port::West})});
    }
    TaskClass its = pes("pe" + std::to_string(x), x, x + 1, 0, 1);
    const uint16_t v = its.typed("v", ElementType::F32, uint32_t(words));
    TaskBody body = its.body(0);
    Operand mem = memory(v, {1});
    if (x == 0) {
      body.add(Opcode::Add, {words}, mem, mem, fabric(in));
      if (!chain)
        body.add(Opcode::Add, {words}, mem, mem, fabric(in));
    } else if (leader) {
      if (x + group < row) {
        body.add(Opcode::Add, {words}, mem, mem, fabric(in));
        body.add(Opcode::Add, {words}, fabric(out), mem, fabric(in));
      } else {
        body.add(Opcode::Add, {words}, fabric(out), mem, fabric(in));
      }
    } else {
      auto &add =
          last ? body.add(Opcode::Mov, {words}, fabric(out), mem)
               : body.add(Opcode::Add, {words}, fabric(out), mem, fabric(in));
      if (chain)
        return;
      if (place == 1)
        add.advance_switch = true;
      else
        body.control(out, {SwitchCommand::Advance});
    }
  }

  const int group, words;
};

double cycles(int group, int words) {
  Reduction program(group, words);
  WaveletEngine emulator(program.finish());
  TensorHost host;
  host.give(program.ones, std::vector<float>(size_t(words) * row, 1));
  host.room(program.sum, size_t(words) * 4);
  const LaunchTime time = emulator.run(host).launches[0];
  EXPECT_EQ(host.get<float>(program.sum),
            std::vector<float>(size_t(words), row));
  return time.end - time.start;
}

struct Published {
  int group;
  double cycles, tolerance;
};

class TwoPhaseReduceTest : public testing::TestWithParam<Published> {};

TEST_P(TwoPhaseReduceTest, TakesThePublishedCycles) {
  const Published &published = GetParam();
  const double measured = cycles(published.group, 4096);
  std::printf("S = %d: %.0f cycles, published %.0f (%+.2f %%)\n",
              published.group, measured, published.cycles,
              100 * (measured / published.cycles - 1));
  EXPECT_NEAR(measured, published.cycles,
              published.tolerance * published.cycles);
}

INSTANTIATE_TEST_SUITE_P(
    Groups, TwoPhaseReduceTest,
    testing::Values(Published{2, 10055, 0.02}, Published{4, 9421, 0.02},
                    Published{8, 9117, 0.02}, Published{16, 8989, 0.02},
                    Published{32, 8973, 0.02}, Published{64, 9061, 0.02},
                    Published{128, 9297, 0.02}, Published{256, 9800, 0.03},
                    Published{512, 7218, 0.02}));

} // namespace
} // namespace wsec::runtime::test
