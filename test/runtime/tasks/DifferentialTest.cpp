// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Random programs on both engines. Whole instructions and single cycles must
// give the same values, or refuse the same way; cycles are compared.
// WSEC_DIFFERENTIAL_PROGRAMS=n runs n of them, WSEC_DIFFERENTIAL_SEED=s starts
// at another one.
#include "runtime/program/Errors.h"
#include "runtime/tasks/TaskEmulator.h"
#include "runtime/wavelet/WaveletEngine.h"
#include "test/runtime/TaskProgram.h"
#include "test/runtime/observe/CountersAgree.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <gtest/gtest.h>
#include <optional>
#include <random>

namespace wsec::runtime::test {
namespace {

using program::ElementType;
using program::Opcode;
using program::Packing;
using program::Port;
using program::ScalarOp;
using program::SwitchCommand;
using program::TaskKind;

/// A row of PEs. Each sends to the next, on colors that alternate; what it
/// does with what it receives is drawn by lot. Some programs are broken.
class RandomRow {
public:
  explicit RandomRow(uint32_t seed)
      : random(seed), width(2 + int(draw(7))), program(width, 1) {
    static constexpr ElementType types[] = {ElementType::F32, ElementType::F16,
                                            ElementType::BF16, ElementType::I16,
                                            ElementType::I32};
    type = types[draw(5)];
    words = 1 + int(draw(draw(2) ? 8 : 60));
    pair = half() && draw(2);
    rounds = 1 + int(draw(3));
    broken = draw(6) == 0 ? 1 + int(draw(5)) : 0;
    for (int x = 0; x < width; ++x)
      addPE(x);
    for (int i = 0; i < 1 + int(draw(2)); ++i) {
      program.launch(0);
      ++launches;
    }
    in = program.copy(program::Direction::In, "v", type, uint32_t(words), 0,
                      width, 0, 1, 0);
    out = program.copy(program::Direction::Out, "v", type, uint32_t(words), 0,
                       width, 0, 1, launches);
    count = program.copy(program::Direction::Out, "n", ElementType::I32, 4, 0,
                         width, 0, 1, launches);
  }

  const program::Program &finish() { return program.finish(); }
  TensorHost host() {
    TensorHost host;
    std::vector<uint8_t> bytes;
    const size_t size = size_t(words) * size_t(width);
    std::mt19937 values(7);
    for (size_t i = 0; i < size; ++i) {
      Number number;
      const bool integer = isInteger(type);
      if (integer)
        number.integer = int(values() % 2000) - 1000;
      else
        number.real = float(int(values() % 2000) - 1000) / 64;
      const uint32_t bits = encodeElement(
          type, integer ? NumberKind::Integer : NumberKind::Single, number);
      for (uint32_t b = 0; b < elementSize(type); ++b)
        bytes.push_back(uint8_t(bits >> 8 * b));
    }
    host.give(in, bytes);
    host.room(out, bytes.size());
    host.room(count, size_t(width) * 16);
    return host;
  }

  int broken;

private:
  uint32_t draw(uint32_t n) { return uint32_t(random()) % n; }
  bool half() const { return elementSize(type) == 2; }

  Operand wire(int color, int broken = 0) {
    Operand operand = fabric(color);
    operand.type = type;
    operand.packing =
        pair != (broken == 1 && half()) ? Packing::Pair : Packing::Single;
    return operand;
  }

  Opcode operation() {
    static constexpr Opcode all[] = {Opcode::Add, Opcode::Sub, Opcode::Max,
                                     Opcode::Mul};
    return all[draw(4)];
  }

