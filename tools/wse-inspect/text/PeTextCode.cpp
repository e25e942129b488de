// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Classes and their code.
#include "runtime/program/Checker.h"
#include "runtime/program/check/ScalarChecker.h"
#include "tools/wse-inspect/text/ConstantText.h"
#include "tools/wse-inspect/text/PeTextParts.h"

namespace wsec::runtime {

using namespace program;

namespace {

/// " = [0.5, 1.0]", or nothing.
std::string initialText(const BufferT &buffer) {
  if (buffer.initial.empty())
    return "";
  TensorT values;
  values.type = buffer.type;
  values.shape = {int64_t(buffer.initial.size() / elementBytes(buffer.type))};
  values.data = buffer.initial;
  return " = " + ConstantText(values).elements();
}

class ClassPrinter {
public:
  ClassPrinter(const PEClassT &peClass, TextLines out)
      : peClass(peClass), values(peClass.scalars), out(std::move(out)) {}

  void printScalars(TextLines &before) const { values.printScalars(before); }
  TextLines take() { return std::move(out); }
  void printMembers();
  void printRoutine(const RoutineT &routine, const std::string &name,
                    const std::string &note);
  void printTask(const TaskT &task);

private:
  using Statements = std::vector<std::unique_ptr<StatementT>>;

  void printBody(const Statements &body);
  void print(const StatementT &statement);
  void print(const LoopT &loop);
  void print(const IfT &branch);
  void print(const AwaitT &await);
  void print(const ComputeT &compute);
  void print(const SendControlT &control);
  void print(const InstructionT &instruction);

  std::string buffer(int index) const {
    return symbolText(peClass.buffers[size_t(index)]->name);
  }
  std::string element(int index, const AffineT &offset) const {
    return buffer(index) + "[" + values.sum(offset) + "]";
  }
  std::string task(int index) const {
    return symbolText(peClass.tasks[size_t(index)]->name);
  }
  std::string guard(int scalar) const {
    return scalar < 0 ? "" : " where " + values.scalar(size_t(scalar));
  }
  std::string operand(const OperandT &operand) const;
  /// Who runs a statement, and what happens when it has ended.
  template <class StatementType>
  std::string completion(const StatementType &statement) const {
    std::string text;
    if (statement.thread >= 0)
      text += " thread " + std::to_string(statement.thread);
    if (statement.activate >= 0 || statement.unblock >= 0)
      text += " then";
    if (statement.activate >= 0)
      text += " activate " + task(statement.activate);
    if (statement.unblock >= 0)
      text += " unblock " + task(statement.unblock);
    return text;
  }

