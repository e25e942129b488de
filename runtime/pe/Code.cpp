// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/pe/Code.h"

#include "runtime/program/Errors.h"
#include "runtime/program/NearestNames.h"
#include "runtime/program/Scalars.h"
#include "runtime/program/check/InFlight.h"

#include <algorithm>
#include <set>

namespace wsec::runtime {

using program::OperandKind;

namespace {

/// Reads one class; knows which scalars steer what all PEs of a strip do
/// together.
class Decoder {
public:
  Decoder(const program::Program &program, uint32_t index)
      : program(program), source(*program.classes()->Get(index)) {}

  ClassCode decode() {
    code.source = &source;
    code.name = source.name()->str();
    scalarCount = source.scalars() ? source.scalars()->size() : 0;
    decodeBuffers();
    if (source.routines())
      for (const program::Routine *routine : *source.routines()) {
        routineId = routine->id();
        if (!code.routines.emplace(routineId, decodeRoutine(*routine)).second)
          fail("has two routines " + std::to_string(routineId));
      }
    if (source.tasks())
      for (const program::Task *task : *source.tasks())
        code.tasks.push_back(decodeTask(*task));
    if (source.filters())
      for (const program::Filter *filter : *source.filters())
        code.filters.push_back(decodeFilter(*filter));
    if (source.queues())
      for (const program::QueueBinding *queue : *source.queues())
        code.queues.push_back(decodeQueue(*queue));
    code.strictScalars.assign(strict.begin(), strict.end());
    if (mayExceed(source, *program.machine(), program.launch_color()))
      code.resources = std::make_shared<PeResources>(source, *program.machine(),
                                                     program.launch_color());
    return std::move(code);
  }

private:
  [[noreturn]] void fail(const std::string &what) const {
    throw Error(ErrorClass::BadProgram,
                "class " + inQuotes(code.name) + " " + what);
  }

  void decodeBuffers() {
    const program::Machine &machine = *program.machine();
    int64_t start = int64_t(machine.runtime_bytes()) + source.code_bytes();
    int64_t end = start;
    code.firstDataWord = machine.sram_bytes() / 4;
    code.endDataWord = 0;
    if (source.buffers())
      for (const program::Buffer *buffer : *source.buffers()) {
        std::string name = buffer->name()->str();
        checkBuffer(*buffer, name);
        if (buffer->address() < start)
          throw Error(ErrorClass::SramOverflow,
                      "class " + inQuotes(code.name) + " buffer " +
                          inQuotes(name) + " at address " +
                          std::to_string(buffer->address()) +
                          " overlaps the runtime and code below " +
                          std::to_string(start));
        BufferCode decoded{name,
                           buffer->address() / 4,
                           buffer->bytes() / 4,
                           buffer->type(),
                           buffer->address(),
                           buffer->bytes() / elementSize(buffer->type()),
                           buffer->persistent(),
                           buffer->initial()};
        code.firstDataWord = std::min(code.firstDataWord, decoded.firstWord);
        code.endDataWord =
            std::max(code.endDataWord,
                     (int64_t(buffer->address()) + buffer->bytes() + 3) / 4);
        end = std::max(end, int64_t(buffer->address()) + buffer->bytes());
        code.buffers.push_back(std::move(decoded));
      }
    code.firstDataWord = std::min(code.firstDataWord, code.endDataWord);
    code.highWaterBytes = uint64_t(end);
    if (end > machine.sram_bytes())
      throw Error(ErrorClass::SramOverflow,
                  "class " + inQuotes(code.name) + " needs " +
                      std::to_string(end) + " bytes of SRAM, a PE has " +
                      std::to_string(machine.sram_bytes()));
  }

  void checkBuffer(const program::Buffer &buffer, const std::string &name) {
    if (!wireType(buffer.type()))
      fail("buffer " + inQuotes(name) +
           " has elements that a PE does not hold");
    uint32_t size = elementSize(buffer.type());
    if (buffer.address() % size || buffer.bytes() % size)
      fail("buffer " + inQuotes(name) + " is not aligned to " +
           std::to_string(size) + " bytes");
    if (buffer.initial() && buffer.initial()->size() != buffer.bytes())
      fail("buffer " + inQuotes(name) + " holds other than its bytes first");
  }

