// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RUNTIME_STREAMS_SWITCH_H
#define RUNTIME_STREAMS_SWITCH_H

#include "runtime/program/program_generated.h"

namespace wsec::runtime::streams {

/// What one router does with one color: its rule, and the position it is in.
struct Switch {
  const program::RouteRule *rule = nullptr; ///< null: set by the PE, or never
  program::Port receive = program::Port::Ramp;
  uint8_t transmit = 0;
  program::PopMode pop = program::PopMode::Never;
  uint8_t position = 0;
  bool closed = true;

  /// As at load; `rule` may be null.
  explicit Switch(const program::RouteRule *rule);
  /// One command of a control wavelet. Returns those that remain.
  uint32_t act(uint32_t commands);
  /// Whether there was a position to go to.
  bool advance();
  void set(program::Port newReceive, uint8_t newTransmit);

private:
  void go(uint8_t to);
};

/// Commands of a control wavelet are packed, the first lowest.
inline constexpr int commandBits = 4;

} // namespace wsec::runtime::streams

#endif // RUNTIME_STREAMS_SWITCH_H
