// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Builds lowered programs in memory, for tests of the runtime.
#ifndef TEST_RUNTIME_PROGRAMBUILDER_H
#define TEST_RUNTIME_PROGRAMBUILDER_H

#include "runtime/engine/HostPort.h"
#include "runtime/program/Container.h"
#include "runtime/program/program_generated.h"

#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace wsec::runtime::test {

/// Index of a scalar of a class.
struct Scalar {
  uint16_t index;
};

/// An affine function: `constant + scale * term + ...`.
struct Value {
  Value(int64_t constant = 0) : constant(constant) {}
  Value(Scalar scalar) {
    terms.push_back({program::TermKind::Scalar, scalar.index, 1});
  }
  static Value loop(uint16_t depth, int32_t scale = 1) {
    Value value;
    value.terms.push_back({program::TermKind::Loop, depth, scale});
    return value;
  }
  Value times(int32_t factor) const {
    Value value = *this;
    value.constant *= factor;
    for (program::Term &term : value.terms)
      term = {term.kind(), term.index(), term.scale() * factor};
    return value;
  }
  friend Value operator+(Value left, const Value &right) {
    left.constant += right.constant;
    left.terms.insert(left.terms.end(), right.terms.begin(), right.terms.end());
    return left;
  }
  std::unique_ptr<program::AffineT> build() const {
    auto affine = std::make_unique<program::AffineT>();
    affine->constant = constant;
    affine->terms = terms;
    return affine;
  }

  int64_t constant = 0;
  std::vector<program::Term> terms;
};

/// A local variable of scalar code.
inline Value local(uint16_t index, int32_t scale = 1) {
  Value value;
  value.terms.push_back({program::TermKind::Local, index, scale});
  return value;
}

/// An operand of an instruction.
struct Operand {
  std::unique_ptr<program::OperandT> build() const {
    auto result = std::make_unique<program::OperandT>();
    result->kind = kind;
    result->buffer = buffer;
    result->offset = offset.build();
    result->strides = strides;
    result->color = color.build();
    result->depth = uint8_t(depth);
    if (windowed) {
      result->window_offset = windowOffset.build();
      result->window_total = windowTotal.build();
    }
    result->immediate = immediate;
    result->type = type;
    result->packing = packing;
    if (indexed)
      result->index = index.build();
    return result;
  }
  Operand window(Value offsetInPeriod, Value total) const {
    Operand result = *this;
    result.windowed = true;
    result.windowOffset = std::move(offsetInPeriod);
    result.windowTotal = std::move(total);
    return result;
  }

  program::OperandKind kind = program::OperandKind::None;
  uint16_t buffer = 0;
  Value offset;
  std::vector<int32_t> strides;
  Value color;
  int depth = 0;
  bool windowed = false;
  Value windowOffset, windowTotal;
  float immediate = 0;
  program::ElementType type = program::ElementType::F32; ///< on the wire
  program::Packing packing = program::Packing::Single;
  bool indexed = false;
  Value index;
};

inline Operand memory(uint16_t buffer, std::vector<int32_t> strides,
                      Value offset = 0) {
  Operand result;
  result.kind = program::OperandKind::Memory;
  result.buffer = buffer;
  result.strides = std::move(strides);
  result.offset = std::move(offset);
  return result;
}

inline Operand fabric(Value color, int depth = 1) {
  Operand result;
  result.kind = program::OperandKind::Fabric;
  result.color = std::move(color);
  result.depth = depth;
  return result;
}

inline Operand immediate(float value) {
  Operand result;
  result.kind = program::OperandKind::Immediate;
  result.immediate = value;
  return result;
}

/// A list of statements: a routine or the body of a loop.
class BodyBuilder {
public:
  explicit BodyBuilder(
      std::vector<std::unique_ptr<program::StatementT>> &statements)
      : statements(statements) {}

