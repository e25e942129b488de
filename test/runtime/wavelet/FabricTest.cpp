// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Routers, links and ramps without PEs: the tests send and receive themselves.
#include "runtime/wavelet/Fabric.h"

#include "runtime/program/Errors.h"
#include "test/runtime/TaskProgram.h"

#include <gtest/gtest.h>

namespace wsec::runtime::wavelet {
namespace {

using namespace test;
using program::PopMode;
using program::Port;
using program::SwitchCommand;

/// A row of PEs with code that does nothing. Words are numbered.
class Row : public EastEdge {
public:
  explicit Row(int width) : width(width), program(width, 1) {}

  void start() {
    program.pes("pe", 0, width, 0, 1);
    const program::Program &finished = program.finish();
    mesh = std::make_unique<Mesh>(finished);
    fabric = std::make_unique<Fabric>(finished, *mesh, agenda, *this);
  }
  /// Hands `words` numbers from 0 on to PE `pe`'s ramp as room is made, and
  /// control wavelets after those that `controls` names.
  void send(int pe, int color, uint32_t words) {
    senders.push_back({pe, color, 0, words, {}});
  }
  void control(int pe, int color, std::vector<SwitchCommand> commands,
               int task = -1) {
    Word wavelet;
    wavelet.control = true;
    wavelet.task = int16_t(task);
    for (size_t i = 0; i < commands.size(); ++i)
      wavelet.commands |= pe::packCommand(commands[i], int(i));
    senders.push_back({pe, color, 0, 1, wavelet});
  }
  /// From now on PE `pe` takes what comes.
  void receive(int pe, int color) { receivers.push_back({pe, color}); }

  /// Runs until nothing moves.
  void run() {
    std::vector<uint32_t> due;
    act();
    while (agenda.advance(due)) {
      for (uint32_t entry : due)
        if (partyOf(entry) == Party::Router)
          fabric->wakeRoute(int(indexOf(entry)));
      act();
      fabric->step();
    }
  }

  /// Numbers, and the cycles in which they could be taken.
  std::vector<uint32_t> got(int pe, int color) {
    std::vector<uint32_t> numbers;
    for (const Word &wavelet : taken[{pe, color}])
      numbers.push_back(wavelet.payload);
    return numbers;
  }
  std::vector<uint32_t> numbers(uint32_t count) {
    std::vector<uint32_t> result(count);
    for (uint32_t i = 0; i < count; ++i)
      result[i] = i;
    return result;
  }
  void leave(int, int color, const Word &word, double when) override {
    taken[{width, color}].push_back(word);
    taken[{width, color}].back().ready = Cycle(when);
  }

  int width;
  TaskProgram program;
  Agenda agenda;
  std::unique_ptr<Mesh> mesh;
  std::unique_ptr<Fabric> fabric;
  std::map<std::pair<int, int>, std::vector<Word>> taken;

private:
  struct Sender {
    int pe, color;
    uint32_t next, end;
    std::optional<Word> control;
  };
  struct Receiver {
    int pe, color;
  };

  bool roomToSend(const Sender &sender) {
    Buffer &outbox = fabric->outbox(sender.pe, sender.color);
    const Cycle room = fabric->roomAt(outbox);
    if (room == pe::never)
      outbox.senderWaits = true;
    else if (room > agenda.now())
      wake(sender.pe);
    return room <= agenda.now();
  }

  void act() {
    const Cycle now = agenda.now();
    for (Receiver &receiver : receivers) {
      Buffer &inbox = fabric->expect(receiver.pe, receiver.color);
      if (inbox.has(now))
        taken[{receiver.pe, receiver.color}].push_back(fabric->receive(inbox));
      if (inbox.empty())
        inbox.listens = true;
      else
        wake(receiver.pe);
    }
    std::set<std::pair<int, int>> sent;
    for (Sender &sender : senders) {
      if (sender.next == sender.end ||
          !sent.insert({sender.pe, sender.color}).second || !roomToSend(sender))
        continue;
      Word wavelet = sender.control.value_or(Word{});
      if (!sender.control)
        wavelet.payload = sender.next;
      ++sender.next;
      wavelet.ready = now + 2;
      fabric->send(fabric->outbox(sender.pe, sender.color), wavelet);
      wake(sender.pe);
    }
  }
  void wake(int pe) {
    agenda.enter(agenda.now() + 1, agendaEntry(Party::Processor, uint32_t(pe)));
  }

