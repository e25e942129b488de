// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/engine/PersistentState.h"
#include "test/runtime/ProgramBuilder.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace wsec::runtime {
namespace {

using Runs = std::vector<std::pair<size_t, size_t>>;

Runs runsOf(const UnitSet &units, size_t from, size_t to) {
  Runs runs;
  units.forEachRun(from, to, [&](size_t begin, size_t end) {
    runs.emplace_back(begin, end);
  });
  return runs;
}

TEST(UnitSet, HasRuns) {
  UnitSet units(200);
  units.insert(3, 5);
  units.insert(60, 130);
  units.insert(199, 200);
  EXPECT_EQ(runsOf(units, 0, 200), (Runs{{3, 5}, {60, 130}, {199, 200}}));
  EXPECT_EQ(runsOf(units, 4, 64), (Runs{{4, 5}, {60, 64}}));
  EXPECT_EQ(runsOf(units, 130, 199), Runs());
  UnitSet other(200);
  other.insert(0, 64);
  EXPECT_EQ(runsOf(units & other, 0, 200), (Runs{{3, 5}, {60, 64}}));
  EXPECT_EQ(runsOf(units - other, 0, 200), (Runs{{64, 130}, {199, 200}}));
}

/// Keeps one number, of all PEs.
struct OneNumber : PersistentState::Keeper {
  uint8_t value = 0, before = 0;
  int brought = 0, forgotten = 0;

  void bring(PersistentState::Values &values) override {
    ++brought;
    for (auto &[pe, held] : values)
      held.bytes[0] = value;
  }
  void undo() override { value = before; }
  void forget() override { ++forgotten; }

  void change(PersistentState &state, uint8_t to) {
    before = std::exchange(value, to);
    UnitSet written(8);
    written.insert(0, 1);
    state.keep(*this, {{0, written}});
  }
};

class PersistentStates : public testing::Test {
protected:
  static test::ProgramBuilder makeProgram() {
    test::ProgramBuilder builder(1, 1);
    test::ClassBuilder pes = builder.addClass("pes", 0, 1, 0, 1);
    pes.source->buffers[pes.buffer("cache", 4)]->persistent = true;
    return builder;
  }
  test::ProgramBuilder builder = makeProgram();
  PersistentState state{builder.finish()};
  OneNumber engine;
};

TEST_F(PersistentStates, AreBroughtToWhoLooks) {
  engine.change(state, 7);
  EXPECT_EQ(engine.brought, 0);
  EXPECT_NE(state.writtenOf(0), nullptr);
  EXPECT_EQ(engine.brought, 0);
  EXPECT_EQ(state.of(0)->bytes[0], 7);
  EXPECT_EQ(PersistentState(state).of(0)->bytes[0], 7);
  EXPECT_EQ(engine.brought, 1);
  EXPECT_TRUE(state.isKeptBy(engine));
}

TEST_F(PersistentStates, AreAsBeforeIfUndone) {
  engine.change(state, 7);
  state.settle();
  engine.change(state, 8);
  state.undo();
  EXPECT_TRUE(state.isKeptBy(engine));
  EXPECT_EQ(state.of(0)->bytes[0], 7);
  const uint8_t half[2] = {9, 0};
  state.change();
  state.write(0, 0, 0, half);
  EXPECT_FALSE(state.isKeptBy(engine));
  EXPECT_EQ(engine.forgotten, 1);
  EXPECT_EQ(state.of(0)->bytes[0], 9);
  state.undo();
  EXPECT_EQ(state.of(0)->bytes[0], 7);
}

TEST_F(PersistentStates, FirstChangeUndone) {
  engine.change(state, 7);
  state.undo();
  EXPECT_EQ(engine.forgotten, 1);
  EXPECT_EQ(state.of(0), nullptr);
  EXPECT_TRUE(state.pes().empty());
  EXPECT_EQ(engine.brought, 0);
}

TEST_F(PersistentStates, OutliveTheirKeeper) {
  engine.change(state, 7);
  state.release();
  EXPECT_EQ(engine.forgotten, 1);
  engine.value = 1;
  EXPECT_EQ(state.of(0)->bytes[0], 7);
}

} // namespace
} // namespace wsec::runtime