  /// Returns the instruction, to set its guard or thread.
  program::InstructionT &add(program::Opcode op, std::vector<Value> extents,
                             const Operand &dst, const Operand &a,
                             const Operand &b = {}) {
    program::InstructionT instruction;
    instruction.op = op;
    for (const Value &extent : extents)
      instruction.extents.push_back(extent.build());
    instruction.dst = dst.build();
    instruction.a = a.build();
    instruction.b = b.build();
    auto statement = std::make_unique<program::StatementT>();
    statement->kind.Set(std::move(instruction));
    statements.push_back(std::move(statement));
    return *statements.back()->kind.AsInstruction();
  }
  program::LoopT &loop(const Value &count,
                       const std::function<void(BodyBuilder)> &fill) {
    program::LoopT loop;
    loop.count = count.build();
    fill(BodyBuilder(loop.body));
    auto statement = std::make_unique<program::StatementT>();
    statement->kind.Set(std::move(loop));
    statements.push_back(std::move(statement));
    return *statements.back()->kind.AsLoop();
  }
  void await(uint8_t threads) {
    program::AwaitT await;
    await.threads = threads;
    auto statement = std::make_unique<program::StatementT>();
    statement->kind.Set(std::move(await));
    statements.push_back(std::move(statement));
  }
  void load(uint16_t into, uint16_t buffer, const Value &offset) {
    program::LoadT load;
    load.local = into;
    load.buffer = buffer;
    load.offset = offset.build();
    auto statement = std::make_unique<program::StatementT>();
    statement->kind.Set(std::move(load));
    statements.push_back(std::move(statement));
  }

private:
  std::vector<std::unique_ptr<program::StatementT>> &statements;
};

/// A PE class. Buffers lie one after the other above the runtime and code.
class ClassBuilder {
public:
  ClassBuilder(program::PEClassT &source, uint32_t start)
      : source(&source), nextAddress(start) {}

  Scalar scalar(program::ScalarOp op, int a = 0, int b = 0, int c = 0) {
    source->scalars.push_back({op, a, b, c});
    return {uint16_t(source->scalars.size() - 1)};
  }
  Scalar constant(int value) {
    return scalar(program::ScalarOp::Constant, value);
  }
  Scalar px() { return scalar(program::ScalarOp::Px); }
  Scalar py() { return scalar(program::ScalarOp::Py); }
  Scalar equal(Scalar a, int b) {
    return scalar(program::ScalarOp::Equal, a.index, constant(b).index);
  }
  Scalar less(Scalar a, int b) {
    return scalar(program::ScalarOp::Less, a.index, constant(b).index);
  }
  Scalar negate(Scalar a) { return scalar(program::ScalarOp::Not, a.index); }
  Scalar both(Scalar a, Scalar b) {
    return scalar(program::ScalarOp::And, a.index, b.index);
  }
  /// a % 2.
  Scalar parity(Scalar a) {
    return scalar(program::ScalarOp::Mod, a.index, constant(2).index);
  }

  uint16_t buffer(const std::string &name, uint32_t words) {
    auto buffer = std::make_unique<program::BufferT>();
    buffer->name = name;
    buffer->address = nextAddress;
    buffer->bytes = words * 4;
    nextAddress += words * 4;
    source->buffers.push_back(std::move(buffer));
    return uint16_t(source->buffers.size() - 1);
  }
  BodyBuilder routine(uint32_t id) {
    auto routine = std::make_unique<program::RoutineT>();
    routine->id = id;
    source->routines.push_back(std::move(routine));
    return BodyBuilder(source->routines.back()->body);
  }
  void addRect(int x0, int x1, int y0, int y1) {
    source->rects.push_back(makeRect(x0, x1, y0, y1));
  }
  static program::Rect makeRect(int x0, int x1, int y0, int y1, int xstep = 1,
                                int ystep = 1) {
    return {x0, x1, xstep, y0, y1, ystep};
  }

  program::PEClassT *source;
  uint32_t nextAddress;
};

/// A program for a mesh of a wse2-like machine, with a launch color that
/// reaches all PEs.
class ProgramBuilder {
public:
  static constexpr int launchColor = 20;

