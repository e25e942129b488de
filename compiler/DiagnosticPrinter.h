// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COMPILER_DIAGNOSTICPRINTER_H
#define COMPILER_DIAGNOSTICPRINTER_H

#include "mlir/IR/Diagnostics.h"

namespace wsec {

/// Prints diagnostics as users read them: the names of the ONNX nodes instead
/// of operations and code positions, without dumps of IR.
///
///   error: '/layer.0/MatMul': the weights need 61440 bytes, ...
///   note: ...
class DiagnosticPrinter : public mlir::ScopedDiagnosticHandler {
public:
  DiagnosticPrinter(mlir::MLIRContext &context, llvm::raw_ostream &os);

  unsigned errors() const { return errorCount; }

private:
  void print(mlir::Diagnostic &diagnostic);

  llvm::raw_ostream &os;
  unsigned errorCount = 0;
};

/// A message as it is printed. Names in it come from files of strangers: what a
/// terminal would obey and what is no UTF-8 is escaped, a line that our own
/// lists would not begin is none, and of very long names and lines the middle
/// is left out.
std::string printableMessage(llvm::StringRef message);

/// Where something is from: `'node'`, `file:line:column`, several of these
/// joined by commas, or nothing.
std::string describeLocation(mlir::Location location);

} // namespace wsec

#endif // COMPILER_DIAGNOSTICPRINTER_H
