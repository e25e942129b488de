// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialects/pe/PeParameters.h"
#include "dialects/pe/PeMistakes.h"

#include "mlir/IR/Builders.h"

#include <limits>

using namespace mlir;

namespace wsec::pe {

static Parameters &parametersOf(AsmParser &parser) {
  return parser.getContext()->getOrLoadDialect<PeDialect>()->parameters;
}

const Parameter *Parameters::find(StringRef name) const {
  for (const Parameter &parameter : declared)
    if (parameter.name == name)
      return &parameter;
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Declarations
//===----------------------------------------------------------------------===//

// "; there is: width = 4 from 3 to 750, words = 8"
static std::string list(const Parameters &parameters) {
  std::string text;
  for (const Parameter &its : parameters.declared) {
    text += (text.empty() ? "; there is: " : ", ") + its.name + " = " +
            std::to_string(its.value);
    if (its.least != std::numeric_limits<int32_t>::min() ||
        its.most != std::numeric_limits<int32_t>::max())
      text += " from " + std::to_string(its.least) + " to " +
              std::to_string(its.most);
  }
  return text.empty() ? "; there is none" : text;
}

// width = 4 from 3 to 750
static ParseResult parseParameter(AsmParser &parser, Parameters &parameters,
                                  SMLoc &location) {
  constexpr StringRef form = form::kParameter;
  location = parser.getCurrentLocation();
  StringRef name;
  if (expect(parser, parser.parseOptionalKeyword(&name), "a name", form))
    return failure();
  if (parameters.find(name))
    return parser.emitError(location, "there are two parameters '")
           << name << "'";
  Parameter parameter{name.str(), 0, std::numeric_limits<int32_t>::min(),
                      std::numeric_limits<int32_t>::max()};
  if (expect(parser, parser.parseOptionalEqual(), "'='", form) ||
      expectInteger(parser, parameter.value, form))
    return failure();
  if (succeeded(parser.parseOptionalKeyword("from")))
    if (expectInteger(parser, parameter.least, form) ||
        expectKeyword(parser, "to", form) ||
        expectInteger(parser, parameter.most, form))
      return failure();
  parameters.declared.push_back(parameter);
  return success();
}

ParseResult parseParameters(OpAsmParser &parser, StringAttr program) {
  Parameters &parameters = parametersOf(parser);
  parameters.declared.clear();
  // Said when all are known.
  std::optional<std::pair<Parameter, SMLoc>> outOfRange;
  auto parseNext = [&]() -> ParseResult {
    SMLoc location;
    if (parseParameter(parser, parameters, location))
      return failure();
    Parameter &parameter = parameters.declared.back();
    Parameter wanted = parameter;
    if (auto given = parameters.given.find(parameter.name);
        given != parameters.given.end())
      wanted.value = given->second;
    if (wanted.value >= wanted.least && wanted.value <= wanted.most)
      parameter = wanted; // which the next one may be computed from
    else if (!outOfRange)
      outOfRange = {wanted, location};
    return success();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::OptionalParen,
                                     parseNext))
    return failure();
  for (const auto &[name, value] : parameters.given)
    if (!parameters.find(name))
      return parser.emitError(parser.getNameLoc(), "program @")
             << program.getValue() << " has no parameter '" << name << "'"
             << list(parameters);
  if (!outOfRange)
    return success();
  const auto &[wanted, location] = *outOfRange;
  return parser.emitError(location, "parameter '")
         << wanted.name << "' is " << wanted.value
         << ", expected a number from " << wanted.least << " to " << wanted.most
         << list(parameters);
}

void printParameters(OpAsmPrinter &, Operation *, StringAttr) {}

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

enum class Arithmetic { Add, Sub, Mul, Div, Mod, Min, Max };

/// value = value op other, where that is a number of 64 bits.
static bool apply(Arithmetic op, int64_t &value, int64_t other) {
  switch (op) {
  case Arithmetic::Add:
    return !__builtin_add_overflow(value, other, &value);
  case Arithmetic::Sub:
    return !__builtin_sub_overflow(value, other, &value);
  case Arithmetic::Mul:
    return !__builtin_mul_overflow(value, other, &value);
  case Arithmetic::Div:
  case Arithmetic::Mod:
    if (other == 0 ||
        (other == -1 && value == std::numeric_limits<int64_t>::min()))
      return false;
    value = op == Arithmetic::Div ? value / other : value % other;
    return true;
  case Arithmetic::Min:
    value = std::min(value, other);
    return true;
  case Arithmetic::Max:
    value = std::max(value, other);
    return true;
  }
  return false;
}

static ParseResult apply(AsmParser &parser, Arithmetic op, int64_t &value,
                         int64_t other, SMLoc location) {
  const int64_t before = value;
  if (apply(op, value, other))
    return success();
  return parser.emitError(location, "a number that is computed from ")
         << before << " and " << other << " has no value in 64 bits";
}

// After `div`: (width, 2)
static ParseResult parseFunction(AsmParser &parser, StringRef name,
                                 int64_t &value) {
  constexpr StringRef form = form::kNumber;
  SMLoc location = parser.getCurrentLocation();
  int64_t other;
  if (expect(parser, parser.parseOptionalLParen(), "'('", form) ||
      expectInteger(parser, value, form) ||
      expect(parser, parser.parseOptionalComma(), "','", form) ||
      expectInteger(parser, other, form) ||
      expect(parser, parser.parseOptionalRParen(), "')'", form))
    return failure();
  const Arithmetic op = name == "div"   ? Arithmetic::Div
                        : name == "mod" ? Arithmetic::Mod
                        : name == "min" ? Arithmetic::Min
                                        : Arithmetic::Max;
  return apply(parser, op, value, other, location);
}

OptionalParseResult parseOptionalFactor(AsmParser &parser, int64_t &value,
                                        StringRef form) {
  OptionalParseResult number = parser.parseOptionalInteger(value);
  if (number.has_value())
    return number;
  const Parameters &parameters = parametersOf(parser);
  SmallVector<StringRef> names;
  for (const Parameter &parameter : parameters.declared)
    names.push_back(parameter.name);
  StringRef word;
  if (succeeded(parser.parseOptionalKeyword(&word, names))) {
    value = parameters.find(word)->value;
    return ParseResult(success());
  }
  if (succeeded(
          parser.parseOptionalKeyword(&word, {"div", "mod", "min", "max"})))
    return parseFunction(parser, word, value);
  if (failed(parser.parseOptionalLParen()))
    return std::nullopt;
  return ParseResult(
      failure(expectInteger(parser, value, form) ||
              expect(parser, parser.parseOptionalRParen(), "')'", form)));
}

static ParseResult expectFactor(AsmParser &parser, int64_t &value,
                                StringRef form) {
  OptionalParseResult found = parseOptionalFactor(parser, value, form);
  return found.has_value() ? *found
                           : expect(parser, failure(), "a number", form);
}

ParseResult parseProduct(AsmParser &parser, int64_t &value, StringRef form) {
  if (expectFactor(parser, value, form))
    return failure();
  SMLoc location = parser.getCurrentLocation();
  while (succeeded(parser.parseOptionalStar())) {
    int64_t factor;
    if (expectFactor(parser, factor, form) ||
        apply(parser, Arithmetic::Mul, value, factor, location))
      return failure();
  }
  return success();
}

ParseResult expectInteger(AsmParser &parser, int64_t &value, StringRef form) {
  if (parseProduct(parser, value, form))
    return failure();
  while (true) {
    SMLoc location = parser.getCurrentLocation();
    Arithmetic op = Arithmetic::Add;
    if (failed(parser.parseOptionalPlus())) {
      if (failed(parser.parseOptionalMinus()))
        return success();
      op = Arithmetic::Sub;
    }
    int64_t term;
    if (parseProduct(parser, term, form) ||
        apply(parser, op, value, term, location))
      return failure();
  }
}

ParseResult parseNumber(AsmParser &parser, IntegerAttr &attribute) {
  int64_t value;
  if (expectInteger(parser, value, form::kNumber))
    return failure();
  attribute = parser.getBuilder().getI64IntegerAttr(value);
  return success();
}

void printNumber(AsmPrinter &printer, Operation *, IntegerAttr value) {
  printer << value.getInt();
}

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

ParseResult parseShapedType(OpAsmParser &parser, TypeAttr &attribute) {
  Type type;
  if (failed(parser.parseOptionalKeyword("tensor"))) {
    if (parser.parseType(type))
      return failure();
    attribute = TypeAttr::get(type);
    return success();
  }
  SmallVector<int64_t> shape;
  if (parser.parseLess())
    return failure();
  while (true) {
    // Digits first: "4x8xf32" is not the number 4 and a word.
    const size_t known = shape.size();
    if (parser.parseDimensionList(shape, /*allowDynamic=*/true,
                                  /*withTrailingX=*/true))
      return failure();
    if (shape.size() > known)
      continue;
    int64_t extent;
    OptionalParseResult found =
        parseOptionalFactor(parser, extent, form::kNumber);
    if (!found.has_value())
      break;
    if (failed(*found) || parser.parseXInDimensionList())
      return failure();
    shape.push_back(extent);
  }
  SMLoc location = parser.getCurrentLocation();
  Type element;
  if (parser.parseType(element) || parser.parseGreater())
    return failure();
  if (llvm::any_of(shape,
                   [](int64_t extent) {
                     return extent < 0 && !ShapedType::isDynamic(extent);
                   }) ||
      !RankedTensorType::isValidElementType(element))
    return parser.emitError(location, "a tensor has extents that are not "
                                      "negative, and elements of a number");
  attribute = TypeAttr::get(RankedTensorType::get(shape, element));
  return success();
}

void printShapedType(OpAsmPrinter &printer, Operation *, TypeAttr type) {
  printer << type.getValue();
}

} // namespace wsec::pe
