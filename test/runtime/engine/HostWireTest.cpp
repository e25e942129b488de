// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Elements between the store and PEs: their types, two in a wavelet, numbered,
// sums in the store, streams that several launches use. Engines must agree on
// values and cycles.
#include "runtime/memoryx/MemoryX.h"
#include "runtime/pe/Arithmetic.h"
#include "runtime/program/Errors.h"
#include "runtime/strips/StripsEngine.h"
#include "runtime/wavelet/WaveletEngine.h"
#include "test/runtime/ExampleFile.h"
#include "test/runtime/TaskProgram.h"

#include <gtest/gtest.h>

namespace wsec::runtime::test {
namespace {

using program::Direction;
using program::ElementType;
using program::Opcode;
using program::Packing;
using program::Port;
using program::TensorRole;
using Words = std::vector<float>;

struct Form {
  ElementType type = ElementType::F32;
  Packing packing = Packing::Single;
};

constexpr int feedColor = 0, drainColor = 1;

/// Rows of one PE each. All take `lines` lines of blocks of these sizes, double
/// them and send them off: tensor x to tensor y, both [blocks, lines, size].
class Doubling : public ProgramBuilder {
public:
  Doubling(int rows, std::vector<int> blocks, int lines, Form form,
           ElementType tensors = ElementType::F32)
      : ProgramBuilder(1, rows), blocks(std::move(blocks)), lines(lines),
        form(form) {
    route(feedColor, 0, 1, 0, rows, Port::West, {Port::Ramp});
    route(drainColor, 0, 1, 0, rows, Port::Ramp, {Port::East});
    TaskClass pes(addClass("all", 0, 1, 0, rows));
    const int largest =
        *std::max_element(this->blocks.begin(), this->blocks.end());
    pes.typed("v", form.type, uint32_t(largest + largest % 2));
    TaskBody body = pes.body(0);
    for (int size : this->blocks)
      body.repeat(lines, [&](TaskBody inner) {
        inner.add(Opcode::Mov, {size}, memory(0, {1}), wire(feedColor));
        inner.add(Opcode::Add, {size}, wire(drainColor), memory(0, {1}),
                  memory(0, {1}));
      });
    addTensor(*this, "x", TensorRole::Input, {words()}, tensors);
    addTensor(*this, "y", TensorRole::Output, {words()}, tensors);
    for (int row = 0; row < rows; ++row) {
      addStream("feed" + std::to_string(row), Direction::In, feedColor, row, 0);
      addStream("drain" + std::to_string(row), Direction::Out, drainColor, row,
                1);
    }
  }

  Operand wire(int color) const {
    Operand operand = fabric(color);
    operand.type = form.type;
    operand.packing = form.packing;
    return operand;
  }
  int64_t words() const {
    return lines * std::accumulate(blocks.begin(), blocks.end(), int64_t(0));
  }
  program::HostStreamT &feed(int row = 0) {
    return *source.streams[size_t(2 * row)];
  }
  program::HostStreamT &drain(int row = 0) {
    return *source.streams[size_t(2 * row + 1)];
  }
  /// All lines, of all rows, are added up in the first line.
  void accumulate(int rows) {
    for (int row = 0; row < rows; ++row)
      for (auto &segment : drain(row).segments) {
        segment->line_stride = 0;
        segment->accumulate = true;
      }
    ElementType type = ElementType::F32;
    source.tensors[1]->type = type;
    source.tensors[1]->shape = {blocks[0]};
  }
  /// Launches of all streams. Without a launch color they are calls.
  void launches(int count, bool calls = false) {
    if (calls) {
      source.launch_color = 255;
      std::erase_if(source.routes, [](const auto &rule) {
        return rule->color == launchColor;
      });
    }
    std::vector<uint32_t> streams(source.streams.size());
    std::iota(streams.begin(), streams.end(), 0);
    for (int i = 0; i < count; ++i)
      launch(0, streams);
    stateCodeBytes(*this);
  }

private:
  void addStream(const std::string &name, Direction direction, int color,
                 int row, uint32_t tensor) {
    program::HostStreamT &made =
        *source.streams[stream(name, direction, color, {})];
    const bool in = direction == Direction::In;
    made.channels = {{row, in ? 0 : row, in ? 1 : row + 1}};
    made.type = form.type;
    made.packing = form.packing;
    int64_t first = 0;
    for (int size : blocks) {
      made.segments.push_back(
          makeSegment(tensor, lines, size, {size}, {1}, first));
      first += int64_t(size) * lines;
    }
  }

