// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How rectangles, channels, affine expressions and operands are written.
#ifndef WSEC_DIALECTS_PE_PESYNTAX_H
#define WSEC_DIALECTS_PE_PESYNTAX_H

#include "dialects/pe/Pe.h"

namespace wsec::pe {

// [0:8:2, 0:4]
mlir::ParseResult parseRect(mlir::AsmParser &parser, RectAttr &rect);
void printRect(mlir::AsmPrinter &printer, mlir::Operation *, RectAttr rect);

// [0:8, 0:4], [0:8, 6:8]
mlir::ParseResult parseRects(mlir::AsmParser &parser, mlir::ArrayAttr &rects);
void printRects(mlir::AsmPrinter &printer, mlir::Operation *,
                mlir::ArrayAttr rects);

// [2 -> 0:4, 6 -> 4:8]
mlir::ParseResult parseChannels(mlir::AsmParser &parser,
                                mlir::ArrayAttr &channels);
void printChannels(mlir::AsmPrinter &printer, mlir::Operation *,
                   mlir::ArrayAttr channels);

// [4, 2]
mlir::ParseResult parseMesh(mlir::AsmParser &parser,
                            mlir::DenseI64ArrayAttr &mesh);
void printMesh(mlir::AsmPrinter &printer, mlir::Operation *,
               mlir::DenseI64ArrayAttr mesh);

// (%n, 8); nothing for a function without operands. `literals` holds the
// numbers, and what no number is where an operand stands.
mlir::ParseResult
parseInputs(mlir::OpAsmParser &parser,
            llvm::SmallVectorImpl<mlir::OpAsmParser::UnresolvedOperand> &inputs,
            mlir::DenseI64ArrayAttr &literals);
void printInputs(mlir::OpAsmPrinter &printer, mlir::Operation *,
                 mlir::ValueRange inputs, mlir::DenseI64ArrayAttr literals);

// (%row) { ... }: the arguments of a routine or stream, if any, and its body.
mlir::ParseResult parseBodyOf(mlir::OpAsmParser &parser, mlir::Region &body);
void printBodyOf(mlir::OpAsmPrinter &printer, mlir::Operation *op,
                 mlir::Region &body);

// (%row from 0 to 255) { ... }
mlir::ParseResult parseEntry(mlir::OpAsmParser &parser, mlir::ArrayAttr &names,
                             mlir::DenseI64ArrayAttr &from,
                             mlir::DenseI64ArrayAttr &to, mlir::Region &body);
void printEntry(mlir::OpAsmPrinter &printer, mlir::Operation *op,
                mlir::ArrayAttr names, mlir::DenseI64ArrayAttr from,
                mlir::DenseI64ArrayAttr to, mlir::Region &body);

// (%row, %column), or nothing
mlir::ParseResult
parseCarried(mlir::OpAsmParser &parser,
             llvm::SmallVectorImpl<mlir::OpAsmParser::UnresolvedOperand> &all);
void printCarried(mlir::OpAsmPrinter &printer, mlir::Operation *,
                  mlir::ValueRange all);

// east
mlir::ParseResult parsePort(mlir::AsmParser &parser, Port &port);

// [east, ramp]
mlir::ParseResult parsePorts(mlir::AsmParser &parser, PortsAttr &ports);
void printPorts(mlir::AsmPrinter &printer, mlir::Operation *, PortsAttr ports);

// from east, or: to [west, ramp]
mlir::ParseResult parsePosition(mlir::AsmParser &parser,
                                PositionAttr &position);
void printPosition(mlir::AsmPrinter &printer, PositionAttr position);

// [from east, to [west]]
mlir::ParseResult parsePositions(mlir::AsmParser &parser,
                                 mlir::ArrayAttr &positions);
void printPositions(mlir::AsmPrinter &printer, mlir::Operation *,
                    mlir::ArrayAttr positions);

// `to @v` of a copy in, `from @v` of a copy out
mlir::ParseResult parseCopyBuffer(mlir::AsmParser &parser,
                                  DirectionAttr direction,
                                  mlir::FlatSymbolRefAttr &buffer);
void printCopyBuffer(mlir::AsmPrinter &printer, mlir::Operation *,
                     DirectionAttr direction, mlir::FlatSymbolRefAttr buffer);

/// Parses affine expressions and what contains them, and collects the scalars
/// they name.
class ExpressionParser {
public:
  explicit ExpressionParser(mlir::OpAsmParser &parser) : parser(parser) {}

  mlir::ParseResult parse(AffineAttr &affine); // %i * 4 + 2
  /// (%n, 16); the error where there is none says how `form` is written.
  mlir::ParseResult parse(mlir::ArrayAttr &list, llvm::StringRef form);
  mlir::ParseResult parse(mlir::Attribute &operand);
  /// After the name of a buffer or tensor: [%i, strides = [1, 0]]
  mlir::ParseResult parseAccess(AffineAttr &offset,
                                llvm::SmallVectorImpl<int64_t> &strides);
  /// After the name of a buffer: [%i]
  mlir::ParseResult parseElement(AffineAttr &offset);
  /// `where %guard`, when there.
  mlir::ParseResult parseGuard();
  /// Adds values and guard to an op with `values` and `guard` operands.
  mlir::ParseResult resolve(mlir::OperationState &state);

  llvm::SmallVector<mlir::OpAsmParser::UnresolvedOperand> values, guard;

private:
  mlir::ParseResult parseTerm(bool subtracts, int64_t &constant,
                              llvm::SmallVectorImpl<int64_t> &numbers,
                              llvm::SmallVectorImpl<int64_t> &scales);
  mlir::ParseResult parseFabric(mlir::Attribute &operand);
  mlir::ParseResult parseFabricOption(AffineAttr &offset, AffineAttr &total,
                                      unsigned &depth, bool &pair);

  mlir::OpAsmParser &parser;
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

#endif // WSEC_DIALECTS_PE_PESYNTAX_H
