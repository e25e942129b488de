// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attributes: what they mean as functions, and their rules.

#include "dialects/wse/Wse.h"

#include "compiler/machine/Tiling.h"
#include "dialects/StridedRange.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"

#include <algorithm>
#include <limits>

using namespace mlir;
using namespace wsec;
using namespace wsec::wse;

#include "dialects/wse/WseEnums.cpp.inc"

// Numbers that a view or a file range always shows, zero included.
static ParseResult parseCount(AsmParser &parser, int64_t &count) {
  return parser.parseInteger(count);
}
static void printCount(AsmPrinter &printer, int64_t count) { printer << count; }
// A plain string: as an attribute it would swallow the ": type" behind it.
static ParseResult parseText(AsmParser &parser, StringAttr &text) {
  std::string value;
  if (parser.parseString(&value))
    return failure();
  text = StringAttr::get(parser.getContext(), value);
  return success();
}
static void printText(AsmPrinter &printer, StringAttr text) {
  printer.printString(text.getValue());
}

#define GET_ATTRDEF_CLASSES
#include "dialects/wse/WseAttrs.cpp.inc"

void WseDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/wse/WseAttrs.cpp.inc"
      >();
}

using EmitError = function_ref<InFlightDiagnostic()>;

/// Numbers of a distribution, or of what lies where on the mesh: program files
/// hold 32 bits, and products of two never overflow.
static bool fitsProgram(std::initializer_list<int64_t> numbers) {
  return std::max(numbers) <= std::numeric_limits<int32_t>::max();
}

//===----------------------------------------------------------------------===//
// #wse.tiled: rows
//===----------------------------------------------------------------------===//

TiledAttr TiledAttr::of(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor ? dyn_cast_or_null<TiledAttr>(tensor.getEncoding())
                : TiledAttr();
}

TiledAttr TiledAttr::balanced(MLIRContext *context, int64_t batch,
                              int64_t tokens, int64_t height) {
  int64_t group = batch <= height ? height / batch : 0;
  return get(context, batch, tokens, RowPlacement::Split, group, /*span=*/0,
             ColumnPlacement::Balanced, /*headSize=*/0, /*headColumns=*/1);
}

TiledAttr TiledAttr::withColumns(ColumnPlacement columns,
                                 int64_t headSize) const {
  return get(getContext(), getBatch(), getTokens(), getRows(), getGroup(),
             getSpan(), columns, headSize, /*headColumns=*/1);
}

TiledAttr TiledAttr::withHeadColumns(int64_t headColumns) const {
  return get(getContext(), getBatch(), getTokens(), getRows(), getGroup(),
             getSpan(), getColumns(), getHeadSize(), headColumns);
}

TiledAttr TiledAttr::perBatchElement() const {
  return get(getContext(), getBatch(), /*tokens=*/1, RowPlacement::Replicated,
             getGroup(), getGroup() ? rowsUsed() : 0, getColumns(),
             getHeadSize(), getHeadColumns());
}

int64_t TiledAttr::rowsUsed() const {
  if (!getGroup())
    return 1;
  return getSpan() ? getSpan() : std::min(getTokens(), getGroup());
}

bool TiledAttr::holdsTokens(int64_t y, int64_t height) const {
  return y >= 0 && y < height && tokensInRow(y, height) > 0;
}

int64_t TiledAttr::rowOf(int64_t b, int64_t s, int64_t height) const {
  if (!getGroup())
    return tileIndex(getBatch(), height, b);
  int64_t head = b * getGroup();
  return getRows() == RowPlacement::Replicated
             ? head
             : head + tileIndex(getTokens(), rowsUsed(), s);
}

int64_t TiledAttr::tokensInRow(int64_t y, int64_t height) const {
  if (!getGroup())
    return tileSize(getBatch(), height, y) * getTokens();
  int64_t inGroup = y % getGroup();
  if (y / getGroup() >= getBatch() || inGroup >= rowsUsed())
    return 0;
  return getRows() == RowPlacement::Replicated
             ? getTokens()
             : tileSize(getTokens(), rowsUsed(), inGroup);
}

int64_t TiledAttr::tokensPerRowMax(int64_t height) const {
  if (!getGroup())
    return tileSizeMax(getBatch(), height) * getTokens();
  return getRows() == RowPlacement::Replicated
             ? getTokens()
             : tileSizeMax(getTokens(), rowsUsed());
}

