// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RUNTIME_PROGRAM_CHECK_COLORCHECKER_H
#define RUNTIME_PROGRAM_CHECK_COLORCHECKER_H

#include "runtime/program/Errors.h"
#include "runtime/program/program_generated.h"

#include <optional>
#include <string>
#include <vector>

namespace wsec::runtime {

/// Two places of a program that do not fit together.
struct ColorMistake {
  ErrorClass errorClass{};
  std::vector<PlaceStep> place;
  std::string what;
  std::vector<PlaceStep> other; ///< empty: there is none
  std::string note;
};

/// What is wrong with the words of a color wherever its code runs: they are
/// received and come from nowhere, are sent and nobody takes them, meet a PE
/// without a route, or are of a type that who receives them does not expect.
///
///   color 2:  PE (0, 0) ramp -> east,  PE (1, 0) west -> east,  PE (2, 0) -
///                                                      no route ^
///
/// The first that is certain, or none. A switch has all its routes at once
/// here, and programs whose code sets routes are left to the run. The program
/// has passed the checker.
std::optional<ColorMistake> findColorMistake(const program::Program &program);

} // namespace wsec::runtime

#endif // RUNTIME_PROGRAM_CHECK_COLORCHECKER_H
