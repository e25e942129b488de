// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "test/runtime/fuzz/RunProgram.h"
#include "runtime/host/Session.h"
#include "runtime/program/Errors.h"
#include "runtime/program/Loader.h"
#include "test/runtime/ExampleFile.h"
#include "test/runtime/TaskProgram.h"

using namespace wsec;
using namespace wsec::runtime;
using namespace wsec::runtime::test;

namespace {

/// Programs may rightly ask for much; those are not run here.
bool isSmall(const program::Program &program) {
  constexpr int64_t mostPEs = 4096, mostBytes = 1 << 16;
  constexpr int64_t mostElements = 1 << 20;
  const program::Machine &machine = *program.machine();
  if (int64_t(machine.width()) * machine.height() > mostPEs ||
      machine.sram_bytes() > mostBytes)
    return false;
  for (const program::Tensor *tensor : *program.tensors()) {
    int64_t elements = 1;
    if (tensor->shape())
      for (int64_t extent : *tensor->shape())
        if (__builtin_mul_overflow(elements, extent, &elements))
          return false;
    if (elements > mostElements)
      return false;
  }
  return true;
}

/// Inputs of small numbers, so that they may be row numbers, too.
absl::Status bindInputs(Session &session) {
  for (const program::Tensor *tensor : *session.program().tensors()) {
    if (tensor->role() != program::TensorRole::Input)
      continue;
    HostTensor input{dataType(tensor->type()), {}, {}};
    if (tensor->shape())
      input.shape.assign(tensor->shape()->begin(), tensor->shape()->end());
    input.bytes.resize(elementCount(*tensor) * elementBytes(tensor->type()));
    if (absl::Status status =
            session.bind(tensor->name()->str(), std::move(input));
        !status.ok())
      return status;
  }
  return absl::OkStatus();
}

// --------------------------------------------------------- an example of tasks

/// Color 0 runs east along a row of three. PE 1 lets words up to itself, then,
/// told by a control wavelet, to PE 2.
void addSwitchedRow(TaskProgram &program) {
  using program::Port;
  program.route(0, 0, 1, 0, 1, Port::Ramp, {Port::East});
  program.route(0, 1, 2, 0, 1, Port::West, {Port::Ramp});
  program.switching({TaskProgram::to({Port::East})}, true,
                    program::PopMode::OnAdvance);
  program.route(0, 2, 3, 0, 1, Port::West, {Port::Ramp});
}

auto pairsOfF16() {
  auto pairs = fabric(0);
  pairs.type = program::ElementType::F16;
  pairs.packing = program::Packing::Pair;
  return pairs;
}

/// Sends pairs of f16, then a control wavelet, then words for a data task.
void addSender(TaskProgram &program) {
  using namespace wsec::program;
  TaskClass pe = program.pes("sender", 0, 1, 0, 1);
  const uint16_t halves = pe.typed("halves", ElementType::F16, 8);
  const uint16_t counts = pe.typed("counts", ElementType::I32, 2);
  const int sent = pe.task("sent", TaskKind::Local, 1, /*blocked=*/true);
  pe.queue(0, true, 2);
  TaskBody body = pe.body(0);
  InstructionT &send =
      body.add(Opcode::Mov, {8}, pairsOfF16(), memory(halves, {1}));
  send.thread = 1;
  send.activate = int16_t(sent);
  send.unblock = int16_t(sent);
  TaskBody after = pe.taskBody(sent);
  after.control(0, {SwitchCommand::Advance}, 2, 7);
  after.repeat(3, [&](TaskBody inner) {
    inner.compute(0, ScalarOp::Mul, wsec::runtime::test::Value::loop(0), 5);
    inner.store(counts, 0, local(0));
    auto word = fabric(0);
    word.type = ElementType::I16;
    word.index = wsec::runtime::test::Value::loop(0);
    word.indexed = true;
    inner.add(Opcode::Mov, {1}, word, immediate(3));
  });
  after.clock(counts, 1);
  program.copy(Direction::In, "halves", ElementType::F16, 8, 0, 1, 0, 1, 0);
}

/// Adds up what arrives; told by the control wavelet, takes a step more.
void addMiddle(TaskProgram &program) {
  using namespace wsec::program;
  TaskClass pe = program.pes("middle", 1, 2, 0, 1);
  const uint16_t halves = pe.typed("halves", ElementType::F16, 8);
  const uint16_t data = pe.typed("data", ElementType::I16, 2);
  const int told = pe.task("told", TaskKind::Control, 2, false, data);
  TaskBody body = pe.body(0);
  body.add(Opcode::Mov, {8}, memory(halves, {1}), pairsOfF16());
  body.add(Opcode::Fmac, {8}, memory(halves, {0}), memory(halves, {1}),
           immediate(0.5f));
  TaskBody task = pe.taskBody(told);
  task.load(0, data, 0);
  task.branch(
      local(0), [&](TaskBody then) { then.store(data, 1, local(0, 2)); },
      [&](TaskBody otherwise) { otherwise.store(data, 1, -1); });
  program.copy(Direction::Out, "halves", ElementType::F16, 8, 1, 2, 0, 1, 1);
}

/// Counts words by a data task behind a filter.
void addCounter(TaskProgram &program) {
  using namespace wsec::program;
  TaskClass pe = program.pes("counter", 2, 3, 0, 1);
  const uint16_t sum = pe.typed("sum", ElementType::I32, 1);
  const uint16_t word = pe.typed("word", ElementType::I16, 1);
  const uint16_t index = pe.typed("index", ElementType::I16, 1);
  pe.filter(0, FilterKind::Range, 1, 2);
  pe.body(0).store(sum, 0, 0);
  TaskBody task =
      pe.taskBody(pe.task("count", TaskKind::Data, 0, false, word, index));
  task.load(0, sum, 0);
  task.load(1, word, 0);
  task.store(sum, 0, local(0) + local(1));
  program.copy(Direction::Out, "sum", ElementType::I32, 1, 2, 3, 0, 1, 1,
               CopyOrder::Column);
}

TaskProgram makeSwitchedRow() {
  TaskProgram program(3, 1);
  addSwitchedRow(program);
  addSender(program);
  addMiddle(program);
  addCounter(program);
  program.launch(0);
  stateCodeBytes(program);
  return program;
}

} // namespace