  const PEClassT &peClass;
  ValueNames values;
  TextLines out;
};

} // namespace

void ClassPrinter::printMembers() {
  for (const auto &buffer : peClass.buffers)
    out.line(
        "buffer " + symbolText(buffer->name) + " at " +
        std::to_string(buffer->address) + ", " + std::to_string(buffer->bytes) +
        " bytes of " + typeText(buffer->type) + initialText(*buffer) +
        (buffer->persistent ? " persistent" : "") +
        (buffer->onnx_node.empty() ? ""
                                   : " node " + quotedText(buffer->onnx_node)));
  for (const auto &queue : peClass.queues)
    out.line(std::string("queue ") + (queue->output ? "output " : "input ") +
             std::to_string(queue->queue) + " color " +
             std::to_string(queue->color));
  for (const auto &filter : peClass.filters)
    out.line("filter " + std::to_string(filter->color) + " " +
             snakeCase(EnumNameFilterKind(filter->kind)) + " " +
             values.sum(*filter->min) + " to " + values.sum(*filter->max) +
             (filter->limit ? " limit " + values.sum(*filter->limit) : ""));
}

void ClassPrinter::printRoutine(const RoutineT &routine,
                                const std::string &name,
                                const std::string &note) {
  if (!note.empty())
    out.line("// " + note);
  values.locals.clear();
  std::string arguments;
  for (int i = 0; i < routine.arguments; ++i)
    arguments += (i ? ", " : "(") + values.define(i);
  out.open("routine " + symbolText(name) +
           (arguments.empty() ? "" : arguments + ")"));
  printBody(routine.body);
  out.close();
}

void ClassPrinter::printTask(const TaskT &task) {
  auto stored = [&](const char *what, int index) {
    return index < 0 ? "" : what + buffer(index);
  };
  out.open("task " + symbolText(task.name) + " " +
           snakeCase(EnumNameTaskKind(task.kind)) + " " +
           std::to_string(task.id) + (task.blocked ? " blocked" : "") +
           stored(" word ", task.word_buffer) +
           stored(" index ", task.index_buffer));
  printBody(task.body);
  out.close();
}

//===----------------------------------------------------------------------===//
// Statements
//===----------------------------------------------------------------------===//

void ClassPrinter::printBody(const Statements &body) {
  // What is set inside ends with the body.
  const std::map<int, std::string> around = values.locals;
  for (const auto &statement : body)
    print(*statement);
  values.locals = around;
}

void ClassPrinter::print(const StatementT &statement) {
  const StatementKindUnion &kind = statement.kind;
  switch (kind.type) {
  case StatementKind::Instruction:
    return print(*kind.AsInstruction());
  case StatementKind::Loop:
    return print(*kind.AsLoop());
  case StatementKind::If:
    return print(*kind.AsIf());
  case StatementKind::Await:
    return print(*kind.AsAwait());
  case StatementKind::Compute:
    return print(*kind.AsCompute());
  case StatementKind::SendControl:
    return print(*kind.AsSendControl());
  case StatementKind::Load: {
    const LoadT &load = *kind.AsLoad();
    const std::string from = element(load.buffer, *load.offset);
    return out.line(values.define(load.local) + " = load " + from);
  }
  case StatementKind::Store: {
    const StoreT &store = *kind.AsStore();
    return out.line("store " + element(store.buffer, *store.offset) + " = " +
                    values.sum(*store.value));
  }
  case StatementKind::SetTask: {
    const SetTaskT &set = *kind.AsSetTask();
    return out.line(snakeCase(EnumNameTaskAction(set.action)) + " " +
                    task(set.task));
  }
  case StatementKind::ReadClock: {
    const ReadClockT &clock = *kind.AsReadClock();
    return out.line("clock " + element(clock.buffer, *clock.offset));
  }
  case StatementKind::SetRoute: {
    const SetRouteT &route = *kind.AsSetRoute();
    return out.line("set_route " + values.sum(*route.color) + " from " +
                    snakeCase(EnumNamePort(route.receive)) + " to " +
                    portsText(route.transmit));
  }
  case StatementKind::Break:
    return out.line("break " + values.sum(*kind.AsBreak()->condition));
  case StatementKind::NONE:
    break; // the checker refuses it
  }
}

void ClassPrinter::print(const LoopT &loop) {
  const std::string rest = " < " + values.sum(*loop.count) + guard(loop.guard);
  out.open("for " + values.openLoop() + rest);
  printBody(loop.body);
  values.closeLoop();
  out.close();
}

void ClassPrinter::print(const IfT &branch) {
  out.open("if " + values.sum(*branch.condition));
  printBody(branch.then);
  if (!branch.otherwise.empty()) {
    out.otherwise();
    printBody(branch.otherwise);
  }
  out.close();
}

void ClassPrinter::print(const AwaitT &await) {
  std::string list;
  for (int thread = 0; thread < 8; ++thread)
    if (await.threads >> thread & 1)
      list += (list.empty() ? "" : ", ") + std::to_string(thread);
  out.line("await [" + list + "]");
}

void ClassPrinter::print(const ComputeT &compute) {
  const AffineT *inputs[] = {compute.a.get(), compute.b.get(), compute.c.get()};
  std::string list;
  for (int k = 0; k < operandCount(compute.op); ++k)
    list += (k ? ", " : "") + values.sum(*inputs[k]);
  out.line(values.define(compute.local) + " = compute " +
           snakeCase(EnumNameScalarOp(compute.op)) +
           (list.empty() ? "" : "(" + list + ")"));
}

void ClassPrinter::print(const SendControlT &control) {
  std::string list;
  for (SwitchCommand command : control.commands)
    list +=
        (list.empty() ? "" : ", ") + snakeCase(EnumNameSwitchCommand(command));
  // The dialect wants a command to be written.
  std::string text = "control fabric(" + values.sum(*control.color) + ") [" +
                     (list.empty() ? "nop" : list) + "]";
  if (control.task >= 0)
    text += " task " + std::to_string(control.task);
  if (control.task >= 0 && control.data)
    text += " data " + values.sum(*control.data);
  out.line(text + completion(control));
}

//===----------------------------------------------------------------------===//
// Instructions
//===----------------------------------------------------------------------===//

std::string ClassPrinter::operand(const OperandT &operand) const {
  if (operand.kind == OperandKind::Immediate)
    return realText(operand.immediate);
  if (operand.kind == OperandKind::Memory) {
    std::string strides;
    for (int32_t stride : operand.strides)
      strides += (strides.empty() ? "" : ", ") + std::to_string(stride);
    return buffer(operand.buffer) + "[" + values.sum(*operand.offset) +
           ", strides = [" + strides + "]]";
  }
  std::string text = "fabric(" + values.sum(*operand.color);
  if (operand.type != ElementType::F32)
    text += ", " + typeText(operand.type);
  if (operand.packing == Packing::Pair)
    text += ", pair";
  if (operand.depth != 1)
    text += ", depth = " + std::to_string(operand.depth);
  if (operand.window_total)
    text += ", window = " + values.sum(*operand.window_offset) + " of " +
            values.sum(*operand.window_total);
  if (operand.index)
    text += ", index = " + values.sum(*operand.index);
  return text + ")";
}

void ClassPrinter::print(const InstructionT &instruction) {
  std::string text = "vector " + snakeCase(EnumNameOpcode(instruction.op)) +
                     " " + operand(*instruction.dst) + " = " +
                     operand(*instruction.a);
  if (instruction.b && instruction.b->kind != OperandKind::None)
    text += ", " + operand(*instruction.b);
  text +=
      " over " + values.list(instruction.extents) + guard(instruction.guard);
  text += completion(instruction);
  if (instruction.advance_switch)
    text += " advance";
  if (instruction.on_control == OnControl::End)
    text += " on_control end";
  if (instruction.no_wrap)
    text += " no_wrap";
  out.line(text);
}

void printClass(const PEClassT &peClass, const RoutineNames &routines,
                const std::map<uint32_t, std::string> &notes, TextLines &out) {
  std::string rects;
  for (const Rect &rect : peClass.rects)
    rects += (rects.empty() ? " " : ", ") + rectText(rect);
  out.open("class " + symbolText(peClass.name) + rects);
  ClassPrinter printer(peClass, out.inner());
  printer.printMembers();
  for (const auto &routine : peClass.routines) {
    auto note = notes.find(routine->id);
    printer.printRoutine(*routine, routines.at(routine->id),
                         note == notes.end() ? "" : note->second);
  }
  for (const auto &task : peClass.tasks)
    printer.printTask(*task);
  printer.printScalars(out);
  out.append(printer.take());
  out.close();
}

} // namespace wsec::runtime
