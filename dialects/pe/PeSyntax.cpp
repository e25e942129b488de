// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialects/pe/PeSyntax.h"
#include "dialects/EntrySyntax.h"
#include "dialects/pe/PeMistakes.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace wsec::pe {

//===----------------------------------------------------------------------===//
// Rectangles and channels
//===----------------------------------------------------------------------===//

static ParseResult parseSpan(AsmParser &parser, int64_t &begin, int64_t &end,
                             int64_t &step, StringRef form) {
  step = 1;
  if (expectInteger(parser, begin, form) ||
      expect(parser, parser.parseOptionalColon(), "':'", form) ||
      expectInteger(parser, end, form))
    return failure();
  if (succeeded(parser.parseOptionalColon()))
    return expectInteger(parser, step, form);
  return success();
}

static void printSpan(AsmPrinter &printer, int64_t begin, int64_t end,
                      int64_t step) {
  printer << begin << ':' << end;
  if (step != 1)
    printer << ':' << step;
}

ParseResult parseRect(AsmParser &parser, RectAttr &rect) {
  SMLoc location = parser.getCurrentLocation();
  int64_t x0, x1, xstep, y0, y1, ystep;
  if (expect(parser, parser.parseOptionalLSquare(), "'['", form::kRect) ||
      parseSpan(parser, x0, x1, xstep, form::kRect) ||
      expect(parser, parser.parseOptionalComma(), "','", form::kRect) ||
      parseSpan(parser, y0, y1, ystep, form::kRect) ||
      expect(parser, parser.parseOptionalRSquare(), "']'", form::kRect))
    return failure();
  rect = parser.getChecked<RectAttr>(location, parser.getContext(), x0, x1,
                                     xstep, y0, y1, ystep);
  return success(rect != nullptr);
}

void printRect(AsmPrinter &printer, Operation *, RectAttr rect) {
  printer << '[';
  printSpan(printer, rect.getX0(), rect.getX1(), rect.getXstep());
  printer << ", ";
  printSpan(printer, rect.getY0(), rect.getY1(), rect.getYstep());
  printer << ']';
}

ParseResult parseRects(AsmParser &parser, ArrayAttr &rects) {
  SmallVector<Attribute> elements;
  if (parser.parseCommaSeparatedList([&] {
        RectAttr rect;
        if (parseRect(parser, rect))
          return failure();
        elements.push_back(rect);
        return success();
      }))
    return failure();
  rects = ArrayAttr::get(parser.getContext(), elements);
  return success();
}

void printRects(AsmPrinter &printer, Operation *op, ArrayAttr rects) {
  llvm::interleaveComma(rects.getAsRange<RectAttr>(), printer,
                        [&](RectAttr rect) { printRect(printer, op, rect); });
}

ParseResult parseChannels(AsmParser &parser, ArrayAttr &channels) {
  SmallVector<Attribute> elements;
  auto parseChannel = [&]() -> ParseResult {
    SMLoc location = parser.getCurrentLocation();
    int64_t row, begin, end, step;
    if (expectInteger(parser, row, form::kChannels) ||
        expect(parser, parser.parseOptionalArrow(), "'->'", form::kChannels) ||
        parseSpan(parser, begin, end, step, form::kChannels))
      return failure();
    if (step != 1)
      return parser.emitError(location, "the span of a channel has no step");
    auto channel = parser.getChecked<ChannelAttr>(location, parser.getContext(),
                                                  row, begin, end);
    if (!channel)
      return failure();
    elements.push_back(channel);
    return success();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square,
                                     parseChannel))
    return failure();
  channels = ArrayAttr::get(parser.getContext(), elements);
  return success();
}

void printChannels(AsmPrinter &printer, Operation *, ArrayAttr channels) {
  printer << '[';
  llvm::interleaveComma(
      channels.getAsRange<ChannelAttr>(), printer, [&](ChannelAttr channel) {
        printer << channel.getRow() << " -> ";
        printSpan(printer, channel.getBegin(), channel.getEnd(), 1);
      });
  printer << ']';
}

ParseResult parsePort(AsmParser &parser, Port &port) {
  SmallVector<StringRef> words;
  for (Port each : fabric::allPorts)
    words.push_back(keyword(each));
  StringRef word;
  if (parseWord(parser, word, std::move(words), "a port"))
    return failure();
  port = *fabric::portNamed(word);
  return success();
}

