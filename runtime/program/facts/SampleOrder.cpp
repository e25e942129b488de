// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/program/facts/SampleOrder.h"
#include "runtime/program/facts/CommandRoom.h"

#include <algorithm>
#include <deque>
#include <utility>

namespace wsec::runtime {

namespace {

/// Classes as they fill up, launch by launch.
class Filling {
public:
  Filling(const SampleFlow &flow, uint32_t samples, bool commandsWait)
      : flow(flow),
        commands(commandsWait ? CommandLine(flow.ahead) : CommandLine()),
        free(flow.classes, 0), together(flow.cycles), waiting(flow.classes),
        ends(samples, std::vector<double>(flow.cycles.size(), -1)),
        samples(samples) {
    for (uint32_t sample = 0; sample < samples; ++sample)
      for (uint32_t launch = 0; launch < flow.cycles.size(); ++launch)
        for (uint32_t c : flow.classesOf[launch])
          waiting[c].push_back({sample, launch});
    std::vector<size_t> next(flow.classes, flow.cycles.size());
    for (size_t launch = flow.cycles.size(); launch-- > 0;) {
      const std::vector<uint32_t> &its = flow.classesOf[launch];
      const size_t behind =
          its.empty() ? flow.cycles.size() : next[its.front()];
      if (behind < flow.cycles.size() && flow.after[behind].empty() &&
          flow.classesOf[behind] == its)
        together[launch] += together[behind];
      for (uint32_t c : its)
        next[c] = launch;
    }
  }

  /// The next one is always that of which so large a part is done first.
  std::vector<SampleLaunch> run(double part);
  /// Says when launches start that are commanded in this order.
  void play(std::vector<SampleLaunch> &launches);

private:
  bool isNext(const SampleLaunch &launch) const;
  const SampleLaunch *follower() const;
  double startOf(const SampleLaunch &launch) const;
  void take(SampleLaunch launch);

  const SampleFlow &flow;
  CommandLine commands;
  std::vector<double> free; ///< when each class is
  /// Cycles of each launch and those that can follow it without a command.
  std::vector<double> together;
  std::vector<std::deque<SampleLaunch>> waiting;
  std::vector<std::vector<double>> ends; ///< of each sample and launch
  const uint32_t samples;
  std::vector<SampleLaunch> order;
};

bool isSame(const SampleLaunch &a, const SampleLaunch &b) {
  return a.sample == b.sample && a.launch == b.launch;
}

bool Filling::isNext(const SampleLaunch &its) const {
  return std::all_of(
             flow.classesOf[its.launch].begin(),
             flow.classesOf[its.launch].end(),
             [&](uint32_t c) { return isSame(waiting[c].front(), its); }) &&
         std::all_of(
             flow.after[its.launch].begin(), flow.after[its.launch].end(),
             [&](uint32_t other) { return ends[its.sample][other] >= 0; });
}

double Filling::startOf(const SampleLaunch &its) const {
  double start = 0;
  for (uint32_t c : flow.classesOf[its.launch])
    start = std::max({start, free[c], its.follows ? 0 : commands.reaches(c)});
  for (uint32_t other : flow.after[its.launch])
    start = std::max(start, ends[its.sample][other] + flow.storeLatency);
  return start;
}

void Filling::take(SampleLaunch its) {
  its.start = startOf(its);
  const double end = its.start + flow.cycles[its.launch];
  ends[its.sample][its.launch] = end;
  for (uint32_t c : flow.classesOf[its.launch]) {
    free[c] = end;
    waiting[c].pop_front();
  }
  if (its.follows)
    commands.extend(free);
  else
    commands.give(free);
  order.push_back(its);
}

/// What the classes of the launch that was taken last can go on with.
const SampleLaunch *Filling::follower() const {
  const SampleLaunch &last = order.back();
  const std::vector<uint32_t> &classes = flow.classesOf[last.launch];
  if (classes.empty() || waiting[classes.front()].empty())
    return nullptr;
  const SampleLaunch &next = waiting[classes.front()].front();
  return next.sample == last.sample && flow.classesOf[next.launch] == classes &&
                 isNext(next)
             ? &next
             : nullptr;
}

std::vector<SampleLaunch> Filling::run(double part) {
  // Launches that reach nobody go first.
  for (uint32_t sample = 0; sample < samples; ++sample)
    for (uint32_t launch = 0; launch < flow.cycles.size(); ++launch)
      if (flow.classesOf[launch].empty())
        take({sample, launch});
  for (;;) {
    // The first of the list that is left is always one that can start.
    const SampleLaunch *best = nullptr;
    double first = 0;
    for (const std::deque<SampleLaunch> &queue : waiting) {
      if (queue.empty() || !isNext(queue.front()))
        continue;
      const double when =
          startOf(queue.front()) + part * together[queue.front().launch];
      if (!best || when < first ||
          (when == first && queue.front().sample < best->sample)) {
        best = &queue.front();
        first = when;
      }
    }
    if (!best)
      return order;
    take(*best);
    while (const SampleLaunch *its = follower()) {
      SampleLaunch next = *its;
      next.follows = true;
      take(next);
    }
  }
}

void Filling::play(std::vector<SampleLaunch> &launches) {
  for (SampleLaunch &each : launches) {
    take(each);
    each = order.back();
  }
}

} // namespace

/// When each sample is done.
static std::vector<double> endsOf(const SampleFlow &flow, uint32_t samples,
                                  const std::vector<SampleLaunch> &launches) {
  std::vector<double> ends(samples, 0);
  for (const SampleLaunch &each : launches)
    ends[each.sample] =
        std::max(ends[each.sample], each.start + flow.cycles[each.launch]);
  return ends;
}

/// A launch that takes long holds up the commands behind it, so short ones may
/// go first that start later: how much of a launch counts as its start. Whether
/// waiting commands are counted while the order is found matters, too: where
/// they are, nobody waits for one that is put off; where they are not, all keep
/// the pace of the slowest class. None of these is best for all programs.
static constexpr double parts[] = {0, 0.2, 0.5};

std::vector<SampleLaunch> orderSamples(const SampleFlow &flow,
                                       uint32_t samples) {
  std::vector<SampleLaunch> best;
  double least = 0;
  for (bool commandsWait : {false, true})
    for (double part : parts) {
      std::vector<SampleLaunch> order =
          Filling(flow, samples, commandsWait).run(part);
      if (!commandsWait)
        playSamples(flow, samples, order);
      const std::vector<double> ends = endsOf(flow, samples, order);
      const double last = *std::max_element(ends.begin(), ends.end());
      if (best.empty() || last < least) {
        best = std::move(order);
        least = last;
      }
    }
  return best;
}

void playSamples(const SampleFlow &flow, uint32_t samples,
                 std::vector<SampleLaunch> &launches) {
  Filling(flow, samples, /*commandsWait=*/true).play(launches);
}

void playUnhindered(const SampleFlow &flow, uint32_t samples,
                    std::vector<SampleLaunch> &launches) {
  Filling(flow, samples, /*commandsWait=*/false).play(launches);
}

double meanPace(const std::vector<double> &ends) {
  const size_t middle = (ends.size() - 1) / 2;
  return ends.size() > 1
             ? (ends.back() - ends[middle]) / double(ends.size() - 1 - middle)
             : ends.front();
}

double cyclesPerSample(const SampleFlow &flow, uint32_t samples,
                       const std::vector<SampleLaunch> &launches) {
  return meanPace(endsOf(flow, samples, launches));
}

} // namespace wsec::runtime
