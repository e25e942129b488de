// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/program/proof/PhaseGraph.h"
#include "runtime/program/proof/Behaviours.h"
#include "runtime/program/proof/PhaseGroup.h"

#include <algorithm>
#include <array>
#include <map>

namespace wsec::runtime {

namespace {

using program::Port;

/// A set that is mostly told what it has: sorted now and then.
class NodeSet {
public:
  void insert(size_t node) {
    if (std::binary_search(nodes.begin(), nodes.begin() + ptrdiff_t(sorted),
                           node))
      return;
    nodes.push_back(node);
    if (nodes.size() > 2 * sorted + 32)
      sort();
  }
  void sort() { // before it is read
    std::sort(nodes.begin(), nodes.end());
    nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
    sorted = nodes.size();
  }
  const std::vector<size_t> &list() const { return nodes; }

private:
  std::vector<size_t> nodes;
  size_t sorted = 0; // so many
};

/// What the ops of microthreads do with their words, in any PE.
enum Receivers : unsigned { Phases = 1, Microthreads = 2 };

class PhaseGraph {
public:
  PhaseGraph(const FabricRoutine &routine, const Handovers &handovers,
             const AxisScalars &scalars, size_t launchRoom)
      : routine(routine), handovers(handovers), scalars(scalars),
        launchRoom(launchRoom), sets(routine.ops.size()),
        groups(routine.ops.size()),
        nodes(2 * routine.ops.size() + launchCount()) {
    for (const auto &[color, ops] : handovers.fromHost)
      hostRelays.insert(ops.begin(), ops.end());
  }

  void order() {
    findFills();
    form();
    for (const auto &[handover, lines] : handovers.pairs)
      note(handover, lines);
    for (size_t i : hostRelays)
      noteHost(i);
    for (size_t i = 0; i < routine.ops.size(); ++i)
      if (sets.find(i) == i)
        checkGroup(i);
    walkAll();
    sort();
  }

private:
  // A phase of main threads is the node of its first op. A group of
  // microthreads has a node where it begins and one where it has ended. A
  // launch has one, when its wavelet has come up all ramps.
  size_t beginOf(size_t op) { return sets.find(op); }
  size_t endOf(size_t op) { return routine.ops.size() + sets.find(op); }
  size_t launchNode(size_t launch) const {
    return 2 * routine.ops.size() + launch;
  }
  size_t launchCount() const {
    return launchRoom > 0 ? routine.launches.size() : 0;
  }
  void before(size_t a, size_t b) { nodes[a].insert(b); }

  void findFills();
  void form();
  void note(const Handover &handover, const LinkLines &lines);
  void checkPace(size_t op) const;
  void noteHost(size_t op);
  void checkGroup(size_t op);
  void walkAll();
  void sort(); ///< or name a cycle
  std::string nodeName(size_t node) const;
  [[noreturn]] void nameCycle(const std::vector<size_t> &missing) const;

  const FabricOp &op(size_t i) const { return routine.ops[i]; }
  /// Ops of main threads, and fills, are phases.
  bool isPhase(size_t i) const { return op(i).main() || fills.count(i); }
  std::string name(size_t i) const;
  [[noreturn]] void give(size_t i, const std::string &what) const {
    throw NotUnderstood{name(i) + " " + what};
  }

  friend class Walk;
  const FabricRoutine &routine;
  const Handovers &handovers;
  const AxisScalars &scalars;
  const size_t launchRoom;
  OpSets sets;
  std::set<size_t> hostRelays;
  std::set<size_t> fills; ///< microthreads that only hear others' multicasts
  std::vector<PhaseGroup> groups; ///< by first op
  /// By op and color: who chooses one by its place may have others on each.
  std::map<std::pair<size_t, int64_t>, unsigned> receivers;
  std::vector<NodeSet> nodes; ///< and what comes after each
};

/// One behaviour, from statement to statement.
class Walk {
public:
  Walk(PhaseGraph &graph) : graph(graph) {}

