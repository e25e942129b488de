// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/strips/Microthread.h"

#include <algorithm>

namespace wsec::runtime {

/// Runs the instructions of the strip, or of one lane.
class Microthread::Worker : public Actor {
public:
  explicit Worker(Microthread &thread) : thread(thread) {}

  void run() override {
    for (;;) {
      {
        std::lock_guard<std::mutex> guard(thread.lock);
        if (queue.empty())
          return;
        if (!started) {
          auto &[run, earliest] = queue.front();
          run->start(std::max(earliest, free));
          started = true;
        }
        current = queue.front().first.get();
      }
      if (!current->advance(*this))
        return;
      thread.complete(*this);
    }
  }

  Microthread &thread;
  std::deque<std::pair<std::unique_ptr<InstructionRun>, double>> queue;
  InstructionRun *current = nullptr;
  bool started = false;
  double free = 0; ///< when the last one was complete
};

Microthread::Microthread(World &world, Actor &owner)
    : world(world), owner(owner) {}
Microthread::~Microthread() = default;

void Microthread::issue(std::vector<std::unique_ptr<InstructionRun>> runs,
                        double time) {
  if (runs.empty())
    return;
  std::lock_guard<std::mutex> guard(lock);
  Entry entry{time, std::move(runs)};
  if (backlog.empty() && (inWork == 0 || stripMode == entry.wholeStrip()))
    dispatch(std::move(entry));
  else
    backlog.push_back(std::move(entry));
}

void Microthread::dispatch(Entry entry) {
  stripMode = entry.wholeStrip();
  for (std::unique_ptr<InstructionRun> &run : entry.runs) {
    std::unique_ptr<Worker> &slot = stripMode ? strip : lanes[run->lane()];
    if (!slot) {
      slot = std::make_unique<Worker>(*this);
      slot->order = owner.order;
    }
    double earliest =
        std::max(entry.issued, stripMode ? latest : stripFinished);
    slot->queue.push_back({std::move(run), earliest});
    ++inWork;
    world.scheduler.wake(*slot);
  }
}

void Microthread::complete(Worker &worker) {
  std::lock_guard<std::mutex> guard(lock);
  InstructionRun &run = *worker.queue.front().first;
  worker.free = run.time();
  worker.started = false;
  latest = std::max(latest, run.time());
  if (run.lane() < 0)
    stripFinished = run.time();
  world.recordLaunch(run.launch(), run.time(), run.time());
  worker.queue.pop_front();
  --inWork;
  while (!backlog.empty() &&
         (inWork == 0 || stripMode == backlog.front().wholeStrip())) {
    dispatch(std::move(backlog.front()));
    backlog.pop_front();
  }
  if (inWork == 0 && std::exchange(ownerWaits, false))
    world.scheduler.wake(owner);
}

bool Microthread::idle() {
  std::lock_guard<std::mutex> guard(lock);
  ownerWaits = inWork > 0;
  return inWork == 0;
}

std::vector<const InstructionRun *> Microthread::waiting() const {
  std::vector<const InstructionRun *> runs;
  auto add = [&](const Worker &worker) {
    if (!worker.queue.empty())
      runs.push_back(worker.queue.front().first.get());
  };
  if (strip)
    add(*strip);
  for (const auto &[lane, worker] : lanes)
    add(*worker);
  return runs;
}

} // namespace wsec::runtime
