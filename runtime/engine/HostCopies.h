// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Copies between tensors of the host and buffers of PEs, for every engine.
#ifndef RUNTIME_ENGINE_HOSTCOPIES_H
#define RUNTIME_ENGINE_HOSTCOPIES_H

#include "runtime/engine/HostPort.h"
#include "runtime/engine/Router.h"
#include "runtime/pe/Code.h"
#include "runtime/program/Call.h"

#include <functional>

namespace wsec::runtime {

/// What an engine offers: `bytes` bytes of SRAM at `address` of a PE. If `in`,
/// all of them are about to be written; else null if not all have been.
using SramWindow = std::function<uint8_t *(Coordinate pe, int64_t address,
                                           int64_t bytes, bool in)>;
/// The class of a PE; null: it has no code.
using ClassOf = std::function<const ClassCode *(Coordinate pe)>;

/// Makes the copies that come before launch number `launch`, in order. Throws
/// BadProgram where a PE has no such buffer, or its type or size is another,
/// UninitializedRead for what nothing has written.
void copyBeforeLaunch(const Call &call, uint32_t launch, HostPort &host,
                      const ClassOf &classOf, const SramWindow &sram);

} // namespace wsec::runtime

#endif // RUNTIME_ENGINE_HOSTCOPIES_H
