// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/values/Facts.h"
#include "compiler/values/ElementTypes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "runtime/files/InputFile.h"
#include "runtime/files/ProceduralFile.h"
#include "runtime/files/WeightFolders.h"
#include "runtime/program/Errors.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace wsec;
using namespace wsec::values;

//===----------------------------------------------------------------------===//
// Facts
//===----------------------------------------------------------------------===//

Fact Fact::ofTensor(Tensor tensor) {
  Fact fact;
  fact.type = tensor.type();
  fact.shape = tensor.shape();
  StridedView view = StridedView::whole(fact.shape);
  auto storage = std::make_shared<Storage>();
  storage->type = tensor.type();
  storage->tensor = std::move(tensor);
  fact.constant = Constant{std::move(storage), std::move(view)};
  return fact;
}

int64_t Storage::numElements() const {
  if (!file.empty())
    return fileBytes / storedBytes(type);
  if (quantized)
    return quantized.getValues().getNumElements();
  return dense ? dense.getNumElements() : tensor->size();
}

const Tensor &Storage::inMemory() const {
  if (!tensor)
    tensor = tensorOf(quantized ? quantized.expanded() : dense);
  return *tensor;
}

/// Nothing where the file is absent, shorter, or out of reach.
static std::optional<std::vector<char>>
readPart(const Storage &storage, uint64_t offset, uint64_t bytes) {
  if (auto file = wsec::runtime::ProceduralFile::parse(storage.file))
    return file->bytesAt(offset, bytes);
  wsec::runtime::WeightFolders folders(*storage.weightFolders);
  if (storage.weightFolders->empty())
    folders.add("");
  std::optional<std::string> path = folders.find(storage.file);
  if (!path)
    return std::nullopt;
  std::vector<char> data(bytes);
  try {
    wsec::runtime::InputFile(*path).read(offset, data.data(), bytes);
  } catch (const wsec::runtime::Error &) {
    return std::nullopt;
  }
  return data;
}

/// Reads the part of a file a view touches, and views that.
static std::optional<Tensor> loadExternal(const Storage &storage,
                                          const StridedView &view) {
  int64_t first = view.getOffset(), last = first;
  StridedView::Atoms atoms = view.atoms(0, view.rank());
  Shape sizes, strides;
  for (StridedView::Atom atom : atoms) {
    (atom.stride < 0 ? first : last) += (atom.size - 1) * atom.stride;
    sizes.push_back(atom.size);
    strides.push_back(atom.stride);
  }
  int64_t width = storedBytes(storage.type), count = last - first + 1;
  int64_t limit = isFloat(storage.type) ? maxReadWeightBytes : maxFoldedBytes;
  if (count * width > limit || uint64_t((last + 1) * width) > storage.fileBytes)
    return std::nullopt;
  std::optional<std::vector<char>> data =
      readPart(storage, storage.fileOffset + first * width, count * width);
  if (!data)
    return std::nullopt;
  Tensor part = Tensor::fromBytes(storage.type, {count}, *data);
  return part
      .viewed(StridedView::strided(sizes, view.getOffset() - first, strides))
      .reshaped(view.shape());
}

std::optional<Tensor> Fact::load() const {
  if (!constant || constant->storage->isTrainable || bytes() > maxFoldedBytes)
    return std::nullopt;
  if (numElements(shape) == 0)
    return Tensor(type, shape);
  const Storage &storage = *constant->storage;
  std::optional<Tensor> stored = storage.file.empty()
                                     ? storage.inMemory().viewed(constant->view)
                                     : loadExternal(storage, constant->view);
  return stored && stored->type() != type ? stored->cast(type) : stored;
}

Fact wsec::values::reshapeFact(const Fact &fact, ArrayRef<int64_t> shape) {
  Fact result{fact.type, Shape(shape), std::nullopt};
  if (!fact.constant)
    return result;
  if (auto view = fact.constant->view.reshaped(shape)) {
    result.constant = Constant{fact.constant->storage, *view};
    return result;
  }
  if (std::optional<Tensor> tensor = fact.load())
    return Fact::ofTensor(tensor->reshaped(shape));
  return result;
}

//===----------------------------------------------------------------------===//
// Shapes and types
//===----------------------------------------------------------------------===//

