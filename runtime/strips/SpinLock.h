// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RUNTIME_STRIPS_SPINLOCK_H
#define RUNTIME_STRIPS_SPINLOCK_H

#include "hwy/cache_control.h"

#include <atomic>
#include <thread>

namespace wsec::runtime {

/// A lock that is held for some tens of instructions, so that whoever waits for
/// it does best to look again. A mutex would put him to sleep.
class SpinLock {
public:
  void lock() {
    while (taken.exchange(true, std::memory_order_acquire))
      for (unsigned tries = 0; taken.load(std::memory_order_relaxed); ++tries)
        pause(tries);
  }
  void unlock() { taken.store(false, std::memory_order_release); }

  /// Lets time pass; after some tries, lets other threads run.
  static void pause(unsigned tries) {
    constexpr unsigned patience = 200;
    if (tries < patience)
      hwy::Pause();
    else
      std::this_thread::yield();
  }

private:
  std::atomic<bool> taken{false};
};

} // namespace wsec::runtime

#endif // RUNTIME_STRIPS_SPINLOCK_H
