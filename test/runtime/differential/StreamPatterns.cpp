// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "test/runtime/differential/Patterns.h"

#include "runtime/pe/Arithmetic.h"

namespace wsec::runtime::test {

using program::ElementType;
using program::Opcode;
using program::Packing;
using program::Port;

Operand wire(int color, const Form &form) {
  Operand operand = fabric(color);
  operand.type = form.type;
  operand.packing = form.packing;
  return operand;
}

Space endOfStream(Assembly &a, PE &pe, const Form &form, int words) {
  const ElementType type = a.choices.rarely(4) ? a.elementType() : form.type;
  return space(a, pe, type, words);
}

/// Cuts a number of elements in pieces; pairs are never cut.
static std::vector<int> pieces(Assembly &a, const Form &form, int words) {
  std::vector<int> result;
  for (int more = a.choices.between(0, 2); more > 0 && words > 2; --more) {
    const int piece = form.pairs() ? 2 * a.choices.between(1, (words - 1) / 2)
                                   : a.choices.between(1, words - 1);
    result.push_back(piece);
    words -= piece;
  }
  result.push_back(words);
  return result;
}

void send(Assembly &a, PE &pe, TaskBody body, int routine, int color,
          const Form &form, int words, const Space &from, bool later) {
  Operand to = wire(color, form);
  if (elementSize(form.type) == 2 && !form.pairs() && a.choices.draw(2)) {
    to.indexed = true;
    to.index = a.choices.between(0, 20);
  }
  const std::vector<int> parts = pieces(a, form, words);
  int at = 0;
  for (int part : parts) {
    const Operand source = memory(from.buffer, {1}, at);
    program::InstructionT *made;
    if (a.choices.rarely(3))
      made = &body.add(a.operation(form.type, from.type), {part}, to, source,
                       a.choices.draw(2) ? source : immediate(2));
    else
      made = &body.add(Opcode::Mov, {part}, to,
                       a.choices.rarely(8) ? immediate(3) : source);
    if (made->op >= Opcode::BitAnd && made->b->kind != source.kind)
      made->op = Opcode::Add;
    mayRunAside(a, pe, body, routine, *made, later && parts.size() == 1);
    at += part;
  }
}

/// One instruction that takes `words` elements from `at` on.
static program::InstructionT &receivePart(Assembly &a, TaskBody body,
                                          const Operand &from, const Form &form,
                                          int words, const Space &into,
                                          int at) {
  const Operand dst = memory(into.buffer, {1}, at);
  switch (a.choices.draw(7)) {
  default:
    return body.add(Opcode::Mov, {words}, dst, from);
  case 1: {
    const Opcode op = a.operation(into.type, form.type);
    return a.choices.draw(2) ? body.add(op, {words}, dst, dst, from)
                             : body.add(op, {words}, dst, from, dst);
  }
  case 2: { // Into one element.
    const Operand sum = memory(into.buffer, {0}, at);
    return body.add(Opcode::Add, {words}, sum, sum, from);
  }
  case 3: { // For every word a vector.
    const int inner = a.choices.between(1, std::min(8, into.elements - at));
    const Operand row = memory(into.buffer, {0, 1}, at);
    return body.add(a.choices.draw(2) ? Opcode::Fmac : Opcode::Add,
                    {words, inner}, row, row, from);
  }
  case 4: { // A part of the words.
    if (form.pairs())
      return body.add(Opcode::Mov, {words}, dst, from);
    const int used = a.choices.between(1, words);
    return body.add(Opcode::Mov, {used}, dst,
                    from.window(a.choices.between(0, words - used), words));
  }
  case 5: { // Over two extents.
    int rows = a.choices.between(1, 4);
    while (words % rows != 0)
      --rows;
    Operand both = from;
    both.depth = 2;
    return body.add(Opcode::Mov, {rows, words / rows},
                    memory(into.buffer, {words / rows, 1}, at), both);
  }
  case 6: { // A part of each line of words.
    int lines = a.choices.between(1, 4);
    while (words % lines != 0)
      --lines;
    const int line = words / lines, used = a.choices.between(1, line);
    if (form.pairs())
      return body.add(Opcode::Mov, {words}, dst, from);
    Operand both = from.window(a.choices.between(0, line - used), line);
    both.depth = 2;
    return body.add(Opcode::Mov, {lines, used},
                    memory(into.buffer, {used, 1}, at), both);
  }
  }
}

void receive(Assembly &a, PE &pe, TaskBody body, int routine, int color,
             const Form &form, int words, const Space &into, bool later) {
  Form expected = form;
  if (a.breaksHere(Break::WrongType)) {
    const bool half = elementSize(form.type) == 2;
    expected.type = form.type == ElementType::F32   ? ElementType::I32
                    : form.type == ElementType::F16 ? ElementType::BF16
                    : half                          ? ElementType::F16
                                                    : ElementType::F32;
  }
  if (elementSize(form.type) == 2 && a.breaksHere(Break::WrongPacking))
    expected.packing = form.pairs() ? Packing::Single : Packing::Pair;
  const std::vector<int> parts = pieces(a, form, words);
  int at = 0;
  for (int part : parts) {
    auto &made =
        receivePart(a, body, wire(color, expected), expected, part, into, at);
    mayRunAside(a, pe, body, routine, made, later && parts.size() == 1);
    at += part;
  }
}

/// What a fault makes of a number of words.
static int miscounted(Assembly &a, const Form &form, int words) {
  const int step = form.pairs() ? 2 : 1;
  if (a.breaksHere(Break::TooManyWords))
    return words + step;
  if (words > step && a.breaksHere(Break::TooFewWords))
    return words - step;
  return words;
}

/// Adds code to a routine, sometimes several times over.
static void inRounds(TaskBody body, int rounds,
                     const std::function<void(TaskBody, bool)> &fill) {
  if (rounds == 1)
    return fill(body, true);
  body.repeat(rounds, [&](TaskBody inside) { fill(inside, false); });
}

// ---------------------------------------------------------------- patterns

/// One PE sends along a path, some PEs on it receive.
Emit stream(Assembly &a) {
  const std::vector<Coordinate> path = a.path();
  const std::vector<int> colors = a.takeColors(path.empty() ? 0 : 1);
  if (colors.empty())
    return nullptr;
  std::vector<bool> taps(path.size());
  taps.back() = true;
  for (size_t i = 1; i + 1 < path.size(); ++i)
    taps[i] = a.choices.draw(2);
  // Sometimes the sender's own ramp, too.
  taps[0] = a.choices.rarely(8);
  const Form form = a.form();
  const int words = a.length(), color = colors[0];
  a.routePath(color, path, taps);
  std::vector<Space> ends;
  for (size_t i = 0; i < path.size(); ++i) {
    PE &pe = a.at(path[i]);
    ends.push_back(i == 0 || taps[i]
                       ? endOfStream(a, pe, form, i ? words : words + 2)
                       : Space{});
    if (a.choices.rarely(3))
      a.bindQueues(pe, color);
  }
  return [=, &a](int routine) {
    const int rounds = a.choices.draw(3) ? 1 : a.choices.between(1, 4);
    // One PE cannot both wait to send and receive.
    const bool echo = taps[0];
    for (size_t i = 0; i < path.size(); ++i) {
      PE &pe = a.at(path[i]);
      if (i == 0 && echo) {
        const int thread = pe.takeThread(routine);
        if (thread < 0) // Nothing is sent, nor received.
          return;
        const Space back = endOfStream(a, pe, form, words);
        inRounds(pe.routine(routine), rounds, [&](TaskBody body, bool) {
          body.add(Opcode::Mov, {words}, wire(color, form),
                   memory(ends[0].buffer, {1}))
              .thread = int8_t(thread);
          receive(a, pe, body, noThreads, color, form, words, back, false);
          body.await(uint8_t(1 << thread));
        });
      } else if (i == 0) {
        if (a.breaksHere(Break::NobodySends))
          continue;
        const int sent = miscounted(a, form, words);
        inRounds(pe.routine(routine), rounds, [&](TaskBody body, bool once) {
          send(a, pe, body, routine, color, form, sent, ends[0], once);
        });
      } else if (taps[i]) {
        inRounds(pe.routine(routine), rounds, [&](TaskBody body, bool once) {
          receive(a, pe, body, routine, color, form, words, ends[i], once);
        });
      }
    }
  };
}

/// Each PE of a path sends to the next what it makes of what it receives.
Emit chain(Assembly &a) {
  const std::vector<Coordinate> path = a.path();
  const std::vector<int> colors = a.takeColors(path.empty() ? 0 : 2);
  if (colors.empty())
    return nullptr;
  const Form form = a.form();
  const int words = a.length();
  const bool even = a.choices.draw(2); // in form, from one end to the other
  std::vector<Form> forms;
  std::vector<Space> spaces;
  for (size_t i = 0; i < path.size(); ++i) {
    forms.push_back(even ? form : a.form());
    spaces.push_back(endOfStream(a, a.at(path[i]), form, words + 2));
    if (i + 1 < path.size())
      a.routePath(colors[i % 2], {path[i], path[i + 1]}, {false, true});
  }
  return [=, &a](int routine) {
    const int rounds = a.choices.draw(3) ? 1 : a.choices.between(1, 4);
    for (size_t i = 0; i < path.size(); ++i) {
      PE &pe = a.at(path[i]);
      const Space &own = spaces[i];
      const int to = colors[i % 2], from = colors[1 - i % 2];
      const int count = miscounted(a, forms[i], words);
      inRounds(pe.routine(routine), rounds, [&](TaskBody body, bool once) {
        if (i == 0)
          return send(a, pe, body, routine, to, forms[0], count, own, once);
        const Form &in = forms[i - 1];
        if (i + 1 == path.size())
          return receive(a, pe, body, routine, from, in, words, own, once);
        if (a.choices.rarely(3)) { // Keeps it first.
          receive(a, pe, body, noThreads, from, in, words, own, false);
          return send(a, pe, body, routine, to, forms[i], count, own, once);
        }
        auto &made = a.choices.rarely(4)
                         ? body.add(Opcode::Mov, {words}, wire(to, forms[i]),
                                    wire(from, in))
                         : body.add(a.operation(in.type, own.type), {words},
                                    wire(to, forms[i]), memory(own.buffer, {1}),
                                    wire(from, in));
        if (made.op >= Opcode::BitAnd && !isInteger(forms[i].type))
          made.op = Opcode::Add;
        mayRunAside(a, pe, body, routine, made, once);
      });
    }
  };
}

/// Two neighbours send to each other at the same time.
Emit exchange(Assembly &a) {
  const std::vector<Coordinate> line = a.path(true);
  const std::vector<int> colors = a.takeColors(line.empty() ? 0 : 2);
  if (colors.empty())
    return nullptr;
  const std::vector<Coordinate> path = {line[0], line[1]};
  const Form form = a.form();
  const int words = a.length();
  std::vector<Space> out, in;
  for (int i = 0; i < 2; ++i) {
    a.routePath(colors[size_t(i)], {path[size_t(i)], path[size_t(1 - i)]},
                {false, true});
    out.push_back(endOfStream(a, a.at(path[size_t(i)]), form, words));
    in.push_back(endOfStream(a, a.at(path[size_t(i)]), form, words));
  }
  return [=, &a](int routine) {
    const int rounds = a.choices.between(1, 4);
    const bool cyclic = a.breaksHere(Break::CyclicWait);
    int threads[2];
    for (int i = 0; i < 2; ++i)
      if ((threads[i] = a.at(path[size_t(i)]).takeThread(routine)) < 0)
        return;
    for (size_t i = 0; i < 2; ++i) {
      PE &pe = a.at(path[i]);
      const int thread = threads[i];
      const bool before = a.choices.draw(2);
      inRounds(pe.routine(routine), rounds, [&](TaskBody body, bool) {
        auto compute = [&] {
          if (a.choices.draw(2))
            body.add(Opcode::Add, {words}, memory(in[i].buffer, {1}),
                     memory(in[i].buffer, {1}), memory(in[i].buffer, {1}));
        };
        auto put = [&] {
          body.add(Opcode::Mov, {words}, wire(colors[i], form),
                   memory(out[i].buffer, {1}))
              .thread = int8_t(thread);
        };
        if (!cyclic)
          put();
        if (before)
          compute();
        receive(a, pe, body, noThreads, colors[1 - i], form, words, in[i],
                false);
        if (cyclic)
          put();
        if (!before)
          compute();
        body.await(uint8_t(1 << thread));
      });
    }
  };
}

/// One PE takes the words of two colors, one of each at a time.
Emit merge(Assembly &a) {
  const std::vector<Coordinate> line = a.path(true);
  const std::vector<int> colors = a.takeColors(line.empty() ? 0 : 3);
  if (colors.empty())
    return nullptr;
  // From the start of the line to its end, and from the PE before it.
  const Form forms[] = {a.form(), a.form()};
  const int words = a.length();
  const std::vector<Coordinate> near(line.end() - 2, line.end());
  std::vector<bool> taps(line.size());
  taps.back() = true;
  a.routePath(colors[0], line, taps);
  a.routePath(colors[1], near, {false, true});
  const std::vector<Coordinate> back = {near[1], near[0]};
  const bool returns = a.choices.draw(2);
  if (returns)
    a.routePath(colors[2], back, {false, true});
  const Space first = endOfStream(a, a.at(line[0]), forms[0], words),
              second = endOfStream(a, a.at(near[0]), forms[1], words),
              sum = space(a, a.at(near[1]), a.elementType(), words),
              answer = endOfStream(a, a.at(near[0]), forms[0], words);
  return [=, &a](int routine) {
    const Coordinate both = near[1];
    PE &pe = a.at(both);
    // The two senders may be one PE: neither may wait for the other.
    const int one = a.at(line[0]).takeThread(routine);
    const int two = a.at(near[0]).takeThread(routine);
    if (one < 0 || two < 0)
      return;
    a.at(line[0])
        .routine(routine)
        .add(Opcode::Mov, {words}, wire(colors[0], forms[0]),
             memory(first.buffer, {1}))
        .thread = int8_t(one);
    a.at(near[0])
        .routine(routine)
        .add(Opcode::Mov, {words}, wire(colors[1], forms[1]),
             memory(second.buffer, {1}))
        .thread = int8_t(two);
    TaskBody body = pe.routine(routine);
    Opcode op = a.operation(ElementType::F32, ElementType::F32);
    const Operand x = wire(colors[0], forms[0]), y = wire(colors[1], forms[1]);
    if (!returns) {
      auto &made = body.add(op, {words}, memory(sum.buffer, {1}), x, y);
      return mayRunAside(a, pe, body, routine, made, true);
    }
    auto &made = body.add(op, {words}, wire(colors[2], forms[0]), x, y);
    mayRunAside(a, pe, body, routine, made, true);
    PE &receiver = a.at(near[0]);
    receive(a, receiver, receiver.routine(routine), routine, colors[2],
            forms[0], words, answer, true);
  };
}

} // namespace wsec::runtime::test
