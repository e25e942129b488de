// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Streams that hold each other up, and how many cycles that takes.
#include "runtime/program/Errors.h"
#include "runtime/wavelet/WaveletEngine.h"
#include "test/runtime/TaskProgram.h"

#include <gtest/gtest.h>

namespace wsec::runtime::test {
namespace {

using program::Direction;
using program::ElementType;
using program::Opcode;
using program::Port;
using program::SwitchCommand;

Operand ints(int color) {
  Operand operand = fabric(color);
  operand.type = ElementType::I32;
  return operand;
}

/// A row of PEs with a buffer @v of `words` each, which is the result.
class Streams : public TaskProgram {
public:
  Streams(int width, int words)
      : TaskProgram(width, 1), width(width), words(words) {}

  TaskBody pe(int x) { return pes(x, x + 1); }
  TaskBody pes(int begin, int end) {
    TaskClass made =
        TaskProgram::pes("from" + std::to_string(begin), begin, end, 0, 1);
    made.typed("v", ElementType::I32, uint32_t(words));
    TaskBody body = made.body(0);
    body.add(Opcode::Mov, {words}, v(), immediate(float(begin + 1)));
    return body;
  }
  /// Every PE has the same buffers, so the same numbers.
  static Operand v(int offset = 0) { return memory(0, {1}, offset); }

