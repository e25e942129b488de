// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialects/wse/Wse.h"
#include "dialects/EntrySyntax.h"
#include "dialects/onnx/Lengths.h"
#include "dialects/wse/InherentAttributes.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace wsec;
using namespace wsec::wse;

namespace {

/// Types of tensors on the wafer, which every line names, are written as
/// !tokens_1x6x8_balanced: the shape, and how columns share the features;
/// !tokens_1x6x8xi32_balanced where elements are not f32.
struct TensorAliases : OpAsmDialectInterface {
  using OpAsmDialectInterface::OpAsmDialectInterface;

  AliasResult getAlias(Type type, raw_ostream &os) const override {
    TokenTiling tiling = TokenTiling::of(type);
    if (!tiling)
      return AliasResult::NoAlias;
    os << "tokens_";
    llvm::interleave(cast<RankedTensorType>(type).getShape(), os, "x");
    if (Type element = cast<RankedTensorType>(type).getElementType();
        !element.isF32())
      os << "x" << element;
    os << "_" << stringifyColumnPlacement(tiling.getColumns());
    return AliasResult::FinalAlias;
  }
};

} // namespace

void WseDialect::initialize() {
  addInterfaces<TensorAliases>();
  registerAttributes();
  addOperations<
#define GET_OP_LIST
#include "dialects/wse/WseOps.cpp.inc"
      >();
}

// What a load brings is called as its source, what a state held as the state,
// all else as the last of its nodes.
static StringRef nameOf(Operation *op, ArrayAttr nodes) {
  if (auto load = dyn_cast<LoadOp>(op)) {
    if (auto weight = dyn_cast<WeightAttr>(load.getSource()))
      return weight.getName().getValue();
    return cast<FlatSymbolRefAttr>(load.getSource()).getValue();
  }
  if (auto recall = dyn_cast<RecallOp>(op))
    return recall.getState();
  if (!nodes || nodes.empty())
    return {};
  return cast<StringAttr>(nodes.getValue().back()).getValue();
}

// "/encoder/fc1.relu" names a value encoder_fc1_relu.
void wsec::wse::nameResult(Operation *op, ArrayAttr nodes,
                           OpAsmSetValueNameFn setName) {
  if (op->getNumResults() == 0)
    return;
  std::string name = nameOf(op, nodes).str();
  for (char &c : name)
    if (!llvm::isAlnum(c))
      c = '_';
  StringRef trimmed = StringRef(name).trim('_');
  if (!trimmed.empty() && !llvm::isDigit(trimmed.front()))
    setName(op->getResult(0), trimmed);
}

static int64_t bytesOf(ResultRange results, int64_t width, int64_t height) {
  int64_t bytes = 0;
  for (Type type : results.getTypes())
    bytes += DistAttr::bytesPerPE(type, width, height);
  return bytes;
}

int64_t wsec::wse::bytesBefore(OpResult result, int64_t width, int64_t height) {
  return bytesOf(
      result.getOwner()->getResults().take_front(result.getResultNumber()),
      width, height);
}

int64_t wsec::wse::resultBytes(Operation *op, int64_t width, int64_t height) {
  return bytesOf(op->getResults(), width, height);
}

std::string wsec::wse::describeKernel(Operation *op) {
  ArrayAttr nodes = cast<KernelOp>(op).getNodeNames();
  if (!nodes || nodes.empty())
    return op->getName().getStringRef().str();
  auto names = llvm::map_range(nodes.getAsRange<StringAttr>(),
                               [](StringAttr name) { return name.str(); });
  return llvm::join(names, "+");
}

SmallVector<WeightAttr> wsec::wse::allWeights(Operation *op) {
  SmallVector<WeightAttr> weights;
  auto collect = [&](Attribute attribute) {
    if (auto weight = dyn_cast<WeightAttr>(attribute))
      weights.push_back(weight);
  };
  for (NamedAttribute attribute : inherentAttributes(op)) {
    collect(attribute.getValue());
    if (auto array = dyn_cast<ArrayAttr>(attribute.getValue()))
      llvm::for_each(array, collect);
  }
  return weights;
}

SmallVector<StringAttr> wsec::wse::tensorsRead(Operation *op) {
  SmallVector<StringAttr> names;
  auto add = [&](Attribute source) {
    if (auto name = dyn_cast<FlatSymbolRefAttr>(source))
      names.push_back(name.getAttr());
  };
  if (auto load = dyn_cast<LoadOp>(op))
    add(load.getSource());
  if (auto gather = dyn_cast<GatherOp>(op))
    add(gather.getIds());
  if (auto matmul = dyn_cast<MatmulOp>(op))
    if (EntryAttr entry = matmul.getEntryAttr())
      add(entry.getIds());
  if (auto recall = dyn_cast<RecallOp>(op))
    add(recall.getStateAttr());
  if (auto attention = dyn_cast<CachedAttentionOp>(op)) {
    add(attention.getKeysAttr());
    add(attention.getValuesAttr());
  }
  for (WeightAttr weight : allWeights(op))
    names.push_back(weight.getName());
  return names;
}