ParseResult parsePort(AsmParser &parser, IntegerAttr &port) {
  Port parsed;
  if (parsePort(parser, parsed))
    return failure();
  port = parser.getBuilder().getI32IntegerAttr(int32_t(parsed));
  return success();
}

void printPort(AsmPrinter &printer, Operation *, IntegerAttr port) {
  printer << keyword(Port(port.getInt()));
}

ParseResult parsePorts(AsmParser &parser, IntegerAttr &ports) {
  Ports set = 0;
  if (!startsWith(parser, "["))
    return expect(parser, failure(), "'['", form::kPorts);
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&] {
        Port port;
        if (parsePort(parser, port))
          return failure();
        set |= portBit(port);
        return success();
      }))
    return failure();
  ports = parser.getBuilder().getI32IntegerAttr(set);
  return success();
}

static void printSet(AsmPrinter &printer, Ports ports) {
  SmallVector<StringRef> names;
  for (Port port : fabric::allPorts)
    if (ports & portBit(port))
      names.push_back(keyword(port));
  printer << '[';
  llvm::interleaveComma(names, printer);
  printer << ']';
}

void printPorts(AsmPrinter &printer, Operation *, IntegerAttr ports) {
  printSet(printer, Ports(ports.getInt()));
}

//===----------------------------------------------------------------------===//
// Meshes and scalars
//===----------------------------------------------------------------------===//

ParseResult parseMesh(AsmParser &parser, DenseI64ArrayAttr &mesh) {
  if (!startsWith(parser, "["))
    return expect(parser, failure(), "'['", form::kMesh);
  SmallVector<int64_t> sides;
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&] {
        return expectInteger(parser, sides.emplace_back(), form::kMesh);
      }))
    return failure();
  mesh = DenseI64ArrayAttr::get(parser.getContext(), sides);
  return success();
}

void printMesh(AsmPrinter &printer, Operation *, DenseI64ArrayAttr mesh) {
  printer << '[' << mesh.asArrayRef() << ']';
}

ParseResult parseInputs(OpAsmParser &parser,
                        SmallVectorImpl<OpAsmParser::UnresolvedOperand> &inputs,
                        DenseI64ArrayAttr &literals) {
  SmallVector<int64_t> numbers;
  auto parseInput = [&]() -> ParseResult {
    numbers.push_back(ShapedType::kDynamic);
    OpAsmParser::UnresolvedOperand input;
    OptionalParseResult found = parser.parseOptionalOperand(input);
    if (!found.has_value())
      return expectInteger(parser, numbers.back(), form::kInputs);
    inputs.push_back(input);
    return *found;
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::OptionalParen,
                                     parseInput))
    return failure();
  if (numbers.size() > inputs.size())
    literals = parser.getBuilder().getDenseI64ArrayAttr(numbers);
  return success();
}

void printInputs(OpAsmPrinter &printer, Operation *op, ValueRange,
                 DenseI64ArrayAttr) {
  auto inputs = cast<ScalarOp>(op).getMixedInputs();
  if (inputs.empty())
    return;
  printer << '(';
  llvm::interleaveComma(inputs, printer, [&](OpFoldResult input) {
    if (auto number = dyn_cast<Attribute>(input))
      printer << cast<IntegerAttr>(number).getInt();
    else
      printer << cast<Value>(input);
  });
  printer << ')';
}

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

using Arguments = SmallVector<OpAsmParser::Argument>;

static ParseResult parseArgument(OpAsmParser &parser, Arguments &arguments) {
  OpAsmParser::Argument &argument = arguments.emplace_back();
  if (parser.parseArgument(argument))
    return failure();
  argument.type = ScalarType::get(parser.getContext());
  return success();
}

// One block, with these arguments.
static ParseResult parseBlock(OpAsmParser &parser, const Arguments &arguments,
                              Region &body) {
  if (parser.parseRegion(body, arguments))
    return failure();
  if (!body.empty())
    return success();
  Block &block = body.emplaceBlock();
  for (const OpAsmParser::Argument &argument : arguments)
    block.addArgument(argument.type,
                      parser.getEncodedSourceLoc(argument.ssaName.location));
  return success();
}

ParseResult parseBodyOf(OpAsmParser &parser, Region &body) {
  Arguments arguments;
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::OptionalParen, [&] {
        return parseArgument(parser, arguments);
      }))
    return failure();
  return parseBlock(parser, arguments, body);
}

