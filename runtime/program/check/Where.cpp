// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/program/check/Where.h"

namespace wsec::runtime {

std::vector<PlaceStep> Where::path() const {
  std::vector<PlaceStep> steps;
  if (outer)
    steps = outer->path();
  steps.push_back({what, index, name ? name->str() : ""});
  return steps;
}

Error errorAt(ErrorClass errorClass, const Where &where,
              const std::string &what) {
  return Error(errorClass, where.path(), what);
}

Error badProgram(const Where &where, const std::string &what) {
  return errorAt(ErrorClass::BadProgram, where, what);
}

} // namespace wsec::runtime
