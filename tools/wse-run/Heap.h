// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TOOLS_WSE_RUN_HEAP_H
#define TOOLS_WSE_RUN_HEAP_H

namespace wsec::run {

/// Lets the heap of the process have large pages where the host has them, and
/// keep what was freed: an emulation takes and frees memory again and again,
/// each page of which the host would clear each time. Before threads start.
void prepareHeap();

} // namespace wsec::run

#endif // TOOLS_WSE_RUN_HEAP_H