void printBodyOf(OpAsmPrinter &printer, Operation *op, Region &body) {
  if (body.getNumArguments() > 0) {
    printer << '(';
    llvm::interleaveComma(body.getArguments(), printer);
    printer << ") ";
  } else if (isa<RoutineOp>(op)) {
    printer << ' ';
  }
  printer.printRegion(body, /*printEntryBlockArgs=*/false);
}

ParseResult parseProcedure(OpAsmParser &parser, ArrayAttr &names,
                           Region &body) {
  Arguments arguments;
  SmallVector<Attribute> symbols;
  if (parser.parseCommaSeparatedList(
          AsmParser::Delimiter::OptionalParen, [&]() -> ParseResult {
            StringAttr name;
            SMLoc location = parser.getCurrentLocation();
            if (failed(parser.parseOptionalSymbolName(name)))
              return parseArgument(parser, arguments);
            if (!arguments.empty())
              return parser.emitError(location, "a name behind a scalar: ")
                     << form::kCall;
            symbols.push_back(FlatSymbolRefAttr::get(name));
            return success();
          }))
    return failure();
  names = parser.getBuilder().getArrayAttr(symbols);
  return parseBlock(parser, arguments, body);
}

void printProcedure(OpAsmPrinter &printer, Operation *, ArrayAttr names,
                    Region &body) {
  const bool takesScalars = body.getNumArguments() > 0;
  if (!names.empty() || takesScalars) {
    printer << '(';
    llvm::interleaveComma(names, printer);
    if (!names.empty() && takesScalars)
      printer << ", ";
    llvm::interleaveComma(body.getArguments(), printer);
    printer << ')';
  }
  printer << ' ';
  printer.printRegion(body, /*printEntryBlockArgs=*/false);
}

ParseResult parseEntry(OpAsmParser &parser, ArrayAttr &names,
                       DenseI64ArrayAttr &from, DenseI64ArrayAttr &to,
                       Region &body) {
  Arguments arguments;
  SmallVector<StringRef> words;
  SmallVector<int64_t> lowest, highest;
  if (parser.parseCommaSeparatedList(
          AsmParser::Delimiter::OptionalParen, [&]() -> ParseResult {
            if (parseArgument(parser, arguments) ||
                expectKeyword(parser, "from", form::kArgument) ||
                expectInteger(parser, lowest.emplace_back(), form::kArgument) ||
                expectKeyword(parser, "to", form::kArgument) ||
                expectInteger(parser, highest.emplace_back(), form::kArgument))
              return failure();
            words.push_back(arguments.back().ssaName.name.drop_front());
            return success();
          }))
    return failure();
  names = parser.getBuilder().getStrArrayAttr(words);
  from = parser.getBuilder().getDenseI64ArrayAttr(lowest);
  to = parser.getBuilder().getDenseI64ArrayAttr(highest);
  return parseBlock(parser, arguments, body);
}

void printEntry(OpAsmPrinter &printer, Operation *, ArrayAttr,
                DenseI64ArrayAttr from, DenseI64ArrayAttr to, Region &body) {
  printEntryOf(printer, from, to, body);
}

ParseResult parseCarried(OpAsmParser &parser,
                         SmallVectorImpl<OpAsmParser::UnresolvedOperand> &all) {
  return parser.parseOperandList(all, AsmParser::Delimiter::OptionalParen);
}

void printCarried(OpAsmPrinter &printer, Operation *, ValueRange all) {
  if (!all.empty())
    printer << '(' << all << ')';
}

//===----------------------------------------------------------------------===//
// What buffers hold first
//===----------------------------------------------------------------------===//

// Whether 0.5, -1e3 or the hexadecimal bits of a float follow.
static bool isFloatNext(AsmParser &parser) {
  const char *text = parser.getCurrentLocation().getPointer();
  text += *text == '-';
  if (text[0] == '0' && text[1] == 'x')
    return true;
  while (llvm::isDigit(*text))
    ++text;
  return *text == '.';
}

static ParseResult parseElementValue(AsmParser &parser, Type type,
                                     SmallVectorImpl<Attribute> &values) {
  SMLoc location = parser.getCurrentLocation();
  auto floats = dyn_cast<FloatType>(type);
  if (floats && isFloatNext(parser)) {
    APFloat value(floats.getFloatSemantics());
    if (parser.parseFloat(floats.getFloatSemantics(), value))
      return failure();
    values.push_back(FloatAttr::get(type, value));
    return success();
  }
  int64_t number;
  if (expectInteger(parser, number, form::kInitial))
    return failure();
  if (floats) {
    values.push_back(FloatAttr::get(type, double(number)));
    return success();
  }
  const unsigned width = type.getIntOrFloatBitWidth();
  const bool fits = type.isUnsignedInteger() ? llvm::isUIntN(width, number)
                                             : llvm::isIntN(width, number);
  if (width < 64 && !fits)
    return parser.emitError(location, "a buffer of ")
           << type << " does not hold " << number;
  values.push_back(IntegerAttr::get(type, number));
  return success();
}

