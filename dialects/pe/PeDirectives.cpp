// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What formats of ops with expressions are made of: custom<Sum>, custom<Issue>.

#include "dialects/pe/PeExpressions.h"
#include "dialects/pe/PeMistakes.h"
#include "mlir/IR/Builders.h"

using namespace mlir;

namespace wsec::pe {

//===----------------------------------------------------------------------===//
// Sums, elements and extents
//===----------------------------------------------------------------------===//

ParseResult parseSum(OpAsmParser &parser, Operands &values, AffineAttr &sum) {
  return ExpressionParser(parser, values).parse(sum);
}

void printSum(OpAsmPrinter &printer, Operation *, ValueRange values,
              AffineAttr sum) {
  ExpressionPrinter(printer, values).print(sum);
}

ParseResult parseOptionalSum(OpAsmParser &parser, StringRef keyword,
                             Operands &values, AffineAttr &sum) {
  if (failed(parser.parseOptionalKeyword(keyword)))
    return success();
  return parseSum(parser, values, sum);
}

void printOptionalSum(OpAsmPrinter &printer, Operation *op, StringRef keyword,
                      ValueRange values, AffineAttr sum) {
  if (!sum)
    return;
  printer << ' ' << keyword << ' ';
  printSum(printer, op, values, sum);
}

ParseResult parseElement(OpAsmParser &parser, Operands &values,
                         AffineAttr &offset) {
  return ExpressionParser(parser, values).parseElement(offset);
}

void printElement(OpAsmPrinter &printer, Operation *, ValueRange values,
                  AffineAttr offset) {
  ExpressionPrinter(printer, values).printElement(offset);
}

ParseResult parseAccess(OpAsmParser &parser, Operands &values,
                        AffineAttr &offset, DenseI64ArrayAttr &strides) {
  SmallVector<int64_t> numbers;
  if (ExpressionParser(parser, values).parseAccess(offset, numbers))
    return failure();
  strides = parser.getBuilder().getDenseI64ArrayAttr(numbers);
  return success();
}

void printAccess(OpAsmPrinter &printer, Operation *, ValueRange values,
                 AffineAttr offset, DenseI64ArrayAttr strides) {
  ExpressionPrinter(printer, values).printAccess(offset, strides);
}

ParseResult parseExtents(OpAsmParser &parser, Operands &values,
                         ArrayAttr &extents) {
  return failure(
      expectKeyword(parser, "over", form::kExtents) ||
      ExpressionParser(parser, values).parse(extents, form::kExtents));
}

void printExtents(OpAsmPrinter &printer, Operation *, ValueRange values,
                  ArrayAttr extents) {
  printer << "over ";
  ExpressionPrinter(printer, values).print(extents);
}

//===----------------------------------------------------------------------===//
// Segments
//===----------------------------------------------------------------------===//

static AffineAttr oneLine(MLIRContext *context) {
  return AffineAttr::get(context, 1, {}, {});
}

ParseResult parseLines(OpAsmParser &parser, Operands &values, AffineAttr &lines,
                       IntegerAttr &step) {
  int64_t number = 0;
  lines = oneLine(parser.getContext());
  if (succeeded(parser.parseOptionalKeyword("lines")))
    if (parseSum(parser, values, lines) || parser.parseKeyword("step") ||
        expectInteger(parser, number, form::kNumber))
      return failure();
  step = parser.getBuilder().getI64IntegerAttr(number);
  return success();
}

void printLines(OpAsmPrinter &printer, Operation *op, ValueRange values,
                AffineAttr lines, IntegerAttr step) {
  if (lines == oneLine(op->getContext()) && step.getInt() == 0)
    return;
  printer << " lines ";
  printSum(printer, op, values, lines);
  printer << " step " << step.getInt();
}

ParseResult parseGather(OpAsmParser &parser, FlatSymbolRefAttr &ids,
                        IntegerAttr &step, IntegerAttr &rows, IntegerAttr &at) {
  int64_t stepNumber = 0, rowNumber = 0, atNumber = -1;
  if (succeeded(parser.parseOptionalKeyword("indexed"))) {
    StringAttr name;
    if (parser.parseSymbolName(name) ||
        (succeeded(parser.parseOptionalKeyword("at")) &&
         expectInteger(parser, atNumber, form::kNumber)) ||
        parser.parseKeyword("step") ||
        expectInteger(parser, stepNumber, form::kNumber) ||
        parser.parseKeyword("rows") ||
        expectInteger(parser, rowNumber, form::kNumber))
      return failure();
    ids = FlatSymbolRefAttr::get(name);
  }
  step = parser.getBuilder().getI64IntegerAttr(stepNumber);
  rows = parser.getBuilder().getI64IntegerAttr(rowNumber);
  at = parser.getBuilder().getI64IntegerAttr(atNumber);
  return success();
}

void printGather(OpAsmPrinter &printer, Operation *, FlatSymbolRefAttr ids,
                 IntegerAttr step, IntegerAttr rows, IntegerAttr at) {
  if (!ids)
    return;
  printer << " indexed " << ids;
  if (at.getInt() >= 0)
    printer << " at " << at.getInt();
  printer << " step " << step.getInt() << " rows " << rows.getInt();
}

//===----------------------------------------------------------------------===//
// Instructions and loops
//===----------------------------------------------------------------------===//

ParseResult parseOpcode(OpAsmParser &parser, OpcodeAttr &opcode) {
  Opcode value;
  if (parseCase(parser, value, getMaxEnumValForOpcode(),
                "a vector instruction"))
    return failure();
  opcode = OpcodeAttr::get(parser.getContext(), value);
  return success();
}

void printOpcode(OpAsmPrinter &printer, Operation *, OpcodeAttr opcode) {
  printer << stringifyOpcode(opcode.getValue());
}

ParseResult parseOperand(OpAsmParser &parser, Operands &values,
                         Attribute &operand) {
  return ExpressionParser(parser, values).parse(operand);
}

void printOperand(OpAsmPrinter &printer, Operation *, ValueRange values,
                  Attribute operand) {
  ExpressionPrinter(printer, values).print(operand);
}

ParseResult parseSources(OpAsmParser &parser, Operands &values, Attribute &a,
                         Attribute &b) {
  if (expect(parser, parser.parseOptionalEqual(), "'='", form::kVector) ||
      parseOperand(parser, values, a))
    return failure();
  if (succeeded(parser.parseOptionalComma()))
    return parseOperand(parser, values, b);
  return success();
}

void printSources(OpAsmPrinter &printer, Operation *op, ValueRange values,
                  Attribute a, Attribute b) {
  printer << "= ";
  if (a)
    printOperand(printer, op, values, a);
  if (!b)
    return;
  printer << ", ";
  printOperand(printer, op, values, b);
}

ParseResult parseGuard(OpAsmParser &parser,
                       std::optional<OpAsmParser::UnresolvedOperand> &guard) {
  // Not `if`, which would take the statement of that name on the next line.
  if (failed(parser.parseOptionalKeyword("where")))
    return refuseOnLine(parser, {"if"}, "a guard is written 'where %x'");
  return parser.parseOperand(guard.emplace());
}

void printGuard(OpAsmPrinter &printer, Operation *, Value guard) {
  if (guard)
    printer << " where " << guard;
}

// `keyword @task`, when there.
static ParseResult parseTask(OpAsmParser &parser, StringRef keyword,
                             FlatSymbolRefAttr &task) {
  StringAttr name;
  if (failed(parser.parseOptionalKeyword(keyword)))
    return success();
  if (parser.parseSymbolName(name))
    return failure();
  task = FlatSymbolRefAttr::get(name);
  return success();
}

// then activate @a unblock @b, or nothing
static ParseResult parseThen(OpAsmParser &parser, FlatSymbolRefAttr &activate,
                             FlatSymbolRefAttr &unblock, StringRef form) {
  if (failed(parser.parseOptionalKeyword("then")))
    return success();
  if (parseTask(parser, "activate", activate) ||
      parseTask(parser, "unblock", unblock))
    return failure();
  return expect(parser, success(activate || unblock), "'activate' or 'unblock'",
                form);
}

static void printThen(OpAsmPrinter &printer, FlatSymbolRefAttr activate,
                      FlatSymbolRefAttr unblock) {
  if (activate || unblock)
    printer << " then";
  if (activate)
    printer << " activate " << activate;
  if (unblock)
    printer << " unblock " << unblock;
}

ParseResult
parseIssue(OpAsmParser &parser, IntegerAttr &thread,
           std::optional<OpAsmParser::UnresolvedOperand> &threadParameter,
           FlatSymbolRefAttr &activate, FlatSymbolRefAttr &unblock,
           UnitAttr &advance, UnitAttr &endOnControl, UnitAttr &noWrap) {
  Builder &builder = parser.getBuilder();
  if (succeeded(parser.parseOptionalKeyword("thread"))) {
    int64_t number;
    OpAsmParser::UnresolvedOperand parameter;
    if (OptionalParseResult named = parser.parseOptionalOperand(parameter);
        named.has_value()) {
      if (failed(*named))
        return failure();
      threadParameter = parameter;
    } else if (expectInteger(parser, number, form::kIssue)) {
      return failure();
    } else {
      thread = builder.getI64IntegerAttr(number);
    }
  }
  if (parseThen(parser, activate, unblock, form::kIssue))
    return failure();
  if (succeeded(parser.parseOptionalKeyword("advance")))
    advance = builder.getUnitAttr();
  if (succeeded(parser.parseOptionalKeyword("on_control"))) {
    if (expectKeyword(parser, "end", form::kIssue))
      return failure();
    endOnControl = builder.getUnitAttr();
  }
  if (succeeded(parser.parseOptionalKeyword("no_wrap")))
    noWrap = builder.getUnitAttr();
  return refuseOnLine(parser,
                      {"where", "thread", "then", "activate", "unblock",
                       "advance", "on_control", "no_wrap", "async"},
                      form::kIssue);
}

void printIssue(OpAsmPrinter &printer, Operation *, IntegerAttr thread,
                Value threadParameter, FlatSymbolRefAttr activate,
                FlatSymbolRefAttr unblock, UnitAttr advance,
                UnitAttr endOnControl, UnitAttr noWrap) {
  if (thread)
    printer << " thread " << thread.getInt();
  if (threadParameter)
    printer << " thread " << threadParameter;
  printThen(printer, activate, unblock);
  if (advance)
    printer << " advance";
  if (endOnControl)
    printer << " on_control end";
  if (noWrap)
    printer << " no_wrap";
}

ParseResult parseLoop(OpAsmParser &parser, Operands &values, AffineAttr &count,
                      std::optional<OpAsmParser::UnresolvedOperand> &guard,
                      Region &body) {
  OpAsmParser::Argument variable;
  variable.type = ScalarType::get(parser.getContext());
  return failure(
      parser.parseArgument(variable) ||
      expect(parser, parser.parseOptionalLess(), "'<'", form::kLoop) ||
      parseSum(parser, values, count) || parseGuard(parser, guard) ||
      parser.parseRegion(body, variable));
}

void printLoop(OpAsmPrinter &printer, Operation *op, ValueRange values,
               AffineAttr count, Value guard, Region &body) {
  printer << body.getArgument(0) << " < ";
  printSum(printer, op, values, count);
  printGuard(printer, op, guard);
  printer << ' ';
  printer.printRegion(body, /*printEntryBlockArgs=*/false);
}

//===----------------------------------------------------------------------===//
// Scalar code and control wavelets
//===----------------------------------------------------------------------===//

ParseResult parseFunction(OpAsmParser &parser, Operands &values,
                          ScalarKindAttr &kind, ArrayAttr &inputs) {
  ScalarKind value;
  if (parseCase(parser, value, getMaxEnumValForScalarKind(),
                "a scalar function"))
    return failure();
  kind = ScalarKindAttr::get(parser.getContext(), value);
  inputs = parser.getBuilder().getArrayAttr({});
  if (inputCount(value) == 0)
    return success();
  return ExpressionParser(parser, values).parse(inputs, form::kInputs);
}

void printFunction(OpAsmPrinter &printer, Operation *, ValueRange values,
                   ScalarKindAttr kind, ArrayAttr inputs) {
  printer << stringifyScalarKind(kind.getValue());
  if (!inputs.empty())
    ExpressionPrinter(printer, values).print(inputs);
}

ParseResult parsePassed(OpAsmParser &parser, ArrayAttr &names, Operands &values,
                        ArrayAttr &inputs) {
  SmallVector<Attribute> symbols, sums;
  auto parseNext = [&]() -> ParseResult {
    StringAttr name;
    SMLoc location = parser.getCurrentLocation();
    if (failed(parser.parseOptionalSymbolName(name))) {
      AffineAttr sum;
      if (parseSum(parser, values, sum))
        return failure();
      sums.push_back(sum);
      return success();
    }
    if (!sums.empty())
      return parser.emitError(location, "a name behind an expression: ")
             << form::kCall;
    symbols.push_back(FlatSymbolRefAttr::get(name));
    return success();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::OptionalParen,
                                     parseNext))
    return failure();
  names = parser.getBuilder().getArrayAttr(symbols);
  inputs = parser.getBuilder().getArrayAttr(sums);
  return success();
}

