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
        free(flow.classes, 0), reached(flow.classes, 0), waiting(flow.classes),
        ends(samples, std::vector<double>(flow.cycles.size(), -1)),
        samples(samples) {
    for (uint32_t sample = 0; sample < samples; ++sample)
      for (uint32_t launch = 0; launch < flow.cycles.size(); ++launch)
        for (uint32_t c : flow.classesOf[launch])
          waiting[c].push_back({sample, launch});
  }

  /// The next one is always that which starts first.
  std::vector<SampleLaunch> run();
  /// Says when launches start that are commanded in this order.
  void play(std::vector<SampleLaunch> &launches);

private:
  bool isNext(const SampleLaunch &launch) const;
  double startOf(const SampleLaunch &launch) const;
  void take(SampleLaunch launch);

  const SampleFlow &flow;
  CommandLine commands;
  std::vector<double> free;    ///< when each class is
  std::vector<double> reached; ///< by the last command, each class
  std::vector<std::deque<SampleLaunch>> waiting;
  std::vector<std::vector<double>> ends; ///< of each sample and launch
  const uint32_t samples;
  std::vector<SampleLaunch> order;
};

bool Filling::isNext(const SampleLaunch &its) const {
  return std::all_of(flow.classesOf[its.launch].begin(),
                     flow.classesOf[its.launch].end(),
                     [&](uint32_t c) {
                       const SampleLaunch &next = waiting[c].front();
                       return next.sample == its.sample &&
                              next.launch == its.launch;
                     }) &&
         std::all_of(
             flow.after[its.launch].begin(), flow.after[its.launch].end(),
             [&](uint32_t other) { return ends[its.sample][other] >= 0; });
}

double Filling::startOf(const SampleLaunch &its) const {
  double start = 0;
  for (uint32_t c : flow.classesOf[its.launch])
    start = std::max({start, free[c], reached[c]});
  for (uint32_t other : flow.after[its.launch])
    start = std::max(start, ends[its.sample][other] + flow.storeLatency);
  return start;
}

void Filling::take(SampleLaunch its) {
  if (!its.follows) {
    for (size_t c = 0; c < reached.size(); ++c)
      reached[c] = commands.reaches(c);
    commands.give(free);
  }
  its.start = startOf(its);
  const double end = its.start + flow.cycles[its.launch];
  ends[its.sample][its.launch] = end;
  for (uint32_t c : flow.classesOf[its.launch])
    free[c] = end;
  commands.extend(free);
  order.push_back(its);
}

std::vector<SampleLaunch> Filling::run() {
  std::vector<bool> begun(samples, false);
  auto next = [&](SampleLaunch its) {
    its.follows = begun[its.sample];
    begun[its.sample] = true;
    for (uint32_t c : flow.classesOf[its.launch])
      waiting[c].pop_front();
    take(its);
  };
  // Launches that reach nobody go first.
  for (uint32_t sample = 0; sample < samples; ++sample)
    for (uint32_t launch = 0; launch < flow.cycles.size(); ++launch)
      if (flow.classesOf[launch].empty())
        next({sample, launch});
  for (;;) {
    // The first of the list that is left is always one that can start.
    const SampleLaunch *best = nullptr;
    double first = 0;
    for (const std::deque<SampleLaunch> &queue : waiting) {
      if (queue.empty() || !isNext(queue.front()))
        continue;
      const double when = startOf(queue.front());
      if (!best || when < first ||
          (when == first && queue.front().sample < best->sample)) {
        best = &queue.front();
        first = when;
      }
    }
    if (!best)
      return order;
    next(*best);
  }
}

void Filling::play(std::vector<SampleLaunch> &launches) {
  for (const SampleLaunch &each : launches)
    take(each);
  launches = order;
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

std::vector<SampleLaunch> orderSamples(const SampleFlow &flow,
                                       uint32_t samples) {
  std::vector<SampleLaunch> order =
      Filling(flow, samples, /*commandsWait=*/false).run();
  playSamples(flow, samples, order);
  return order;
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