  ProgramBuilder(int width, int height) {
    auto machine = std::make_unique<program::MachineT>();
    machine->name = "test";
    machine->fabric_width = machine->width = width;
    machine->fabric_height = machine->height = height;
    machine->clock_ghz = 0.85;
    machine->sram_bytes = 49152;
    machine->runtime_bytes = 4176;
    machine->colors = 24;
    machine->reserved_colors = 3;
    machine->microthreads = 8;
    machine->channels = 44;
    machine->hop_cycles = 1;
    machine->ramp_cycles = 2;
    machine->store_latency_cycles = 1700;
    machine->copy_rate = 2;
    machine->add_rate = 1;
    machine->fmac_rate = 0.467;
    machine->vector_setup = 6;
    machine->map_overhead = 7.4;
    machine->loop_overhead = 9;
    machine->task_overhead = 3;
    machine->function_cycles = 40;
    machine->divide_cycles = 20;
    machine->result_latency = 3;
    machine->copy_rate_16 = machine->add_rate_16 = machine->fmac_rate_16 = 4;
    machine->fmac_rate_mixed = 2;
    machine->reduce_rate = machine->dot_rate = 0.5;
    machine->clock_cycles = 1;
    machine->copy_setup = 5;
    machine->axpy_setup = 10;
    machine->dot_setup = 17;
    machine->scalar_cycles = 1;
    machine->load_cycles = 4;
    machine->store_cycles = 2;
    machine->branch_taken = 6;
    machine->branch_not_taken = 3;
    machine->async_issue = 1;
    machine->router_buffer_words = 2;
    machine->input_queue_words = {6, 6, 4, 4, 2, 2, 2, 2};
    machine->output_queue_words = {2, 2, 6, 6, 2, 2};
    machine->switch_positions = 4;
    machine->control_commands = 8;
    machine->local_tasks = 31;
    machine->control_tasks = 64;
    machine->descriptors = 44;
    machine->reserved_tasks = {21, 22, 23, 27, 28, 29, 30};
    source.machine = std::move(machine);
    source.version = programVersion;
    source.compiler = "test";
    source.entries.push_back(std::make_unique<program::EntryT>());
    source.entries[0]->name = "main";
    source.launch_color = launchColor;
    using program::Port;
    // East along row 0, south in every column.
    const bool east = width > 1, south = height > 1;
    auto set = [&](bool e, bool s) {
      std::vector<Port> ports{Port::Ramp};
      if (e)
        ports.push_back(Port::East);
      if (s)
        ports.push_back(Port::South);
      return ports;
    };
    if (east)
      route(launchColor, 0, width - 1, 0, 1, Port::West, set(true, south));
    route(launchColor, width - 1, width, 0, 1, Port::West, set(false, south));
    if (height > 2)
      route(launchColor, 0, width, 1, height - 1, Port::North,
            set(false, true));
    if (south)
      route(launchColor, 0, width, height - 1, height, Port::North,
            {Port::Ramp});
  }

  void route(int color, int x0, int x1, int y0, int y1, program::Port receive,
             std::vector<program::Port> transmit, int xstep = 1,
             int ystep = 1) {
    auto rule = std::make_unique<program::RouteRuleT>();
    rule->color = uint8_t(color);
    rule->rect = std::make_unique<program::Rect>(
        ClassBuilder::makeRect(x0, x1, y0, y1, xstep, ystep));
    rule->receive = receive;
    for (program::Port port : transmit)
      rule->transmit |= uint8_t(1 << int(port));
    source.routes.push_back(std::move(rule));
  }

  ClassBuilder addClass(const std::string &name, int x0, int x1, int y0,
                        int y1) {
    auto result = std::make_unique<program::PEClassT>();
    result->name = name;
    result->code_bytes = 64;
    result->rects.push_back(ClassBuilder::makeRect(x0, x1, y0, y1));
    source.classes.push_back(std::move(result));
    return {*source.classes.back(),
            uint32_t(source.machine->runtime_bytes) + 64 + 16};
  }

