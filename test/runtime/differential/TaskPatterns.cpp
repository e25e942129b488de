// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "test/runtime/differential/Patterns.h"

#include "runtime/pe/Arithmetic.h"

namespace wsec::runtime::test {

using program::ElementType;
using program::FilterKind;
using program::Opcode;
using program::ScalarOp;
using program::TaskKind;

/// A path with a color, whose PEs may be tapped.
struct Line {
  std::vector<Coordinate> path;
  std::vector<bool> taps;
  int color = 0;
};

static std::optional<Line> drawLine(Assembly &a) {
  Line line{a.path(), {}, 0};
  if (line.path.empty())
    return std::nullopt;
  const std::vector<int> colors = a.takeColors(1);
  if (colors.empty())
    return std::nullopt;
  line.color = colors[0];
  line.taps.resize(line.path.size());
  line.taps.back() = true;
  for (size_t i = 1; i + 1 < line.path.size(); ++i)
    line.taps[i] = a.choices.draw(2);
  a.routePath(line.color, line.path, line.taps);
  return line;
}

/// A number of wavelets, fewer than of words of instructions.
static int wavelets(Assembly &a) {
  return a.choices.draw(2) ? a.choices.between(1, 40) : a.choices.between(1, 6);
}

/// Starts a task for every wavelet that comes; after the last one another.
static void addDataTask(Assembly &a, PE &pe, int color, const Form &form,
                        int words) {
  const bool whole = elementSize(form.type) == 4;
  const Space word = space(a, pe, form.type, 1),
              index = space(a, pe, ElementType::I32, 1),
              count = space(a, pe, ElementType::I32, 2),
              sum = space(a, pe, form.type, 20);
  const bool indexed = !whole && a.choices.draw(2);
  const int task = pe.code.task(a.name("data"), TaskKind::Data, color,
                                a.breaksHere(Break::BlockedTask), word.buffer,
                                indexed ? index.buffer : -1);
  const int id = a.choices.draw(2) ? pe.takeLocalTask() : -1;
  const int last =
      id < 0 ? -1 : pe.code.task(a.name("last"), TaskKind::Local, id);
  TaskBody body = pe.code.taskBody(task);
  const int size = a.choices.draw(2) ? 1 : a.choices.between(1, 20);
  if (a.choices.draw(3))
    body.add(Opcode::Add, {size}, memory(sum.buffer, {1}),
             memory(sum.buffer, {1}), memory(word.buffer, {0}));
  if (last < 0)
    return;
  body.load(0, count.buffer, 0);
  body.compute(0, ScalarOp::Add, local(0), 1);
  body.store(count.buffer, 0, local(0));
  body.compute(1, ScalarOp::Mod, local(0), words);
  body.branch(
      local(1),
      [&](TaskBody then) {
        if (a.choices.draw(2))
          then.store(count.buffer, 1, local(0, 2));
      },
      [&](TaskBody otherwise) { otherwise.activate(last); });
  TaskBody end = pe.code.taskBody(last);
  end.add(Opcode::Mul, {20}, memory(sum.buffer, {1}), memory(sum.buffer, {1}),
          immediate(0.5f));
}

Emit dataTask(Assembly &a) {
  std::optional<Line> line = drawLine(a);
  if (!line)
    return nullptr;
  const Form form{a.elementType(), program::Packing::Single};
  const int words = wavelets(a);
  PE &sender = a.at(line->path[0]);
  const Space from = endOfStream(a, sender, form, words);
  for (size_t i = 1; i < line->path.size(); ++i)
    if (line->taps[i])
      addDataTask(a, a.at(line->path[i]), line->color, form, words);
  const bool indexed = elementSize(form.type) == 2 && a.choices.draw(2);
  const int color = line->color;
  return [=, &a, &sender](int routine) {
    const int thread = sender.takeThread(routine);
    if (thread < 0)
      return;
    Operand to = wire(color, form);
    to.indexed = indexed;
    sender.routine(routine)
        .add(Opcode::Mov, {words}, to, memory(from.buffer, {1}))
        .thread = int8_t(thread);
    (void)a;
  };
}

/// Words for an instruction, then a control wavelet that starts a task.
Emit controlTask(Assembly &a) {
  std::optional<Line> line = drawLine(a);
  const int id = a.takeControlTask();
  if (!line || id < 0)
    return nullptr;
  const Form form = a.form();
  const int words = a.length();
  PE &sender = a.at(line->path[0]);
  const Space from = endOfStream(a, sender, form, words);
  std::vector<Space> into(line->path.size());
  for (size_t i = 1; i < line->path.size(); ++i) {
    if (!line->taps[i])
      continue;
    PE &pe = a.at(line->path[i]);
    into[i] = endOfStream(a, pe, form, words);
    if (a.breaksHere(Break::MissingTask))
      continue;
    const Space data = space(a, pe, ElementType::I32, 2);
    const int task = pe.code.task(a.name("control"), TaskKind::Control, id,
                                  false, data.buffer, -1);
    TaskBody body = pe.code.taskBody(task);
    body.load(0, data.buffer, 0);
    body.load(1, data.buffer, 1);
    body.store(data.buffer, 1, local(1) + local(0));
    if (a.choices.draw(2))
      body.add(Opcode::Add, {words}, memory(into[i].buffer, {1}),
               memory(into[i].buffer, {1}), immediate(1));
  }
  return [=, &a, &sender](int routine) {
    // The control wavelet may wait for room until receivers are at rest, and
    // would hold up the sender's routine: it is the last thing that comes.
    TaskBody body = sender.routine(routine);
    send(a, sender, body, routine, line->color, form, words, from, false);
    body.control(line->color, {}, id, a.choices.between(0, 1000));
    for (size_t i = 1; i < line->path.size(); ++i) {
      if (!line->taps[i])
        continue;
      PE &pe = a.at(line->path[i]);
      receive(a, pe, pe.routine(routine), routine, line->color, form, words,
              into[i], false);
    }
  };
}

/// An instruction that would take more words, but for a control wavelet.
Emit endAtControl(Assembly &a) {
  std::optional<Line> line = drawLine(a);
  if (!line)
    return nullptr;
  const Form form = a.form();
  const int words = form.pairs() ? 2 * wavelets(a) : wavelets(a);
  PE &sender = a.at(line->path[0]);
  const Space from = endOfStream(a, sender, form, words);
  std::vector<Space> into(line->path.size());
  const int room = words + 1 + (form.pairs() ? 1 : 0);
  for (size_t i = 1; i < line->path.size(); ++i)
    if (line->taps[i])
      into[i] = endOfStream(a, a.at(line->path[i]), form, room + 4);
  return [=, &a, &sender](int routine) {
    TaskBody body = sender.routine(routine);
    send(a, sender, body, routine, line->color, form, words, from, false);
    body.control(line->color, {}, 0);
    for (size_t i = 1; i < line->path.size(); ++i) {
      if (!line->taps[i])
        continue;
      PE &pe = a.at(line->path[i]);
      TaskBody its = pe.routine(routine);
      const int more = 2 * a.choices.between(0, 2);
      const Operand memoryOperand = memory(into[i].buffer, {1});
      auto &made = a.choices.draw(2)
                       ? its.add(Opcode::Add, {room + more}, memoryOperand,
                                 memoryOperand, wire(line->color, form))
                       : its.add(Opcode::Mov, {room + more}, memoryOperand,
                                 wire(line->color, form));
      made.on_control = program::OnControl::End;
      mayRunAside(a, pe, its, routine, made, true);
    }
  };
}

// ---------------------------------------------------------------- filters

namespace {

/// By PE of a line: how many words pass its filter, and where they go.
struct Filtered {
  std::vector<int> taken;
  std::vector<Space> into;
};

/// `draw` gives a PE its filter and says how many words pass it.
template <typename Draw>
Filtered drawFilters(Assembly &a, const Line &line, const Form &form,
                     Draw draw) {
  Filtered result{std::vector<int>(line.path.size()),
                  std::vector<Space>(line.path.size())};
  for (size_t i = 1; i < line.path.size(); ++i) {
    if (!line.taps[i])
      continue;
    PE &pe = a.at(line.path[i]);
    result.taken[i] = draw(pe);
    result.into[i] = endOfStream(a, pe, form, result.taken[i]);
  }
  return result;
}

void receiveFiltered(Assembly &a, const Line &line, const Form &form,
                     const Filtered &filtered, int routine) {
  for (size_t i = 1; i < line.path.size(); ++i) {
    if (!line.taps[i])
      continue;
    PE &pe = a.at(line.path[i]);
    receive(a, pe, pe.routine(routine), routine, line.color, form,
            filtered.taken[i], filtered.into[i], true);
  }
}

} // namespace

/// Every PE on the line takes the words with some indices.
Emit rangeFilter(Assembly &a) {
  std::optional<Line> line = drawLine(a);
  if (!line)
    return nullptr;
  static constexpr ElementType halves[] = {ElementType::F16, ElementType::BF16,
                                           ElementType::I16};
  const Form form{halves[a.choices.draw(3)], program::Packing::Single};
  const int words = a.length();
  PE &sender = a.at(line->path[0]);
  const Space from = endOfStream(a, sender, form, words);
  const Filtered filtered = drawFilters(a, *line, form, [&](PE &pe) {
    const int low = a.choices.between(0, words - 1);
    const int high = a.choices.between(low, words - 1);
    pe.code.filter(line->color, FilterKind::Range, low, high);
    return high - low + 1;
  });
  return [=, &a, &sender](int routine) {
    Operand to = wire(line->color, form);
    to.indexed = true;
    TaskBody body = sender.routine(routine);
    auto &made = body.add(Opcode::Mov, {words}, to, memory(from.buffer, {1}));
    mayRunAside(a, sender, body, routine, made, true);
    receiveFiltered(a, *line, form, filtered, routine);
  };
}

/// Every PE on the line takes some of each group of words.
Emit counterFilter(Assembly &a) {
  std::optional<Line> line = drawLine(a);
  if (!line)
    return nullptr;
  const Form form{a.elementType(), program::Packing::Single};
  const int period = a.choices.between(1, 6), groups = wavelets(a);
  PE &sender = a.at(line->path[0]);
  const int words = period * groups;
  const Space from = endOfStream(a, sender, form, words);
  const Filtered filtered = drawFilters(a, *line, form, [&](PE &pe) {
    const int start = a.choices.between(0, period - 1);
    const int most = a.choices.between(0, period - 1);
    pe.code.filter(line->color, FilterKind::Counter, start, most, period - 1);
    return (most + 1) * groups;
  });
  return [=, &a, &sender](int routine) {
    send(a, sender, sender.routine(routine), routine, line->color, form, words,
         from, true);
    receiveFiltered(a, *line, form, filtered, routine);
  };
}

} // namespace wsec::runtime::test
