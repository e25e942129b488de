// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads and writes sums of scalars, and operands that contain them.
#ifndef WSEC_DIALECTS_PE_PEEXPRESSIONS_H
#define WSEC_DIALECTS_PE_PEEXPRESSIONS_H

#include "dialects/pe/PeSyntax.h"

namespace wsec::pe {

/// Parses affine expressions and what contains them, and collects the scalars
/// they name.
class ExpressionParser {
public:
  ExpressionParser(mlir::OpAsmParser &parser, Operands &values)
      : parser(parser), values(values) {}

  mlir::ParseResult parse(AffineAttr &affine); // %i * 4 + 2
  /// (%n, 16); the error where there is none says how `form` is written.
  mlir::ParseResult parse(mlir::ArrayAttr &list, llvm::StringRef form);
  mlir::ParseResult parse(mlir::Attribute &operand);
  /// After the name of a buffer or tensor: [%i, strides = [1, 0]]
  mlir::ParseResult parseAccess(AffineAttr &offset,
                                llvm::SmallVectorImpl<int64_t> &strides);
  /// After the name of a buffer: [%i]
  mlir::ParseResult parseElement(AffineAttr &offset);

private:
  mlir::ParseResult parseTerm(bool subtracts, int64_t &constant,
                              llvm::SmallVectorImpl<int64_t> &numbers,
                              llvm::SmallVectorImpl<int64_t> &scales);
  mlir::ParseResult parseFabric(mlir::Attribute &operand);
  mlir::ParseResult parseFabricOption(AffineAttr &offset, AffineAttr &total,
                                      unsigned &depth, bool &pair);

  mlir::OpAsmParser &parser;
  Operands &values;
};

/// The inverse, for an op whose scalars are `values`.
class ExpressionPrinter {
public:
  ExpressionPrinter(mlir::OpAsmPrinter &printer, mlir::ValueRange values)
      : printer(printer), values(values) {}

  void print(AffineAttr affine);
  void print(mlir::ArrayAttr list);
  void print(mlir::Attribute operand);
  void printAccess(AffineAttr offset, llvm::ArrayRef<int64_t> strides);
  void printElement(AffineAttr offset);

private:
  mlir::OpAsmPrinter &printer;
  mlir::ValueRange values;
};

} // namespace wsec::pe

#endif // WSEC_DIALECTS_PE_PEEXPRESSIONS_H
