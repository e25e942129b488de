// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/host/TensorProto.h"

#include "absl/strings/str_cat.h"
#include "onnx-ml.pb.h"
#include "runtime/files/InputFile.h"
#include "runtime/program/Errors.h"
#include "runtime/program/NearestNames.h"

#include <climits>
#include <cstring>

namespace wsec::runtime {

static Error badTensor(const std::string &file, const std::string &what) {
  return Error(ErrorClass::BadTensor, absl::StrCat(inQuotes(file), ": ", what));
}

/// Types that are younger than the message classes: from FLOAT8E4M3FN to INT2.
constexpr int firstSmall = 17, lastSmall = 26;

/// Elements of such a type in a byte of a file.
static unsigned elementsPerByte(int type) {
  const bool two = type == 25 || type == 26, four = type >= 21 && type <= 23;
  return two ? 4 : four ? 2 : 1;
}

/// A byte for each of `count` elements of 4 or 2 bits, the lowest bits first.
static std::vector<uint8_t> unpacked(const std::vector<uint8_t> &packed,
                                     unsigned perByte, uint64_t count) {
  if (packed.size() != (count + perByte - 1) / perByte)
    return packed;
  const unsigned bits = 8 / perByte;
  std::vector<uint8_t> result(count);
  for (uint64_t i = 0; i < count; ++i)
    result[i] =
        (packed[i / perByte] >> (i % perByte * bits)) & ((1u << bits) - 1);
  return result;
}

std::optional<DataType> dataTypeOf(int32_t onnxType) {
  switch (onnxType) {
  case onnx::TensorProto::FLOAT:
    return DataType::Float32;
  case onnx::TensorProto::FLOAT16:
    return DataType::Float16;
  case onnx::TensorProto::BFLOAT16:
    return DataType::BFloat16;
  case onnx::TensorProto::DOUBLE:
    return DataType::Float64;
  case onnx::TensorProto::BOOL:
    return DataType::Bool;
  case onnx::TensorProto::INT8:
    return DataType::Int8;
  case onnx::TensorProto::INT16:
    return DataType::Int16;
  case onnx::TensorProto::INT32:
    return DataType::Int32;
  case onnx::TensorProto::INT64:
    return DataType::Int64;
  case onnx::TensorProto::UINT8:
    return DataType::UInt8;
  case onnx::TensorProto::UINT16:
    return DataType::UInt16;
  case onnx::TensorProto::UINT32:
    return DataType::UInt32;
  case onnx::TensorProto::UINT64:
    return DataType::UInt64;
  default:
    if (onnxType >= firstSmall && onnxType <= lastSmall)
      return DataType::Bits8;
    return std::nullopt;
  }
}

static DataType typeOf(const onnx::TensorProto &proto,
                       const std::string &file) {
  if (const auto type = dataTypeOf(proto.data_type()))
    return *type;
  if (proto.data_type() == onnx::TensorProto::UNDEFINED)
    throw badTensor(file, "not an ONNX tensor: it has no element type");
  std::string name = absl::StrCat(proto.data_type());
  if (onnx::TensorProto::DataType_IsValid(proto.data_type()))
    name = onnx::TensorProto::DataType_Name(
        onnx::TensorProto::DataType(proto.data_type()));
  throw badTensor(file, "element type " + name + " of ONNX is not supported");
}

/// The low bytes of each number; little endian.
template <class Numbers>
static std::vector<uint8_t> lowBytes(const Numbers &numbers, uint32_t bytes) {
  std::vector<uint8_t> result(size_t(numbers.size()) * bytes);
  uint8_t *to = result.data();
  for (const auto number : numbers) {
    std::memcpy(to, &number, bytes);
    to += bytes;
  }
  return result;
}

/// From the field that ONNX has for elements of the type.
static std::vector<uint8_t> elementsOf(const onnx::TensorProto &proto,
                                       DataType type) {
  const uint32_t bytes = dataTypeBytes(type);
  if (proto.has_raw_data())
    return {proto.raw_data().begin(), proto.raw_data().end()};
  switch (type) {
  case DataType::Float32:
    return lowBytes(proto.float_data(), bytes);
  case DataType::Float64:
    return lowBytes(proto.double_data(), bytes);
  case DataType::Int64:
    return lowBytes(proto.int64_data(), bytes);
  case DataType::UInt32:
  case DataType::UInt64:
    return lowBytes(proto.uint64_data(), bytes);
  default:
    return lowBytes(proto.int32_data(), bytes);
  }
}

NamedTensor parseTensorProto(const uint8_t *data, uint64_t size,
                             const std::string &file) {
  if (size > INT_MAX)
    throw badTensor(file, absl::StrCat("it has ", size,
                                       " bytes, more than the ", INT_MAX,
                                       " that protobuf reads; write "
                                       "the tensor as .npy"));
  onnx::TensorProto proto;
  if (!proto.ParseFromArray(data, int(size)))
    throw badTensor(file, "not a whole ONNX tensor");
  if (proto.data_location() == onnx::TensorProto::EXTERNAL)
    throw badTensor(file, "tensors with external data are not supported here");
  HostTensor tensor{
      typeOf(proto, file), {proto.dims().begin(), proto.dims().end()}, {}};
  tensor.bytes = elementsOf(proto, tensor.type);
  const uint32_t bytes = dataTypeBytes(tensor.type);
  const auto elements = countElements(tensor.shape, bytes);
  if (const unsigned perByte = elementsPerByte(proto.data_type());
      elements && perByte > 1)
    tensor.bytes = unpacked(tensor.bytes, perByte, *elements);
  if (!elements || *elements * bytes != tensor.bytes.size())
    throw badTensor(file, absl::StrCat(describe(tensor.type, tensor.shape),
                                       " does not fit the ",
                                       tensor.bytes.size(), " bytes of data"));
  return {proto.name(), std::move(tensor)};
}

NamedTensor readTensorProto(const std::string &path) {
  const std::vector<uint8_t> file = readFile(path);
  return parseTensorProto(file.data(), file.size(), path);
}

} // namespace wsec::runtime