void printPassed(OpAsmPrinter &printer, Operation *, ArrayAttr names,
                 ValueRange values, ArrayAttr inputs) {
  if (names.empty() && inputs.empty())
    return;
  printer << '(';
  llvm::interleaveComma(names, printer);
  if (!names.empty() && !inputs.empty())
    printer << ", ";
  llvm::interleaveComma(
      inputs.getAsRange<AffineAttr>(), printer,
      [&](AffineAttr sum) { ExpressionPrinter(printer, values).print(sum); });
  printer << ')';
}

ParseResult parseFilterKind(OpAsmParser &parser, FilterKindAttr &kind) {
  FilterKind value;
  if (parseCase(parser, value, getMaxEnumValForFilterKind(), "a filter"))
    return failure();
  kind = FilterKindAttr::get(parser.getContext(), value);
  return success();
}

void printFilterKind(OpAsmPrinter &printer, Operation *, FilterKindAttr kind) {
  printer << stringifyFilterKind(kind.getValue());
}

ParseResult parseCommands(OpAsmParser &parser, Operands &values,
                          AffineAttr &color, DenseI32ArrayAttr &commands) {
  SmallVector<int32_t> list;
  auto parseCommand = [&]() -> ParseResult {
    SwitchCommand command;
    if (parseCase(parser, command, getMaxEnumValForSwitchCommand(),
                  "a switch command"))
      return failure();
    list.push_back(static_cast<int32_t>(command));
    return success();
  };
  if (expectKeyword(parser, "fabric", form::kControl) ||
      expect(parser, parser.parseOptionalLParen(), "'('", form::kControl) ||
      parseSum(parser, values, color) ||
      expect(parser, parser.parseOptionalRParen(), "')'", form::kControl) ||
      expect(parser, success(startsWith(parser, "[")), "'['", form::kControl) ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Square,
                                     parseCommand))
    return failure();
  commands = parser.getBuilder().getDenseI32ArrayAttr(list);
  return success();
}

