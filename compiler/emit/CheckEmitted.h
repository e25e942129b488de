// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COMPILER_EMIT_CHECKEMITTED_H
#define COMPILER_EMIT_CHECKEMITTED_H

#include "runtime/program/Errors.h"
#include "runtime/program/facts/LinkWords.h"
#include "runtime/program/proof/DeadlockChecker.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace wsec::emit {

/// What the loader refuses, and where in the program's tables.
struct LoadError {
  std::string errorClass;
  std::vector<runtime::PlaceStep> place;
  std::string message;
  /// Where the other half of it lies, if it has one, and what that is.
  std::vector<runtime::PlaceStep> other = {};
  std::string note = {};
};

/// Asks the loader's own checker about a flatbuffer.
std::optional<LoadError> findLoadError(std::string_view flatbuffer);

/// What cannot work out between those who send and those who receive a color.
std::optional<LoadError> findColorMistake(std::string_view flatbuffer);

/// The size and digest of a weight file, or why it cannot be read.
struct FileFacts {
  uint64_t size = 0, digest = 0;
  std::string problem;
};
FileFacts readFileFacts(const std::string &path, bool hash);

/// What can be proved about deadlock in a flatbuffer that would load.
runtime::DeadlockProof findDeadlock(std::string_view flatbuffer);

/// Words on links, of a flatbuffer whose code and routes are the compiler's.
runtime::LinkWords findLinkWords(std::string_view flatbuffer);

} // namespace wsec::emit

#endif // COMPILER_EMIT_CHECKEMITTED_H
