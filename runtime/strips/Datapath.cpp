// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/strips/Datapath.h"

#include <algorithm>

namespace wsec::runtime {

/// One number for each lane, where there is one for all.
static void spread(std::vector<double> &cycles, size_t lanes) {
  if (cycles.size() < lanes)
    cycles.resize(lanes, cycles.front());
}

/// Of values: loops over std::min, which is of places, are not vectorized.
static double least(double a, double b) { return b < a ? b : a; }
static double greatest(double a, double b) { return a < b ? b : a; }

/// Adds to a lane, or to all.
static void add(std::vector<double> &cycles, size_t lanes, int lane,
                double more) {
  if (lane >= 0) {
    spread(cycles, lanes);
    cycles[size_t(lane)] += more;
    return;
  }
  for (double &its : cycles)
    its += more;
}

void Datapath::owe(int thread, int lane, double work, int echo, double apart,
                   double idle) {
  auto its = std::find_if(owed.begin(), owed.end(), [&](const Owed &o) {
    return o.thread == thread && o.echo == echo;
  });
  if (its == owed.end())
    its = owed.insert(its, {thread, echo, apart, idle, {0}, {0}, 0});
  add(its->work, lanes, lane, work);
  if (echo < 0)
    add(its->there, lanes, lane, work);
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
      add(its.there, lanes, heard.lane, heard.count);
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
  spread(its.work, its.there.size());
  spread(its.there, its.work.size());
  for (size_t lane = 0; lane < its.work.size(); ++lane) {
    its.work[lane] = std::max(0.0, its.work[lane] - its.there[lane]);
    its.there[lane] = 0;
  }
}

void Datapath::receive(int thread, int lane, double begun, double words,
                       const Slowed &slowed) {
  if (slowed.byOne == 1 && slowed.byTwo == 1)
    return;
  double others = 0;
  for (const Owed &its : owed)
    if (its.thread != thread && its.echo < 0)
      others += lane < 0 || its.there.size() == 1
                    ? *std::max_element(its.there.begin(), its.there.end())
                    : its.there[size_t(lane)];
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
  auto isOne = [](const std::vector<double> &its) {
    return std::equal(its.begin() + 1, its.end(), its.begin());
  };
  const bool alike =
      isOne(work) &&
      std::all_of(owed.begin(), owed.end(), [&](const Owed &its) {
        return isOne(its.work) && isOne(its.there);
      });
  const size_t count = alike ? 1 : lanes;
  own.assign(work.begin(),
             work.begin() + ptrdiff_t(std::min(count, work.size())));
  spread(own, count);
  for (Owed &its : owed) {
    for (std::vector<double> *cycles : {&its.work, &its.there}) {
      spread(*cycles, count);
      cycles->resize(count);
    }
    its.between = calls ? apart(its.thread) : 0;
  }
  // Of each lane, what of it comes at once, and word by word, and how long.
  atOnce.resize(count);
  for (size_t lane = 0; lane < count; ++lane)
    atOnce[lane] = own[lane] - elapsed;
  evenly.assign(count, 0);
  lasts.assign(count, 0);
  for (const Owed &its : owed) {
    double *to = (its.between > 0 ? evenly : atOnce).data();
    double *last = lasts.data();
    const double *is = its.there.data(), *all = its.work.data();
    const double between = its.between;
    for (size_t lane = 0; lane < count; ++lane) {
      const double there = least(is[lane], all[lane]);
      to[lane] += there;
      last[lane] = greatest(last[lane], there * between);
    }
  }
  double longer = 0;
  for (size_t lane = 0; lane < count; ++lane) {
    // So many of these come while the instruction has the datapath.
    const double busy = taken * own[lane];
    const double cycles = std::max(lasts[lane], elapsed);
    double words = evenly[lane];
    if (cycles > words)
      words *= std::min(1.0, busy / (cycles - words));
    longer = std::max(longer,
                      std::min(std::max(0.0, atOnce[lane]) + words, own[lane]));
  }
  // The cycles that are left for others.
  std::vector<double> &rest = atOnce;
  for (size_t lane = 0; lane < count; ++lane)
    rest[lane] = std::max(0.0, elapsed + longer - taken * own[lane]);
  bool left = false;
  for (Owed &its : owed) {
    double *free = rest.data(), *is = its.there.data(), *all = its.work.data();
    for (size_t lane = 0; lane < count; ++lane) {
      const double served = least(least(free[lane], is[lane]), all[lane]);
      all[lane] -= served;
      is[lane] -= served;
      free[lane] -= served;
    }
    left = left ||
           std::any_of(all, all + count, [](double its) { return its > 0; });
  }
  if (!left)
    owed.clear();
  return longer;
}

void Datapath::settle(int thread) {
  auto isIts = [&](const auto &its) { return its.thread == thread; };
  std::erase_if(owed, isIts);
  std::erase_if(flows, isIts);
  std::erase_if(ofAll, isIts);
  for (auto lane = ofLane.begin(); lane != ofLane.end();) {
    std::erase_if(lane->second, isIts);
    lane = lane->second.empty() ? ofLane.erase(lane) : std::next(lane);
  }
}

} // namespace wsec::runtime