  void addPE(int x) {
    const int to = x % 2, from = 1 - to;
    if (x + 1 < width)
      program.route(to, x, x + 1, 0, 1, Port::Ramp, {Port::East});
    if (x > 0)
      program.route(from, x, x + 1, 0, 1, Port::West, {Port::Ramp});
    TaskClass its = program.pes("pe" + std::to_string(x), x, x + 1, 0, 1);
    const uint16_t v = its.typed("v", type, uint32_t(words));
    const uint16_t n = its.typed("n", ElementType::I32, 4);
    const uint16_t scratch = its.typed("s", type, uint32_t(words));
    TaskBody body = its.body(0);
    for (int i = 0; i < 4; ++i)
      body.store(n, i, x + i);
    const Operand mem = memory(v, {1}), other = memory(scratch, {1});
    const bool odd = broken != 0 && x == width / 2;
    const int more = odd && broken == 2 ? 1 : 0; // too few or too many words
    const int length = std::max(1, words - more);
    auto round = [&](TaskBody b) {
      for (uint32_t i = draw(3); i > 0; --i)
        b.add(operation(), {words}, mem, mem, mem);
      if (x == 0)
        b.add(Opcode::Mov, {length}, wire(to), mem);
      else if (x + 1 < width && draw(2))
        b.add(operation(), {length}, wire(to), mem, wire(from, odd * broken));
      else {
        if (x + 1 < width && broken == 3 && odd)
          return; // forgets to send
        b.add(operation(), {length}, mem, mem, wire(from, odd * broken));
        if (x + 1 < width)
          b.add(Opcode::Mov, {length}, wire(to), mem);
      }
    };
    switch (draw(3)) {
    case 0:
      body.repeat(rounds, round);
      break;
    case 1: { // Rounds as a task that activates itself.
      const int task = its.task("round", TaskKind::Local, 3);
      body.store(n, 0, 0);
      body.activate(task);
      TaskBody b = its.taskBody(task);
      round(b);
      b.load(0, n, 0);
      b.compute(1, ScalarOp::Add, local(0), 1);
      b.store(n, 0, local(1));
      b.compute(2, ScalarOp::Less, local(1), rounds);
      b.branch(local(2), [&](TaskBody then) { then.activate(task); });
      break;
    }
    case 2: { // Asynchronous, with a task at the end of each.
      const int done =
          its.task("done", TaskKind::Local, 5, draw(2) && odd && broken == 4);
      body.repeat(rounds, [&](TaskBody b) {
        if (x > 0) {
          auto &receive =
              b.add(Opcode::Mov, {length}, other, wire(from, odd * broken));
          receive.thread = int8_t(draw(4));
          receive.activate = int16_t(done);
          b.await(uint8_t(1 << receive.thread));
          b.add(Opcode::Add, {length}, mem, mem, other);
        }
        if (x + 1 < width) {
          // What is sent must not change while nobody waits.
          const bool waits = !(odd && broken == 5);
          auto &send = b.add(Opcode::Mov, {length}, wire(to),
                             waits ? mem : immediate(2));
          send.thread = int8_t(4 + draw(4));
          if (waits)
            b.await(uint8_t(1 << send.thread));
        }
      });
      TaskBody b = its.taskBody(done);
      b.load(0, n, 1);
      b.compute(0, ScalarOp::Add, local(0), 1);
      b.store(n, 1, local(0));
      break;
    }
    }
  }

  std::mt19937 random;
  int width;
  TaskProgram program;
  ElementType type;
  int words, rounds;
  bool pair;
  uint32_t launches = 0;
  uint32_t in, out, count;
};

struct Outcome {
  std::map<uint32_t, std::vector<uint8_t>> tensors;
  double cycles = 0;
  std::optional<ErrorClass> error;
  std::string message;
};

template <class Engine>
Outcome runOn(const program::Program &program, TensorHost host,
              Counters &counters) {
  Outcome outcome;
  try {
    EmulatorOptions options;
    options.workLimit = 1000000;
    options.observer = &counters;
    const RunResult result = Engine(program, options).run(host);
    expectBalanced(counters, result);
    outcome.cycles = result.cycles;
    outcome.tensors = host.tensors;
  } catch (const Error &error) {
    outcome.error = error.errorClass();
    outcome.message = error.what();
  }
  return outcome;
}

uint32_t setting(const char *name, uint32_t otherwise) {
  const char *value = std::getenv(name);
  return value ? uint32_t(std::strtoul(value, nullptr, 10)) : otherwise;
}

TEST(DifferentialTest, RandomRows) {
  const uint32_t first = setting("WSEC_DIFFERENTIAL_SEED", 1);
  const uint32_t programs = setting("WSEC_DIFFERENTIAL_PROGRAMS", 2000);
  std::vector<double> ratios;
  std::map<std::string, int> errors;
  int undecided = 0;
  for (uint32_t seed = first; seed < first + programs; ++seed) {
    RandomRow row(seed);
    const program::Program &program = row.finish();
    Counters onBurst(program), onWavelet(program);
    const Outcome burst = runOn<TaskEmulator>(program, row.host(), onBurst);
    if (burst.message.find("--engine=wavelet") != std::string::npos) {
      ++undecided;
      continue;
    }
    const Outcome stepped =
        runOn<WaveletEngine>(program, row.host(), onWavelet);
    ASSERT_EQ(burst.error, stepped.error)
        << "seed " << seed << ", broken " << row.broken << "\n"
        << burst.message << "\n"
        << stepped.message;
    if (burst.error) {
      ++errors[std::string(errorClassName(*burst.error))];
      continue;
    }
    ASSERT_EQ(burst.tensors, stepped.tensors)
        << "seed " << seed << ", broken " << row.broken;
    expectAgreement(onBurst, onWavelet);
    ratios.push_back(burst.cycles / stepped.cycles - 1);
  }
  std::sort(ratios.begin(), ratios.end());
  auto at = [&](double part) {
    return 100 * ratios[size_t(part * double(ratios.size() - 1))];
  };
  std::printf(
      "%zu programs ran, cycles to the stepping engine: %+.2f %% least, "
      "%+.2f %% (1 in 20), %+.2f %% median, %+.2f %% (19 in 20), "
      "%+.2f %% most\n",
      ratios.size(), at(0), at(0.05), at(0.5), at(0.95), at(1));
  for (const auto &[name, n] : errors)
    std::printf("%d refused by both: %s\n", n, name.c_str());
  std::printf("%d left to the stepping engine\n", undecided);
  EXPECT_GT(at(0.05), -5);
  EXPECT_LT(at(0.95), 5);
}

} // namespace
} // namespace wsec::runtime::test
