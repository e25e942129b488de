// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Launches by wavelets and by calls of the host.
#include "test/runtime/wavelet/RowProgram.h"

namespace wsec::runtime::test {
namespace {

using program::Direction;
using program::ElementType;
using program::Opcode;
using program::Port;
using program::TaskKind;

/// A row of PEs with typed buffers and tasks, launched by launch wavelets.
class CommandedRow : public Row {
public:
  explicit CommandedRow(int width) : Row(width, false) {
    ProgramBuilder commanded(width, 1);
    source.launch_color = commanded.source.launch_color;
    source.routes = std::move(commanded.source.routes);
  }
};

TEST(LaunchTest, ACommandStartsWhatItNamesAfterPendingTasks) {
  CommandedRow row(2);
  TaskClass pe = row.pe(1);
  const uint16_t v = pe.typed("v", ElementType::I32, 4);
  const int task = pe.task("task", TaskKind::Local, 3);
  auto append = [&](TaskBody b, int value) {
    b.load(0, v, 0);
    b.store(v, local(0), value);
    b.store(v, 0, local(0) + Value(1));
  };
  TaskBody first = pe.body(0);
  first.store(v, 0, 1);
  first.activate(task);
  append(first, 10);
  append(pe.taskBody(task), 20);
  append(pe.body(1), 30);
  row.launch(0);
  row.launch(1);
  EXPECT_EQ(run(row, row.result("v", 4, 1, 2)), (Ints{4, 10, 20, 30}));
}

TEST(LaunchTest, CopiesBeforeTheFirstAndAfterTheLastCommand) {
  for (uint32_t before : {0u, 1u}) {
    CommandedRow row(1);
    TaskClass pe = row.pe(0);
    const uint16_t v = pe.typed("v", ElementType::I16, 4);
    for (uint32_t routine : {0u, 1u})
      pe.body(routine).add(Opcode::Add, {4}, memory(v, {1}), memory(v, {1}),
                           immediate(routine ? 100 : 10));
    row.launch(0);
    row.launch(1);
    const uint32_t in =
        row.copy(Direction::In, "v", ElementType::I16, 4, 0, 1, 0, 1, before);
    const uint32_t out =
        row.copy(Direction::Out, "v", ElementType::I16, 4, 0, 1, 0, 1, 2);
    const program::Program &program = row.finish();
    TensorHost host;
    host.give<int16_t>(in, {1, 2, 3, 4});
    host.room(out, 8);
    try {
      WaveletEngine(program).run(host);
      EXPECT_EQ(before, 0u);
      EXPECT_EQ(host.get<int16_t>(out),
                (std::vector<int16_t>{111, 112, 113, 114}));
    } catch (const Error &error) {
      EXPECT_EQ(before, 1u);
      EXPECT_EQ(error.errorClass(), ErrorClass::BadProgram);
      EXPECT_EQ(error.message(),
                "the host copies buffer 'v' before kernel 'kernel', launch "
                "1, which a launch wavelet starts: it can before the first "
                "launch and after the last; let the host call the launches");
    }
  }
}

/// PE 0 receives four words of the host on color 1 and sends on color 2 what
/// it has, each plus the number of the routine; in each of two calls.
TEST(LaunchTest, StreamsOfACallBeginWithIt) {
  TaskProgram made(1, 1);
  made.route(1, 0, 1, 0, 1, Port::West, {Port::Ramp});
  made.route(2, 0, 1, 0, 1, Port::Ramp, {Port::East});
  TaskClass pe = made.pes("pe", 0, 1, 0, 1);
  for (uint32_t routine : {0u, 1u}) {
    pe.body(routine).add(Opcode::Add, {4}, fabric(2), fabric(1),
                         immediate(float(routine)));
    const uint32_t in = made.stream("in", Direction::In, 1, {0});
    const uint32_t out = made.stream("out", Direction::Out, 2, {0});
    made.launch(routine, {in, out});
  }
  const program::Program &program = made.finish();
  TensorHost host;
  host.feed(0, 0, {1, 2, 3, 4});
  host.feed(2, 0, {5, 6, 7, 8});
  host.expect(1, 0, 4);
  host.expect(3, 0, 4);
  const RunResult result = WaveletEngine(program).run(host);
  const std::vector<float> first = host.outputs[{1, 0}],
                           second = host.outputs[{3, 0}];
  EXPECT_EQ(first, (std::vector<float>{1, 2, 3, 4}));
  EXPECT_EQ(second, (std::vector<float>{6, 7, 8, 9}));
  EXPECT_GT(result.launches[1].start, result.launches[0].end);
  EXPECT_GT(result.launches[1].end,
            result.launches[1].start + 1700); // The store's latency.
  EXPECT_EQ(result.hostWordsIn, 8u);
}

TEST(LaunchTest, ACallThatLeavesAnOutputShortIsADeadlock) {
  TaskProgram made(1, 1);
  made.route(2, 0, 1, 0, 1, Port::Ramp, {Port::East});
  TaskClass pe = made.pes("pe", 0, 1, 0, 1);
  for (uint32_t routine : {0u, 1u}) {
    pe.body(routine).add(Opcode::Mov, {routine ? 4 : 3}, fabric(2),
                         immediate(1));
    made.launch(routine, {made.stream("out", Direction::Out, 2, {0})});
  }
  const program::Program &program = made.finish();
  TensorHost host;
  host.expect(0, 0, 4);
  host.expect(1, 0, 3);
  try {
    WaveletEngine(program).run(host);
    ADD_FAILURE();
  } catch (const Error &error) {
    EXPECT_EQ(error.errorClass(), ErrorClass::Deadlock);
    EXPECT_NE(error.message().find("3 of 4"), std::string::npos)
        << error.message();
  }
}

} // namespace
} // namespace wsec::runtime::test
