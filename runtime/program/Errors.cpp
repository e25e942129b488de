// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/program/Errors.h"
#include "runtime/program/NearestNames.h"

namespace wsec::runtime {

std::string_view errorClassName(ErrorClass errorClass) {
  switch (errorClass) {
  case ErrorClass::SramOverflow:
    return "SramOverflow";
  case ErrorClass::MissingRoute:
    return "MissingRoute";
  case ErrorClass::RouteConflict:
    return "RouteConflict";
  case ErrorClass::OutOfBounds:
    return "OutOfBounds";
  case ErrorClass::UninitializedRead:
    return "UninitializedRead";
  case ErrorClass::Deadlock:
    return "Deadlock";
  case ErrorClass::UnreadTraffic:
    return "UnreadTraffic";
  case ErrorClass::PackingMismatch:
    return "PackingMismatch";
  case ErrorClass::MicrothreadBusy:
    return "MicrothreadBusy";
  case ErrorClass::MissingTask:
    return "MissingTask";
  case ErrorClass::DataRace:
    return "DataRace";
  case ErrorClass::IntegerError:
    return "IntegerError";
  case ErrorClass::NotFinite:
    return "NotFinite";
  case ErrorClass::MachineLimit:
    return "MachineLimit";
  case ErrorClass::BadProgram:
    return "BadProgram";
  case ErrorClass::WeightFileChanged:
    return "WeightFileChanged";
  case ErrorClass::BadCall:
    return "BadCall";
  case ErrorClass::BadState:
    return "BadState";
  case ErrorClass::BadTensor:
    return "BadTensor";
  case ErrorClass::IoError:
    return "IoError";
  case ErrorClass::WorkLimit:
    return "WorkLimit";
  case ErrorClass::HostLimit:
    return "HostLimit";
  }
  return "Error";
}

Error::Error(ErrorClass errorClass, const std::string &message)
    : std::runtime_error(std::string(errorClassName(errorClass)) + ": " +
                         message),
      kind(errorClass), text(message), rest(message) {}

std::string toString(const PlaceStep &step) {
  if (!step.name.empty())
    return step.what + " " + inQuotes(step.name);
  return step.index >= 0 ? step.what + " " + std::to_string(step.index)
                         : step.what;
}

static std::string textOf(const std::vector<PlaceStep> &place) {
  std::string text;
  for (const PlaceStep &step : place)
    text += (text.empty() ? "" : ", ") + toString(step);
  return text;
}

Error::Error(ErrorClass errorClass, std::vector<PlaceStep> place,
             const std::string &detail)
    : Error(errorClass, textOf(place) + ": " + detail) {
  steps = std::move(place);
  rest = detail;
}

} // namespace wsec::runtime
