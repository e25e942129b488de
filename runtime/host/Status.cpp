// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/host/Status.h"

#include "absl/strings/cord.h"

#include <new>

namespace wsec::runtime {

static constexpr char errorClassKey[] = "wsec/error-class";

static absl::StatusCode codeOf(ErrorClass errorClass) {
  switch (errorClass) {
  case ErrorClass::BadProgram:
  case ErrorClass::BadCall:
  case ErrorClass::BadTensor:
    return absl::StatusCode::kInvalidArgument;
  case ErrorClass::BadState:
  case ErrorClass::WeightFileChanged:
    return absl::StatusCode::kDataLoss;
  case ErrorClass::IoError:
    return absl::StatusCode::kUnavailable;
  case ErrorClass::SramOverflow:
  case ErrorClass::WorkLimit:
    return absl::StatusCode::kResourceExhausted;
  case ErrorClass::OutOfBounds:
    return absl::StatusCode::kOutOfRange;
  default:
    return absl::StatusCode::kAborted; // a run that the machine refuses
  }
}

absl::Status currentStatus() {
  try {
    throw;
  } catch (const Error &error) {
    const std::string_view name = errorClassName(error.errorClass());
    absl::Status status(codeOf(error.errorClass()), error.what());
    status.SetPayload(errorClassKey,
                      absl::Cord(absl::string_view(name.data(), name.size())));
    return status;
  } catch (const std::bad_alloc &) {
    return absl::ResourceExhaustedError("out of memory");
  } catch (const std::exception &error) {
    return absl::InternalError(error.what());
  }
}

std::optional<ErrorClass> errorClassOf(const absl::Status &status) {
  if (const auto payload = status.GetPayload(errorClassKey))
    for (int i = 0; errorClassName(ErrorClass(i)) != "Error"; ++i)
      if (std::string(*payload) == errorClassName(ErrorClass(i)))
        return ErrorClass(i);
  return std::nullopt;
}

} // namespace wsec::runtime
