// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// #wse.dist: the function from the index of an element to its owner, and its
// rules. Labels (C1, C2, ...) are those of its description.

#include "dialects/wse/Distribution.h"

#include "compiler/machine/Tiling.h"
#include "dialects/wse/WseChecks.h"

#include <limits>

using namespace mlir;
using namespace wsec;
using namespace wsec::wse;

using EmitError = function_ref<InFlightDiagnostic()>;

DistAttr DistAttr::of(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor ? dyn_cast_or_null<DistAttr>(tensor.getEncoding()) : DistAttr();
}

//===----------------------------------------------------------------------===//
// Rules of the attribute
//===----------------------------------------------------------------------===//

static constexpr int64_t largest = std::numeric_limits<int32_t>::max();

// (C1)
static LogicalResult verifyNumbers(EmitError emitError,
                                   const DistEntry &entry) {
  if (entry.unit < 1 || entry.over < 1 || entry.unit > largest ||
      entry.over > largest || entry.dim > largest || entry.count > largest)
    return emitError() << "expected positive numbers below 2^31 after by and "
                          "over, found by "
                       << entry.unit << " over " << entry.over;
  if (!entry.isReplicated() && entry.over > entry.unit)
    return emitError() << "units of " << entry.unit << " of dimension "
                       << entry.dim << " cannot lie over " << entry.over
                       << " positions each";
  return success();
}

// (C2)
static LogicalResult verifyOnce(EmitError emitError, ArrayRef<DistEntry> rows,
                                ArrayRef<DistEntry> columns) {
  llvm::SmallVector<int64_t> seen;
  for (ArrayRef<DistEntry> axis : {rows, columns})
    for (const DistEntry &entry : axis)
      for (int64_t d = entry.dim; d < entry.dim + entry.count; ++d) {
        if (llvm::is_contained(seen, d))
          return emitError() << "dimension " << d << " is listed twice";
        seen.push_back(d);
      }
  return success();
}

LogicalResult DistAttr::verify(EmitError emitError, ArrayRef<DistEntry> rows,
                               ArrayRef<DistEntry> columns) {
  for (ArrayRef<DistEntry> axis : {rows, columns})
    for (const DistEntry &entry : axis)
      if (failed(verifyNumbers(emitError, entry)))
        return failure();
  if (failed(verifyOnce(emitError, rows, columns)))
    return failure();
  // (C3)
  auto isReplicated = [](const DistEntry &entry) {
    return entry.isReplicated();
  };
  if (llvm::any_of(columns, isReplicated) ||
      (!rows.empty() && llvm::any_of(rows.drop_back(), isReplicated)))
    return emitError() << "replicated can only end the list of the rows; of "
                          "columns without a list each has all";
  // (C7)
  auto isCyclic = [](const DistEntry &entry) { return entry.cyclic; };
  if (llvm::any_of(columns, isCyclic) ||
      (!rows.empty() && llvm::any_of(rows.drop_back(), isCyclic)))
    return emitError() << "only the tokens, the last of the rows, are cyclic";
  return success();
}

// (C4)
static LogicalResult verifyTensor(EmitError emitError, const DistEntry &entry,
                                  ArrayRef<int64_t> shape) {
  const int64_t rank = int64_t(shape.size());
  if (entry.isReplicated())
    return success();
  if (entry.dim + entry.count > rank)
    return emitError() << "the distribution lists dimension "
                       << entry.dim + entry.count - 1
                       << ", the tensor has 0 to " << rank - 1;
  int64_t extent =
      ShapedType::getNumElements(shape.slice(entry.dim, entry.count));
  if (extent % entry.unit)
    return emitError() << "the " << extent << " elements of dimension "
                       << entry.dim << " are no multiple of the distribution's "
                       << "units of " << entry.unit;
  return success();
}

// (C5)
static LogicalResult verifyView(EmitError emitError, ArrayRef<DistEntry> rows,
                                ArrayRef<DistEntry> columns, int64_t rank) {
  const DistEntry features = {rank - 1, 1, 1, 1};
  const bool byFeatures = columns.empty() || (columns.size() == 1 &&
                                              columns[0].dim == features.dim);
  if (!byFeatures)
    return emitError() << "expected the distribution to have dimension "
                       << rank - 1
                       << ", the features, or none over the columns";
  int64_t next = 0, shared = 0;
  bool copied = false;
  for (const DistEntry &entry : rows) {
    copied |= entry.isReplicated();
    if (entry.isReplicated())
      continue;
    if (entry.dim != next || entry.unit != 1)
      return emitError() << "expected the distribution to have dimension "
                         << next << " next over the rows, in units of one, "
                         << "found " << entry.dim;
    next += entry.count;
    ++shared;
  }
  if (next >= rank || shared > (copied ? 1 : 2) ||
      (next != rank - 1 && !copied) || rows.empty())
    return emitError() << "expected the distribution to have dimensions 0 to "
                       << rank - 2
                       << " over the rows, as batch and tokens or replicated";
  return success();
}

