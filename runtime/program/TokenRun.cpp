// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/program/TokenRun.h"
#include "runtime/program/KindMesh.h"
#include "runtime/program/Ports.h"

#include <algorithm>
#include <array>
#include <deque>
#include <optional>

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
          least(machine.output_queue_words())};
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
          most(machine.output_queue_words()) + ramp + router + slack};
}

/// Words that wait at one place, counted.
struct Queue {
  int64_t count = 0, room = 0;
};

/// A color in the router of a PE.
struct Route {
  size_t cell = 0;
  Port receive = Port::Ramp;
  Queue waiting;          ///< at the receive port
  size_t from = none;     ///< the neighbour's route that fills it
  std::vector<size_t> to; ///< neighbours' routes
  bool toRamp = false;
  Queue inbox;
};

/// An instruction on its way.
struct Progress {
  const FabricOp *op = nullptr;
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
  std::deque<size_t> given; ///< ops; of microthreads
};

constexpr size_t microthreads = 8;

/// A kind of PE that has code.
struct Cell {
  size_t peClass = none;
  int64_t x = 0, y = 0;
  const FabricRoutine *routine = nullptr; ///< of the current launch
  size_t next = 0;                        ///< event
  unsigned awaited = 0, issued = 0;       ///< microthreads; since their await
  std::array<Thread, microthreads + 1> threads; ///< 0: the main one
  /// Microthreads that may still use a color: by direction and color.
  std::map<std::pair<bool, int64_t>, int> users;
  std::map<int64_t, size_t> routes;
};

/// The code of all classes, and what tells PEs apart.
class Code {
public:
  Code(const program::Program &program, int64_t &steps) : program(program) {
    if (program.streams() && program.streams()->size() > 0)
      throw NotUnderstood{"streams of the host"};
    for (const program::PEClass *peClass : *program.classes())
      read(*peClass, steps);
  }

  const FabricRoutine *routine(size_t peClass, uint32_t id) const {
    auto found = routines.find({peClass, id});
    return found == routines.end() ? nullptr : &found->second;
  }
  const program::Program &program;
  std::vector<AxisScalars> scalars;
  std::vector<std::set<int>> atoms;

private:
  void read(const program::PEClass &peClass, int64_t &steps) {
    const program::Machine &machine = *program.machine();
    std::string of = " (class '" + peClass.name()->str() + "')";
    if (peClass.tasks() && peClass.tasks()->size() > 0)
      throw NotUnderstood{"tasks, whose order may depend on time" + of};
    if (peClass.filters() && peClass.filters()->size() > 0)
      throw NotUnderstood{"filters, which may depend on data" + of};
    std::vector<program::Rect> rects;
    for (const program::Rect *rect : *peClass.rects())
      rects.push_back(*rect);
    scalars.emplace_back(peClass.scalars(), rects, machine.width(),
                         machine.height(), steps);
    atoms.emplace_back();
    if (!peClass.routines())
      return;
    for (const program::Routine *routine : *peClass.routines())
      try {
        FabricRoutine unrolled = readRoutine(*routine, scalars.back());
        collectAtoms(unrolled);
        routines[{scalars.size() - 1, routine->id()}] = std::move(unrolled);
      } catch (const NotUnderstood &problem) {
        throw NotUnderstood{problem.reason + of};
      }
  }

  void collectAtoms(const FabricRoutine &routine) {
    auto collect = [&](const std::vector<int> &guards, const LoopTurns &turns) {
      for (int guard : guards)
        scalars.back().atoms(guard, atoms.back());
      for (const LoopTurn &loop : turns)
        scalars.back().atoms(*loop.count, atoms.back());
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
    }
  }

  std::map<std::pair<size_t, uint32_t>, FabricRoutine> routines;
};

class TokenRun {
public:
  TokenRun(const Code &code, const KindMesh &mesh, Depths depths,
           int64_t &steps)
      : code(code), program(code.program), mesh(mesh), depths(depths),
        steps(steps) {
    buildCells();
    buildRoutes();
  }

  /// Empty: all launches end. Otherwise who waits for whom.
  std::string run();
  /// Whether a run may give work to a microthread that has some.
  bool mayBeBusy() const { return busy; }

private:
  size_t width() const { return mesh.columns.representative.size(); }
  size_t cellAt(int64_t x, int64_t y) const {
    return mesh.rows.of[size_t(y)] * width() + mesh.columns.of[size_t(x)];
  }
  void buildCells();
  void buildRoutes();
  void connect(size_t route, unsigned transmit);
  size_t routeOf(Cell &cell, int64_t color);

