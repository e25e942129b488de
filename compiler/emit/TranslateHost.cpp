// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tensors, streams and values of the host.

#include "compiler/emit/Translation.h"

#include "mlir/IR/BuiltinAttributeInterfaces.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/DialectResourceBlobManager.h"

using namespace mlir;

namespace wsec::emit {

// The bytes of a constant that the text keeps behind the program.
static LogicalResult copyResource(pe::TensorOp op,
                                  DenseResourceElementsAttr value,
                                  std::vector<uint8_t> &data) {
  AsmResourceBlob *blob = value.getRawHandle().getBlob();
  StringRef key = value.getRawHandle().getKey();
  if (!blob)
    return op.emitOpError("has its value in resource '")
           << key << "', which does not exist";
  const size_t bytes = value.getNumElements() *
                       pe::elementBytes(value.getType().getElementType());
  if (blob->getData().size() != bytes)
    return op.emitOpError("has its value in resource '")
           << key << "' of " << blob->getData().size() << " bytes, expected "
           << bytes;
  data.assign(blob->getData().begin(), blob->getData().end());
  return success();
}

std::vector<uint8_t> bytesOf(DenseElementsAttr value) {
  std::vector<uint8_t> data;
  Type type = value.getElementType();
  unsigned bytes = pe::elementBytes(type);
  data.reserve(value.getNumElements() * bytes);
  auto append = [&](const APInt &bits) {
    for (unsigned byte = 0; byte < bytes; ++byte)
      data.push_back(bits.extractBitsAsZExtValue(
          std::min(8u, bits.getBitWidth() - 8 * byte), 8 * byte));
  };
  if (isa<FloatType>(type))
    for (const APFloat &element : value.getValues<APFloat>())
      append(element.bitcastToAPInt());
  else
    for (const APInt &element : value.getValues<APInt>())
      append(element);
  return data;
}

static LogicalResult copyConstant(pe::TensorOp op, std::vector<uint8_t> &data) {
  if (auto resource = dyn_cast<DenseResourceElementsAttr>(*op.getValue()))
    return copyResource(op, resource, data);
  auto value = dyn_cast<DenseElementsAttr>(*op.getValue());
  if (!value)
    return op.emitOpError("has a value that is not dense");
  data = bytesOf(value);
  return success();
}

static LogicalResult translateSparse(pe::SparseAttr attr,
                                     const SymbolNumbers &numbers,
                                     pe::TensorOp op,
                                     program::TensorT &result) {
  Narrower narrow(op);
  result.sparsity = std::make_unique<program::SparsityT>();
  program::SparsityT &sparse = *result.sparsity;
  sparse.tensor = numbers.tensors.lookup(attr.getTensor().getValue());
  sparse.offset = attr.getOffset();
  sparse.strides = attr.getStrides().vec();
  sparse.rows = attr.getRows();
  sparse.columns = attr.getColumns();
  sparse.group = narrow.to<uint32_t>(attr.getGroup(), "group");
  sparse.kept = narrow.to<uint32_t>(attr.getKept(), "number of elements kept");
  sparse.rest = narrow.to<uint32_t>(attr.getRest(), "number of elements kept");
  sparse.method = static_cast<program::SparsityMethod>(attr.getMethod());
  sparse.seed = attr.getSeed();
  sparse.index_step = narrow.to<uint32_t>(attr.getStep(), "step of indices");
  return failure(narrow.hasFailed());
}

LogicalResult translateTensor(pe::TensorOp op, const SymbolNumbers &numbers,
                              program::TensorT &result) {
  RankedTensorType type = op.getTensorType();
  result.name = op.getSymName().str();
  result.role = static_cast<program::TensorRole>(op.getRole());
  result.type = translateType(type.getElementType());
  result.shape.assign(type.getShape().begin(), type.getShape().end());
  if (op.getAlias())
    result.alias = numbers.tensors.lookup(*op.getAlias());
  result.parameter = op.getParameter().value_or("").str();
  if (std::optional<uint64_t> experts = op.getExperts())
    result.experts =
        Narrower(op).to<uint32_t>(int64_t(*experts), "number of experts");
  if (auto axes = dyn_cast_or_null<DenseI64ArrayAttr>(
          lengthOf(op->getParentOfType<pe::ProgramOp>(), op.getSymName())))
    result.length_axes.assign(axes.asArrayRef().begin(),
                              axes.asArrayRef().end());
  if (auto attr = op.getGradient()) {
    result.gradient = std::make_unique<program::GradientT>();
    program::GradientT &gradient = *result.gradient;
    gradient.parameter = attr->getParameter().getValue().str();
    gradient.offset = attr->getOffset();
    gradient.strides = attr->getStrides().vec();
    if (FlatSymbolRefAttr rows = attr->getRows())
      gradient.rows = numbers.tensors.lookup(rows.getValue());
  }
  if (auto sparse = op.getSparse())
    return translateSparse(*sparse, numbers, op, result);
  if (op.getRole() == pe::Role::Weight)
    result.bytes = uint64_t(type.getNumElements()) *
                   pe::elementBytes(type.getElementType());
  if (op.getRole() == pe::Role::Constant)
    return copyConstant(op, result.data);
  return success();
}

LogicalResult translateCopy(pe::CopyOp op, const SymbolNumbers &numbers,
                            program::EntryT &result) {
  Narrower narrow(op);
  program::HostCopyT &copy = append(result.copies);
  copy.direction = static_cast<program::Direction>(op.getDirection());
  copy.tensor = numbers.tensors.lookup(op.getTensor());
  copy.buffer = op.getBuffer().str();
  copy.rect = std::make_unique<program::Rect>(translateRect(op.getRect()));
  copy.elements = narrow.to<uint32_t>(op.getElements(), "number of elements");
  copy.order = static_cast<program::CopyOrder>(op.getOrder());
  copy.launch = result.launches.size();
  return failure(narrow.hasFailed());
}

static LogicalResult translateSegment(pe::SegmentOp op,
                                      const ScalarTable &scalars,
                                      const SymbolNumbers &numbers,
                                      program::SegmentT &result) {
  Narrower narrow(op);
  pe::Segment segment = op.getSegment();
  result.tensor = numbers.tensors.lookup(segment.tensor);
  result.lines = scalars.affine(segment.lines, narrow);
  result.line_stride = segment.lineStep;
  for (const pe::Affine &extent : segment.extents)
    result.extents.push_back(scalars.affine(extent, narrow));
  result.strides.assign(segment.strides.begin(), segment.strides.end());
  result.offset = scalars.affine(segment.offset, narrow);
  if (!segment.index.tensor.empty())
    result.index_tensor = numbers.tensors.lookup(segment.index.tensor);
  result.index_stride = segment.index.step;
  result.index_count = segment.index.rows;
  result.index_at = segment.index.at;
  result.accumulate = segment.accumulate;
  if (segment.halves)
    result.halves = translateType(segment.halves);
  return failure(narrow.hasFailed());
}

LogicalResult translateStream(pe::StreamOp op, const SymbolNumbers &numbers,
                              program::HostStreamT &result) {
  Narrower narrow(op);
  result.name = op.getSymName().str();
  result.direction = static_cast<program::Direction>(op.getDirection());
  result.color = narrow.to<uint8_t>(op.getColor(), "color");
  if (op.getType())
    result.type = translateType(*op.getType());
  if (op.getPair())
    result.packing = program::Packing::Pair;
  result.indexed = op.getIndexed();
  for (auto channel : op.getChannels().getAsRange<pe::ChannelAttr>())
    result.channels.emplace_back(channel.getRow(), channel.getBegin(),
                                 channel.getEnd());
  ScalarTable scalars;
  if (failed(scalars.build(op.getBody().front(), result.scalars)))
    return failure();
  for (auto segment : op.getOps<pe::SegmentOp>())
    if (failed(translateSegment(segment, scalars, numbers,
                                append(result.segments))))
      return failure();
  return failure(narrow.hasFailed());
}

LogicalResult translateValue(pe::ValueOp op, program::EntryT &result) {
  Narrower narrow(op);
  program::ValueT &value = append(result.values);
  auto type = cast<RankedTensorType>(op.getType());
  value.name = op.getName().str();
  value.type = translateType(type.getElementType());
  value.shape.assign(type.getShape().begin(), type.getShape().end());
  value.launch = result.launches.size() - 1;
  value.buffer = op.getBuffer().str();
  value.rect = std::make_unique<program::Rect>(translateRect(op.getRect()));
  ScalarTable scalars;
  if (failed(scalars.build(op.getBody().front(), value.scalars)))
    return failure();
  pe::ValuePiece piece = (*op.getOps<pe::PieceOp>().begin()).getPiece();
  for (const pe::Affine &extent : piece.extents)
    value.extents.push_back(scalars.affine(extent, narrow));
  value.strides.assign(piece.strides.begin(), piece.strides.end());
  value.offset = scalars.affine(piece.offset, narrow);
  value.places.assign(piece.places.begin(), piece.places.end());
  value.place = scalars.affine(piece.place, narrow);
  return failure(narrow.hasFailed());
}

} // namespace wsec::emit
