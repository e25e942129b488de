// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parameters of programs, and numbers that are computed from them:
//
//   pe.program @relay(width = 4 from 3 to 750, words = 8) mesh [width, 1] ...
//     chain @right even 1 odd 2 [0:width - 1, 0:1] to east
//
// They stand for numbers while a program is read. What has been read has
// numbers only.
#ifndef WSEC_DIALECTS_PE_PEPARAMETERS_H
#define WSEC_DIALECTS_PE_PEPARAMETERS_H

#include "mlir/IR/OpImplementation.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace wsec::pe {

struct Parameter {
  std::string name;
  int64_t value, least, most;
};

/// Held by the dialect, as one program is read at a time.
struct Parameters {
  /// Values that somebody gave instead of defaults, by name.
  std::map<std::string, int64_t> given;
  /// The parameters of the program that is being read.
  std::vector<Parameter> declared;

  const Parameter *find(llvm::StringRef name) const;
};

/// (width = 4 from 3 to 750, words = 8); absent: no parameters. Fails if a
/// value was given for a name that is not there, or out of its range.
mlir::ParseResult parseParameters(mlir::OpAsmParser &parser,
                                  mlir::StringAttr program);
/// Prints nothing: a program that has been read has none.
void printParameters(mlir::OpAsmPrinter &printer, mlir::Operation *,
                     mlir::StringAttr program);

/// 4, width, (width + 1) or div(width, 2); nothing if none of these follows.
mlir::OptionalParseResult parseOptionalFactor(mlir::AsmParser &parser,
                                              int64_t &value,
                                              llvm::StringRef form);
/// words * 4; the error where there is none says how `form` is written.
mlir::ParseResult parseProduct(mlir::AsmParser &parser, int64_t &value,
                               llvm::StringRef form);
/// words * 4 + 1
mlir::ParseResult expectInteger(mlir::AsmParser &parser, int64_t &value,
                                llvm::StringRef form);

/// An attribute of an op where the text has a number.
mlir::ParseResult parseNumber(mlir::AsmParser &parser,
                              mlir::IntegerAttr &value);
void printNumber(mlir::AsmPrinter &printer, mlir::Operation *,
                 mlir::IntegerAttr value);

/// tensor<4x8xf32>, or with parameters tensor<width x 8xf32>.
mlir::ParseResult parseShapedType(mlir::OpAsmParser &parser,
                                  mlir::TypeAttr &type);
void printShapedType(mlir::OpAsmPrinter &printer, mlir::Operation *,
                     mlir::TypeAttr type);

} // namespace wsec::pe

#endif // WSEC_DIALECTS_PE_PEPARAMETERS_H
