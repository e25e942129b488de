// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/engine/Mesh.h"

#include "runtime/program/Errors.h"
#include "runtime/program/NearestNames.h"

#include <algorithm>

namespace wsec::runtime {

Mesh::Mesh(const program::Program &program)
    : width(program.machine()->width()), height(program.machine()->height()),
      classOf(size_t(width) * size_t(height), -1) {
  for (uint32_t i = 0; i < program.classes()->size(); ++i) {
    classes.push_back(decodeClass(program, i));
    for (const program::Rect *rect : *program.classes()->Get(i)->rects()) {
      if (rect->xstep() < 1 || rect->ystep() < 1 || rect->x0() < 0 ||
          rect->y0() < 0 || rect->x1() > width || rect->y1() > height)
        throw Error(ErrorClass::BadProgram, "class " +
                                                inQuotes(classes.back().name) +
                                                " leaves the mesh");
      for (int y = rect->y0(); y < rect->y1(); y += rect->ystep())
        for (int x = rect->x0(); x < rect->x1(); x += rect->xstep()) {
          int &slot = classOf[size_t(index({x, y}))];
          if (slot >= 0)
            throw Error(ErrorClass::BadProgram,
                        "PE " + toString({x, y}) + " belongs to two classes");
          slot = int(i);
        }
    }
  }
}

// ---------------------------------------------------------------- depths

/// Of machines that do not say: what sustains a word per cycle over a hop.
static constexpr int smallestDepth = 2;

int hopCycles(const program::Machine &machine) {
  return std::max(1, machine.hop_cycles());
}

int routerWords(const program::Machine &machine) {
  return machine.router_buffer_words() > 0 ? machine.router_buffer_words()
                                           : smallestDepth * hopCycles(machine);
}

/// Of the queue that a color is tied to, else of the smallest one.
static int queueWords(const ClassCode &code, int color, bool output,
                      const flatbuffers::Vector<int32_t> *depths) {
  if (!depths || depths->size() == 0)
    return smallestDepth;
  for (const QueueCode &queue : code.queues)
    if (queue.color == color && queue.output == output)
      return std::max(1, depths->Get(unsigned(queue.queue)));
  return std::max(1, *std::min_element(depths->begin(), depths->end()));
}

int inboxWords(const program::Machine &machine, const ClassCode &code,
               int color) {
  return queueWords(code, color, false, machine.input_queue_words()) +
         machine.ramp_cycles();
}

int outboxWords(const program::Machine &machine, const ClassCode &code,
                int color) {
  return queueWords(code, color, true, machine.output_queue_words()) +
         machine.ramp_cycles() + routerWords(machine);
}

} // namespace wsec::runtime