  void wakeRoute(size_t route);
  void wakeCell(size_t cell);
  void settle();
  void pump(size_t route);
  void work(size_t cell);
  bool runMain(Cell &cell);
  void useColors(Cell &cell, const FabricOp &op);
  void useColor(Cell &cell, const FabricOp &op, bool out, int64_t color);
  Progress begin(Cell &cell, const FabricOp &op);
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
  int64_t &steps;
  int64_t moves = 0;
  bool busy = false;
  std::vector<Cell> cells;
  std::vector<Route> routes;
  std::vector<int64_t> colors;             ///< by route
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
    }
  cellDue.assign(cells.size(), false);
}

void TokenRun::buildRoutes() {
  std::vector<unsigned> transmit;
  for (const program::RouteRule *rule : *program.routes()) {
    const program::Rect &rect = *rule->rect();
    for (size_t i = 0; i < cells.size(); ++i) {
      if (!contains(rect, cells[i].x, cells[i].y))
        continue;
      if (rule->positions() && rule->positions()->size() > 0)
        throw NotUnderstood{"switches"};
      Route route;
      route.cell = i;
      route.receive = rule->receive();
      route.waiting.room =
          rule->receive() == Port::Ramp ? depths.out : depths.router;
      route.toRamp = rule->transmit() >> unsigned(Port::Ramp) & 1;
      route.inbox.room = depths.in;
      cells[i].routes[rule->color()] = routes.size();
      routes.push_back(route);
      colors.push_back(rule->color());
      transmit.push_back(rule->transmit());
    }
    steps += int64_t(cells.size());
  }
  for (size_t i = 0; i < routes.size(); ++i)
    connect(i, transmit[i]);
  routeDue.assign(routes.size(), false);
}

void TokenRun::connect(size_t index, unsigned transmit) {
  const Cell &cell = cells[routes[index].cell];
  const program::Machine &machine = *program.machine();
  for (Port port : {Port::North, Port::South, Port::East, Port::West}) {
    if (!(transmit >> unsigned(port) & 1))
      continue;
    int64_t x = cell.x + (port == Port::East) - (port == Port::West);
    int64_t y = cell.y + (port == Port::South) - (port == Port::North);
    // A word that has nowhere to go ends the run with another error.
    routes[index].to.push_back(none);
    if (x < 0 || y < 0 || x >= machine.width() || y >= machine.height())
      continue;
    const Cell &neighbour = cells[cellAt(x, y)];
    auto next = neighbour.routes.find(colors[index]);
    if (next == neighbour.routes.end() ||
        routes[next->second].receive != opposite(port))
      continue;
    routes[index].to.back() = next->second;
    routes[next->second].from = index;
  }
}

