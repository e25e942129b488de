// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The random programs of test/runtime/differential, watched: what the counters
// say must balance, and be what code and routes say.
#include "runtime/program/facts/LinkWords.h"
#include "runtime/wavelet/WaveletEngine.h"
#include "test/runtime/differential/RandomProgram.h"
#include "test/runtime/observe/CountersAgree.h"

#include <gtest/gtest.h>

namespace wsec::runtime::test {
namespace {

bool hasFilters(const program::Program &program) {
  for (const program::PEClass *its : *program.classes())
    if (its->filters() && its->filters()->size() > 0)
      return true;
  return false;
}

void runWatched(const program::Program &program, TensorHost host,
                Counters &counters) {
  EngineOptions options;
  options.observer = &counters;
  const RunResult result = WaveletEngine(program, options).run(host);
  expectBalanced(counters, result, hasFilters(program));
}

/// Whether what code and routes say of links is known; then it is what a run
/// counts.
bool expectForetold(const program::Program &program, const Counters &counters) {
  const LinkWords words = countLinkWords(program);
  for (const LinkWords::Launch &launch : words.launches)
    if (!launch.unknown.empty())
      return false;
  const auto links = wordsByLink(
      program, words, program.entries()->Get(0)->name()->string_view());
  auto maps = mapsByName(counters);
  const char *ports[] = {"north", "south", "east", "west", "ramp"};
  for (size_t port = 0; port < links.size(); ++port)
    EXPECT_EQ(std::vector<double>(links[port].begin(), links[port].end()),
              maps[std::string("link_words_") + ports[port]])
        << ports[port];
  return true;
}

TEST(RandomCountersTest, CountsAreThoseOfCodeAndRoutes) {
  int foretold = 0;
  for (uint64_t seed = 1; seed <= 500; ++seed) {
    SCOPED_TRACE("RandomPrograms --kind=well-formed --count=1 --seed=" +
                 std::to_string(seed));
    Choices choices(seed);
    RandomProgram random = randomProgram(choices);
    const program::Program &program = random.finish();
    Counters counters(program);
    runWatched(program, random.host(), counters);
    foretold += expectForetold(program, counters);
    if (HasFailure())
      return;
  }
  EXPECT_GT(foretold, 50); // most have tasks or switches
}

} // namespace
} // namespace wsec::runtime::test
