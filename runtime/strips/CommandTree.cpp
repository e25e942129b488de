// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/strips/CommandTree.h"

#include "runtime/engine/Launches.h"
#include "runtime/engine/Mesh.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

namespace wsec::runtime {

CommandTree::CommandTree(const program::Program &program,
                         const RouterTables &router,
                         const std::vector<std::unique_ptr<Strip>> &strips,
                         const std::vector<int> &stripOf)
    : ofStrip(strips.size()) {
  const program::Machine &machine = *program.machine();
  const int color = program.launch_color(), width = router.width();
  const int hop = hopCycles(machine);
  Flow flow = router.trace(color, {0, 0}, program::Port::West);
  auto takes = [&](int pe) {
    const int strip = stripOf[size_t(pe)];
    return strip >= 0 && !strips[size_t(strip)]->code.routines.empty();
  };
  requireCommands(program, router, flow, takes);
  for (const auto &strip : strips)
    room.push_back(size_t(inboxWords(machine, strip->code, color)));

  auto index = [&](Coordinate pe) { return pe.y * width + pe.x; };
  std::sort(flow.delivered.begin(), flow.delivered.end(),
            [&](const Arrival &a, const Arrival &b) {
              return std::pair(a.hops, index(a.pe)) <
                     std::pair(b.hops, index(b.pe));
            });
  std::vector<int> nodeOf(stripOf.size(), -1), hopsOf;
  std::map<std::pair<int, int>, int> known; // by strip and node above
  for (const Arrival &arrival : flow.delivered) {
    int above = -1;
    for (Coordinate at = arrival.pe; above < 0;) {
      at = neighbour(at, router.receive(color, at));
      if (at.x < 0)
        break; // the edge
      above = nodeOf[size_t(index(at))];
    }
    const int strip =
        takes(index(arrival.pe)) ? stripOf[size_t(index(arrival.pe))] : -1;
    int &its = nodeOf[size_t(index(arrival.pe))];
    if (above >= 0 && nodes[size_t(above)].strip == strip) {
      its = above;
    } else if (const auto found = known.find({strip, above});
               found != known.end()) {
      its = found->second;
    } else {
      its = int(nodes.size());
      known.emplace(std::pair(strip, above), its);
      const int links =
          above < 0 ? arrival.hops : arrival.hops - hopsOf[size_t(above)];
      nodes.push_back({above,
                       strip,
                       double(links) * hop,
                       0,
                       size_t(links) * size_t(routerWords(machine) + hop - 1),
                       {}});
      hopsOf.push_back(arrival.hops);
      if (above >= 0)
        nodes[size_t(above)].below.push_back(its);
      if (strip >= 0)
        ofStrip[size_t(strip)].push_back(its);
    }
    nodes[size_t(its)].last = (arrival.hops - hopsOf[size_t(its)]) * hop +
                              double(machine.ramp_cycles());
  }
}

Commands::Commands(const CommandTree &tree, Scheduler &scheduler, size_t words)
    : tree(tree), scheduler(scheduler), words(words), passed(tree.nodes.size()),
      taken(tree.room.size()), waiting(tree.room.size()) {
  for (size_t strip = 0; strip < taken.size(); ++strip)
    taken[strip].kept.resize(tree.room[strip] + 1);
  for (size_t node = 0; node < passed.size(); ++node) {
    const CommandTree::Node &its = tree.nodes[node];
    // As far as it is ahead of a node below, behind that above, or ahead of
    // its strip.
    size_t most = its.room;
    for (int below : its.below)
      most = std::max(most, tree.nodes[size_t(below)].room);
    if (its.strip >= 0)
      most = std::max(most, tree.room[size_t(its.strip)]);
    passed[node].kept.resize(most + 2);
  }
  advanceAll();
}

/// Keeps so many from now on.
void Commands::Times::keep(size_t most) {
  std::vector<Time> more(most);
  for (size_t i = 1; i <= std::min(count, kept.size()); ++i)
    more[(count - i) % most] = at(count - i);
  kept = std::move(more);
}

void Commands::Times::skip(size_t words, double cycles) {
  std::rotate(kept.rbegin(), kept.rbegin() + ptrdiff_t(words % kept.size()),
              kept.rend());
  for (Time &time : kept)
    time.when += cycles;
  count += words;
}

/// Finds when the next word passes a node; false: that is not known yet.
bool Commands::advance(size_t node) {
  const CommandTree::Node &its = tree.nodes[node];
  Times &mine = passed[node];
  const size_t word = mine.count;
  if (word == words)
    return false;
  Time time{double(word), true};
  auto awaits = [&](const Time &other, double cycles) {
    if (other.when + cycles >= time.when)
      time = {other.when + cycles, other.first};
  };
  if (its.above >= 0) {
    const Times &above = passed[size_t(its.above)];
    if (above.count <= word)
      return false;
    awaits(above.at(word), its.cycles);
  }
  if (word > 0)
    awaits(mine.at(word - 1), 1);
  if (its.strip >= 0) {
    const size_t room = tree.room[size_t(its.strip)];
    const Times &strip = taken[size_t(its.strip)];
    if (word >= room && word - room < strip.count)
      awaits(strip.at(word - room), 1);
    else if (word >= room && !released)
      return false;
  }
  for (int below : its.below) {
    const CommandTree::Node &other = tree.nodes[size_t(below)];
    if (word < other.room)
      continue;
    if (passed[size_t(below)].count <= word - other.room)
      return false;
    awaits(passed[size_t(below)].at(word - other.room),
           std::max(1.0, other.cycles));
  }
  mine.add(time);
  return true;
}

/// Finds out what follows from a change of some nodes.
void Commands::advanceFrom(std::vector<int> changed) {
  while (!changed.empty()) {
    const auto node = size_t(changed.back());
    changed.pop_back();
    bool any = false;
    while (advance(node))
      any = true;
    if (!any)
      continue;
    const CommandTree::Node &its = tree.nodes[node];
    if (its.above >= 0)
      changed.push_back(its.above);
    changed.insert(changed.end(), its.below.begin(), its.below.end());
    if (its.strip >= 0 && waiting[size_t(its.strip)])
      scheduler.wake(*std::exchange(waiting[size_t(its.strip)], nullptr));
  }
}

std::optional<Commands::Time> Commands::arrival(int strip, size_t word,
                                                Actor &reader) {
  std::lock_guard<SpinLock> guard(lock);
  Time last;
  for (int node : tree.ofStrip[size_t(strip)]) {
    const Times &its = passed[size_t(node)];
    if (its.count <= word) {
      waiting[size_t(strip)] = &reader;
      return {};
    }
    const Time &time = its.at(word);
    const double there = time.when + tree.nodes[size_t(node)].last;
    if (there > last.when)
      last = {there, time.first};
  }
  return last;
}

void Commands::take(int strip, double when) {
  std::lock_guard<SpinLock> guard(lock);
  taken[size_t(strip)].add({when});
  if (!noted.empty())
    noted[size_t(strip)].push_back(when);
  advanceFrom(tree.ofStrip[size_t(strip)]);
}

std::vector<std::vector<double>> Commands::noteTaken(bool notes) {
  return std::exchange(
      noted, std::vector<std::vector<double>>(notes ? taken.size() : 0));
}

std::vector<double> Commands::lastTaken() const {
  std::vector<double> all;
  for (const Times &its : taken)
    for (size_t i = 1; i <= its.kept.size(); ++i)
      all.push_back(i <= its.count ? its.at(its.count - i).when : 0);
  return all;
}

void Commands::skip(size_t count, double cycles) {
  for (Times &times : taken)
    times.skip(count, cycles);
  for (Times &times : passed) {
    times.skip(count, cycles);
    times.count = std::min(times.count, words);
  }
}

void Commands::advanceAll() {
  std::vector<int> all(passed.size());
  std::iota(all.begin(), all.end(), 0);
  advanceFrom(std::move(all));
}

bool Commands::release() {
  const bool any = std::any_of(waiting.begin(), waiting.end(),
                               [](Actor *reader) { return reader; });
  if (!any || std::exchange(released, true))
    return false;
  for (Times &times : passed)
    times.keep(words); // Nothing says any more which will be asked for.
  advanceAll();
  return true;
}

} // namespace wsec::runtime
