// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Weights stay in the files they came in, unless they are bundled.
#ifndef COMPILER_EMIT_WEIGHTFILES_H
#define COMPILER_EMIT_WEIGHTFILES_H

#include "compiler/emit/Emit.h"
#include "dialects/pe/Pe.h"
#include "runtime/program/program_generated.h"

namespace wsec::emit {

/// Bytes of a file that go into the bundle, at `target` of it.
struct BundledPiece {
  std::string path;
  uint64_t offset = 0;
  uint64_t bytes = 0;
  uint64_t target = 0;
};

struct WeightPlan {
  std::vector<BundledPiece> pieces; // in order of target, without overlap
  uint64_t bundleBytes = 0;
};

/// Fills in `files` and the place of each weight. Files lie in the folders of
/// the options and must hold the bytes the program reads. A bundle's digest is
/// left open: its bytes are not written yet.
llvm::FailureOr<WeightPlan> placeWeights(pe::ProgramOp op,
                                         const EmitOptions &options,
                                         program::ProgramT &program);

} // namespace wsec::emit

#endif // COMPILER_EMIT_WEIGHTFILES_H
