// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/program/TokenRun.h"
#include "runtime/program/Call.h"
#include "runtime/program/Checker.h"
#include "runtime/program/HostWords.h"
#include "runtime/program/KindMesh.h"
#include "runtime/program/NearestNames.h"
#include "runtime/program/Ports.h"

#include <algorithm>
#include <array>
#include <deque>
#include <optional>
#include <utility>

namespace wsec::runtime {

namespace {

using program::Port;

/// PEs of different kinds, and words moved, that are worth the time.
constexpr size_t mostCells = 1 << 14;
constexpr int64_t mostMoves = 1 << 22;

constexpr size_t none = ~size_t(0);

/// How many words queues hold.
struct Depths {
  int64_t router, in, out;
  /// Control wavelets that start no task wait for room at ramps they pass.
  bool strict;
};

/// No more than the machine's, whatever the queue ids.
Depths leastDepths(const program::Machine &machine) {
  auto least = [](const flatbuffers::Vector<int32_t> *list) {
    int64_t depth = list && list->size() > 0
                        ? *std::min_element(list->begin(), list->end())
                        : 1;
    return std::max<int64_t>(1, depth);
  };
  return {std::max<int64_t>(1, machine.router_buffer_words()),
          least(machine.input_queue_words()),
          least(machine.output_queue_words()), true};
}

/// No fewer: with the words that are on links and ramps.
Depths mostDepths(const program::Machine &machine) {
  auto most = [](const flatbuffers::Vector<int32_t> *list) {
    return list && list->size() > 0
               ? int64_t(*std::max_element(list->begin(), list->end()))
               : 2;
  };
  int64_t hop = std::max(1, machine.hop_cycles()), ramp = machine.ramp_cycles();
  int64_t router = std::max<int64_t>(2 * hop, machine.router_buffer_words());
  constexpr int64_t slack = 2;
  return {router + hop + slack,
          most(machine.input_queue_words()) + ramp + slack,
          most(machine.output_queue_words()) + ramp + router + slack, false};
}

/// Words that wait at one place, counted.
struct Queue {
  int64_t count = 0, room = 0;

  int64_t free() const { return room - count; }
};

/// Some words; a control wavelet, which is one; or a mark behind the words of
/// an instruction that advances its PE's switch, which takes no room.
struct Token {
  enum Kind { Words, Control, Advance } kind = Words;
  int64_t count = 1;
  std::vector<program::SwitchCommand> commands; ///< that are left
};

/// An input of a router.
struct Input : Queue {
  std::deque<Token> tokens;
  size_t from = none; ///< the neighbour's route that fills it

  void push(const Token &token) {
    if (token.kind != Token::Advance)
      count += token.count;
    if (token.kind == Token::Words && !tokens.empty() &&
        tokens.back().kind == Token::Words)
      tokens.back().count += token.count;
    else
      tokens.push_back(token);
  }
  /// Some of the first token.
  void pop(int64_t words) {
    Token &token = tokens.front();
    if (token.kind != Token::Advance)
      count -= words;
    if ((token.count -= words) == 0)
      tokens.pop_front();
  }
};

constexpr size_t ports = 5;

/// A color in the router of a PE, with the position of its switch.
struct Route {
  size_t cell = 0;
  const program::RouteRule *rule = nullptr;
  unsigned position = 0;
  Port receive = Port::Ramp;
  unsigned transmit = 0;
  std::array<Input, ports> in;
  std::array<size_t, ports> next{none, none, none, none, none};
  Queue inbox;

  Input &input() { return in[size_t(receive)]; }
  const Input &input() const { return in[size_t(receive)]; }
  bool transmits(Port port) const { return transmit >> unsigned(port) & 1; }

  void go(unsigned to) {
    position = to;
    const RoutePorts ports = portsAt(*rule, to);
    receive = ports.receive;
    transmit = ports.transmit;
  }
  /// Whether there was a position to go to.
  bool advance() {
    const unsigned last = furtherPositions(*rule);
    if (last == 0 || (position == last && !rule->ring()))
      return false;
    go(position == last ? 0 : position + 1);
    return true;
  }
  /// Does what the first command says, and takes off what the rule pops.
  void act(Token &control) {
    if (control.commands.empty())
      return;
    bool advanced = false;
    switch (control.commands.front()) {
    case program::SwitchCommand::Nop:
      break;
    case program::SwitchCommand::Advance:
      advanced = advance();
      break;
    case program::SwitchCommand::Reset:
      go(0);
      break;
    case program::SwitchCommand::Teardown:
      throw NotUnderstood{"routes that are torn down"};
    }
    if (rule->pop() == program::PopMode::Always ||
        (rule->pop() == program::PopMode::OnAdvance && advanced))
      control.commands.erase(control.commands.begin());
  }
  /// Whether some position receives from the port.
  bool mayReceive(Port port) const {
    bool found = rule->receive() == port;
    for (unsigned i = 0; i < furtherPositions(*rule); ++i)
      found |= rule->positions()->Get(i)->receive() == int(port);
    return found;
  }
};

/// An instruction on its way.
struct Progress {
  const FabricOp *op = nullptr;
  const FabricRoutine *code = nullptr;
  size_t in = none, out = none; ///< routes
  int64_t steps = 0, done = 0;
  int64_t perWord = 1; ///< steps for which a word received serves
  bool pairIn = false, pairOut = false;
  // Of a window.
  int64_t total = 0, offset = 0, used = 0, periods = 0, received = 0;

