// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How entries of wse and pe print: (%position from 0 to 5) { ... }
#ifndef DIALECTS_ENTRYSYNTAX_H
#define DIALECTS_ENTRYSYNTAX_H

#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/Region.h"

namespace wsec {

/// The arguments of an entry with their smallest and largest values, and its
/// body.
inline void printEntryOf(mlir::OpAsmPrinter &printer,
                         llvm::ArrayRef<int64_t> from,
                         llvm::ArrayRef<int64_t> to, mlir::Region &body) {
  if (body.getNumArguments()) {
    printer << '(';
    llvm::interleaveComma(llvm::zip_equal(body.getArguments(), from, to),
                          printer, [&](auto argument) {
                            auto [value, lowest, highest] = argument;
                            printer << value << " from " << lowest << " to "
                                    << highest;
                          });
    printer << ')';
  }
  printer << ' ';
  printer.printRegion(body, /*printEntryBlockArgs=*/false);
}

} // namespace wsec

#endif // DIALECTS_ENTRYSYNTAX_H