LogicalResult DistAttr::verifyEncoding(ArrayRef<int64_t> shape, Type element,
                                       EmitError emitError) const {
  // (C4)
  // Pairs of 8 bits, of states alone.
  const bool hasBytes =
      element.isInteger(16) && !getRows().empty() && getRows().back().cyclic;
  if (!(isWaferElement(element) || hasBytes) || shape.empty() ||
      ShapedType::isDynamicShape(shape))
    return emitError() << "tensors on the wafer are static and of f32, f16, "
                          "bf16, !pe.cb16 or i32, "
                          "found one of "
                       << element;
  int64_t elements = 1;
  for (int64_t extent : shape) {
    // Factors of at most 2^31 - 1 each: no product overflows.
    if (extent >= 1 && extent <= largest)
      elements *= extent;
    if (extent < 1 || extent > largest || elements > largest)
      return emitError() << "tensors on the wafer have at least one element "
                            "and fewer than 2^31, found the shape ["
                         << shape << "]";
  }
  for (ArrayRef<DistEntry> axis : {getRows(), getColumns()})
    for (const DistEntry &entry : axis)
      if (failed(verifyTensor(emitError, entry, shape)))
        return failure();
  return verifyView(emitError, getRows(), getColumns(), int64_t(shape.size()));
}

//===----------------------------------------------------------------------===//
// Owners
//===----------------------------------------------------------------------===//

SmallVector<DistPart> DistAttr::partsOf(ArrayRef<DistEntry> axis,
                                        ArrayRef<int64_t> shape,
                                        int64_t positions) {
  SmallVector<DistPart> parts;
  int64_t left = positions;
  for (const DistEntry &entry : axis) {
    DistPart &part = parts.emplace_back();
    part.entry = entry;
    if (entry.isReplicated())
      continue;
    part.units =
        ShapedType::getNumElements(shape.slice(entry.dim, entry.count)) /
        entry.unit;
    const bool isLast = &entry == &axis.back();
    part.parts = entry.over > 1 ? part.units
                 : isLast       ? left
                                : std::min(part.units, left);
    part.pitch = entry.over > 1 ? entry.over : left / part.parts;
    left = part.pitch;
  }
  return parts;
}

/// The position of an axis that holds the element.
static int64_t positionOf(ArrayRef<DistPart> parts, ArrayRef<int64_t> index,
                          ArrayRef<int64_t> shape, bool spread) {
  int64_t position = 0;
  for (const DistPart &part : parts) {
    const DistEntry &entry = part.entry;
    if (entry.isReplicated())
      continue;
    int64_t element = 0;
    for (int64_t d = entry.dim; d < entry.dim + entry.count; ++d)
      element = element * shape[d] + index[d];
    auto partOf = [&](int64_t n, int64_t p, int64_t e) {
      return entry.cyclic ? e % p
             : spread     ? spreadIndex(n, p, e)
                          : tileIndex(n, p, e);
    };
    position +=
        partOf(part.units, part.parts, element / entry.unit) * part.pitch;
    if (entry.over > 1)
      position += partOf(entry.unit, entry.over, element % entry.unit);
  }
  return position;
}

PEPosition DistAttr::ownerOf(ArrayRef<int64_t> index, ArrayRef<int64_t> shape,
                             int64_t width, int64_t height) const {
  return {positionOf(partsOf(getColumns(), shape, width), index, shape,
                     /*spread=*/true),
          positionOf(partsOf(getRows(), shape, height), index, shape,
                     /*spread=*/false)};
}

int64_t DistAttr::elementsPerPE(ArrayRef<int64_t> shape, int64_t width,
                                int64_t height) const {
  int64_t elements = ShapedType::getNumElements(shape);
  auto share = [&](ArrayRef<DistPart> parts) {
    for (const DistPart &part : parts) {
      const DistEntry &entry = part.entry;
      if (entry.isReplicated())
        continue;
      elements /= part.units * entry.unit;
      elements *= tileSizeMax(part.units, part.parts) *
                  tileSizeMax(entry.unit, entry.over);
    }
  };
  if (elements) {
    share(partsOf(getRows(), shape, height));
    share(partsOf(getColumns(), shape, width));
  }
  return elements;
}

int64_t DistAttr::bytesPerPE(Type type, int64_t width, int64_t height) {
  return wholeWords(
      elementBytes(type) *
      of(type).elementsPerPE(cast<RankedTensorType>(type).getShape(), width,
                             height));
}

int64_t DistAttr::heldBytesPerPE(Type type, int64_t width, int64_t height) {
  const int64_t bytes = elementBytes(type);
  const int64_t tokens = TokenTiling::of(type).tokensPerRowMax(height);
  const int64_t elements = of(type).elementsPerPE(
      cast<RankedTensorType>(type).getShape(), width, height);
  return tokens == 0 ? 0 : tokens * wholeWords(bytes * elements / tokens);
}

//===----------------------------------------------------------------------===//
// The view of kernels
//===----------------------------------------------------------------------===//

