// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialects/pe/PeExpressions.h"
#include "dialects/pe/PeMistakes.h"
#include "mlir/IR/Builders.h"

using namespace mlir;

namespace wsec::pe {

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
