// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a PE sees of the fabric.
#ifndef RUNTIME_PE_FABRIC_H
#define RUNTIME_PE_FABRIC_H

#include "runtime/pe/Word.h"

namespace wsec::runtime::pe {

/// The words of one color between a PE and its router, in one direction.
struct Mailbox {
  int32_t pe = 0;
  uint8_t color = 0;
  bool listens = false;     ///< the PE waits for a word
  bool senderWaits = false; ///< who sends waits for room
  int64_t toDrop = 0;       ///< next words that are taken as they come
  Cycle lastTaken = -1;
  WordQueue queue; ///< what is there, or underway to it

  /// Whether a word can be taken in a cycle. One that follows a word taken in
  /// the same cycle can be taken in the next.
  bool has(Cycle now) const { return !queue.empty() && takeable() <= now; }
  /// From when on the oldest word can be taken; there must be one.
  Cycle takeable() const {
    return std::max(queue.front().ready, lastTaken + 1);
  }
};

class Fabric {
public:
  virtual ~Fabric() = default;

  /// Has a PE stepped in a cycle, or in the next if that is over.
  virtual void wake(int pe, Cycle when) = 0;

  /// What comes up the ramp on a color; null: nothing ever has. It listens
  /// when it comes to be.
  virtual Mailbox *inbox(int pe, int color) = 0;
  /// Where it is going to come.
  virtual Mailbox &expect(int pe, int color) = 0;
  /// Takes the oldest word of an inbox, in the current cycle.
  virtual Word receive(Mailbox &inbox) = 0;
  /// The next `words` words are taken as they come, one per cycle from the
  /// current one on; words before are all taken. Wakes the PE, if the inbox
  /// listens, in the cycle of the last.
  virtual void drop(Mailbox &inbox, int64_t words) = 0;

  /// What the PE sends on a color. Throws MissingRoute.
  virtual Mailbox &outbox(int pe, int color) = 0;
  /// When there is room for a word; never: not known yet.
  virtual Cycle roomAt(const Mailbox &outbox) const = 0;
  /// Puts a word into an outbox that has room.
  virtual void send(Mailbox &outbox, const Word &word) = 0;

  /// The PE's switch goes one position on once all that it has sent is past.
  virtual void advanceSwitch(int pe, int color) = 0;
  virtual void setRoute(int pe, int color, program::Port receive,
                        uint8_t transmit) = 0;
};

} // namespace wsec::runtime::pe

#endif // RUNTIME_PE_FABRIC_H
