// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What looks at a compilation from outside, between its phases.

#ifndef COMPILER_PROGRAMVIEWER_H
#define COMPILER_PROGRAMVIEWER_H

#include "llvm/Support/LogicalResult.h"

#include <string>

namespace mlir {
class ModuleOp;
} // namespace mlir

namespace wsec {

namespace wse {
class ProgramOp;
} // namespace wse

/// Writes a file about where the kernels of a program lie; tools/map draws it.
/// Nothing in the program depends on it.
class ProgramViewer {
public:
  explicit ProgramViewer(std::string path) : path(std::move(path)) {}
  virtual ~ProgramViewer() = default;

  /// Reads `program`, in the last of the states placed, routed and scheduled
  /// that the compilation reaches. A program that is selected anew, because it
  /// did not fit, replaces the one before.
  virtual void view(wse::ProgramOp program) = 0;

  /// Writes the file. `module` is what became of the program: a pe.program, if
  /// the compilation went on to `lower`. Fails with errors at it.
  virtual llvm::LogicalResult write(mlir::ModuleOp module) = 0;

  const std::string path; ///< of the file
};

} // namespace wsec

#endif // COMPILER_PROGRAMVIEWER_H
