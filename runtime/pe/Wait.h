// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RUNTIME_PE_WAIT_H
#define RUNTIME_PE_WAIT_H

#include "runtime/pe/Code.h"
#include "runtime/pe/Coordinate.h"

namespace wsec::runtime {

/// What a thread of a PE waits for: a word, or room to send one.
struct PeWait {
  Coordinate pe;
  const ClassCode *code = nullptr;
  const InstructionCode *instruction = nullptr; ///< null: a control wavelet
  size_t launch = 0;
  int color = 0;
  bool room = false;
  bool awaited = false; ///< a microthread that the main thread awaits
};

} // namespace wsec::runtime

#endif // RUNTIME_PE_WAIT_H
