// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/tasks/Network.h"

#include "runtime/program/Errors.h"
#include "runtime/program/Scalars.h"

#include <algorithm>

namespace wsec::runtime::tasks {

using program::Port;

namespace {

Port opposite(Port port) {
  constexpr Port table[] = {Port::South, Port::North, Port::West, Port::East,
                            Port::Ramp};
  return table[int(port)];
}

Coordinate neighbour(Coordinate pe, Port port) {
  constexpr int dx[] = {0, 0, 1, -1, 0}, dy[] = {-1, 1, 0, 0, 0};
  return {pe.x + dx[int(port)], pe.y + dy[int(port)]};
}

uint64_t key(uint64_t place, int color, Port port) {
  return (place << 8 | uint64_t(color)) << 3 | uint64_t(port);
}

/// Calls `visit` with every statement of a body and of those inside.
template <class Visit>
void forEachStatement(const Body &body, const Visit &visit) {
  for (const StatementCode &statement : body) {
    visit(statement);
    if (const auto *loop = std::get_if<LoopCode>(&statement))
      forEachStatement(loop->body, visit);
    if (const auto *branch = std::get_if<IfCode>(&statement)) {
      forEachStatement(branch->then, visit);
      forEachStatement(branch->otherwise, visit);
    }
  }
}

template <class Visit>
void forEachStatement(const ClassCode &code, const Visit &visit) {
  for (const auto &[id, body] : code.routines)
    forEachStatement(body, visit);
  for (const TaskCode &task : code.tasks)
    forEachStatement(task.body, visit);
}

int queueWords(const ClassCode &code, int color, bool output,
               const flatbuffers::Vector<int32_t> *depths) {
  // What sustains a word per cycle, where the machine does not say.
  constexpr int smallest = 2;
  if (!depths || depths->size() == 0)
    return smallest;
  for (const QueueCode &queue : code.queues)
    if (queue.color == color && queue.output == output)
      return std::max(1, depths->Get(unsigned(queue.queue)));
  return std::max(1, *std::min_element(depths->begin(), depths->end()));
}

} // namespace

int inboxWords(const program::Machine &machine, const ClassCode &code,
               int color) {
  return queueWords(code, color, false, machine.input_queue_words()) +
         machine.ramp_cycles();
}

int outboxWords(const program::Machine &machine, const ClassCode &code,
                int color) {
  return queueWords(code, color, true, machine.output_queue_words()) +
         machine.ramp_cycles();
}

Time Outlet::takenAt(int64_t count) const {
  if (count > taken)
    return never;
  if (count <= takenFrom + 1 || taken - takenFrom < 2)
    return count <= takenFrom ? 0 : takenFirst;
  return takenFirst + (takenLast - takenFirst) * double(count - takenFrom - 1) /
                          double(taken - takenFrom - 1);
}

// ---------------------------------------------------------------- building

Network::Network(const program::Program &program,
                 const std::vector<ClassCode> &classes,
                 const std::vector<int> &classOf, Agenda &agenda)
    : program(program), machine(*program.machine()), classes(classes),
      classOf(classOf), agenda(agenda), meshWidth(machine.width()),
      meshHeight(machine.height()), colors(machine.colors()),
      hop(std::max(1, machine.hop_cycles())), ramps(machine.ramp_cycles()),
      routerDepth(machine.router_buffer_words() > 0
                      ? machine.router_buffer_words()
                      : 2 * hop),
      tornColors(256), rules(256) {
  if (program.routes()->size() > UINT16_MAX - 1)
    throw Error(ErrorClass::BadProgram, "too many routes");
  for (unsigned i = 0; i < program.routes()->size(); ++i)
    addRule(*program.routes()->Get(i), uint16_t(i + 1));
  for (const ClassCode &code : classes) {
    bool sets = false;
    forEachStatement(code, [&](const StatementCode &statement) {
      sets |= std::holds_alternative<SetRouteCode>(statement);
      const auto *control = std::get_if<SendControlCode>(&statement);
      if (!control ||
          !std::count(control->commands.begin(), control->commands.end(),
                      program::SwitchCommand::Teardown))
        return;
      if (control->color.terms.empty())
        tornColors[size_t(control->color.constant & 255)] = true;
      else
        tornColors.assign(256, true);
    });
    routeSetters.push_back(sets);
  }
  linkFree.assign(size_t(meshWidth) * size_t(meshHeight) * 4, 0);
}

std::string Network::place(int color, Coordinate pe) const {
  return "color " + std::to_string(color) + " at PE " + toString(pe);
}

void Network::addRule(const program::RouteRule &rule, uint16_t number) {
  const program::Rect &rect = *rule.rect();
  if (rect.xstep() < 1 || rect.ystep() < 1 || rect.x0() < 0 || rect.y0() < 0 ||
      rect.x1() > meshWidth || rect.y1() > meshHeight || rule.transmit() > 31)
    throw Error(ErrorClass::BadProgram,
                "a route of color " + std::to_string(rule.color()) +
                    " leaves the mesh or names a port that does not exist");
  std::vector<uint16_t> &table = rules[rule.color()];
  table.resize(size_t(meshWidth) * size_t(meshHeight));
  for (int y = rect.y0(); y < rect.y1(); y += rect.ystep())
    for (int x = rect.x0(); x < rect.x1(); x += rect.xstep()) {
      uint16_t &slot = table[size_t(this->index({x, y}))];
      if (slot != 0)
        throw Error(ErrorClass::RouteConflict,
                    place(rule.color(), {x, y}) + " has two rules: receives " +
                        program::EnumNamePort(
                            program.routes()->Get(slot - 1u)->receive()) +
                        " and " + program::EnumNamePort(rule.receive()));
      slot = number;
    }
}

const program::RouteRule *Network::rule(int pe, int color) const {
  const std::vector<uint16_t> &table = rules[size_t(color)];
  if (table.empty() || table[size_t(pe)] == 0)
    return nullptr;
  return program.routes()->Get(table[size_t(pe)] - 1u);
}

/// Whether what the router does with the color may ever change.
bool Network::isNode(int pe, int color) const {
  const int at = classOf[size_t(pe)];
  if (at >= 0 && routeSetters[size_t(at)])
    return true;
  const program::RouteRule *found = rule(pe, color);
  return found && (tornColors[size_t(color)] ||
                   (found->positions() && found->positions()->size() > 0));
}

// ---------------------------------------------------------------- places

uint32_t Network::newOutlet(Outlet::Kind kind, int pe, int color,
                            uint32_t inlet) {
  Outlet outlet;
  outlet.kind = kind;
  outlet.color = uint8_t(color);
  outlet.pe = pe;
  outlet.inlet = inlet;
  outlets.push_back(std::move(outlet));
  return uint32_t(outlets.size() - 1);
}

uint32_t Network::newInlet(int pe, int color, Port from, bool node) {
  Inlet inlet;
  inlet.pe = pe;
  inlet.color = uint8_t(color);
  inlet.from = from;
  inlet.node = node;
  inlets.push_back(std::move(inlet));
  return uint32_t(inlets.size() - 1);
}

uint32_t Network::rampInlet(int pe, int color) {
  auto [found, fresh] =
      inletOf.try_emplace(key(uint64_t(pe), color, Port::Ramp), 0);
  if (!fresh)
    return found->second;
  return found->second = newInlet(pe, color, Port::Ramp, false);
}

uint32_t Network::edgeInlet(int row, int color) {
  const int pe = index({0, row});
  auto [found, fresh] =
      inletOf.try_emplace(key(uint64_t(pe), color, Port::West), 0);
  if (!fresh)
    return found->second;
  return found->second = newInlet(pe, color, Port::West, false);
}

uint32_t Network::nodeAt(int pe, int color) {
  auto [found, fresh] =
      nodeOf.try_emplace(key(uint64_t(pe), color, Port::Ramp), 0);
  if (fresh) {
    nodes.push_back({pe, uint8_t(color), Switch(rule(pe, color))});
    found->second = uint32_t(nodes.size() - 1);
  }
  return found->second;
}

uint32_t Network::nodeOutlet(uint32_t node, Port port) {
  int64_t &slot = nodes[node].in[size_t(port)];
  if (slot >= 0)
    return uint32_t(slot);
  const program::RouteRule *fixed = rule(nodes[node].pe, nodes[node].color);
  const int at = classOf[size_t(nodes[node].pe)];
  const bool moves =
      (fixed && fixed->positions() && fixed->positions()->size() > 0) ||
      (at >= 0 && routeSetters[size_t(at)]);
  if (!moves && fixed && fixed->receive() != port)
    throw Error(ErrorClass::RouteConflict,
                place(nodes[node].color, coordinate(nodes[node].pe)) +
                    ": a wavelet enters from " + program::EnumNamePort(port) +
                    " where the router receives " +
                    program::EnumNamePort(fixed->receive()));
  slot = newOutlet(Outlet::Router, nodes[node].pe, nodes[node].color, 0);
  outlets[size_t(slot)].node = node;
  return uint32_t(slot);
}

uint32_t Network::nodeInlet(uint32_t node, Port port) {
  int64_t &slot = nodes[node].out[size_t(port)];
  if (slot < 0)
    slot = newInlet(nodes[node].pe, nodes[node].color, port, true);
  return uint32_t(slot);
}

uint32_t Network::rampOutlet(int pe, int color, uint32_t inlet) {
  if (classOf[size_t(pe)] < 0)
    throw Error(ErrorClass::UnreadTraffic,
                "color " + std::to_string(color) + " delivers to PE " +
                    toString(coordinate(pe)) + ", which has no code");
  auto [found, fresh] =
      outletOf.try_emplace(key(uint64_t(pe), color, Port::Ramp), 0);
  if (fresh) {
    found->second = newOutlet(Outlet::Ramp, pe, color, inlet);
    outlets[found->second].filter = makeFilter(pe, color);
  }
  return found->second;
}

int32_t Network::makeFilter(int pe, int color) {
  const ClassCode &code = classes[size_t(classOf[size_t(pe)])];
  for (const FilterCode &filter : code.filters) {
    if (filter.color != color)
      continue;
    std::vector<int64_t> scalars;
    const Coordinate at = coordinate(pe);
    evaluateScalars(code.source->scalars(), at.x, at.y, scalars);
    const Bindings bindings{scalars.data(), nullptr, nullptr};
    const int64_t min = filter.min.value(bindings);
    filters.push_back({filter.kind, min, filter.max.value(bindings),
                       filter.limited ? filter.limit.value(bindings)
                                      : std::numeric_limits<int64_t>::max(),
                       min});
    return int32_t(filters.size() - 1);
  }
  return -1;
}

bool Network::RampFilter::passes(uint32_t word) {
  if (kind == program::FilterKind::Range)
    return min <= int64_t(word >> 16) && int64_t(word >> 16) <= max;
  const bool pass = count <= max;
  count = count >= limit ? 0 : count + 1;
  return pass;
}

std::vector<Chunk> Network::filtered(Outlet &outlet, const Chunk &chunk) {
  RampFilter &filter = filters[size_t(outlet.filter)];
  std::vector<Chunk> runs;
  uint32_t start = 0, dropped = 0;
  bool open = false;
  auto close = [&](uint32_t end) {
    if (!open)
      return;
    Chunk run = chunk;
    run.offset += start;
    run.count = end - start;
    run.first = chunk.time(start);
    run.last = chunk.time(end - 1);
    runs.push_back(std::move(run));
    open = false;
  };
  for (uint32_t i = 0; i < chunk.count; ++i) {
    if (filter.passes(chunk.at(i))) {
      if (!open)
        start = i;
      open = true;
    } else {
      close(i);
      ++dropped;
    }
  }
  close(chunk.count);
  if (dropped > 0)
    take(outlet, dropped, chunk.first, chunk.last);
  return runs;
}

Outlet *Network::ramp(int pe, int color) {
  auto found = outletOf.find(key(uint64_t(pe), color, Port::Ramp));
  return found == outletOf.end() ? nullptr : &outlets[found->second];
}

// ---------------------------------------------------------------- tracing

void Network::addLeaf(uint32_t inlet, uint32_t outlet, const Step &step,
                      int ramp, int capacity) {
  inlets[inlet].leaves.push_back({outlet, step.hops * hop + ramp, step.link,
                                  step.capacity + capacity, step.pops});
}

/// A wavelet comes to the router of `step.pe`.
void Network::enter(uint32_t inlet, const Step &step,
                    std::vector<Step> &pending) {
  const int pe = index(step.pe), color = inlets[inlet].color;
  if (isNode(pe, color)) {
    uint32_t outlet = nodeOutlet(nodeAt(pe, color), step.entered);
    return addLeaf(inlet, outlet, step, 0, 0);
  }
  const program::RouteRule *found = rule(pe, color);
  if (!found)
    throw Error(ErrorClass::MissingRoute,
                place(color, step.pe) + ": a wavelet enters from " +
                    program::EnumNamePort(step.entered) +
                    " and there is no rule for it");
  if (found->receive() != step.entered)
    throw Error(ErrorClass::RouteConflict,
                place(color, step.pe) + ": a wavelet enters from " +
                    program::EnumNamePort(step.entered) +
                    " where the router receives " +
                    program::EnumNamePort(found->receive()));
  Step after = step;
  after.pops += found->pop() == program::PopMode::Always;
  for (int port = 0; port < 5; ++port)
    if (found->transmit() >> port & 1)
      leave(inlet, after, Port(port), pending);
}

/// A wavelet leaves the router of `step.pe` through a port.
void Network::leave(uint32_t inlet, const Step &step, Port port,
                    std::vector<Step> &pending) {
  const int pe = index(step.pe), color = inlets[inlet].color;
  if (port == Port::Ramp) {
    uint32_t outlet = rampOutlet(pe, color, inlet);
    const ClassCode &code = classes[size_t(classOf[size_t(pe)])];
    return addLeaf(inlet, outlet, step, ramps,
                   inboxWords(machine, code, color));
  }
  const Coordinate next = neighbour(step.pe, port);
  Step after = step;
  ++after.hops;
  after.link = int32_t(inlets[inlet].links.size());
  if (next.x >= 0 && next.x < meshWidth && next.y >= 0 && next.y < meshHeight) {
    inlets[inlet].links.push_back({pe * 4 + int(port), step.link, after.hops});
    after.pe = next;
    after.entered = opposite(port);
    after.capacity += routerDepth + hop - 1;
    pending.push_back(after);
    return;
  }
  if (port != Port::East)
    throw Error(ErrorClass::MissingRoute,
                place(color, step.pe) + " leads over the " +
                    program::EnumNamePort(port) + " edge of the mesh");
  inlets[inlet].links.push_back({pe * 4 + int(port), step.link, after.hops});
  addLeaf(inlet, newOutlet(Outlet::Edge, pe, color, inlet), after, ramps,
          INT32_MAX / 2);
}

void Network::trace(uint32_t inlet) {
  std::vector<Step> pending;
  {
    Inlet &from = inlets[inlet];
    from.traced = true;
    Step first{coordinate(from.pe), from.from, -1, 0, 0, 0};
    if (from.node)
      leave(inlet, first, from.from, pending);
    else if (from.from == Port::Ramp) {
      const ClassCode &code = classes[size_t(classOf[size_t(from.pe)])];
      first.capacity = outboxWords(machine, code, from.color) + routerDepth;
      enter(inlet, first, pending);
    } else {
      enter(inlet, first, pending);
    }
  }
  while (!pending.empty()) {
    Step step = pending.back();
    pending.pop_back();
    if (inlets[inlet].links.size() > linkFree.size())
      throw Error(ErrorClass::RouteConflict,
                  place(inlets[inlet].color, step.pe) +
                      ": the route runs in a circle");
    enter(inlet, step, pending);
  }
  for (const Leaf &leaf : inlets[inlet].leaves)
    outlets[leaf.outlet].inlet = inlet;
}

// ---------------------------------------------------------------- moving

/// A link passes a word per cycle. What has passed by the time a chunk has is
/// as much as was sent, whichever color it had; so the end of a chunk is held
/// up by the words of others that came before.
void Network::occupyLinks(const Inlet &inlet, const Chunk &chunk) {
  linkDelay.resize(inlet.links.size());
  for (size_t i = 0; i < inlet.links.size(); ++i) {
    const Link &link = inlet.links[i];
    const Time before = link.before < 0 ? 0 : linkDelay[size_t(link.before)];
    const Time away = double(link.hops * hop);
    Time &free = linkFree[size_t(link.index)];
    free = std::max(free, chunk.first + away) + chunk.count;
    linkDelay[i] = std::max(before, free - 1 - (chunk.last + away));
    if (observer && !chunk.control)
      observer->passed(link.index / 4, Port(link.index % 4), inlet.color,
                       chunk.count, chunk.first + away - hop,
                       chunk.last + linkDelay[i] + away - hop);
  }
}

void Network::send(uint32_t index, Chunk chunk) {
  if (!inlets[index].traced)
    trace(index);
  Inlet &inlet = inlets[index];
  const bool fromRamp = !inlet.node && inlet.from == Port::Ramp;
  if (fromRamp) {
    chunk.first += ramps;
    chunk.last += ramps;
  }
  const bool data = chunk.count > 0;
  if (data) {
    inlet.sent += chunk.count;
    inlet.lastSent = chunk.last;
    occupyLinks(inlet, chunk);
  } else {
    chunk.first = chunk.last = std::max(chunk.first, inlet.lastSent);
  }
  for (const Leaf &leaf : inlet.leaves) {
    Outlet &outlet = outlets[leaf.outlet];
    // A mark for the sender's own switch goes no further; one without a
    // switch has no effect.
    if (!data &&
        (outlet.kind != Outlet::Router || !fromRamp || outlet.pe != inlet.pe))
      continue;
    Chunk part = chunk;
    part.first += leaf.latency;
    part.last += leaf.latency;
    if (data && leaf.link >= 0)
      part.last += linkDelay[size_t(leaf.link)];
    if (part.control && leaf.pops > 0)
      part.commands =
          leaf.pops < 8 ? part.commands >> (leaf.pops * commandBits) : 0;
    post(leaf.outlet, std::move(part));
  }
}

void Network::post(uint32_t outlet, Chunk chunk) {
  const Time time = chunk.first;
  uint32_t parcel;
  if (freeParcels.empty()) {
    parcel = uint32_t(parcels.size());
    parcels.push_back({std::move(chunk), outlet});
  } else {
    parcel = freeParcels.back();
    freeParcels.pop_back();
    parcels[parcel] = {std::move(chunk), outlet};
  }
  agenda.add(time, uint32_t(outlets[outlet].pe), Event::Deliver, parcel);
}

Outlet *Network::deliver(uint32_t index) {
  Chunk chunk = std::move(parcels[index].chunk);
  const uint32_t to = parcels[index].outlet;
  freeParcels.push_back(index);
  Outlet &outlet = outlets[to];
  // Nothing overtakes on one color.
  if (!outlet.queue.empty()) {
    const Time last = outlet.queue.back().last;
    chunk.first = std::max(chunk.first, last + (chunk.count > 0));
    chunk.last = std::max(chunk.last, chunk.first + chunk.count - 1.0);
  }
  if (outlet.kind == Outlet::Ramp && chunk.control && chunk.task < 0) {
    take(outlet, 1, chunk.first, chunk.last);
    return nullptr;
  }
  if (observer && outlet.kind == Outlet::Ramp && !chunk.control)
    observer->passed(outlet.pe, Port::Ramp, outlet.color, chunk.count,
                     chunk.first - ramps, chunk.last - ramps);
  if (outlet.filter >= 0 && !chunk.control) {
    for (Chunk &run : filtered(outlet, chunk))
      outlet.queue.push_back(std::move(run));
    return outlet.queue.empty() ? nullptr : &outlet;
  }
  outlet.queue.push_back(std::move(chunk));
  if (outlet.kind != Outlet::Router)
    return &outlet;
  pump(outlet.node);
  return nullptr;
}

void Network::take(Outlet &outlet, int64_t count, Time first, Time last) {
  outlet.takenFrom = outlet.taken;
  outlet.taken += count;
  outlet.takenFirst = first;
  outlet.takenLast = last;
  // They ask again, and learn when they may go on.
  for (uint32_t waiter : outlet.waiters)
    agenda.add(first, waiters[waiter].pe, Event::Release, waiter);
  outlet.waiters.clear();
}

Time Network::roomAt(uint32_t index, const Waiter &who) {
  const Inlet &inlet = inlets[index];
  Time time = 0;
  for (const Leaf &leaf : inlet.leaves) {
    Outlet &outlet = outlets[leaf.outlet];
    const int64_t needed = inlet.sent - leaf.capacity;
    if (needed <= 0 || outlet.kind == Outlet::Edge)
      continue;
    const Time taken = outlet.takenAt(needed);
    if (taken == never) {
      auto [found, fresh] = waiterOf.try_emplace(
          (uint64_t(who.pe) << 32 | who.what) << 1 | uint64_t(who.node), 0);
      if (fresh) {
        waiters.push_back(who);
        found->second = uint32_t(waiters.size() - 1);
      }
      if (!std::count(outlet.waiters.begin(), outlet.waiters.end(),
                      found->second))
        outlet.waiters.push_back(found->second);
      return never;
    }
    time = std::max(time, taken);
  }
  return time;
}

// ---------------------------------------------------------------- nodes

void Network::release(uint32_t waiter) {
  const uint32_t node = waiters[waiter].what;
  if (nodes[node].blocked && finishPassing(node))
    pump(node);
}

void Network::pump(uint32_t node) {
  while (!nodes[node].blocked && passOn(node))
    ;
}

/// Passes on the oldest chunk of the port that is open, if there is one.
bool Network::passOn(uint32_t index) {
  // References into the deque stay valid while it grows.
  Node &node = nodes[index];
  // A mark of the PE counts once all of its words are gone, whether or not
  // the ramp is open.
  const int64_t own = node.in[size_t(Port::Ramp)];
  if (own >= 0 && !outlets[size_t(own)].queue.empty() &&
      outlets[size_t(own)].queue.front().count == 0) {
    outlets[size_t(own)].queue.pop_front();
    node.state.advance();
    return true;
  }
  if (node.state.closed)
    return false;
  const Port from = node.state.receive;
  if (node.in[size_t(from)] < 0)
    return false;
  Outlet &source = outlets[size_t(node.in[size_t(from)])];
  if (source.queue.empty())
    return false;
  Chunk chunk = std::move(source.queue.front());
  source.queue.pop_front();
  const Time start = std::max({chunk.first, node.free, agenda.now()});
  chunk.last = std::max(chunk.last, start + chunk.count - 1.0);
  chunk.first = start;
  const uint8_t ports = node.state.transmit;
  if (chunk.control)
    chunk.commands = node.state.act(chunk.commands);
  for (int port = 0; port < 5; ++port)
    if (ports >> port & 1)
      send(nodeInlet(index, Port(port)), chunk);
  node.free = chunk.last + 1;
  node.blocked = true;
  node.passed = chunk.count;
  node.passedFirst = chunk.first;
  node.passedLast = chunk.last;
  node.passedFrom = from;
  return finishPassing(index);
}

/// What a node has passed on has left it once there is room for it.
bool Network::finishPassing(uint32_t index) {
  Node &node = nodes[index];
  for (int64_t out : node.out)
    if (out >= 0) {
      const Time room = roomAt(uint32_t(out), {true, uint32_t(node.pe), index});
      if (room == never)
        return false;
      node.passedLast = std::max(node.passedLast, room);
    }
  node.blocked = false;
  node.free = std::max(node.free, node.passedLast + 1);
  take(outlets[size_t(node.in[size_t(node.passedFrom)])], node.passed,
       node.passedFirst, node.passedLast);
  return true;
}

void Network::setRoute(int pe, int color, Port receive, uint8_t transmit) {
  const uint32_t node = nodeAt(pe, color);
  nodes[node].state.set(receive, transmit);
  pump(node);
}

std::vector<std::string> Network::describeQueues(int pe) const {
  std::vector<std::string> lines;
  for (const Outlet &outlet : outlets) {
    uint64_t words = 0;
    for (const Chunk &chunk : outlet.queue)
      words += chunk.count;
    if (outlet.pe == pe && words > 0 && outlet.kind != Outlet::Edge)
      lines.push_back(
          "color " + std::to_string(outlet.color) + ": " +
          std::to_string(words) +
          (outlet.kind == Outlet::Ramp ? " for the PE" : " at the switch"));
  }
  std::sort(lines.begin(), lines.end());
  return lines;
}

std::vector<const Outlet *> Network::leftOver() const {
  std::vector<const Outlet *> result;
  for (const Outlet &outlet : outlets)
    if (outlet.kind != Outlet::Edge &&
        std::any_of(outlet.queue.begin(), outlet.queue.end(),
                    [](const Chunk &chunk) { return chunk.count > 0; }))
      result.push_back(&outlet);
  return result;
}

} // namespace wsec::runtime::tasks
