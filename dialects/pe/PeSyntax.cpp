// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialects/pe/PeSyntax.h"
#include "dialects/pe/PeMistakes.h"
#include "mlir/IR/Builders.h"

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
  return parseCase(parser, port, getMaxEnumValForPort(), "a port");
}

ParseResult parsePorts(AsmParser &parser, PortsAttr &ports) {
  uint32_t set = 0;
  if (!startsWith(parser, "["))
    return expect(parser, failure(), "'['", form::kPorts);
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&] {
        Port port;
        if (parsePort(parser, port))
          return failure();
        set |= 1u << static_cast<uint32_t>(port);
        return success();
      }))
    return failure();
  ports = PortsAttr::get(parser.getContext(), static_cast<Ports>(set));
  return success();
}

void printPorts(AsmPrinter &printer, Operation *, PortsAttr ports) {
  auto set = static_cast<uint32_t>(ports.getValue());
  SmallVector<StringRef> names;
  for (uint32_t port = 0; port <= getMaxEnumValForPort(); ++port)
    if (set & (1u << port))
      names.push_back(stringifyPort(static_cast<Port>(port)));
  printer << '[';
  llvm::interleaveComma(names, printer);
  printer << ']';
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

void printEntry(OpAsmPrinter &printer, Operation *, ArrayAttr names,
                DenseI64ArrayAttr from, DenseI64ArrayAttr to, Region &body) {
  if (!names.empty()) {
    printer << '(';
    llvm::interleaveComma(llvm::zip_equal(body.getArguments(),
                                          from.asArrayRef(), to.asArrayRef()),
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

ParseResult parseCarried(OpAsmParser &parser,
                         SmallVectorImpl<OpAsmParser::UnresolvedOperand> &all) {
  return parser.parseOperandList(all, AsmParser::Delimiter::OptionalParen);
}

void printCarried(OpAsmPrinter &printer, Operation *, ValueRange all) {
  if (!all.empty())
    printer << '(' << all << ')';
}

//===----------------------------------------------------------------------===//
// Switches and copies
//===----------------------------------------------------------------------===//

ParseResult parsePosition(AsmParser &parser, PositionAttr &position) {
  SMLoc location = parser.getCurrentLocation();
  std::optional<Port> receive;
  Ports transmit = static_cast<Ports>(0);
  if (succeeded(parser.parseOptionalKeyword("from"))) {
    Port port;
    if (parsePort(parser, port))
      return failure();
    receive = port;
  } else {
    PortsAttr ports;
    if (expectKeyword(parser, "to", form::kSwitch) || parsePorts(parser, ports))
      return failure();
    transmit = ports.getValue();
  }
  position = parser.getChecked<PositionAttr>(location, parser.getContext(),
                                             receive, transmit);
  return success(position != nullptr);
}

void printPosition(AsmPrinter &printer, PositionAttr position) {
  if (position.getReceive()) {
    printer << "from " << stringifyPort(*position.getReceive());
    return;
  }
  printer << "to ";
  printPorts(printer, nullptr,
             PortsAttr::get(position.getContext(), position.getTransmit()));
}

ParseResult parsePositions(AsmParser &parser, ArrayAttr &positions) {
  SmallVector<Attribute> elements;
  if (!startsWith(parser, "["))
    return expect(parser, failure(), "'['", form::kSwitch);
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&] {
        PositionAttr position;
        if (parsePosition(parser, position))
          return failure();
        elements.push_back(position);
        return success();
      }))
    return failure();
  positions = ArrayAttr::get(parser.getContext(), elements);
  return success();
}

void printPositions(AsmPrinter &printer, Operation *, ArrayAttr positions) {
  printer << '[';
  llvm::interleaveComma(
      positions.getAsRange<PositionAttr>(), printer,
      [&](PositionAttr position) { printPosition(printer, position); });
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

//===----------------------------------------------------------------------===//
// Parsing expressions
//===----------------------------------------------------------------------===//

static int64_t
numberOf(OpAsmParser::UnresolvedOperand operand,
         SmallVectorImpl<OpAsmParser::UnresolvedOperand> &known) {
  for (auto [number, other] : llvm::enumerate(known))
    if (other.name == operand.name && other.number == operand.number)
      return number;
  known.push_back(operand);
  return known.size() - 1;
}

/// -value; the lowest number is its own negative.
static int64_t negative(int64_t value) { return int64_t(-uint64_t(value)); }

// 4 * 2, %i or %i * 4.
ParseResult ExpressionParser::parseTerm(bool subtracts, int64_t &constant,
                                        SmallVectorImpl<int64_t> &numbers,
                                        SmallVectorImpl<int64_t> &scales) {
  OpAsmParser::UnresolvedOperand operand;
  OptionalParseResult isOperand = parser.parseOptionalOperand(operand);
  if (!isOperand.has_value()) {
    int64_t value;
    if (parseProduct(parser, value, form::kExpression))
      return failure();
    constant += subtracts ? negative(value) : value;
    return success();
  }
  if (failed(*isOperand))
    return failure();
  int64_t scale = 1;
  if (succeeded(parser.parseOptionalStar()) &&
      parseProduct(parser, scale, form::kExpression))
    return failure();
  numbers.push_back(numberOf(operand, values));
  scales.push_back(subtracts ? negative(scale) : scale);
  return success();
}

ParseResult ExpressionParser::parse(AffineAttr &affine) {
  int64_t constant = 0;
  SmallVector<int64_t> numbers, scales;
  bool subtracts = false, goesOn = true;
  while (goesOn) {
    if (parseTerm(subtracts, constant, numbers, scales))
      return failure();
    subtracts = succeeded(parser.parseOptionalMinus());
    goesOn = subtracts || succeeded(parser.parseOptionalPlus());
  }
  if (startsWith(parser, "*/"))
    return expect(parser, failure(), "'+', '-' or the end", form::kExpression);
  affine = AffineAttr::get(parser.getContext(), constant, numbers, scales);
  return success();
}

ParseResult ExpressionParser::parse(ArrayAttr &list, StringRef form) {
  SmallVector<Attribute> elements;
  if (!startsWith(parser, "("))
    return expect(parser, failure(), "'('", form);
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Paren, [&] {
        AffineAttr affine;
        if (parse(affine))
          return failure();
        elements.push_back(affine);
        return success();
      }))
    return failure();
  list = ArrayAttr::get(parser.getContext(), elements);
  return success();
}

