// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/strips/Microthread.h"

#include <algorithm>

namespace wsec::runtime {

/// Runs one instruction of the strip, or of one lane, after the other.
class Microthread::Worker : public Actor {
public:
  explicit Worker(Microthread &thread) : Actor(thread.group), thread(thread) {}

  void run() override {
    // What it waited for before may wake it when it has no work.
    if (current && current->advance(*this))
      thread.complete(*this);
  }

  Microthread &thread;
  std::unique_ptr<InstructionRun> current;
};

Microthread::Microthread(World &world, Actor &owner, ActorGroup &strip)
    : world(world), owner(owner), group(strip) {}
Microthread::~Microthread() = default;

void Microthread::issue(std::unique_ptr<InstructionRun> run, double time) {
  const size_t index = size_t(run->lane() + 1);
  if (workers.size() <= index)
    workers.resize(index + 1);
  std::unique_ptr<Worker> &worker = workers[index];
  if (!worker) {
    worker = std::make_unique<Worker>(*this);
    worker->order = owner.order;
  }
  run->start(time);
  worker->current = std::move(run);
  ++inWork;
  world.scheduler.wake(*worker);
}

void Microthread::complete(Worker &worker) {
  const InstructionRun &run = *worker.current;
  latest = std::max(latest, run.time());
  world.recordEnd(run.strip(), run.launch(), run.time());
  worker.current.reset();
  if (--inWork == 0 && std::exchange(ownerWaits, false))
    world.scheduler.wake(owner);
}

bool Microthread::idle() {
  ownerWaits = inWork > 0;
  return inWork == 0;
}

std::vector<const InstructionRun *> Microthread::waiting() const {
  std::vector<const InstructionRun *> runs;
  for (const auto &worker : workers)
    if (worker && worker->current)
      runs.push_back(worker->current.get());
  return runs;
}

} // namespace wsec::runtime