  std::vector<int> blocks;
  int lines;
  Form form;
};

struct Outcome {
  std::vector<uint8_t> result;
  double cycles = 0;
  uint64_t in = 0, out = 0;
  bool operator==(const Outcome &) const = default;
};

template <class Engine>
Outcome runOn(std::shared_ptr<const LoadedProgram> loaded,
              const std::vector<uint8_t> &x) {
  TensorStore store(loaded);
  store.bindInput(0, x.data(), loaded);
  store.clearOutputs();
  MemoryX memory(store);
  const RunResult run = Engine(loaded->program()).run(memory);
  memory.finish();
  const program::Tensor &y = store.tensor(1);
  const uint8_t *data = store.outputElements(1);
  return {{data, data + elementCount(y) * elementBytes(y.type())},
          run.cycles,
          run.hostWordsIn,
          run.hostWordsOut};
}

template <class Element>
std::vector<uint8_t> bytesOf(const std::vector<Element> &elements) {
  std::vector<uint8_t> bytes(elements.size() * sizeof(Element));
  std::memcpy(bytes.data(), elements.data(), bytes.size());
  return bytes;
}

template <class Element>
std::vector<Element> elementsOf(const std::vector<uint8_t> &bytes) {
  std::vector<Element> elements(bytes.size() / sizeof(Element));
  std::memcpy(elements.data(), bytes.data(), bytes.size());
  return elements;
}

Outcome run(Doubling &program, const std::vector<uint8_t> &x) {
  return runOn<WaveletEngine>(LoadedProgram::fromBytes(makeFile(program)), x);
}

Words fractions(size_t count) {
  Words x(count);
  for (size_t i = 0; i < count; ++i)
    x[i] = float(i + 1) / 7;
  return x;
}

float doubled(Form form, float x) {
  const auto bits = encodeElement(form.type, NumberKind::Single, {x});
  const float rounded = decodeElement(form.type, NumberKind::Single, bits).real;
  const auto sum =
      encodeElement(form.type, NumberKind::Single, {rounded + rounded});
  return decodeElement(form.type, NumberKind::Single, sum).real;
}

TEST(HostWireTest, FloatsOfEveryFormGoInAndOut) {
  const std::vector<int> blocks{5, 4, 1};
  for (Form form : {Form{ElementType::F32, Packing::Single},
                    {ElementType::F16, Packing::Single},
                    {ElementType::F16, Packing::Pair},
                    {ElementType::BF16, Packing::Single},
                    {ElementType::BF16, Packing::Pair},
                    {ElementType::CB16, Packing::Single},
                    {ElementType::CB16, Packing::Pair}}) {
    Doubling program(1, blocks, 3, form);
    program.launches(1);
    const Words x = fractions(size_t(program.words()));
    const Outcome outcome = run(program, bytesOf(x));
    const Words y = elementsOf<float>(outcome.result);
    for (size_t i = 0; i < x.size(); ++i)
      EXPECT_EQ(y[i], doubled(form, x[i])) << i;
    // Wavelets are counted, not elements: 3 + 2 + 1 of 5 + 4 + 1.
    const uint64_t wavelets = form.packing == Packing::Pair ? 18 : 30;
    EXPECT_EQ(outcome.in, wavelets);
    EXPECT_EQ(outcome.out, wavelets);
  }
}

TEST(HostWireTest, PairsTakeHalfTheTime) {
  double cycles[2];
  for (Packing packing : {Packing::Single, Packing::Pair}) {
    Doubling program(1, {2000}, 1, {ElementType::F16, packing});
    program.launches(1);
    cycles[int(packing)] = run(program, bytesOf(fractions(2000))).cycles -
                           program.source.machine->store_latency_cycles;
  }
  EXPECT_LT(cycles[1], 0.6 * cycles[0]);
}

TEST(HostWireTest, IntegersGoInAndOutExactly) {
  for (auto [type, packing, largest] :
       {std::tuple(ElementType::I32, Packing::Single, 1 << 30),
        {ElementType::I16, Packing::Single, 1 << 14},
        {ElementType::I16, Packing::Pair, 1 << 14}}) {
    Doubling program(1, {5}, 2, {type, packing}, ElementType::I64);
    program.launches(1);
    std::vector<int64_t> x, expected;
    for (int i = 0; i < 10; ++i) {
      x.push_back(i % 2 ? -largest + i : largest - 1 - i);
      expected.push_back(2 * x.back());
    }
    EXPECT_EQ(elementsOf<int64_t>(run(program, bytesOf(x)).result), expected);
  }
}

TEST(HostWireTest, IntegersThatTheWireDoesNotHoldAreRefused) {
  struct {
    ElementType type;
    int64_t good, bad;
    std::string message;
  } cases[] = {
      {ElementType::F32, 1 << 24, (1 << 24) + 1,
       "element 3 of tensor 'x' is 16777217: stream 'feed0' carries F32, which "
       "holds integers from -16777216 to 16777216; let it carry another type"},
      {ElementType::F16, 2048, -2049,
       "element 3 of tensor 'x' is -2049: stream 'feed0' carries F16, which "
       "holds integers from -2048 to 2048; let it carry another type"},
      {ElementType::BF16, 256, 257,
       "element 3 of tensor 'x' is 257: stream 'feed0' carries BF16, which "
       "holds integers from -256 to 256; let it carry another type"},
      {ElementType::I32, INT32_MIN, INT64_C(1) << 31,
       "element 3 of tensor 'x' is 2147483648: stream 'feed0' carries I32, "
       "which holds integers from -2147483648 to 2147483647; let it carry "
       "another type"},
      {ElementType::I16, 32767, 32768,
       "element 3 of tensor 'x' is 32768: stream 'feed0' carries I16, which "
       "holds integers from -32768 to 32767; let it carry another type"},
  };
  for (const auto &[type, good, bad, message] : cases) {
    Doubling program(1, {5}, 1, {type, Packing::Single}, ElementType::I64);
    program.launches(1);
    std::vector<int64_t> x{0, 1, -1, good, 2};
    EXPECT_NO_THROW(run(program, bytesOf(x)));
    x[3] = bad;
    try {
      run(program, bytesOf(x));
      FAIL() << message;
    } catch (const Error &error) {
      EXPECT_EQ(error.errorClass(), ErrorClass::BadTensor);
      EXPECT_EQ(error.message(), message);
    }
  }
}

/// What PEs and the host think of the words.
std::string mismatch(const std::function<void(Doubling &)> &change, Form form) {
  Doubling program(1, {5}, 1, form);
  change(program);
  program.launches(1);
  auto loaded = LoadedProgram::fromBytes(makeFile(program));
  const std::vector<uint8_t> x = bytesOf(fractions(5));
  try {
    runOn<WaveletEngine>(loaded, x);
  } catch (const Error &error) {
    return error.what();
  }
  return "";
}

TEST(HostWireTest, PesAndHostAgreeOnTheForm) {
  const Form pairs{ElementType::F16, Packing::Pair};
  EXPECT_NE(
      mismatch([](Doubling &p) { p.feed().packing = Packing::Single; }, pairs)
          .find("receives f16 on color 0 where it expects f16 in "
                "pairs"),
      std::string::npos);
  EXPECT_NE(
      mismatch([](Doubling &p) { p.feed().type = ElementType::BF16; }, pairs)
          .find("receives bf16 in pairs on color 0 where it expects "
                "f16 in pairs"),
      std::string::npos);
  EXPECT_EQ(
      mismatch([](Doubling &p) { p.drain().packing = Packing::Single; }, pairs),
      "PackingMismatch: stream 'drain0' (color 1, row 0) takes f16, "
      "f16 in pairs comes");
  // Two blocks of the host for one instruction of the PE.
  EXPECT_EQ(mismatch(
                [](Doubling &p) {
                  auto &segments = p.drain().segments;
                  segments[0] = makeSegment(1, 1, 0, {3}, {1}, 0);
                  segments.push_back(makeSegment(1, 1, 0, {2}, {1}, 3));
                },
                pairs),
            "PackingMismatch: stream 'drain0' (row 0) takes half a pair at "
            "the end of a block, a pair comes: let an instruction send a "
            "block");
}

/// Elements with their numbers start data tasks; a filter keeps every block's
/// element 2.
TEST(HostWireTest, NumberedElementsPassFilters) {
  TaskProgram program(1, 1);
  program.route(feedColor, 0, 1, 0, 1, Port::West, {Port::Ramp});
  TaskClass pe = program.pes("pe", 0, 1, 0, 1);
  const uint16_t word = pe.typed("word", ElementType::F16, 2);
  const uint16_t number = pe.typed("number", ElementType::I16, 2);
  const uint16_t seen = pe.typed("seen", ElementType::I16, 6);
  pe.filter(feedColor, program::FilterKind::Range, 1, 2);
  const int task =
      pe.task("take", program::TaskKind::Data, feedColor, false, word, number);
  TaskBody body = pe.taskBody(task);
  body.load(0, number, 0);
  body.load(1, word, 0);
  body.store(seen, local(0), local(1));
  pe.body(0).add(Opcode::Mov, {6}, memory(seen, {1}), immediate(-1));
  addTensor(program, "x", TensorRole::Input, {8});
  const uint32_t feed = program.stream("feed", Direction::In, feedColor, {0});
  program::HostStreamT &stream = *program.source.streams[feed];
  stream.type = ElementType::F16;
  stream.indexed = true;
  stream.segments.push_back(makeSegment(0, 2, 4, {4}, {1}, 0));
  program.copy(Direction::Out, "seen", ElementType::I16, 6, 0, 1, 0, 1, 1);
  program.launch(0, {feed});
  stateCodeBytes(program);
  auto loaded = LoadedProgram::fromBytes(makeFile(program));
  const std::vector<uint8_t> x = bytesOf(Words{0, 1, 2, 3, 10, 11, 12, 13});
  const Outcome outcome = runOn<WaveletEngine>(loaded, x);
  EXPECT_EQ(elementsOf<int16_t>(outcome.result),
            (std::vector<int16_t>{-1, 11, 12, -1, -1, -1}));
}

// ---------------------------------------------------------------- sums

TEST(HostWireTest, LinesAreAddedUpInOrder) {
  for (Form form : {Form{ElementType::F32, Packing::Single},
                    {ElementType::F16, Packing::Pair}}) {
    Doubling program(1, {3}, 4, form);
    program.accumulate(1);
    program.launches(1);
    Words x = fractions(12);
    x[0] = 3e4f; // what comes after it is rounded as it comes
    const Words y = elementsOf<float>(run(program, bytesOf(x)).result);
    for (size_t i = 0; i < 3; ++i) {
      float sum = 0;
      for (size_t line = 0; line < 4; ++line)
        sum += doubled(form, x[3 * line + i]);
      EXPECT_EQ(y[i], sum);
    }
  }
}

/// Rows that add to the same elements: what each has, in the order of rows.
TEST(HostWireTest, ChannelsAreAddedUpInOrder) {
  constexpr int rows = 5;
  Doubling program(rows, {3}, 4, {});
  program.accumulate(rows);
  for (int row = 0; row < rows; ++row)
    program.feed(row).segments[0]->offset->constant = 0;
  program.launches(2);
  Words x = fractions(12);
  x[3] = 3e7f;
  auto loaded = LoadedProgram::fromBytes(makeFile(program));
  const Outcome outcome = run(program, bytesOf(x));
  const Words y = elementsOf<float>(outcome.result);
  for (size_t i = 0; i < 3; ++i) {
    float sum = 0, all = 0;
    for (size_t line = 0; line < 8; ++line)
      sum += 2 * x[3 * (line % 4) + i];
    for (int row = 0; row < rows; ++row)
      all += sum;
    EXPECT_EQ(y[i], all);
  }
  EXPECT_EQ(runOn<StripsEngine>(loaded, bytesOf(x)).result, outcome.result);
}

// ---------------------------------------------------------------- launches

TEST(HostWireTest, AStreamFlowsForEachLaunch) {
  for (bool calls : {false, true}) {
    Doubling program(2, {5}, 3, {});
    program.accumulate(2);
    program.launches(3, calls);
    const Words x = fractions(15);
    const Outcome outcome = run(program, bytesOf(x));
    EXPECT_EQ(outcome.in, 2u * 3 * 15);
    EXPECT_EQ(outcome.out, 2u * 3 * 15);
    const Words y = elementsOf<float>(outcome.result);
    for (size_t i = 0; i < 5; ++i) {
      float sum = 0;
      for (size_t line = 0; line < 9; ++line)
        sum += 2 * x[5 * (line % 3) + i];
      EXPECT_EQ(y[i], sum + sum);
    }
    if (calls)
      continue;
    // The same words from streams of their own take the same time.
    auto loaded = LoadedProgram::fromBytes(makeFile(program));
    const Outcome strips = runOn<StripsEngine>(loaded, bytesOf(x));
    EXPECT_EQ(strips.result, outcome.result);
    EXPECT_EQ(strips.in, outcome.in);
    Doubling apart(2, {5}, 3, {});
    apart.accumulate(2);
    for (int i = 1; i < 3; ++i)
      for (int s = 0; s < 4; ++s) {
        apart.source.streams.push_back(
            std::make_unique<program::HostStreamT>(*apart.source.streams[s]));
        apart.source.streams.back()->name += "again";
      }
    for (uint32_t i = 0; i < 3; ++i)
      apart.launch(0, {4 * i, 4 * i + 1, 4 * i + 2, 4 * i + 3});
    stateCodeBytes(apart);
    const Outcome same = run(apart, bytesOf(x));
    EXPECT_EQ(same.cycles, outcome.cycles);
  }
}

TEST(HostWireTest, StripsRefusesWhatItDoesNotCarry) {
  Doubling program(1, {5}, 1, {ElementType::I16, Packing::Single},
                   ElementType::I32);
  program.launches(1);
  EXPECT_EQ(StripsEngine::unsupported(program.finish()),
            "host streams of elements of 16 bits");
}

} // namespace
} // namespace wsec::runtime::test
