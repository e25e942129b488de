// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The last phase: a pe.program becomes a .wafer file.
#ifndef COMPILER_EMIT_EMIT_H
#define COMPILER_EMIT_EMIT_H

#include "mlir/Support/LLVM.h"
#include "runtime/files/WeightFolders.h"
#include "runtime/program/facts/LinkWords.h"

#include <cstdint>
#include <string>

namespace mlir {
class ModuleOp;
} // namespace mlir

namespace wsec {

struct EmitOptions {
  /// The file to write. It appears complete or not at all.
  std::string outputPath;
  /// Where the weight files lie that the program names.
  runtime::WeightFolders weightFolders;
  /// Copies the weights into the file, so that it can travel alone.
  bool bundle = false;
  /// Compiles although weight files are absent: for sizing models nobody has
  /// trained. The program cannot run.
  bool allowAbsentWeights = false;
  /// The compiler wrote the program: it fails if every run ends in a deadlock.
  /// What people wrote may hang; they are warned. So is everybody where this is
  /// undecided: engines without finite queues then check each call.
  bool isCompiled = false;
};

/// Writes the one pe.program of `module`. Fails, with errors at the ops to
/// blame, when a PE's SRAM does not suffice, when weights are not where the
/// program says, when the file cannot be written, and whenever the loader would
/// refuse the result. What is proved about deadlock goes into the file.
llvm::LogicalResult emitProgram(mlir::ModuleOp module,
                                const EmitOptions &options);

/// Words on the links of the one pe.program of `module`, which the compiler
/// wrote; no weight file is looked at.
llvm::FailureOr<runtime::LinkWords> countLinkWords(mlir::ModuleOp module);

} // namespace wsec

#endif // COMPILER_EMIT_EMIT_H
