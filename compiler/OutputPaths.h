// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the driver does with the files it is told to write.
#ifndef COMPILER_OUTPUTPATHS_H
#define COMPILER_OUTPUTPATHS_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace wsec {

/// Says early why nothing could be written to `path` in the end: its folder is
/// missing or closed, or it is `input`, which would be lost. An empty path and
/// "-", standard output, are fine.
llvm::Error checkOutputPath(llvm::StringRef path, llvm::StringRef input);

/// Writes a file that appears whole or not at all; "-" is standard output.
llvm::Error writeText(llvm::StringRef path, llvm::StringRef text);

} // namespace wsec

#endif // COMPILER_OUTPUTPATHS_H
