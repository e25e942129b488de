// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/host/Npy.h"

#include "absl/strings/str_cat.h"
#include "runtime/files/InputFile.h"
#include "runtime/program/Errors.h"
#include "runtime/program/NearestNames.h"

#include <algorithm>
#include <cstring>
#include <string_view>

namespace wsec::runtime {

namespace {

constexpr std::string_view magic("\x93NUMPY", 6);

/// Type codes without the byte order. V2 and V1 are what ml_dtypes calls
/// bfloat16 and the types of Bits8, f1 one of these.
struct TypeCode {
  const char *code;
  DataType type;
};
constexpr TypeCode typeCodes[] = {
    {"f4", DataType::Float32},  {"f2", DataType::Float16},
    {"V2", DataType::BFloat16}, {"i4", DataType::Int32},
    {"i8", DataType::Int64},    {"b1", DataType::Bool},
    {"f8", DataType::Float64},  {"i1", DataType::Int8},
    {"i2", DataType::Int16},    {"u1", DataType::UInt8},
    {"u2", DataType::UInt16},   {"u4", DataType::UInt32},
    {"u8", DataType::UInt64},   {"V1", DataType::Bits8},
    {"f1", DataType::Bits8}};

Error badArray(const std::string &name, const std::string &what) {
  return Error(ErrorClass::BadTensor, inQuotes(name) + ": " + what);
}

/// The header of a .npy file: a Python dictionary of three known keys.
struct Header {
  std::string_view text;
  const std::string &name;

  /// What follows `'key':`.
  std::string_view value(std::string_view key) const {
    for (char quote : {'\'', '"'}) {
      std::string quoted = quote + std::string(key) + quote;
      size_t at = text.find(quoted);
      if (at == text.npos)
        continue;
      std::string_view rest = text.substr(at + quoted.size());
      size_t start = rest.find_first_not_of(" :");
      if (start != rest.npos)
        return rest.substr(start);
    }
    throw badArray(name, "the header has no " + std::string(key));
  }

  DataType type() const {
    std::string_view rest = value("descr");
    char quote = rest[0];
    size_t end = rest.find(quote, 1);
    if ((quote != '\'' && quote != '"') || end == rest.npos)
      throw badArray(name, "arrays of records are not supported");
    std::string_view code = rest.substr(1, end - 1);
    for (const TypeCode &known : typeCodes)
      if (code.size() == 3 && code.substr(1) == known.code) {
        bool bytes = dataTypeBytes(known.type) == 1;
        if (code[0] == '<' || code[0] == '=' || (code[0] == '|' && bytes) ||
            (code[0] == '|' && known.type == DataType::BFloat16))
          return known.type;
      }
    throw badArray(name, "element type " + inQuotes(code) +
                             " is not supported; expected a little-endian "
                             "number or boolean such as '<f4'");
  }

  bool fortran() const { return value("fortran_order").starts_with("True"); }