  bool outside() const {
    if (total == 0 || received >= total * periods)
      return false;
    int64_t place = received % total;
    return place < offset || place >= offset + used;
  }
  bool needsWord() const {
    return in != none && done % (pairIn ? 2 : perWord) == 0;
  }
  bool sendsWord() const {
    return out != none && (!pairOut || done % 2 == 1 || done + 1 == steps);
  }
  bool finished() const { return done == steps && !outside(); }
};

struct Thread {
  std::optional<Progress> now;
  int64_t issues = 0;
};

/// A task of a PE. It starts when it is pending and not blocked.
struct TaskState {
  int64_t color = -1; ///< of a data task, which starts for each word
  bool pending = false, blocked = false;
  int activating = 0, unblocking = 0; ///< instructions that are going to
  /// Microthreads whose instructions have acted on it, with their number.
  std::vector<std::pair<int, int64_t>> causes;

  /// How often it is going to start.
  int starts() const { return pending + activating; }
};

constexpr size_t microthreads = 8;

/// A kind of PE that has code.
struct Cell {
  size_t peClass = none;
  int64_t x = 0, y = 0;
  const FabricRoutine *routine = nullptr; ///< or task, that runs
  size_t launches = 0;                    ///< that it has begun or passed over
  size_t next = 0;                        ///< event
  std::vector<TaskState> tasks;
  unsigned awaited = 0, issued = 0; ///< microthreads; since their await
  std::array<Thread, microthreads + 1> threads; ///< 0: the main one
  /// Microthreads that may still use a color: by direction and color.
  std::map<std::pair<bool, int64_t>, int> users;
  std::map<int64_t, size_t> routes;
};

/// The code of all classes, and what tells PEs apart.
class Code {
public:
  Code(const program::Program &program, ProofSteps &steps) : program(program) {
    for (const program::PEClass *peClass : *program.classes())
      read(*peClass, steps);
  }

  const FabricRoutine *routine(size_t peClass, uint32_t id) const {
    auto found = routines.find({peClass, id});
    return found == routines.end() ? nullptr : &found->second;
  }
  const FabricRoutine &task(size_t peClass, size_t index) const {
    return tasks.at({peClass, uint32_t(index)});
  }
  const program::Program &program;
  std::vector<AxisScalars> scalars;
  std::vector<std::set<int>> atoms;

private:
  void read(const program::PEClass &peClass, ProofSteps &steps) {
    const program::Machine &machine = *program.machine();
    std::string of = " (class " + inQuotes(peClass.name()->str()) + ")";
    for (unsigned i = 0; peClass.tasks() && i < peClass.tasks()->size(); ++i)
      if (peClass.tasks()->Get(i)->kind() == program::TaskKind::Control)
        throw NotUnderstood{"tasks that control wavelets start" + of};
    if (peClass.filters() && peClass.filters()->size() > 0)
      throw NotUnderstood{"filters, which may depend on data" + of};
    std::vector<program::Rect> rects;
    for (const program::Rect *rect : *peClass.rects())
      rects.push_back(*rect);
    scalars.emplace_back(peClass.scalars(), rects, machine.width(),
                         machine.height(), steps);
    atoms.emplace_back();
    auto unroll = [&](const StatementList &body, uint32_t id) {
      try {
        FabricRoutine unrolled = readRoutine(body, id, scalars.back(), true);
        collectAtoms(unrolled);
        return unrolled;
      } catch (const NotUnderstood &problem) {
        throw NotUnderstood{problem.reason + of};
      }
    };
    const size_t index = scalars.size() - 1;
    for (unsigned i = 0; peClass.routines() && i < peClass.routines()->size();
         ++i) {
      const program::Routine &routine = *peClass.routines()->Get(i);
      routines[{index, routine.id()}] = unroll(*routine.body(), routine.id());
    }
    for (unsigned i = 0; peClass.tasks() && i < peClass.tasks()->size(); ++i) {
      FabricRoutine &task = tasks[{index, i}];
      task = unroll(*peClass.tasks()->Get(i)->body(), i);
      task.isTask = true;
    }
  }

  void collectAtoms(const FabricRoutine &routine) {
    auto collect = [&](const std::vector<int> &guards, const LoopTurns &turns) {
      for (int guard : guards)
        scalars.back().atoms(guard, atoms.back());
      scalars.back().atoms(turns, atoms.back());
    };
    for (const FabricEvent &event : routine.events)
      collect(event.guards, event.turns);
    for (const FabricOp &op : routine.ops) {
      collect(op.guards, op.turns);
      for (const program::Operand *operand : {op.in, op.out})
        if (operand) {
          for (const program::Affine *size : sizesOf(op, *operand))
            scalars.back().atoms(*size, atoms.back());
          scalars.back().atoms(*operand->color(), atoms.back());
          if (operand->window_offset())
            scalars.back().atoms(*operand->window_offset(), atoms.back());
        }
      if (op.control)
        scalars.back().atoms(*op.control->color(), atoms.back());
    }
  }

