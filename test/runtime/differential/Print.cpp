// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "test/runtime/differential/Print.h"

#include <cctype>
#include <cstdio>
#include <map>

namespace wsec::runtime::test {

namespace {

using namespace program;

/// "LessOrEqual" is less_or_equal in the dialect.
std::string snake(const char *name) {
  std::string text;
  for (const char *c = name; *c; ++c) {
    if (std::isupper(static_cast<unsigned char>(*c)) && c != name &&
        std::islower(static_cast<unsigned char>(c[-1])))
      text += '_';
    text += char(std::tolower(static_cast<unsigned char>(*c)));
  }
  return text;
}

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6e", value);
  return text;
}

std::string rect(const Rect &r) {
  auto range = [](int from, int to, int step) {
    return std::to_string(from) + ":" + std::to_string(to) +
           (step == 1 ? "" : ":" + std::to_string(step));
  };
  return "[" + range(r.x0(), r.x1(), r.xstep()) + ", " +
         range(r.y0(), r.y1(), r.ystep()) + "]";
}

std::string ports(unsigned transmit) {
  std::string text;
  for (Port port : EnumValuesPort())
    if (transmit >> unsigned(port) & 1)
      text += (text.empty() ? "" : ", ") + snake(EnumNamePort(port));
  return "[" + text + "]";
}

int operandsOf(ScalarOp op) {
  switch (op) {
  case ScalarOp::Px:
  case ScalarOp::Py:
    return 0;
  case ScalarOp::Not:
  case ScalarOp::Constant:
    return 1;
  case ScalarOp::TileStart:
  case ScalarOp::TileSize:
  case ScalarOp::TileIndex:
    return 3;
  default:
    return 2;
  }
}

class Printer {
public:
  explicit Printer(const ProgramT &program) : program(program) {}

  std::string run() {
    const MachineT &machine = *program.machine;
    line("pe.program @random mesh [" + std::to_string(machine.width) + ", " +
         std::to_string(machine.height) + "] machine \"" + machine.name +
         "\" {");
    ++depth;
    for (const auto &copy : program.copies)
      printTensor(*copy);
    for (const auto &route : program.routes)
      printRoute(*route);
    for (const auto &its : program.classes)
      printClass(*its);
    for (size_t l = 0; l <= program.launches.size(); ++l) {
      for (const auto &copy : program.copies)
        if (copy->launch == l)
          printCopy(*copy);
      if (l < program.launches.size())
        line("launch @r" + std::to_string(program.launches[l]->routine));
    }
    --depth;
    line("}");
    return text;
  }

private:
  void line(const std::string &what) {
    text += std::string(2 * size_t(depth), ' ') + what + "\n";
  }

  /// In the shape that the dialect wants for a copy.
  void printTensor(const HostCopyT &copy) {
    const TensorT &tensor = *program.tensors[copy.tensor];
    const Rect &r = *copy.rect;
    const int columns = (r.x1() - r.x0() + r.xstep() - 1) / r.xstep();
    const int rows = (r.y1() - r.y0() + r.ystep() - 1) / r.ystep();
    const bool row = copy.order == CopyOrder::Row;
    auto by = [](int n) { return std::to_string(n) + "x"; };
    const auto elements = int(copy.elements);
    line("tensor " + snake(EnumNameTensorRole(tensor.role)) + " @" +
         tensor.name + " : tensor<" +
         (row ? by(rows) + by(columns) + by(elements)
              : by(elements) + by(columns) + by(rows)) +
         snake(EnumNameElementType(tensor.type)) + ">");
  }
  void printCopy(const HostCopyT &copy) {
    const bool in = copy.direction == Direction::In;
    line(std::string("copy ") + (in ? "in @" : "out @") +
         program.tensors[copy.tensor]->name + (in ? " to @" : " from @") +
         copy.buffer + " " + rect(*copy.rect) +
         (copy.order == CopyOrder::Row ? "" : " order column"));
  }
  void printRoute(const RouteRuleT &route) {
    std::string what = "route " + std::to_string(route.color) + " " +
                       rect(*route.rect) + " from " +
                       snake(EnumNamePort(route.receive)) + " to " +
                       ports(route.transmit);
    std::string positions;
    for (const SwitchPosition &position : route.positions)
      positions +=
          (positions.empty() ? "" : ", ") +
          (position.receive() >= 0
               ? "from " + snake(EnumNamePort(Port(position.receive())))
               : "to " + ports(position.transmit()));
    if (!positions.empty())
      what += " switch [" + positions + "]";
    if (route.ring)
      what += " ring";
    if (route.pop != PopMode::Never)
      what += " pop " + snake(EnumNamePopMode(route.pop));
    line(what);
  }

