// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How words move. A word leaves a router when it has come, when the one before
// it is gone and when there is room for it; the room is that of the whole way
// to the next station, whose words were taken at known times or are still
// there.
#include "runtime/program/Errors.h"
#include "runtime/program/Ports.h"
#include "runtime/streams/Network.h"

#include <algorithm>

namespace wsec::runtime::streams {

using program::Port;

// ---------------------------------------------------------------- PEs

Cycle Network::roomAt(const pe::Mailbox &box, int64_t further) const {
  const auto &outbox = static_cast<const Station &>(box);
  const int64_t before = outbox.delivered + further - outbox.depth;
  if (before < 0)
    return 0;
  return before < outbox.consumed ? outbox.taken.at(before) + 1 : never;
}

void Network::send(pe::Mailbox &box, const Word &word) {
  auto &outbox = static_cast<Station &>(box);
  outbox.queue.push(word);
  Word &sent = outbox.queue.back();
  // Nothing overtakes, even if it was underway for a shorter time.
  sent.ready = std::max(sent.ready, outbox.lastReady + 1);
  outbox.lastReady = sent.ready;
  ++outbox.delivered;
  enqueue(outboxes[outbox.color][size_t(outbox.pe)] - 1);
}

Word Network::receive(pe::Mailbox &inbox, Cycle when) {
  const Word word = inbox.queue.front();
  take(static_cast<Station &>(inbox), when);
  return word;
}

void Network::drop(pe::Mailbox &box, int64_t words, Cycle since) {
  auto &inbox = static_cast<Station &>(box);
  inbox.toDrop = words;
  inbox.dropsFrom = since;
  dropArrived(inbox);
}

/// Takes what is to be dropped of the words that have come or are underway.
void Network::dropArrived(Station &inbox) {
  for (; inbox.toDrop > 0 && !inbox.queue.empty(); --inbox.toDrop) {
    take(inbox, std::max(inbox.takeable(), inbox.dropsFrom));
    if (observer)
      observer->received({&inbox.pe, 1}, inbox.color, 1);
  }
  if (inbox.toDrop == 0 && std::exchange(inbox.listens, false))
    agenda.enter(inbox.lastTaken, uint32_t(inbox.pe));
}

void Network::advanceSwitch(int pe, int color, Cycle when) {
  Station &outbox = this->outbox(pe, color);
  if (outbox.node < 0)
    return;
  if (!outbox.queue.empty()) {
    ++outbox.queue.back().advances;
    return;
  }
  const auto node = uint32_t(outbox.node);
  if (nodes[node].state.advance())
    moved(node, outbox.lastTaken >= when ? outbox.lastTaken + 1 : when);
  settle();
}

void Network::setRoute(int pe, int color, Port receive, uint8_t transmit,
                       Cycle when) {
  const uint32_t node = nodeAt(pe, color);
  nodes[node].state.set(receive, transmit);
  moved(node, when);
  settle();
}

// ---------------------------------------------------------------- work

void Network::start(Station &station) {
  // Stations never move in memory; their numbers are those of the deque.
  if (station.kind == Station::Outbox)
    enqueue(outboxes[station.color][size_t(station.pe)] - 1);
  else
    enqueue(gateAt(station.pe, station.color, station.port));
  settle();
}

void Network::enqueue(uint32_t station) {
  if (stations[station].queued)
    return;
  stations[station].queued = true;
  work.push_back(station);
}

void Network::settle() {
  if (working)
    return;
  working = true;
  while (!work.empty()) {
    const uint32_t station = work.back();
    work.pop_back();
    stations[station].queued = false;
    pass(station);
  }
  working = false;
}

void Network::take(Station &station, Cycle when) {
  const Cycle ready = station.queue.front().ready;
  station.queue.pop();
  station.noteTaken(ready, when);
  lastMove = std::max(lastMove, when);
  wakeSenders(station, when);
}

/// Who waits for room asks again after words were taken.
void Network::wakeSenders(Station &station, Cycle when) {
  if (std::exchange(station.senderWaits, false)) {
    if (station.kind == Station::WestEdge)
      agenda.enterEdge(when + 1, uint32_t(coordinate(station.pe).y));
    else
      agenda.enter(when + 1, uint32_t(station.pe));
  }
  for (uint32_t waiter : station.waiters)
    enqueue(waiter);
  station.waiters.clear();
}

/// A station is to be looked at when more has been taken from another.
void Network::await(Station &to, uint32_t station) {
  if (!std::count(to.waiters.begin(), to.waiters.end(), station))
    to.waiters.push_back(station);
}

/// Ways through a switch are found anew.
void Network::retrace(Node &node) {
  for (uint32_t station : node.dependents)
    stations[station].way->valid = false;
  node.dependents.clear();
}

/// A switch has another position.
void Network::moved(uint32_t index, Cycle since) {
  Node &node = nodes[index];
  node.since = since;
  retrace(node);
  for (uint32_t station : node.stations)
    enqueue(station);
}

// ---------------------------------------------------------------- one word

/// The word of a station that must have been taken before one more can start
/// on a way with room for `wire` words before the last router; negative: none.
int64_t Network::heldUpBy(const Station &to, int64_t wire) const {
  if (to.filter < 0)
    return to.delivered - wire - to.depth;
  // What is dropped takes no room beyond the last router.
  const RampFilter &filter = filters[size_t(to.filter)];
  const int64_t passing = filter.arrived - wire;
  if (passing < 0)
    return -1;
  const int64_t kept =
      passing == 0
          ? 0
          : filter.keptUpTo[size_t(passing - 1) % filter.keptUpTo.size()];
  return kept - to.depth;
}

/// Whether there is room for a word at all ends, and from when on. If not, the
/// station is looked at again when more has been taken.
bool Network::credit(uint32_t index, Way &way, Cycle &when) {
  for (const Way::End &end : way.ends) {
    Station &to = stations[end.to];
    if (to.kind == Station::EastEdge)
      continue;
    const int64_t before = heldUpBy(to, end.wire);
    if (before < 0)
      continue;
    if (before >= to.consumed) {
      await(to, index);
      return false;
    }
    when = std::max(when, to.taken.at(before) + end.stages);
  }
  return true;
}

/// Whether all links that begin at the first router are free in a cycle.
bool Network::slotsFree(const Way &way, Cycle when) const {
  return std::all_of(
      way.links.begin(), way.links.end(), [&](const Way::Link &link) {
        return link.distance > 0 ||
               shared[size_t(link.link)].slots.next(when) == when;
      });
}

/// Finds room on links that several colors use: in the same cycle on all that
/// begin at the first router, one after the other later on.
Cycle Network::takeSlots(Way &way, int color, Cycle when) {
  if (way.links.empty())
    return when;
  while (!slotsFree(way, when))
    ++when;
  for (Way::Link &link : way.links) {
    const Cycle undelayed = when + link.distance;
    const Cycle before =
        link.before < 0 ? 0 : way.links[size_t(link.before)].delay;
    SharedLink &its = shared[size_t(link.link)];
    const Cycle slot = its.slots.next(undelayed + before);
    link.delay = slot - undelayed;
    its.slots.take(slot, agenda.now());
    its.color = int16_t(color);
    its.last = std::max(its.last, slot);
  }
  return when;
}

// ---------------------------------------------------------------- turns

/// Whether a word would come to a link within some cycles of one of another
/// color. Then ways to the link end in front of it from now on.
bool Network::meetsOthers(const Way &way, int color, Cycle when) {
  constexpr Cycle near = 8;
  bool meets = false;
  for (const Way::Link &link : way.links) {
    SharedLink &its = shared[size_t(link.link)];
    if (its.contended || its.color < 0 || its.color == color ||
        when + link.distance > its.last + near)
      continue;
    contend(its);
    meets = true;
  }
  return meets;
}

/// Two colors have met on a link: from now on words wait for their turn in
/// front of it.
void Network::contend(SharedLink &link) {
  if (std::exchange(link.contended, true))
    return;
  for (uint32_t station : link.users)
    stations[station].way->valid = false;
  link.users.clear();
}

Network::Turns &Network::turnsAt(int pe) {
  int32_t &at = turnsOf[size_t(pe)];
  if (at < 0) {
    at = int32_t(turns.size());
    turns.emplace_back();
  }
  return turns[size_t(at)];
}

void Network::schedule(Turns &its, int pe, Cycle when) {
  when = std::max(when, its.stepped + 1);
  if (its.wakes <= when)
    return;
  its.wakes = when;
  agenda.enterLate(when, uint32_t(pe));
}

/// Makes a station known to its router, in the order of colors.
void Network::enlist(Turns &its, uint32_t index) {
  its.stations.push_back({&stations[index], index, false});
  std::sort(its.stations.begin(), its.stations.end(),
            [](const Turn &a, const Turn &b) {
              return std::pair(a.station->color, a.index) <
                     std::pair(b.station->color, b.index);
            });
  for (size_t i = 0; i < its.stations.size(); ++i)
    its.stations[i].station->turn = int32_t(i);
}

/// Whether the oldest word of a station that could move at `when` may do so
/// now. If not, its router is looked at again.
bool Network::takesTurn(uint32_t index, Cycle when) {
  Station &from = stations[index];
  Turns &its = turnsAt(from.pe);
  if (from.turn < 0)
    enlist(its, index);
  const Cycle now = agenda.now();
  if (turning == from.pe && when <= now) {
    if ((its.used & from.way->ports) == 0 && slotsFree(*from.way, now)) {
      its.used |= from.way->ports;
      return true;
    }
    when = now + 1;
  }
  its.stations[size_t(from.turn)].wanted = true;
  schedule(its, from.pe, when);
  return false;
}

/// Lets a word of each color pass, beginning with the one after the color that
/// was first to move the last time.
void Network::stepRouter(int pe) {
  Turns &its = turnsAt(pe);
  if (its.wakes > agenda.now())
    return;
  its.wakes = never;
  its.stepped = agenda.now();
  its.used = 0;
  int next = -1;
  for (bool below : {false, true})
    for (Turn &turn : its.stations) {
      const int color = turn.station->color;
      if (!turn.wanted || (color < its.first) != below)
        continue;
      turn.wanted = false;
      turning = pe;
      const bool passed = !turn.station->queue.empty() && passFront(turn.index);
      turning = -1;
      if (!passed)
        continue;
      enqueue(turn.index);
      next = next < 0 ? color + 1 : next;
    }
  its.first = next < 0 ? its.first : next;
  settle();
}

// ---------------------------------------------------------------- one step

void Network::deliver(uint32_t index, Word word, Cycle ready) {
  Station &to = stations[index];
  word.ready = std::max(ready, to.lastReady + 1);
  word.advances = 0;
  lastMove = std::max(lastMove, word.ready - ramp);
  if (to.kind == Station::EastEdge) {
    if (!word.control)
      east.leave(coordinate(to.pe).y, to.color, word, double(word.ready));
    return;
  }
  if (to.kind == Station::Inbox) {
    if (word.control ? word.task < 0
                     : to.filter >= 0 &&
                           !filters[size_t(to.filter)].passes(word.payload))
      return;
    if (to.toDrop == 0 && std::exchange(to.listens, false))
      agenda.enter(word.ready, uint32_t(to.pe));
  } else {
    enqueue(index);
  }
  to.lastReady = word.ready;
  ++to.delivered;
  to.queue.push(word);
  if (to.toDrop > 0)
    dropArrived(to);
}

/// A control wavelet passes a router at `when`, is acted upon, and goes on.
void Network::routeControl(int pe, int color, Word word, Cycle when) {
  const uint8_t ports = transmits(pe, color);
  auto found = nodeOf.find(placeKey(pe, color, Port::Ramp));
  if (found != nodeOf.end()) {
    pe::Switch &state = nodes[found->second].state;
    const pe::Switch before = state;
    word.commands = state.act(word.commands);
    if (before.position != state.position || before.closed != state.closed)
      moved(found->second, when + 1);
  } else if (rule(pe, color)->pop() == program::PopMode::Always) {
    word.commands >>= pe::commandBits;
  }
  for (int i = 0; i < 5; ++i) {
    const auto port = Port(i);
    if (!(ports >> i & 1))
      continue;
    if (port == Port::Ramp) {
      deliver(inboxAt(pe, color), word, when + ramp);
      continue;
    }
    const Coordinate next = neighbour(coordinate(pe), port);
    if (!mesh.contains(next))
      continue; // It ends here: the host takes no control wavelets.
    const int at = mesh.index(next);
    const bool node = isNode(at, color);
    if (!node && !stops(at, color, opposite(port))) {
      routeControl(at, color, word, when + hop);
      continue;
    }
    // It waits in front of each switch until the words before it are past.
    if (node)
      retrace(nodes[nodeAt(at, color)]);
    deliver(gateAt(at, color, opposite(port)), word, when + hop);
  }
}

/// Lets the oldest word of a station pass its router. False: it cannot, yet.
bool Network::passFront(uint32_t index) {
  Station &from = stations[index];
  if (from.queue.empty() && (from.kind != Station::WestEdge || !west(from)))
    return false;
  Cycle when = from.takeable();
  if (from.node >= 0) {
    const Node &node = nodes[size_t(from.node)];
    if (node.state.closed || node.state.receive != from.port)
      return false;
    when = std::max(when, node.since);
  }
  if (!from.way || !from.way->valid)
    trace(index);
  Way &way = *from.way;
  // Whether there is room is asked when its turn may have come.
  if (way.timed && (turning != from.pe || when > agenda.now()))
    return takesTurn(index, when);
  if (!credit(index, way, when))
    return false;
  if (meetsOthers(way, from.color, when))
    return passFront(index);
  if (way.timed && !takesTurn(index, when))
    return false;
  when = takeSlots(way, from.color, way.timed ? agenda.now() : when);
  const Word word = from.queue.front();
  take(from, when);
  if (word.control) {
    routeControl(from.pe, from.color, word, when);
  } else {
    for (const Way::Passage &by : way.passages)
      observer->passed(by.pe, by.port, from.color, 1, Time(when + by.distance),
                       Time(when + by.distance));
    for (const Way::End &end : way.ends) {
      const Cycle delay = end.link < 0 ? 0 : way.links[size_t(end.link)].delay;
      deliver(end.to, word,
              std::max(when, end.notBefore) + delay + end.latency);
    }
  }
  for (int i = 0; i < word.advances; ++i)
    if (from.node >= 0 && nodes[size_t(from.node)].state.advance())
      moved(uint32_t(from.node), when + 1);
  return true;
}

/// Lets the words of a station pass its router.
void Network::pass(uint32_t index) {
  do {
    if (streams(stations[index]))
      stream(index);
  } while (passFront(index));
}

/// Whether the next word passes like any other on a way without branches.
bool Network::streams(const Station &from) const {
  if (!from.way || !from.way->valid || from.queue.empty() || observer)
    return false;
  const Way &way = *from.way;
  if (way.timed || way.ends.size() != 1 || !way.links.empty())
    return false;
  const Station &to = stations[way.ends[0].to];
  return to.kind != Station::EastEdge && to.filter < 0;
}

/// Lets words pass that go the same way, one after the other. What `passFront`
/// does with each, without looking at what stays the same.
void Network::stream(uint32_t index) {
  Station &from = stations[index];
  const Way::End &end = from.way->ends[0];
  Station &to = stations[end.to];
  Cycle since = 0;
  if (from.node >= 0) {
    const Node &node = nodes[size_t(from.node)];
    if (node.state.closed || node.state.receive != from.port)
      return;
    since = node.since;
  }
  const size_t waiting = from.queue.size();
  Cycle firstTaken = never, firstReady = never;
  for (; !from.queue.empty(); from.queue.pop()) {
    Word word = from.queue.front();
    if (word.control || word.advances > 0)
      break;
    Cycle when = std::max({word.ready, from.lastTaken + 1, since});
    if (const int64_t before = to.delivered - end.depth; before >= 0) {
      if (before >= to.consumed) {
        await(to, index);
        break;
      }
      when = std::max(when, to.taken.at(before) + end.stages);
    }
    from.noteTaken(word.ready, when);
    word.ready =
        std::max(std::max(when, end.notBefore) + end.latency, to.lastReady + 1);
    to.lastReady = word.ready;
    ++to.delivered;
    to.queue.push(word);
    firstTaken = std::min(firstTaken, when);
    firstReady = std::min(firstReady, word.ready);
  }
  if (from.queue.size() == waiting)
    return;
  lastMove = std::max({lastMove, from.lastTaken, to.lastReady - ramp});
  wakeSenders(from, firstTaken);
  if (to.kind != Station::Inbox)
    enqueue(end.to);
  else if (to.toDrop > 0)
    dropArrived(to);
  else if (std::exchange(to.listens, false))
    agenda.enter(firstReady, uint32_t(to.pe));
}

std::vector<std::string> Network::describeQueues(int pe) const {
  std::vector<std::string> lines;
  for (const Station &station : stations) {
    if (station.pe != pe || station.queue.empty())
      continue;
    // Of words that the host holds ready only those that have entered.
    size_t words = station.queue.size();
    while (station.kind == Station::WestEdge && words > 0 &&
           station.queue[words - 1].ready > agenda.now())
      --words;
    if (words > 0)
      lines.push_back(
          "color " + std::to_string(station.color) + ": " +
          std::to_string(words) +
          (station.kind == Station::Inbox ? " for the PE" : " at the router"));
  }
  std::sort(lines.begin(), lines.end());
  return lines;
}

std::optional<RouteNow> Network::routeNow(int pe, int color) const {
  const auto node = nodeOf.find(placeKey(pe, color, Port::Ramp));
  if (node != nodeOf.end()) {
    const pe::Switch &state = nodes[node->second].state;
    return RouteNow{state.receive, state.transmit, state.closed};
  }
  const program::RouteRule *found = rule(pe, color);
  if (!found)
    return {};
  const pe::Switch state(found);
  return RouteNow{state.receive, state.transmit, state.closed};
}

void Network::addTo(WaitGraph &graph) const {
  for (const Station &station : stations) {
    if (station.queue.empty() || station.kind == Station::EastEdge)
      continue;
    if (station.kind == Station::Inbox)
      graph.addDelivered(coordinate(station.pe), station.color,
                         station.queue.size());
    else
      graph.addWords(coordinate(station.pe), station.color,
                     station.kind == Station::WestEdge ? Port::West
                                                       : station.port);
  }
}

std::vector<std::pair<int, int>> Network::leftOver() const {
  std::vector<std::pair<int, int>> result;
  for (const Station &station : stations)
    if (!station.queue.empty())
      result.push_back({station.pe, station.color});
  return result;
}

} // namespace wsec::runtime::streams
