// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/strips/WorkerPool.h"

#include "runtime/threads/StartThread.h"

namespace wsec::runtime {

WorkerPool::~WorkerPool() {
  {
    std::lock_guard<std::mutex> guard(lock);
    ends = true;
  }
  changed.notify_all();
  for (std::thread &thread : threads)
    thread.join();
}

void WorkerPool::run(unsigned wanted,
                     const std::function<void(unsigned)> &what) {
  if (wanted > 1) {
    while (threads.size() + 1 < wanted)
      threads.push_back(
          startThread("worker " + std::to_string(threads.size() + 2) + " of " +
                          std::to_string(wanted),
                      [this, i = unsigned(threads.size()) + 1] { serve(i); }));
    std::lock_guard<std::mutex> guard(lock);
    work = &what;
    count = wanted;
    running = wanted - 1;
    ++turn;
    changed.notify_all();
  }
  what(0);
  if (wanted > 1) {
    std::unique_lock<std::mutex> guard(lock);
    changed.wait(guard, [&] { return running == 0; });
  }
}

void WorkerPool::serve(unsigned index) {
  std::unique_lock<std::mutex> guard(lock);
  for (uint64_t seen = 0;;) {
    changed.wait(guard,
                 [&] { return ends || (turn != seen && index < count); });
    if (ends)
      return;
    seen = turn;
    const std::function<void(unsigned)> &its = *work;
    guard.unlock();
    its(index);
    guard.lock();
    if (--running == 0)
      changed.notify_all();
  }
}

} // namespace wsec::runtime
