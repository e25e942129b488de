// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/wavelet/Depths.h"

#include <algorithm>

namespace wsec::runtime::wavelet {

/// Of machines that do not say: what sustains a word per cycle over a hop.
static constexpr int smallestDepth = 2;

int hopCycles(const program::Machine &machine) {
  return std::max(1, machine.hop_cycles());
}

int routerDepth(const program::Machine &machine) {
  return machine.router_buffer_words() > 0 ? machine.router_buffer_words()
                                           : smallestDepth * hopCycles(machine);
}

/// Depth of the queue that a color is tied to, else of the smallest one.
static int queueDepth(const program::PEClass &peClass, int color, bool output,
                      const flatbuffers::Vector<int32_t> *depths) {
  if (!depths || depths->size() == 0)
    return smallestDepth;
  if (peClass.queues())
    for (const program::QueueBinding *binding : *peClass.queues())
      if (binding->color() == color && binding->output() == output &&
          binding->queue() < depths->size())
        return std::max(1, depths->Get(binding->queue()));
  return std::max(1, *std::min_element(depths->begin(), depths->end()));
}

int inboxDepth(const program::Program &program, const program::PEClass &peClass,
               int color) {
  const program::Machine &machine = *program.machine();
  return queueDepth(peClass, color, false, machine.input_queue_words()) +
         machine.ramp_cycles();
}

int outboxDepth(const program::Program &program,
                const program::PEClass &peClass, int color) {
  const program::Machine &machine = *program.machine();
  return queueDepth(peClass, color, true, machine.output_queue_words()) +
         machine.ramp_cycles() + routerDepth(machine);
}

} // namespace wsec::runtime::wavelet
