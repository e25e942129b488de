// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RUNTIME_HOST_ENGINECHOICE_H
#define RUNTIME_HOST_ENGINECHOICE_H

#include "runtime/engine/Engine.h"
#include "runtime/engine/PersistentState.h"
#include "runtime/program/Call.h"

#include <optional>
#include <string>

namespace wsec::runtime {

/// What runs the wafer. Wavelet steps every router and PE that has something to
/// do (runtime/wavelet): the reference for cycles. Strips moves whole streams
/// of all equal PEs of a column at once (runtime/strips; not all programs).
/// Burst is Wavelet, or Strips for programs that it can run, on more than 256
/// PEs or with more steps to take than Wavelet takes in seconds.
/// Strips holds up no sender, so it would give numbers where full queues end in
/// a deadlock: it runs programs that are proved free, and calls that are.
enum class Engine { Burst, Strips, Wavelet };

/// By its name in small letters; nothing: there is none.
const char *nameOf(Engine engine);
std::optional<Engine> engineNamed(const std::string &name);
/// "burst, strips or wavelet".
extern const char *const engineNames;

/// What Burst is for a program; others are themselves. Depends on the code of
/// the program alone.
Engine resolveEngine(Engine engine, const Call &call);

/// What runs a call: that, or Wavelet where it is Strips for Burst and the call
/// is not shown to end, word by word if the program carries no proof of it.
/// Throws Deadlock where the call cannot end, but Strips would not notice.
Engine chooseEngine(Engine engine, const Call &call,
                    const EngineOptions &options);

/// A call on an engine, chosen, that has not run it before.
RunResult emulateOnce(Engine engine, const Call &call, PersistentState *held,
                      const EngineOptions &options, HostPort &port);

/// About how many steps (words of the fabric, or instructions that use none)
/// all PEs of the program take together: those of one PE of each class, and of
/// the first iteration of each loop, times their number.
double countSteps(const Call &call);

} // namespace wsec::runtime

#endif // RUNTIME_HOST_ENGINECHOICE_H
