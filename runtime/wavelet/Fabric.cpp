// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/wavelet/Fabric.h"
#include "runtime/program/Ports.h"

#include "runtime/program/Errors.h"
#include "runtime/wavelet/Depths.h"

#include <algorithm>
#include <utility>

namespace wsec::runtime::wavelet {

using program::Port;

/// Colors a router tells apart; more than any machine has.
static constexpr int mostColors = 64;

static constexpr Port allPorts[] = {Port::North, Port::South, Port::East,
                                    Port::West, Port::Ramp};

static Coordinate neighbour(Coordinate pe, Port port) {
  switch (port) {
  case Port::North:
    return {pe.x, pe.y - 1};
  case Port::South:
    return {pe.x, pe.y + 1};
  case Port::East:
    return {pe.x + 1, pe.y};
  case Port::West:
    return {pe.x - 1, pe.y};
  case Port::Ramp:
    break;
  }
  return pe;
}

// ---------------------------------------------------------------- building

Fabric::Fabric(const program::Program &program, Agenda &agenda, EastEdge &east)
    : program(program), machine(*program.machine()), agenda(agenda), east(east),
      meshWidth(machine.width()), meshHeight(machine.height()),
      colors(machine.colors()), hop(hopCycles(machine)),
      ramp(machine.ramp_cycles()) {
  if (colors > mostColors)
    throw Error(ErrorClass::BadProgram,
                "a machine of " + std::to_string(colors) +
                    " colors; the wavelet engine steps up to " +
                    std::to_string(mostColors));
  const size_t pes = size_t(meshWidth) * size_t(meshHeight);
  routers.resize(pes);
  routeOf.assign(pes * size_t(colors), none);
  mapClasses();
  for (const program::RouteRule *rule : *program.routes())
    addRule(*rule);
}

/// Whether a body, or one inside it, sets routes.
static bool setsRoutes(
    const flatbuffers::Vector<flatbuffers::Offset<program::Statement>> *body) {
  if (!body)
    return false;
  return std::any_of(
      body->begin(), body->end(), [](const program::Statement *statement) {
        if (statement->kind_as_SetRoute())
          return true;
        if (const auto *loop = statement->kind_as_Loop())
          return setsRoutes(loop->body());
        const auto *branch = statement->kind_as_If();
        return branch &&
               (setsRoutes(branch->then()) || setsRoutes(branch->otherwise()));
      });
}

static bool setsRoutes(const program::PEClass &peClass) {
  bool any = false;
  if (peClass.routines())
    for (const program::Routine *routine : *peClass.routines())
      any |= setsRoutes(routine->body());
  if (peClass.tasks())
    for (const program::Task *task : *peClass.tasks())
      any |= setsRoutes(task->body());
  return any;
}

void Fabric::mapClasses() {
  classes.assign(routers.size(), -1);
  for (unsigned c = 0; c < program.classes()->size(); ++c) {
    const program::PEClass &peClass = *program.classes()->Get(c);
    routeSetters.push_back(wavelet::setsRoutes(peClass));
    for (const program::Rect *rect : *peClass.rects()) {
      if (rect->xstep() < 1 || rect->ystep() < 1 || rect->x0() < 0 ||
          rect->y0() < 0 || rect->x1() > meshWidth || rect->y1() > meshHeight)
        throw Error(ErrorClass::BadProgram,
                    "class '" + peClass.name()->str() + "' leaves the mesh");
      for (int y = rect->y0(); y < rect->y1(); y += rect->ystep())
        for (int x = rect->x0(); x < rect->x1(); x += rect->xstep()) {
          int &slot = classes[size_t(index({x, y}))];
          if (slot >= 0)
            throw Error(ErrorClass::BadProgram,
                        "PE " + toString({x, y}) + " belongs to two classes");
          slot = int(c);
        }
    }
  }
}

std::string Fabric::place(int pe, int color) const {
  return "color " + std::to_string(color) + " at PE " +
         toString(coordinate(pe));
}

void Fabric::addRule(const program::RouteRule &rule) {
  const program::Rect &rect = *rule.rect();
  if (rect.xstep() < 1 || rect.ystep() < 1 || rect.x0() < 0 || rect.y0() < 0 ||
      rect.x1() > meshWidth || rect.y1() > meshHeight || rule.transmit() > 31 ||
      rule.color() >= colors)
    throw Error(ErrorClass::BadProgram,
                "a route of color " + std::to_string(rule.color()) +
                    " leaves the mesh or names a port that does not exist");
  const Switch state(rule);
  for (int y = rect.y0(); y < rect.y1(); y += rect.ystep())
    for (int x = rect.x0(); x < rect.x1(); x += rect.xstep()) {
      const int pe = index({x, y});
      int &slot = routeOf[size_t(pe) * size_t(colors) + rule.color()];
      if (slot != none)
        throw Error(
            ErrorClass::RouteConflict,
            place(pe, rule.color()) + " has two rules: receives " +
                program::EnumNamePort(routes[size_t(slot)].state.receive()) +
                " and " + program::EnumNamePort(rule.receive()));
      slot = int(routes.size());
      Route route;
      route.pe = pe;
      route.color = rule.color();
      route.fixed = !state.switches() && !setsRoutes(pe);
      route.state = state;
      routes.push_back(route);
    }
}

/// A route that lets nothing through until the PE sets it.
int Fabric::closedRoute(int pe, int color) {
  Route route;
  route.pe = pe;
  route.color = uint8_t(color);
  route.fixed = false;
  route.state = Switch::closed();
  routes.push_back(route);
  int made = int(routes.size()) - 1;
  routeOf[size_t(pe) * size_t(colors) + size_t(color)] = made;
  return made;
}

// ---------------------------------------------------------------- buffers

/// The buffer of a port at which wavelets of a color come in.
int Fabric::inputBuffer(int index, Port port, uint32_t sender) {
  int known = routes[size_t(index)].in[size_t(port)];
  if (known != none)
    return known;
  const Route &route = routes[size_t(index)];
  if (route.fixed && route.state.receive() != port)
    throw Error(ErrorClass::RouteConflict,
                place(route.pe, route.color) + ": a wavelet enters from " +
                    program::EnumNamePort(port) +
                    " where the router receives " +
                    program::EnumNamePort(route.state.receive()));
  const program::PEClass *peClass =
      classOf(route.pe) < 0
          ? nullptr
          : program.classes()->Get(unsigned(classOf(route.pe)));
  int depth = port == Port::Ramp ? outboxDepth(program, *peClass, route.color)
                                 : routerDepth(machine) + hop - 1;
  buffers.emplace_back(depth, sender);
  return routes[size_t(index)].in[size_t(port)] = int(buffers.size()) - 1;
}

/// The buffer in which words wait for the PE.
int Fabric::inboxBuffer(int index) {
  Route &route = routes[size_t(index)];
  if (route.inbox != none)
    return route.inbox;
  if (classOf(route.pe) < 0)
    throw Error(ErrorClass::UnreadTraffic,
                "color " + std::to_string(route.color) + " delivers to PE " +
                    toString(coordinate(route.pe)) + ", which has no code");
  const auto &peClass = *program.classes()->Get(unsigned(classOf(route.pe)));
  buffers.emplace_back(inboxDepth(program, peClass, route.color),
                       agendaEntry(Party::Router, uint32_t(index)));
  return route.inbox = int(buffers.size()) - 1;
}

/// Where a wavelet goes through a port, looked up at the first.
int Fabric::resolve(int index, Port port) {
  const Route route = routes[size_t(index)];
  int found;
  const Coordinate from = coordinate(route.pe), to = neighbour(from, port);
  if (port == Port::Ramp) {
    found = route.ignored ? sink : inboxBuffer(index);
  } else if (to.x >= 0 && to.x < meshWidth && to.y >= 0 && to.y < meshHeight) {
    const int pe = this->index(to);
    int next = routeAt(pe, route.color);
    if (next == none && setsRoutes(pe))
      next = closedRoute(pe, route.color);
    if (next == none)
      throw Error(ErrorClass::MissingRoute,
                  place(pe, route.color) + ": a wavelet enters from " +
                      program::EnumNamePort(opposite(port)) +
                      " and there is no rule for it");
    found = inputBuffer(next, opposite(port),
                        agendaEntry(Party::Router, uint32_t(index)));
  } else if (port == Port::East) {
    found = overEdge;
  } else {
    throw Error(ErrorClass::MissingRoute,
                place(route.pe, route.color) + " leads over the " +
                    program::EnumNamePort(port) + " edge of the mesh");
  }
  return routes[size_t(index)].out[size_t(port)] = found;
}

void Fabric::push(int route, int buffer, const Wavelet &wavelet) {
  Buffer &into = buffers[size_t(buffer)];
  const bool first = into.empty();
  into.push(wavelet);
  if (!first)
    return;
  if (wavelet.ready <= agenda.now())
    queue(route);
  else
    agenda.enter(wavelet.ready, agendaEntry(Party::Router, uint32_t(route)));
}

Wavelet Fabric::pop(Buffer &buffer) {
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

void Fabric::wake(uint32_t route) { queue(int(route)); }

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
    int target = routes[size_t(index)].out[size_t(port)];
    if (target == unresolved)
      target = resolve(index, port);
    if (target < 0 || buffers[size_t(target)].hasRoom(now))
      continue;
    if (!buffers[size_t(target)].popped(now)) {
      buffers[size_t(target)].senderWaits = true;
      routers[size_t(routes[size_t(index)].pe)].candidates &=
          ~(uint64_t(1) << routes[size_t(index)].color);
    }
    return false;
  }
  return true;
}

