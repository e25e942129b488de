// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/import/TensorData.h"
#include "compiler/import/ElementTypes.h"
#include "dialects/onnx/Onnx.h"
#include "runtime/program/Errors.h"
#include "runtime/program/ProceduralFile.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace wsec;
using llvm::createStringError;
using llvm::Expected;
using llvm::Twine;

std::string wsec::shapeText(ArrayRef<int64_t> shape) {
  if (shape.empty())
    return "scalar";
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::interleave(shape, os, "x");
  return text;
}

std::optional<int64_t> wsec::countBytes(ArrayRef<int64_t> shape,
                                        int64_t elementBytes) {
  int64_t bytes = elementBytes;
  for (int64_t extent : shape)
    if (extent < 0 ||
        llvm::MulOverflow(bytes, std::max<int64_t>(extent, 1), bytes))
      return std::nullopt;
  return llvm::is_contained(shape, 0) ? 0 : bytes;
}

//===----------------------------------------------------------------------===//
// Where the bytes are
//===----------------------------------------------------------------------===//

Expected<RankedTensorType> TensorData::typeOf(const OnnxTensor &tensor) {
  if (!elementType(tensor.dataType).supported())
    return createStringError("elements of type " +
                             elementTypeName(tensor.dataType) +
                             " are not supported");
  if (!countBytes(tensor.dims, elementType(tensor.dataType).bytes))
    return createStringError("the shape " + shapeText(tensor.dims) +
                             " is not possible");
  return RankedTensorType::get(tensor.dims,
                               convertElementType(tensor.dataType, context));
}

/// Small tensors are computed now, as they would be read.
Expected<TensorData::Storage>
TensorData::computedStorage(const OnnxTensor &tensor, uint64_t offset,
                            uint64_t bytes) {
  std::string location = tensor.location.str();
  auto file = runtime::ProceduralFile::parse(location);
  if (!file)
    return createStringError("its data: '" + location +
                             "' is malformed; expected "
                             "procedural:seed=N,range=X,mean=X");
  if (offset % sizeof(float) != 0 ||
      !convertElementType(tensor.dataType, context).isF32())
    return createStringError(
        "its data: '" + location +
        "' has f32 at multiples of 4 bytes, asked for is " +
        elementTypeName(tensor.dataType) + " at byte " + Twine(offset));
  if (bytes > inlineBytes)
    return Storage{location, offset, StringRef()};
  auto &values = computed.emplace_back(bytes / sizeof(float));
  file->read(offset / sizeof(float), 1, values.size(), values.data());
  return Storage{
      location, offset,
      StringRef(reinterpret_cast<const char *>(values.data()), bytes)};
}

/// Files of strangers: the runtime opens them, and throws where it refuses.
Expected<StringRef> TensorData::mapFile(StringRef path) {
  std::shared_ptr<const runtime::MappedFile> &file = files[path];
  try {
    if (!file)
      file = runtime::MappedFile::open(path.str());
  } catch (const runtime::Error &error) {
    return createStringError("its data: " + error.message());
  }
  return StringRef(reinterpret_cast<const char *>(file->data()), file->size());
}

Expected<TensorData::Storage>
TensorData::externalStorage(const OnnxTensor &tensor, uint64_t bytes) {
  uint64_t offset = 0, length = bytes;
  if ((!tensor.externalOffset.empty() &&
       tensor.externalOffset.getAsInteger(10, offset)) ||
      (!tensor.externalLength.empty() &&
       tensor.externalLength.getAsInteger(10, length)))
    return createStringError("its place in '" + tensor.location +
                             "' is malformed");
  if (length != bytes)
    return createStringError(Twine(length) + " bytes are stored in '" +
                             tensor.location + "', its shape needs " +
                             Twine(bytes));
  std::string name = tensor.location.str();
  if (runtime::ProceduralFile::isNamedBy(name))
    return computedStorage(tensor, offset, bytes);
  if (std::optional<std::string> problem =
          runtime::WeightFolders::problemOf(name))
    return createStringError("its data: '" + name + "' " + *problem);
  std::optional<std::string> path = options.weightFolders.find(name);
  if (!path && options.allowAbsentWeights)
    return Storage{name, offset, StringRef()};
  if (!path)
    return createStringError("its data: there is no '" + name + "' in " +
                             options.weightFolders.describe() +
                             "; name the folder that has it with "
                             "--weights=DIR");
  Expected<StringRef> contents = mapFile(*path);
  if (!contents)
    return contents.takeError();
  if (offset > contents->size() || bytes > contents->size() - offset)
    return createStringError(
        "'" + *path + "' is too short: it has " + Twine(contents->size()) +
        " bytes, " + Twine(bytes) + " are needed at byte " + Twine(offset));
  return Storage{name, offset, contents->substr(offset, bytes)};
}

Expected<std::optional<TensorData::Storage>>
TensorData::storage(const OnnxTensor &tensor, uint64_t bytes) {
  if (tensor.external) {
    Expected<Storage> place = externalStorage(tensor, bytes);
    if (!place)
      return place.takeError();
    return std::optional<Storage>(*place);
  }
  StringRef stored = tensor.packed;
  if (tensor.raw)
    stored = *tensor.raw;
  else if (tensor.packed.empty())
    return std::optional<Storage>();
  else if (!isa<FloatType>(convertElementType(tensor.dataType, context)))
    return createStringError("floats are stored for elements of type " +
                             elementTypeName(tensor.dataType));
  if (stored.size() != bytes)
    return createStringError(
        Twine(stored.size()) + " bytes are stored, its shape " +
        shapeText(tensor.dims) + " of " + elementTypeName(tensor.dataType) +
        " needs " + Twine(bytes));
  uint64_t offset = stored.data() - model.file->getBufferStart();
  std::string name = llvm::sys::path::filename(model.path).str();
  return std::optional<Storage>(Storage{name, offset, stored});
}

