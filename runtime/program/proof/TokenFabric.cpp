// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/program/proof/TokenFabric.h"
#include "runtime/program/Call.h"
#include "runtime/program/Checker.h"
#include "runtime/program/Ports.h"
#include "runtime/program/proof/HostWords.h"

#include <algorithm>
#include <bit>

namespace wsec::runtime::tokens {

/// Launches that wavelets start, not calls.
static size_t commandsOf(const program::Program &program) {
  return program.launch_color() == noLaunchColor
             ? 0
             : onlyEntry(program).launches()->size();
}

Fabric::Fabric(const program::Program &program, const KindMesh &mesh,
               Depths depths, Agenda &agenda)
    : program(program), mesh(mesh), depths(depths), agenda(agenda),
      launchWavelets(commandsOf(program)) {
  buildPlaces();
  buildRoutes();
}

/// Visits the kinds of a rectangle.
template <typename Visit>
void Fabric::cover(const program::Rect &rect, Visit visit) const {
  const auto inside = [](const AxisKinds &kinds, const Span &span) {
    std::vector<size_t> result;
    for (size_t i = 0; i < kinds.count(); ++i)
      if (span.has(kinds.representative[i]))
        result.push_back(i);
    return result;
  };
  const std::vector<size_t> columns =
      inside(mesh.columns, spanOf(rect, AxisScalars::X));
  for (size_t row : inside(mesh.rows, spanOf(rect, AxisScalars::Y)))
    for (size_t column : columns)
      visit(row * mesh.columns.count() + column);
}

void Fabric::addPlace(size_t kind, size_t peClass) {
  placeOf[kind] = kinds.size();
  Place &place = kinds.emplace_back();
  place.index = placeOf[kind];
  place.peClass = peClass;
  place.x = mesh.columns.representative[kind % mesh.columns.count()];
  place.y = mesh.rows.representative[kind / mesh.columns.count()];
  if (peClass == none)
    return;
  const auto *routines = program.classes()->Get(unsigned(peClass))->routines();
  place.dropsLaunches = !routines || routines->size() == 0;
}

void Fabric::buildPlaces() {
  const size_t all = mesh.columns.count() * mesh.rows.count();
  agenda.requireFew(all, "kinds of PEs");
  agenda.steps += int64_t(all);
  std::vector<size_t> classOf(all, none);
  std::vector<bool> routed(all);
  for (unsigned c = 0; c < program.classes()->size(); ++c)
    for (const program::Rect *rect : *program.classes()->Get(c)->rects())
      cover(*rect, [&](size_t kind) { classOf[kind] = c; });
  size_t count = 0;
  for (const program::RouteRule *rule : *program.routes())
    cover(*rule->rect(), [&](size_t kind) {
      routed[kind] = true;
      ++count;
    });
  agenda.requireFew(count, "routes");
  routes.reserve(count);
  placeOf.assign(all, none);
  for (size_t kind = 0; kind < all; ++kind)
    if (classOf[kind] != none)
      addPlace(kind, classOf[kind]);
  for (size_t kind = 0; kind < all; ++kind)
    if (classOf[kind] == none && routed[kind])
      addPlace(kind, none);
}

size_t Fabric::routeAt(size_t place, int64_t color) const {
  return color >= 0 && size_t(color) < byColor.size() &&
                 !byColor[size_t(color)].empty()
             ? byColor[size_t(color)][place]
             : none;
}

void Fabric::buildRoutes() {
  for (const program::RouteRule *rule : *program.routes()) {
    if (byColor.size() <= rule->color())
      byColor.resize(size_t(rule->color()) + 1);
    std::vector<size_t> &mine = byColor[rule->color()];
    mine.resize(kinds.size(), none);
    cover(*rule->rect(), [&](size_t kind) {
      mine[placeOf[kind]] = routes.size();
      Route &route = routes.emplace_back();
      route.cell = placeOf[kind];
      route.rule = rule;
      route.go(rule->initial());
      route.makeQueues(depths);
      colors.push_back(rule->color());
    });
  }
  agenda.steps += int64_t(routes.size());
  takers.assign(routes.size(), nullptr);
  for (size_t i = 0; i < routes.size(); ++i)
    connect(i);
  for (size_t i = 0; i < routes.size(); ++i)
    if (!routes[i].onlyPasses() || routes[i].input().from == none)
      skipPassing(i);
}

/// A word that has nowhere to go ends the run with another error.
void Fabric::connect(size_t index) {
  const Place &place = kinds[routes[index].cell];
  const program::Machine &machine = *program.machine();
  const unsigned transmit = everTransmits(*routes[index].rule);
  for (Port port : {Port::North, Port::South, Port::East, Port::West}) {
    if (!(transmit >> unsigned(port) & 1))
      continue;
    const Way way = wayOf(port);
    const int64_t x = place.x + way.x, y = place.y + way.y;
    if (x < 0 || y < 0 || x >= machine.width() || y >= machine.height())
      continue;
    const size_t neighbour = placeAt(x, y);
    const size_t next =
        neighbour == none ? none : routeAt(neighbour, colors[index]);
    if (next == none || !routes[next].mayReceive(opposite(port)))
      continue;
    routes[index].links[size_t(port)] = {next, opposite(port)};
    routes[next].in(opposite(port)).from = index;
  }
}

/// Routers that only pass words on are one queue with the next one that does
/// more: it holds as many words as they all do.
void Fabric::skipPassing(size_t index) {
  for (Link &link : routes[index].links) {
    int64_t room = 0;
    while (link.to != none && routes[link.to].onlyPasses()) {
      const Route &passed = routes[link.to];
      const Link &onward =
          passed.links[size_t(std::countr_zero(passed.transmit))];
      if (onward.to == none)
        break; // an exit
      room += passed.input().room;
      link = onward;
      ++agenda.steps;
    }
    if (room == 0)
      continue;
    Input &input = routes[link.to].in(link.port);
    input.room += room;
    input.from = index;
  }
}

size_t Fabric::routeOf(const Place &place, int64_t color) const {
  const size_t route = routeAt(place.index, color);
  if (route == none)
    throw NotUnderstood{"words of color " + std::to_string(color) +
                        " in PEs without a route for it"};
  return route;
}

/// Where a stream, or the launch wavelets, meet the edge.
size_t Fabric::edgeRoute(int64_t x, int64_t y, int64_t color) const {
  const size_t place = placeAt(x, y);
  if (place == none)
    throw NotUnderstood{"words of the host that meet no route"};
  return routeOf(kinds[place], color);
}

void Fabric::addChannels(const program::Launch &launch) {
  if (!launch.streams())
    return;
  const program::Machine &machine = *program.machine();
  for (uint32_t index : *launch.streams()) {
    const program::HostStream &stream = *program.streams()->Get(index);
    const bool in = stream.direction() == program::Direction::In;
    const AxisScalars scalars(stream.scalars(), {}, machine.width(),
                              machine.height(), agenda.steps);
    for (const program::Channel *channel : *stream.channels()) {
      agenda.spend((channel->end() - channel->begin()) *
                   (in ? 1 : machine.width()));
      const int64_t words = channelWords(stream, *channel, scalars);
      if (words == 0)
        continue;
      const int64_t column = in ? 0 : machine.width() - 1;
      const size_t route = edgeRoute(column, channel->row(), stream.color());
      (in ? west : east)[route] += words;
      enter(route);
    }
  }
}

void Fabric::addCommands() {
  const size_t first = edgeRoute(0, 0, program.launch_color());
  west[first] = int64_t(launchWavelets);
  enter(first);
}

void Fabric::takeWord(size_t index) {
  Queue &inbox = routes[index].inbox;
  if (inbox.count-- == inbox.room)
    agenda.wakeRoute(index);
}

bool Fabric::send(size_t index, const Token &token) {
  if (!routes[index].mayReceive(Port::Ramp))
    throw NotUnderstood{"words sent where the router hears no ramp"};
  Input &outbox = routes[index].in(Port::Ramp);
  if (outbox.free() == 0)
    return false;
  outbox.push(token);
  agenda.wakeRoute(index);
  return true;
}

void Fabric::advanceSwitch(size_t index) {
  Token mark;
  mark.kind = Token::Advance;
  routes[index].in(Port::Ramp).push(mark);
  agenda.wakeRoute(index);
}

/// What of the host's words can go as far as somebody takes it.
void Fabric::flowIn(size_t route, int64_t &left) {
  const int64_t words = std::min(left, canFlow(route, Port::West));
  flow(route, Port::West, words);
  left -= words;
}

/// As many words of the host as there is room for.
void Fabric::enter(size_t route) {
  auto channel = west.find(route);
  if (channel == west.end())
    return;
  if (!routes[route].mayReceive(Port::West))
    throw NotUnderstood{"words of the host that meet no route"};
  flowIn(route, channel->second);
  Input &input = routes[route].in(Port::West);
  const int64_t words = std::min(channel->second, input.free());
  if (words == 0)
    return;
  channel->second -= words;
  Token token;
  token.count = words;
  input.push(token);
  agenda.wakeRoute(route);
}

/// Passes on as many of the first words as all that follow have room for, or a
/// control wavelet; false: nothing can go on.
bool Fabric::passFirst(size_t index) {
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
  const bool delivers =
      route.transmits(Port::Ramp) &&
      !(launchWavelets > 0 && colors[index] == program.launch_color() &&
        kinds[route.cell].dropsLaunches);
  if (delivers && (words || depths.strict))
    limit(route.inbox);
  for (Port port : {Port::North, Port::South, Port::East, Port::West}) {
    if (!route.transmits(port))
      continue;
    const auto [to, into] = route.links[size_t(port)];
    if (to == none && port == Port::East && words && east.count(index))
      continue;
    if (to == none)
      throw NotUnderstood{"words of color " + std::to_string(colors[index]) +
                          " that leave the mesh or meet no route"};
    limit(routes[to].in(into));
  }
  if (passed.count == 0)
    return false;
  agenda.spend(1);
  input.pop(passed.count);
  if (route.receive == Port::Ramp)
    agenda.wakeCell(route.cell);
  else if (input.from != none)
    agenda.wakeRoute(input.from);
  else
    enter(index);
  if (delivers && words) {
    if (kinds[route.cell].peClass == none)
      throw NotUnderstood{"words delivered to PEs without code"};
    route.inbox.count += passed.count;
    agenda.wakeCell(route.cell);
  }
  // It goes where the switch stands, then the switch acts.
  const unsigned ways = route.transmit;
  if (!words)
    route.act(passed);
  for (Port port : {Port::North, Port::South, Port::East, Port::West}) {
    if (!(ways >> unsigned(port) & 1))
      continue;
    const auto [to, into] = route.links[size_t(port)];
    if (to == none) {
      east.at(index) -= passed.count;
      continue;
    }
    routes[to].in(into).push(passed);
    agenda.wakeRoute(to);
  }
  return true;
}

void Fabric::requireRead(const std::string &who) const {
  for (size_t i = 0; i < routes.size(); ++i)
    if (hasWord(i) ||
        std::any_of(routes[i].inputs.begin(), routes[i].inputs.end(),
                    [](const Input &input) { return input.count > 0; }))
      throw NotUnderstood{"words of color " + std::to_string(colors[i]) +
                          " that " + who + " unread"};
}

std::string Fabric::describeHostWait() const {
  for (const auto &[route, words] : east)
    if (words < 0)
      throw NotUnderstood{"more words of color " +
                          std::to_string(colors[route]) +
                          " than the host takes"};
    else if (words > 0)
      return "the host waits in row " +
             std::to_string(kinds[routes[route].cell].y) + " for " +
             std::to_string(words) + " more words of color " +
             std::to_string(colors[route]) + ", which nobody sends";
  return "";
}

} // namespace wsec::runtime::tokens
