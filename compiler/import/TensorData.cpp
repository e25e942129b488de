// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/import/TensorData.h"
#include "compiler/import/ElementTypes.h"
#include "dialects/onnx/Onnx.h"
#include "runtime/files/ProceduralFile.h"
#include "runtime/program/Errors.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"

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

static ArrayRef<int64_t> dimsOf(const TensorProto &tensor) {
  return ArrayRef<int64_t>(tensor.dims().data(), size_t(tensor.dims_size()));
}

Expected<RankedTensorType> TensorData::typeOf(const TensorProto &tensor) {
  Type element = convertElementType(tensor.data_type(), context);
  if (!element)
    return createStringError("elements of type " +
                             elementTypeName(tensor.data_type()) +
                             " are not supported; compute what needs them "
                             "outside of the model");
  if (!countBytes(dimsOf(tensor), elementBytes(element)))
    return createStringError("the shape " + shapeText(dimsOf(tensor)) +
                             " is not possible");
  return RankedTensorType::get(dimsOf(tensor), element);
}

/// Small tensors are computed now, as they would be read.
Expected<TensorData::Storage>
TensorData::computedStorage(const TensorProto &tensor, Reference place) {
  auto file = runtime::ProceduralFile::parse(place.file);
  if (!file)
    return createStringError("its data: '" + place.file +
                             "' is malformed; expected "
                             "procedural:seed=N,range=X,mean=X");
  if (place.offset % sizeof(float) != 0 ||
      tensor.data_type() != TensorProto::FLOAT)
    return createStringError(
        "its data: '" + place.file +
        "' has f32 at multiples of 4 bytes, asked for is " +
        elementTypeName(tensor.data_type()) + " at byte " +
        Twine(place.offset));
  if (place.length > inlineBytes)
    return Storage{place.file, place.offset, StringRef()};
  auto &values = computed.emplace_back(place.length / sizeof(float));
  file->read(place.offset / sizeof(float), 1, values.size(), values.data());
  return Storage{
      place.file, place.offset,
      StringRef(reinterpret_cast<const char *>(values.data()), place.length)};
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

Expected<TensorData::Reference>
TensorData::referenceOf(const TensorProto &tensor, uint64_t bytes) {
  Reference place{"", 0, bytes};
  bool malformed = false;
  for (const StringStringEntryProto &entry : tensor.external_data()) {
    StringRef key = entry.key(), value = entry.value();
    if (key == "location")
      place.file = entry.value();
    else if (key == "offset" && !value.empty())
      malformed |= value.getAsInteger(10, place.offset);
    else if (key == "length" && !value.empty())
      malformed |= value.getAsInteger(10, place.length);
  }
  if (malformed)
    return createStringError("its place in '" + place.file + "' is malformed");
  if (place.length != bytes)
    return createStringError(Twine(place.length) + " bytes are stored in '" +
                             place.file + "', its shape needs " + Twine(bytes));
  return place;
}

Expected<TensorData::Storage>
TensorData::externalStorage(const TensorProto &tensor, uint64_t bytes) {
  Expected<Reference> place = referenceOf(tensor, bytes);
  if (!place)
    return place.takeError();
  const auto &[name, offset, length] = *place;
  auto within = [&, &name = name,
                 offset = offset](const Twine &path,
                                  StringRef contents) -> Expected<Storage> {
    if (offset > contents.size() || bytes > contents.size() - offset)
      return createStringError(
          "'" + path + "' is too short: it has " + Twine(contents.size()) +
          " bytes, " + Twine(bytes) + " are needed at byte " + Twine(offset));
    return Storage{name, offset, contents.substr(offset, bytes)};
  };
  if (name == model.fileName())
    return within(model.path, model.file->getBuffer());
  if (runtime::ProceduralFile::isNamedBy(name))
    return computedStorage(tensor, *place);
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
  return within(*path, *contents);
}

Expected<std::optional<TensorData::Storage>>
TensorData::storage(const TensorProto &tensor, uint64_t bytes) {
  if (tensor.data_location() == TensorProto::EXTERNAL) {
    Expected<Storage> place = externalStorage(tensor, bytes);
    if (!place)
      return place.takeError();
    return std::optional<Storage>(*place);
  }
  if (!tensor.has_raw_data())
    return std::optional<Storage>();
  StringRef stored = tensor.raw_data();
  if (stored.size() != bytes)
    return createStringError(
        Twine(stored.size()) + " bytes are stored, its shape " +
        shapeText(dimsOf(tensor)) + " of " +
        elementTypeName(tensor.data_type()) + " needs " + Twine(bytes));
  return std::optional<Storage>(Storage{"", 0, stored});
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
template <typename Numbers>
static DenseElementsAttr fromIntegers(RankedTensorType type,
                                      const Numbers &numbers) {
  Type element = type.getElementType();
  unsigned bits = element.getIntOrFloatBitWidth();
  if (auto floats = dyn_cast<FloatType>(element)) {
    SmallVector<APFloat> values;
    for (auto number : numbers)
      values.emplace_back(floats.getFloatSemantics(),
                          APInt(bits, uint64_t(number), false, true));
    return DenseElementsAttr::get(type, values);
  }
  SmallVector<APInt> values;
  for (auto number : numbers)
    values.emplace_back(bits, uint64_t(bits == 1 ? number != 0 : number), false,
                        true);
  return DenseElementsAttr::get(type, values);
}

/// Each type has one list that holds its elements; two integers or more of
/// fewer than 8 bits are one number.
static Expected<DenseElementsAttr> fromLists(RankedTensorType type,
                                             const TensorProto &tensor) {
  Type element = type.getElementType();
  const uint64_t expected =
      storedBytes(element, type.getNumElements()) / elementBytes(element);
  auto take = [&](const auto &numbers,
                  auto make) -> Expected<DenseElementsAttr> {
    if (uint64_t(numbers.size()) == expected)
      return make(numbers);
    return createStringError(
        Twine(numbers.size()) + " elements of type " +
        elementTypeName(tensor.data_type()) + " are stored, its shape " +
        shapeText(dimsOf(tensor)) + " needs " + Twine(expected));
  };
  auto copy = [&](const auto &numbers) {
    return DenseElementsAttr::get(
        type, ArrayRef(numbers.data(), size_t(numbers.size())));
  };
  auto integers = [&](const auto &numbers) {
    return fromIntegers(type, numbers);
  };
  switch (tensor.data_type()) {
  case TensorProto::FLOAT:
    return take(tensor.float_data(), copy);
  case TensorProto::DOUBLE:
    return take(tensor.double_data(), copy);
  case TensorProto::INT64:
    return take(tensor.int64_data(), integers);
  case TensorProto::UINT32:
  case TensorProto::UINT64:
    return take(tensor.uint64_data(), integers);
  default:
    break;
  }
  const unsigned perByte = elementsPerByte(element);
  if (perByte == 1)
    return take(tensor.int32_data(), integers);
  return take(tensor.int32_data(), [&](const auto &numbers) {
    return fromPacked(type, std::string(numbers.begin(), numbers.end()),
                      perByte);
  });
}

Expected<DenseElementsAttr> TensorData::elements(const TensorProto &tensor) {
  Expected<RankedTensorType> type = typeOf(tensor);
  if (!type)
    return type.takeError();
  const unsigned perByte = elementsPerByte(type->getElementType());
  const uint64_t bytes =
      storedBytes(type->getElementType(), type->getNumElements());
  Expected<std::optional<Storage>> place = storage(tensor, bytes);
  if (!place)
    return place.takeError();
  if (*place && (*place)->bytes.size() != bytes)
    return createStringError("its data is needed now, and absent");
  return *place ? fromBytes(*type, (*place)->bytes, perByte)
                : fromLists(*type, tensor);
}

Expected<TensorConstant> TensorData::constant(const TensorProto &tensor) {
  Expected<RankedTensorType> type = typeOf(tensor);
  if (!type)
    return type.takeError();
  const unsigned perByte = elementsPerByte(type->getElementType());
  const uint64_t bytes =
      storedBytes(type->getElementType(), type->getNumElements());
  Expected<std::optional<Storage>> place = storage(tensor, bytes);
  if (!place)
    return place.takeError();
  // What is absent is looked for where it should be, if it is needed at all.
  const bool absent = *place && (*place)->bytes.size() != bytes;
  if (perByte > 1 && absent)
    return createStringError("its data is packed, and absent");
  if (*place && perByte == 1 && !(*place)->file.empty() &&
      (bytes > inlineBytes || absent))
    return TensorConstant{onnx::ExternalAttr::get(context, (*place)->file,
                                                  (*place)->offset, bytes,
                                                  Type()),
                          *type};
  Expected<DenseElementsAttr> dense =
      *place ? fromBytes(*type, (*place)->bytes, perByte)
             : fromLists(*type, tensor);
  if (!dense)
    return dense.takeError();
  return TensorConstant{*dense, *type};
}