bool TiledAttr::sameRows(TiledAttr other) const {
  return getBatch() == other.getBatch() && getTokens() == other.getTokens() &&
         getRows() == other.getRows() && getGroup() == other.getGroup() &&
         rowsUsed() == other.rowsUsed();
}

//===----------------------------------------------------------------------===//
// #wse.tiled: columns
//===----------------------------------------------------------------------===//

int64_t TiledAttr::columnOf(int64_t f, int64_t features, int64_t width) const {
  switch (getColumns()) {
  case ColumnPlacement::Balanced:
    return spreadIndex(features, width, f);
  case ColumnPlacement::Heads:
    if (getHeadColumns() > 1)
      return f / getHeadSize() * getHeadColumns() +
             spreadIndex(getHeadSize(), getHeadColumns(), f % getHeadSize());
    return spreadIndex(features / getHeadSize(), width, f / getHeadSize());
  case ColumnPlacement::Replicated:
    return 0;
  }
  llvm_unreachable("all placements are handled");
}

/// Features west of column `x` where each head has several columns.
static int64_t startInHeads(TiledAttr tiled, int64_t x, int64_t features) {
  int64_t size = tiled.getHeadSize(), columns = tiled.getHeadColumns();
  int64_t start = x / columns * size + spreadStart(size, columns, x % columns);
  return std::min(start, features);
}

int64_t TiledAttr::firstFeature(int64_t x, int64_t features,
                                int64_t width) const {
  switch (getColumns()) {
  case ColumnPlacement::Balanced:
    return spreadStart(features, width, x);
  case ColumnPlacement::Heads:
    if (getHeadColumns() > 1)
      return startInHeads(*this, x, features);
    return spreadStart(features / getHeadSize(), width, x) * getHeadSize();
  case ColumnPlacement::Replicated:
    return 0;
  }
  llvm_unreachable("all placements are handled");
}

int64_t TiledAttr::featuresInColumn(int64_t x, int64_t features,
                                    int64_t width) const {
  switch (getColumns()) {
  case ColumnPlacement::Balanced:
    return spreadSize(features, width, x);
  case ColumnPlacement::Heads:
    if (getHeadColumns() > 1)
      return startInHeads(*this, x + 1, features) -
             startInHeads(*this, x, features);
    return spreadSize(features / getHeadSize(), width, x) * getHeadSize();
  case ColumnPlacement::Replicated:
    return features;
  }
  llvm_unreachable("all placements are handled");
}

int64_t TiledAttr::localFeaturesMax(int64_t features, int64_t width) const {
  // A spread tiling ends with one of the largest parts.
  return featuresInColumn(
      getHeadColumns() > 1 ? getHeadColumns() - 1 : width - 1, features, width);
}

LogicalResult TiledAttr::verify(EmitError emitError, int64_t batch,
                                int64_t tokens, RowPlacement rows,
                                int64_t group, int64_t span,
                                ColumnPlacement columns, int64_t headSize,
                                int64_t headColumns) {
  // (C1)
  if (batch < 1 || tokens < 1 || group < 0 || span < 0)
    return emitError() << "expected positive batch and tokens and no negative "
                          "group or span, found batch = "
                       << batch << ", tokens = " << tokens
                       << ", group = " << group << ", span = " << span;
  if (!fitsProgram({batch, tokens, group, span, headSize}))
    return emitError() << "numbers of a distribution are below 2^31, found "
                          "batch = "
                       << batch << ", tokens = " << tokens
                       << ", group = " << group << ", span = " << span
                       << ", head_size = " << headSize;
  // (C2)
  bool heads = columns == ColumnPlacement::Heads;
  if (heads ? headSize < 1 : headSize != 0)
    return emitError() << "expected head_size "
                       << (heads ? "with heads columns"
                                 : "with heads columns only");
  // (C2)
  if (headColumns < 1 || headColumns > std::max<int64_t>(1, headSize))
    return emitError() << "expected head_columns of 1 to the head_size of "
                       << headSize << ", found " << headColumns;
  // (C3)
  if (span > group)
    return emitError() << "span of " << span << " rows exceeds the group of "
                       << group;
  if (rows == RowPlacement::Replicated && group && !span)
    return emitError() << "replicated rows need a span: how many of the "
                       << group << " rows hold the tensor";
  return success();
}

//===----------------------------------------------------------------------===//
// #wse.rect, #wse.rule, #wse.rows
//===----------------------------------------------------------------------===//

