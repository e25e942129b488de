// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/memoryx/WeightStream.h"

#include "runtime/threads/StartThread.h"

#include <algorithm>
#include <utility>

namespace wsec::runtime {

WeightStream::WeightStream(ParameterStore &store, std::vector<size_t> order,
                           Options options)
    : store(store), order(std::move(order)), options(options) {
  ++store.readers;
  try {
    thread = startThread("a stream of weights", [this] { run(); });
  } catch (...) {
    --store.readers;
    throw;
  }
}

WeightStream::~WeightStream() {
  {
    Lock lock(mutex);
    stopped = true;
  }
  changed.notify_all();
  thread.join();
}

bool WeightStream::put(Piece piece) {
  Lock lock(mutex);
  while (!stopped && !ready.empty() &&
         readyBytes + piece.bytes.size() > options.aheadBytes)
    lock.wait(changed);
  if (stopped)
    return false;
  readyBytes += piece.bytes.size();
  ready.push_back(std::move(piece));
  changed.notify_all();
  return true;
}

void WeightStream::run() {
  const uint64_t elementBytes =
      options.type == program::ElementType::F32 ? 4 : 2;
  const uint64_t most = std::max<uint64_t>(1, options.pieceElements);
  std::exception_ptr what;
  try {
    bool wanted = true;
    for (size_t i = 0; wanted && i < order.size(); ++i)
      for (uint64_t first = 0; wanted && first < store.elements(order[i]);) {
        Piece piece = {order[i],
                       first,
                       std::min(most, store.elements(order[i]) - first),
                       {}};
        piece.bytes.resize(piece.count * elementBytes);
        store.read(piece.parameter, options.type, first, piece.count,
                   piece.bytes.data());
        first += piece.count;
        wanted = put(std::move(piece));
      }
  } catch (...) {
    what = std::current_exception();
  }
  --store.readers;
  Lock lock(mutex);
  problem = what;
  done = true;
  changed.notify_all();
}

std::optional<WeightStream::Piece> WeightStream::next() {
  Lock lock(mutex);
  while (!done && ready.empty())
    lock.wait(changed);
  if (ready.empty()) {
    if (problem)
      std::rethrow_exception(std::exchange(problem, nullptr));
    return std::nullopt;
  }
  Piece piece = std::move(ready.front());
  ready.pop_front();
  readyBytes -= piece.bytes.size();
  changed.notify_all();
  return piece;
}

} // namespace wsec::runtime
