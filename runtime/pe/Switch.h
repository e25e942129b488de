// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RUNTIME_PE_SWITCH_H
#define RUNTIME_PE_SWITCH_H

#include "runtime/program/program_generated.h"

namespace wsec::runtime::pe {

/// What one router does with one color: its rule, and the position it is in.
struct Switch {
  const program::RouteRule *rule = nullptr; ///< null: set by the PE, or never
  program::Port receive = program::Port::Ramp;
  uint8_t transmit = 0; ///< bit set over Port
  program::PopMode pop = program::PopMode::Never;
  uint8_t position = 0;
  bool closed = true; ///< no traffic until the PE sets the route

  /// As at load; `rule` may be null.
  explicit Switch(const program::RouteRule *rule);
  /// Whether it has further positions to go to.
  bool switches() const;
  /// Acts on the first command of a control wavelet that was routed. Returns
  /// those that remain.
  uint32_t act(uint32_t commands);
  /// One position forward. Whether there was one.
  bool advance();
  /// The PE's own setting: one position, open.
  void set(program::Port newReceive, uint8_t newTransmit);

private:
  void go(uint8_t to);
};

/// Commands of a control wavelet are packed, the first lowest.
inline constexpr int commandBits = 4;
inline uint32_t packCommand(program::SwitchCommand command, int index) {
  return uint32_t(command) << index * commandBits;
}

} // namespace wsec::runtime::pe

#endif // RUNTIME_PE_SWITCH_H
