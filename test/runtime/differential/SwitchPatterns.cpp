// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "test/runtime/differential/Patterns.h"

namespace wsec::runtime::test {

using program::Opcode;
using program::PopMode;
using program::Port;
using program::SwitchCommand;
using program::TaskKind;

using Commands = std::vector<SwitchCommand>;

static Commands repeated(SwitchCommand command, int count) {
  return Commands(size_t(count), command);
}

/// Everyone on the path sends to its first PE, one after the other: first the
/// neighbour, whose router then becomes a wire for the one behind it. The last
/// one's control wavelet brings all switches back.
Emit gather(Assembly &a) {
  const std::vector<Coordinate> path = a.path();
  const std::vector<int> colors = a.takeColors(path.empty() ? 0 : 1);
  if (colors.empty())
    return nullptr;
  const int color = colors[0], senders = int(path.size()) - 1;
  static constexpr PopMode modes[] = {PopMode::Never, PopMode::Always,
                                      PopMode::OnAdvance};
  const PopMode pop = modes[a.choices.draw(3)];
  // On a ring an advance that is not taken off would move those before, too.
  const bool ring = pop != PopMode::Never && a.choices.draw(2);
  const Form form = a.form();
  const int words = a.length();
  std::vector<Space> from(path.size());
  const Space into = endOfStream(a, a.at(path[0]), form, words * senders);
  for (int i = 0; i <= senders; ++i) {
    const Coordinate pe = path[size_t(i)];
    Setting setting;
    setting.pop = pop;
    if (i == 0) {
      setting.receive = portTowards(pe, path[1]);
      setting.transmit = portBit(Port::Ramp);
      setting.pop = PopMode::Never;
    } else {
      setting.receive = Port::Ramp;
      setting.transmit = portBit(portTowards(pe, path[size_t(i) - 1]));
      setting.ring = ring && i < senders;
      if (i < senders)
        setting.positions.push_back(
            {int8_t(portTowards(pe, path[size_t(i) + 1])), 0});
      from[size_t(i)] = endOfStream(a, a.at(pe), form, words);
    }
    a.set(color, pe, setting);
  }
  return [=, &a](int routine) {
    for (int i = 1; i <= senders; ++i) {
      PE &pe = a.at(path[size_t(i)]);
      TaskBody body = pe.routine(routine);
      const bool flag = i < senders && a.choices.draw(2);
      if (flag) {
        auto &made = body.add(Opcode::Mov, {words}, wire(color, form),
                              memory(from[size_t(i)].buffer, {1}));
        made.advance_switch = true;
        mayRunAside(a, pe, body, routine, made, true);
        continue;
      }
      send(a, pe, body, routine, color, form, words, from[size_t(i)], false);
      if (i < senders) {
        if (!a.breaksHere(Break::NoAdvance))
          body.control(color, {SwitchCommand::Advance});
      } else if (!ring) {
        body.control(color, pop == PopMode::Always
                                ? repeated(SwitchCommand::Reset, senders)
                                : Commands{SwitchCommand::Reset});
      } else {
        Commands commands = repeated(SwitchCommand::Advance, senders - 1);
        if (pop == PopMode::Always)
          commands.insert(commands.begin(), SwitchCommand::Nop);
        body.control(color, commands);
      }
    }
    PE &root = a.at(path[0]);
    TaskBody body = root.routine(routine);
    if (form.pairs() || a.choices.draw(2)) {
      for (int i = 0; i < senders; ++i)
        receive(a, root, body, routine, color, form, words, into, false);
    } else {
      receive(a, root, body, routine, color, form, words * senders, into, true);
    }
  };
}

/// The first PE of a path sends to the others in turn: each router delivers up
/// its ramp, then, after a control wavelet, lets everything pass.
Emit distribute(Assembly &a) {
  const std::vector<Coordinate> path = a.path();
  const std::vector<int> colors = a.takeColors(path.empty() ? 0 : 1);
  if (colors.empty())
    return nullptr;
  const int color = colors[0], receivers = int(path.size()) - 1;
  static constexpr PopMode modes[] = {PopMode::Never, PopMode::Always,
                                      PopMode::OnAdvance};
  const PopMode pop = modes[a.choices.draw(3)];
  const Form form = a.form();
  const int words = a.length();
  const bool starts = a.choices.draw(2); // a task with each control wavelet
  const int id = a.takeControlTask();
  if (id < 0)
    return nullptr;
  PE &root = a.at(path[0]);
  const Space from = endOfStream(a, root, form, words);
  std::vector<Space> into(path.size());
  for (int i = 0; i <= receivers; ++i) {
    const Coordinate at = path[size_t(i)];
    Setting setting;
    setting.receive =
        i == 0 ? Port::Ramp : portTowards(at, path[size_t(i) - 1]);
    setting.transmit =
        i == 0 ? portBit(portTowards(at, path[1])) : portBit(Port::Ramp);
    if (i > 0) {
      setting.pop = pop;
      into[size_t(i)] = endOfStream(a, a.at(at), form, words);
    }
    if (i > 0 && i < receivers)
      setting.positions.push_back(
          {-1, portBit(portTowards(at, path[size_t(i) + 1]))});
    a.set(color, at, setting);
    if (i == 0 || !starts || i == receivers)
      continue;
    PE &pe = a.at(at);
    const Space data = space(a, pe, program::ElementType::I32, 1);
    const int task = pe.code.task(a.name("control"), TaskKind::Control, id,
                                  false, data.buffer, -1);
    TaskBody body = pe.code.taskBody(task);
    body.load(0, data.buffer, 0);
    body.store(data.buffer, 0, local(0) + 1);
  }
  return [=, &a, &root](int routine) {
    TaskBody body = root.routine(routine);
    for (int i = 1; i <= receivers; ++i) {
      send(a, root, body, routine, color, form, words, from, false);
      if (i < receivers) {
        Commands commands{SwitchCommand::Advance};
        if (pop == PopMode::Always)
          commands.insert(commands.begin(), size_t(i) - 1, SwitchCommand::Nop);
        if (!a.breaksHere(Break::NoAdvance))
          body.control(color, commands, starts ? id : -1, starts ? i : 0);
      }
      PE &pe = a.at(path[size_t(i)]);
      receive(a, pe, pe.routine(routine), routine, color, form, words,
              into[size_t(i)], true);
    }
    if (receivers > 1)
      body.control(color, pop == PopMode::Always
                              ? repeated(SwitchCommand::Reset, receivers - 1)
                              : Commands{SwitchCommand::Reset});
  };
}

/// Each PE of a path but the last sends to all behind it, in turns. Before its
/// own a router delivers what comes and passes it on; two commands, one for the
/// receive port and one for the transmit ports, make it the sender, and a third
/// brings it back. A router that hears its PE is commanded by it.
Emit takeTurns(Assembly &a) {
  const std::vector<Coordinate> path = a.path();
  const std::vector<int> colors = a.takeColors(path.size() < 2 ? 0 : 1);
  if (colors.empty())
    return nullptr;
  const int color = colors[0], last = int(path.size()) - 1;
  const bool ring = a.choices.draw(2), receivesFirst = a.choices.draw(2);
  const Form form = a.form();
  const int words = a.length();
  std::vector<Space> from(path.size()), into(path.size());
  for (int i = 0; i <= last; ++i) {
    const Coordinate at = path[size_t(i)];
    Setting setting;
    setting.receive =
        i == 0 ? Port::Ramp : portTowards(at, path[size_t(i) - 1]);
    setting.transmit = i == 0 ? 0 : portBit(Port::Ramp);
    setting.pop = PopMode::Always;
    if (i < last) {
      const uint8_t on = portBit(portTowards(at, path[size_t(i) + 1]));
      setting.transmit |= on;
      from[size_t(i)] = endOfStream(a, a.at(at), form, words);
      if (i > 0) {
        setting.positions = {{int8_t(Port::Ramp), 0}, {-1, on}};
        if (!receivesFirst)
          std::swap(setting.positions[0], setting.positions[1]);
        setting.ring = ring;
      }
    }
    if (i > 0)
      into[size_t(i)] = endOfStream(a, a.at(at), form, words * i);
    a.set(color, at, setting);
  }
  return [=, &a](int routine) {
    for (int i = 0; i <= last; ++i) {
      PE &pe = a.at(path[size_t(i)]);
      TaskBody body = pe.routine(routine);
      if (i > 0 && (form.pairs() || a.choices.draw(2)))
        for (int sender = 0; sender < i; ++sender)
          receive(a, pe, body, routine, color, form, words, into[size_t(i)],
                  false);
      else if (i > 0)
        receive(a, pe, body, routine, color, form, words * i, into[size_t(i)],
                true);
      if (i == last)
        return;
      if (i > 0 && receivesFirst)
        body.control(color, {SwitchCommand::Advance});
      send(a, pe, body, routine, color, form, words, from[size_t(i)], false);
      if (i + 1 < last && !receivesFirst)
        body.control(color, {SwitchCommand::Nop, SwitchCommand::Advance});
      const SwitchCommand back = i == 0 ? SwitchCommand::Nop
                                 : ring ? SwitchCommand::Advance
                                        : SwitchCommand::Reset;
      if (!a.breaksHere(Break::NoAdvance))
        body.control(color, {back, SwitchCommand::Advance});
    }
  };
}

/// The second PE of a path takes some words, then a control wavelet tears its
/// route down and tells it so. It opens the route again, for itself or for the
/// PE behind it.
Emit teardown(Assembly &a) {
  const std::vector<Coordinate> path = a.path();
  if (path.size() < 2)
    return nullptr;
  const bool onward = path.size() > 2 && a.choices.draw(2);
  const std::vector<int> colors = a.takeColors(1);
  const int id = a.takeControlTask();
  if (colors.empty() || id < 0)
    return nullptr;
  const int color = colors[0];
  const Form form = a.form();
  const int words = a.length();
  PE &first = a.at(path[0]), &second = a.at(path[1]);
  const Port from = portTowards(path[1], path[0]);
  // The sender's router takes the first command off, for itself.
  a.set(color, path[0],
        {Port::Ramp,
         portBit(portTowards(path[0], path[1])),
         {},
         false,
         PopMode::Always});
  a.set(color, path[1], {from, portBit(Port::Ramp), {}, false, PopMode::Never});
  const Space source = endOfStream(a, first, form, words),
              near = endOfStream(a, second, form, words),
              word = space(a, second, program::ElementType::I32, 1);
  const int task = second.code.task(a.name("turn"), TaskKind::Control, id,
                                    false, word.buffer, -1);
  TaskBody turn = second.code.taskBody(task);
  Space far;
  if (onward) {
    const Port back = portTowards(path[2], path[1]);
    a.set(color, path[2],
          {back, portBit(Port::Ramp), {}, false, PopMode::Never});
    far = endOfStream(a, a.at(path[2]), form, words);
    turn.setRoute(color, from, {portTowards(path[1], path[2])});
  } else {
    turn.setRoute(color, from, {Port::Ramp});
    receive(a, second, turn, noThreads, color, form, words, near, false);
  }
  const auto used = std::make_shared<bool>(false);
  return [=, &a, &first, &second](int routine) {
    // A route that leads onward does so ever after.
    if (onward && std::exchange(*used, true))
      return;
    // The rest comes when the second PE is at rest: nobody waits for it.
    const int thread = first.takeThread(routine);
    const int farThread = onward ? a.at(path[2]).takeThread(routine) : 0;
    if (thread < 0 || farThread < 0)
      return;
    TaskBody body = first.routine(routine);
    send(a, first, body, routine, color, form, words, source, false);
    body.control(color, {SwitchCommand::Nop, SwitchCommand::Teardown}, id, 7);
    body.add(Opcode::Mov, {words}, wire(color, form),
             memory(source.buffer, {1}))
        .thread = int8_t(thread);
    receive(a, second, second.routine(routine), routine, color, form, words,
            near, onward);
    if (!onward)
      return;
    a.runOnce(routine);
    a.at(path[2])
        .routine(routine)
        .add(Opcode::Mov, {words}, memory(far.buffer, {1}), wire(color, form))
        .thread = int8_t(farThread);
  };
}

} // namespace wsec::runtime::test
