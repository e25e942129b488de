// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RUNTIME_WAVELET_SWITCH_H
#define RUNTIME_WAVELET_SWITCH_H

#include "runtime/program/program_generated.h"
#include "runtime/wavelet/Wavelet.h"

namespace wsec::runtime::wavelet {

/// The route of one color in one router: where it receives, where it sends,
/// and how control wavelets change that.
class Switch {
public:
  Switch() = default;
  explicit Switch(const program::RouteRule &rule);
  /// Lets nothing through until it is set.
  static Switch closed();

  program::Port receive() const { return receivePort; }
  /// Bit set over Port.
  uint8_t transmit() const { return transmitPorts; }
  /// No traffic until the PE sets the route.
  bool suspended() const { return tornDown; }
  /// Whether the receive port may ever be another one without the PE's doing.
  bool switches() const { return rule && rule->positions(); }

  /// One position forward: a command, or the end of an instruction. False if
  /// there is no further one.
  bool advance();
  /// Acts on the first command of a control wavelet that was routed, and
  /// takes off what the pop mode says.
  void act(Wavelet &control);
  /// The PE's own setting: one position, open.
  void set(program::Port receive, uint8_t transmit);

private:
  void goTo(size_t position);

  const program::RouteRule *rule = nullptr; ///< null: set by the PE
  program::PopMode pop = program::PopMode::Never;
  program::Port receivePort{};
  uint8_t transmitPorts = 0;
  uint8_t position = 0;
  bool tornDown = false;
};

/// Commands of a control wavelet, the first lowest.
inline constexpr int commandBits = 4;
uint32_t packCommand(program::SwitchCommand command, int index);

} // namespace wsec::runtime::wavelet

#endif // RUNTIME_WAVELET_SWITCH_H
