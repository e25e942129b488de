// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every dialect, pass and pipeline of the compiler, for the tools.
#ifndef COMPILER_REGISTRATION_H
#define COMPILER_REGISTRATION_H

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace wsec {

/// Our dialects and the upstream ones that appear in our programs.
void registerDialects(mlir::DialectRegistry &registry);

/// The passes of all phases, their pipelines `wsec-<phase>`, and the passes of
/// MLIR that are of use between them. Safe to call once per process.
void registerPasses();

} // namespace wsec

#endif // COMPILER_REGISTRATION_H
