// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attributes: what they mean as functions, and their rules.

#include "dialects/wse/Wse.h"

#include "dialects/StridedRange.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"

#include <algorithm>
#include <limits>

using namespace mlir;
using namespace wsec;
using namespace wsec::wse;

#include "dialects/wse/WseEnums.cpp.inc"

// Numbers that a view always shows, zero included.
static ParseResult parseCount(AsmParser &parser, int64_t &count) {
  return parser.parseInteger(count);
}
static void printCount(AsmPrinter &printer, int64_t count) { printer << count; }

// An entry of a distribution: 2 by 3 over 2, (0, 1), 1 cyclic, replicated
// over 4.
static ParseResult parseEntry(AsmParser &parser, DistEntry &entry) {
  if (succeeded(parser.parseOptionalKeyword("replicated"))) {
    entry = DistEntry::replicated(0);
    return failure(parser.parseKeyword("over") ||
                   parser.parseInteger(entry.over));
  }
  SmallVector<int64_t> dims;
  SMLoc location = parser.getCurrentLocation();
  auto parseDim = [&] { return parser.parseInteger(dims.emplace_back()); };
  if (succeeded(parser.parseOptionalLParen())) {
    if (parser.parseCommaSeparatedList(parseDim) || parser.parseRParen())
      return failure();
  } else if (parseDim()) {
    return failure();
  }
  for (size_t i = 0; i < dims.size(); ++i)
    if (dims[i] < 0)
      // (C1)
      return parser.emitError(location, "dimension ")
             << dims[i] << " is negative";
    else if (dims[i] != dims[0] + int64_t(i))
      // (C2)
      return parser.emitError(location, "dimensions that are taken as one "
                                        "follow one another");
  entry = {dims.front(), int64_t(dims.size()), 1, 1};
  if (succeeded(parser.parseOptionalKeyword("by")) &&
      parser.parseInteger(entry.unit))
    return failure();
  if (succeeded(parser.parseOptionalKeyword("over")) &&
      parser.parseInteger(entry.over))
    return failure();
  entry.cyclic = succeeded(parser.parseOptionalKeyword("cyclic"));
  return success();
}
static void printEntry(AsmPrinter &printer, const DistEntry &entry) {
  if (entry.isReplicated()) {
    printer << "replicated over " << entry.over;
    return;
  }
  if (entry.count > 1) {
    printer << "(";
    llvm::interleaveComma(llvm::seq(entry.dim, entry.dim + entry.count),
                          printer);
    printer << ")";
  } else {
    printer << entry.dim;
  }
  if (entry.unit > 1)
    printer << " by " << entry.unit;
  if (entry.over > 1)
    printer << " over " << entry.over;
  if (entry.cyclic)
    printer << " cyclic";
}
static ParseResult parseDistAxis(AsmParser &parser,
                                 SmallVector<DistEntry> &axis) {
  return parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&] {
    return parseEntry(parser, axis.emplace_back());
  });
}
static void printDistAxis(AsmPrinter &printer, ArrayRef<DistEntry> axis) {
  printer << "[";
  llvm::interleaveComma(axis, printer, [&](const DistEntry &entry) {
    printEntry(printer, entry);
  });
  printer << "]";
}

// A rectangle of a rule: <x = 0 to 8 step 2, y = 0 to 4>.
static ParseResult parseRange(AsmParser &parser, StringRef axis, int64_t &begin,
                              int64_t &end, int64_t &step) {
  step = 1;
  if (parser.parseKeyword(axis) || parser.parseEqual() ||
      parser.parseInteger(begin) || parser.parseKeyword("to") ||
      parser.parseInteger(end))
    return failure();
  return failure(succeeded(parser.parseOptionalKeyword("step")) &&
                 parser.parseInteger(step));
}

static ParseResult parseRect(AsmParser &parser, fabric::Rect &rect) {
  return failure(parser.parseLess() ||
                 parseRange(parser, "x", rect.x0, rect.x1, rect.xstep) ||
                 parser.parseComma() ||
                 parseRange(parser, "y", rect.y0, rect.y1, rect.ystep) ||
                 parser.parseGreater());
}

static void printRange(AsmPrinter &printer, StringRef axis,
                       const fabric::Progression &range) {
  printer << axis << " = " << range.begin << " to " << range.end;
  if (range.step != 1)
    printer << " step " << range.step;
}

static void printRect(AsmPrinter &printer, const fabric::Rect &rect) {
  printer << "<";
  printRange(printer, "x", rect.columns());
  printer << ", ";
  printRange(printer, "y", rect.rows());
  printer << ">";
}

