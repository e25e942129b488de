// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A program as text of the pe dialect, which wsec compiles to the same bytes.
// For people it says what a program of the compiler does, for the project that
// nothing is in a program that nobody can write by hand.
#ifndef TOOLS_WSE_INSPECT_TEXT_PETEXT_H
#define TOOLS_WSE_INSPECT_TEXT_PETEXT_H

#include "runtime/program/program_generated.h"

#include <string>
#include <vector>

namespace wsec::runtime {

/// Where the text finds the bytes of one of the program's files.
struct TextFile {
  std::string path;
  uint64_t start = 0; // of the file's first byte
};

struct TextOptions {
  /// A preset's name or a JSON description, as compiler/machine reads it.
  std::string machine;
  /// One for each file of the program.
  std::vector<TextFile> files;
  /// Comments that the text begins with.
  std::vector<std::string> head;
};

/// The program has passed the checker. Names that it does not keep, of
/// routines and values, are made up.
std::string peText(const program::ProgramT &program,
                   const TextOptions &options);

} // namespace wsec::runtime

#endif // TOOLS_WSE_INSPECT_TEXT_PETEXT_H