ParseResult ExpressionParser::parseAccess(AffineAttr &offset,
                                          SmallVectorImpl<int64_t> &strides) {
  constexpr StringRef form = form::kMemory;
  if (expect(parser, parser.parseOptionalLSquare(), "'['", form) ||
      parse(offset) ||
      expect(parser, parser.parseOptionalComma(), "','", form) ||
      expectKeyword(parser, "strides", form) ||
      expect(parser, parser.parseOptionalEqual(), "'='", form) ||
      expect(parser, success(startsWith(parser, "[")), "'['", form))
    return failure();
  return failure(parser.parseCommaSeparatedList(
                     AsmParser::Delimiter::Square,
                     [&] {
                       return expectInteger(parser, strides.emplace_back(),
                                            form);
                     }) ||
                 expect(parser, parser.parseOptionalRSquare(), "']'", form));
}

ParseResult ExpressionParser::parseElement(AffineAttr &offset) {
  return failure(
      expect(parser, parser.parseOptionalLSquare(), "'['", form::kElement) ||
      parse(offset) ||
      expect(parser, parser.parseOptionalRSquare(), "']'", form::kElement));
}

static ParseResult parseDepth(AsmParser &parser, unsigned &depth) {
  int64_t value;
  SMLoc location = parser.getCurrentLocation();
  if (expectInteger(parser, value, form::kFabric))
    return failure();
  depth = static_cast<unsigned>(value);
  if (depth != value)
    return parser.emitError(location, "a fabric operand has depth ") << value;
  return success();
}

ParseResult ExpressionParser::parseFabricOption(AffineAttr &offset,
                                                AffineAttr &total,
                                                unsigned &depth, bool &pair) {
  if (succeeded(parser.parseOptionalKeyword("pair"))) {
    pair = true;
    return success();
  }
  auto equal = [&] {
    return expect(parser, parser.parseOptionalEqual(), "'='", form::kFabric);
  };
  if (succeeded(parser.parseOptionalKeyword("depth")))
    return failure(equal() || parseDepth(parser, depth));
  if (succeeded(parser.parseOptionalKeyword("window")))
    return failure(equal() || parse(offset) ||
                   expectKeyword(parser, "of", form::kWindow) || parse(total));
  return expect(parser, failure(), "a type, pair, depth, window or index",
                form::kFabric);
}

// After `fabric`: (color, f16, pair, depth = 2, window = offset of total)
ParseResult ExpressionParser::parseFabric(Attribute &operand) {
  AffineAttr color, offset, total, index;
  StringAttr chain;
  unsigned depth = 1;
  bool pair = false;
  Type type;
  if (expect(parser, parser.parseOptionalLParen(), "'('", form::kFabric))
    return failure();
  if (succeeded(parser.parseOptionalSymbolName(chain)))
    color = AffineAttr::get(parser.getContext(), 0, {}, {});
  else if (parse(color))
    return failure();
  while (succeeded(parser.parseOptionalComma())) {
    // `index` would also be a type.
    if (succeeded(parser.parseOptionalKeyword("index"))) {
      if (parser.parseEqual() || parse(index))
        return failure();
      continue;
    }
    OptionalParseResult isType = parser.parseOptionalType(type);
    if (isType.has_value()
            ? failed(*isType)
            : failed(parseFabricOption(offset, total, depth, pair)))
      return failure();
  }
  // One way to write each type, so that equal code has equal attributes.
  if (type && type.isF32())
    type = {};
  operand = FabricAttr::get(
      parser.getContext(), color, depth, offset, total, type, pair, index,
      chain ? FlatSymbolRefAttr::get(chain) : FlatSymbolRefAttr());
  return expect(parser, parser.parseOptionalRParen(), "')'", form::kFabric);
}

