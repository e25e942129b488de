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

} // namespace wsec::runtime

#endif // RUNTIME_PROGRAM_PORTS_H