std::vector<wsec::test::Example> wsec::test::runExamples() {
  std::vector<float> bundle = countUp(70);
  ProgramBuilder negation = makeNegation(70, bundle);
  ProgramBuilder everything = makeEverything(bundle);
  TaskProgram row = makeSwitchedRow();
  return {{"negation", makeFile(negation, bundle)},
          {"everything", makeFile(everything, bundle)},
          {"switched row", makeFile(row)}};
}

static std::string refused(const char *what, ErrorClass errorClass) {
  return std::string("refused to ") + what + ": " +
         std::string(errorClassName(errorClass));
}

static absl::Status
runSession(const std::shared_ptr<const LoadedProgram> &loaded, Engine engine) {
  auto session = Session::open(loaded);
  if (!session.ok())
    return session.status();
  if (absl::Status status = bindInputs(**session); !status.ok())
    return status;
  EngineOptions options;
  options.threads = 1;
  options.queueWords = 1 << 12;
  options.queueBytes = 1 << 24;
  options.workLimit = 1 << 20;
  absl::Status status = (*session)->run(options, nullptr, engine).status();
  for (const std::string &name : (*session)->outputs())
    if (status.ok())
      status = (*session)->output(name).status();
  return status;
}

static std::string runOn(const std::shared_ptr<const LoadedProgram> &loaded,
                         Engine engine) {
  const absl::Status status = runSession(loaded, engine);
  return status.ok() ? "ran" : refused("run", errorClassOf(status).value());
}

std::string wsec::test::runProgram(Bytes file, const std::string &folder) {
  std::shared_ptr<const LoadedProgram> loaded;
  try {
    loaded = LoadedProgram::fromBytes(std::move(file), folder);
  } catch (const Error &error) {
    return refused("load", error.errorClass());
  }
  if (!isSmall(loaded->program()))
    return "too large to run here";
  std::string ended = runOn(loaded, Engine::Wavelet);
  // Strips is what burst means for larger programs than these. It need not end
  // alike: its PEs know no full queues, and it counts work in its own way.
  if (loaded->program().launch_color() != noLaunchColor)
    if (const std::string strips = runOn(loaded, Engine::Strips);
        strips != ended)
      ended += "; strips: " + strips;
  return ended;
}
