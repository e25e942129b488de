// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Locks of which the compiler knows what they guard (-Wthread-safety).
#ifndef RUNTIME_THREADS_MUTEX_H
#define RUNTIME_THREADS_MUTEX_H

#include "absl/base/thread_annotations.h"

#include <chrono>
#include <condition_variable>
#include <mutex>

namespace wsec::runtime {

/// std::mutex. (The thread sanitizer does not see into Debian's absl::Mutex.)
class ABSL_LOCKABLE Mutex {
public:
  void lock() ABSL_EXCLUSIVE_LOCK_FUNCTION() { its.lock(); }
  void unlock() ABSL_UNLOCK_FUNCTION() { its.unlock(); }
  bool try_lock() ABSL_EXCLUSIVE_TRYLOCK_FUNCTION(true) {
    return its.try_lock();
  }

private:
  friend class Lock;
  std::mutex its;
};

/// Holds a mutex as long as it lives, but while it waits. Whoever waits looks
/// again, in a loop, at what it waits for.
class ABSL_SCOPED_LOCKABLE Lock {
public:
  explicit Lock(Mutex &mutex) ABSL_EXCLUSIVE_LOCK_FUNCTION(mutex)
      : its(mutex.its) {}
  ~Lock() ABSL_UNLOCK_FUNCTION() {}

  void wait(std::condition_variable &changed) { changed.wait(its); }
  void waitFor(std::condition_variable &changed,
               std::chrono::microseconds atMost) {
    changed.wait_for(its, atMost);
  }

private:
  std::unique_lock<std::mutex> its;
};

} // namespace wsec::runtime

#endif // RUNTIME_THREADS_MUTEX_H
