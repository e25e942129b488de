// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Problems of one kind are reported together: one error, a note for each case.
#ifndef COMPILER_IMPORT_PROBLEMS_H
#define COMPILER_IMPORT_PROBLEMS_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Location.h"
#include <string>
#include <vector>

namespace wsec {

/// Location of a thing that has a name in the model: a node, a tensor.
inline mlir::Location namedLocation(llvm::StringRef name,
                                    mlir::MLIRContext *context) {
  return mlir::NameLoc::get(mlir::StringAttr::get(context, name));
}

/// Collects the cases of one kind of problem:
///
///   Problems domains(context, path + ": operators of unknown domains");
///   domains.add("node '" + node.name + "' is a " + node.operatorName());
///   if (failed(domains.report())) ...
class Problems {
public:
  Problems(mlir::MLIRContext *context, const llvm::Twine &headline)
      : context(context), headline(headline.str()) {}

  void add(const llvm::Twine &note) { notes.push_back(note.str()); }

  /// One error with all notes; success when there are none.
  llvm::LogicalResult report() const {
    if (notes.empty())
      return mlir::success();
    mlir::InFlightDiagnostic error =
        mlir::emitError(mlir::UnknownLoc::get(context)) << headline;
    for (const std::string &note : notes)
      error.attachNote() << note;
    return error;
  }

private:
  mlir::MLIRContext *context;
  std::string headline;
  std::vector<std::string> notes;
};

} // namespace wsec

#endif // COMPILER_IMPORT_PROBLEMS_H