std::optional<Shape> wsec::values::broadcastShapes(ArrayRef<int64_t> a,
                                                   ArrayRef<int64_t> b) {
  if (a.size() < b.size())
    std::swap(a, b);
  Shape result(a);
  for (size_t i = 0; i < b.size(); ++i) {
    int64_t &extent = result[a.size() - b.size() + i];
    if (extent != b[i] && extent != 1 && b[i] != 1)
      return std::nullopt;
    if (extent == 1)
      extent = b[i];
  }
  return result;
}

std::optional<std::string> wsec::values::shapeProblem(ArrayRef<int64_t> shape) {
  int64_t bytes = storedBytes(ElementType::Int64); // the widest there is
  for (int64_t extent : shape) {
    if (extent < 0)
      return "shape " + printShape(shape) + " has a negative extent";
    // Strides are products of the other extents, even next to an extent of 0.
    if (llvm::MulOverflow(bytes, std::max<int64_t>(extent, 1), bytes))
      return "shape " + printShape(shape) +
             " has too many elements, expected fewer than 2^60";
  }
  return std::nullopt;
}

std::string wsec::values::printShape(ArrayRef<int64_t> shape) {
  if (shape.empty())
    return "scalar";
  return llvm::join(
      llvm::map_range(shape,
                      [](int64_t extent) { return std::to_string(extent); }),
      "x");
}

std::optional<ElementType> wsec::values::elementTypeOf(Type type) {
#define WSEC_FLOAT(Name, bits, semantics)                                      \
  if (isa<Name##Type>(type))                                                   \
    return ElementType::Name;
  WSEC_FLOAT_TYPES(WSEC_FLOAT)
#undef WSEC_FLOAT
  // A bit is a truth value, whatever its sign.
#define WSEC_INTEGER(Name, bits, signedness)                                   \
  if (IntegerType::signedness == IntegerType::Unsigned                         \
          ? type.isUnsignedInteger(bits)                                       \
          : type.isInteger(bits) && (bits == 1 || !type.isUnsignedInteger()))  \
    return ElementType::Name;
  WSEC_INTEGER_TYPES(WSEC_INTEGER)
#undef WSEC_INTEGER
  return std::nullopt;
}

Type wsec::values::toMlirType(MLIRContext *context, ElementType type) {
  switch (type) {
#define WSEC_FLOAT(Name, bits, semantics)                                      \
  case ElementType::Name:                                                      \
    return Name##Type::get(context);
    WSEC_FLOAT_TYPES(WSEC_FLOAT)
#undef WSEC_FLOAT
#define WSEC_INTEGER(Name, bits, signedness)                                   \
  case ElementType::Name:                                                      \
    return IntegerType::get(context, bits, IntegerType::signedness);
    WSEC_INTEGER_TYPES(WSEC_INTEGER)
#undef WSEC_INTEGER
  }
  llvm_unreachable("unknown element type");
}

std::optional<Tensor> wsec::values::tensorOf(DenseElementsAttr elements) {
  std::optional<ElementType> type = elementTypeOf(elements.getElementType());
  if (!type)
    return std::nullopt;
  Tensor tensor(*type, elements.getType().getShape());
  int64_t i = 0;
  if (*type == ElementType::Bool) {
    for (bool value : elements.getValues<bool>())
      tensor.setInt(i++, value);
    return tensor;
  }
  int64_t width = storedBytes(*type);
  ArrayRef<char> raw = elements.getRawData();
  if (!elements.isSplat())
    return Tensor::fromBytes(*type, tensor.shape(), raw);
  Tensor one = Tensor::fromBytes(*type, {1}, raw.take_front(width));
  for (; i < tensor.size(); ++i)
    tensor.set(i, one, 0);
  return tensor;
}

DenseElementsAttr wsec::values::denseOf(MLIRContext *context,
                                        const Tensor &tensor) {
  auto type =
      RankedTensorType::get(tensor.shape(), toMlirType(context, tensor.type()));
  if (tensor.type() == ElementType::Bool) {
    SmallVector<bool> values;
    for (int64_t i = 0; i < tensor.size(); ++i)
      values.push_back(tensor.asBool(i));
    return DenseElementsAttr::get(type, values);
  }
  return DenseElementsAttr::getFromRawBuffer(type, tensor.toBytes());
}
