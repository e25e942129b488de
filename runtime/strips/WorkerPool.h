// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Threads of the host that live as long as the engine.
#ifndef RUNTIME_STRIPS_WORKERPOOL_H
#define RUNTIME_STRIPS_WORKERPOOL_H

#include "runtime/threads/Mutex.h"

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <thread>
#include <vector>

namespace wsec::runtime {

class WorkerPool {
public:
  /// `workers` of them, of which the caller of `run` is one. Threads start with
  /// the first work for them.
  explicit WorkerPool(unsigned workers) : workers(workers) {}
  ~WorkerPool();
  WorkerPool(const WorkerPool &) = delete;
  WorkerPool &operator=(const WorkerPool &) = delete;

  unsigned size() const { return workers; }
  /// Calls `work(i)` for each i < count, at most size(): 0 here, the others on
  /// threads of their own. Returns when all have returned. `work` throws
  /// nothing.
  void run(unsigned count, const std::function<void(unsigned)> &work);

  /// Memory number `index` of so many floats, for what need not outlive the
  /// work of one `run`: whoever asks for it gets the same, while anybody has
  /// it. Asked for by the thread that calls `run`, and by no other.
  std::shared_ptr<float[]> scratch(size_t floats, size_t index);

private:
  void serve(unsigned index);
  /// The next work for a thread that has seen that of turn `seen`; null: the
  /// end.
  const std::function<void(unsigned)> *await(unsigned index, uint64_t &seen);

  const unsigned workers;
  std::vector<std::thread> threads;
  Mutex lock;
  std::condition_variable changed;
  const std::function<void(unsigned)> *work ABSL_GUARDED_BY(lock) = nullptr;
  uint64_t turn ABSL_GUARDED_BY(lock) = 0;    ///< of `work`
  unsigned count ABSL_GUARDED_BY(lock) = 0;   ///< of the workers that take part
  unsigned running ABSL_GUARDED_BY(lock) = 0; ///< of the threads that do
  bool ends ABSL_GUARDED_BY(lock) = false;
  std::map<size_t, std::vector<std::weak_ptr<float[]>>> scratches; ///< by size
};

} // namespace wsec::runtime

#endif // RUNTIME_STRIPS_WORKERPOOL_H