// Ports of a rule: west, and south|ramp.
static ParseResult parsePort(AsmParser &parser, Port &port) {
  const SMLoc location = parser.getCurrentLocation();
  StringRef word;
  (void)parser.parseOptionalKeyword(&word);
  const std::optional<Port> known = fabric::portNamed(word);
  if (!known)
    return parser.emitError(location,
                            "expected north, south, east, west or ramp");
  port = *known;
  return success();
}

static void printPort(AsmPrinter &printer, Port port) {
  printer << keyword(port);
}

static ParseResult parsePorts(AsmParser &parser, Ports &ports) {
  ports = 0;
  do {
    Port port;
    if (parsePort(parser, port))
      return failure();
    ports |= portBit(port);
  } while (succeeded(parser.parseOptionalVerticalBar()));
  return success();
}

static void printPorts(AsmPrinter &printer, Ports ports) {
  StringRef separator = "";
  for (Port port : fabric::allPorts)
    if (ports & portBit(port)) {
      printer << separator << keyword(port);
      separator = "|";
    }
}

namespace wsec::fabric {
static llvm::hash_code hash_value(const Rect &rect) {
  return llvm::hash_combine(rect.x0, rect.x1, rect.xstep, rect.y0, rect.y1,
                            rect.ystep);
}
} // namespace wsec::fabric

#define GET_ATTRDEF_CLASSES
#include "dialects/wse/WseAttrs.cpp.inc"

void WseDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/wse/WseAttrs.cpp.inc"
      >();
}

using EmitError = function_ref<InFlightDiagnostic()>;

/// Of what lies where on the mesh: program files hold 32 bits, and products of
/// two never overflow.
static bool fitsProgram(std::initializer_list<int64_t> numbers) {
  return std::max(numbers) <= std::numeric_limits<int32_t>::max();
}

//===----------------------------------------------------------------------===//
// #wse.rule, #wse.rows
//===----------------------------------------------------------------------===//

LogicalResult RuleAttr::verify(EmitError emitError, int64_t color,
                               fabric::Rect rect, Port receive,
                               Ports transmit) {
  // (C1)
  if (color < 0)
    return emitError() << "color " << color << " is negative";
  // (C2)
  if (!transmit)
    return emitError() << "words of color " << color << " leave on no port";
  if (receive != Port::Ramp && (transmit & portBit(receive)))
    return emitError() << "words of color " << color
                       << " leave on the port they came in on, "
                       << keyword(receive);
  // (C3)
  const auto [x0, x1, xstep, y0, y1, ystep] = rect;
  if (x0 < 0 || x0 >= x1 || y0 < 0 || y0 >= y1 || xstep < 1 || ystep < 1)
    return emitError() << "expected 0 <= start < end and a positive step, "
                          "found x = "
                       << x0 << " to " << x1 << " step " << xstep
                       << ", y = " << y0 << " to " << y1 << " step " << ystep;
  // (C3)
  if (!fitsProgram({x1, xstep, y1, ystep}))
    return emitError() << "ends and steps of a rectangle are below 2^31, found "
                          "x to "
                       << x1 << " step " << xstep << ", y to " << y1 << " step "
                       << ystep;
  return success();
}

LogicalResult FlowAttr::verify(EmitError emitError, FlatSymbolRefAttr,
                               int64_t slot, int64_t begin, int64_t end,
                               int64_t ahead) {
  // (C1)
  if (slot < 0 || begin < 0 || end < begin || ahead < 0)
    return emitError() << "expected a flow of numbers that are not negative, "
                          "found slot "
                       << slot << " cycles " << begin << " to " << end
                       << " ahead " << ahead;
  return success();
}

LogicalResult RowSetAttr::verify(EmitError emitError, int64_t groups,
                                 int64_t pitch, int64_t used) {
  // (C1)
  if (groups < 1 || pitch < 1 || used < 1 || used > pitch)
    return emitError() << "expected positive numbers with used <= pitch, found "
                          "groups = "
                       << groups << ", pitch = " << pitch
                       << ", used = " << used;
  if (!fitsProgram({groups, pitch}))
    return emitError() << "numbers of rows are below 2^31, found groups = "
                       << groups << ", pitch = " << pitch;
  return success();
}

//===----------------------------------------------------------------------===//
// #wse.weight
//===----------------------------------------------------------------------===//

// Bytes of a stored element; booleans take one.
static int64_t storedBytes(Type elementType) {
  return (elementType.getIntOrFloatBitWidth() + 7) / 8;
}

