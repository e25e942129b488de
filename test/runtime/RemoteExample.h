// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A small program that uses everything only programs launched by remote calls
// have.
#ifndef TEST_RUNTIME_REMOTEEXAMPLE_H
#define TEST_RUNTIME_REMOTEEXAMPLE_H

#include "test/runtime/ExampleFile.h"

namespace wsec::runtime::test {

template <class Kind>
Kind &addStatement(std::vector<std::unique_ptr<program::StatementT>> &body,
                   Kind kind) {
  auto statement = std::make_unique<program::StatementT>();
  statement->kind.Set(std::move(kind));
  body.push_back(std::move(statement));
  return *static_cast<Kind *>(body.back()->kind.value);
}

inline Value localValue(uint16_t index, int32_t scale = 1) {
  Value value;
  value.terms.push_back({program::TermKind::Local, index, scale});
  return value;
}

inline program::TaskT &addTask(program::PEClassT &peClass,
                               const std::string &name, program::TaskKind kind,
                               int id) {
  auto task = std::make_unique<program::TaskT>();
  task->name = name;
  task->kind = kind;
  task->id = uint8_t(id);
  peClass.tasks.push_back(std::move(task));
  return *peClass.tasks.back();
}

/// Statements of the routine: 0 a send, 1 a load, 2 a computation, 3 an if
/// around a store and a block, 4 a control wavelet, 5 the clock, 6 a route.
inline void fillRemoteRoutine(program::PEClassT &peClass) {
  using namespace program;
  auto routine = std::make_unique<RoutineT>();
  auto &body = routine->body;
  Operand words = fabric(1);
  InstructionT &send = BodyBuilder(body).add(Opcode::Mov, {4}, words,
                                             memory(1, {1})); // pairs of f16
  send.dst->type = program::ElementType::F16;
  send.dst->packing = Packing::Pair;
  send.thread = 1;
  send.activate = 0;
  send.unblock = 1;
  send.advance_switch = true;
  LoadT &load = addStatement(body, LoadT());
  load.buffer = 0;
  load.offset = Value(0).build();
  ComputeT &compute = addStatement(body, ComputeT());
  compute.local = 1;
  compute.op = ScalarOp::Mod;
  compute.a = localValue(0).build();
  compute.b = Value(3).build();
  IfT &branch = addStatement(body, IfT());
  branch.condition = localValue(1).build();
  StoreT &store = addStatement(branch.then, StoreT());
  store.buffer = 0;
  store.offset = Value(1).build();
  store.value = (localValue(1, 2) + Value(Scalar{0})).build();
  SetTaskT &block = addStatement(branch.otherwise, SetTaskT());
  block.action = TaskAction::Block;
  block.task = 1;
  SendControlT &control = addStatement(body, SendControlT());
  control.color = Value(1).build();
  control.commands = {SwitchCommand::Advance, SwitchCommand::Nop};
  control.task = 5;
  control.data = Value(Scalar{0}).build();
  ReadClockT &clock = addStatement(body, ReadClockT());
  clock.buffer = 0;
  clock.offset = Value(0).build();
  SetRouteT &route = addStatement(body, SetRouteT());
  route.color = Value(1).build();
  route.receive = Port::Ramp;
  route.transmit = 1 << int(Port::East);
  peClass.routines.push_back(std::move(routine));
}

inline void fillRemoteTasks(program::PEClassT &peClass) {
  using namespace program;
  addTask(peClass, "done", TaskKind::Local, 3);
  TaskT &receive = addTask(peClass, "receive", TaskKind::Data, 2);
  receive.blocked = true;
  receive.word_buffer = 0;
  receive.index_buffer = 2;
  addStatement(receive.body, SetTaskT());
  TaskT &end = addTask(peClass, "end", TaskKind::Control, 5);
  InstructionT &drain = BodyBuilder(end.body).add(
      Opcode::Mov, {4}, memory(1, {1}), test::fabric(2));
  drain.a->type = program::ElementType::F16;
  drain.on_control = OnControl::End;
}

/// Valid; not meant to run.
inline ProgramBuilder makeRemoteCalls() {
  using namespace program;
  ProgramBuilder builder(4, 2);
  builder.source.launch_color = 255;
  builder.source.routes.clear();
  builder.route(1, 0, 4, 0, 2, Port::West, {Port::Ramp});
  RouteRuleT &rule = *builder.source.routes.back();
  rule.positions = {{int8_t(Port::Ramp), 0}, {-1, 1 << int(Port::East)}};
  rule.ring = true;
  rule.pop = PopMode::OnAdvance;
  rule.initial = 1;
  ClassBuilder pes = builder.addClass("pes", 0, 4, 0, 2);
  pes.px();
  pes.buffer("counts", 2);
  pes.buffer("halves", 2);
  pes.buffer("index", 1);
  PEClassT &peClass = *builder.source.classes[0];
  peClass.buffers[0]->type = ElementType::I32;
  peClass.buffers[1]->type = ElementType::F16;
  peClass.buffers[2]->type = ElementType::I16;
  auto queue = std::make_unique<QueueBindingT>();
  queue->color = 1;
  queue->output = true;
  queue->queue = 2;
  peClass.queues.push_back(std::move(queue));
  auto filter = std::make_unique<FilterT>();
  filter->color = 2;
  filter->kind = FilterKind::Counter;
  filter->min = Value(Scalar{0}).build();
  filter->max = Value(0).build();
  filter->limit = Value(3).build();
  peClass.filters.push_back(std::move(filter));
  fillRemoteRoutine(peClass);
  fillRemoteTasks(peClass);
  addTensor(builder, "x", TensorRole::Input, {4, 2, 4}, ElementType::F16);
  addTensor(builder, "y", TensorRole::Output, {4, 2, 2}, ElementType::I32);
  for (bool out : {false, true}) {
    auto copy = std::make_unique<HostCopyT>();
    copy->direction = out ? Direction::Out : Direction::In;
    copy->tensor = out;
    copy->buffer = out ? "counts" : "halves";
    copy->rect = std::make_unique<Rect>(0, 4, 1, 0, 2, 1);
    copy->elements = out ? 2 : 4;
    copy->order = out ? CopyOrder::Column : CopyOrder::Row;
    copy->launch = out;
    builder.source.entries[0]->copies.push_back(std::move(copy));
  }
  builder.launch(0);
  stateCodeBytes(builder);
  return builder;
}

} // namespace wsec::runtime::test

#endif // TEST_RUNTIME_REMOTEEXAMPLE_H