  // -------------------------------------------------------------- classes

  void printClass(const PEClassT &its) {
    peClass = &its;
    std::string rects;
    for (const Rect &r : its.rects)
      rects += (rects.empty() ? " " : ", ") + rect(r);
    line("class @" + its.name + rects + " {");
    ++depth;
    printScalars();
    for (const auto &buffer : its.buffers)
      line("buffer @" + buffer->name + " " + std::to_string(buffer->bytes) +
           " bytes of " + snake(EnumNameElementType(buffer->type)));
    for (const auto &queue : its.queues)
      line(std::string("queue ") + (queue->output ? "output " : "input ") +
           std::to_string(queue->queue) + " color " +
           std::to_string(queue->color));
    for (const auto &filter : its.filters)
      line("filter " + std::to_string(filter->color) + " " +
           snake(EnumNameFilterKind(filter->kind)) + " " +
           affine(*filter->min) + " to " + affine(*filter->max) +
           (filter->limit ? " limit " + affine(*filter->limit) : ""));
    for (const auto &task : its.tasks)
      printTask(*task);
    for (const auto &routine : its.routines) {
      line("routine @r" + std::to_string(routine->id) + " {");
      printBody(routine->body);
      line("}");
    }
    --depth;
    line("}");
  }
  void printScalars() {
    for (size_t i = 0; i < peClass->scalars.size(); ++i) {
      const ScalarNode &node = peClass->scalars[i];
      const std::string name = "%s" + std::to_string(i);
      if (node.op() == ScalarOp::Constant) {
        line(name + " = constant " + std::to_string(node.a()));
        continue;
      }
      const int inputs[] = {node.a(), node.b(), node.c()};
      std::string list;
      for (int k = 0; k < operandsOf(node.op()); ++k)
        list += (k ? ", %s" : "%s") + std::to_string(inputs[k]);
      line(name + " = scalar " + snake(EnumNameScalarOp(node.op())) +
           (list.empty() ? "" : "(" + list + ")"));
    }
  }
  void printTask(const TaskT &task) {
    auto buffer = [&](const char *what, int index) {
      return index < 0 ? "" : what + peClass->buffers[size_t(index)]->name;
    };
    line("task @" + task.name + " " + snake(EnumNameTaskKind(task.kind)) + " " +
         std::to_string(task.id) + buffer(" word @", task.word_buffer) +
         buffer(" index @", task.index_buffer) +
         (task.blocked ? " blocked" : "") + " {");
    printBody(task.body);
    line("}");
  }

  // -------------------------------------------------------------- code

  using Statements = std::vector<std::unique_ptr<StatementT>>;

  void printBody(const Statements &body) {
    ++depth;
    // What is set inside ends with the body.
    const std::map<int, std::string> outer = locals;
    for (const auto &statement : body)
      printStatement(*statement);
    locals = outer;
    --depth;
  }
  std::string define(int local) {
    return locals[local] = "%v" + std::to_string(names++);
  }
  std::string affine(const AffineT &value) const {
    std::string result;
    for (const Term &term : value.terms) {
      std::string name;
      if (term.kind() == TermKind::Scalar)
        name = "%s" + std::to_string(term.index());
      else if (term.kind() == TermKind::Loop)
        name = loops[term.index()];
      else
        name = locals.at(term.index());
      result += (result.empty() ? "" : " + ") + name +
                (term.scale() == 1 ? "" : " * " + std::to_string(term.scale()));
    }
    if (result.empty())
      return std::to_string(value.constant);
    return value.constant == 0
               ? result
               : result + " + " + std::to_string(value.constant);
  }
  std::string element(int buffer, const AffineT &offset) const {
    return "@" + peClass->buffers[size_t(buffer)]->name + "[" + affine(offset) +
           "]";
  }
  std::string task(int index) const {
    return "@" + peClass->tasks[size_t(index)]->name;
  }