/// Moves the oldest wavelet of a color if it can leave through all its ports.
bool Fabric::tryMove(int index, unsigned &usedPorts) {
  refresh(index);
  Route &route = routes[size_t(index)];
  if (!(routers[size_t(route.pe)].candidates >> route.color & 1))
    return false;
  Buffer &from = buffers[size_t(route.in[size_t(route.state.receive())])];
  if (!from.frontReady(agenda.now()))
    return false;
  const unsigned ports = route.state.transmit();
  if ((ports & usedPorts) != 0 || !hasRoom(index, ports))
    return false;
  usedPorts |= ports;
  // Resolving may have made buffers and routes.
  Route &sender = routes[size_t(index)];
  Wavelet wavelet =
      pop(buffers[size_t(sender.in[size_t(sender.state.receive())])]);
  if (wavelet.control)
    sender.state.act(wavelet);
  for (; wavelet.advances > 0; --wavelet.advances)
    sender.state.advance();
  pass(index, ports, wavelet);
  refresh(index);
  return true;
}

void Fabric::pass(int index, unsigned ports, Wavelet wavelet) {
  const Cycle now = agenda.now();
  Route &route = routes[size_t(index)];
  for (Port port : allPorts) {
    if (!(ports >> unsigned(port) & 1))
      continue;
    ++moves;
    if (observer && !wavelet.control)
      observer->passed(route.pe, port, route.color, 1, double(now),
                       double(now));
    int target = route.out[size_t(port)];
    wavelet.ready = now + (port == Port::Ramp ? ramp : hop);
    if (target == overEdge) {
      // The end of a lane takes a word as a ramp does.
      wavelet.ready += ramp;
      if (!wavelet.control)
        east.leave(coordinate(route.pe).y, route.color, wavelet.payload,
                   double(wavelet.ready));
    } else if (port != Port::Ramp) {
      int next = routeAt(this->index(neighbour(coordinate(route.pe), port)),
                         route.color);
      push(next, target, wavelet);
    } else if (target != sink && delivers(route, wavelet)) {
      buffers[size_t(target)].push(wavelet);
      if (std::exchange(route.listens, false))
        agenda.enter(wavelet.ready,
                     agendaEntry(Party::Processor, uint32_t(route.pe)));
    }
  }
}