ParseResult parseInitial(AsmParser &parser, IntegerAttr bytes, TypeAttr type,
                         ElementsAttr &initial) {
  if (failed(parser.parseOptionalEqual()))
    return success();
  SMLoc location = parser.getCurrentLocation();
  const Type element = type.getValue();
  if (!isElementType(element))
    return success(); // C2 is said by the verifier
  SmallVector<Attribute> values;
  const bool isList = startsWith(parser, "[");
  if (isList ? parser.parseCommaSeparatedList(
                   AsmParser::Delimiter::Square,
                   [&] { return parseElementValue(parser, element, values); })
             : parseElementValue(parser, element, values))
    return failure();
  const int64_t elements = bytes.getInt() / elementBytes(element);
  if (isList && int64_t(values.size()) != elements) // C4
    return parser.emitError(location, "the buffer has ")
           << elements << " elements, but " << values.size() << " values";
  if (elements <= 0)
    return success(); // C1 is
  initial =
      DenseElementsAttr::get(RankedTensorType::get(elements, element), values);
  return success();
}

void printInitial(AsmPrinter &printer, Operation *, IntegerAttr, TypeAttr,
                  ElementsAttr initial) {
  if (!initial)
    return;
  printer << " = ";
  if (initial.isSplat()) {
    printer.printAttributeWithoutType(initial.getSplatValue<Attribute>());
    return;
  }
  printer << '[';
  llvm::interleaveComma(
      initial.getValues<Attribute>(), printer,
      [&](Attribute value) { printer.printAttributeWithoutType(value); });
  printer << ']';
}

//===----------------------------------------------------------------------===//
// Switches and copies
//===----------------------------------------------------------------------===//

ParseResult parsePosition(AsmParser &parser, std::optional<Port> &receive,
                          Ports &transmit) {
  if (succeeded(parser.parseOptionalKeyword("from")))
    return parsePort(parser, receive.emplace());
  IntegerAttr ports;
  if (expectKeyword(parser, "to", form::kSwitch) || parsePorts(parser, ports))
    return failure();
  transmit = Ports(ports.getInt());
  return success();
}

void printPosition(AsmPrinter &printer, std::optional<Port> receive,
                   Ports transmit) {
  if (receive) {
    printer << "from " << keyword(*receive);
    return;
  }
  printer << "to ";
  printSet(printer, transmit);
}

ParseResult parsePositions(AsmParser &parser, ArrayAttr &positions) {
  SmallVector<Attribute> elements;
  if (!startsWith(parser, "["))
    return expect(parser, failure(), "'['", form::kSwitch);
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&] {
        SMLoc location = parser.getCurrentLocation();
        std::optional<Port> receive;
        Ports transmit{};
        if (parsePosition(parser, receive, transmit))
          return failure();
        elements.push_back(parser.getChecked<PositionAttr>(
            location, parser.getContext(), receive, transmit));
        return success(elements.back() != nullptr);
      }))
    return failure();
  positions = ArrayAttr::get(parser.getContext(), elements);
  return success();
}

void printPositions(AsmPrinter &printer, Operation *, ArrayAttr positions) {
  printer << '[';
  llvm::interleaveComma(positions.getAsRange<PositionAttr>(), printer,
                        [&](PositionAttr position) {
                          printPosition(printer, position.getReceive(),
                                        position.getTransmit());
                        });
  printer << ']';
}

ParseResult parseCopyBuffer(AsmParser &parser, DirectionAttr direction,
                            FlatSymbolRefAttr &buffer) {
  StringAttr name;
  if (parser.parseKeyword(direction.getValue() == Direction::In ? "to"
                                                                : "from") ||
      parser.parseSymbolName(name))
    return failure();
  buffer = FlatSymbolRefAttr::get(name);
  return success();
}

void printCopyBuffer(AsmPrinter &printer, Operation *, DirectionAttr direction,
                     FlatSymbolRefAttr buffer) {
  printer << (direction.getValue() == Direction::In ? "to " : "from ");
  printer.printSymbolName(buffer.getValue());
}

} // namespace wsec::pe