  std::vector<Sender> senders;
  std::vector<Receiver> receivers;
};

constexpr int red = 1, blue = 2;

TEST(FabricTest, AWordPerCycleOverHopsAndRamps) {
  Row row(4);
  row.program.route(red, 0, 1, 0, 1, Port::Ramp, {Port::East});
  row.program.route(red, 1, 3, 0, 1, Port::West, {Port::East});
  row.program.route(red, 3, 4, 0, 1, Port::West, {Port::Ramp});
  row.start();
  row.send(0, red, 50);
  row.receive(3, red);
  row.run();
  ASSERT_EQ(row.got(3, red), row.numbers(50));
  const std::vector<Word> &words = row.taken[{3, red}];
  // Pushed at -1: ramp, three hops, ramp. Then one in every cycle.
  EXPECT_EQ(words.front().ready, -1 + 2 + 3 + 2);
  EXPECT_EQ(words.back().ready - words.front().ready, 49);
}

TEST(FabricTest, ColorsTakeTurnsOnALink) {
  Row row(2);
  for (int color : {red, blue}) {
    row.program.route(color, 0, 1, 0, 1, Port::Ramp, {Port::East});
    row.program.route(color, 1, 2, 0, 1, Port::West, {Port::Ramp});
  }
  row.start();
  for (int color : {red, blue}) {
    row.send(0, color, 40);
    row.receive(1, color);
  }
  row.run();
  for (int color : {red, blue}) {
    EXPECT_EQ(row.got(1, color), row.numbers(40));
    const std::vector<Word> &words = row.taken[{1, color}];
    // Half of the link each.
    EXPECT_NEAR(double(words.back().ready - words.front().ready), 2 * 39, 2);
  }
}

TEST(FabricTest, ABlockedColorDoesNotStopAnother) {
  Row row(3);
  for (int color : {red, blue}) {
    row.program.route(color, 0, 1, 0, 1, Port::Ramp, {Port::East});
    row.program.route(color, 1, 2, 0, 1, Port::West, {Port::East});
    row.program.route(color, 2, 3, 0, 1, Port::West, {Port::Ramp});
    row.send(0, color, 100);
  }
  row.start();
  row.receive(2, blue); // nobody receives red
  row.run();
  EXPECT_EQ(row.got(2, blue), row.numbers(100));
  EXPECT_EQ(row.got(2, red).size(), 0u);
  // Red fills what there is room for, back to the sender: the inbox (queue 2,
  // ramp 2), two routers (2 each) and the outbox (queue 2, ramp 2, router 2).
  EXPECT_EQ(row.fabric->inbox(2, red)->queue.size(), 4u);
  EXPECT_EQ(row.fabric->leftOver().size(), 1u + 3u);
}

TEST(FabricTest, AMulticastLeavesThroughAllPortsOrThroughNone) {
  Row row(3);
  row.program.route(red, 0, 1, 0, 1, Port::Ramp, {Port::East});
  row.program.route(red, 1, 2, 0, 1, Port::West, {Port::East, Port::Ramp});
  row.program.route(red, 2, 3, 0, 1, Port::West, {Port::Ramp});
  row.send(0, red, 30);
  row.start();
  row.receive(2, red); // PE 1 takes nothing
  row.run();
  const size_t room = row.fabric->inbox(1, red)->queue.size();
  EXPECT_EQ(room, 4u);
  EXPECT_EQ(row.got(2, red), row.numbers(uint32_t(room)));
  row.receive(1, red);
  row.run();
  EXPECT_EQ(row.got(1, red), row.numbers(30));
  EXPECT_EQ(row.got(2, red), row.numbers(30));
}

TEST(FabricTest, AWordOverTheEastEdgeIsTheHosts) {
  Row row(2);
  row.program.route(red, 1, 2, 0, 1, Port::Ramp, {Port::East});
  row.send(1, red, 5);
  row.start();
  row.run();
  EXPECT_EQ(row.got(row.width, red), row.numbers(5));
}

TEST(FabricTest, ASecondReceivePortIsRefused) {
  Row row(2);
  row.program.route(red, 0, 1, 0, 1, Port::Ramp, {Port::East});
  row.program.route(red, 1, 2, 0, 1, Port::Ramp, {Port::East});
  row.send(0, red, 1);
  row.start();
  try {
    row.run();
    FAIL() << "no error";
  } catch (const Error &error) {
    EXPECT_EQ(error.errorClass(), ErrorClass::RouteConflict) << error.what();
  }
}

/// PE 0 sends to PE 1, whose switch has a second position that passes on to
/// PE 2.
class SwitchRow : public Row {
public:
  SwitchRow(PopMode pop, bool ring = false) : Row(3) {
    program.route(red, 0, 1, 0, 1, Port::Ramp, {Port::East});
    program.route(red, 1, 2, 0, 1, Port::West, {Port::Ramp});
    program.switching({TaskProgram::to({Port::East})}, ring, pop);
    program.route(red, 2, 3, 0, 1, Port::West, {Port::Ramp});
    receiveAll();
  }
  void receiveAll() {
    receive(1, red);
    receive(2, red);
  }
  /// Two words, the commands, two words.
  void around(std::vector<SwitchCommand> commands, int task = -1) {
    send(0, red, 2);
    control(0, red, std::move(commands), task);
    send(0, red, 2);
    start();
    run();
  }
};

TEST(SwitchTest, LaterWordsSeeTheNextPosition) {
  SwitchRow row(PopMode::Never);
  row.around({SwitchCommand::Advance});
  EXPECT_EQ(row.got(1, red), row.numbers(2));
  EXPECT_EQ(row.got(2, red), row.numbers(2));
}

TEST(SwitchTest, TheControlWaveletGoesTheOldWay) {
  SwitchRow row(PopMode::Never);
  row.around({SwitchCommand::Advance}, 7);
  ASSERT_EQ(row.taken[std::pair(1, red)].size(), 3u);
  EXPECT_TRUE(row.taken[std::pair(1, red)].back().control);
  EXPECT_EQ(row.taken[std::pair(1, red)].back().task, 7);
}

TEST(SwitchTest, ResetReturnsToTheFirstPosition) {
  SwitchRow row(PopMode::Never);
  row.control(0, red, {SwitchCommand::Advance});
  row.around({SwitchCommand::Reset});
  EXPECT_EQ(row.got(2, red), row.numbers(2));
  EXPECT_EQ(row.got(1, red), row.numbers(2));
}

TEST(SwitchTest, TheLastPositionStaysUnlessTheyAreARing) {
  for (bool ring : {false, true}) {
    SwitchRow row(PopMode::Never, ring);
    row.control(0, red, {SwitchCommand::Advance});
    row.around({SwitchCommand::Advance});
    EXPECT_EQ(row.got(1, red).size(), ring ? 2u : 0u);
    EXPECT_EQ(row.got(2, red).size(), ring ? 2u : 4u);
  }
}

/// PE 1 first takes words from PE 0; two advances make it send to PE 2.
TEST(SwitchTest, APositionChangesWhatTheOneBeforeItLeft) {
  Row row(3);
  row.program.route(red, 0, 1, 0, 1, Port::Ramp, {Port::East});
  row.program.route(red, 1, 2, 0, 1, Port::West, {Port::Ramp});
  row.program.switching(
      {TaskProgram::from(Port::Ramp), TaskProgram::to({Port::East})});
  row.program.route(red, 2, 3, 0, 1, Port::West, {Port::Ramp});
  row.receive(1, red);
  row.receive(2, red);
  row.send(0, red, 2);
  row.control(0, red, {SwitchCommand::Advance});
  row.control(1, red, {SwitchCommand::Advance});
  row.send(1, red, 3);
  row.start();
  row.run();
  EXPECT_EQ(row.got(1, red), row.numbers(2));
  EXPECT_EQ(row.got(2, red), row.numbers(3));
}

TEST(SwitchTest, TeardownHoldsTraffic) {
  SwitchRow row(PopMode::Never);
  // The sender's router takes the first command, or it would close, too.
  row.program.source.routes[0]->pop = PopMode::Always;
  row.around({SwitchCommand::Nop, SwitchCommand::Teardown});
  EXPECT_EQ(row.got(1, red).size(), 2u);
  EXPECT_EQ(row.fabric->leftOver().size(), 1u);
  row.fabric->setRoute(1, red, Port::West, 1 << int(Port::East));
  row.fabric->step();
  row.run();
  EXPECT_EQ(row.got(2, red), row.numbers(2));
}

/// Commands that a control wavelet still has after a router.
static uint32_t left(PopMode pop, bool moves,
                     std::vector<SwitchCommand> commands) {
  program::RouteRuleT made;
  made.rect =
      std::make_unique<program::Rect>(ClassBuilder::makeRect(0, 1, 0, 1));
  made.transmit = 1 << int(Port::Ramp);
  made.pop = pop;
  if (moves)
    made.positions.push_back({-1, 1 << int(Port::East)});
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(program::RouteRule::Pack(builder, &made));
  pe::Switch state(
      flatbuffers::GetRoot<program::RouteRule>(builder.GetBufferPointer()));
  uint32_t packed = 0;
  for (size_t i = 0; i < commands.size(); ++i)
    packed |= pe::packCommand(commands[i], int(i));
  return state.act(packed);
}

TEST(SwitchTest, PopModes) {
  const auto advance = SwitchCommand::Advance, nop = SwitchCommand::Nop,
             reset = SwitchCommand::Reset;
  const uint32_t both = pe::packCommand(advance, 0) | pe::packCommand(reset, 1);
  const uint32_t second = pe::packCommand(reset, 0);
  EXPECT_EQ(left(PopMode::Never, true, {advance, reset}), both);
  EXPECT_EQ(left(PopMode::Always, true, {advance, reset}), second);
  EXPECT_EQ(left(PopMode::Always, false, {advance, reset}), second);
  EXPECT_EQ(left(PopMode::OnAdvance, true, {advance, reset}), second);
  EXPECT_EQ(left(PopMode::OnAdvance, false, {advance, reset}), both);
  EXPECT_EQ(left(PopMode::OnAdvance, true, {nop, reset}),
            pe::packCommand(reset, 1));
}

TEST(SwitchTest, AnAdvanceOfTheSenderWaitsForItsWords) {
  Row row(3);
  row.program.route(red, 1, 2, 0, 1, Port::Ramp, {Port::East});
  row.program.switching({TaskProgram::to({Port::West})});
  row.program.route(red, 0, 1, 0, 1, Port::East, {Port::Ramp});
  row.program.route(red, 2, 3, 0, 1, Port::West, {Port::Ramp});
  row.start();
  row.receive(0, red);
  row.receive(2, red);
  Buffer &outbox = row.fabric->outbox(1, red);
  ASSERT_LE(row.fabric->roomAt(outbox), 0);
  Word word;
  word.ready = 1;
  row.fabric->send(outbox, word);
  row.fabric->advanceSwitch(1, red);
  word.ready = 2;
  row.fabric->send(outbox, word);
  row.run();
  EXPECT_EQ(row.got(2, red).size(), 1u);
  EXPECT_EQ(row.got(0, red).size(), 1u);
}

TEST(FilterTest, RangeLooksAtTheIndex) {
  pe::Filter filter(program::FilterKind::Range, 2, 3, 0);
  std::vector<bool> passes;
  for (uint32_t index = 0; index < 6; ++index)
    passes.push_back(filter.pass(index << 16 | 5));
  EXPECT_EQ(passes,
            (std::vector<bool>{false, false, true, true, false, false}));
}

TEST(FilterTest, CounterKeepsSomeOfEach) {
  // Starts at 1; passes while at most 1; returns to 0 after 2.
  pe::Filter filter(program::FilterKind::Counter, 1, 1, 2);
  std::vector<bool> passes;
  for (int i = 0; i < 8; ++i)
    passes.push_back(filter.pass(0));
  EXPECT_EQ(passes, (std::vector<bool>{true, false, true, true, false, true,
                                       true, false}));
}

} // namespace
} // namespace wsec::runtime::wavelet
