// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RUNTIME_OBSERVE_OBSERVERS_H
#define RUNTIME_OBSERVE_OBSERVERS_H

#include "runtime/observe/Observer.h"

#include <algorithm>
#include <vector>

namespace wsec::runtime {

/// Several observers of one run, told in the order they were added. The run
/// ends where the first of them wants it to.
class Observers : public Observer {
public:
  void add(Observer &observer) {
    all.push_back(&observer);
    untilLaunch = std::min(untilLaunch, observer.untilLaunch);
    untilCycle = std::min(untilCycle, observer.untilCycle);
  }
  bool empty() const { return all.empty(); }
  /// Whether a run has ended, in whatever way, since this was made.
  bool informed() const { return inspected; }

  void begin(const Inspection &state) override {
    for (Observer *one : all)
      one->begin(state);
  }
  void enter(ObservedPes pes, size_t launch, int task, double time) override {
    for (Observer *one : all)
      one->enter(pes, launch, task, time);
  }
  void leave(ObservedPes pes, size_t launch, double time) override {
    for (Observer *one : all)
      one->leave(pes, launch, time);
  }
  void instruction(ObservedPes pes, const ObservedInstruction &what) override {
    for (Observer *one : all)
      one->instruction(pes, what);
  }
  void sent(ObservedPes pes, size_t launch, int color, uint64_t words,
            double first, double last) override {
    for (Observer *one : all)
      one->sent(pes, launch, color, words, first, last);
  }
  void received(ObservedPes pes, int color, uint64_t words) override {
    for (Observer *one : all)
      one->received(pes, color, words);
  }
  void passed(int pe, program::Port port, int color, uint64_t words,
              double first, double last) override {
    for (Observer *one : all)
      one->passed(pe, port, color, words, first, last);
  }
  void hostWords(uint32_t stream, uint32_t channel, uint64_t words,
                 double first, double last) override {
    for (Observer *one : all)
      one->hostWords(stream, channel, words, first, last);
  }
  void inspect(const Inspection &state, RunEnd end) override {
    inspected = true;
    for (Observer *one : all)
      one->inspect(state, end);
  }

private:
  std::vector<Observer *> all;
  bool inspected = false;
};

} // namespace wsec::runtime

#endif // RUNTIME_OBSERVE_OBSERVERS_H