  /// A stream with one channel for each of `rows`; what it moves is up to the
  /// host port of the test.
  uint32_t stream(const std::string &name, program::Direction direction,
                  int color, std::initializer_list<int> rows) {
    auto stream = std::make_unique<program::HostStreamT>();
    stream->name = name;
    stream->direction = direction;
    stream->color = uint8_t(color);
    for (int row : rows)
      stream->channels.push_back({row, 0, 1});
    source.streams.push_back(std::move(stream));
    return uint32_t(source.streams.size() - 1);
  }

  void launch(uint32_t routine, std::vector<uint32_t> streams = {},
              const std::string &kernel = "kernel") {
    auto k = std::make_unique<program::KernelT>();
    k->name = kernel;
    source.kernels.push_back(std::move(k));
    auto launch = std::make_unique<program::LaunchT>();
    launch->routine = routine;
    launch->kernel = uint32_t(source.kernels.size() - 1);
    launch->streams = std::move(streams);
    source.entries[0]->launches.push_back(std::move(launch));
  }

  const program::Program &finish() {
    builder.Clear();
    builder.Finish(program::Program::Pack(builder, &source),
                   program::ProgramIdentifier());
    return *program::GetProgram(builder.GetBufferPointer());
  }

  program::ProgramT source;

private:
  flatbuffers::FlatBufferBuilder builder;
};

/// A host whose streams are vectors.
class VectorHost : public HostPort {
public:
  using Key = std::pair<uint32_t, uint32_t>;
  struct Input {
    std::vector<float> words;
    size_t line = 0; ///< > 0: views of whole lines of that length
    size_t next = 0;
    /// Of the views, which then last until the next feed; null: until the end
    /// of the call.
    std::shared_ptr<const void> owner = {};
    bool apart = false;  ///< each view lies in memory of its own
    bool single = false; ///< and has one line
  };

  void feed(uint32_t stream, uint32_t channel, std::vector<float> words,
            size_t line = 0) {
    inputs[{stream, channel}] = {std::move(words), line, 0};
  }
  void expect(uint32_t stream, uint32_t channel, uint64_t count) {
    counts[{stream, channel}] = count;
    outputs[{stream, channel}];
  }

  uint64_t words(uint32_t stream, uint32_t channel) override {
    auto found = inputs.find({stream, channel});
    return found == inputs.end() ? counts[{stream, channel}]
                                 : found->second.words.size();
  }
  WordView next(uint32_t stream, uint32_t channel, size_t maxWords) override {
    Input &input = inputs.at({stream, channel});
    if (input.next == input.words.size())
      input.next = 0; // for the next launch
    size_t count = std::min(maxWords, input.words.size() - input.next);
    WordView view;
    view.data = input.words.data() + input.next;
    view.rows = input.line ? std::max<size_t>(1, count / input.line) : 1;
    view.length = input.line ? std::min(count, input.line) : count;
    if (input.single)
      view.rows = 1;
    view.stride = view.length;
    view.owner = input.owner;
    input.next += view.words();
    if (input.apart) {
      const float *words = view.data;
      std::shared_ptr<float[]> copy(new float[view.words()]);
      std::copy_n(words, view.words(), copy.get());
      view.data = copy.get();
      view.owner = copy;
    }
    return view;
  }
  void store(uint32_t stream, uint32_t channel, const WordView &view) override {
    std::vector<float> &out = outputs.at({stream, channel});
    for (size_t i = 0; i < view.words(); ++i)
      out.push_back(view.word(i));
  }
  /// So that a program can run again.
  bool rewind() override {
    for (auto &[key, input] : inputs)
      input.next = 0;
    for (auto &[key, out] : outputs)
      out.clear();
    return true;
  }

  std::map<Key, Input> inputs;
  std::map<Key, uint64_t> counts;
  std::map<Key, std::vector<float>> outputs;
};

} // namespace wsec::runtime::test

#endif // TEST_RUNTIME_PROGRAMBUILDER_H