  double cycles() {
    launch(0);
    const uint32_t out = copy(Direction::Out, "v", ElementType::I32,
                              uint32_t(words), 0, width, 0, 1, 1);
    TensorHost host;
    host.room(out, size_t(width) * size_t(words) * 4);
    return WaveletEngine(finish()).run(host).cycles;
  }

private:
  const int width, words;
};

/// A product that is 0 in 64 bits, of numbers that are known when it runs.
TEST(HeldUpTest, MoreElementsThanCanBeCounted) {
  Streams row(1, 1);
  TaskBody body = row.pe(0);
  body.compute(0, program::ScalarOp::Constant, 1 << 30);
  body.add(Opcode::Mov, {local(0, 4), local(0, 4)}, memory(0, {0, 0}),
           immediate(1));
  row.launch(0);
  try {
    TensorHost host;
    WaveletEngine(row.finish()).run(host);
    FAIL();
  } catch (const Error &error) {
    EXPECT_NE(error.message().find("has 4294967296 x 4294967296 elements, an "
                                   "instruction has at most 2147483648"),
              std::string::npos)
        << error.message();
  }
}

/// Color 0 from the first PE to the last, color 1 from `middle` to the last:
/// the second half of the row carries both.
Streams sharedLinks(int width, int words) {
  Streams row(width, words);
  const int middle = width / 2;
  row.route(0, 0, 1, 0, 1, Port::Ramp, {Port::East});
  row.route(0, 1, width - 1, 0, 1, Port::West, {Port::East});
  row.route(0, width - 1, width, 0, 1, Port::West, {Port::Ramp});
  row.route(1, middle, middle + 1, 0, 1, Port::Ramp, {Port::East});
  row.route(1, middle + 1, width - 1, 0, 1, Port::West, {Port::East});
  row.route(1, width - 1, width, 0, 1, Port::West, {Port::Ramp});
  const int half = words / 2;
  row.pe(0).add(Opcode::Mov, {half}, ints(0), Streams::v());
  row.pe(middle).add(Opcode::Mov, {half}, ints(1), Streams::v());
  row.pes(1, middle);
  if (middle + 1 < width - 1)
    row.pes(middle + 1, width - 1);
  TaskBody last = row.pe(width - 1);
  last.add(Opcode::Mov, {half}, Streams::v(), ints(0)).thread = 0;
  last.add(Opcode::Mov, {half}, Streams::v(half), ints(1)).thread = 1;
  return row;
}

TEST(HeldUpTest, ColorsTakeTurnsOnASharedLink) {
  for (auto [words, cycles] : {std::pair(8, 34.0), {400, 622.0}})
    EXPECT_EQ(sharedLinks(6, words).cycles(), cycles);
}

TEST(HeldUpTest, ColorsTakeTurnsOnALargeMesh) {
  for (auto [words, cycles] : {std::pair(8, 327.0), {400, 769.0}})
    EXPECT_EQ(sharedLinks(300, words).cycles(), cycles);
}

/// The first PE sends to all; one in the middle is late.
Streams lateReceiver(int width, int words) {
  Streams row(width, words);
  row.route(0, 0, 1, 0, 1, Port::Ramp, {Port::East});
  row.route(0, 1, width - 1, 0, 1, Port::West, {Port::East, Port::Ramp});
  row.route(0, width - 1, width, 0, 1, Port::West, {Port::Ramp});
  row.pe(0).add(Opcode::Mov, {words}, ints(0), Streams::v());
  const int late = width / 2;
  for (auto [begin, end] :
       {std::pair(1, late), {late, late + 1}, {late + 1, width}}) {
    TaskBody body = row.pes(begin, end);
    if (begin == late)
      for (int i = 0; i < 5; ++i)
        body.add(Opcode::Add, {words}, Streams::v(), Streams::v(),
                 Streams::v());
    body.add(Opcode::Mov, {words}, Streams::v(), ints(0));
  }
  return row;
}

TEST(HeldUpTest, ALateReceiverHoldsUpAMulticast) {
  for (auto [words, cycles] : {std::pair(6, 86.0), {60, 437.0}})
    EXPECT_EQ(lateReceiver(5, words).cycles(), cycles);
}

TEST(HeldUpTest, ALateReceiverHoldsUpALargeMulticast) {
  for (auto [words, cycles] : {std::pair(6, 133.0), {200, 1394.0}})
    EXPECT_EQ(lateReceiver(100, words).cycles(), cycles);
}

TEST(HeldUpTest, ThreadsShareTheDatapath) {
  Streams row(3, 180);
  row.route(0, 0, 1, 0, 1, Port::Ramp, {Port::East});
  row.route(0, 1, 2, 0, 1, Port::West, {Port::Ramp});
  row.route(1, 1, 2, 0, 1, Port::Ramp, {Port::East});
  row.route(1, 2, 3, 0, 1, Port::West, {Port::Ramp});
  row.pe(0).add(Opcode::Mov, {50}, ints(0), Streams::v());
  TaskBody middle = row.pe(1);
  middle.add(Opcode::Mov, {50}, Streams::v(), ints(0)).thread = 2;
  middle.add(Opcode::Mov, {50}, ints(1), Streams::v(60)).thread = 3;
  middle.add(Opcode::Mul, {10}, Streams::v(50), Streams::v(50), Streams::v(50));
  middle.add(Opcode::Add, {60}, Streams::v(120), Streams::v(120), immediate(0));
  row.pe(2).add(Opcode::Mov, {50}, Streams::v(), ints(1));
  EXPECT_EQ(row.cycles(), 281.0);
}

/// All send to the first PE, the nearest first; then it is a wire.
TEST(HeldUpTest, SwitchesBecomeWires) {
  for (auto [words, cycles] : {std::pair(1, 65.0), {16, 177.0}, {100, 807.0}}) {
    constexpr int width = 8;
    Streams row(width, words);
    row.route(0, 0, 1, 0, 1, Port::East, {Port::Ramp});
    for (int x = 1; x < width; ++x) {
      row.route(0, x, x + 1, 0, 1, Port::Ramp, {Port::West});
      if (x + 1 < width)
        row.switching({TaskProgram::from(Port::East)});
      row.pe(x)
          .add(Opcode::Mov, {words}, ints(0), Streams::v())
          .advance_switch = x + 1 < width;
    }
    TaskBody first = row.pe(0);
    for (int x = 1; x < width; ++x)
      first.add(Opcode::Sub, {words}, Streams::v(), ints(0), Streams::v());
    EXPECT_EQ(row.cycles(), cycles);
  }
}

/// The words of the first receiver are stalled when the command that turns to
/// the second one comes behind them.
TEST(HeldUpTest, ACommandWaitsForTheWordsBeforeIt) {
  Streams row(3, 40);
  row.route(0, 0, 1, 0, 1, Port::Ramp, {Port::East});
  row.route(0, 1, 2, 0, 1, Port::West, {Port::Ramp});
  row.switching({TaskProgram::to({Port::East})});
  row.route(0, 2, 3, 0, 1, Port::West, {Port::Ramp});
  TaskBody send = row.pe(0);
  send.add(Opcode::Mov, {20}, ints(0), Streams::v());
  send.control(0, {SwitchCommand::Advance});
  send.add(Opcode::Mov, {20}, ints(0), Streams::v());
  TaskBody slow = row.pe(1);
  for (int i = 0; i < 8; ++i)
    slow.add(Opcode::Add, {40}, Streams::v(), Streams::v(), Streams::v());
  slow.add(Opcode::Mov, {20}, Streams::v(), ints(0));
  row.pe(2).add(Opcode::Mov, {20}, Streams::v(), ints(0));
  EXPECT_EQ(row.cycles(), 447.0);
}

} // namespace
} // namespace wsec::runtime::test
