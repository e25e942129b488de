// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "test/runtime/differential/Patterns.h"

#include "runtime/pe/Arithmetic.h"

namespace wsec::runtime::test {

using program::ElementType;
using program::Opcode;
using program::ScalarOp;
using program::TaskKind;

Space space(Assembly &a, PE &pe, ElementType type, int elements,
            Assembly::Access access) {
  return {a.buffer(pe, a.name("b"), type, elements, access), type, elements};
}

Operand somewhere(Assembly &a, const Space &space,
                  const std::vector<int> &extents) {
  std::vector<int32_t> strides(extents.size());
  int step = a.choices.rarely(4) ? 2 : 1, reach = 0, offset = 0;
  for (size_t d = extents.size(); d-- > 0;) {
    const bool fits = reach + step * (extents[d] - 1) < space.elements;
    strides[d] = fits && !a.choices.rarely(10) ? step : 0;
    reach += strides[d] * (extents[d] - 1);
    step *= std::max(1, extents[d]);
    if (strides[d] != 0 && a.choices.rarely(8)) {
      offset += strides[d] * (extents[d] - 1);
      strides[d] = -strides[d];
    }
  }
  return memory(space.buffer, strides,
                offset + a.choices.between(0, space.elements - 1 - reach));
}

void mayRunAside(Assembly &a, PE &pe, TaskBody body, int routine,
                 program::InstructionT &instruction, bool later) {
  const uint32_t way = a.choices.draw(!later ? 3 : a.commanded() ? 4 : 5);
  if (way < 2)
    return;
  const int thread = pe.takeThread(routine);
  if (thread < 0)
    return;
  instruction.thread = int8_t(thread);
  if (way == 2)
    return body.await(uint8_t(1 << thread));
  const int id = way == 4 ? pe.takeLocalTask() : -1;
  if (id < 0)
    return;
  // Counts how often it ran.
  const Space count = space(a, pe, ElementType::I32, 1);
  const int task = pe.code.task(a.name("done"), TaskKind::Local, id);
  TaskBody counting = pe.code.taskBody(task);
  counting.load(0, count.buffer, 0);
  counting.store(count.buffer, 0, local(0) + 1);
  instruction.activate = int16_t(task);
}

// ---------------------------------------------------------------- vectors

static std::vector<int> drawExtents(Assembly &a) {
  switch (a.choices.draw(4)) {
  case 2:
    return {a.choices.between(1, 6), a.choices.between(1, 20)};
  case 3:
    return {a.choices.between(1, 4), a.choices.between(1, 4),
            a.choices.between(1, 8)};
  default:
    return {a.length()};
  }
}

static std::vector<Value> values(const std::vector<int> &numbers) {
  return {numbers.begin(), numbers.end()};
}

static Opcode drawUnary(Assembly &a, bool integers) {
  // Integers have the first five.
  static constexpr Opcode all[] = {
#define WSEC_FUNCTION(Name, name, numbers, software, words, value) Opcode::Name,
      Opcode::Mov,   Opcode::Neg,        Opcode::Abs,
      Opcode::Sign,  Opcode::Not,        Opcode::Round,
      Opcode::Rsqrt, Opcode::Reciprocal, Opcode::Sigmoid,
#include "runtime/program/Opcodes.def"
  };
  return all[a.choices.draw(integers ? 5 : uint32_t(std::size(all)))];
}

static void addVector(Assembly &a, PE &pe, TaskBody body, int routine,
                      const std::vector<Space> &spaces) {
  auto pick = [&] { return spaces[a.choices.draw(uint32_t(spaces.size()))]; };
  const std::vector<int> extents = drawExtents(a);
  const Space to = pick(), from = pick(), with = pick();
  const Operand dst = somewhere(a, to, extents);
  auto source = [&](const Space &s) {
    return a.choices.rarely(6) ? immediate(float(a.choices.between(-3, 3)))
                               : somewhere(a, s, extents);
  };
  const Operand x = source(from);
  program::InstructionT *made;
  switch (a.choices.draw(5)) {
  case 0:
  case 1:
    made = &body.add(
        a.operation(to.type, isInteger(with.type) ? from.type : with.type),
        values(extents), dst, x, source(with));
    break;
  case 2:
    made = &body.add(Opcode::Fmac, values(extents), dst, x, source(with));
    break;
  case 3:
    made = &body.add(Opcode::Select, values(extents), dst, x, source(with));
    break;
  default:
    made =
        &body.add(drawUnary(a, isInteger(to.type) &&
                                   (isInteger(from.type) ||
                                    x.kind == program::OperandKind::Immediate)),
                  values(extents), dst, x);
  }
  if (made->op >= Opcode::BitAnd)
    for (auto *operand : {made->a.get(), made->b.get()})
      if (operand->kind == program::OperandKind::Memory &&
          !isInteger(spaces[0].type))
        made->op = Opcode::Add;
  mayRunAside(a, pe, body, routine, *made, false);
}

static void addFault(Assembly &a, PE &pe, TaskBody body, int routine) {
  const Space s = space(a, pe, ElementType::I32, 8, Assembly::Scratch);
  if (a.breaksHere(Break::UninitializedRead)) {
    if (a.choices.draw(2))
      return body.load(0, s.buffer, 1);
    body.add(Opcode::Neg, {4}, memory(s.buffer, {1}, 4),
             memory(s.buffer, {1}, 0));
    return;
  }
  body.store(s.buffer, 0, 9);
  body.store(s.buffer, 1, 0);
  body.store(s.buffer, 2, -2);
  body.load(0, s.buffer, 0);
  body.load(1, s.buffer, 1);
  body.load(2, s.buffer, 2);
  if (a.breaksHere(Break::OutOfBounds)) {
    switch (a.choices.draw(3)) {
    case 0:
      return body.store(s.buffer, local(0), 1);
    case 1:
      return body.load(3, s.buffer, local(2));
    default:
      body.add(Opcode::Mov, {local(0)}, memory(s.buffer, {1}), immediate(1));
      return;
    }
  }
  if (a.breaksHere(Break::DivisionByZero))
    return body.compute(3, a.choices.draw(2) ? ScalarOp::Mod : ScalarOp::Div,
                        local(0), local(1));
  if (a.breaksHere(Break::NegativeExtent)) {
    body.add(Opcode::Mov, {local(2)}, memory(s.buffer, {1}), immediate(1));
    return;
  }
  // A generation that queues what microthreads are given does not mind.
  const int thread = pe.takeThread(routine);
  if (thread < 0 ||
      (!a.thirdGeneration() && !a.breaksHere(Break::MicrothreadBusy)))
    return;
  for (int i = 0; i < 2; ++i)
    body.add(Opcode::Mul, {40}, memory(s.buffer, {0}, 3 + i), immediate(2),
             immediate(3))
        .thread = int8_t(thread);
}

Emit vectors(Assembly &a) {
  PE &pe = a.at(
      {a.choices.between(0, a.width - 1), a.choices.between(0, a.height - 1)});
  std::vector<Space> spaces;
  const bool integers = !a.commanded() && a.choices.rarely(3);
  for (int i = a.choices.between(1, 3); i > 0; --i) {
    static constexpr ElementType integer[] = {ElementType::I32,
                                              ElementType::I16};
    const ElementType type =
        integers ? integer[a.choices.draw(2)] : a.elementType();
    spaces.push_back(space(a, pe, type, a.choices.between(1, 80)));
  }
  return [&a, &pe, spaces](int routine) {
    TaskBody body = pe.routine(routine);
    if (!a.commanded() && a.choices.rarely(3))
      addFault(a, pe, body, routine);
    const int count = a.choices.between(1, 4);
    auto some = [&](TaskBody b) {
      for (int i = 0; i < count; ++i)
        addVector(a, pe, b, routine, spaces);
    };
    if (a.choices.rarely(4))
      body.repeat(a.choices.between(1, 4), some);
    else
      some(body);
  };
}

// ---------------------------------------------------------------- scalars

/// Reads elements, computes with them, stores the result; in loops and
/// branches of some depth.
static void addScalars(Assembly &a, TaskBody body, const Space &s, int depth) {
  static constexpr ScalarOp ops[] = {
      ScalarOp::Add,    ScalarOp::Sub,   ScalarOp::Mul,    ScalarOp::Min,
      ScalarOp::Max,    ScalarOp::Equal, ScalarOp::Less,   ScalarOp::And,
      ScalarOp::Or,     ScalarOp::Not,   ScalarOp::BitAnd, ScalarOp::BitOr,
      ScalarOp::BitXor, ScalarOp::Px,    ScalarOp::Py,     ScalarOp::Constant};
  // Locals live as long as the body; those of this depth are its own.
  const auto first = uint16_t(4 * depth);
  auto element = [&] { return a.choices.between(0, s.elements - 1); };
  body.load(first, s.buffer, element());
  body.load(uint16_t(first + 1), s.buffer, element());
  for (int i = a.choices.between(1, 4); i > 0; --i) {
    switch (a.choices.draw(depth < 2 ? 6 : 3)) {
    default:
      body.compute(first, ops[a.choices.draw(std::size(ops))],
                   local(first) + a.choices.between(-2, 2),
                   local(uint16_t(first + 1), 3));
      break;
    case 1:
      body.store(s.buffer, element(), local(first) + local(first + 1));
      break;
    case 2:
      body.load(uint16_t(first + 1), s.buffer, element());
      break;
    case 3:
      body.branch(
          local(first),
          [&](TaskBody then) { addScalars(a, then, s, depth + 1); },
          [&](TaskBody otherwise) {
            if (a.choices.draw(2))
              addScalars(a, otherwise, s, depth + 1);
          });
      break;
    case 4:
      body.repeat(a.choices.between(0, 3),
                  [&](TaskBody b) { addScalars(a, b, s, depth + 1); });
      break;
    case 5:
      body.compute(uint16_t(first + 2), ScalarOp::TileStart, local(first),
                   a.choices.between(1, 5), local(uint16_t(first + 1)));
      break;
    }
  }
  body.store(s.buffer, element(), local(first));
}

Emit scalarCode(Assembly &a) {
  PE &pe = a.at(
      {a.choices.between(0, a.width - 1), a.choices.between(0, a.height - 1)});
  static constexpr ElementType types[] = {ElementType::I32, ElementType::I16,
                                          ElementType::F32};
  const Space s =
      space(a, pe, types[a.choices.draw(3)], a.choices.between(1, 8));
  return
      [&a, &pe, s](int routine) { addScalars(a, pe.routine(routine), s, 0); };
}

// ---------------------------------------------------------------- tasks

/// A row of tasks, each of which activates the next; some are blocked until
/// another statement or the end of an instruction unblocks them.
Emit localTasks(Assembly &a) {
  PE &pe = a.at(
      {a.choices.between(0, a.width - 1), a.choices.between(0, a.height - 1)});
  const Space order = space(a, pe, ElementType::I32, 4);
  const Space work = space(a, pe, ElementType::F32, 60);
  std::vector<int> tasks;
  std::vector<bool> blocked;
  for (int i = a.choices.between(1, 4); i > 0; --i) {
    const int id = pe.takeLocalTask();
    if (id < 0)
      break;
    blocked.push_back(a.choices.rarely(3));
    tasks.push_back(
        pe.code.task(a.name("step"), TaskKind::Local, id, blocked.back()));
  }
  if (tasks.empty())
    return nullptr;
  for (size_t i = 0; i < tasks.size(); ++i) {
    TaskBody body = pe.code.taskBody(tasks[i]);
    body.load(0, order.buffer, 0);
    body.compute(0, ScalarOp::Mul, local(0), 3);
    body.store(order.buffer, 0, local(0) + int(i));
    if (a.choices.draw(2))
      addVector(a, pe, body, noThreads, {work});
    if (blocked[i])
      body.block(tasks[i]);
    if (i + 1 < tasks.size()) {
      body.activate(tasks[i + 1]);
      if (blocked[i + 1])
        body.unblock(tasks[i + 1]);
    }
  }
  return [&a, &pe, tasks, blocked, work](int routine) {
    TaskBody body = pe.routine(routine);
    const int thread = blocked[0] ? pe.takeThread(routine) : -1;
    body.activate(tasks[0]);
    if (thread < 0) {
      if (blocked[0])
        body.unblock(tasks[0]);
      return;
    }
    auto &last = body.add(Opcode::Add, {a.choices.between(1, 60)},
                          memory(work.buffer, {1}), memory(work.buffer, {1}),
                          immediate(1));
    last.thread = int8_t(thread);
    last.unblock = int16_t(tasks[0]);
  };
}

} // namespace wsec::runtime::test
