// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/strips/Chunk.h"

#include <algorithm>

namespace wsec::runtime {

void Chunk::cut(size_t from, size_t count) {
  const size_t all = words(), column = from % length;
  data = at(from);
  if (linear()) {
    rows = 1;
    length = count;
  } else if (column == 0 && count >= length) {
    rows = count / length;
  } else {
    rows = 1;
    length = std::min(count, length - column);
  }
  if (rows == 1)
    rowStride = 0;
  const double begin = arrivalOf(from, all);
  last = arrivalOf(from + words() - 1, all);
  first = begin;
}

/// Nodes are used again, while they are in the cache. Who has a destructor is
/// slow to find in a thread, so that is another.
struct Fifo::FreeNodes {
  static constexpr size_t most = 4096;
  Node *list = nullptr;
  size_t count = 0;
  bool hasEnded = false; ///< the thread: nobody deletes what is kept now

  static thread_local FreeNodes ofThread;
  struct Owner {
    bool isThere = true; ///< who reads it makes the thread's
    ~Owner() {
      ofThread.hasEnded = true;
      Node *&list = ofThread.list;
      while (Node *node = std::exchange(list, list ? list->next : nullptr))
        delete node;
    }
  };
  static thread_local Owner owner;
};
constinit thread_local Fifo::FreeNodes Fifo::FreeNodes::ofThread;
thread_local Fifo::FreeNodes::Owner Fifo::FreeNodes::owner;

void Fifo::push(Chunk chunk) {
  FreeNodes &unused = FreeNodes::ofThread;
  Node *node = unused.list;
  if (node) {
    unused.list = std::exchange(node->next, nullptr);
    --unused.count;
    node->chunk = std::move(chunk);
  } else {
    node = new Node{std::move(chunk)};
  }
  (oldest ? newest->next : oldest) = node;
  newest = node;
}

void Fifo::forgetOldest() {
  FreeNodes &unused = FreeNodes::ofThread;
  Node *node = std::exchange(oldest, oldest->next);
  consumed = 0;
  const bool keeps = unused.list ? unused.count < FreeNodes::most
                                 : !unused.hasEnded && FreeNodes::owner.isThere;
  if (!keeps)
    return delete node;
  node->chunk.owner.reset();
  node->next = std::exchange(unused.list, node);
  ++unused.count;
}

Chunk Fifo::take() {
  Chunk its = consumed ? front() : std::move(oldest->chunk);
  pop(its.words());
  return its;
}

std::optional<WordRows> rowsOf(const size_t *extent, const ptrdiff_t *stride,
                               int dimensions) {
  WordRows result;
  for (int d = dimensions; d-- > 0;) {
    if (extent[d] == 1)
      continue;
    if (result.length == 1)
      result.wordStride = stride[d];
    const bool oneRow = result.rows == 1;
    if (oneRow && stride[d] == ptrdiff_t(result.length) * result.wordStride) {
      result.length *= extent[d];
    } else if (oneRow) {
      result.rows = extent[d];
      result.rowStride = stride[d];
    } else if (stride[d] == ptrdiff_t(result.rows) * result.rowStride) {
      result.rows *= extent[d];
    } else {
      return {};
    }
  }
  return result;
}

Chunk Chunk::shifted(ptrdiff_t lane, bool broadcast) const {
  Chunk result = *this;
  result.data += lane * laneStride;
  if (broadcast)
    result.laneStride = 0;
  return result;
}

} // namespace wsec::runtime