SmallVector<int64_t> WeightAttr::viewStrides() const {
  if (!getStrides().empty())
    return llvm::to_vector(getStrides());
  return denseStrides(getType().getShape());
}

int64_t WeightAttr::streamedBytes() const {
  return getType().getNumElements() * storedBytes(getType().getElementType());
}

WeightAttr WeightAttr::of(FlatSymbolRefAttr tensor, RankedTensorType type,
                          int64_t offset, ArrayRef<int64_t> strides) {
  if (offset == 0 &&
      strides == ArrayRef<int64_t>(denseStrides(type.getShape())))
    strides = {};
  return get(tensor.getContext(), tensor, type, offset, strides);
}

WeightAttr WeightAttr::slice(int64_t dim, int64_t start, int64_t size) const {
  SmallVector<int64_t> strides = viewStrides();
  SmallVector<int64_t> shape = llvm::to_vector(getType().getShape());
  shape[dim] = size;
  return get(getContext(), getTensor(),
             RankedTensorType::get(shape, getType().getElementType()),
             getViewOffset() + start * strides[dim], strides);
}

WeightAttr WeightAttr::entries(EntryAttr entry) const {
  SmallVector<int64_t> strides = viewStrides();
  SmallVector<int64_t> shape = llvm::to_vector(getType().getShape());
  shape.insert(shape.begin(), entry.getCount());
  strides.insert(strides.begin(), entry.getStep());
  return of(getTensor(),
            RankedTensorType::get(shape, getType().getElementType()),
            getViewOffset(), strides);
}

LogicalResult WeightAttr::verify(EmitError emitError, FlatSymbolRefAttr tensor,
                                 RankedTensorType type, int64_t viewOffset,
                                 ArrayRef<int64_t> strides) {
  // (C1)
  if (!type.hasStaticShape() || !type.getElementType().isIntOrFloat() ||
      !countElements(type.getShape()))
    return emitError() << "weight " << tensor
                       << " needs a static shape of countable numbers, found "
                       << type;
  if (!strides.empty() && int64_t(strides.size()) != type.getRank())
    return emitError() << "weight " << tensor << " has " << strides.size()
                       << " strides for " << type.getRank() << " dimensions";
  if (!touchedElements(type.getShape(), viewOffset,
                       strides.empty() ? denseStrides(type.getShape())
                                       : llvm::to_vector(strides)))
    return emitError() << "weight " << tensor
                       << " reads elements that cannot be counted";
  return success();
}

//===----------------------------------------------------------------------===//
// #wse.entry
//===----------------------------------------------------------------------===//

LogicalResult EntryAttr::verify(EmitError emitError, FlatSymbolRefAttr ids,
                                int64_t at, int64_t count, int64_t step) {
  if (at < 0 || count < 1 || step < 1) // C1
    return emitError() << "an entry is one of " << count << ", " << step
                       << " elements apart, by number " << at
                       << ", expected positive numbers";
  return success();
}

//===----------------------------------------------------------------------===//
// #wse.sparsity
//===----------------------------------------------------------------------===//

LogicalResult SparsityAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                   int64_t kept, int64_t group, int64_t rest,
                                   SparsityMethod, int64_t) {
  if (kept < 0 || kept > group || rest < 0 || rest > group ||
      kept + rest == 0) // C1
    return emitError() << "keeps " << kept << " of " << group << " weights and "
                       << rest << " of the last";
  return success();
}

LogicalResult
SelectionAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                      int64_t code, bool, bool, bool, DictionaryAttr scratch) {
  if (code < 0) // C1
    return emitError() << "has " << code << " bytes of code";
  for (NamedAttribute its :
       scratch ? scratch.getValue() : ArrayRef<NamedAttribute>())
    if (auto bytes = dyn_cast<IntegerAttr>(its.getValue());
        !bytes || !bytes.getType().isSignlessInteger(64) ||
        bytes.getInt() < 0) // C2
      return emitError() << "has for the scratch of '"
                         << its.getName().getValue() << "' no number of bytes";
  return success();
}

/// FNV-1a of the name, mixed with the seed; not negative.
int64_t SparsityAttr::seedOf(StringRef tensor) const {
  uint64_t hash = 0xcbf29ce484222325U;
  for (char letter : tensor)
    hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001b3U;
  uint64_t x = hash + uint64_t(getSeed()) + 0x9e3779b97f4a7c15U;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return int64_t((x ^ (x >> 31)) >> 1);
}