ParseResult ExpressionParser::parse(Attribute &operand) {
  if (succeeded(parser.parseOptionalKeyword("fabric")))
    return parseFabric(operand);
  StringAttr buffer;
  if (failed(parser.parseOptionalSymbolName(buffer))) {
    if (startsWith(parser, "-0123456789"))
      return parser.parseAttribute(operand, parser.getBuilder().getF32Type());
    int64_t number;
    OptionalParseResult found =
        parseOptionalFactor(parser, number, form::kOperand);
    if (!found.has_value())
      return expect(parser, failure(), "an operand", form::kOperand);
    operand = parser.getBuilder().getF32FloatAttr(static_cast<float>(number));
    return *found;
  }
  AffineAttr offset;
  SmallVector<int64_t> strides;
  if (parseAccess(offset, strides))
    return failure();
  operand = MemoryAttr::get(parser.getContext(), FlatSymbolRefAttr::get(buffer),
                            offset, strides);
  return success();
}

ParseResult ExpressionParser::parseGuard() {
  // Not `if`, which would take the statement of that name on the next line.
  if (failed(parser.parseOptionalKeyword("where")))
    return refuseOnLine(parser, {"if"}, "a guard is written 'where %x'");
  return parser.parseOperand(guard.emplace_back());
}

ParseResult ExpressionParser::resolve(OperationState &state) {
  Type scalar = ScalarType::get(parser.getContext());
  if (parser.resolveOperands(values, scalar, state.operands) ||
      parser.resolveOperands(guard, scalar, state.operands))
    return failure();
  return success();
}

//===----------------------------------------------------------------------===//
// Printing expressions
//===----------------------------------------------------------------------===//

void ExpressionPrinter::print(AffineAttr affine) {
  ArrayRef<int64_t> scales = affine.getScales();
  int64_t constant = affine.getConstant();
  // "2 - %i": something positive goes first, where there is something.
  const bool constantFirst =
      scales.empty() || (scales.front() < 0 && constant > 0);
  bool first = true;
  auto sign = [&](int64_t value) {
    const bool subtracts = !first && value < 0;
    if (!first)
      printer << (subtracts ? " - " : " + ");
    first = false;
    return subtracts ? negative(value) : value;
  };
  if (constantFirst)
    printer << sign(constant);
  for (auto [number, scale] : llvm::zip_equal(affine.getValues(), scales)) {
    const int64_t factor = sign(scale);
    printer << values[number];
    if (factor != 1)
      printer << " * " << factor;
  }
  if (!constantFirst && constant != 0)
    printer << sign(constant);
}

void ExpressionPrinter::print(ArrayAttr list) {
  printer << '(';
  llvm::interleaveComma(list.getAsRange<AffineAttr>(), printer,
                        [&](AffineAttr affine) { print(affine); });
  printer << ')';
}

void ExpressionPrinter::printAccess(AffineAttr offset,
                                    ArrayRef<int64_t> strides) {
  printer << '[';
  print(offset);
  printer << ", strides = [";
  llvm::interleaveComma(strides, printer);
  printer << "]]";
}

void ExpressionPrinter::printElement(AffineAttr offset) {
  printer << '[';
  print(offset);
  printer << ']';
}

void ExpressionPrinter::print(Attribute operand) {
  if (auto memory = dyn_cast<MemoryAttr>(operand)) {
    printer.printSymbolName(memory.getBuffer().getValue());
    return printAccess(memory.getOffset(), memory.getStrides());
  }
  auto fabric = dyn_cast<FabricAttr>(operand);
  if (!fabric)
    return printer.printAttributeWithoutType(operand);
  printer << "fabric(";
  if (fabric.getChain())
    printer << fabric.getChain();
  else
    print(fabric.getColor());
  if (fabric.getType())
    printer << ", " << fabric.getType();
  if (fabric.getPair())
    printer << ", pair";
  if (fabric.getDepth() != 1)
    printer << ", depth = " << fabric.getDepth();
  if (fabric.getWindowTotal()) {
    printer << ", window = ";
    print(fabric.getWindowOffset());
    printer << " of ";
    print(fabric.getWindowTotal());
  }
  if (fabric.getIndex()) {
    printer << ", index = ";
    print(fabric.getIndex());
  }
  printer << ')';
}

} // namespace wsec::pe