  void take(size_t launch);
  void run(size_t op, const Happening &here);
  void await(unsigned threads);
  void end() const;

private:
  void runMain(size_t op);
  void issue(size_t op);
  void useColor(size_t op, int64_t color, std::map<int64_t, size_t> &users);
  void checkTree(size_t op, int64_t out);
  struct Issued {
    size_t op;
    std::set<size_t> before; ///< it
  };
  bool awaited(size_t op) const {
    const std::vector<Issued> &open = issued[size_t(graph.op(op).thread())];
    return std::none_of(open.begin(), open.end(),
                        [&](const Issued &each) { return each.op == op; });
  }

  PhaseGraph &graph;
  /// Nodes that come before what the main thread does, but those that come
  /// before another of these.
  std::set<size_t> before;
  std::array<std::vector<Issued>, 8> issued; ///< since an await, by thread
  std::map<int64_t, size_t> senders, hearers;
  struct Tree {
    size_t op;
    int64_t out;
    unsigned receivers;
  };
  std::map<size_t, Tree> trees; ///< by group
};

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

std::string PhaseGraph::name(size_t i) const {
  const FabricOp &that = op(i);
  std::string text = "statement " + std::to_string(that.statement);
  std::string turns;
  for (const LoopTurn &loop : that.turns)
    turns += (turns.empty() ? "" : ".") + std::to_string(loop.turn);
  if (!turns.empty())
    text += ", turn " + turns;
  auto colors = [&](const char *what, const std::set<int64_t> &list) {
    const char *separator = what;
    for (int64_t color : list) {
      text += separator + std::to_string(color);
      separator = "/";
    }
  };
  colors(" (from color ", that.inColors);
  colors(that.in ? " to color " : " (to color ", that.outColors);
  return text + ")";
}

/// A microthread that sends nothing and hears a multicast of microthreads, or
/// words of the host, meets them like a main thread.
void PhaseGraph::findFills() {
  for (const auto &[handover, lines] : handovers.pairs)
    if (!op(handover.sender).main() && !op(handover.receiver).main() &&
        !op(handover.receiver).out &&
        (!handover.link || hostRelays.count(handover.sender)))
      fills.insert(handover.receiver);
}

/// Joins what is one phase or one chain, and D2 for main threads.
void PhaseGraph::form() {
  for (const auto &[handover, lines] : handovers.pairs) {
    const FabricOp &from = op(handover.sender), &to = op(handover.receiver);
    if (from.main() != to.main() || fills.count(handover.receiver))
      continue;
    if (!handover.link)
      give(handover.receiver, from.main()
                                  ? "hears a multicast of main threads"
                                  : "hears a multicast of microthreads");
    if (from.main() && !handover.whole)
      give(handover.receiver,
           "hears parts of what an op of main threads sends");
    sets.join(handover.sender, handover.receiver);
  }
  for (auto [a, b] : handovers.together) {
    if (op(a).main() != op(b).main())
      give(std::max(a, b), "and a microthread elsewhere hear the same words");
    sets.join(a, b);
  }
  // Microthreads that feed one phase in turn.
  std::map<std::pair<size_t, int>, size_t> feeders;
  for (const auto &[handover, lines] : handovers.pairs) {
    const FabricOp &from = op(handover.sender);
    if (from.main() || !isPhase(handover.receiver))
      continue;
    auto [at, isNew] = feeders.try_emplace(
        {sets.find(handover.receiver), from.thread()}, handover.sender);
    if (!isNew)
      sets.join(at->second, handover.sender);
  }
}

/// An op that receives and sends does so in turn.
void PhaseGraph::checkPace(size_t i) const {
  const FabricOp &that = op(i);
  if (!that.in || !that.out || that.oneForOne())
    return;
  if (!hostRelays.count(i) || that.in->depth() != that.out->depth())
    give(i, "does not send one word for each that it receives");
}

/// D2 to D4: who may hear whom.
void PhaseGraph::note(const Handover &handover, const LinkLines &lines) {
  size_t sender = handover.sender, receiver = handover.receiver;
  const FabricOp &from = op(sender), &to = op(receiver);
  checkPace(sender);
  checkPace(receiver);
  if (from.main() == isPhase(receiver))
    groups[sets.find(receiver)].add(handover.direction, lines);
  if (!from.main())
    receivers[{sender, handover.color}] |=
        isPhase(receiver) ? Phases : Microthreads;
  if (from.main() && !to.main()) {
    if (to.out)
      give(receiver, "is a microthread that hears a main thread and sends");
    groups[sets.find(receiver)].sink = true;
    groups[sets.find(receiver)].exchanges.insert(sets.find(sender));
  }
  if (!from.main() && isPhase(receiver)) {
    if (to.out)
      give(receiver, "is of a main thread, hears a microthread and sends");
    groups[sets.find(sender)].exchanges.insert(sets.find(receiver));
  }
}

void PhaseGraph::noteHost(size_t i) {
  if (op(i).main())
    give(i, "is of a main thread and hears the host");
  groups[sets.find(i)].hearsHost = true;
  checkPace(i);
}

/// D2 to D4: the links of a group.
void PhaseGraph::checkGroup(size_t first) {
  const PhaseGroup &group = groups[first];
  const bool alongRows = group.has(Port::East) || group.has(Port::West);
  const bool alongColumns = group.has(Port::North) || group.has(Port::South);
  const bool main = op(first).main();
  if (group.bothWays(Port::East, Port::West) ||
      group.bothWays(Port::North, Port::South) ||
      (main && alongRows && alongColumns))
    give(first, "and its neighbours send to each other both ways");
  if (group.sink && (!group.directions.empty() || group.hearsHost))
    give(first, "hears main threads and others");
  if (group.hearsHost && !group.directions.empty())
    give(first, "hears the host and other microthreads");
  if (main)
    return;
  before(beginOf(first), endOf(first));
  for (size_t phase : group.exchanges) {
    before(beginOf(first), phase);
    before(phase, endOf(first));
  }
}

//===----------------------------------------------------------------------===//
// Walks
//===----------------------------------------------------------------------===//

void PhaseGraph::walkAll() {
  for (size_t launch = 1; launch < launchCount(); ++launch)
    before(launchNode(launch - 1), launchNode(launch));
  for (const Behaviour &behaviour : behavioursOf(routine, scalars)) {
    Walk walk(*this);
    size_t launch = 0;
    for (size_t i = 0; i < behaviour.size(); ++i) {
      for (; launch < launchCount() && routine.launches[launch] <= i; ++launch)
        walk.take(launch);
      const FabricEvent &event = routine.events[i];
      if (behaviour[i].happens && event.awaits)
        walk.await(event.awaits);
      else if (behaviour[i].happens)
        walk.run(event.op, behaviour[i]);
    }
    for (; launch < launchCount(); ++launch)
      walk.take(launch);
    walk.end();
  }
}

/// D9: the PE is idle, and takes a launch wavelet, which makes room for
/// another.
void Walk::take(size_t launch) {
  const size_t next = launch + graph.launchRoom;
  if (next < graph.launchCount())
    for (size_t earlier : before)
      graph.before(earlier, graph.launchNode(next));
  // What comes after it comes after those before it.
  if (launch > 0)
    before.erase(graph.launchNode(launch - 1));
  before.insert(graph.launchNode(launch));
}

void Walk::run(size_t op, const Happening &here) {
  if (here.in >= 0)
    useColor(op, here.in, hearers);
  if (here.out >= 0)
    useColor(op, here.out, senders);
  if (graph.op(op).main())
    return runMain(op);
  issue(op);
  checkTree(op, here.out);
}

/// D5: one phase after the other.
void Walk::runMain(size_t op) {
  size_t phase = graph.beginOf(op);
  for (size_t earlier : before)
    graph.before(earlier, phase);
  before = {phase};
}

/// D6: after what the main thread did, and after what the microthread did:
/// until that has ended the main thread waits, or the run ends otherwise.
void Walk::issue(size_t op) {
  await(1u << graph.op(op).thread());
  // Parts of a chain may be awaited one by one: their words are in order.
  for (size_t earlier : before)
    if (earlier != graph.endOf(op))
      graph.before(earlier, graph.beginOf(op));
  issued[size_t(graph.op(op).thread())].push_back({op, before});
}

/// D6: what comes next waits until they have ended.
void Walk::await(unsigned awaited) {
  for (size_t i = 0; i < issued.size(); ++i) {
    if (!(awaited >> i & 1))
      continue;
    for (const Issued &each : issued[i]) {
      // They come before its begin.
      for (size_t earlier : each.before)
        before.erase(earlier);
      before.insert(graph.endOf(each.op));
    }
    issued[i].clear();
  }
}

void Walk::end() const {
  for (const std::vector<Issued> &open : issued)
    if (!open.empty())
      graph.give(open.front().op, "is never awaited");
}

/// D7: a color is used by one thread at a time.
void Walk::useColor(size_t op, int64_t color,
                    std::map<int64_t, size_t> &users) {
  auto [at, isNew] = users.try_emplace(color, op);
  const FabricOp &earlier = graph.op(at->second);
  if (!isNew && earlier.thread() != graph.op(op).thread() && !earlier.main() &&
      !awaited(at->second))
    graph.give(op, "uses a color that a microthread still uses");
  at->second = op;
}

/// D3: all that a PE's part of a chain does is to send on one color, to
/// receivers of one kind; or to receive.
void Walk::checkTree(size_t op, int64_t out) {
  const unsigned receivers = graph.receivers[{op, out}];
  auto [at, isNew] =
      trees.try_emplace(graph.beginOf(op), Tree{op, out, receivers});
  if (isNew)
    return;
  Tree &tree = at->second;
  if (graph.op(tree.op).thread() != graph.op(op).thread())
    graph.give(op, "is part of a chain that another microthread is part of");
  if (tree.out != out)
    graph.give(op, "and another part of its chain send on two colors");
  tree.receivers |= receivers;
  if (tree.receivers == (Phases | Microthreads))
    graph.give(op, "is heard by main threads and by microthreads");
}

//===----------------------------------------------------------------------===//
// Order
//===----------------------------------------------------------------------===//

void PhaseGraph::sort() {
  size_t ops = routine.ops.size();
  auto exists = [&](size_t node) {
    if (node >= 2 * ops)
      return true;
    size_t i = node % ops;
    return sets.find(i) == i && (node < ops || !op(i).main());
  };
  std::vector<size_t> left(nodes.size(), 0);
  for (NodeSet &after : nodes) {
    after.sort();
    for (size_t node : after.list())
      ++left[node];
  }
  std::vector<size_t> ready;
  size_t count = 0;
  for (size_t node = 0; node < nodes.size(); ++node)
    if (exists(node)) {
      ++count;
      if (left[node] == 0)
        ready.push_back(node);
    }
  for (size_t i = 0; i < ready.size(); ++i)
    for (size_t after : nodes[ready[i]].list())
      if (--left[after] == 0)
        ready.push_back(after);
  if (ready.size() < count)
    nameCycle(left);
}

std::string PhaseGraph::nodeName(size_t node) const {
  const size_t ops = routine.ops.size();
  return node < 2 * ops ? name(node % ops)
                        : "launch wavelet " + std::to_string(node - 2 * ops);
}

/// Some cycle of nodes that are `left`.
void PhaseGraph::nameCycle(const std::vector<size_t> &left) const {
  // Every node that is left comes after one that is.
  std::vector<size_t> before(nodes.size());
  for (size_t node = 0; node < nodes.size(); ++node)
    for (size_t after : nodes[node].list())
      if (left[node] > 0)
        before[after] = node;
  size_t at = 0;
  while (left[at] == 0)
    ++at;
  std::set<size_t> seen;
  while (seen.insert(at).second)
    at = before[at];
  std::string text;
  size_t start = at;
  do {
    text = nodeName(at) + ", before " + text;
    at = before[at];
  } while (at != start);
  throw NotUnderstood{"phases wait for one another in a cycle: " + text +
                      "the first"};
}

} // namespace

void orderPhases(const FabricRoutine &routine, const Handovers &handovers,
                 const AxisScalars &scalars, size_t launchRoom) {
  PhaseGraph(routine, handovers, scalars, launchRoom).order();
}

} // namespace wsec::runtime
