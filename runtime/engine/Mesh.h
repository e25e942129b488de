// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The PEs of a program and the code they have; how deep their queues are.
#ifndef RUNTIME_ENGINE_MESH_H
#define RUNTIME_ENGINE_MESH_H

#include "runtime/pe/Code.h"
#include "runtime/pe/Coordinate.h"
#include "runtime/program/Ports.h"

#include <vector>

namespace wsec::runtime {

inline Coordinate neighbour(Coordinate pe, program::Port port) {
  const Way way = wayOf(port);
  return {pe.x + way.x, pe.y + way.y};
}

struct Mesh {
  /// Throws BadProgram, or SramOverflow.
  explicit Mesh(const program::Program &program);

  Coordinate coordinate(int pe) const { return {pe % width, pe / width}; }
  int index(Coordinate pe) const { return pe.y * width + pe.x; }
  int size() const { return width * height; }
  bool contains(Coordinate pe) const {
    return pe.x >= 0 && pe.x < width && pe.y >= 0 && pe.y < height;
  }
  /// Null: the PE has no code.
  const ClassCode *codeAt(int pe) const {
    const int at = classOf[size_t(pe)];
    return at < 0 ? nullptr : &classes[size_t(at)];
  }

  const int width, height;
  std::vector<ClassCode> classes;
  std::vector<int> classOf; ///< by PE; -1: no code
};

/// Cycles of a hop, at least one.
int hopCycles(const program::Machine &machine);
/// Words a router holds per color and input port.
int routerWords(const program::Machine &machine);
/// Words between the router and a PE on one color: those that the queue of the
/// color holds, and those on the ramp.
int inboxWords(const program::Machine &machine, const ClassCode &code,
               int color);
/// Words between a PE and its router on one color, on their way out; with what
/// the router holds on its ramp port.
int outboxWords(const program::Machine &machine, const ClassCode &code,
                int color);

} // namespace wsec::runtime

#endif // RUNTIME_ENGINE_MESH_H
