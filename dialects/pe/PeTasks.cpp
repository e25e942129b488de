// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tasks, filters, and scalar code.

#include "dialects/pe/PeMistakes.h"
#include "dialects/pe/PeSyntax.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace wsec::pe;

//===----------------------------------------------------------------------===//
// pe.task and pe.filter
//===----------------------------------------------------------------------===//

LogicalResult TaskOp::verify() {
  if (getKind() == TaskKind::Local && (getWordAttr() || getIndexAttr())) // C1
    return emitOpError("is local, so no wavelet starts it, but it stores one");
  return success();
}

// filter 3 counter 0 to 0 limit 3
ParseResult FilterOp::parse(OpAsmParser &parser, OperationState &state) {
  ExpressionParser expressions(parser);
  auto &properties = state.getOrAddProperties<Properties>();
  int64_t color;
  FilterKind kind;
  if (expectInteger(parser, color, form::kNumber) ||
      parseCase(parser, kind, getMaxEnumValForFilterKind(), "a filter"))
    return failure();
  properties.color = parser.getBuilder().getI64IntegerAttr(color);
  properties.kind = FilterKindAttr::get(parser.getContext(), kind);
  if (expressions.parse(properties.min) || parser.parseKeyword("to") ||
      expressions.parse(properties.max))
    return failure();
  if (succeeded(parser.parseOptionalKeyword("limit")) &&
      expressions.parse(properties.limit))
    return failure();
  return failure(parser.parseOptionalAttrDict(state.attributes) ||
                 expressions.resolve(state));
}

void FilterOp::print(OpAsmPrinter &printer) {
  ExpressionPrinter expressions(printer, getValues());
  printer << ' ' << getColor() << ' ' << stringifyFilterKind(getKind()) << ' ';
  expressions.print(getMin());
  printer << " to ";
  expressions.print(getMax());
  if (getLimit()) {
    printer << " limit ";
    expressions.print(*getLimit());
  }
  printer.printOptionalAttrDict(
      (*this)->getDiscardableAttrDictionary().getValue());
}

LogicalResult FilterOp::verify() {
  if (getLimitAttr() ? getKind() != FilterKind::Counter
                     : getKind() == FilterKind::Counter) // C1
    return emitOpError(getLimitAttr() ? "has a limit, but is no counter"
                                      : "is a counter without a limit");
  for (AffineAttr affine : {getMin(), getMax(), getLimitAttr()})
    if (affine && failed(verifyAffine(*this, affine, getValues()))) // C2
      return failure();
  return success();
}

//===----------------------------------------------------------------------===//
// pe.compute, pe.load and pe.store
//===----------------------------------------------------------------------===//

static ParseResult resolveLocal(OpAsmParser &parser, OperationState &state,
                                ExpressionParser &expressions) {
  state.addTypes(ScalarType::get(parser.getContext()));
  return failure(parser.parseOptionalAttrDict(state.attributes) ||
                 expressions.resolve(state));
}

// compute mod(%old + 1, 8)
ParseResult ComputeOp::parse(OpAsmParser &parser, OperationState &state) {
  ExpressionParser expressions(parser);
  auto &properties = state.getOrAddProperties<Properties>();
  ScalarKind kind;
  if (parseCase(parser, kind, getMaxEnumValForScalarKind(),
                "a scalar function"))
    return failure();
  properties.kind = ScalarKindAttr::get(parser.getContext(), kind);
  properties.inputs = parser.getBuilder().getArrayAttr({});
  if (inputCount(kind) > 0 &&
      expressions.parse(properties.inputs, form::kInputs))
    return failure();
  return resolveLocal(parser, state, expressions);
}

void ComputeOp::print(OpAsmPrinter &printer) {
  printer << ' ' << stringifyScalarKind(getKind());
  if (!getInputs().empty())
    ExpressionPrinter(printer, getValues()).print(getInputs());
  printer.printOptionalAttrDict(
      (*this)->getDiscardableAttrDictionary().getValue());
}

LogicalResult ComputeOp::verify() {
  if (getInputs().size() != inputCount(getKind())) // C1
    return emitOpError() << stringifyScalarKind(getKind()) << " takes "
                         << inputCount(getKind()) << " operands, found "
                         << getInputs().size();
  for (Attribute input : getInputs()) {
    auto affine = dyn_cast<AffineAttr>(input);
    if (!affine)
      return emitOpError("has an operand that is not affine");
    if (failed(verifyAffine(*this, affine, getValues()))) // C2
      return failure();
  }
  return success();
}

void ComputeOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getResult(), stringifyScalarKind(getKind()));
}

