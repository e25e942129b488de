// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/wavelet/Fabric.h"
#include "runtime/program/Ports.h"

#include "runtime/program/Errors.h"

#include <algorithm>
#include <utility>

namespace wsec::runtime::wavelet {

using program::Port;

/// Colors a router tells apart; more than any machine has.
static constexpr int mostColors = 64;

static constexpr Port allPorts[] = {Port::North, Port::South, Port::East,
                                    Port::West, Port::Ramp};

// ---------------------------------------------------------------- building

Fabric::Fabric(const program::Program &program, const Mesh &mesh,
               Agenda &agenda, EastEdge &east)
    : program(program), machine(*program.machine()), mesh(mesh), agenda(agenda),
      east(east), colors(machine.colors()), hop(hopCycles(machine)),
      ramp(machine.ramp_cycles()), nowhere(0, 0, 0, 0, none),
      sink(0, 0, 1, 0, none), beyond(0, 0, 1, 0, none) {
  if (colors > mostColors)
    throw Error(ErrorClass::BadProgram,
                "a machine of " + std::to_string(colors) +
                    " colors; the wavelet engine steps up to " +
                    std::to_string(mostColors));
  routers.resize(size_t(mesh.size()));
  routeOf.assign(size_t(mesh.size()) * size_t(colors), none);
  for (const ClassCode &code : mesh.classes)
    routeSetters.push_back(runtime::setsRoutes(code));
  for (const program::RouteRule *rule : *program.routes())
    addRule(*rule);
}

bool Fabric::setsRoutes(int pe) const {
  const int at = mesh.classOf[size_t(pe)];
  return at >= 0 && routeSetters[size_t(at)];
}

/// Whether launch wavelets vanish at a PE: it has no routines to launch.
bool Fabric::ignores(int pe, int color) const {
  if (color != program.launch_color())
    return false;
  const ClassCode *code = mesh.codeAt(pe);
  return !code || code->routines.empty();
}

std::string Fabric::place(int pe, int color) const {
  return "color " + std::to_string(color) + " at PE " +
         toString(mesh.coordinate(pe));
}

void Fabric::addRule(const program::RouteRule &rule) {
  const program::Rect &rect = *rule.rect();
  if (rect.xstep() < 1 || rect.ystep() < 1 || rect.x0() < 0 || rect.y0() < 0 ||
      rect.x1() > mesh.width || rect.y1() > mesh.height ||
      rule.transmit() > 31 || rule.color() >= colors)
    throw Error(ErrorClass::BadProgram,
                "a route of color " + std::to_string(rule.color()) +
                    " leaves the mesh or names a port that does not exist");
  const pe::Switch state(&rule);
  for (int y = rect.y0(); y < rect.y1(); y += rect.ystep())
    for (int x = rect.x0(); x < rect.x1(); x += rect.xstep()) {
      const int pe = mesh.index({x, y});
      int &slot = routeOf[size_t(pe) * size_t(colors) + rule.color()];
      if (slot != none)
        throw Error(
            ErrorClass::RouteConflict,
            place(pe, rule.color()) + " has two rules: receives " +
                program::EnumNamePort(routes[size_t(slot)].state.receive) +
                " and " + program::EnumNamePort(rule.receive()));
      slot = int(routes.size());
      routes.push_back(
          {pe, rule.color(), !state.switches() && !setsRoutes(pe), state});
    }
}

/// A route that lets nothing through until the PE sets it.
int Fabric::closedRoute(int pe, int color) {
  routes.push_back({pe, uint8_t(color), false, pe::Switch(nullptr)});
  int made = int(routes.size()) - 1;
  routeOf[size_t(pe) * size_t(colors) + size_t(color)] = made;
  return made;
}

// ---------------------------------------------------------------- buffers

/// The buffer of a port at which wavelets of a color come in.
Buffer &Fabric::inputBuffer(int index, Port port, uint32_t sender) {
  Route &route = routes[size_t(index)];
  if (Buffer *known = route.in[size_t(port)])
    return *known;
  if (route.fixed && route.state.receive != port)
    throw Error(ErrorClass::RouteConflict,
                place(route.pe, route.color) + ": a wavelet enters from " +
                    program::EnumNamePort(port) +
                    " where the router receives " +
                    program::EnumNamePort(route.state.receive));
  const int depth =
      port == Port::Ramp
          ? outboxWords(machine, *mesh.codeAt(route.pe), route.color)
          : routerWords(machine) + hop - 1;
  buffers.emplace_back(route.pe, route.color, depth, sender, index);
  return *(route.in[size_t(port)] = &buffers.back());
}

/// The buffer in which words wait for the PE.
Buffer &Fabric::inboxBuffer(int index) {
  Route &route = routes[size_t(index)];
  if (route.inbox)
    return *route.inbox;
  const ClassCode *code = mesh.codeAt(route.pe);
  if (!code)
    throw Error(ErrorClass::UnreadTraffic,
                "color " + std::to_string(route.color) + " delivers to PE " +
                    toString(mesh.coordinate(route.pe)) +
                    ", which has no code");
  buffers.emplace_back(route.pe, route.color,
                       inboxWords(machine, *code, route.color),
                       agendaEntry(Party::Router, uint32_t(index)), index);
  // The PE may have gone to sleep before there was anything to listen to.
  buffers.back().listens = true;
  if (const auto filter =
          pe::filterOf(*code, route.color, mesh.coordinate(route.pe))) {
    route.filter = int(filters.size());
    filters.push_back(*filter);
  }
  return *(route.inbox = &buffers.back());
}

/// Where a wavelet goes through a port, looked up at the first.
Buffer &Fabric::resolve(int index, Port port) {
  const Route route = routes[size_t(index)];
  Buffer *found;
  const Coordinate from = mesh.coordinate(route.pe), to = neighbour(from, port);
  if (port == Port::Ramp) {
    found = ignores(route.pe, route.color) ? &sink : &inboxBuffer(index);
  } else if (mesh.contains(to)) {
    const int pe = mesh.index(to);
    int next = routeAt(pe, route.color);
    if (next == none && setsRoutes(pe))
      next = closedRoute(pe, route.color);
    if (next == none)
      throw Error(ErrorClass::MissingRoute,
                  place(pe, route.color) + ": a wavelet enters from " +
                      program::EnumNamePort(opposite(port)) +
                      " and there is no rule for it");
    found = &inputBuffer(next, opposite(port),
                         agendaEntry(Party::Router, uint32_t(index)));
  } else if (port == Port::East) {
    found = &beyond;
  } else {
    throw Error(ErrorClass::MissingRoute,
                place(route.pe, route.color) + " leads over the " +
                    program::EnumNamePort(port) + " edge of the mesh");
  }
  return *(routes[size_t(index)].out[size_t(port)] = found);
}

void Fabric::push(Buffer &into, const Word &word) {
  const bool first = into.empty();
  into.push(word);
  if (!first)
    return;
  if (word.ready <= agenda.now())
    queue(into.route);
  else
    agenda.enter(word.ready, agendaEntry(Party::Router, uint32_t(into.route)));
}

Word Fabric::pop(Buffer &buffer) {
  if (buffer.senderWaits) {
    buffer.senderWaits = false;
    agenda.enter(agenda.now() + 1, buffer.sender);
  }
  return buffer.take(agenda.now());
}

// ---------------------------------------------------------------- routers

void Fabric::queue(int index) {
  const Route &route = routes[size_t(index)];
  Router &router = routers[size_t(route.pe)];
  router.candidates |= uint64_t(1) << route.color;
  if (router.queued)
    return;
  router.queued = true;
  active.push_back(route.pe);
}

void Fabric::wakeRoute(int route) { queue(route); }

void Fabric::step() {
  for (int pe : active)
    stepRouter(pe);
  active.clear();
}

void Fabric::stepRouter(int pe) {
  Router &router = routers[size_t(pe)];
  router.queued = false;
  unsigned usedPorts = 0;
  // From the first color up, then the colors below it.
  const uint64_t up = ~uint64_t(0) << router.first;
  bool moved = false;
  for (uint64_t part : {router.candidates & up, router.candidates & ~up})
    for (; part != 0; part &= part - 1) {
      const int color = std::countr_zero(part);
      if (!tryMove(routeAt(pe, color), usedPorts) || moved)
        continue;
      moved = true;
      router.first = uint8_t((color + 1) % mostColors);
    }
  if (router.candidates == 0)
    return;
  const int color = std::countr_zero(router.candidates);
  agenda.enter(agenda.now() + 1,
               agendaEntry(Party::Router, uint32_t(routeAt(pe, color))));
}

/// Whether all targets take a wavelet now. If one does not, the route is woken
/// when it does.
bool Fabric::hasRoom(int index, unsigned ports) {
  const Cycle now = agenda.now();
  for (Port port : allPorts) {
    if (!(ports >> unsigned(port) & 1))
      continue;
    Buffer *target = routes[size_t(index)].out[size_t(port)];
    if (!target)
      target = &resolve(index, port);
    if (target->hasRoom(now))
      continue;
    if (!target->popped(now)) {
      target->senderWaits = true;
      routers[size_t(routes[size_t(index)].pe)].candidates &=
          ~(uint64_t(1) << routes[size_t(index)].color);
    }
    return false;
  }
  return true;
}

/// Moves the oldest wavelet of a color if it can leave through all its ports.
bool Fabric::tryMove(int index, unsigned &usedPorts) {
  const Route &route = routes[size_t(index)];
  Buffer *from = route.in[size_t(route.state.receive)];
  if (!from || route.state.closed || !from->frontReady(agenda.now())) {
    refresh(index);
    return false;
  }
  const unsigned ports = route.state.transmit;
  if ((ports & usedPorts) != 0 || !hasRoom(index, ports))
    return false;
  usedPorts |= ports;
  // Resolving may have made buffers and routes.
  Route &sender = routes[size_t(index)];
  Word word = pop(*from);
  if (word.control)
    word.commands = sender.state.act(word.commands);
  for (; word.advances > 0; --word.advances)
    sender.state.advance();
  pass(index, ports, word);
  refresh(index);
  return true;
}

void Fabric::pass(int index, unsigned ports, Word word) {
  const Cycle now = agenda.now();
  Route &route = routes[size_t(index)];
  for (Port port : allPorts) {
    if (!(ports >> unsigned(port) & 1))
      continue;
    ++moves;
    if (observer && !word.control)
      observer->passed(route.pe, port, route.color, 1, double(now),
                       double(now));
    Buffer &target = *route.out[size_t(port)];
    word.ready = now + (port == Port::Ramp ? ramp : hop);
    if (&target == &beyond) {
      // The end of a channel takes a word as a ramp does.
      word.ready += ramp;
      if (!word.control)
        east.leave(mesh.coordinate(route.pe).y, route.color, word,
                   double(word.ready));
    } else if (port != Port::Ramp) {
      push(target, word);
    } else if (&target != &sink) {
      deliver(index, word);
    }
  }
}

/// A wavelet passes the ramp; it may not reach the PE.
void Fabric::deliver(int index, const Word &word) {
  const Route &route = routes[size_t(index)];
  if (word.control ? word.task < 0
                   : route.filter != none &&
                         !filters[size_t(route.filter)].pass(word.payload))
    return;
  Buffer &inbox = *route.inbox;
  if (!observer && inbox.dropAlone(word, ramp))
    return;
  inbox.push(word);
  if (inbox.toDrop > 0) {
    if (inbox.queue.size() == 1)
      dropLater(index);
  } else if (std::exchange(inbox.listens, false)) {
    wake(route.pe, word.ready);
  }
}

/// Words that are to be dropped go one by one, as they come.
void Fabric::dropLater(int index) {
  const Buffer &inbox = *routes[size_t(index)].inbox;
  if (inbox.toDrop > 0 && !inbox.empty())
    agenda.enter(inbox.takeable(), agendaEntry(Party::Ramp, uint32_t(index)));
}

bool Fabric::dropNow(int index) {
  Buffer &inbox = *routes[size_t(index)].inbox;
  if (inbox.toDrop == 0 || !inbox.has(agenda.now()))
    return false;
  pop(inbox);
  --inbox.toDrop;
  if (observer)
    observer->received({&inbox.pe, 1}, inbox.color, 1);
  dropLater(index);
  return inbox.toDrop == 0 && std::exchange(inbox.listens, false);
}

/// Keeps a route among the candidates of its router if its oldest wavelet may
/// move in this cycle or the next.
void Fabric::refresh(int index) {
  const Route &route = routes[size_t(index)];
  const Buffer *from = route.in[size_t(route.state.receive)];
  uint64_t &candidates = routers[size_t(route.pe)].candidates;
  const uint64_t bit = uint64_t(1) << route.color;
  candidates &= ~bit;
  if (!from || route.state.closed || from->empty())
    return;
  const Cycle ready = from->queue.front().ready;
  if (ready <= agenda.now() + 1)
    candidates |= bit;
  else
    agenda.enter(ready, agendaEntry(Party::Router, uint32_t(index)));
}

// ---------------------------------------------------------------- PEs

int Fabric::sendingRoute(int pe, int color) {
  int route = routeAt(pe, color);
  if (route == none && setsRoutes(pe))
    route = closedRoute(pe, color);
  if (route == none)
    throw Error(ErrorClass::MissingRoute,
                place(pe, color) +
                    ": a wavelet enters from Ramp and there is no rule for it");
  return route;
}

Buffer &Fabric::outbox(int pe, int color) {
  return inputBuffer(sendingRoute(pe, color), Port::Ramp,
                     agendaEntry(Party::Processor, uint32_t(pe)));
}

Cycle Fabric::roomAt(const pe::Mailbox &outbox) const {
  const auto &buffer = static_cast<const Buffer &>(outbox);
  const Cycle now = agenda.now();
  if (buffer.hasRoom(now))
    return now;
  return buffer.popped(now) ? now + 1 : pe::never;
}

void Fabric::send(pe::Mailbox &outbox, const Word &word) {
  ++moves;
  push(static_cast<Buffer &>(outbox), word);
}

Buffer *Fabric::inbox(int pe, int color) {
  int route = routeAt(pe, color);
  return route == none ? nullptr : routes[size_t(route)].inbox;
}

Buffer &Fabric::expect(int pe, int color) {
  int route = routeAt(pe, color);
  return route == none ? nowhere : inboxBuffer(route);
}

Word Fabric::receive(pe::Mailbox &inbox) {
  return pop(static_cast<Buffer &>(inbox));
}

void Fabric::drop(pe::Mailbox &inbox, int64_t words) {
  inbox.toDrop = words;
  if (&inbox == &nowhere)
    return;
  const int route = static_cast<Buffer &>(inbox).route;
  if (inbox.has(agenda.now()))
    dropNow(route);
  else
    dropLater(route);
}

void Fabric::advanceSwitch(int pe, int color) {
  int route = sendingRoute(pe, color);
  Buffer *outbox = routes[size_t(route)].in[size_t(Port::Ramp)];
  if (outbox && !outbox->empty()) {
    ++outbox->queue.back().advances;
    return;
  }
  routes[size_t(route)].state.advance();
  queue(route);
}

void Fabric::setRoute(int pe, int color, Port receive, uint8_t transmit) {
  int route = sendingRoute(pe, color);
  routes[size_t(route)].state.set(receive, transmit);
  queue(route);
}

// ---------------------------------------------------------------- west edge

bool Fabric::roomAtEdge(int row, int color) {
  const int pe = mesh.index({0, row});
  int route = routeAt(pe, color);
  if (route == none)
    throw Error(ErrorClass::MissingRoute,
                place(pe, color) +
                    ": a wavelet enters from West and there is no rule for it");
  Buffer &buffer =
      inputBuffer(route, Port::West, agendaEntry(Party::Edge, uint32_t(row)));
  if (buffer.hasRoom(agenda.now()))
    return true;
  buffer.senderWaits = true;
  return false;
}

void Fabric::enter(int row, int color, const Word &word) {
  int route = routeAt(mesh.index({0, row}), color);
  ++moves;
  push(*routes[size_t(route)].in[size_t(Port::West)], word);
}

// ---------------------------------------------------------------- reports

std::vector<std::pair<int, int>> Fabric::leftOver() const {
  std::vector<std::pair<int, int>> result;
  for (const Buffer &buffer : buffers)
    if (!buffer.empty())
      result.push_back({buffer.pe, buffer.color});
  return result;
}

std::optional<RouteNow> Fabric::routeNow(int pe, int color) const {
  const int at = routeAt(pe, color);
  if (at == none)
    return {};
  const pe::Switch &state = routes[size_t(at)].state;
  return RouteNow{state.receive, state.transmit, state.closed};
}

void Fabric::addTo(WaitGraph &graph) const {
  for (const Route &route : routes) {
    const Coordinate pe = mesh.coordinate(route.pe);
    auto holds = [](const Buffer *buffer) {
      return buffer && !buffer->empty();
    };
    if (holds(route.inbox))
      graph.addDelivered(pe, route.color, route.inbox->queue.size());
    for (Port port : allPorts)
      if (holds(route.in[size_t(port)]))
        graph.addWords(pe, route.color, port);
  }
}

std::vector<std::string> Fabric::describeQueues(int pe) const {
  std::vector<std::string> lines;
  for (int color = 0; color < colors; ++color) {
    const int at = routeAt(pe, color);
    if (at == none)
      continue;
    auto add = [&](const Buffer *buffer, const std::string &where) {
      if (buffer && !buffer->empty())
        lines.push_back("color " + std::to_string(color) + ": " +
                        std::to_string(buffer->queue.size()) + " " + where);
    };
    const Route &route = routes[size_t(at)];
    add(route.inbox, "for the PE");
    for (Port port : allPorts)
      add(route.in[size_t(port)],
          std::string("in the router, from ") + program::EnumNamePort(port));
  }
  return lines;
}

} // namespace wsec::runtime::wavelet
