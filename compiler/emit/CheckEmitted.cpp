// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The runtime throws, the compiler does not: they meet here.

#include "compiler/emit/CheckEmitted.h"
#include "runtime/program/Checker.h"
#include "runtime/program/Errors.h"

std::optional<std::string>
wsec::emit::findLoadError(std::string_view flatbuffer) {
  try {
    runtime::checkProgram(*program::GetProgram(flatbuffer.data()));
  } catch (const runtime::Error &error) {
    return error.what();
  }
  return std::nullopt;
}