/// Whether a wavelet that passes the ramp reaches the PE.
bool Fabric::delivers(Route &route, const Wavelet &wavelet) {
  if (wavelet.control)
    return wavelet.task >= 0;
  return route.filter == none || filters[size_t(route.filter)].pass(wavelet);
}

/// Keeps a route among the candidates of its router if its oldest wavelet may
/// move in this cycle or the next.
void Fabric::refresh(int index) {
  const Route &route = routes[size_t(index)];
  const int at = route.in[size_t(route.state.receive())];
  uint64_t &candidates = routers[size_t(route.pe)].candidates;
  const uint64_t bit = uint64_t(1) << route.color;
  candidates &= ~bit;
  if (at == none || route.state.suspended() || buffers[size_t(at)].empty())
    return;
  const Cycle ready = buffers[size_t(at)].front().ready;
  if (ready <= agenda.now() + 1)
    candidates |= bit;
  else
    agenda.enter(ready, agendaEntry(Party::Router, uint32_t(index)));
}

// ---------------------------------------------------------------- PEs

void Fabric::checkColor(int pe, int color) const {
  if (color >= 0 && color < colors)
    return;
  const auto &peClass = *program.classes()->Get(unsigned(classOf(pe)));
  throw Error(ErrorClass::BadProgram,
              "class '" + peClass.name()->str() + "' uses color " +
                  std::to_string(color) + ", the machine has " +
                  std::to_string(colors));
}

int Fabric::sendingRoute(int pe, int color) {
  checkColor(pe, color);
  int route = routeAt(pe, color);
  if (route == none && setsRoutes(pe))
    route = closedRoute(pe, color);
  if (route == none)
    throw Error(ErrorClass::MissingRoute,
                place(pe, color) +
                    ": a wavelet enters from Ramp and there is no rule for it");
  return route;
}

