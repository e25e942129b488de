// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Streams that hold each other up, on both engines: values and cycles must be
// the same.
#include "runtime/program/Errors.h"
#include "runtime/streams/Station.h"
#include "runtime/streams/StreamsEngine.h"
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

  /// The cycles of both engines; their values must be the same.
  std::pair<double, double> run() {
    launch(0);
    const uint32_t out = copy(Direction::Out, "v", ElementType::I32,
                              uint32_t(words), 0, width, 0, 1, 1);
    const program::Program &program = finish();
    TensorHost streamed, stepped;
    streamed.room(out, size_t(width) * size_t(words) * 4);
    stepped.room(out, size_t(width) * size_t(words) * 4);
    const double cycles = StreamsEngine(program).run(streamed).cycles;
    const double reference = WaveletEngine(program).run(stepped).cycles;
    EXPECT_EQ(streamed.tensors, stepped.tensors);
    return {cycles, reference};
  }

private:
  const int width, words;
};

void expectEqual(std::pair<double, double> cycles) {
  EXPECT_EQ(cycles.first, cycles.second);
}
/// Where meshes are too large to be exact.
void expectNear(std::pair<double, double> cycles) {
  EXPECT_NEAR(cycles.first, cycles.second, 0.05 * cycles.second);
}

/// A product that is 0 in 64 bits, of numbers that are known when it runs.
TEST(StreamsTest, MoreElementsThanCanBeCounted) {
  Streams row(1, 1);
  TaskBody body = row.pe(0);
  body.compute(0, program::ScalarOp::Constant, 1 << 30);
  body.add(Opcode::Mov, {local(0, 4), local(0, 4)}, memory(0, {0, 0}),
           immediate(1));
  row.launch(0);
  const program::Program &program = row.finish();
  for (bool stepped : {false, true})
    try {
      TensorHost host;
      if (stepped)
        WaveletEngine(program).run(host);
      else
        StreamsEngine(program).run(host);
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

TEST(StreamsTest, ColorsTakeTurnsOnASharedLink) {
  for (int words : {8, 400})
    expectEqual(sharedLinks(6, words).run());
}

TEST(StreamsTest, ColorsTakeTurnsOnALargeMesh) {
  for (int words : {8, 400})
    expectNear(sharedLinks(300, words).run());
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

TEST(StreamsTest, ALateReceiverHoldsUpAMulticast) {
  for (int words : {6, 60})
    expectEqual(lateReceiver(5, words).run());
}

TEST(StreamsTest, ALateReceiverHoldsUpALargeMulticast) {
  for (int words : {6, 200})
    expectNear(lateReceiver(100, words).run());
}

TEST(StreamsTest, ThreadsShareTheDatapath) {
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
  expectEqual(row.run());
}

/// All send to the first PE, the nearest first; then it is a wire.
TEST(StreamsTest, SwitchesBecomeWires) {
  for (int words : {1, 16, 100}) {
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
    expectEqual(row.run());
  }
}

/// The words of the first receiver are stalled when the command that turns to
/// the second one comes behind them.
TEST(StreamsTest, ACommandWaitsForTheWordsBeforeIt) {
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
  expectEqual(row.run());
}

// ---------------------------------------------------------------- the parts

TEST(StationTest, TakeLogRemembersAsFarBackAsAsked) {
  using streams::Cycle;
  streams::TakeLog log;
  log.keep(6);
  const std::vector<Cycle> taken{3, 4, 5, 6, 10, 14, 18, 19, 40, 41, 42};
  for (size_t i = 0; i < taken.size(); ++i) {
    log.add(taken[i]);
    for (size_t back = 0; back < std::min<size_t>(6, i + 1); ++back)
      EXPECT_EQ(log.at(int64_t(i - back)), taken[i - back]);
  }
  EXPECT_LE(log.at(0), taken[0]);
}

TEST(StationTest, SlotsAreTakenOnce) {
  streams::Slots slots;
  for (int cycle : {10, 12, 11, 20})
    slots.take(cycle, 0);
  EXPECT_EQ(slots.next(9), 9);
  EXPECT_EQ(slots.next(10), 13);
  EXPECT_EQ(slots.next(12), 13);
  EXPECT_EQ(slots.next(20), 21);
  slots.take(13, 0);
  slots.take(9, 0);
  EXPECT_EQ(slots.next(9), 14);
  for (int cycle = 30; cycle < 200; cycle += 2) {
    slots.take(cycle, cycle - 4);
    EXPECT_EQ(slots.next(cycle), cycle + 1);
    EXPECT_EQ(slots.next(cycle - 1), cycle - 1);
  }
}

} // namespace
} // namespace wsec::runtime::test