  AffineFunction decodeAffine(const program::Affine *affine, int loops) {
    AffineFunction result;
    if (!affine)
      return result;
    result.constant = affine->constant();
    if (affine->terms())
      for (const program::Term *term : *affine->terms()) {
        bool loop = term->kind() == program::TermKind::Loop;
        bool local = term->kind() == program::TermKind::Local;
        if (local && !std::count(visible.begin(), visible.end(), term->index()))
          fail("refers to a local that nothing has set before in its body or "
               "one around it");
        if (!local && term->index() >= (loop ? size_t(loops) : scalarCount))
          fail(loop ? "refers to a loop that does not enclose the use"
                    : "refers to a scalar it does not have");
        result.terms.push_back({loop, term->index(), term->scale(), local});
      }
    return result;
  }

  static void collect(const AffineFunction &affine, std::set<uint16_t> &into) {
    for (const AffineTerm &term : affine.terms)
      if (!term.loop && !term.local)
        into.insert(term.index);
  }

  void checkGuard(int guard) const {
    if (guard >= int(scalarCount))
      fail("has a guard that is no scalar of it");
  }

  OperandCode decodeOperand(const program::Operand *operand, size_t extents,
                            int loops) {
    OperandCode result;
    if (!operand)
      return result;
    result.kind = operand->kind();
    result.immediate = operand->immediate();
    result.offset = decodeAffine(operand->offset(), loops);
    result.color = decodeAffine(operand->color(), loops);
    result.depth = operand->depth();
    result.windowed = operand->window_total() != nullptr;
    result.windowOffset = decodeAffine(operand->window_offset(), loops);
    result.windowTotal = decodeAffine(operand->window_total(), loops);
    result.buffer = operand->buffer();
    result.type = operand->type();
    result.packing = operand->packing();
    result.indexed = operand->index() != nullptr;
    result.wireIndex = decodeAffine(operand->index(), loops);
    if (result.memory()) {
      checkBufferIndex(result.buffer);
      result.type = code.buffers[result.buffer].type;
      size_t strides = operand->strides() ? operand->strides()->size() : 0;
      if (strides != extents)
        fail("has a memory operand with " + std::to_string(strides) +
             " strides for " + std::to_string(extents) + " extents");
      for (size_t i = 0; i < strides; ++i)
        result.strides[i] = operand->strides()->Get(i);
    }
    if (result.fabric() && (result.depth < 1 || result.depth > int(extents)))
      fail("has a fabric operand of depth " + std::to_string(result.depth) +
           " for " + std::to_string(extents) + " extents");
    if (result.fabric())
      checkWire(result);
    return result;
  }

  void checkBufferIndex(int buffer) const {
    if (buffer < 0 || buffer >= int(code.buffers.size()))
      fail("has an operand in a buffer it does not have");
  }

  void checkWire(const OperandCode &operand) const {
    bool half = elementSize(operand.type) == 2;
    if (!wireType(operand.type))
      fail("sends or receives elements that no wavelet holds");
    if (!half && (operand.packing == program::Packing::Pair || operand.indexed))
      fail("packs, or gives an index to, elements of 32 bits");
    if (operand.packing == program::Packing::Pair && operand.indexed)
      fail("gives an index to packed elements");
  }

  InstructionCode decodeInstruction(const program::Instruction &from,
                                    int loops) {
    InstructionCode result;
    result.op = from.op();
    result.guard = from.guard();
    decodeCompletion(from, result);
    result.advanceSwitch = from.advance_switch();
    result.onControl = from.on_control();
    result.noWrap = from.no_wrap();
    result.index = code.instructions++;
    result.routine = routineId;
    checkGuard(result.guard);
    size_t extents = from.extents()->size();
    if (extents < 1 || extents > maxExtents)
      fail("has an instruction with " + std::to_string(extents) + " extents");
    for (const program::Affine *extent : *from.extents())
      result.extents.push_back(decodeAffine(extent, loops));
    result.dst = decodeOperand(from.dst(), extents, loops);
    result.a = decodeOperand(from.a(), extents, loops);
    result.b = decodeOperand(from.b(), extents, loops);
    checkOperands(result);
    chooseNumbers(result);
    classifyScalars(result);
    countRuntimeTerms(result);
    return result;
  }

  static void countRuntimeTerms(InstructionCode &instruction) {
    int &count = instruction.runtimeTerms;
    for (const AffineFunction &extent : instruction.extents)
      count += extent.runtimeTerms();
    for (const OperandCode *operand :
         {&instruction.dst, &instruction.a, &instruction.b})
      for (const AffineFunction *function :
           {&operand->offset, &operand->color, &operand->windowOffset,
            &operand->windowTotal, &operand->wireIndex})
        count += function->runtimeTerms();
  }