TokenTiling TokenTiling::of(Type type) {
  DistAttr dist = DistAttr::of(type);
  if (!dist)
    return {};
  ArrayRef<int64_t> shape = cast<RankedTensorType>(type).getShape();
  TokenTiling tiling;
  tiling.batch = 1;
  SmallVector<int64_t, 2> shared;
  for (const DistEntry &entry : dist.getRows()) {
    if (entry.isReplicated())
      tiling.copies = entry.over;
    else
      shared.push_back(
          ShapedType::getNumElements(shape.slice(entry.dim, entry.count)));
    tiling.cyclic |= entry.cyclic;
  }
  if (shared.size() > (tiling.copies ? 0 : 1))
    tiling.batch = shared.front();
  int64_t leading = ShapedType::getNumElements(shape.drop_back());
  tiling.tokens = tiling.batch ? leading / tiling.batch : 0;
  tiling.everyColumn = dist.getColumns().empty();
  if (!tiling.everyColumn) {
    const DistEntry &features = dist.getColumns().front();
    tiling.headSize = features.unit;
    tiling.headColumns = features.over;
  }
  return tiling;
}

TokenTiling TokenTiling::ofState(int64_t batch, int64_t tokens, int64_t heads,
                                 int64_t headSize, int64_t width) {
  TokenTiling result = TokenTiling(batch, tokens);
  result.cyclic = true;
  result.headSize = headSize;
  result.headColumns = std::clamp<int64_t>(width / heads, 1, headSize);
  return result;
}

TokenTiling TokenTiling::forState(int64_t count, int64_t repeat) const {
  TokenTiling result = withTokens(count);
  result.cyclic = false;
  result.headSize *= repeat;
  return result;
}

ColumnPlacement TokenTiling::getColumns() const {
  if (everyColumn)
    return ColumnPlacement::Replicated;
  return headSize > 1 ? ColumnPlacement::Heads : ColumnPlacement::Balanced;
}

TokenTiling TokenTiling::withColumns(ColumnPlacement columns,
                                     int64_t size) const {
  TokenTiling result = *this;
  result.everyColumn = columns == ColumnPlacement::Replicated;
  result.headSize = size;
  result.headColumns = 1;
  return result;
}

TokenTiling TokenTiling::withHeadColumns(int64_t columns) const {
  TokenTiling result = *this;
  result.headColumns = columns;
  return result;
}

TokenTiling TokenTiling::withCopies(int64_t rows) const {
  TokenTiling result = *this;
  result.copies = rows;
  return result;
}

TokenTiling TokenTiling::perVector(int64_t height) const {
  TokenTiling result = withTokens(1).withCopies(height);
  result.batch = 1;
  return result;
}

TokenTiling TokenTiling::withTokens(int64_t count) const {
  TokenTiling result = *this;
  result.tokens = count;
  return result;
}

int64_t TokenTiling::rowsUsed(int64_t height) const {
  if (copies)
    return copies;
  return group(height) ? std::min(tokens, group(height)) : 1;
}

int64_t TokenTiling::tokensPerRowMax(int64_t height) const {
  if (!group(height))
    return tileSizeMax(batch, height) * tokens;
  return copies ? tokens : tileSizeMax(tokens, rowsUsed(height));
}

/// How many of the leading dimensions make up the batch; none: not that many.
static std::optional<int64_t> batchDimensions(ArrayRef<int64_t> leading,
                                              int64_t batch) {
  int64_t product = 1;
  for (auto [number, extent] : llvm::enumerate(leading)) {
    product *= extent;
    if (product == batch)
      return int64_t(number) + 1;
  }
  return std::nullopt;
}

DistAttr TokenTiling::encoding(MLIRContext *context,
                               ArrayRef<int64_t> shape) const {
  ArrayRef<int64_t> leading = shape.drop_back();
  const int64_t rank = int64_t(shape.size());
  if (ShapedType::getNumElements(leading) != batch * tokens)
    return {};
  int64_t outer = 0; // dimensions of the batch, if they are listed
  if (std::optional<int64_t> found = batchDimensions(leading, batch);
      found && (*found < rank - 1 || (copies && batch > 1)))
    outer = *found;
  else if (batch > 1)
    return {};
  SmallVector<DistEntry, 2> rows, columns;
  if (outer)
    rows.push_back({0, outer, 1, 1});
  if (copies)
    rows.push_back(DistEntry::replicated(copies));
  else if (outer < rank - 1)
    rows.push_back({outer, rank - 1 - outer, 1, 1, cyclic});
  else
    return {};
  if (!everyColumn)
    columns.push_back({rank - 1, 1, headSize, headColumns});
  return DistAttr::get(context, rows, columns);
}

RankedTensorType TokenTiling::type(ArrayRef<int64_t> shape,
                                   Type element) const {
  if (DistAttr dist = encoding(element.getContext(), shape))
    return RankedTensorType::get(shape, element, dist);
  SmallVector<int64_t, 3> all = {batch, tokens, shape.back()};
  return RankedTensorType::get(all, element,
                               encoding(element.getContext(), all));
}
