// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COMPILER_EMIT_OUTPUTFILE_H
#define COMPILER_EMIT_OUTPUTFILE_H

#include "compiler/emit/WeightFiles.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Error.h"

namespace wsec::emit {

/// The flatbuffer, given the digest of the bundle. Its size must not depend on
/// the digest.
using PackProgram = llvm::function_ref<std::string(uint64_t bundleDigest)>;

/// Writes the container around the flatbuffer and the bundled weights. The file
/// at `path` is replaced when all is written, and left alone on failure.
/// Weights pass through; they are never held in memory.
llvm::Error writeContainer(const std::string &path, const WeightPlan &plan,
                           PackProgram pack);

} // namespace wsec::emit

#endif // COMPILER_EMIT_OUTPUTFILE_H