  void checkTask(int task) const {
    if (task < 0 || !source.tasks() || task >= int(source.tasks()->size()))
      fail("refers to a task it does not have");
  }

  /// Who runs a statement, and what it does at its end.
  template <class Statement>
  void decodeCompletion(const Statement &from,
                        InstructionCode &instruction) const {
    instruction.thread = from.thread();
    instruction.activate = from.activate();
    instruction.unblock = from.unblock();
    bool tasks = instruction.activate >= 0 || instruction.unblock >= 0;
    if (tasks && !instruction.asynchronous())
      fail("activates or unblocks a task on completion of an instruction that "
           "is not asynchronous");
    if (instruction.activate >= 0) {
      checkTask(instruction.activate);
      checkActivated(instruction.activate);
    }
    if (instruction.unblock >= 0)
      checkTask(instruction.unblock);
  }

  void checkActivated(int task) const {
    if (source.tasks()->Get(unsigned(task))->kind() != program::TaskKind::Local)
      fail("activates a task that is not local");
  }

  /// Every operation has a meaning for what it is computed with.
  void chooseNumbers(InstructionCode &instruction) const {
    const OperandCode &a = instruction.a, &b = instruction.b;
    auto isTyped = [](const OperandCode &operand) {
      return operand.memory() || operand.fabric();
    };
    const OperandCode &typed = isTyped(a)   ? a
                               : isTyped(b) ? b
                                            : instruction.dst;
    instruction.numbers = numberKind(
        instruction.dst.type, {typed.type, isTyped(b) ? b.type : typed.type});
    if (!computes(instruction.op, instruction.numbers))
      fail("has an instruction " + describe(instruction) + " of " +
           (ofIntegers(instruction.numbers) ? "integers"
                                            : "floating-point numbers"));
    if (instruction.noWrap && !isInteger(instruction.dst.type))
      fail("promises not to wrap in " + describe(instruction) +
           ", whose result is no integer");
  }

  void checkOperands(const InstructionCode &instruction) const {
    const OperandCode &dst = instruction.dst;
    if (!dst.memory() && !dst.fabric())
      fail("has an instruction without destination");
    if (instruction.a.kind == OperandKind::None)
      fail("has an instruction without source");
    if (dst.fabric() && dst.depth != int(instruction.extents.size()))
      fail("sends with a depth below the number of extents");
    if (dst.fabric() && (instruction.op == program::Opcode::Fmac ||
                         instruction.op == program::Opcode::Select))
      fail("sends the result of an instruction that needs its old value");
    if (dst.windowed)
      fail("has a window on a destination");
    if (instruction.advanceSwitch && !dst.fabric())
      fail("advances the switch of a destination that is not the fabric");
    if (instruction.thread >= program.machine()->microthreads() ||
        instruction.thread > 7)
      fail("uses microthread " + std::to_string(instruction.thread));
  }

  /// An asynchronous instruction may differ from PE to PE; of a synchronous
  /// one, only the colors, where operands lie and where a window begins.
  void classifyScalars(InstructionCode &instruction) {
    std::set<uint16_t> loose;
    std::set<uint16_t> &shape = instruction.asynchronous() ? loose : strict;
    for (const AffineFunction &extent : instruction.extents)
      collect(extent, instruction.inMemory() ? loose : shape);
    if (instruction.guard >= 0)
      shape.insert(uint16_t(instruction.guard));
    for (const OperandCode *operand :
         {&instruction.dst, &instruction.a, &instruction.b}) {
      collect(operand->offset, loose);
      collect(operand->windowTotal, shape);
      collect(operand->color, loose);
      // Strip-wide instructions handle offsets per PE; see FabricSource.
      if (!operand->windowOffset.terms.empty() && instruction.asynchronous())
        collect(operand->windowOffset, loose);
    }
    instruction.looseScalars.assign(loose.begin(), loose.end());
  }

  /// Whether PEs of a strip can do it, or not, one behind the other.
  static bool waitsForNobody(const Body &body) {
    return std::all_of(
        body.begin(), body.end(), [](const StatementCode &statement) {
          if (const auto *instruction =
                  std::get_if<InstructionCode>(&statement))
            return instruction->inMemory();
          if (const auto *loop = std::get_if<LoopCode>(&statement))
            return waitsForNobody(loop->body);
          if (const auto *branch = std::get_if<IfCode>(&statement))
            return waitsForNobody(branch->then) &&
                   waitsForNobody(branch->otherwise);
          return std::holds_alternative<LoadCode>(statement) ||
                 std::holds_alternative<ComputeCode>(statement);
        });
  }

