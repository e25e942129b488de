// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/strips/Datapath.h"

#include <algorithm>

namespace wsec::runtime {

/// From now on a group begins at a lane.
void Datapath::splitAt(size_t lane) {
  const auto end = std::lower_bound(ends.begin(), ends.end(), lane);
  if (lane == 0 || *end == lane)
    return;
  const auto group = end - ends.begin();
  ends.insert(end, lane);
  for (Owed &its : owed)
    its.cycles.insert(its.cycles.begin() + group, its.cycles[size_t(group)]);
}

/// Neighbours that are owed the same are a group.
void Datapath::joinGroups() {
  size_t last = 0;
  for (size_t group = 1; group < ends.size(); ++group) {
    const bool same =
        std::all_of(owed.begin(), owed.end(), [&](const Owed &its) {
          return its.cycles[group] == its.cycles[last];
        });
    last += !same;
    ends[last] = ends[group];
    for (Owed &its : owed)
      its.cycles[last] = its.cycles[group];
  }
  ends.resize(last + 1);
  for (Owed &its : owed)
    its.cycles.resize(last + 1);
}

void Datapath::forgetOwed() {
  owed.clear();
  ends.assign(1, lanes);
}

/// Adds to what a lane, or each, is owed.
void Datapath::add(Owed &its, int lane, const Cycles &more) {
  if (more == Cycles())
    return;
  if (lane >= 0) {
    splitAt(size_t(lane));
    splitAt(size_t(lane) + 1);
  }
  const size_t first = lane < 0 ? 0 : groupOf(lane);
  const size_t end = lane < 0 ? ends.size() : first + 1;
  for (size_t group = first; group < end; ++group) {
    its.cycles[group].work += more.work;
    its.cycles[group].there += more.there;
  }
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
  if (its == owed.end()) {
    its = owed.insert(its, {thread, echo, apart, idle, {}, 0});
    its->cycles.reserve(std::min(lanes, size_t(64))); // for groups to come
    its->cycles.resize(ends.size());
  }
  add(*its, lane, {work, echo < 0 ? work : 0});
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
      add(its, heard.lane, {0, heard.count});
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
  for (Cycles &cycles : its.cycles)
    cycles = {std::max(0.0, cycles.work - cycles.there), 0};
}

void Datapath::receive(int thread, int lane, double begun, double words,
                       const Slowed &slowed) {
  if (words == 0 || (slowed.byOne == 1 && slowed.byTwo == 1))
    return;
  double others = 0;
  for (const Owed &its : owed)
    if (its.thread != thread && its.echo < 0)
      others += lane >= 0
                    ? its.cycles[groupOf(lane)].there
                    : std::max_element(its.cycles.begin(), its.cycles.end(),
                                       [](const Cycles &a, const Cycles &b) {
                                         return a.there < b.there;
                                       })
                          ->there;
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
    if (words > 0 && its.echo == color && its.thread != thread &&
        its.idle > 0 && its.apart > its.idle)
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

double Datapath::Given::last() const {
  return begun + (ofEach.empty()
                      ? cycles
                      : *std::max_element(ofEach.begin(), ofEach.end()));
}

/// Each is held up by the other as long as both are at work. One of them is of
/// all lanes, or both of the same.
void Datapath::takeTurns(Given &one, Lane &others, int lane) const {
  static constexpr Use with[] = {Use::Receives, Use::Sends, Use::Passes,
                                 Use::Row};
  for (Given &other : others) {
    if (other.use != with[size_t(one.use)] || other.thread == one.thread)
      continue;
    for (Given *given : {&one, &other})
      if (given->ofAll &&
          (lane >= 0 || one.ofEach.empty() != other.ofEach.empty()))
        given->spread(lanes);
    auto meet = [&](double &its, double &theirs) {
      const double both =
          std::max(0.0, std::min(other.begun + theirs - one.begun, its));
      its += both;
      theirs += both;
    };
    if (lane >= 0 || one.ofEach.empty())
      meet(one.in(lane), other.in(lane));
    else
      for (size_t i = 0; i < lanes; ++i)
        meet(one.ofEach[i], other.ofEach[i]);
  }
}

void Datapath::compete(int thread, int lane, double begun, double work,
                       Use use) {
  if (work == 0)
    return;
  Given its{thread, use, lane < 0, begun, work};
  competing |= 1u << thread;
  takeTurns(its, ofAll, lane);
  if (lane >= 0) {
    ofLane.resize(lanes);
    takeTurns(its, ofLane[size_t(lane)], lane);
  } else {
    for (size_t other = 0; other < ofLane.size(); ++other)
      takeTurns(its, ofLane[other], int(other));
  }
  (lane < 0 ? ofAll : ofLane[size_t(lane)]).push_back(std::move(its));
}

double Datapath::competed(int thread) const {
  double last = 0;
  if (!(competing >> thread & 1))
    return last;
  auto look = [&](const Lane &lane) {
    for (const Given &its : lane)
      if (its.thread == thread)
        last = std::max(last, its.last());
  };
  look(ofAll);
  for (const Lane &lane : ofLane)
    look(lane);
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
      const Cycles &owes = its.cycles[group];
      const double there = std::min(owes.there, owes.work);
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
      Cycles &owes = its.cycles[group];
      const double served =
          std::min(std::min(rest[group], owes.there), owes.work);
      owes.work -= served;
      owes.there -= served;
      rest[group] -= served;
      left |= owes.work > 0;
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
  if (!(competing >> thread & 1))
    return;
  competing &= ~(1u << thread);
  std::erase_if(ofAll, isIts);
  bool any = false;
  for (Lane &lane : ofLane) {
    std::erase_if(lane, isIts);
    any |= !lane.empty();
  }
  // Of a wafer with hundreds of thousands of PEs memory is not kept.
  constexpr size_t few = 64;
  if (!any && lanes > few)
    std::vector<Lane>().swap(ofLane);
}

} // namespace wsec::runtime
