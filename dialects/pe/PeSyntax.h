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

// (@link, %row) { ... }: names, then scalars, of a procedure, and its body.
mlir::ParseResult parseProcedure(mlir::OpAsmParser &parser,
                                 mlir::ArrayAttr &names, mlir::Region &body);
void printProcedure(mlir::OpAsmPrinter &printer, mlir::Operation *,
                    mlir::ArrayAttr names, mlir::Region &body);

// = [0.5, 1.0], or = 0 for all elements, or nothing
mlir::ParseResult parseInitial(mlir::AsmParser &parser, mlir::IntegerAttr bytes,
                               mlir::TypeAttr type,
                               mlir::ElementsAttr &initial);
void printInitial(mlir::AsmPrinter &printer, mlir::Operation *,
                  mlir::IntegerAttr bytes, mlir::TypeAttr type,
                  mlir::ElementsAttr initial);

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
mlir::ParseResult parsePort(mlir::AsmParser &parser, mlir::IntegerAttr &port);
void printPort(mlir::AsmPrinter &printer, mlir::Operation *,
               mlir::IntegerAttr port);

// [east, ramp]
mlir::ParseResult parsePorts(mlir::AsmParser &parser, mlir::IntegerAttr &ports);
void printPorts(mlir::AsmPrinter &printer, mlir::Operation *,
                mlir::IntegerAttr ports);

// from east, or: to [west, ramp]
mlir::ParseResult parsePosition(mlir::AsmParser &parser,
                                std::optional<Port> &receive, Ports &transmit);
void printPosition(mlir::AsmPrinter &printer, std::optional<Port> receive,
                   Ports transmit);

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

//===----------------------------------------------------------------------===//
// Expressions and what contains them
//===----------------------------------------------------------------------===//
//
// `values` are the scalars that the expressions of an op name. In a format the
// first directive lists them, `custom<Element>($values, $offset)`, and later
// ones add to them, `custom<Sum>(ref($values), $value)`.

using Operands = llvm::SmallVectorImpl<mlir::OpAsmParser::UnresolvedOperand>;

// %i * 4 + 2
mlir::ParseResult parseSum(mlir::OpAsmParser &parser, Operands &values,
                           AffineAttr &sum);
void printSum(mlir::OpAsmPrinter &printer, mlir::Operation *,
              mlir::ValueRange values, AffineAttr sum);

// limit %i * 4, or nothing
mlir::ParseResult parseOptionalSum(mlir::OpAsmParser &parser,
                                   llvm::StringRef keyword, Operands &values,
                                   AffineAttr &sum);
void printOptionalSum(mlir::OpAsmPrinter &printer, mlir::Operation *,
                      llvm::StringRef keyword, mlir::ValueRange values,
                      AffineAttr sum);

// [%i], behind the name of a buffer
mlir::ParseResult parseElement(mlir::OpAsmParser &parser, Operands &values,
                               AffineAttr &offset);
void printElement(mlir::OpAsmPrinter &printer, mlir::Operation *,
                  mlir::ValueRange values, AffineAttr offset);

// [%i, strides = [1, 0]], behind the name of a buffer or tensor
mlir::ParseResult parseAccess(mlir::OpAsmParser &parser, Operands &values,
                              AffineAttr &offset,
                              mlir::DenseI64ArrayAttr &strides);
void printAccess(mlir::OpAsmPrinter &printer, mlir::Operation *,
                 mlir::ValueRange values, AffineAttr offset,
                 mlir::DenseI64ArrayAttr strides);

// over (%n, 16)
mlir::ParseResult parseExtents(mlir::OpAsmParser &parser, Operands &values,
                               mlir::ArrayAttr &extents);
void printExtents(mlir::OpAsmPrinter &printer, mlir::Operation *,
                  mlir::ValueRange values, mlir::ArrayAttr extents);

// lines %n step 4; nothing for one line
mlir::ParseResult parseLines(mlir::OpAsmParser &parser, Operands &values,
                             AffineAttr &lines, mlir::IntegerAttr &step);
void printLines(mlir::OpAsmPrinter &printer, mlir::Operation *,
                mlir::ValueRange values, AffineAttr lines,
                mlir::IntegerAttr step);

// indexed @ids step 16 rows 100, indexed @ids at 1 step 16 rows 100, or nothing
mlir::ParseResult parseGather(mlir::OpAsmParser &parser,
                              mlir::FlatSymbolRefAttr &ids,
                              mlir::IntegerAttr &step, mlir::IntegerAttr &rows,
                              mlir::IntegerAttr &at);
void printGather(mlir::OpAsmPrinter &printer, mlir::Operation *,
                 mlir::FlatSymbolRefAttr ids, mlir::IntegerAttr step,
                 mlir::IntegerAttr rows, mlir::IntegerAttr at);

// mod(%old + 1, 8)
mlir::ParseResult parseFunction(mlir::OpAsmParser &parser, Operands &values,
                                ScalarKindAttr &kind, mlir::ArrayAttr &inputs);
void printFunction(mlir::OpAsmPrinter &printer, mlir::Operation *,
                   mlir::ValueRange values, ScalarKindAttr kind,
                   mlir::ArrayAttr inputs);

