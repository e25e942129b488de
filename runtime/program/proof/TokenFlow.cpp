// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Words that flow on until somebody takes them, as many as nothing holds up, in
// one move.
//
//   sender ---> router ---> router ---> takes 7 more
//                  `------> sends on what it takes ---> takes 5 more
//
// Five words may go from the sender to both ends, and those that wait in queues
// between them before these. To let them go one by one comes to the same.
#include "runtime/program/proof/TokenProgress.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace wsec::runtime::tokens {

static constexpr int64_t unlimited = std::numeric_limits<int64_t>::max();
/// Routers and PEs in a row that are looked at: more take too much stack.
static constexpr unsigned deepest = 4096;

/// How many more words may come in by a port, behind those that wait there.
int64_t Fabric::canFlow(size_t index, Port port, unsigned depth) const {
  const Route &route = routes[index];
  if (route.receive != port || depth > deepest ||
      (launchWavelets > 0 && colors[index] == program.launch_color()))
    return 0;
  agenda.spend(1);
  int64_t least = unlimited;
  if (route.transmits(Port::Ramp))
    least = canTake(index, depth + 1);
  for (Port way : {Port::North, Port::South, Port::East, Port::West}) {
    if (least == 0 || !route.transmits(way))
      continue;
    const auto [to, into] = route.links[size_t(way)];
    if (to != none)
      least = std::min(least, canFlow(to, into, depth + 1));
    else if (way != Port::East || !east.count(index))
      return 0;
  }
  const Input &input = route.in(port);
  if (!input.tokens.empty() &&
      (input.tokens.size() > 1 || input.tokens.front().kind != Token::Words))
    return 0;
  return std::max<int64_t>(0, least - input.count);
}

/// How many more words that come up the ramp are taken, behind those that wait.
int64_t Fabric::canTake(size_t index, unsigned depth) const {
  Progress *taker = takers[index];
  if (!taker || !taker->waitsForWords())
    return 0;
  int64_t most = unlimited;
  if (taker->out != none) {
    if (std::exchange(taker->looking, true))
      return 0; // a ring
    most = canFlow(taker->out, Port::Ramp, depth + 1);
    taker->looking = false;
  }
  return std::max<int64_t>(0, taker->takes(most) - routes[index].inbox.count);
}

/// Lets so many come in by a port, if not more than can.
void Fabric::flow(size_t index, Port port, int64_t words) {
  if (words == 0)
    return;
  Route &route = routes[index];
  Input &input = route.in(port);
  words += std::exchange(input.count, 0);
  input.tokens.clear();
  for (Port way : {Port::North, Port::South, Port::East, Port::West}) {
    if (!route.transmits(way))
      continue;
    const auto [to, into] = route.links[size_t(way)];
    if (to != none)
      flow(to, into, words);
    else
      east.at(index) -= words;
  }
  if (!route.transmits(Port::Ramp))
    return;
  Progress &taker = *takers[index];
  const int64_t sent =
      taker.takeAtOnce(words + std::exchange(route.inbox.count, 0));
  if (taker.out != none)
    flow(taker.out, Port::Ramp, sent);
  if (taker.finished())
    agenda.wakeCell(route.cell);
}

} // namespace wsec::runtime::tokens