bool Fabric::roomToSend(int pe, int color) {
  int route = sendingRoute(pe, color);
  Buffer &outbox = buffers[size_t(inputBuffer(
      route, Port::Ramp, agendaEntry(Party::Processor, uint32_t(pe))))];
  if (outbox.hasRoom(agenda.now()))
    return true;
  if (outbox.popped(agenda.now()))
    agenda.enter(agenda.now() + 1, outbox.sender);
  else
    outbox.senderWaits = true;
  return false;
}

void Fabric::send(int pe, int color, const Wavelet &wavelet) {
  int route = routeAt(pe, color);
  ++moves;
  push(route, routes[size_t(route)].in[size_t(Port::Ramp)], wavelet);
}

const Buffer *Fabric::inbox(int pe, int color) const {
  checkColor(pe, color);
  int route = routeAt(pe, color);
  if (route == none || routes[size_t(route)].inbox == none)
    return nullptr;
  return &buffers[size_t(routes[size_t(route)].inbox)];
}

Wavelet Fabric::receive(int pe, int color) {
  return pop(buffers[size_t(routes[size_t(routeAt(pe, color))].inbox)]);
}

void Fabric::listen(int pe, int color) {
  int route = routeAt(pe, color);
  if (route != none)
    routes[size_t(route)].listens = true;
}

void Fabric::setFilter(int pe, int color, const Filter &filter) {
  int route = routeAt(pe, color);
  if (route == none)
    return;
  routes[size_t(route)].filter = int(filters.size());
  filters.push_back(filter);
}

void Fabric::ignore(int pe, int color) {
  int route = routeAt(pe, color);
  if (route != none)
    routes[size_t(route)].ignored = true;
}

void Fabric::advanceSwitch(int pe, int color) {
  int route = sendingRoute(pe, color);
  int outbox = routes[size_t(route)].in[size_t(Port::Ramp)];
  if (outbox != none && !buffers[size_t(outbox)].empty()) {
    ++buffers[size_t(outbox)].back().advances;
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
  const int pe = index({0, row});
  int route = routeAt(pe, color);
  if (route == none)
    throw Error(ErrorClass::MissingRoute,
                place(pe, color) +
                    ": a wavelet enters from West and there is no rule for it");
  Buffer &buffer = buffers[size_t(
      inputBuffer(route, Port::West, agendaEntry(Party::Edge, uint32_t(row))))];
  if (buffer.hasRoom(agenda.now()))
    return true;
  buffer.senderWaits = true;
  return false;
}

void Fabric::enter(int row, int color, const Wavelet &wavelet) {
  int route = routeAt(index({0, row}), color);
  ++moves;
  push(route, routes[size_t(route)].in[size_t(Port::West)], wavelet);
}

// ---------------------------------------------------------------- reports

std::vector<Fabric::Waiting> Fabric::undelivered() const {
  std::vector<Waiting> result;
  for (const Route &route : routes)
    if (route.inbox != none && !buffers[size_t(route.inbox)].empty())
      result.push_back({route.pe, route.color});
  return result;
}

std::vector<Fabric::Waiting> Fabric::inTransit() const {
  std::vector<Waiting> result;
  for (const Route &route : routes)
    if (std::any_of(route.in.begin(), route.in.end(), [&](int buffer) {
          return buffer != none && !buffers[size_t(buffer)].empty();
        }))
      result.push_back({route.pe, route.color});
  return result;
}

std::optional<RouteNow> Fabric::routeNow(int pe, int color) const {
  const int at = routeAt(pe, color);
  if (at == none)
    return {};
  const Switch &state = routes[size_t(at)].state;
  return RouteNow{state.receive(), state.transmit(), state.suspended()};
}

void Fabric::addTo(WaitGraph &graph) const {
  for (const Route &route : routes) {
    const Coordinate pe = coordinate(route.pe);
    auto holds = [&](int buffer) {
      return buffer != none && !buffers[size_t(buffer)].empty();
    };
    if (holds(route.inbox))
      graph.addDelivered(pe, route.color,
                         size_t(buffers[size_t(route.inbox)].size()));
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
    auto add = [&](int buffer, const std::string &where) {
      if (buffer != none && !buffers[size_t(buffer)].empty())
        lines.push_back("color " + std::to_string(color) + ": " +
                        std::to_string(buffers[size_t(buffer)].size()) + " " +
                        where);
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