  std::vector<int64_t> shape() const {
    std::string_view rest = value("shape");
    size_t end = rest.find(')');
    if (rest[0] != '(' || end == rest.npos)
      throw badArray(name, "the header has no legible shape");
    std::vector<int64_t> shape;
    int64_t number = -1;
    for (char c : rest.substr(1, end - 1)) {
      if (c >= '0' && c <= '9') {
        number = std::max<int64_t>(number, 0) * 10 + (c - '0');
        if (number > int64_t(1) << 50)
          throw badArray(name, "the shape is too large");
      } else if (c == ',' && number >= 0) {
        shape.push_back(number);
        number = -1;
      } else if (c != ' ' && c != 'L') {
        throw badArray(name, "the header has no legible shape");
      }
    }
    if (number >= 0)
      shape.push_back(number);
    return shape;
  }
};

/// Elements of column-major `from` in row-major order.
std::vector<uint8_t> rowMajor(const std::vector<uint8_t> &from,
                              const std::vector<int64_t> &shape,
                              uint32_t bytes) {
  std::vector<uint8_t> to(from.size());
  std::vector<int64_t> index(shape.size());
  std::vector<uint64_t> strides(shape.size());
  uint64_t stride = 1;
  for (size_t d = 0; d < shape.size(); ++d) {
    strides[d] = stride;
    stride *= uint64_t(shape[d]);
  }
  for (uint64_t i = 0; i < from.size() / bytes; ++i) {
    uint64_t source = 0;
    for (size_t d = 0; d < shape.size(); ++d)
      source += uint64_t(index[d]) * strides[d];
    std::memcpy(to.data() + i * bytes, from.data() + source * bytes, bytes);
    for (size_t d = shape.size(); d-- > 0;) {
      if (++index[d] < shape[d])
        break;
      index[d] = 0;
    }
  }
  return to;
}

} // namespace

NpyHeader parseNpyHeader(const uint8_t *data, uint64_t size,
                         const std::string &name) {
  if (size < 10 || std::memcmp(data, magic.data(), magic.size()) != 0)
    throw badArray(name, "not a .npy file; an archive of several tensors, "
                         ".npz, is given whole with --inputs");
  uint8_t version = data[6];
  if (version < 1 || version > 3)
    throw badArray(
        name, absl::StrCat("version ", version, " of .npy is not supported"));
  uint64_t start = version == 1 ? 10 : 12;
  uint64_t length = data[8] | data[9] << 8;
  if (version > 1 && size >= start)
    length |= uint64_t(data[10]) << 16 | uint64_t(data[11]) << 24;
  if (start + length > longestNpyHeader)
    throw badArray(name, absl::StrCat("the header takes ", start + length,
                                      " bytes, more than ", longestNpyHeader));
  if (size < start || length > size - start)
    throw badArray(name, "the header is cut off");
  Header text{{reinterpret_cast<const char *>(data) + start, length}, name};
  NpyHeader header{text.type(), text.shape(), text.fortran(), start + length,
                   0};
  const uint32_t bytes = dataTypeBytes(header.type);
  const auto elements = countElements(header.shape, bytes);
  if (!elements)
    throw badArray(name, "the shape is too large");
  header.bytes = *elements * bytes;
  return header;
}

void requireElements(const NpyHeader &header, uint64_t found,
                     const std::string &name) {
  if (found != header.bytes)
    throw badArray(name,
                   absl::StrCat(describe(header.type, header.shape), " takes ",
                                header.bytes, " bytes, found ", found));
}

HostTensor makeTensor(const NpyHeader &header, std::vector<uint8_t> elements) {
  if (header.fortran && header.shape.size() > 1)
    elements = rowMajor(elements, header.shape, dataTypeBytes(header.type));
  return {header.type, header.shape, std::move(elements)};
}

HostTensor parseNpy(const uint8_t *data, uint64_t size,
                    const std::string &name) {
  const NpyHeader header = parseNpyHeader(data, size, name);
  requireElements(header, size - header.start, name);
  return makeTensor(header, {data + header.start, data + size});
}

std::string formatNpy(const HostTensor &tensor) {
  std::string shape = "(";
  for (int64_t dimension : tensor.shape)
    shape += std::to_string(dimension) + ", ";
  if (tensor.shape.size() > 1)
    shape.resize(shape.size() - 2);
  else if (!tensor.shape.empty())
    shape.pop_back();
  const char *code = "";
  for (const TypeCode &known : typeCodes)
    if (known.type == tensor.type && !*code)
      code = known.code;
  char order = dataTypeBytes(tensor.type) == 1 ? '|' : '<';
  std::string header = std::string("{'descr': '") + order + code +
                       "', 'fortran_order': False, 'shape': " + shape + "), }";
  // The elements start at a multiple of 64 bytes.
  constexpr size_t prefix = 10, alignment = 64;
  size_t end = (prefix + header.size() + 1 + alignment - 1) / alignment;
  header.resize(end * alignment - prefix - 1, ' ');
  header += '\n';
  std::string file(magic);
  file += {'\x01', '\x00'};
  file += {char(header.size() & 0xff), char(header.size() >> 8)};
  file += header;
  file.append(reinterpret_cast<const char *>(tensor.bytes.data()),
              tensor.bytes.size());
  return file;
}

HostTensor readNpy(const std::string &path) {
  const std::vector<uint8_t> file = readFile(path);
  return parseNpy(file.data(), file.size(), path);
}

NamedTensors readNpz(const std::string &path, const AcceptTensor &accept) {
  const std::vector<uint8_t> file = readFile(path);
  return parseNpz(file.data(), file.size(), path, accept);
}

} // namespace wsec::runtime