  void printStatement(const StatementT &statement) {
    const StatementKindUnion &kind = statement.kind;
    if (const auto *instruction = kind.AsInstruction())
      return line(vector(*instruction));
    if (const auto *loop = kind.AsLoop())
      return printLoop(*loop);
    if (const auto *branch = kind.AsIf())
      return printIf(*branch);
    if (const auto *compute = kind.AsCompute())
      return printCompute(*compute);
    if (const auto *control = kind.AsSendControl())
      return printControl(*control);
    if (const auto *await = kind.AsAwait()) {
      std::string list;
      for (int t = 0; t < 8; ++t)
        if (await->threads >> t & 1)
          list += (list.empty() ? "" : ", ") + std::to_string(t);
      return line("await [" + list + "]");
    }
    if (const auto *load = kind.AsLoad()) {
      const std::string from = element(load->buffer, *load->offset);
      return line(define(load->local) + " = load " + from);
    }
    if (const auto *store = kind.AsStore())
      return line("store " + element(store->buffer, *store->offset) + " = " +
                  affine(*store->value));
    if (const auto *set = kind.AsSetTask())
      return line(snake(EnumNameTaskAction(set->action)) + " " +
                  task(set->task));
    if (const auto *clock = kind.AsReadClock())
      return line("clock " + element(clock->buffer, *clock->offset));
    if (const auto *route = kind.AsSetRoute())
      return line("set_route " + affine(*route->color) + " from " +
                  snake(EnumNamePort(route->receive)) + " to " +
                  ports(route->transmit));
    line("// unknown");
  }
  void printLoop(const LoopT &loop) {
    const std::string variable = "%i" + std::to_string(names++);
    line("for " + variable + " < " + affine(*loop.count) +
         (loop.guard < 0 ? "" : " where %s" + std::to_string(loop.guard)) +
         " {");
    loops.push_back(variable);
    printBody(loop.body);
    loops.pop_back();
    line("}");
  }
  void printIf(const IfT &branch) {
    line("if " + affine(*branch.condition) + " {");
    printBody(branch.then);
    if (!branch.otherwise.empty()) {
      line("} else {");
      printBody(branch.otherwise);
    }
    line("}");
  }
  void printCompute(const ComputeT &compute) {
    const AffineT *inputs[] = {compute.a.get(), compute.b.get(),
                               compute.c.get()};
    std::string list;
    for (int k = 0; k < operandsOf(compute.op); ++k)
      list += (k ? ", " : "") + affine(*inputs[k]);
    line(define(compute.local) + " = compute " +
         snake(EnumNameScalarOp(compute.op)) +
         (list.empty() ? "" : "(" + list + ")"));
  }
  void printControl(const SendControlT &control) {
    std::string list;
    for (SwitchCommand command : control.commands)
      list +=
          (list.empty() ? "" : ", ") + snake(EnumNameSwitchCommand(command));
    // The dialect wants a command to be written.
    std::string what = "control fabric(" + affine(*control.color) + ") [" +
                       (list.empty() ? "nop" : list) + "]";
    if (control.task >= 0)
      what += " task " + std::to_string(control.task);
    if (control.data &&
        (control.data->constant || !control.data->terms.empty()))
      what += " data " + affine(*control.data);
    line(what);
  }

  std::string operand(const OperandT &o) const {
    if (o.kind == OperandKind::Immediate)
      return number(o.immediate);
    if (o.kind == OperandKind::Memory) {
      std::string strides;
      for (int32_t stride : o.strides)
        strides += (strides.empty() ? "" : ", ") + std::to_string(stride);
      return "@" + peClass->buffers[o.buffer]->name + "[" + affine(*o.offset) +
             ", strides = [" + strides + "]]";
    }
    std::string what = "fabric(" + affine(*o.color);
    if (o.depth != 1)
      what += ", depth = " + std::to_string(o.depth);
    if (o.window_total)
      what += ", window = " + affine(*o.window_offset) + " of " +
              affine(*o.window_total);
    if (o.type != ElementType::F32)
      what += ", " + snake(EnumNameElementType(o.type));
    if (o.packing == Packing::Pair)
      what += ", pair";
    if (o.index)
      what += ", index = " + affine(*o.index);
    return what + ")";
  }
  std::string vector(const InstructionT &i) const {
    std::string what = "vector " + snake(EnumNameOpcode(i.op)) + " " +
                       operand(*i.dst) + " = " + operand(*i.a);
    if (i.b && i.b->kind != OperandKind::None)
      what += ", " + operand(*i.b);
    std::string extents;
    for (const auto &extent : i.extents)
      extents += (extents.empty() ? "" : ", ") + affine(*extent);
    what += " over (" + extents + ")";
    if (i.guard >= 0)
      what += " where %s" + std::to_string(i.guard);
    if (i.thread >= 0)
      what += " thread " + std::to_string(i.thread);
    if (i.activate >= 0 || i.unblock >= 0)
      what += " then";
    if (i.activate >= 0)
      what += " activate " + task(i.activate);
    if (i.unblock >= 0)
      what += " unblock " + task(i.unblock);
    if (i.advance_switch)
      what += " advance";
    if (i.on_control == OnControl::End)
      what += " on_control end";
    return what;
  }

  const ProgramT &program;
  const PEClassT *peClass = nullptr;
  std::string text;
  int depth = 0, names = 0;
  std::vector<std::string> loops;
  std::map<int, std::string> locals;
};

} // namespace

std::string print(const program::ProgramT &program) {
  return Printer(program).run();
}

} // namespace wsec::runtime::test