LogicalResult RectAttr::verify(EmitError emitError, int64_t x0, int64_t x1,
                               int64_t xstep, int64_t y0, int64_t y1,
                               int64_t ystep) {
  // (C1)
  if (x0 < 0 || x0 >= x1 || y0 < 0 || y0 >= y1 || xstep < 1 || ystep < 1)
    return emitError() << "expected 0 <= start < end and a positive step, "
                          "found x = "
                       << x0 << " to " << x1 << " step " << xstep
                       << ", y = " << y0 << " to " << y1 << " step " << ystep;
  // (C1)
  if (!fitsProgram({x1, xstep, y1, ystep}))
    return emitError() << "ends and steps of a rectangle are below 2^31, found "
                          "x to "
                       << x1 << " step " << xstep << ", y to " << y1 << " step "
                       << ystep;
  return success();
}

LogicalResult RuleAttr::verify(EmitError emitError, int64_t color, RectAttr,
                               Port receive, PortSet transmit) {
  // (C1)
  if (color < 0)
    return emitError() << "color " << color << " is negative";
  // (C2)
  auto sends = static_cast<uint32_t>(transmit);
  if (!sends)
    return emitError() << "words of color " << color << " leave on no port";
  if (receive != Port::Ramp && (sends & (1u << static_cast<uint32_t>(receive))))
    return emitError() << "words of color " << color
                       << " leave on the port they came in on, "
                       << stringifyPort(receive);
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

WeightAttr WeightAttr::slice(int64_t dim, int64_t start, int64_t size) const {
  SmallVector<int64_t> strides = viewStrides();
  SmallVector<int64_t> shape = llvm::to_vector(getType().getShape());
  shape[dim] = size;
  return get(getContext(), getName(),
             RankedTensorType::get(shape, getType().getElementType()),
             getFile(), getOffset(), getBytes(), getData(), getTensor(),
             getViewOffset() + start * strides[dim], strides);
}

LogicalResult WeightAttr::verify(EmitError emitError, StringAttr name,
                                 RankedTensorType type, StringAttr file,
                                 int64_t offset, int64_t bytes, Attribute data,
                                 FlatSymbolRefAttr tensor, int64_t viewOffset,
                                 ArrayRef<int64_t> strides) {
  // (C1)
  int places = bool(file) + bool(data) + bool(tensor);
  if (places != 1)
    return emitError() << "weight " << name
                       << " needs a file, data or a tensor of the program, "
                          "found "
                       << (places ? "more than one" : "none");
  // (C2)
  if (!type.hasStaticShape() || !type.getElementType().isIntOrFloat() ||
      !countElements(type.getShape()))
    return emitError() << "weight " << name
                       << " needs a static shape of countable numbers, found "
                       << type;
  if (!strides.empty() && int64_t(strides.size()) != type.getRank())
    return emitError() << "weight " << name << " has " << strides.size()
                       << " strides for " << type.getRank() << " dimensions";
  // (C3)
  SmallVector<int64_t> steps = strides.empty() ? denseStrides(type.getShape())
                                               : llvm::to_vector(strides);
  auto touched = touchedElements(type.getShape(), viewOffset, steps);
  if (!touched)
    return emitError() << "weight " << name
                       << " reads elements that cannot be counted";
  auto [first, last] = *touched;
  if (offset < 0 || bytes < 0)
    return emitError() << "weight " << name << " has " << bytes
                       << " bytes at byte " << offset << " of its file";
  if (tensor)
    return success();
  // (C4)
  auto dense = dyn_cast_if_present<DenseElementsAttr>(data);
  if (auto quantized = dyn_cast_if_present<onnx::QuantizedAttr>(data))
    dense = quantized.getValues();
  if (data && !dense)
    return emitError() << "weight " << name
                       << " has data that is neither dense elements nor "
                          "#onnx.quantized";
  int64_t stored = file ? bytes / storedBytes(type.getElementType())
                        : dense.getNumElements();
  if (type.getNumElements() && (first < 0 || last >= stored))
    return emitError() << "weight " << name << " reads elements " << first
                       << " to " << last << " of the " << stored << " stored";
  // (C4)
  if (!data)
    return success();
  const Type held = isa<DenseElementsAttr>(data)
                        ? dense.getElementType()
                        : Type(Float32Type::get(type.getContext()));
  if (held != type.getElementType())
    return emitError() << "weight " << name << " has elements of type "
                       << type.getElementType() << " and data of type " << held;
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