StringAttr wsec::wse::tensorWritten(Operation *op) {
  if (auto store = dyn_cast<StoreOp>(op))
    return store.getOutputAttr();
  if (auto gradient = dyn_cast<WeightGradientOp>(op))
    return gradient.getOutputAttr();
  if (auto fill = dyn_cast<FillOp>(op))
    return fill.getParameterAttr().getAttr();
  if (auto update = dyn_cast<UpdateOp>(op))
    return update.getStateAttr().getAttr();
  // It reads what it writes, and follows who does either.
  if (auto reorder = dyn_cast<ReorderOp>(op))
    return reorder.getStateAttr().getAttr();
  return {};
}

SmallVector<BlockArgument> wsec::wse::argumentsOf(Operation *kernel) {
  SmallVector<BlockArgument> arguments;
  for (Value operand : kernel->getOperands())
    if (auto argument = dyn_cast<BlockArgument>(operand))
      arguments.push_back(argument);
  // A length is an argument for whoever asks for it, as attributes do.
  if (kernel->hasAttr(onnx::lengthPartsAttrName))
    arguments.push_back(cast<EntryOp>(kernel->getParentOp())
                            .getBody()
                            .front()
                            .getArguments()
                            .back());
  return arguments;
}

bool wsec::wse::liesAlongRows(Type type) {
  const TokenTiling tiling = TokenTiling::of(type);
  return tiling && tiling.getBatch() == 1 && tiling.getTokens() > 1 &&
         tiling.splitsRows() && !tiling.isCyclic() && featuresOf(type) == 1 &&
         tiling.getColumns() == ColumnPlacement::Replicated;
}

ParameterOp wsec::wse::parameterOf(Operation *kernel, WeightAttr weight) {
  return kernel->getParentOfType<ProgramOp>().parameter(weight.getName());
}

ParameterOp wsec::wse::residentOf(Operation *kernel, WeightAttr weight) {
  for (ParameterOp parameter : kernel->getParentOfType<ProgramOp>().residents())
    if (parameter.getSymNameAttr() == weight.getName())
      return parameter;
  return {};
}

//===----------------------------------------------------------------------===//
// Assembly of meshes: 8x8
//===----------------------------------------------------------------------===//

static ParseResult parseMeshExtents(OpAsmParser &parser,
                                    DenseI64ArrayAttr &mesh) {
  SmallVector<int64_t> extents;
  SMLoc location = parser.getCurrentLocation();
  if (parser.parseDimensionList(extents, /*allowDynamic=*/false,
                                /*withTrailingX=*/false))
    return failure();
  if (extents.size() != 2)
    return parser.emitError(location,
                            "expected a mesh as columns x rows, such as 8x8");
  mesh = parser.getBuilder().getDenseI64ArrayAttr(extents);
  return success();
}

static void printMeshExtents(OpAsmPrinter &printer, Operation *,
                             DenseI64ArrayAttr mesh) {
  printer << mesh[0] << "x" << mesh[1];
}

//===----------------------------------------------------------------------===//
// Assembly of patterns of streams
//===----------------------------------------------------------------------===//

static ParseResult parsePattern(OpAsmParser &parser, StringAttr &pattern) {
  const SMLoc location = parser.getCurrentLocation();
  StringRef word;
  (void)parser.parseOptionalKeyword(&word);
  if (!fabric::patternNamed(word)) {
    InFlightDiagnostic error =
        parser.emitError(location, "expected a pattern of streams: ");
    llvm::interleaveComma(fabric::allPatterns, error,
                          [&](const auto &known) { error << known.name; });
    return error;
  }
  pattern = parser.getBuilder().getStringAttr(word);
  return success();
}

static void printPattern(OpAsmPrinter &printer, Operation *,
                         StringAttr pattern) {
  printer << pattern.getValue();
}

//===----------------------------------------------------------------------===//
// Assembly of what a region is to lie near: @b, (3, 0) or east
//===----------------------------------------------------------------------===//

