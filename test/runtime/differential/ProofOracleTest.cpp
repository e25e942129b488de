// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Holds the proof about deadlock against the stepping engine on programs drawn
// by lot, sound and broken, launched by calls and by wavelets, with switches,
// tasks and streams of the host: none that is proved free may hang, and one
// that is said to deadlock must not end well.
#include "runtime/program/Checker.h"
#include "runtime/program/Errors.h"
#include "runtime/program/proof/DeadlockChecker.h"
#include "runtime/wavelet/WaveletEngine.h"
#include "test/runtime/differential/RandomProgram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>

namespace wsec::runtime::test {
namespace {

std::optional<ErrorClass> outcome(RandomProgram &random) {
  TensorHost host = random.host();
  try {
    WaveletEngine(random.finish()).run(host);
  } catch (const Error &error) {
    return error.errorClass();
  }
  return std::nullopt;
}

struct Counts {
  std::map<program::Verdict, int> verdicts;
  int switched = 0, tasked = 0;
};

Counts holdVerdicts(Launching launching, uint64_t programs) {
  Counts counts;
  auto &[verdicts, switched, tasked] = counts;
  for (uint64_t seed = 0; seed < programs; ++seed) {
    Choices choices(seed);
    // Half of them sound, the others broken in turns.
    const Break broken =
        seed % 2 ? Break(1 + seed / 2 % (breaks - 1)) : Break::Nothing;
    RandomProgram random = randomProgram(choices, broken, launching);
    const program::Program &finished = random.finish();
    try {
      checkProgram(finished);
    } catch (const Error &) {
      continue;
    }
    const DeadlockProof proof = proveDeadlockFree(finished);
    ++verdicts[proof.verdict];
    if (proof.verdict == program::Verdict::Undecided)
      continue;
    const auto &routes = random.source.routes;
    switched += std::any_of(routes.begin(), routes.end(), [](const auto &rule) {
      return !rule->positions.empty();
    });
    const auto &classes = random.source.classes;
    tasked +=
        std::any_of(classes.begin(), classes.end(), [](const auto &peClass) {
          return !peClass->tasks.empty();
        });
    const std::optional<ErrorClass> error = outcome(random);
    if (proof.verdict == program::Verdict::Free)
      EXPECT_NE(error, ErrorClass::Deadlock) << "seed " << seed;
    else
      EXPECT_NE(error, std::nullopt) << "seed " << seed << ": " << proof.reason;
  }
  return counts;
}

TEST(ProofOracle, VerdictsHoldOfCalls) {
  Counts counts = holdVerdicts(Launching::RemoteCalls, 6000);
  EXPECT_GT(counts.verdicts[program::Verdict::Free], 1200);
  EXPECT_GT(counts.verdicts[program::Verdict::Deadlock], 20);
  EXPECT_GT(counts.switched, 100);
  EXPECT_GT(counts.tasked, 400);
}

TEST(ProofOracle, VerdictsHoldOfCommands) {
  Counts counts = holdVerdicts(Launching::Commands, 3000);
  EXPECT_GT(counts.verdicts[program::Verdict::Free], 600);
  EXPECT_GT(counts.verdicts[program::Verdict::Deadlock], 20);
}

/// Switches, pairs, copies and scalar code, started by a wavelet.
TEST(ProofOracle, VerdictsHoldOfOneCommand) {
  Counts counts = holdVerdicts(Launching::OneCommand, 3000);
  EXPECT_GT(counts.verdicts[program::Verdict::Free], 300);
  EXPECT_GT(counts.switched, 30);
}

} // namespace
} // namespace wsec::runtime::test