//===----------------------------------------------------------------------===//
// Small tensors
//===----------------------------------------------------------------------===//

/// Elements of 4 or 2 bits lie several in a byte.
static DenseElementsAttr fromPacked(RankedTensorType type, StringRef bytes,
                                    unsigned perByte) {
  const unsigned bits = 8 / perByte;
  std::vector<char> unpacked(type.getNumElements());
  for (size_t i = 0; i < unpacked.size(); ++i)
    unpacked[i] = char((uint8_t(bytes[i / perByte]) >> (i % perByte * bits)) &
                       ((1u << bits) - 1));
  return DenseElementsAttr::getFromRawBuffer(type, unpacked);
}

static DenseElementsAttr fromBytes(RankedTensorType type, StringRef bytes,
                                   unsigned perByte) {
  if (perByte > 1)
    return fromPacked(type, bytes, perByte);
  if (type.getElementType().isInteger(1)) {
    SmallVector<bool> bools;
    for (char c : bytes)
      bools.push_back(c != 0);
    return DenseElementsAttr::get(type, bools);
  }
  return DenseElementsAttr::getFromRawBuffer(
      type, ArrayRef<char>(bytes.data(), bytes.size()));
}

/// float16 and bfloat16 come as their bits.
static DenseElementsAttr fromIntegers(RankedTensorType type,
                                      ArrayRef<int64_t> numbers) {
  Type element = type.getElementType();
  unsigned bits = element.getIntOrFloatBitWidth();
  if (auto floats = dyn_cast<FloatType>(element)) {
    SmallVector<APFloat> values;
    for (int64_t number : numbers)
      values.emplace_back(floats.getFloatSemantics(),
                          APInt(bits, uint64_t(number), false, true));
    return DenseElementsAttr::get(type, values);
  }
  SmallVector<APInt> values;
  for (int64_t number : numbers)
    values.emplace_back(bits, uint64_t(bits == 1 ? number != 0 : number), false,
                        true);
  return DenseElementsAttr::get(type, values);
}

static Expected<DenseElementsAttr> fromLists(RankedTensorType type,
                                             const OnnxTensor &tensor) {
  size_t expected = type.getNumElements();
  auto check = [&](size_t count) -> llvm::Error {
    if (count == expected)
      return llvm::Error::success();
    return createStringError(Twine(count) + " elements are stored, its shape " +
                             shapeText(tensor.dims) + " needs " +
                             Twine(expected));
  };
  Type element = type.getElementType();
  if (element.isF32()) {
    if (llvm::Error error = check(tensor.floats.size()))
      return error;
    return DenseElementsAttr::get(type, ArrayRef<float>(tensor.floats));
  }
  if (element.isF64()) {
    if (llvm::Error error = check(tensor.doubles.size()))
      return error;
    return DenseElementsAttr::get(type, ArrayRef<double>(tensor.doubles));
  }
  if (unsigned perByte = elementType(tensor.dataType).perByte; perByte > 1) {
    // Each number is a byte of the packed elements.
    std::string packed(tensor.integers.begin(), tensor.integers.end());
    expected = elementType(tensor.dataType).storedBytes(expected);
    if (llvm::Error error = check(packed.size()))
      return error;
    return fromPacked(type, packed, perByte);
  }
  if (llvm::Error error = check(tensor.integers.size()))
    return error;
  return fromIntegers(type, tensor.integers);
}

Expected<DenseElementsAttr> TensorData::elements(const OnnxTensor &tensor) {
  Expected<RankedTensorType> type = typeOf(tensor);
  if (!type)
    return type.takeError();
  const ElementType element = elementType(tensor.dataType);
  uint64_t bytes = element.storedBytes(type->getNumElements());
  Expected<std::optional<Storage>> place = storage(tensor, bytes);
  if (!place)
    return place.takeError();
  if (*place && (*place)->bytes.size() != bytes)
    return createStringError("its data is needed now, and absent");
  return *place ? fromBytes(*type, (*place)->bytes, element.perByte)
                : fromLists(*type, tensor);
}

Expected<TensorConstant> TensorData::constant(const OnnxTensor &tensor) {
  Expected<RankedTensorType> type = typeOf(tensor);
  if (!type)
    return type.takeError();
  const ElementType element = elementType(tensor.dataType);
  uint64_t bytes = element.storedBytes(type->getNumElements());
  Expected<std::optional<Storage>> place = storage(tensor, bytes);
  if (!place)
    return place.takeError();
  // What is absent is looked for where it should be, if it is needed at all.
  const bool absent = *place && (*place)->bytes.size() != bytes;
  if (element.perByte > 1 && absent)
    return createStringError("its data is packed, and absent");
  if (*place && element.perByte == 1 && (bytes > inlineBytes || absent))
    return TensorConstant{onnx::ExternalAttr::get(context, (*place)->file,
                                                  (*place)->offset, bytes,
                                                  Type()),
                          *type};
  Expected<DenseElementsAttr> dense =
      *place ? fromBytes(*type, (*place)->bytes, element.perByte)
             : fromLists(*type, tensor);
  if (!dense)
    return dense.takeError();
  return TensorConstant{*dense, *type};
}
