// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RUNTIME_PROGRAM_PORTS_H
#define RUNTIME_PROGRAM_PORTS_H

#include "runtime/program/program_generated.h"

namespace wsec::runtime {

/// The port of the neighbour at the other end of a link; the ramp has none and
/// stays what it is.
constexpr program::Port opposite(program::Port port) {
  using program::Port;
  switch (port) {
  case Port::North:
    return Port::South;
  case Port::South:
    return Port::North;
  case Port::East:
    return Port::West;
  case Port::West:
    return Port::East;
  case Port::Ramp:
    break;
  }
  return Port::Ramp;
}

/// Columns and rows to the neighbour at the other end of a link.
struct Way {
  int x = 0, y = 0;
};
constexpr Way wayOf(program::Port port) {
  using program::Port;
  return {(port == Port::East) - (port == Port::West),
          (port == Port::South) - (port == Port::North)};
}

/// Where a router receives a color, and the bit set of where it sends it.
struct RoutePorts {
  program::Port receive;
  unsigned transmit;
};

/// The ports of position `position` of a rule: each changes what the one before
/// it left.
inline RoutePorts portsAt(const program::RouteRule &rule, unsigned position) {
  RoutePorts ports{rule.receive(), rule.transmit()};
  for (unsigned i = 0; i < position; ++i) {
    const program::SwitchPosition &next = *rule.positions()->Get(i);
    if (next.receive() >= 0)
      ports.receive = program::Port(next.receive());
    else
      ports.transmit = next.transmit();
  }
  return ports;
}

/// How many positions a rule has besides the first.
inline unsigned furtherPositions(const program::RouteRule &rule) {
  return rule.positions() ? rule.positions()->size() : 0;
}

/// All ports that some position transmits to.
inline unsigned everTransmits(const program::RouteRule &rule) {
  unsigned all = rule.transmit();
  for (unsigned i = 0; i < furtherPositions(rule); ++i)
    all |= rule.positions()->Get(i)->transmit();
  return all;
}

} // namespace wsec::runtime

#endif // RUNTIME_PROGRAM_PORTS_H
