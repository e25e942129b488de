// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The runtime throws, the compiler does not: they meet here.

#include "compiler/emit/CheckEmitted.h"
#include "runtime/files/Digest.h"
#include "runtime/files/MappedFile.h"
#include "runtime/program/Checker.h"
#include "runtime/program/check/ColorChecker.h"

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

std::optional<wsec::emit::LoadError>
wsec::emit::findColorMistake(std::string_view flatbuffer) {
  auto mistake =
      runtime::findColorMistake(*program::GetProgram(flatbuffer.data()));
  if (!mistake)
    return std::nullopt;
  return LoadError{std::string(errorClassName(mistake->errorClass)),
                   mistake->place, mistake->what, mistake->other,
                   mistake->note};
}

wsec::runtime::DeadlockProof
wsec::emit::findDeadlock(std::string_view flatbuffer) {
  return runtime::proveDeadlockFree(*program::GetProgram(flatbuffer.data()));
}

wsec::runtime::LinkWords
wsec::emit::findLinkWords(std::string_view flatbuffer) {
  return runtime::countLinkWords(*program::GetProgram(flatbuffer.data()));
}

wsec::emit::FileFacts wsec::emit::readFileFacts(const std::string &path,
                                                bool hash) {
  try {
    auto file = runtime::MappedFile::open(path);
    FileFacts facts{file->size(), hash ? runtime::digestOf(*file) : 0, ""};
    if (file->damaged())
      facts.problem = "'" + path + "' was written to while it was read";
    return facts;
  } catch (const runtime::Error &error) {
    return {0, 0, error.message()};
  }
}
