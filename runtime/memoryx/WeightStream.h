// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RUNTIME_MEMORYX_WEIGHTSTREAM_H
#define RUNTIME_MEMORYX_WEIGHTSTREAM_H

#include "runtime/memoryx/ParameterStore.h"
#include "runtime/threads/Mutex.h"

#include <condition_variable>
#include <deque>
#include <exception>
#include <thread>

namespace wsec::runtime {

/// The weights of one pass on their way to the wafer. A thread updates and
/// converts parameters ahead of whoever takes them, as far as there is room.
/// What is taken does not depend on how far ahead it is.
class WeightStream {
public:
  struct Options {
    program::ElementType type = program::ElementType::BF16;
    uint64_t pieceElements = uint64_t(1) << 22;
    /// Bytes of pieces that are ready; at least one is made ahead.
    uint64_t aheadBytes = uint64_t(64) << 20;
  };
  /// Parameters in the order of the pass; one may come several times. The store
  /// must outlive this, and endStep must wait until all are taken.
  WeightStream(ParameterStore &store, std::vector<size_t> order,
               Options options);
  WeightStream(ParameterStore &store, std::vector<size_t> order)
      : WeightStream(store, std::move(order), Options()) {}
  /// What is not taken is given up.
  ~WeightStream();

  /// Elements [first, first + count) of a parameter.
  struct Piece {
    size_t parameter;
    uint64_t first, count;
    std::vector<uint8_t> bytes;
  };
  /// The next piece, as soon as it is ready; nothing at the end. Throws what
  /// went wrong on the way.
  std::optional<Piece> next();

private:
  void run();
  /// False when nobody wants more.
  bool put(Piece piece);

  ParameterStore &store;
  const std::vector<size_t> order;
  const Options options;

  Mutex mutex;
  std::condition_variable changed;
  std::deque<Piece> ready ABSL_GUARDED_BY(mutex);
  uint64_t readyBytes ABSL_GUARDED_BY(mutex) = 0;
  bool done ABSL_GUARDED_BY(mutex) = false;
  bool stopped ABSL_GUARDED_BY(mutex) = false;
  std::exception_ptr problem ABSL_GUARDED_BY(mutex);
  std::thread thread;
};

} // namespace wsec::runtime

#endif // RUNTIME_MEMORYX_WEIGHTSTREAM_H
