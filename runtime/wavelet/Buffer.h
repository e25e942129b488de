// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RUNTIME_WAVELET_BUFFER_H
#define RUNTIME_WAVELET_BUFFER_H

#include "runtime/pe/Fabric.h"

namespace wsec::runtime::wavelet {

using pe::Cycle;
using pe::Word;

/// Wavelets of one color that wait at one place, in order, as many as the
/// machine has room for there. What lies in it is on its way until it is
/// `ready`: the stages of a link or ramp belong to the buffer at its end.
///
/// Room that a take makes is seen from the next cycle on, so that it does not
/// matter in which order the places of the mesh are visited within a cycle.
class Buffer : public pe::Mailbox {
public:
  /// `sender`: entry of the agenda to wake when room is made. `route`: of the
  /// color, in the router that takes from it, or whose ramp leads to it.
  Buffer(int pe, int color, int capacity, uint32_t sender, int route)
      : sender(sender), route(route), capacity(size_t(capacity)) {
    this->pe = pe;
    this->color = uint8_t(color);
  }

  bool empty() const { return queue.empty(); }
  bool hasRoom(Cycle now) const {
    return queue.size() + (popped(now) ? takenNow : 0) < capacity;
  }
  /// Whether there will be room in the next cycle that is not seen yet.
  bool popped(Cycle now) const { return lastTaken == now; }
  void push(Word word) {
    // Nothing overtakes, even if it was underway for a shorter time.
    if (!empty())
      word.ready = std::max(word.ready, queue.back().ready + 1);
    queue.push(word);
  }
  bool frontReady(Cycle now) const {
    return !empty() && queue.front().ready <= now;
  }
  Word take(Cycle now) {
    const Word word = queue.front();
    queue.pop();
    takenNow = popped(now) ? takenNow + 1 : 1;
    lastTaken = now;
    return word;
  }

  /// Drops a word that has `ramp` cycles to go, if it is not the last that is
  /// to be dropped and none is before it: it is taken in the very cycle in
  /// which it is ready. Until then it needs no place. As a ramp passes one word
  /// a cycle, there are fewer than would fill the buffer, unless as many have
  /// come behind them, and then they are gone.
  bool dropAlone(const Word &word, int ramp) {
    if (toDrop < 2 || !empty() || word.ready <= lastTaken ||
        capacity <= size_t(ramp))
      return false;
    --toDrop;
    lastTaken = word.ready;
    takenNow = 1;
    return true;
  }

  uint32_t sender;
  int32_t route;

private:
  size_t capacity, takenNow = 0;
};

} // namespace wsec::runtime::wavelet

#endif // RUNTIME_WAVELET_BUFFER_H
