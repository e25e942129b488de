// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RUNTIME_PROGRAM_CHECK_WHERE_H
#define RUNTIME_PROGRAM_CHECK_WHERE_H

#include "runtime/program/Errors.h"

#include "flatbuffers/flatbuffers.h"

#include <cstdint>
#include <string>

namespace wsec::runtime {

/// A place in a program, for messages: a chain of stack objects, turned into
/// words ("class 'rows', routine 3, statement 5") only when something is wrong.
struct Where {
  const Where *outer = nullptr;
  const char *what = "";
  int64_t index = -1;
  const flatbuffers::String *name = nullptr;

  std::vector<PlaceStep> path() const;
};

/// An error that says where.
Error errorAt(ErrorClass errorClass, const Where &where,
              const std::string &what);
/// BadProgram, saying where.
Error badProgram(const Where &where, const std::string &what);

} // namespace wsec::runtime

#endif // RUNTIME_PROGRAM_CHECK_WHERE_H
