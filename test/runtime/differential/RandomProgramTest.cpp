// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The generator itself: that its programs are what they claim to be.
#include "test/runtime/differential/RandomProgram.h"
#include "runtime/program/Checker.h"
#include "runtime/program/Errors.h"
#include "runtime/wavelet/WaveletEngine.h"
#include "test/runtime/differential/Shrink.h"

#include <gtest/gtest.h>
#include <map>
#include <optional>
#include <set>

namespace wsec::runtime::test {
namespace {

std::optional<ErrorClass> outcome(RandomProgram &random) {
  const program::Program &program = random.finish();
  try {
    checkProgram(program);
    TensorHost host = random.host();
    WaveletEngine(program, {}).run(host);
  } catch (const Error &error) {
    return error.errorClass();
  }
  return std::nullopt;
}

TEST(RandomProgramTest, WellFormedProgramsRun) {
  for (uint64_t seed = 1; seed <= 500; ++seed) {
    Choices choices(seed);
    RandomProgram random = randomProgram(choices);
    EXPECT_EQ(random.broken, Break::Nothing);
    EXPECT_EQ(outcome(random), std::nullopt) << "seed " << seed;
  }
}

/// Programs with commands compute in 16 bits, too, and the host fills and reads
/// such buffers.
TEST(RandomProgramTest, CommandsHaveElementsOf16Bits) {
  int singles = 0, pairs = 0;
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    Choices choices(seed);
    RandomProgram random =
        randomProgram(choices, Break::Nothing, Launching::Commands);
    for (const auto &code : random.source.classes)
      for (const auto &buffer : code->buffers)
        singles += buffer->type == program::ElementType::F16 ||
                   buffer->type == program::ElementType::BF16;
    pairs += random.text().find("pair") != std::string::npos;
    EXPECT_EQ(outcome(random), std::nullopt) << "seed " << seed;
  }
  EXPECT_GT(singles, 20);
  EXPECT_GT(pairs, 10);
}

/// Each fault shows in most programs that have it, as one of these classes.
TEST(RandomProgramTest, FaultsShow) {
  using Class = ErrorClass;
  // Words that are missing or too many may also leave half a pair.
  const std::map<Break, std::set<Class>> expected{
      {Break::MissingRoute, {Class::MissingRoute}},
      {Break::WrongPort, {Class::RouteConflict}},
      {Break::TooManyWords, {Class::UnreadTraffic, Class::PackingMismatch}},
      {Break::TooFewWords, {Class::Deadlock, Class::PackingMismatch}},
      {Break::NobodySends, {Class::Deadlock}},
      {Break::CyclicWait, {Class::Deadlock}},
      {Break::WrongType, {Class::PackingMismatch}},
      {Break::WrongPacking, {Class::PackingMismatch}},
      {Break::OutOfBounds, {Class::OutOfBounds}},
      {Break::UninitializedRead, {Class::UninitializedRead}},
      {Break::MicrothreadBusy, {Class::MicrothreadBusy}},
      {Break::MissingTask, {Class::MissingTask}},
      {Break::BlockedTask, {Class::UnreadTraffic, Class::Deadlock}},
      {Break::DivisionByZero, {Class::BadProgram}},
      {Break::NegativeExtent, {Class::BadProgram}},
      {Break::NoAdvance, {Class::Deadlock}},
      {Break::NoQueue, {Class::MachineLimit}},
  };
  ASSERT_EQ(expected.size(), size_t(breaks - 1));
  for (const auto &[kind, classes] : expected) {
    int broken = 0, shown = 0;
    for (uint64_t seed = 1; seed <= 250; ++seed) {
      Choices choices(seed);
      RandomProgram random = randomProgram(choices, kind);
      broken += random.broken == kind;
      std::optional<ErrorClass> error = outcome(random);
      if (random.broken == Break::Nothing)
        EXPECT_EQ(error, std::nullopt) << breakName(kind) << ", seed " << seed;
      else
        shown += error && classes.count(*error);
    }
    EXPECT_GT(broken, 5) << breakName(kind);
    EXPECT_GE(shown, (broken + 1) / 2) << breakName(kind);
  }
}

TEST(RandomProgramTest, ChoicesGivenAgainMakeTheSameProgram) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    Choices drawn(seed);
    const std::string first = randomProgram(drawn).text();
    Choices given(drawn.lists());
    EXPECT_EQ(randomProgram(given).text(), first);
    EXPECT_EQ(given.lists(), drawn.lists());
  }
}

/// Any choices make a sound program, so that it can be made smaller.
TEST(RandomProgramTest, ShortenedChoicesMakeProgramsThatRun) {
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    Choices drawn(seed);
    randomProgram(drawn);
    Choices::Lists lists = drawn.lists();
    lists.erase(lists.begin() + 1);
    for (Choices::List &list : lists)
      list.erase(list.begin() + ptrdiff_t(list.size() / 2),
                 list.begin() + ptrdiff_t(list.size() * 3 / 4));
    Choices given(lists);
    RandomProgram random = randomProgram(given);
    EXPECT_EQ(outcome(random), std::nullopt) << "seed " << seed;
  }
}

TEST(RandomProgramTest, ShrinkingFindsTheSmallestFailure) {
  // A number of 40 or more. The first section, for the whole, stays.
  auto fails = [](Choices::Lists lists) {
    for (const Choices::List &list : lists)
      for (uint32_t number : list)
        if (number >= 40)
          return lists;
    return Choices::Lists();
  };
  const Choices::Lists large{{1, 2, 3}, {4, 99, 5, 6, 70}, {7, 8}, {50, 50}};
  EXPECT_EQ(shrink(large, 1000, fails), (Choices::Lists{{}, {40}}));
}

} // namespace
} // namespace wsec::runtime::test
