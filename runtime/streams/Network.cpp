// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Places, and the ways between them. How words move is in Moves.cpp.
#include "runtime/streams/Network.h"

#include "runtime/program/Errors.h"
#include "runtime/program/Ports.h"

#include <algorithm>

namespace wsec::runtime::streams {

using program::Port;

// ---------------------------------------------------------------- building

/// PEs up to which colors that share a link always take turns, as exactly as
/// on the machine; on larger meshes once they have met.
static constexpr int mostTurns = 256;

Network::Network(const program::Program &program, const Mesh &mesh,
                 Agenda &agenda, EastEdge &east)
    : program(program), machine(*program.machine()), mesh(mesh), agenda(agenda),
      east(east), colors(machine.colors()), hop(hopCycles(machine)),
      ramp(machine.ramp_cycles()), routerDepth(routerWords(machine)),
      tornColors(256), rules(256), outboxes(256), inboxes(256),
      alwaysTurns(mesh.size() <= mostTurns) {
  if (program.routes()->size() > UINT16_MAX - 1)
    throw Error(ErrorClass::BadProgram, "too many routes");
  const size_t links = size_t(mesh.size()) * 5;
  linkUsers.assign(links, 0);
  sharedOf.assign(links, -1);
  turnsOf.assign(links / 5, -1);
  for (unsigned i = 0; i < program.routes()->size(); ++i)
    addRule(*program.routes()->Get(i), uint16_t(i + 1));
  for (const ClassCode &code : mesh.classes) {
    forEachStatement(code, [&](const StatementCode &statement) {
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
    routeSetters.push_back(setsRoutes(code));
  }
}

std::string Network::place(int color, Coordinate pe) const {
  return "color " + std::to_string(color) + " at PE " + toString(pe);
}

void Network::addRule(const program::RouteRule &rule, uint16_t number) {
  const program::Rect &rect = *rule.rect();
  if (rect.xstep() < 1 || rect.ystep() < 1 || rect.x0() < 0 || rect.y0() < 0 ||
      rect.x1() > mesh.width || rect.y1() > mesh.height || rule.transmit() > 31)
    throw Error(ErrorClass::BadProgram,
                "a route of color " + std::to_string(rule.color()) +
                    " leaves the mesh or names a port that does not exist");
  std::vector<uint16_t> &table = rules[rule.color()];
  table.resize(size_t(mesh.size()));
  const unsigned ports = everTransmits(rule);
  for (int y = rect.y0(); y < rect.y1(); y += rect.ystep())
    for (int x = rect.x0(); x < rect.x1(); x += rect.xstep()) {
      const auto pe = size_t(mesh.index({x, y}));
      if (table[pe] != 0)
        throw Error(ErrorClass::RouteConflict,
                    place(rule.color(), {x, y}) + " has two rules: receives " +
                        program::EnumNamePort(
                            program.routes()->Get(table[pe] - 1u)->receive()) +
                        " and " + program::EnumNamePort(rule.receive()));
      table[pe] = number;
      for (size_t port = 0; port < 5; ++port)
        if (ports >> port & 1) {
          uint8_t &user = linkUsers[pe * 5 + port];
          user = user == 0 ? uint8_t(rule.color() + 1) : uint8_t(255);
        }
    }
}

const program::RouteRule *Network::rule(int pe, int color) const {
  const std::vector<uint16_t> &table = rules[size_t(color)];
  if (table.empty() || table[size_t(pe)] == 0)
    return nullptr;
  return program.routes()->Get(table[size_t(pe)] - 1u);
}

/// Whether launch wavelets vanish at a PE: it has no routines to launch.
bool Network::ignores(int pe, int color) const {
  if (color != program.launch_color())
    return false;
  const ClassCode *code = mesh.codeAt(pe);
  return !code || code->routines.empty();
}

/// Whether what the router does with the color may ever change.
bool Network::isNode(int pe, int color) const {
  const int at = mesh.classOf[size_t(pe)];
  if (at >= 0 && routeSetters[size_t(at)])
    return true;
  const program::RouteRule *found = rule(pe, color);
  return found && (tornColors[size_t(color)] || furtherPositions(*found) > 0);
}

// ---------------------------------------------------------------- places

uint32_t Network::newStation(Station::Kind kind, int pe, int color, Port port,
                             int depth) {
  Station station;
  station.kind = kind;
  station.pe = pe;
  station.color = uint8_t(color);
  station.port = port;
  station.depth = depth;
  stations.push_back(std::move(station));
  const auto made = uint32_t(stations.size() - 1);
  if (kind != Station::Inbox && kind != Station::EastEdge &&
      isNode(pe, color)) {
    const uint32_t node = nodeAt(pe, color);
    stations[made].node = int32_t(node);
    nodes[node].stations.push_back(made);
  }
  return made;
}

uint32_t Network::nodeAt(int pe, int color) {
  auto [found, fresh] = nodeOf.try_emplace(placeKey(pe, color, Port::Ramp), 0);
  if (fresh) {
    nodes.push_back(
        {pe, uint8_t(color), pe::Switch(rule(pe, color)), 0, {}, {}});
    found->second = uint32_t(nodes.size() - 1);
  }
  return found->second;
}

Station &Network::outbox(int pe, int color) {
  std::vector<uint32_t> &table = outboxes[size_t(color)];
  table.resize(size_t(mesh.size()));
  uint32_t &slot = table[size_t(pe)];
  if (slot == 0) {
    if (!isNode(pe, color) && !rule(pe, color))
      noRule(pe, color, Port::Ramp);
    const int depth = outboxWords(machine, *mesh.codeAt(pe), color);
    slot = newStation(Station::Outbox, pe, color, Port::Ramp, depth) + 1;
    stations[slot - 1].taken.keep(depth + 1);
  }
  return stations[slot - 1];
}

pe::Mailbox *Network::inbox(int pe, int color) {
  const std::vector<uint32_t> &table = inboxes[size_t(color)];
  if (table.empty() || table[size_t(pe)] == 0)
    return nullptr;
  return &stations[table[size_t(pe)] - 1];
}

uint32_t Network::inboxAt(int pe, int color) {
  const ClassCode *code = mesh.codeAt(pe);
  if (!code)
    throw Error(ErrorClass::UnreadTraffic,
                "color " + std::to_string(color) + " delivers to PE " +
                    toString(coordinate(pe)) + ", which has no code");
  std::vector<uint32_t> &table = inboxes[size_t(color)];
  table.resize(size_t(mesh.size()));
  uint32_t &slot = table[size_t(pe)];
  if (slot == 0) {
    slot = newStation(Station::Inbox, pe, color, Port::Ramp,
                      inboxWords(machine, *code, color)) +
           1;
    stations[slot - 1].filter = makeFilter(pe, color);
    // The PE may have gone to sleep before there was anything to listen to.
    stations[slot - 1].listens = true;
  }
  return slot - 1;
}

Station &Network::westEdge(int row, int color) {
  const int pe = mesh.index({0, row});
  if (!isNode(pe, color) && !rule(pe, color))
    noRule(pe, color, Port::West);
  Station &made = stations[gateAt(pe, color, Port::West)];
  made.kind = Station::WestEdge;
  made.taken.keep(made.depth + 1);
  return made;
}

Station *Network::knownGate(int pe, int color, Port port) {
  auto found = gateOf.find(placeKey(pe, color, port));
  return found == gateOf.end() ? nullptr : &stations[found->second];
}

/// The input of a router through one of its links.
uint32_t Network::gateAt(int pe, int color, Port port) {
  auto [found, fresh] = gateOf.try_emplace(placeKey(pe, color, port), 0);
  if (fresh)
    found->second =
        newStation(Station::Gate, pe, color, port, routerDepth + hop - 1);
  return found->second;
}

int32_t Network::makeFilter(int pe, int color) {
  const std::optional<pe::Filter> filter =
      pe::filterOf(*mesh.codeAt(pe), color, coordinate(pe));
  if (!filter)
    return -1;
  filters.push_back({*filter, 0, 0, {}});
  return int32_t(filters.size() - 1);
}

bool Network::RampFilter::passes(uint32_t word) {
  const bool pass = filter.pass(word);
  kept += pass;
  if (!keptUpTo.empty())
    keptUpTo[size_t(arrived) % keptUpTo.size()] = kept;
  ++arrived;
  return pass;
}

void Network::RampFilter::remember(int64_t words) {
  if (size_t(words) <= keptUpTo.size())
    return;
  std::vector<int64_t> longer(static_cast<size_t>(words), kept);
  const auto known = std::min(arrived, int64_t(keptUpTo.size()));
  for (int64_t i = arrived - known; i < arrived; ++i)
    longer[size_t(i) % longer.size()] = keptUpTo[size_t(i) % keptUpTo.size()];
  keptUpTo.swap(longer);
}

// ---------------------------------------------------------------- ways

void Network::noRule(int pe, int color, Port entered) const {
  throw Error(ErrorClass::MissingRoute, place(color, coordinate(pe)) +
                                            ": a wavelet enters from " +
                                            program::EnumNamePort(entered) +
                                            " and there is no rule for it");
}

void Network::conflict(int pe, int color, Port entered, Port receive) const {
  throw Error(ErrorClass::RouteConflict, place(color, coordinate(pe)) +
                                             ": a wavelet enters from " +
                                             program::EnumNamePort(entered) +
                                             " where the router receives " +
                                             program::EnumNamePort(receive));
}

/// Whether words that leave a router through some ports take turns with those
/// of other colors. In a small mesh all words of a router do that has a shared
/// link: whose turn it is depends on who moved last.
bool Network::takesTurns(int pe, unsigned ports) const {
  for (size_t port = 0; port < 5; ++port) {
    const size_t link = size_t(pe) * 5 + port;
    if (linkUsers[link] == 255 &&
        (alwaysTurns || ((ports >> port & 1) && sharedOf[link] >= 0 &&
                         shared[size_t(sharedOf[link])].contended)))
      return true;
  }
  return false;
}

/// Whether a way ends at this input of a router. Refuses words that could
/// never pass.
bool Network::stops(int pe, int color, Port entered) {
  const program::RouteRule *found = rule(pe, color);
  const Station *gate = knownGate(pe, color, entered);
  if (isNode(pe, color)) {
    const Node &node = nodes[nodeAt(pe, color)];
    const int at = mesh.classOf[size_t(pe)];
    const bool moves =
        (found && found->positions() && found->positions()->size() > 0) ||
        (at >= 0 && routeSetters[size_t(at)]);
    if (!moves && found->receive() != entered)
      conflict(pe, color, entered, found->receive());
    if (node.state.closed || node.state.receive != entered ||
        (gate && !gate->queue.empty()))
      return true;
  } else if (!found) {
    noRule(pe, color, entered);
  } else if (found->receive() != entered) {
    conflict(pe, color, entered, found->receive());
  }
  return (gate && gate->branch) || takesTurns(pe, transmits(pe, color));
}

/// Where words that enter a router go on.
uint8_t Network::transmits(int pe, int color) const {
  auto found = nodeOf.find(placeKey(pe, color, Port::Ramp));
  return found == nodeOf.end() ? rule(pe, color)->transmit()
                               : nodes[found->second].state.transmit;
}

/// A way that is being followed.
struct Network::Tracing {
  uint32_t station;
  Way &way;
  std::vector<Step> pending, routers;
};

int32_t Network::shareLink(uint32_t station, const Step &step, int pe,
                           int port) {
  const auto link = size_t(pe) * 5 + size_t(port);
  if (linkUsers[link] != 255 || alwaysTurns)
    return step.link;
  if (sharedOf[link] < 0) {
    sharedOf[link] = int32_t(shared.size());
    shared.emplace_back();
  }
  SharedLink &its = shared[size_t(sharedOf[link])];
  its.users.push_back(station);
  Way &way = *stations[station].way;
  way.links.push_back({sharedOf[link], step.hops * hop, step.link, 0});
  return int32_t(way.links.size() - 1);
}

/// A word leaves the router of `step` through a port.
void Network::leave(Tracing &tracing, const Step &step, Port port) {
  Way &way = tracing.way;
  const int pe = mesh.index(step.pe), color = stations[tracing.station].color;
  if (observer)
    way.passages.push_back({pe, port, step.hops * hop});
  const int32_t link = shareLink(tracing.station, step, pe, int(port));
  const int32_t wire = step.hops * (routerDepth + hop - 1);
  auto end = [&](uint32_t to, int32_t depth, Cycle latency, int32_t stages) {
    way.ends.push_back(
        {to, wire + depth, latency, stages, link, step.notBefore, wire});
  };
  if (port == Port::Ramp && ignores(pe, color))
    return;
  if (port == Port::Ramp) {
    const uint32_t to = inboxAt(pe, color);
    return end(to, stations[to].depth, step.hops * hop + ramp, step.hops + 1);
  }
  const Coordinate next = neighbour(step.pe, port);
  if (!mesh.contains(next)) {
    if (port != Port::East)
      throw Error(ErrorClass::MissingRoute,
                  place(color, step.pe) + " leads over the " +
                      program::EnumNamePort(port) + " edge of the mesh");
    const uint32_t to =
        newStation(Station::EastEdge, pe, color, port, INT32_MAX / 2);
    return end(to, INT32_MAX / 2, (step.hops + 1) * hop + ramp, 0);
  }
  const int at = mesh.index(next);
  const Port entered = opposite(port);
  Step after{next, entered, step.hops + 1, link, step.notBefore};
  if (stops(at, color, entered)) {
    const uint32_t to = gateAt(at, color, entered);
    return end(to, stations[to].depth, after.hops * hop, after.hops);
  }
  if (isNode(at, color)) {
    Node &node = nodes[nodeAt(at, color)];
    node.dependents.push_back(tracing.station);
    after.notBefore = std::max(after.notBefore, node.since - after.hops * hop);
  }
  tracing.pending.push_back(after);
}

void Network::follow(Tracing &tracing) {
  const int color = stations[tracing.station].color;
  while (!tracing.pending.empty()) {
    const Step step = tracing.pending.back();
    tracing.pending.pop_back();
    tracing.routers.push_back(step);
    if (tracing.routers.size() > linkUsers.size())
      throw Error(ErrorClass::RouteConflict,
                  place(color, step.pe) + ": the route runs in a circle");
    const uint8_t ports = transmits(mesh.index(step.pe), color);
    for (int port = 0; port < 5; ++port)
      if (ports >> port & 1)
        leave(tracing, step, Port(port));
  }
}

/// What one branch holds up, the others have to wait for. So ways end at
/// branches, unless there are so many that nobody would wait for the outcome.
static constexpr size_t mostBranches = 64;

bool Network::splitBranches(const Tracing &tracing) {
  const size_t ends = tracing.way.ends.size();
  if (ends < 2 || ends > mostBranches)
    return false;
  const int color = stations[tracing.station].color;
  bool split = false;
  for (const Step &step : tracing.routers) {
    if (step.hops == 0 ||
        std::popcount(transmits(mesh.index(step.pe), color)) < 2)
      continue;
    stations[gateAt(mesh.index(step.pe), color, step.entered)].branch = true;
    split = true;
  }
  return split;
}

/// Finds out where words go from a station.
void Network::trace(uint32_t index) {
  Station &from = stations[index];
  if (!from.way)
    from.way = std::make_unique<Way>();
  Way &way = *from.way;
  do {
    way.ends.clear();
    way.links.clear();
    way.passages.clear();
    way.ports = transmits(from.pe, from.color);
    way.timed = takesTurns(from.pe, way.ports);
    Tracing tracing{
        index, way, {{coordinate(from.pe), from.port, 0, -1, 0}}, {}};
    if (from.node >= 0)
      nodes[size_t(from.node)].dependents.push_back(index);
    else if (rule(from.pe, from.color)->receive() != from.port)
      conflict(from.pe, from.color, from.port,
               rule(from.pe, from.color)->receive());
    follow(tracing);
    way.valid = true;
    if (!splitBranches(tracing))
      break;
  } while (true);
  for (const Way::End &end : way.ends) {
    Station &to = stations[end.to];
    to.taken.keep(end.depth + 1);
    if (to.filter >= 0)
      filters[size_t(to.filter)].remember(end.wire + 1);
  }
}

} // namespace wsec::runtime::streams
