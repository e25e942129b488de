// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Inside of the runtime errors are thrown; who binds to Session gets them as
// statuses, whose payload names the class.
#ifndef RUNTIME_HOST_STATUS_H
#define RUNTIME_HOST_STATUS_H

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/program/Errors.h"

#include <exception>
#include <optional>
#include <type_traits>

namespace wsec::runtime {

/// The exception that is being handled. Its message is that of the status; for
/// an Error it begins with the name of the class, which is a payload, too.
absl::Status currentStatus();

/// Nothing: no Error, but, for instance, too little memory.
std::optional<ErrorClass> errorClassOf(const absl::Status &status);

/// What `call` returns, or throws.
template <class Call>
absl::StatusOr<std::invoke_result_t<Call>> asStatusOr(const Call &call) {
  try {
    return call();
  } catch (...) {
    return currentStatus();
  }
}
template <class Call>
absl::Status asStatus(const Call &call) {
  try {
    call();
    return absl::OkStatus();
  } catch (...) {
    return currentStatus();
  }
}

} // namespace wsec::runtime

#endif // RUNTIME_HOST_STATUS_H
