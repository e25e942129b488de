// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/program/Where.h"

namespace wsec::runtime {

std::string Where::text() const {
  std::string text = outer ? outer->text() + ", " : "";
  text += what;
  if (name && name->size() > 0)
    text += " '" + name->str() + "'";
  else if (index >= 0)
    text += " " + std::to_string(index);
  return text;
}

Error badProgram(const Where &where, const std::string &what) {
  return Error(ErrorClass::BadProgram, where.text() + ": " + what);
}

} // namespace wsec::runtime
