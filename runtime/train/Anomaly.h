// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RUNTIME_TRAIN_ANOMALY_H
#define RUNTIME_TRAIN_ANOMALY_H

#include "runtime/host/Session.h"

#include <string>

namespace wsec::runtime {

/// Where a call makes the first number that is none: the call is made again, of
/// the inputs and parameters that are bound, and every value of the model that
/// PEs hold is read off them. In a sentence, as "a number that is none is first
/// in value 'h' of kernel 'exp'"; a parameter that holds one is named before,
/// a gradient after all values. Empty: there is none. Throws Error.
std::string findAnomaly(Session &session, const Call &call,
                        const EngineOptions &options, Engine engine);

} // namespace wsec::runtime

#endif // RUNTIME_TRAIN_ANOMALY_H