static ParseResult parseNearTarget(OpAsmParser &parser, Attribute &target) {
  FlatSymbolRefAttr region;
  OptionalParseResult named = parser.parseOptionalAttribute(region);
  if (named.has_value()) {
    target = region;
    return *named;
  }
  Builder &builder = parser.getBuilder();
  if (succeeded(parser.parseOptionalLParen())) {
    int64_t x, y;
    if (parser.parseInteger(x) || parser.parseComma() ||
        parser.parseInteger(y) || parser.parseRParen())
      return failure();
    target = builder.getDenseI64ArrayAttr({x, y});
    return success();
  }
  SMLoc location = parser.getCurrentLocation();
  StringRef word;
  if (failed(parser.parseOptionalKeyword(&word)) || !fabric::portNamed(word))
    return parser.emitError(location, "expected a region, a PE as (x, y), or "
                                      "north, south, east or west");
  target = builder.getStringAttr(word);
  return success();
}

static void printNearTarget(OpAsmPrinter &printer, Operation *,
                            Attribute target) {
  if (auto pe = dyn_cast<DenseI64ArrayAttr>(target))
    printer << "(" << pe[0] << ", " << pe[1] << ")";
  else if (auto side = dyn_cast<StringAttr>(target))
    printer << side.getValue();
  else
    printer << target;
}

//===----------------------------------------------------------------------===//
// Assembly of entries: (%position from 0 to 5) { kernels }
//===----------------------------------------------------------------------===//

static ParseResult parseEntryBody(OpAsmParser &parser, ArrayAttr &names,
                                  DenseI64ArrayAttr &from,
                                  DenseI64ArrayAttr &to, Region &body) {
  SmallVector<OpAsmParser::Argument> arguments;
  SmallVector<StringRef> words;
  SmallVector<int64_t> lowest, highest;
  auto parseOne = [&]() -> ParseResult {
    OpAsmParser::Argument &argument = arguments.emplace_back();
    if (parser.parseArgument(argument) || parser.parseKeyword("from") ||
        parser.parseInteger(lowest.emplace_back()) ||
        parser.parseKeyword("to") ||
        parser.parseInteger(highest.emplace_back()))
      return failure();
    argument.type = parser.getBuilder().getIndexType();
    words.push_back(argument.ssaName.name.drop_front());
    return success();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::OptionalParen,
                                     parseOne))
    return failure();
  names = parser.getBuilder().getStrArrayAttr(words);
  from = parser.getBuilder().getDenseI64ArrayAttr(lowest);
  to = parser.getBuilder().getDenseI64ArrayAttr(highest);
  if (parser.parseRegion(body, arguments))
    return failure();
  if (body.empty())
    body.emplaceBlock();
  return success();
}

static void printEntryBody(OpAsmPrinter &printer, Operation *, ArrayAttr,
                           DenseI64ArrayAttr from, DenseI64ArrayAttr to,
                           Region &body) {
  printEntryOf(printer, from, to, body);
}

//===----------------------------------------------------------------------===//
// Assembly of sources: @input, or <...> as weights are written
//===----------------------------------------------------------------------===//

static ParseResult parseSource(OpAsmParser &parser, Attribute &source) {
  OptionalParseResult symbol = parser.parseOptionalAttribute(source);
  if (symbol.has_value())
    return *symbol;
  // In full, the parser would take a type that follows for the attribute's.
  source = WeightAttr::parse(parser, Type());
  return success(source != nullptr);
}

static void printSource(OpAsmPrinter &printer, Operation *, Attribute source) {
  if (auto weight = dyn_cast<WeightAttr>(source))
    weight.print(printer);
  else
    printer.printAttribute(source);
}

//===----------------------------------------------------------------------===//
// Assembly of parameters: external<...> : type, dense<...> or <@w view ...>
//===----------------------------------------------------------------------===//

static ParseResult parseParameterValue(OpAsmParser &parser, Attribute &value,
                                       TypeAttr &stored) {
  OptionalParseResult data = onnx::parseTensorData(parser, value, stored);
  if (data.has_value())
    return *data;
  auto view =
      dyn_cast_if_present<WeightAttr>(WeightAttr::parse(parser, Type()));
  if (!view)
    return failure();
  value = view;
  stored = TypeAttr::get(view.getType());
  return success();
}

static void printParameterValue(OpAsmPrinter &printer, Operation *,
                                Attribute value, TypeAttr stored) {
  if (auto view = dyn_cast<WeightAttr>(value))
    view.print(printer);
  else
    onnx::printTensorData(printer, value, stored);
}

#include "dialects/wse/WseDialect.cpp.inc"
#include "dialects/wse/WseInterfaces.cpp.inc"

#define GET_OP_CLASSES
#include "dialects/wse/WseOps.cpp.inc"