  std::map<std::pair<size_t, uint32_t>, FabricRoutine> routines, tasks;
};

class TokenRun {
public:
  TokenRun(const Code &code, const KindMesh &mesh, Depths depths,
           ProofSteps &steps)
      : code(code), program(code.program), mesh(mesh), depths(depths),
        steps(steps), commands(program.launch_color() == noLaunchColor
                                   ? 0
                                   : onlyEntry(program).launches()->size()) {
    buildCells();
    buildRoutes();
  }

  /// Empty: all launches end. Otherwise who waits for whom.
  std::string run();
  /// Whether a run may give work to a microthread that has some, which ends it
  /// on machines whose microthreads do not queue.
  bool mayBeBusy() const {
    return busy && !program.machine()->microthreads_queue();
  }

private:
  size_t width() const { return mesh.columns.representative.size(); }
  size_t cellAt(int64_t x, int64_t y) const {
    return mesh.rows.of[size_t(y)] * width() + mesh.columns.of[size_t(x)];
  }
  void buildCells();
  void buildRoutes();
  void connect(size_t route);
  size_t routeOf(Cell &cell, int64_t color);
  void addChannels(const program::Launch &launch);
  void enter(size_t route);
  bool startLaunch(Cell &cell);
  bool ignoresCommands(const Cell &cell) const;
  std::string runLaunch(const std::string &name);

  void wakeRoute(size_t route);
  void wakeCell(size_t cell);
  void settle();
  void pump(size_t route);
  bool passFirst(size_t route);
  void work(size_t cell);
  bool runMain(Cell &cell);
  void done(Cell &cell, unsigned threads);
  void useColors(Cell &cell, const FabricOp &op);
  void useColor(Cell &cell, const FabricOp &op, bool out, int64_t color);
  Progress begin(Cell &cell, const FabricRoutine &code, size_t op);
  bool startTask(Cell &cell);
  void setTask(Cell &cell, const program::SetTask &set);
  void issue(Cell &cell, const FabricOp &op);
  void complete(Cell &cell, size_t thread);
  bool mayStart(const Cell &cell, const TaskState &task) const;
  void requireNoUnblock(const Cell &cell, size_t task) const;
  std::string nameOf(const Cell &cell, size_t task) const;
  bool advance(Progress &progress);
  bool step(Progress &progress);
  void spend(int64_t moves);

  std::string describeStuck() const;
  std::string describeCell(size_t cell) const;
  std::string describeWait(const Cell &cell, const Progress &progress) const;
  size_t waitsFor(const Progress &progress) const;

