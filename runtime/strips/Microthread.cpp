// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/strips/Microthread.h"

#include <algorithm>

namespace wsec::runtime {

/// Runs one instruction of the strip, or of one lane, after the other.
class Microthread::Worker : public Actor {
public:
  explicit Worker(Microthread &thread) : thread(thread) {}

  void run() override {
    // A wake of what it waited for before may come as it gets new work.
    InstructionRun *run;
    {
      std::lock_guard<std::mutex> guard(thread.lock);
      run = current.get();
    }
    if (run && run->advance(*this))
      thread.complete(*this);
  }

  Microthread &thread;
  std::unique_ptr<InstructionRun> current;
};

Microthread::Microthread(World &world, Actor &owner)
    : world(world), owner(owner) {}
Microthread::~Microthread() = default;

void Microthread::issue(std::vector<std::unique_ptr<InstructionRun>> runs,
                        double time) {
  std::lock_guard<std::mutex> guard(lock);
  for (std::unique_ptr<InstructionRun> &run : runs) {
    std::unique_ptr<Worker> &worker = workers[run->lane()];
    if (!worker) {
      worker = std::make_unique<Worker>(*this);
      worker->order = owner.order;
    }
    run->start(time);
    worker->current = std::move(run);
    ++inWork;
    world.scheduler.wake(*worker);
  }
}

void Microthread::complete(Worker &worker) {
  std::lock_guard<std::mutex> guard(lock);
  const InstructionRun &run = *worker.current;
  latest = std::max(latest, run.time());
  world.recordLaunch(run.launch(), run.time(), run.time());
  worker.current.reset();
  if (--inWork == 0 && std::exchange(ownerWaits, false))
    world.scheduler.wake(owner);
}

bool Microthread::idle() {
  std::lock_guard<std::mutex> guard(lock);
  ownerWaits = inWork > 0;
  return inWork == 0;
}

std::vector<const InstructionRun *> Microthread::waiting() const {
  std::vector<const InstructionRun *> runs;
  for (const auto &[lane, worker] : workers)
    if (worker->current)
      runs.push_back(worker->current.get());
  return runs;
}

} // namespace wsec::runtime