void printCommands(OpAsmPrinter &printer, Operation *op, ValueRange values,
                   AffineAttr color, DenseI32ArrayAttr commands) {
  printer << "fabric(";
  printSum(printer, op, values, color);
  printer << ") [";
  llvm::interleaveComma(commands.asArrayRef(), printer, [&](int32_t command) {
    printer << stringifySwitchCommand(static_cast<SwitchCommand>(command));
  });
  printer << ']';
}

ParseResult parseDelivery(OpAsmParser &parser, Operands &values,
                          IntegerAttr &task, AffineAttr &data) {
  if (succeeded(parser.parseOptionalKeyword("task"))) {
    int64_t number;
    if (expectInteger(parser, number, form::kControl))
      return failure();
    task = parser.getBuilder().getI64IntegerAttr(number);
  }
  return parseOptionalSum(parser, "data", values, data);
}

void printDelivery(OpAsmPrinter &printer, Operation *op, ValueRange values,
                   IntegerAttr task, AffineAttr data) {
  if (task)
    printer << " task " << task.getInt();
  printOptionalSum(printer, op, "data", values, data);
}

ParseResult parseCompletion(OpAsmParser &parser, IntegerAttr &thread,
                            FlatSymbolRefAttr &activate,
                            FlatSymbolRefAttr &unblock) {
  int64_t number;
  if (succeeded(parser.parseOptionalKeyword("thread"))) {
    if (expectInteger(parser, number, form::kControl))
      return failure();
    thread = parser.getBuilder().getI64IntegerAttr(number);
  }
  return failure(parseThen(parser, activate, unblock, form::kControl) ||
                 refuseOnLine(parser,
                              {"where", "task", "data", "thread", "then",
                               "activate", "unblock", "async"},
                              form::kControl));
}

void printCompletion(OpAsmPrinter &printer, Operation *, IntegerAttr thread,
                     FlatSymbolRefAttr activate, FlatSymbolRefAttr unblock) {
  if (thread)
    printer << " thread " << thread.getInt();
  printThen(printer, activate, unblock);
}

ParseResult parsePassage(OpAsmParser &parser, IntegerAttr &receive,
                         IntegerAttr &transmit) {
  constexpr StringRef form = "a rule is written 'set_route 3 from ramp to "
                             "[east]'";
  return failure(
      expectKeyword(parser, "from", form) || parsePort(parser, receive) ||
      expectKeyword(parser, "to", form) || parsePorts(parser, transmit));
}

void printPassage(OpAsmPrinter &printer, Operation *op, IntegerAttr receive,
                  IntegerAttr transmit) {
  printer << "from ";
  printPort(printer, op, receive);
  printer << " to ";
  printPorts(printer, op, transmit);
}

} // namespace wsec::pe
