// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/strips/Datapath.h"

#include <algorithm>

namespace wsec::runtime {

/// One number for each lane, where there is one for all.
static void spread(std::vector<double> &cycles, size_t lanes) {
  if (cycles.size() < lanes)
    cycles.resize(lanes, cycles.front());
}

/// From now on a group begins at a lane.
void Datapath::splitAt(size_t lane) {
  const auto end = std::lower_bound(ends.begin(), ends.end(), lane);
  if (lane == 0 || *end == lane)
    return;
  const auto group = end - ends.begin();
  ends.insert(end, lane);
  for (Owed &its : owed)
    for (std::vector<double> *cycles : {&its.work, &its.there})
      cycles->insert(cycles->begin() + group, (*cycles)[size_t(group)]);
}

/// Neighbours that are owed the same are a group.
void Datapath::joinGroups() {
  size_t last = 0;
  for (size_t group = 1; group < ends.size(); ++group) {
    const bool same =
        std::all_of(owed.begin(), owed.end(), [&](const Owed &its) {
          return its.work[group] == its.work[last] &&
                 its.there[group] == its.there[last];
        });
    last += !same;
    ends[last] = ends[group];
    for (Owed &its : owed) {
      its.work[last] = its.work[group];
      its.there[last] = its.there[group];
    }
  }
  ends.resize(last + 1);
  for (Owed &its : owed) {
    its.work.resize(last + 1);
    its.there.resize(last + 1);
  }
}

void Datapath::forgetOwed() {
  owed.clear();
  ends.assign(1, lanes);
}

/// Adds to what a lane, or each, is owed.
void Datapath::add(std::vector<double> &cycles, int lane, double more) {
  if (lane < 0) {
    for (double &its : cycles)
      its += more;
    return;
  }
  splitAt(size_t(lane));
  splitAt(size_t(lane) + 1);
  cycles[groupOf(lane)] += more;
}

size_t Datapath::groupOf(int lane) const {
  return size_t(std::upper_bound(ends.begin(), ends.end(), size_t(lane)) -
                ends.begin());
}

void Datapath::owe(int thread, int lane, double work, int echo, double apart,
                   double idle) {
  auto its = std::find_if(owed.begin(), owed.end(), [&](const Owed &o) {
    return o.thread == thread && o.echo == echo;
  });
  if (its == owed.end())
    its = owed.insert(its, {thread, echo, apart, idle,
                            std::vector<double>(ends.size()),
                            std::vector<double>(ends.size()), 0});
  add(its->work, lane, work);
  if (echo < 0)
    add(its->there, lane, work);
}

void Datapath::take(int thread, int lane, int color, double count,
                    bool microthread) {
  words.push_back({thread, lane, color, count, microthread});
  if (microthread)
    hear(words.back());
}

/// What sends these words is at work.
void Datapath::hear(const Words &heard) {
  for (Owed &its : owed)
    if (its.echo == heard.color)
      add(its.there, heard.lane, heard.count);
}

void Datapath::taken(int thread) {
  std::erase_if(words, [&](const Words &its) {
    if (its.thread != thread)
      return false;
    if (!its.microthread)
      hear(its);
    for (Owed &other : owed)
      if (its.microthread && other.echo == its.color)
        finish(other);
    return true;
  });
}

/// It has done all that was there.
void Datapath::finish(Owed &its) {
  for (size_t group = 0; group < its.work.size(); ++group) {
    its.work[group] = std::max(0.0, its.work[group] - its.there[group]);
    its.there[group] = 0;
  }
}

void Datapath::receive(int thread, int lane, double begun, double words,
                       const Slowed &slowed) {
  if (slowed.byOne == 1 && slowed.byTwo == 1)
    return;
  double others = 0;
  for (const Owed &its : owed)
    if (its.thread != thread && its.echo < 0)
      others += lane < 0 ? *std::max_element(its.there.begin(), its.there.end())
                         : its.there[groupOf(lane)];
  flows.push_back({thread, begun, words, slowed, worked, 0, others});
}

/// By how many cycles the words of a flow are late, as far as the main thread
/// has worked since they were asked for.
double Datapath::late(const Flow &flow) const {
  const Slowed &slowed = flow.slowed;
  if (flow.late > 0)
    return std::min((computed - flow.before) * flow.late,
                    flow.cycles * (slowed.byOne - 1));
  // While both are at work every second cycle is the main thread's; of the
  // others this PE's words take theirs.
  const double main = worked - flow.before;
  const double sent = 0.5 - slowed.part / slowed.byTwo;
  const double both =
      sent > 0 ? std::min(2 * main, flow.others / sent) : 2 * main;
  const double one =
      (main - both / 2 + flow.others - both * std::max(0.0, sent)) /
      (1 - slowed.part / slowed.byOne);
  return std::min(both * (1 - 1 / slowed.byTwo) + one * (1 - 1 / slowed.byOne),
                  flow.cycles * (std::max(slowed.byOne, slowed.byTwo) - 1));
}

void Datapath::receiveEcho(int thread, double begun, int color, double words) {
  for (const Owed &its : owed)
    if (its.echo == color && its.thread != thread && its.idle > 0 &&
        its.apart > its.idle)
      // Of the cycles between two words it takes two, the main thread the rest.
      flows.push_back({thread, begun, words * its.idle,
                       Slowed{its.apart / its.idle}, computed,
                       (its.apart - its.idle) / (its.apart - 2), 0});
}

double Datapath::received(int thread) const {
  double last = 0;
  for (const Flow &flow : flows)
    if (flow.thread == thread)
      last = std::max(last, flow.begun + flow.cycles + late(flow));
  return last;
}

/// Each is held up by the other as long as both are at work. One of them is of
/// all lanes, or both of the same.
void Datapath::takeTurns(Given &one, Lane &others, int lane) const {
  static constexpr Use with[] = {Use::Receives, Use::Sends, Use::Passes,
                                 Use::Row};
  for (Given &other : others) {
    if (other.use != with[size_t(one.use)] || other.thread == one.thread)
      continue;
    std::vector<double> &its = one.cycles, &theirs = other.cycles;
    for (Given *given : {&one, &other})
      if (given->ofAll && (lane >= 0 || its.size() != theirs.size()))
        spread(given->cycles, lanes);
    for (size_t i = 0, n = std::max(its.size(), theirs.size()); i < n; ++i) {
      if (lane >= 0 && n > 1 && i != size_t(lane))
        continue;
      double &mine = its[its.size() == 1 ? 0 : i],
             &theirOwn = theirs[theirs.size() == 1 ? 0 : i];
      const double both =
          std::max(0.0, std::min(other.begun + theirOwn - one.begun, mine));
      mine += both;
      theirOwn += both;
    }
  }
}

void Datapath::compete(int thread, int lane, double begun, double work,
                       Use use) {
  Given its{thread, use, lane < 0, begun, {work}};
  takeTurns(its, ofAll, lane);
  if (lane >= 0)
    takeTurns(its, ofLane[lane], lane);
  else
    for (auto &[other, given] : ofLane)
      takeTurns(its, given, other);
  (lane < 0 ? ofAll : ofLane[lane]).push_back(std::move(its));
}

double Datapath::competed(int thread) const {
  double last = 0;
  auto look = [&](const Lane &lane) {
    for (const Given &its : lane)
      if (its.thread == thread)
        last = std::max(last, its.begun + *std::max_element(its.cycles.begin(),
                                                            its.cycles.end()));
  };
  look(ofAll);
  for (const auto &[lane, given] : ofLane)
    look(given);
  return last;
}

/// Cycles between the words of a thread, or of one that it hears; 0: they come
/// at once.
double Datapath::apart(int thread) const {
  double cycles = 0;
  for (const Owed &its : owed)
    if (its.thread == thread ||
        std::any_of(words.begin(), words.end(), [&](const Words &taken) {
          return taken.thread == thread && taken.color == its.echo;
        }))
      cycles = std::max(cycles, its.apart);
  return cycles;
}

double Datapath::share(double elapsed, const std::vector<double> &work,
                       std::optional<double> calls) {
  const double taken = calls.value_or(1);
  const double most = *std::max_element(work.begin(), work.end());
  worked += most;
  computed += taken * most;
  if (owed.empty())
    return 0;
  if (work.size() > 1)
    for (size_t lane = 1; lane < lanes; ++lane)
      splitAt(lane);
  else
    joinGroups();
  auto own = [&](size_t group) { return work[work.size() == 1 ? 0 : group]; };
  const size_t count = ends.size();
  for (Owed &its : owed)
    its.between = calls ? apart(its.thread) : 0;
  // Of each group the cycles that are left for others.
  std::vector<double> &rest = ofGroups;
  rest.resize(count);
  double longer = 0;
  for (size_t group = 0; group < count; ++group) {
    double left = own(group) - elapsed, evenly = 0, cycles = 0;
    for (const Owed &its : owed) {
      const double there = std::min(its.there[group], its.work[group]);
      (its.between > 0 ? evenly : left) += there;
      cycles = std::max(cycles, there * its.between);
    }
    // So many of these come while the instruction has the datapath.
    const double busy = taken * own(group);
    cycles = std::max(cycles, elapsed);
    if (cycles > evenly)
      evenly *= std::min(1.0, busy / (cycles - evenly));
    longer =
        std::max(longer, std::min(std::max(0.0, left) + evenly, own(group)));
  }

  for (size_t group = 0; group < count; ++group)
    rest[group] = std::max(0.0, elapsed + longer - taken * own(group));
  bool left = false;
  for (Owed &its : owed)
    for (size_t group = 0; group < count; ++group) {
      const double served =
          std::min(std::min(rest[group], its.there[group]), its.work[group]);
      its.work[group] -= served;
      its.there[group] -= served;
      rest[group] -= served;
      left |= its.work[group] > 0;
    }
  if (!left)
    forgetOwed();
  return longer;
}

void Datapath::settle(int thread) {
  auto isIts = [&](const auto &its) { return its.thread == thread; };
  std::erase_if(owed, isIts);
  if (owed.empty())
    forgetOwed();
  std::erase_if(flows, isIts);
  std::erase_if(ofAll, isIts);
  for (auto lane = ofLane.begin(); lane != ofLane.end();) {
    std::erase_if(lane->second, isIts);
    lane = lane->second.empty() ? ofLane.erase(lane) : std::next(lane);
  }
}

} // namespace wsec::runtime
