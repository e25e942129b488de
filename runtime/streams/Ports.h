// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RUNTIME_STREAMS_PORTS_H
#define RUNTIME_STREAMS_PORTS_H

#include "runtime/engine/Router.h"
#include "runtime/program/Ports.h"

namespace wsec::runtime::streams {

inline Coordinate neighbour(Coordinate pe, program::Port port) {
  constexpr int dx[] = {0, 0, 1, -1, 0}, dy[] = {-1, 1, 0, 0, 0};
  return {pe.x + dx[int(port)], pe.y + dy[int(port)]};
}

/// Of an input of a router, or of a router (Ramp), on a color.
inline uint64_t placeKey(int pe, int color, program::Port port) {
  return (uint64_t(pe) << 8 | uint64_t(color)) << 3 | uint64_t(port);
}

} // namespace wsec::runtime::streams

#endif // RUNTIME_STREAMS_PORTS_H
