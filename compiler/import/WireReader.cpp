// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/import/WireReader.h"
#include "llvm/Support/Endian.h"
#include <cstring>

using namespace wsec;
using llvm::StringRef;

float WireField::real() const {
  uint32_t low = static_cast<uint32_t>(bits);
  float value;
  std::memcpy(&value, &low, sizeof(value));
  return value;
}

bool WireReader::fail(const llvm::Twine &what) {
  size_t position = rest.data() - file.data();
  problem = (what + " at byte " + llvm::Twine(position)).str();
  return false;
}

/// Seven bits a byte, lowest first; the top bit says that more follow.
static bool takeVarint(StringRef &bytes, uint64_t &value) {
  value = 0;
  for (unsigned i = 0; i < 10 && i < bytes.size(); ++i) {
    uint64_t byte = static_cast<uint8_t>(bytes[i]);
    value |= (byte & 0x7f) << (7 * i);
    if (byte < 0x80) {
      bytes = bytes.drop_front(i + 1);
      return true;
    }
  }
  return false;
}

bool WireReader::readVarint(uint64_t &value) {
  if (takeVarint(rest, value))
    return true;
  endedEarly = rest.size() < 10;
  return fail("malformed number");
}

bool WireReader::readFixed(unsigned size, uint64_t &value) {
  if (rest.size() < size) {
    endedEarly = true;
    return fail("number is cut off");
  }
  value = size == 4 ? llvm::support::endian::read32le(rest.data())
                    : llvm::support::endian::read64le(rest.data());
  rest = rest.drop_front(size);
  return true;
}

bool WireReader::next(WireField &field) {
  if (rest.empty() || failed())
    return false;
  uint64_t tag, length;
  if (!readVarint(tag))
    return false;
  field.bytes = StringRef();
  field.number = static_cast<uint32_t>(tag >> 3);
  field.kind = static_cast<WireField::Kind>(tag & 7);
  if (field.number == 0 || tag >> 32)
    return fail("malformed field");
  switch (field.kind) {
  case WireField::Varint:
    return readVarint(field.bits);
  case WireField::Fixed64:
    return readFixed(8, field.bits);
  case WireField::Fixed32:
    return readFixed(4, field.bits);
  case WireField::Bytes:
    if (!readVarint(length))
      return false;
    if (length > rest.size()) {
      endedEarly = true;
      return fail(llvm::Twine(length) + " bytes announced, " +
                  llvm::Twine(rest.size()) + " left,");
    }
    field.bytes = rest.take_front(length);
    rest = rest.drop_front(length);
    return true;
  }
  return fail("malformed field");
}

bool wsec::appendIntegers(const WireField &field,
                          llvm::SmallVectorImpl<int64_t> &values) {
  if (field.kind != WireField::Bytes) {
    values.push_back(field.integer());
    return field.kind == WireField::Varint;
  }
  for (StringRef rest = field.bytes; !rest.empty();) {
    uint64_t value;
    if (!takeVarint(rest, value))
      return false;
    values.push_back(static_cast<int64_t>(value));
  }
  return true;
}

template <typename T>
static bool appendFixed(const WireField &field, WireField::Kind single,
                        llvm::SmallVectorImpl<T> &values) {
  if (field.kind == single) {
    std::memcpy(&values.emplace_back(), &field.bits, sizeof(T));
    return true;
  }
  if (field.kind != WireField::Bytes || field.bytes.size() % sizeof(T) != 0)
    return false;
  size_t before = values.size(), count = field.bytes.size() / sizeof(T);
  values.resize(before + count);
  if (count)
    std::memcpy(values.data() + before, field.bytes.data(), field.bytes.size());
  return true;
}

bool wsec::appendFloats(const WireField &field,
                        llvm::SmallVectorImpl<float> &values) {
  return appendFixed(field, WireField::Fixed32, values);
}

bool wsec::appendDoubles(const WireField &field,
                         llvm::SmallVectorImpl<double> &values) {
  return appendFixed(field, WireField::Fixed64, values);
}
