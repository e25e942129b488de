// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Builds programs that are launched by remote calls: tasks, switches, scalar
// code, 16-bit elements, host copies.
#ifndef TEST_RUNTIME_TASKPROGRAM_H
#define TEST_RUNTIME_TASKPROGRAM_H

#include "test/runtime/ProgramBuilder.h"

#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace wsec::runtime::test {

using Statements = std::vector<std::unique_ptr<program::StatementT>>;

/// Statements of a routine or task; a BodyBuilder with those that need remote
/// calls.
class TaskBody : public BodyBuilder {
public:
  explicit TaskBody(Statements &statements)
      : BodyBuilder(statements), list(statements) {}

  void setTask(program::TaskAction action, int task) {
    program::SetTaskT set;
    set.action = action;
    set.task = uint16_t(task);
    append(std::move(set));
  }
  void activate(int task) { setTask(program::TaskAction::Activate, task); }
  void block(int task) { setTask(program::TaskAction::Block, task); }
  void unblock(int task) { setTask(program::TaskAction::Unblock, task); }
  void control(const Value &color, std::vector<program::SwitchCommand> commands,
               int task = -1, const Value &data = 0) {
    program::SendControlT send;
    send.color = color.build();
    send.commands = std::move(commands);
    send.task = int16_t(task);
    send.data = data.build();
    append(std::move(send));
  }
  void compute(uint16_t into, program::ScalarOp op, const Value &a,
               const Value &b = 0, const Value &c = 0) {
    program::ComputeT compute;
    compute.local = into;
    compute.op = op;
    compute.a = a.build();
    compute.b = b.build();
    compute.c = c.build();
    append(std::move(compute));
  }
  void store(uint16_t buffer, const Value &offset, const Value &value) {
    program::StoreT store;
    store.buffer = buffer;
    store.offset = offset.build();
    store.value = value.build();
    append(std::move(store));
  }
  void branch(const Value &condition, const std::function<void(TaskBody)> &then,
              const std::function<void(TaskBody)> &otherwise = nullptr) {
    program::IfT branch;
    branch.condition = condition.build();
    then(TaskBody(branch.then));
    if (otherwise)
      otherwise(TaskBody(branch.otherwise));
    append(std::move(branch));
  }
  void repeat(const Value &count, const std::function<void(TaskBody)> &fill) {
    program::LoopT loop;
    loop.count = count.build();
    fill(TaskBody(loop.body));
    append(std::move(loop));
  }
  void clock(uint16_t buffer, const Value &offset) {
    program::ReadClockT clock;
    clock.buffer = buffer;
    clock.offset = offset.build();
    append(std::move(clock));
  }
  void setRoute(const Value &color, program::Port receive,
                std::vector<program::Port> transmit) {
    program::SetRouteT route;
    route.color = color.build();
    route.receive = receive;
    for (program::Port port : transmit)
      route.transmit |= uint8_t(1 << int(port));
    append(std::move(route));
  }

private:
  template <class Kind>
  void append(Kind kind) {
    auto statement = std::make_unique<program::StatementT>();
    statement->kind.Set(std::move(kind));
    list.push_back(std::move(statement));
  }

  Statements &list;
};

/// A PE class with typed buffers and tasks.
class TaskClass : public ClassBuilder {
public:
  using ClassBuilder::ClassBuilder;
  explicit TaskClass(ClassBuilder builder) : ClassBuilder(builder) {}

  uint16_t typed(const std::string &name, program::ElementType type,
                 uint32_t elements) {
    const uint32_t size =
        type == program::ElementType::F32 || type == program::ElementType::I32
            ? 4
            : 2;
    uint16_t index = buffer(name, (elements * size + 3) / 4);
    source->buffers[index]->type = type;
    source->buffers[index]->bytes = elements * size;
    return index;
  }
  TaskBody body(uint32_t routine) {
    auto made = std::make_unique<program::RoutineT>();
    made->id = routine;
    source->routines.push_back(std::move(made));
    return TaskBody(source->routines.back()->body);
  }
  /// Its index in the class, to activate it by. Fill it with `taskBody`.
  int task(const std::string &name, program::TaskKind kind, int id,
           bool blocked = false, int word = -1, int index = -1) {
    auto made = std::make_unique<program::TaskT>();
    made->name = name;
    made->kind = kind;
    made->id = uint8_t(id);
    made->blocked = blocked;
    made->word_buffer = word;
    made->index_buffer = index;
    source->tasks.push_back(std::move(made));
    return int(source->tasks.size()) - 1;
  }
  TaskBody taskBody(int task) {
    return TaskBody(source->tasks[size_t(task)]->body);
  }
  void filter(int color, program::FilterKind kind, const Value &min,
              const Value &max, std::optional<Value> limit = std::nullopt) {
    auto made = std::make_unique<program::FilterT>();
    made->color = uint8_t(color);
    made->kind = kind;
    made->min = min.build();
    made->max = max.build();
    if (limit)
      made->limit = limit->build();
    source->filters.push_back(std::move(made));
  }
  void queue(int color, bool output, int queue) {
    auto made = std::make_unique<program::QueueBindingT>();
    made->color = uint8_t(color);
    made->output = output;
    made->queue = uint8_t(queue);
    source->queues.push_back(std::move(made));
  }
};