// (@east, %i * 4, 0): names, then expressions; or nothing
mlir::ParseResult parsePassed(mlir::OpAsmParser &parser, mlir::ArrayAttr &names,
                              Operands &values, mlir::ArrayAttr &inputs);
void printPassed(mlir::OpAsmPrinter &printer, mlir::Operation *,
                 mlir::ArrayAttr names, mlir::ValueRange values,
                 mlir::ArrayAttr inputs);

// range, counter
mlir::ParseResult parseFilterKind(mlir::OpAsmParser &parser,
                                  FilterKindAttr &kind);
void printFilterKind(mlir::OpAsmPrinter &printer, mlir::Operation *,
                     FilterKindAttr kind);

// fmac
mlir::ParseResult parseOpcode(mlir::OpAsmParser &parser, OpcodeAttr &opcode);
void printOpcode(mlir::OpAsmPrinter &printer, mlir::Operation *,
                 OpcodeAttr opcode);

// @x[%i, strides = [1]], fabric(3) or 0.0
mlir::ParseResult parseOperand(mlir::OpAsmParser &parser, Operands &values,
                               mlir::Attribute &operand);
void printOperand(mlir::OpAsmPrinter &printer, mlir::Operation *,
                  mlir::ValueRange values, mlir::Attribute operand);

// = a, b
mlir::ParseResult parseSources(mlir::OpAsmParser &parser, Operands &values,
                               mlir::Attribute &a, mlir::Attribute &b);
void printSources(mlir::OpAsmPrinter &printer, mlir::Operation *,
                  mlir::ValueRange values, mlir::Attribute a,
                  mlir::Attribute b);

// where %guard, or nothing
mlir::ParseResult
parseGuard(mlir::OpAsmParser &parser,
           std::optional<mlir::OpAsmParser::UnresolvedOperand> &guard);
void printGuard(mlir::OpAsmPrinter &printer, mlir::Operation *,
                mlir::Value guard);

// thread 1 then activate @done unblock @next advance on_control end; `then`
// keeps the statements `activate` and `unblock` on the next line apart.
// In a procedure a parameter may stand for the number of the thread.
mlir::ParseResult
parseIssue(mlir::OpAsmParser &parser, mlir::IntegerAttr &thread,
           std::optional<mlir::OpAsmParser::UnresolvedOperand> &threadParameter,
           mlir::FlatSymbolRefAttr &activate, mlir::FlatSymbolRefAttr &unblock,
           mlir::UnitAttr &advance, mlir::UnitAttr &endOnControl,
           mlir::UnitAttr &noWrap);
void printIssue(mlir::OpAsmPrinter &printer, mlir::Operation *,
                mlir::IntegerAttr thread, mlir::Value threadParameter,
                mlir::FlatSymbolRefAttr activate,
                mlir::FlatSymbolRefAttr unblock, mlir::UnitAttr advance,
                mlir::UnitAttr endOnControl, mlir::UnitAttr noWrap);

// %i < %n + 1 where %guard { ... }
mlir::ParseResult
parseLoop(mlir::OpAsmParser &parser, Operands &values, AffineAttr &count,
          std::optional<mlir::OpAsmParser::UnresolvedOperand> &guard,
          mlir::Region &body);
void printLoop(mlir::OpAsmPrinter &printer, mlir::Operation *,
               mlir::ValueRange values, AffineAttr count, mlir::Value guard,
               mlir::Region &body);

// fabric(1) [advance, nop]
mlir::ParseResult parseCommands(mlir::OpAsmParser &parser, Operands &values,
                                AffineAttr &color,
                                mlir::DenseI32ArrayAttr &commands);
void printCommands(mlir::OpAsmPrinter &printer, mlir::Operation *,
                   mlir::ValueRange values, AffineAttr color,
                   mlir::DenseI32ArrayAttr commands);

// task 5 data %x, or nothing
mlir::ParseResult parseDelivery(mlir::OpAsmParser &parser, Operands &values,
                                mlir::IntegerAttr &task, AffineAttr &data);
void printDelivery(mlir::OpAsmPrinter &printer, mlir::Operation *,
                   mlir::ValueRange values, mlir::IntegerAttr task,
                   AffineAttr data);

// thread 0 then activate @a unblock @b, or nothing
mlir::ParseResult parseCompletion(mlir::OpAsmParser &parser,
                                  mlir::IntegerAttr &thread,
                                  mlir::FlatSymbolRefAttr &activate,
                                  mlir::FlatSymbolRefAttr &unblock);
void printCompletion(mlir::OpAsmPrinter &printer, mlir::Operation *,
                     mlir::IntegerAttr thread, mlir::FlatSymbolRefAttr activate,
                     mlir::FlatSymbolRefAttr unblock);

// from ramp to [east]
mlir::ParseResult parsePassage(mlir::OpAsmParser &parser,
                               mlir::IntegerAttr &receive,
                               mlir::IntegerAttr &transmit);
void printPassage(mlir::OpAsmPrinter &printer, mlir::Operation *,
                  mlir::IntegerAttr receive, mlir::IntegerAttr transmit);

} // namespace wsec::pe

#endif // WSEC_DIALECTS_PE_PESYNTAX_H