size_t TokenRun::routeOf(Cell &cell, int64_t color) {
  auto found = cell.routes.find(color);
  if (found == cell.routes.end())
    throw NotUnderstood{"words of color " + std::to_string(color) +
                        " in PEs without a route for it"};
  return found->second;
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

/// Passes on as many words as all that follow have room for.
void TokenRun::pump(size_t index) {
  Route &route = routes[index];
  int64_t count = route.waiting.count;
  auto limit = [&](const Queue &queue) {
    count = std::min(count, queue.room - queue.count);
  };
  if (route.toRamp)
    limit(route.inbox);
  for (size_t next : route.to) {
    if (next == none && count > 0)
      throw NotUnderstood{"words of color " + std::to_string(colors[index]) +
                          " that leave the mesh or meet no route"};
    if (next != none)
      limit(routes[next].waiting);
  }
  if (count == 0)
    return;
  spend(1);
  route.waiting.count -= count;
  if (route.from != none)
    wakeRoute(route.from);
  else
    wakeCell(route.cell);
  if (route.toRamp) {
    if (cells[route.cell].peClass == none)
      throw NotUnderstood{"words delivered to PEs without code"};
    route.inbox.count += count;
    wakeCell(route.cell);
  }
  for (size_t next : route.to) {
    routes[next].waiting.count += count;
    wakeRoute(next);
  }
}

Progress TokenRun::begin(Cell &cell, const FabricOp &op) {
  const AxisScalars &scalars = code.scalars[cell.peClass];
  const auto &extents = *op.instruction->extents();
  Progress result;
  result.op = &op;
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
    if (to.receive != Port::Ramp)
      throw NotUnderstood{"words sent where the router hears no ramp"};
    if (to.waiting.count == to.waiting.room)
      return false;
    if (to.waiting.count++ == 0)
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
}

/// The next statement of the main thread; false: it waits or has ended.
bool TokenRun::runMain(Cell &cell) {
  auto idle = [&](size_t thread) {
    return !cell.threads[thread + 1].now &&
           cell.threads[thread + 1].given.empty();
  };
  for (size_t thread = 0; thread < microthreads; ++thread)
    if ((cell.awaited >> thread & 1) && !idle(thread))
      return false;
  std::erase_if(cell.users, [&](const auto &user) {
    return cell.awaited >> user.second & 1;
  });
  cell.issued &= ~cell.awaited;
  cell.awaited = 0;
  if (cell.threads[0].now || !cell.routine ||
      cell.next == cell.routine->events.size())
    return false;
  const FabricEvent &event = cell.routine->events[cell.next++];
  const AxisScalars &scalars = code.scalars[cell.peClass];
  spend(1);
  if (event.awaits) {
    if (runsAt(event.guards, event.turns, scalars, cell.x, cell.y))
      cell.awaited = event.awaits;
    return true;
  }
  const FabricOp &op = cell.routine->ops[event.op];
  if (!runsAt(op.guards, op.turns, scalars, cell.x, cell.y))
    return true;
  useColors(cell, op);
  if (op.main()) {
    cell.threads[0].now = begin(cell, op);
    return true;
  }
  busy |= cell.issued >> op.thread() & 1;
  cell.issued |= 1u << op.thread();
  cell.threads[size_t(op.thread()) + 1].given.push_back(event.op);
  return true;
}

void TokenRun::work(size_t index) {
  Cell &cell = cells[index];
  for (bool progress = true; progress;) {
    progress = false;
    while (runMain(cell))
      progress = true;
    for (Thread &thread : cell.threads) {
      if (!thread.now && !thread.given.empty()) {
        thread.now = begin(cell, cell.routine->ops[thread.given.front()]);
        thread.given.pop_front();
      }
      if (thread.now && advance(*thread.now)) {
        thread.now.reset();
        progress = true;
      }
    }
  }
}

std::string TokenRun::run() {
  for (unsigned l = 0; l < program.launches()->size(); ++l) {
    uint32_t id = program.launches()->Get(l)->routine();
    for (size_t i = 0; i < cells.size(); ++i) {
      Cell &cell = cells[i];
      if (cell.peClass == none)
        continue;
      cell.routine = code.routine(cell.peClass, id);
      cell.next = 0;
      cell.users.clear();
      cell.issued = 0;
      wakeCell(i);
    }
    settle();
    if (std::string stuck = describeStuck(); !stuck.empty())
      return "launch " + std::to_string(l) + ": " + stuck;
    for (size_t i = 0; i < routes.size(); ++i)
      if (routes[i].waiting.count > 0 || routes[i].inbox.count > 0)
        throw NotUnderstood{"words of color " + std::to_string(colors[i]) +
                            " that launch " + std::to_string(l) +
                            " leaves unread"};
  }
  return "";
}

//===----------------------------------------------------------------------===//
// Who waits for whom
//===----------------------------------------------------------------------===//

std::string TokenRun::describeCell(size_t index) const {
  return "PEs x " + mesh.columns.describe(index % width()) + ", y " +
         mesh.rows.describe(index / width()) + " (class '" +
         program.classes()->Get(unsigned(cells[index].peClass))->name()->str() +
         "')";
}

std::string TokenRun::describeWait(const Cell &cell,
                                   const Progress &progress) const {
  bool sends = !progress.outside() &&
               !(progress.needsWord() && routes[progress.in].inbox.count == 0);
  std::string text = "statement " + std::to_string(progress.op->statement);
  if (!progress.op->main())
    text += " on microthread " + std::to_string(progress.op->thread());
  text += " of routine " + std::to_string(cell.routine->id);
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
    while (routes[at].from != none)
      at = routes[at].from;
    return routes[at].receive == Port::Ramp ? routes[at].cell : none;
  }
  for (size_t at = progress.out;;) {
    const Route &route = routes[at];
    if (route.toRamp && route.inbox.count == route.inbox.room)
      return route.cell;
    auto full = std::find_if(route.to.begin(), route.to.end(), [&](size_t i) {
      return i != none && routes[i].waiting.count == routes[i].waiting.room;
    });
    if (full == route.to.end())
      return none;
    at = *full;
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

void decideByTokens(const program::Program &program, DeadlockProof &proof) {
  Code code(program, proof.steps);
  KindMesh mesh = kindsOfPes(program, code.atoms, code.scalars);
  if (mesh.cells() > mostCells)
    throw NotUnderstood{std::to_string(mesh.cells()) +
                        " kinds of PEs, at most " + std::to_string(mostCells) +
                        " are followed"};
  TokenRun least(code, mesh, leastDepths(*program.machine()), proof.steps);
  if (least.run().empty()) {
    proof.verdict = program::Verdict::Free;
    return;
  }
  TokenRun most(code, mesh, mostDepths(*program.machine()), proof.steps);
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
