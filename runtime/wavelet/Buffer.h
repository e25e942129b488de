// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RUNTIME_WAVELET_BUFFER_H
#define RUNTIME_WAVELET_BUFFER_H

#include "runtime/wavelet/Wavelet.h"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace wsec::runtime::wavelet {

/// Wavelets of one color that wait at one place, in order, as many as the
/// machine has room for there. What lies in it is on its way until it is
/// `ready`: the stages of a link or ramp belong to the buffer at its end.
///
/// Room that a pop makes is seen from the next cycle on, so that it does not
/// matter in which order the places of the mesh are visited within a cycle.
class Buffer {
public:
  /// `sender`: entry of the agenda to wake when room is made.
  Buffer(int capacity, uint32_t sender)
      : sender(sender), slots(size_t(capacity)) {}

  bool empty() const { return count == 0; }
  int size() const { return int(count); }
  bool hasRoom(Cycle now) const {
    return count + (popped(now) ? poppedNow : 0) < slots.size();
  }
  /// Whether there will be room in the next cycle that is not seen yet.
  bool popped(Cycle now) const { return poppedAt == now; }
  void push(Wavelet wavelet) {
    // Nothing overtakes, even if it was underway for a shorter time.
    if (count > 0)
      wavelet.ready = std::max(wavelet.ready, back().ready + 1);
    slots[(head + count++) % slots.size()] = wavelet;
  }
  const Wavelet &front() const { return slots[head]; }
  Wavelet &back() { return slots[(head + count - 1) % slots.size()]; }
  bool frontReady(Cycle now) const { return count > 0 && front().ready <= now; }
  Wavelet take(Cycle now) {
    Wavelet wavelet = slots[head];
    if (++head == slots.size())
      head = 0;
    --count;
    poppedNow = popped(now) ? poppedNow + 1 : 1;
    poppedAt = now;
    return wavelet;
  }

  uint32_t sender;
  bool senderWaits = false; ///< for room

private:
  std::vector<Wavelet> slots;
  size_t head = 0, count = 0;
  Cycle poppedAt = -1;
  size_t poppedNow = 0;
};

} // namespace wsec::runtime::wavelet

#endif // RUNTIME_WAVELET_BUFFER_H