// @count[%i]
static ParseResult parseElement(OpAsmParser &parser,
                                ExpressionParser &expressions,
                                FlatSymbolRefAttr &buffer, AffineAttr &offset) {
  StringAttr name;
  if (parser.parseSymbolName(name) || expressions.parseElement(offset))
    return failure();
  buffer = FlatSymbolRefAttr::get(name);
  return success();
}

static void printElement(OpAsmPrinter &printer, ExpressionPrinter &expressions,
                         StringRef buffer, AffineAttr offset) {
  printer << ' ';
  printer.printSymbolName(buffer);
  expressions.printElement(offset);
}

void LoadOp::build(OpBuilder &builder, OperationState &state, StringRef buffer,
                   const Affine &offset) {
  AffineEncoder encoder(builder.getContext());
  auto &properties = state.getOrAddProperties<Properties>();
  properties.buffer = FlatSymbolRefAttr::get(builder.getContext(), buffer);
  properties.offset = encoder.encode(offset);
  state.addOperands(encoder.getValues());
  state.addTypes(ScalarType::get(builder.getContext()));
}

ParseResult LoadOp::parse(OpAsmParser &parser, OperationState &state) {
  ExpressionParser expressions(parser);
  auto &properties = state.getOrAddProperties<Properties>();
  if (parseElement(parser, expressions, properties.buffer, properties.offset))
    return failure();
  return resolveLocal(parser, state, expressions);
}

void LoadOp::print(OpAsmPrinter &printer) {
  ExpressionPrinter expressions(printer, getValues());
  printElement(printer, expressions, getBuffer(), getOffset());
  printer.printOptionalAttrDict(
      (*this)->getDiscardableAttrDictionary().getValue());
}

LogicalResult LoadOp::verify() {
  return verifyAffine(*this, getOffset(), getValues()); // C1
}

void LoadOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getResult(), getBuffer());
}

ParseResult StoreOp::parse(OpAsmParser &parser, OperationState &state) {
  ExpressionParser expressions(parser);
  auto &properties = state.getOrAddProperties<Properties>();
  return failure(
      parseElement(parser, expressions, properties.buffer, properties.offset) ||
      parser.parseEqual() || expressions.parse(properties.value) ||
      parser.parseOptionalAttrDict(state.attributes) ||
      expressions.resolve(state));
}

void StoreOp::print(OpAsmPrinter &printer) {
  ExpressionPrinter expressions(printer, getValues());
  printElement(printer, expressions, getBuffer(), getOffset());
  printer << " = ";
  expressions.print(getValue());
  printer.printOptionalAttrDict(
      (*this)->getDiscardableAttrDictionary().getValue());
}

LogicalResult StoreOp::verify() {
  return failure(failed(verifyAffine(*this, getOffset(), getValues())) ||
                 failed(verifyAffine(*this, getValue(), getValues()))); // C1
}

//===----------------------------------------------------------------------===//
// pe.if
//===----------------------------------------------------------------------===//

// if %count { ... } else { ... }
ParseResult IfOp::parse(OpAsmParser &parser, OperationState &state) {
  ExpressionParser expressions(parser);
  auto &properties = state.getOrAddProperties<Properties>();
  Region &then = *state.addRegion(), &otherwise = *state.addRegion();
  if (expressions.parse(properties.condition) ||
      parser.parseOptionalAttrDictWithKeyword(state.attributes) ||
      expressions.resolve(state) || parser.parseRegion(then))
    return failure();
  if (then.empty())
    then.emplaceBlock();
  if (succeeded(parser.parseOptionalKeyword("else")))
    return parser.parseRegion(otherwise);
  return success();
}

void IfOp::print(OpAsmPrinter &printer) {
  printer << ' ';
  ExpressionPrinter(printer, getValues()).print(getCondition());
  printer.printOptionalAttrDictWithKeyword(
      (*this)->getDiscardableAttrDictionary().getValue());
  printer << ' ';
  printer.printRegion(getThen());
  if (getOtherwise().empty())
    return;
  printer << " else ";
  printer.printRegion(getOtherwise());
}

LogicalResult IfOp::verify() {
  return verifyAffine(*this, getCondition(), getValues()); // C1
}

//===----------------------------------------------------------------------===//
// pe.control, pe.clock and pe.set_route
//===----------------------------------------------------------------------===//

static ParseResult parseCommands(OpAsmParser &parser,
                                 DenseI32ArrayAttr &commands) {
  SmallVector<int32_t> list;
  auto parseCommand = [&]() -> ParseResult {
    SwitchCommand command;
    if (parseCase(parser, command, getMaxEnumValForSwitchCommand(),
                  "a switch command"))
      return failure();
    list.push_back(static_cast<int32_t>(command));
    return success();
  };
  if (expect(parser, success(startsWith(parser, "[")), "'['", form::kControl) ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Square,
                                     parseCommand))
    return failure();
  commands = parser.getBuilder().getDenseI32ArrayAttr(list);
  return success();
}