  RoutineCode decodeRoutine(const program::Routine &routine) {
    for (uint16_t i = 0; i < routine.arguments(); ++i)
      setLocal(i);
    RoutineCode decoded{decodeBody(*routine.body(), 0), routine.arguments()};
    visible.clear();
    return decoded;
  }

  Body
  decodeBody(const flatbuffers::Vector<flatbuffers::Offset<program::Statement>>
                 &statements,
             int loops) {
    code.loopDepth = std::max(code.loopDepth, loops);
    const size_t scope = visible.size();
    Body body;
    for (const program::Statement *statement : statements) {
      if (const auto *instruction = statement->kind_as_Instruction()) {
        body.push_back(decodeInstruction(*instruction, loops));
      } else if (const auto *loop = statement->kind_as_Loop()) {
        LoopCode decoded;
        decoded.count = decodeAffine(loop->count(), loops);
        decoded.guard = loop->guard();
        checkGuard(decoded.guard);
        if (decoded.guard >= 0)
          strict.insert(uint16_t(decoded.guard));
        decoded.body = decodeBody(*loop->body(), loops + 1);
        if (!waitsForNobody(decoded.body))
          collect(decoded.count, strict);
        body.push_back(std::move(decoded));
      } else if (const auto *await = statement->kind_as_Await()) {
        body.push_back(AwaitCode{await->threads()});
      } else {
        body.push_back(decodeScalarCode(*statement, loops));
      }
    }
    visible.resize(scope);
    return body;
  }

  void setLocal(uint16_t local) {
    if (!std::count(visible.begin(), visible.end(), local))
      visible.push_back(local);
    code.locals = std::max(code.locals, int(local) + 1);
  }

  StatementCode decodeScalarCode(const program::Statement &statement,
                                 int loops) {
    if (const auto *compute = statement.kind_as_Compute()) {
      ComputeCode decoded{
          compute->local(), compute->op(), decodeAffine(compute->a(), loops),
          decodeAffine(compute->b(), loops), decodeAffine(compute->c(), loops)};
      setLocal(decoded.local);
      return decoded;
    }
    if (const auto *load = statement.kind_as_Load()) {
      checkBufferIndex(load->buffer());
      LoadCode decoded{load->local(), load->buffer(),
                       decodeAffine(load->offset(), loops)};
      setLocal(decoded.local);
      return decoded;
    }
    if (const auto *store = statement.kind_as_Store()) {
      checkBufferIndex(store->buffer());
      return StoreCode{store->buffer(), decodeAffine(store->offset(), loops),
                       decodeAffine(store->value(), loops)};
    }
    if (const auto *branch = statement.kind_as_If())
      return decodeIf(*branch, loops);
    if (const auto *set = statement.kind_as_SetTask()) {
      checkTask(set->task());
      if (set->action() == program::TaskAction::Activate)
        checkActivated(set->task());
      return SetTaskCode{set->action(), set->task()};
    }
    if (const auto *control = statement.kind_as_SendControl())
      return decodeControl(*control, loops);
    if (const auto *clock = statement.kind_as_ReadClock()) {
      checkBufferIndex(clock->buffer());
      if (code.buffers[clock->buffer()].type != program::ElementType::I32)
        fail("reads the clock into a buffer that is not of i32");
      return ReadClockCode{clock->buffer(),
                           decodeAffine(clock->offset(), loops)};
    }
    if (const auto *route = statement.kind_as_SetRoute()) {
      if (route->receive() > program::Port::MAX || route->transmit() > 31)
        fail("sets a route through a port that does not exist");
      return SetRouteCode{decodeAffine(route->color(), loops), route->receive(),
                          route->transmit()};
    }
    if (const auto *leave = statement.kind_as_Break())
      return BreakCode{decodeAffine(leave->condition(), loops)};
    fail("has a statement of an unknown kind");
  }

  IfCode decodeIf(const program::If &branch, int loops) {
    IfCode decoded;
    decoded.condition = decodeAffine(branch.condition(), loops);
    if (branch.then())
      decoded.then = decodeBody(*branch.then(), loops);
    if (branch.otherwise())
      decoded.otherwise = decodeBody(*branch.otherwise(), loops);
    if (!waitsForNobody(decoded.then) || !waitsForNobody(decoded.otherwise))
      collect(decoded.condition, strict);
    return decoded;
  }

