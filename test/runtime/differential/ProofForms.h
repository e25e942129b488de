// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Programs drawn by lot in a form, half of them broken in some place; the proof
// by phases is held against the stepping engine on them.
#ifndef TEST_RUNTIME_DIFFERENTIAL_PROOFFORMS_H
#define TEST_RUNTIME_DIFFERENTIAL_PROOFFORMS_H

#include "runtime/program/Checker.h"
#include "runtime/program/Errors.h"
#include "runtime/program/proof/DeadlockChecker.h"
#include "runtime/wavelet/WaveletEngine.h"
#include "test/runtime/ExampleFile.h"
#include "test/runtime/differential/Choices.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

namespace wsec::runtime::test {

using namespace program;
using Statements = std::vector<std::unique_ptr<StatementT>>;

inline int guardOf(Scalar scalar) { return int(scalar.index); }

class ProgramForm {
public:
  ProgramForm(Choices &choices, int width, int height)
      : choices(choices), width(width), height(height), builder(width, height) {
  }

  int draw(int n) { return int(choices.draw(uint32_t(n))); }
  bool chance(int n) { return draw(n) == 0; }

  /// Changes a number, a guard, the order, a thread or a route.
  void damage() {
    auto &classes = builder.source.classes;
    PEClassT &peClass = *classes[size_t(draw(int(classes.size())))];
    Statements &body =
        peClass.routines[size_t(draw(int(peClass.routines.size())))]->body;
    if (body.empty())
      return;
    const size_t at = size_t(draw(int(body.size())));
    InstructionT *instruction = body[at]->kind.AsInstruction();
    switch (draw(8)) {
    case 0:
      if (at + 1 < body.size())
        std::swap(body[at], body[at + 1]);
      return;
    case 1:
      body.erase(body.begin() + long(at));
      return;
    case 2:
      if (instruction)
        instruction->extents[0]->constant += 1 - 2 * draw(2);
      return;
    case 3:
      if (instruction)
        instruction->guard = int16_t(draw(int(peClass.scalars.size())));
      return;
    case 4:
      if (instruction)
        instruction->thread = int8_t(draw(5) - 1);
      return;
    case 5:
      std::swap(body[at], body[size_t(draw(int(body.size())))]);
      return;
    default:
      break;
    }
    RouteRuleT &rule =
        *builder.source.routes[size_t(draw(int(builder.source.routes.size())))];
    if (rule.color == ProgramBuilder::launchColor)
      return;
    if (chance(2))
      rule.receive = Port(draw(5));
    else
      rule.transmit ^= uint8_t(1u << draw(5));
  }

  /// Of each channel: what the host has for it.
  VectorHost host() const {
    VectorHost host;
    for (uint32_t s = 0; s < builder.source.streams.size(); ++s) {
      const HostStreamT &stream = *builder.source.streams[s];
      for (uint32_t c = 0; c < stream.channels.size(); ++c) {
        const bool in = stream.direction == Direction::In;
        const int blocks =
            (stream.channels[c].end() - stream.channels[c].begin()) *
            (in ? 1 : width);
        int64_t words = 0;
        for (const auto &segment : stream.segments)
          words +=
              segment->lines->constant * segment->extents[0]->constant * blocks;
        if (in)
          host.feed(s, c, std::vector<float>(size_t(words), 1));
        else
          host.expect(s, c, words);
      }
    }
    return host;
  }

  Choices &choices;
  const int width, height;
  ProgramBuilder builder;
};

struct Counts {
  int free = 0, refused = 0, hung = 0;
};

/// Makes 3,000 programs of a form on a mesh, two thirds of them damaged, proves
/// and runs each: none that is proved free hangs.
template <typename Forms>
Counts hold(void (Forms::*make)(), int width, int height) {
  Counts counts;
  for (uint64_t seed = 0; seed < 3000; ++seed) {
    Choices choices(seed);
    Forms forms(choices, width, height);
    (forms.*make)();
    for (uint64_t i = 0; i < seed % 3; ++i)
      forms.damage();
    std::optional<ErrorClass> error;
    try {
      stateCodeBytes(forms.builder);
      checkProgram(forms.builder.finish());
    } catch (const Error &) {
      continue;
    }
    const Program &finished = forms.builder.finish();
    const DeadlockProof phases = provePhases(finished);
    const DeadlockProof proof = proveDeadlockFree(finished);
    VectorHost host = forms.host();
    try {
      WaveletEngine(finished).run(host);
    } catch (const Error &problem) {
      error = problem.errorClass();
    }
    const bool hangs = error == ErrorClass::Deadlock;
    const bool free = phases.verdict == Verdict::Free;
    counts.hung += hangs;
    counts.free += free;
    counts.refused += !free;
    EXPECT_FALSE(hangs && free) << "by phases, seed " << seed;
    EXPECT_FALSE(hangs && proof.verdict == Verdict::Free) << "seed " << seed;
    EXPECT_FALSE(!error && proof.verdict == Verdict::Deadlock)
        << "seed " << seed << ": " << proof.reason;
  }
  return counts;
}

} // namespace wsec::runtime::test

#endif // TEST_RUNTIME_DIFFERENTIAL_PROOFFORMS_H