// control fabric(1) [advance, nop] task 5 data %px
ParseResult ControlOp::parse(OpAsmParser &parser, OperationState &state) {
  ExpressionParser expressions(parser);
  auto &properties = state.getOrAddProperties<Properties>();
  if (expectKeyword(parser, "fabric", form::kControl) ||
      expect(parser, parser.parseOptionalLParen(), "'('", form::kControl) ||
      expressions.parse(properties.color) ||
      expect(parser, parser.parseOptionalRParen(), "')'", form::kControl) ||
      parseCommands(parser, properties.commands))
    return failure();
  if (succeeded(parser.parseOptionalKeyword("task"))) {
    int64_t task;
    if (expectInteger(parser, task, form::kControl))
      return failure();
    properties.task = parser.getBuilder().getI64IntegerAttr(task);
  }
  if (succeeded(parser.parseOptionalKeyword("data")) &&
      expressions.parse(properties.data))
    return failure();
  return failure(parser.parseOptionalAttrDict(state.attributes) ||
                 expressions.resolve(state));
}

void ControlOp::print(OpAsmPrinter &printer) {
  ExpressionPrinter expressions(printer, getValues());
  printer << " fabric(";
  expressions.print(getColor());
  printer << ") [";
  llvm::interleaveComma(getCommands(), printer, [&](int32_t command) {
    printer << stringifySwitchCommand(static_cast<SwitchCommand>(command));
  });
  printer << ']';
  if (getTask())
    printer << " task " << *getTask();
  if (getData()) {
    printer << " data ";
    expressions.print(*getData());
  }
  printer.printOptionalAttrDict(
      (*this)->getDiscardableAttrDictionary().getValue());
}

LogicalResult ControlOp::verify() {
  if (getCommands().empty()) // C1
    return emitOpError("has no command; `nop` does nothing");
  for (int32_t command : getCommands())
    if (!symbolizeSwitchCommand(static_cast<uint32_t>(command))) // C1
      return emitOpError("has unknown command ") << command;
  if (getData() && !getTask()) // C2
    return emitOpError("carries data, but starts no task");
  for (AffineAttr affine : {getColor(), getDataAttr()})
    if (affine && failed(verifyAffine(*this, affine, getValues()))) // C3
      return failure();
  return success();
}

ParseResult ClockOp::parse(OpAsmParser &parser, OperationState &state) {
  ExpressionParser expressions(parser);
  auto &properties = state.getOrAddProperties<Properties>();
  return failure(
      parseElement(parser, expressions, properties.buffer, properties.offset) ||
      parser.parseOptionalAttrDict(state.attributes) ||
      expressions.resolve(state));
}

void ClockOp::print(OpAsmPrinter &printer) {
  ExpressionPrinter expressions(printer, getValues());
  printElement(printer, expressions, getBuffer(), getOffset());
  printer.printOptionalAttrDict(
      (*this)->getDiscardableAttrDictionary().getValue());
}

LogicalResult ClockOp::verify() {
  return verifyAffine(*this, getOffset(), getValues()); // C1
}

// set_route 3 from ramp to [east]
ParseResult SetRouteOp::parse(OpAsmParser &parser, OperationState &state) {
  ExpressionParser expressions(parser);
  auto &properties = state.getOrAddProperties<Properties>();
  constexpr StringRef form = "a rule is written 'set_route 3 from ramp to "
                             "[east]'";
  Port receive;
  if (expressions.parse(properties.color) ||
      expectKeyword(parser, "from", form) || parsePort(parser, receive))
    return failure();
  properties.receive = PortAttr::get(parser.getContext(), receive);
  return failure(expectKeyword(parser, "to", form) ||
                 parsePorts(parser, properties.transmit) ||
                 parser.parseOptionalAttrDict(state.attributes) ||
                 expressions.resolve(state));
}

void SetRouteOp::print(OpAsmPrinter &printer) {
  printer << ' ';
  ExpressionPrinter(printer, getValues()).print(getColor());
  printer << " from " << stringifyPort(getReceive()) << " to ";
  printPorts(printer, *this, getTransmitAttr());
  printer.printOptionalAttrDict(
      (*this)->getDiscardableAttrDictionary().getValue());
}

LogicalResult SetRouteOp::verify() {
  if (failed(verifyPorts(*this, getReceive(), getTransmit()))) // C1, C2
    return failure();
  return verifyAffine(*this, getColor(), getValues()); // C3
}
