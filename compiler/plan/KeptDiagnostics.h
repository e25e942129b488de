// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What passes say while it is not known yet whether anybody is to hear it.
#ifndef COMPILER_PLAN_KEPTDIAGNOSTICS_H
#define COMPILER_PLAN_KEPTDIAGNOSTICS_H

#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <string>
#include <utility>
#include <vector>

namespace wsec::plan {

class KeptDiagnostics {
public:
  explicit KeptDiagnostics(mlir::MLIRContext &context) : context(context) {}

  /// The result of `phases`, whose diagnostics are kept.
  llvm::LogicalResult during(llvm::function_ref<llvm::LogicalResult()> phases) {
    mlir::ScopedDiagnosticHandler handler(
        &context, [&](mlir::Diagnostic &diagnostic) {
          said.push_back(std::move(diagnostic));
          return llvm::success();
        });
    return phases();
  }
  void emit() {
    for (mlir::Diagnostic &diagnostic : said)
      context.getDiagEngine().emit(std::move(diagnostic));
    said.clear();
  }
  /// Keeps what `others` kept, in place of its own.
  void take(KeptDiagnostics &others) { said = std::move(others.said); }
  bool empty() const { return said.empty(); }
  /// The last one's text, or nothing.
  std::string last() const { return said.empty() ? "" : said.back().str(); }

private:
  mlir::MLIRContext &context;
  std::vector<mlir::Diagnostic> said;
};

} // namespace wsec::plan

#endif // COMPILER_PLAN_KEPTDIAGNOSTICS_H
