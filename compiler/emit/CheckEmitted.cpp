// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The runtime throws, the compiler does not: they meet here.

#include "compiler/emit/CheckEmitted.h"
#include "runtime/program/Checker.h"

std::optional<wsec::emit::LoadError>
wsec::emit::findLoadError(std::string_view flatbuffer) {
  try {
    runtime::checkProgram(*program::GetProgram(flatbuffer.data()));
  } catch (const runtime::Error &error) {
    return LoadError{std::string(errorClassName(error.errorClass())),
                     error.place(), error.detail()};
  }
  return std::nullopt;
}

wsec::runtime::DeadlockProof
wsec::emit::findDeadlock(std::string_view flatbuffer) {
  return runtime::proveDeadlockFree(*program::GetProgram(flatbuffer.data()));
}
