// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/strips/WorkerPool.h"

#include "runtime/strips/NewLines.h"
#include "runtime/threads/StartThread.h"

#include <algorithm>

namespace wsec::runtime {

WorkerPool::~WorkerPool() {
  {
    Lock guard(lock);
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
    Lock guard(lock);
    work = &what;
    count = wanted;
    running = wanted - 1;
    ++turn;
    changed.notify_all();
  }
  what(0);
  if (wanted > 1) {
    Lock guard(lock);
    while (running > 0)
      guard.wait(changed);
  }
}

std::shared_ptr<float[]> WorkerPool::scratch(size_t floats, size_t index) {
  std::vector<std::weak_ptr<float[]>> &all = scratches[floats];
  all.resize(std::max(all.size(), index + 1));
  std::shared_ptr<float[]> its = all[index].lock();
  if (!its)
    all[index] = its = newLines(floats);
  return its;
}

const std::function<void(unsigned)> *WorkerPool::await(unsigned index,
                                                       uint64_t &seen) {
  Lock guard(lock);
  while (!ends && (turn == seen || index >= count))
    guard.wait(changed);
  seen = turn;
  return ends ? nullptr : work;
}

void WorkerPool::serve(unsigned index) {
  uint64_t seen = 0;
  while (const std::function<void(unsigned)> *its = await(index, seen)) {
    (*its)(index);
    Lock guard(lock);
    if (--running == 0)
      changed.notify_all();
  }
}

} // namespace wsec::runtime