/// A program without a launch color, and the tensors its copies move.
class TaskProgram : public ProgramBuilder {
public:
  TaskProgram(int width, int height) : ProgramBuilder(width, height) {
    source.launch_color = 255;
    source.routes.clear();
    program::MachineT &machine = *source.machine;
    machine.result_latency = 3;
    machine.copy_rate_16 = machine.add_rate_16 = machine.fmac_rate_16 = 4;
    machine.fmac_rate_mixed = 2;
    machine.reduce_rate = machine.dot_rate = 0.5;
    machine.clock_cycles = 1;
    machine.copy_setup = 5;
    machine.axpy_setup = 10;
    machine.dot_setup = 17;
    machine.scalar_cycles = 1;
    machine.load_cycles = 4;
    machine.store_cycles = 2;
    machine.branch_taken = 6;
    machine.branch_not_taken = 3;
    machine.async_issue = 1;
    machine.router_buffer_words = 2;
    machine.input_queue_words = {6, 6, 4, 4, 2, 2, 2, 2};
    machine.output_queue_words = {2, 2, 6, 6, 2, 2};
    machine.switch_positions = 4;
    machine.control_commands = 8;
    machine.local_tasks = 31;
    machine.control_tasks = 64;
  }

  TaskClass pes(const std::string &name, int x0, int x1, int y0, int y1) {
    return TaskClass(addClass(name, x0, x1, y0, y1));
  }
  /// The last route becomes a switch; each position replaces the receive port
  /// or, with ports, the transmit set.
  struct Position {
    int receive = -1;
    uint8_t transmit = 0;
  };
  void switching(std::vector<Position> positions, bool ring = false,
                 program::PopMode pop = program::PopMode::Never,
                 int initial = 0) {
    program::RouteRuleT &rule = *source.routes.back();
    for (Position position : positions)
      rule.positions.push_back({int8_t(position.receive), position.transmit});
    rule.ring = ring;
    rule.pop = pop;
    rule.initial = uint8_t(initial);
  }
  static Position from(program::Port port) { return {int(port), 0}; }
  static Position to(std::vector<program::Port> ports) {
    Position position;
    for (program::Port port : ports)
      position.transmit |= uint8_t(1 << int(port));
    return position;
  }

  uint32_t copy(program::Direction direction, const std::string &buffer,
                program::ElementType type, uint32_t elements, int x0, int x1,
                int y0, int y1, uint32_t launch,
                program::CopyOrder order = program::CopyOrder::Row) {
    auto tensor = std::make_unique<program::TensorT>();
    const bool in = direction == program::Direction::In;
    tensor->name = (in ? "in" : "out") + std::to_string(source.tensors.size());
    tensor->role =
        in ? program::TensorRole::Input : program::TensorRole::Output;
    tensor->type = type;
    tensor->shape = {int64_t(elements) * (x1 - x0) * (y1 - y0)};
    source.tensors.push_back(std::move(tensor));
    auto copy = std::make_unique<program::HostCopyT>();
    copy->direction = direction;
    copy->tensor = uint32_t(source.tensors.size() - 1);
    copy->buffer = buffer;
    copy->rect =
        std::make_unique<program::Rect>(ClassBuilder::makeRect(x0, x1, y0, y1));
    copy->elements = elements;
    copy->order = order;
    copy->launch = launch;
    source.entries[0]->copies.push_back(std::move(copy));
    return uint32_t(source.tensors.size() - 1);
  }
};

/// A host whose tensors are vectors of bytes.
class TensorHost : public VectorHost {
public:
  template <class Element>
  void give(uint32_t tensor, const std::vector<Element> &elements) {
    std::vector<uint8_t> &bytes = tensors[tensor];
    bytes.resize(elements.size() * sizeof(Element));
    std::memcpy(bytes.data(), elements.data(), bytes.size());
  }
  void room(uint32_t tensor, size_t bytes) { tensors[tensor].assign(bytes, 0); }
  template <class Element>
  std::vector<Element> get(uint32_t tensor) const {
    const std::vector<uint8_t> &bytes = tensors.at(tensor);
    std::vector<Element> elements(bytes.size() / sizeof(Element));
    std::memcpy(elements.data(), bytes.data(), bytes.size());
    return elements;
  }

  const uint8_t *tensorElements(uint32_t tensor) override {
    return find(tensor);
  }
  uint8_t *outputElements(uint32_t tensor) override { return find(tensor); }

  std::map<uint32_t, std::vector<uint8_t>> tensors;

private:
  uint8_t *find(uint32_t tensor) {
    auto found = tensors.find(tensor);
    return found == tensors.end() ? nullptr : found->second.data();
  }
};

} // namespace wsec::runtime::test

#endif // TEST_RUNTIME_TASKPROGRAM_H
