// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How many words wait where.
#ifndef RUNTIME_WAVELET_DEPTHS_H
#define RUNTIME_WAVELET_DEPTHS_H

#include "runtime/program/program_generated.h"

namespace wsec::runtime::wavelet {

/// Words a router holds per color and input port.
int routerDepth(const program::Machine &machine);
/// Cycles of a hop, at least one.
int hopCycles(const program::Machine &machine);
/// Words between the router and a PE of `peClass` on one color: those that the
/// queue of the color holds, and those on the ramp.
int inboxDepth(const program::Program &program, const program::PEClass &peClass,
               int color);
/// Words between a PE and the ramp side of its router: queue, ramp, and the
/// buffer of the router's ramp port.
int outboxDepth(const program::Program &program,
                const program::PEClass &peClass, int color);

} // namespace wsec::runtime::wavelet

#endif // RUNTIME_WAVELET_DEPTHS_H
