// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/program/TokenFabric.h"
#include "runtime/program/Call.h"
#include "runtime/program/Checker.h"
#include "runtime/program/HostWords.h"
#include "runtime/program/Ports.h"

#include <algorithm>

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

static bool contains(const program::Rect &rect, int64_t x, int64_t y) {
  return x >= rect.x0() && x < rect.x1() &&
         (x - rect.x0()) % rect.xstep() == 0 && y >= rect.y0() &&
         y < rect.y1() && (y - rect.y0()) % rect.ystep() == 0;
}

void Fabric::buildPlaces() {
  for (int64_t y : mesh.rows.representative)
    for (int64_t x : mesh.columns.representative) {
      Place &place = kinds.emplace_back();
      place.index = kinds.size() - 1;
      place.x = x;
      place.y = y;
      for (unsigned c = 0; c < program.classes()->size(); ++c)
        for (const program::Rect *rect : *program.classes()->Get(c)->rects())
          if (contains(*rect, x, y))
            place.peClass = c;
      if (place.peClass == none)
        continue;
      const auto *routines =
          program.classes()->Get(unsigned(place.peClass))->routines();
      place.dropsLaunches = !routines || routines->size() == 0;
    }
}

void Fabric::buildRoutes() {
  for (const program::RouteRule *rule : *program.routes()) {
    const program::Rect &rect = *rule->rect();
    for (size_t i = 0; i < kinds.size(); ++i) {
      if (!contains(rect, kinds[i].x, kinds[i].y))
        continue;
      Route route;
      route.cell = i;
      route.rule = rule;
      route.go(rule->initial());
      for (Input &input : route.in)
        input.room = depths.router;
      route.in[size_t(Port::Ramp)].room = depths.out;
      route.inbox.room = depths.in;
      kinds[i].routes[rule->color()] = routes.size();
      routes.push_back(std::move(route));
      colors.push_back(rule->color());
    }
    agenda.steps += int64_t(kinds.size());
  }
  for (size_t i = 0; i < routes.size(); ++i)
    connect(i);
}

/// A word that has nowhere to go ends the run with another error.
void Fabric::connect(size_t index) {
  const Place &place = kinds[routes[index].cell];
  const program::Machine &machine = *program.machine();
  const unsigned transmit = everTransmits(*routes[index].rule);
  for (Port port : {Port::North, Port::South, Port::East, Port::West}) {
    if (!(transmit >> unsigned(port) & 1))
      continue;
    int64_t x = place.x + (port == Port::East) - (port == Port::West);
    int64_t y = place.y + (port == Port::South) - (port == Port::North);
    if (x < 0 || y < 0 || x >= machine.width() || y >= machine.height())
      continue;
    const Place &neighbour = kinds[placeAt(x, y)];
    auto next = neighbour.routes.find(colors[index]);
    if (next == neighbour.routes.end() ||
        !routes[next->second].mayReceive(opposite(port)))
      continue;
    routes[index].next[size_t(port)] = next->second;
    routes[next->second].in[size_t(opposite(port))].from = index;
  }
}

size_t Fabric::routeOf(const Place &place, int64_t color) const {
  auto found = place.routes.find(color);
  if (found == place.routes.end())
    throw NotUnderstood{"words of color " + std::to_string(color) +
                        " in PEs without a route for it"};
  return found->second;
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
      const size_t route =
          routeOf(kinds[placeAt(column, channel->row())], stream.color());
      (in ? west : east)[route] += words;
      enter(route);
    }
  }
}

void Fabric::addCommands() {
  const size_t first = routeOf(kinds[placeAt(0, 0)], program.launch_color());
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
  Input &outbox = routes[index].in[size_t(Port::Ramp)];
  if (outbox.free() == 0)
    return false;
  outbox.push(token);
  agenda.wakeRoute(index);
  return true;
}

void Fabric::advanceSwitch(size_t index) {
  Token mark;
  mark.kind = Token::Advance;
  routes[index].in[size_t(Port::Ramp)].push(mark);
  agenda.wakeRoute(index);
}

/// As many words of the host as there is room for.
void Fabric::enter(size_t route) {
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
    const size_t next = route.next[size_t(port)];
    if (next == none) {
      east.at(index) -= passed.count;
      continue;
    }
    routes[next].in[size_t(opposite(port))].push(passed);
    agenda.wakeRoute(next);
  }
  return true;
}

void Fabric::requireRead(const std::string &who) const {
  for (size_t i = 0; i < routes.size(); ++i)
    if (hasWord(i) ||
        std::any_of(routes[i].in.begin(), routes[i].in.end(),
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