  SendControlCode decodeControl(const program::SendControl &control,
                                int loops) {
    SendControlCode decoded;
    InstructionCode &sends = decoded.instruction;
    sends.sendsControl = true;
    sends.extents.push_back({1, {}});
    sends.dst.kind = program::OperandKind::Fabric;
    sends.dst.color = decodeAffine(control.color(), loops);
    sends.dst.depth = 1;
    sends.a.kind = program::OperandKind::Immediate;
    sends.index = code.instructions++;
    sends.routine = routineId;
    decodeCompletion(control, sends);
    checkOperands(sends);
    countRuntimeTerms(sends);
    decoded.task = control.task();
    decoded.data = decodeAffine(control.data(), loops);
    if (control.commands())
      for (auto command : *control.commands())
        decoded.commands.push_back(program::SwitchCommand(command));
    if (int(decoded.commands.size()) > program.machine()->control_commands())
      fail("sends a control wavelet of " +
           std::to_string(decoded.commands.size()) + " commands, " +
           std::to_string(program.machine()->control_commands()) + " fit");
    return decoded;
  }

  TaskCode decodeTask(const program::Task &task) {
    TaskCode decoded;
    decoded.name = task.name()->str();
    decoded.kind = task.kind();
    decoded.id = task.id();
    decoded.blocked = task.blocked();
    decoded.wordBuffer = task.word_buffer();
    decoded.indexBuffer = task.index_buffer();
    if (decoded.wordBuffer >= 0)
      checkBufferIndex(decoded.wordBuffer);
    if (decoded.indexBuffer >= 0)
      checkBufferIndex(decoded.indexBuffer);
    for (const TaskCode &other : code.tasks)
      if (other.kind == decoded.kind && other.id == decoded.id)
        fail("has two tasks of one kind with id " + std::to_string(decoded.id));
    decoded.body = decodeBody(*task.body(), 0);
    return decoded;
  }

  FilterCode decodeFilter(const program::Filter &filter) {
    for (const FilterCode &other : code.filters)
      if (other.color == filter.color())
        fail("has two filters of color " + std::to_string(filter.color()));
    return {filter.color(),
            filter.kind(),
            decodeAffine(filter.min(), 0),
            decodeAffine(filter.max(), 0),
            filter.limit() != nullptr,
            decodeAffine(filter.limit(), 0)};
  }

  QueueCode decodeQueue(const program::QueueBinding &queue) const {
    const auto *depths = queue.output()
                             ? program.machine()->output_queue_words()
                             : program.machine()->input_queue_words();
    if (!depths || queue.queue() >= depths->size())
      fail("binds a color to queue " + std::to_string(queue.queue()) +
           ", which the machine does not have");
    return {queue.color(), queue.output(), queue.queue()};
  }

  const program::Program &program;
  const program::PEClass &source;
  ClassCode code;
  size_t scalarCount = 0;
  uint32_t routineId = 0;
  std::set<uint16_t> strict;
  /// Locals that are set where the decoder is.
  std::vector<uint16_t> visible;
};

} // namespace

std::optional<int32_t> valueOf(const ComputeCode &compute, Bindings bindings,
                               int64_t x, int64_t y) {
  using program::ScalarOp;
  const int64_t values[] = {compute.a.value(bindings),
                            compute.b.value(bindings),
                            compute.c.value(bindings)};
  switch (compute.op) {
  case ScalarOp::Constant:
    return int32_t(values[0]);
  case ScalarOp::Div:
  case ScalarOp::Mod:
    if (values[1] == 0)
      return {};
    break;
  case ScalarOp::TileStart:
  case ScalarOp::TileSize:
  case ScalarOp::TileIndex:
    if (values[1] < 1)
      return {};
    break;
  default:
    break;
  }
  return int32_t(evaluateNode({compute.op, 0, 1, 2}, values, x, y));
}

bool calledByHost(const program::Program &program) {
  return program.launch_color() == 255;
}

ClassCode decodeClass(const program::Program &program, uint32_t index) {
  return Decoder(program, index).decode();
}

bool setsRoutes(const ClassCode &code) {
  bool any = false;
  forEachStatement(code, [&](const StatementCode &statement) {
    any |= std::holds_alternative<SetRouteCode>(statement);
  });
  return any;
}

std::string describe(const InstructionCode &instruction) {
  std::string name = program::EnumNameOpcode(instruction.op);
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  if (instruction.sendsControl)
    name = "send_control";
  if (instruction.asynchronous())
    name += " (microthread " + std::to_string(instruction.thread) + ")";
  return name;
}

} // namespace wsec::runtime
