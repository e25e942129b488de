// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/host/TensorProto.h"
#include "runtime/program/Errors.h"
#include "runtime/program/MappedFile.h"

#include <cstring>

namespace wsec::runtime {

namespace {

/// Fields of TensorProto (onnx.proto).
enum Field {
  Dims = 1,
  Type = 2,
  FloatData = 4,
  Int32Data = 5,
  StringData = 6,
  Int64Data = 7,
  Name = 8,
  RawData = 9,
  DoubleData = 10,
  UInt64Data = 11,
  DataLocation = 14,
};

enum WireType { Varint = 0, Fixed64 = 1, Bytes = 2, Fixed32 = 5 };

class Parser {
public:
  Parser(const uint8_t *data, uint64_t size, const std::string &file)
      : at(data), end(data + size), file(file) {}

  NamedTensor parse();

private:
  Error error(const std::string &what) const {
    return Error(ErrorClass::BadTensor, "'" + file + "': " + what);
  }
  Error damaged() const { return error("not a whole ONNX tensor"); }
  uint64_t varint();
  const uint8_t *take(uint64_t bytes);
  uint64_t fixed(unsigned bytes);
  void readField(uint64_t key);
  template <typename Use>
  void readNumbers(int wire, int single, Use use);
  void append(uint64_t value, uint32_t bytes);
  void setType(uint64_t code);
  void finish();

  const uint8_t *at;
  const uint8_t *end;
  const std::string &file;
  NamedTensor result;
  bool typed = false;
  /// Numbers of the typed fields, as bits; narrowed once the type is known.
  std::vector<uint64_t> numbers;
  bool raw = false;
};

uint64_t Parser::varint() {
  uint64_t value = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    if (at == end)
      throw damaged();
    uint8_t byte = *at++;
    value |= uint64_t(byte & 0x7f) << shift;
    if (byte < 0x80)
      return value;
  }
  throw damaged();
}

const uint8_t *Parser::take(uint64_t bytes) {
  if (bytes > uint64_t(end - at))
    throw damaged();
  const uint8_t *start = at;
  at += bytes;
  return start;
}

uint64_t Parser::fixed(unsigned bytes) {
  uint64_t value = 0;
  std::memcpy(&value, take(bytes), bytes);
  return value;
}

/// A repeated number: one element, or packed ones. `single` is its wire type.
template <typename Use>
void Parser::readNumbers(int wire, int single, Use use) {
  auto one = [&] {
    use(single == Varint ? varint() : fixed(single == Fixed32 ? 4 : 8));
  };
  if (wire == single)
    return one();
  if (wire != Bytes)
    throw damaged();
  uint64_t bytes = varint();
  const uint8_t *outer = end;
  if (bytes > uint64_t(outer - at))
    throw damaged();
  end = at + bytes;
  while (at < end)
    one();
  end = outer;
}

void Parser::setType(uint64_t code) {
  static const struct {
    uint64_t code;
    DataType type;
  } types[] = {
      {1, DataType::Float32},  {2, DataType::UInt8},   {3, DataType::Int8},
      {4, DataType::UInt16},   {5, DataType::Int16},   {6, DataType::Int32},
      {7, DataType::Int64},    {9, DataType::Bool},    {10, DataType::Float16},
      {11, DataType::Float64}, {12, DataType::UInt32}, {13, DataType::UInt64},
      {16, DataType::BFloat16}};
  for (auto known : types)
    if (known.code == code) {
      result.tensor.type = known.type;
      typed = true;
      return;
    }
  throw error("element type " + std::to_string(code) +
              " of ONNX is not supported");
}

void Parser::readField(uint64_t key) {
  int wire = int(key & 7);
  auto number = [&](uint64_t value) { numbers.push_back(value); };
  switch (key >> 3) {
  case Dims:
    return readNumbers(wire, Varint, [&](uint64_t value) {
      result.tensor.shape.push_back(int64_t(value));
    });
  case FloatData:
    return readNumbers(wire, Fixed32, number);
  case DoubleData:
    return readNumbers(wire, Fixed64, number);
  case Int32Data:
  case Int64Data:
  case UInt64Data:
    return readNumbers(wire, Varint, number);
  case Type:
    if (wire != Varint)
      throw damaged();
    return setType(varint());
  case DataLocation:
    if (wire != Varint)
      throw damaged();
    if (varint() != 0)
      throw error("tensors with external data are not supported here");
    return;
  case Name:
  case RawData: {
    if (wire != Bytes)
      throw damaged();
    uint64_t size = varint();
    const uint8_t *data = take(size);
    if (key >> 3 == Name) {
      result.name.assign(reinterpret_cast<const char *>(data), size);
    } else {
      result.tensor.bytes.assign(data, data + size);
      raw = true;
    }
    return;
  }
  default:
    break;
  }
  // A field that does not matter here.
  if (wire == Varint)
    varint();
  else if (wire == Fixed64 || wire == Fixed32)
    take(wire == Fixed64 ? 8 : 4);
  else if (wire == Bytes)
    take(varint());
  else
    throw damaged();
}

void Parser::append(uint64_t value, uint32_t bytes) {
  for (uint32_t i = 0; i < bytes; ++i)
    result.tensor.bytes.push_back(uint8_t(value >> (8 * i)));
}

void Parser::finish() {
  if (!typed)
    throw error("not an ONNX tensor: it has no element type");
  HostTensor &tensor = result.tensor;
  uint32_t bytes = dataTypeBytes(tensor.type);
  if (!raw) {
    tensor.bytes.reserve(numbers.size() * bytes);
    for (uint64_t number : numbers)
      append(number, bytes);
  }
  auto elements = countElements(tensor.shape, bytes);
  if (!elements || *elements * bytes != tensor.bytes.size())
    throw error(describe(tensor.type, tensor.shape) + " does not fit the " +
                std::to_string(tensor.bytes.size()) + " bytes of data");
}

NamedTensor Parser::parse() {
  while (at < end)
    readField(varint());
  finish();
  return std::move(result);
}

} // namespace

NamedTensor parseTensorProto(const uint8_t *data, uint64_t size,
                             const std::string &file) {
  return Parser(data, size, file).parse();
}

NamedTensor readTensorProto(const std::string &path) {
  auto file = MappedFile::open(path);
  return parseTensorProto(file->data(), file->size(), path);
}

} // namespace wsec::runtime