  const Code &code;
  const program::Program &program;
  const KindMesh &mesh;
  Depths depths;
  ProofSteps &steps;
  int64_t moves = 0;
  bool busy = false;
  std::vector<Cell> cells;
  std::vector<Route> routes;
  std::vector<int64_t> colors; ///< by route
  /// By route: words of the host that are left to enter over the west edge, and
  /// that have yet to leave over the east edge.
  std::map<size_t, int64_t> west, east;
  const size_t commands;                   ///< launches that wavelets start
  std::deque<std::pair<bool, size_t>> due; ///< routes and cells
  std::vector<bool> routeDue, cellDue;
};

//===----------------------------------------------------------------------===//
// Building
//===----------------------------------------------------------------------===//

static bool contains(const program::Rect &rect, int64_t x, int64_t y) {
  return x >= rect.x0() && x < rect.x1() &&
         (x - rect.x0()) % rect.xstep() == 0 && y >= rect.y0() &&
         y < rect.y1() && (y - rect.y0()) % rect.ystep() == 0;
}

void TokenRun::buildCells() {
  for (int64_t y : mesh.rows.representative)
    for (int64_t x : mesh.columns.representative) {
      Cell &cell = cells.emplace_back();
      cell.x = x;
      cell.y = y;
      for (unsigned c = 0; c < program.classes()->size(); ++c)
        for (const program::Rect *rect : *program.classes()->Get(c)->rects())
          if (contains(*rect, x, y))
            cell.peClass = c;
      if (cell.peClass == none)
        continue;
      const auto *tasks =
          program.classes()->Get(unsigned(cell.peClass))->tasks();
      for (unsigned i = 0; tasks && i < tasks->size(); ++i) {
        TaskState &task = cell.tasks.emplace_back();
        task.blocked = tasks->Get(i)->blocked();
        if (tasks->Get(i)->kind() == program::TaskKind::Data)
          task.color = tasks->Get(i)->id();
      }
    }
  cellDue.assign(cells.size(), false);
}

void TokenRun::buildRoutes() {
  for (const program::RouteRule *rule : *program.routes()) {
    const program::Rect &rect = *rule->rect();
    for (size_t i = 0; i < cells.size(); ++i) {
      if (!contains(rect, cells[i].x, cells[i].y))
        continue;
      Route route;
      route.cell = i;
      route.rule = rule;
      route.go(rule->initial());
      for (Input &input : route.in)
        input.room = depths.router;
      route.in[size_t(Port::Ramp)].room = depths.out;
      route.inbox.room = depths.in;
      cells[i].routes[rule->color()] = routes.size();
      routes.push_back(std::move(route));
      colors.push_back(rule->color());
    }
    steps += int64_t(cells.size());
  }
  for (size_t i = 0; i < routes.size(); ++i)
    connect(i);
  routeDue.assign(routes.size(), false);
}

/// A word that has nowhere to go ends the run with another error.
void TokenRun::connect(size_t index) {
  const Cell &cell = cells[routes[index].cell];
  const program::Machine &machine = *program.machine();
  const unsigned transmit = everTransmits(*routes[index].rule);
  for (Port port : {Port::North, Port::South, Port::East, Port::West}) {
    if (!(transmit >> unsigned(port) & 1))
      continue;
    int64_t x = cell.x + (port == Port::East) - (port == Port::West);
    int64_t y = cell.y + (port == Port::South) - (port == Port::North);
    if (x < 0 || y < 0 || x >= machine.width() || y >= machine.height())
      continue;
    const Cell &neighbour = cells[cellAt(x, y)];
    auto next = neighbour.routes.find(colors[index]);
    if (next == neighbour.routes.end() ||
        !routes[next->second].mayReceive(opposite(port)))
      continue;
    routes[index].next[size_t(port)] = next->second;
    routes[next->second].in[size_t(opposite(port))].from = index;
  }
}

size_t TokenRun::routeOf(Cell &cell, int64_t color) {
  auto found = cell.routes.find(color);
  if (found == cell.routes.end())
    throw NotUnderstood{"words of color " + std::to_string(color) +
                        " in PEs without a route for it"};
  return found->second;
}

/// The words of a launch's streams, behind those of the ones before.
void TokenRun::addChannels(const program::Launch &launch) {
  if (!launch.streams())
    return;
  const program::Machine &machine = *program.machine();
  for (uint32_t index : *launch.streams()) {
    const program::HostStream &stream = *program.streams()->Get(index);
    const bool in = stream.direction() == program::Direction::In;
    const AxisScalars scalars(stream.scalars(), {}, machine.width(),
                              machine.height(), steps);
    for (const program::Channel *channel : *stream.channels()) {
      spend((channel->end() - channel->begin()) * (in ? 1 : machine.width()));
      const int64_t words = channelWords(stream, *channel, scalars);
      if (words == 0)
        continue;
      Cell &cell = cells[cellAt(in ? 0 : machine.width() - 1, channel->row())];
      const size_t route = routeOf(cell, stream.color());
      (in ? west : east)[route] += words;
      enter(route);
    }
  }
}

/// As many words of the host as there is room for.
void TokenRun::enter(size_t route) {
  auto channel = west.find(route);
  if (channel == west.end())
    return;
  if (!routes[route].mayReceive(Port::West))
    throw NotUnderstood{"words of the host that meet no route"};
  Input &input = routes[route].in[size_t(Port::West)];
  const int64_t words = std::min(channel->second, input.free());
  if (words == 0)
    return;
  channel->second -= words;
  Token token;
  token.count = words;
  input.push(token);
  wakeRoute(route);
}

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

void TokenRun::spend(int64_t count) {
  moves += count;
  steps += count;
  if (moves > mostMoves)
    throw NotUnderstood{"more than " + std::to_string(mostMoves) +
                        " words to follow"};
}

void TokenRun::wakeRoute(size_t route) {
  if (routeDue[route])
    return;
  routeDue[route] = true;
  due.emplace_back(true, route);
}

void TokenRun::wakeCell(size_t cell) {
  if (cellDue[cell])
    return;
  cellDue[cell] = true;
  due.emplace_back(false, cell);
}

void TokenRun::settle() {
  while (!due.empty()) {
    auto [isRoute, index] = due.front();
    due.pop_front();
    (isRoute ? routeDue : cellDue)[index] = false;
    if (isRoute)
      pump(index);
    else
      work(index);
  }
}

void TokenRun::pump(size_t index) {
  while (passFirst(index)) {
  }
}

/// Passes on as many of the first words as all that follow have room for, or a
/// control wavelet; false: nothing can go on.
bool TokenRun::passFirst(size_t index) {
  Route &route = routes[index];
  Input &input = route.input();
  if (input.tokens.empty())
    return false;
  Token passed = input.tokens.front();
  if (passed.kind == Token::Advance) {
    input.pop(1);
    route.advance();
    return true;
  }
  auto limit = [&](const Queue &queue) {
    passed.count = std::min(passed.count, queue.free());
  };
  const bool words = passed.kind == Token::Words;
  const bool delivers = route.transmits(Port::Ramp) &&
                        !(commands && colors[index] == program.launch_color() &&
                          ignoresCommands(cells[route.cell]));
  if (delivers && (words || depths.strict))
    limit(route.inbox);
  for (Port port : {Port::North, Port::South, Port::East, Port::West}) {
    if (!route.transmits(port))
      continue;
    const size_t next = route.next[size_t(port)];
    if (next == none && port == Port::East && words && east.count(index))
      continue;
    if (next == none)
      throw NotUnderstood{"words of color " + std::to_string(colors[index]) +
                          " that leave the mesh or meet no route"};
    limit(routes[next].in[size_t(opposite(port))]);
  }
  if (passed.count == 0)
    return false;
  spend(1);
  input.pop(passed.count);
  if (route.receive == Port::Ramp)
    wakeCell(route.cell);
  else if (input.from != none)
    wakeRoute(input.from);
  else
    enter(index);
  if (delivers && words) {
    if (cells[route.cell].peClass == none)
      throw NotUnderstood{"words delivered to PEs without code"};
    route.inbox.count += passed.count;
    wakeCell(route.cell);
  }
  // It goes where the switch stands, then the switch acts.
  const unsigned ways = route.transmit;
  if (!words)
    route.act(passed);
  for (Port port : {Port::North, Port::South, Port::East, Port::West}) {
    if (!(ways >> unsigned(port) & 1))
      continue;
    const size_t next = route.next[size_t(port)];
    if (next == none) {
      east.at(index) -= passed.count;
      continue;
    }
    routes[next].in[size_t(opposite(port))].push(passed);
    wakeRoute(next);
  }
  return true;
}

Progress TokenRun::begin(Cell &cell, const FabricRoutine &its, size_t index) {
  const AxisScalars &scalars = code.scalars[cell.peClass];
  const FabricOp &op = its.ops[index];
  Progress result;
  result.op = &op;
  result.code = &its;
  if (op.control) {
    if (op.control->task() >= 0)
      throw NotUnderstood{"control wavelets that start tasks"};
    result.steps = 1;
    result.out =
        routeOf(cell, scalars.value(*op.control->color(), cell.x, cell.y));
    return result;
  }
  if (!op.in && !op.out)
    return result; // of memory alone
  const auto &extents = *op.instruction->extents();
  auto extent = [&](unsigned i) {
    return std::max<int64_t>(
        0, scalars.value(*extents[i], cell.x, cell.y, op.turns));
  };
  auto product = [&](unsigned first, unsigned end) {
    int64_t all = 1;
    for (unsigned i = first; i < end && i < extents.size(); ++i)
      all *= extent(i);
    return all;
  };
  unsigned depth = std::max(op.in ? op.in->depth() : 0u,
                            op.out ? unsigned(op.out->depth()) : 0u);
  result.steps = product(0, extents.size()) == 0 ? 0 : product(0, depth);
  if (op.out) {
    result.out = routeOf(cell, scalars.value(*op.out->color(), cell.x, cell.y));
    result.pairOut = op.out->packing() == program::Packing::Pair;
  }
  if (!op.in)
    return result;
  result.in = routeOf(cell, scalars.value(*op.in->color(), cell.x, cell.y));
  result.pairIn = op.in->packing() == program::Packing::Pair;
  result.perWord = std::max<int64_t>(1, product(op.in->depth(), depth));
  if (!op.in->window_total())
    return result;
  result.total =
      scalars.value(*op.in->window_total(), cell.x, cell.y, op.turns);
  result.periods = extents.size() == 1 ? 1 : extent(0);
  result.used = product(extents.size() == 1 ? 0 : 1, op.in->depth());
  result.offset = result.used == 0 ? 0
                                   : scalars.value(*op.in->window_offset(),
                                                   cell.x, cell.y, op.turns);
  if (result.pairIn || result.offset < 0 || result.total < 0 ||
      result.offset + result.used > result.total)
    throw NotUnderstood{"a window that does not fit"};
  return result;
}

/// One word that is dropped, or one step; false: it has to wait.
bool TokenRun::step(Progress &progress) {
  auto take = [&] {
    Route &from = routes[progress.in];
    if (from.inbox.count-- == from.inbox.room)
      wakeRoute(progress.in);
    ++progress.received;
  };
  if (progress.outside()) {
    if (routes[progress.in].inbox.count == 0)
      return false;
    take();
    return true;
  }
  if (progress.needsWord() && routes[progress.in].inbox.count == 0)
    return false;
  if (progress.sendsWord()) {
    Route &to = routes[progress.out];
    if (!to.mayReceive(Port::Ramp))
      throw NotUnderstood{"words sent where the router hears no ramp"};
    Input &outbox = to.in[size_t(Port::Ramp)];
    if (outbox.free() == 0)
      return false;
    Token token;
    if (const program::SendControl *control = progress.op->control) {
      token.kind = Token::Control;
      if (control->commands())
        for (auto command : *control->commands())
          token.commands.push_back(program::SwitchCommand(command));
    }
    outbox.push(token);
    wakeRoute(progress.out);
  }
  if (progress.needsWord())
    take();
  ++progress.done;
  return true;
}

bool TokenRun::advance(Progress &progress) {
  while (!progress.finished()) {
    if (!step(progress))
      return false;
    spend(1);
  }
  return true;
}

void TokenRun::useColor(Cell &cell, const FabricOp &op, bool out,
                        int64_t color) {
  auto at = cell.users.find({out, color});
  if (at != cell.users.end() && at->second != op.thread())
    throw NotUnderstood{"color " + std::to_string(color) +
                        ", which two threads of a PE use at a time"};
  if (!op.main())
    cell.users[{out, color}] = op.thread();
}

void TokenRun::useColors(Cell &cell, const FabricOp &op) {
  const AxisScalars &scalars = code.scalars[cell.peClass];
  if (op.in)
    useColor(cell, op, false, scalars.value(*op.in->color(), cell.x, cell.y));
  if (op.out)
    useColor(cell, op, true, scalars.value(*op.out->color(), cell.x, cell.y));
  if (op.control)
    useColor(cell, op, true,
             scalars.value(*op.control->color(), cell.x, cell.y));
}

/// The next statement of the main thread; false: it waits or has ended.
bool TokenRun::runMain(Cell &cell) {
  for (size_t thread = 0; thread < microthreads; ++thread)
    if ((cell.awaited >> thread & 1) && cell.threads[thread + 1].now)
      return false;
  done(cell, cell.awaited);
  cell.awaited = 0;
  if (cell.threads[0].now || !cell.routine)
    return false;
  if (cell.next == cell.routine->events.size())
    return startTask(cell);
  const FabricEvent &event = cell.routine->events[cell.next++];
  const AxisScalars &scalars = code.scalars[cell.peClass];
  spend(1);
  if (event.awaits) {
    if (runsAt(event.guards, event.turns, scalars, cell.x, cell.y))
      cell.awaited = event.awaits;
    return true;
  }
  if (event.set) {
    if (runsAt(event.guards, event.turns, scalars, cell.x, cell.y))
      setTask(cell, *event.set);
    return true;
  }
  const FabricOp &op = cell.routine->ops[event.op];
  if (!runsAt(op.guards, op.turns, scalars, cell.x, cell.y))
    return true;
  Thread &thread = cell.threads[size_t(op.thread() + 1)];
  if (!op.main())
    busy |= cell.issued >> op.thread() & 1;
  // It takes no more work until it has done what it is at.
  if (thread.now) {
    --cell.next;
    return false;
  }
  if (!op.main())
    done(cell, 1u << op.thread());
  useColors(cell, op);
  if (!op.main())
    issue(cell, op);
  thread.now = begin(cell, *cell.routine, event.op);
  ++thread.issues;
  return true;
}

/// What microthreads were given has ended, and so they use no colors.
void TokenRun::done(Cell &cell, unsigned threads) {
  std::erase_if(cell.users,
                [&](const auto &user) { return threads >> user.second & 1; });
  cell.issued &= ~threads;
}

//===----------------------------------------------------------------------===//
// Tasks
//===----------------------------------------------------------------------===//

std::string TokenRun::nameOf(const Cell &cell, size_t task) const {
  const program::PEClass &peClass =
      *program.classes()->Get(unsigned(cell.peClass));
  return "task " +
         inQuotes(peClass.tasks()->Get(unsigned(task))->name()->str()) +
         " (class " + inQuotes(peClass.name()->str()) + ")";
}

/// Words may come at any time for a data task, unless it stays blocked.
bool TokenRun::mayStart(const Cell &cell, const TaskState &task) const {
  if (task.color < 0)
    return task.starts() > 0;
  return cell.routes.count(task.color) &&
         (!task.blocked || task.unblocking > 0);
}

/// The main thread has ended. If only one task is or is going to be pending,
/// that is the next, whatever goes first.
bool TokenRun::startTask(Cell &cell) {
  size_t only = none;
  for (size_t i = 0; i < cell.tasks.size(); ++i) {
    if (!mayStart(cell, cell.tasks[i]))
      continue;
    if (cell.launches < commands)
      throw NotUnderstood{nameOf(cell, i) +
                          " and a launch that a wavelet starts, whose order "
                          "may depend on time"};
    if (only != none)
      throw NotUnderstood{nameOf(cell, only) + " and " + nameOf(cell, i) +
                          ", whose order may depend on time"};
    only = i;
  }
  if (cell.launches < commands)
    return startLaunch(cell);
  if (only == none || cell.tasks[only].blocked)
    return false;
  TaskState &task = cell.tasks[only];
  if (task.color >= 0) {
    const size_t route = routeOf(cell, task.color);
    if (cell.users.count({false, task.color}))
      throw NotUnderstood{nameOf(cell, only) +
                          ", whose words a microthread may take"};
    if (routes[route].inbox.count == 0)
      return false;
    --routes[route].inbox.count;
    wakeRoute(route);
  } else if (!std::exchange(task.pending, false)) {
    return false;
  }
  // What has acted on it is done, and so are the colors it used.
  for (auto [thread, issue] : task.causes)
    if (cell.threads[size_t(thread) + 1].issues == issue)
      done(cell, 1u << thread);
  task.causes.clear();
  cell.routine = &code.task(cell.peClass, only);
  cell.next = 0;
  spend(1);
  return true;
}

/// PEs without routines drop launch wavelets.
bool TokenRun::ignoresCommands(const Cell &cell) const {
  if (cell.peClass == none)
    return true;
  const auto *routines =
      program.classes()->Get(unsigned(cell.peClass))->routines();
  return !routines || routines->size() == 0;
}

/// Takes the next launch wavelet, if it has come.
bool TokenRun::startLaunch(Cell &cell) {
  const auto found = cell.routes.find(program.launch_color());
  if (found == cell.routes.end() || routes[found->second].inbox.count == 0)
    return false;
  --routes[found->second].inbox.count;
  wakeRoute(found->second);
  const auto &launch =
      *onlyEntry(program).launches()->Get(unsigned(cell.launches++));
  if (const FabricRoutine *its = code.routine(cell.peClass, launch.routine())) {
    cell.routine = its;
    cell.next = 0;
  }
  spend(1);
  return true;
}

void TokenRun::requireNoUnblock(const Cell &cell, size_t task) const {
  if (cell.tasks[task].unblocking > 0)
    throw NotUnderstood{nameOf(cell, task) +
                        ", which is blocked or unblocked while an "
                        "instruction may unblock it"};
}

void TokenRun::setTask(Cell &cell, const program::SetTask &set) {
  TaskState &task = cell.tasks[set.task()];
  switch (set.action()) {
  case program::TaskAction::Activate:
    if (task.starts() > 0)
      throw NotUnderstood{nameOf(cell, set.task()) + ", activated twice"};
    task.pending = true;
    return;
  case program::TaskAction::Block:
    requireNoUnblock(cell, set.task());
    task.blocked = true;
    return;
  case program::TaskAction::Unblock:
    requireNoUnblock(cell, set.task());
    task.blocked = false;
    return;
  }
}

/// A microthread is given work.
void TokenRun::issue(Cell &cell, const FabricOp &op) {
  cell.issued |= 1u << op.thread();
  if (const int task = op.instruction->activate(); task >= 0) {
    if (cell.tasks[size_t(task)].starts() > 0)
      throw NotUnderstood{nameOf(cell, size_t(task)) + ", activated twice"};
    ++cell.tasks[size_t(task)].activating;
  }
  if (const int task = op.instruction->unblock(); task >= 0) {
    requireNoUnblock(cell, size_t(task));
    ++cell.tasks[size_t(task)].unblocking;
  }
}

/// The instruction of a thread has ended.
void TokenRun::complete(Cell &cell, size_t thread) {
  const Progress &progress = *cell.threads[thread].now;
  if (const program::Instruction *instruction = progress.op->instruction) {
    if (instruction->advance_switch() && progress.out != none) {
      // Behind words of its own the switch still stands as they found it.
      if (progress.steps == 0)
        throw NotUnderstood{"a switch that an instruction without words "
                            "advances"};
      Token mark;
      mark.kind = Token::Advance;
      routes[progress.out].in[size_t(Port::Ramp)].push(mark);
      wakeRoute(progress.out);
    }
    const std::pair<int, int64_t> cause{int(thread) - 1,
                                        cell.threads[thread].issues};
    if (const int index = instruction->activate(); index >= 0) {
      TaskState &task = cell.tasks[size_t(index)];
      --task.activating;
      task.pending = true;
      task.causes.push_back(cause);
    }
    if (const int index = instruction->unblock(); index >= 0) {
      TaskState &task = cell.tasks[size_t(index)];
      --task.unblocking;
      // If it was not blocked it may start before this.
      if (std::exchange(task.blocked, false))
        task.causes.push_back(cause);
    }
  }
  cell.threads[thread].now.reset();
}

void TokenRun::work(size_t index) {
  Cell &cell = cells[index];
  for (bool progress = true; progress;) {
    progress = false;
    while (runMain(cell))
      progress = true;
    for (size_t i = 0; i < cell.threads.size(); ++i) {
      Thread &thread = cell.threads[i];
      if (thread.now && advance(*thread.now)) {
        complete(cell, i);
        progress = true;
      }
    }
  }
}

/// Launches that wavelets start overlap; a call waits until the launch before
/// has ended in all PEs.
std::string TokenRun::run() {
  static const FabricRoutine nothing;
  const auto &launches = *onlyEntry(program).launches();
  if (commands > 0) {
    const size_t first = routeOf(cells[cellAt(0, 0)], program.launch_color());
    west[first] = int64_t(commands);
    enter(first);
    for (const program::Launch *launch : launches)
      addChannels(*launch);
    for (Cell &cell : cells) {
      cell.routine = cell.peClass == none ? nullptr : &nothing;
      if (ignoresCommands(cell))
        cell.launches = commands;
    }
    return runLaunch("");
  }
  for (unsigned l = 0; l < launches.size(); ++l) {
    addChannels(*launches[l]);
    for (Cell &cell : cells) {
      if (cell.peClass == none)
        continue;
      // Tasks may run in PEs that are not called.
      const FabricRoutine *called =
          code.routine(cell.peClass, launches[l]->routine());
      cell.routine = called ? called : &nothing;
      cell.next = 0;
      cell.users.clear();
      cell.issued = 0;
    }
    if (std::string stuck = runLaunch("launch " + std::to_string(l));
        !stuck.empty())
      return stuck;
  }
  return "";
}

/// Until nothing moves. Empty if all PEs have ended and the host has its words,
/// else who waits.
std::string TokenRun::runLaunch(const std::string &name) {
  for (size_t i = 0; i < cells.size(); ++i)
    wakeCell(i);
  settle();
  const std::string prefix = name.empty() ? "" : name + ": ";
  if (std::string stuck = describeStuck(); !stuck.empty())
    return prefix + stuck;
  const std::string leaves =
      name.empty() ? "the launches leave" : name + " leaves";
  for (size_t i = 0; i < routes.size(); ++i)
    if (routes[i].inbox.count > 0 ||
        std::any_of(routes[i].in.begin(), routes[i].in.end(),
                    [](const Input &input) { return input.count > 0; }))
      throw NotUnderstood{"words of color " + std::to_string(colors[i]) +
                          " that " + leaves + " unread"};
  for (const auto &[route, words] : east)
    if (words < 0)
      throw NotUnderstood{"more words of color " +
                          std::to_string(colors[route]) +
                          " than the host takes"};
    else if (words > 0)
      return prefix + "the host waits in row " +
             std::to_string(cells[routes[route].cell].y) + " for " +
             std::to_string(words) + " more words of color " +
             std::to_string(colors[route]) + ", which nobody sends";
  for (const Cell &cell : cells)
    if (cell.launches < commands)
      throw NotUnderstood{"launch wavelets that do not reach all PEs"};
  return "";
}

//===----------------------------------------------------------------------===//
// Who waits for whom
//===----------------------------------------------------------------------===//

std::string TokenRun::describeCell(size_t index) const {
  return "PEs x " + mesh.columns.describe(index % width()) + ", y " +
         mesh.rows.describe(index / width()) + " (class " +
         inQuotes(program.classes()
                      ->Get(unsigned(cells[index].peClass))
                      ->name()
                      ->str()) +
         ")";
}

std::string TokenRun::describeWait(const Cell &cell,
                                   const Progress &progress) const {
  bool sends = !progress.outside() &&
               !(progress.needsWord() && routes[progress.in].inbox.count == 0);
  std::string text = "statement " + std::to_string(progress.op->statement);
  if (!progress.op->main())
    text += " on microthread " + std::to_string(progress.op->thread());
  const FabricRoutine &its = *progress.code;
  text += its.isTask ? " of " + nameOf(cell, its.id)
                     : " of routine " + std::to_string(its.id);
  if (sends)
    return text + " waits to send on color " +
           std::to_string(colors[progress.out]);
  return text + " waits for a word of color " +
         std::to_string(colors[progress.in]);
}

/// The kind of PE that has to send a word, or to take one.
size_t TokenRun::waitsFor(const Progress &progress) const {
  bool sends = !progress.outside() &&
               !(progress.needsWord() && routes[progress.in].inbox.count == 0);
  if (!sends) {
    size_t at = progress.in;
    while (at != none && routes[at].receive != Port::Ramp)
      at = routes[at].input().from;
    return at == none ? none : routes[at].cell;
  }
  for (size_t at = progress.out;;) {
    const Route &route = routes[at];
    if (route.transmits(Port::Ramp) && route.inbox.free() == 0)
      return route.cell;
    size_t full = none;
    for (Port port : {Port::North, Port::South, Port::East, Port::West})
      if (const size_t next = route.next[size_t(port)];
          full == none && route.transmits(port) && next != none &&
          routes[next].receive == opposite(port) &&
          routes[next].input().free() == 0)
        full = next;
    if (full == none)
      return none;
    at = full;
  }
}

/// Follows waits from the first PE that does, until they repeat or end.
std::string TokenRun::describeStuck() const {
  auto blocked = [&](size_t cell) -> const Progress * {
    for (const Thread &thread : cells[cell].threads)
      if (thread.now)
        return &*thread.now;
    return nullptr;
  };
  size_t at = 0;
  while (at < cells.size() && !blocked(at))
    ++at;
  if (at == cells.size())
    return "";
  std::string text;
  std::set<size_t> seen;
  while (true) {
    if (!seen.insert(at).second)
      return text + "; these wait for the ones above in a cycle, at " +
             describeCell(at);
    const Progress &progress = *blocked(at);
    text += (text.empty() ? "" : "; from ") + describeCell(at) + ", where " +
            describeWait(cells[at], progress);
    size_t next = waitsFor(progress);
    if (next == none)
      return text + ", which nobody does";
    if (!blocked(next))
      return text + ", and " + describeCell(next) + " has ended";
    at = next;
  }
}

} // namespace

void decideByTokens(const program::Program &program, DeadlockProof &proof,
                    ProofSteps &steps) {
  Code code(program, steps);
  KindMesh mesh = kindsOfPes(program, code.atoms, code.scalars, steps);
  if (mesh.cells() > mostCells)
    throw NotUnderstood{std::to_string(mesh.cells()) +
                        " kinds of PEs, at most " + std::to_string(mostCells) +
                        " are followed"};
  TokenRun least(code, mesh, leastDepths(*program.machine()), steps);
  if (least.run().empty()) {
    proof.verdict = program::Verdict::Free;
    proof.reason.clear();
    return;
  }
  TokenRun most(code, mesh, mostDepths(*program.machine()), steps);
  std::string stuck = most.run();
  if (stuck.empty())
    throw NotUnderstood{"whether it ends depends on how many words the queues "
                        "hold"};
  if (most.mayBeBusy())
    throw NotUnderstood{"a microthread may be given work while it has some: " +
                        stuck};
  proof.verdict = program::Verdict::Deadlock;
  proof.reason = stuck;
}

} // namespace wsec::runtime
