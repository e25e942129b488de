// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/values/Tensor.h"
#include "compiler/values/ElementTypes.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <cmath>
#include <cstring>

using namespace wsec::values;
using llvm::APFloat;
using llvm::ArrayRef;

static int64_t bitsOf(ElementType type) {
  switch (type) {
#define WSEC_BITS(Name, bits, as)                                              \
  case ElementType::Name:                                                      \
    return bits;
    WSEC_FLOAT_TYPES(WSEC_BITS)
    WSEC_INTEGER_TYPES(WSEC_BITS)
#undef WSEC_BITS
  }
  llvm_unreachable("unknown element type");
}

bool wsec::values::isFloat(ElementType type) {
  switch (type) {
#define WSEC_CASE(Name, bits, semantics) case ElementType::Name:
    WSEC_FLOAT_TYPES(WSEC_CASE)
#undef WSEC_CASE
    return true;
  default:
    return false;
  }
}

bool wsec::values::isSmallFloat(ElementType type) {
  return isFloat(type) && bitsOf(type) <= 8;
}

int64_t wsec::values::storedBytes(ElementType type) {
  return std::max<int64_t>(1, bitsOf(type) / 8);
}

std::optional<ElementType> wsec::values::elementTypeOfOnnx(int64_t number) {
  constexpr int64_t text = 8, complex64 = 14, complex128 = 15;
  if (number < int64_t(ElementType::Float32) ||
      number > int64_t(ElementType::Int2) || number == text ||
      number == complex64 || number == complex128)
    return std::nullopt;
  return ElementType(number);
}

static const llvm::fltSemantics &semanticsOf(ElementType type) {
  switch (type) {
#define WSEC_SEMANTICS(Name, bits, semantics)                                  \
  case ElementType::Name:                                                      \
    return APFloat::semantics();
    WSEC_FLOAT_TYPES(WSEC_SEMANTICS)
#undef WSEC_SEMANTICS
  default:
    llvm_unreachable("not a float");
  }
}

double wsec::values::largestOf(ElementType type) {
  APFloat largest = APFloat::getLargest(semanticsOf(type));
  bool exact;
  largest.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &exact);
  return largest.convertToDouble();
}

double wsec::values::roundTo(ElementType type, double value) {
  if (type == ElementType::Float64)
    return value;
  if (type == ElementType::Float32)
    return float(value);
  APFloat number(value);
  bool exact;
  number.convert(semanticsOf(type), APFloat::rmNearestTiesToEven, &exact);
  number.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &exact);
  return number.convertToDouble();
}

static bool isUnsigned(ElementType type) {
  enum { Signless, Unsigned };
  switch (type) {
#define WSEC_UNSIGNED(Name, bits, signedness)                                  \
  case ElementType::Name:                                                      \
    return signedness == Unsigned;
    WSEC_INTEGER_TYPES(WSEC_UNSIGNED)
#undef WSEC_UNSIGNED
  default:
    return false;
  }
}

int64_t wsec::values::wrapTo(ElementType type, int64_t value) {
  if (type == ElementType::Bool)
    return value != 0;
  const auto bits = unsigned(bitsOf(type));
  return isUnsigned(type) ? value & llvm::maskTrailingOnes<uint64_t>(bits)
                          : llvm::SignExtend64(value, bits);
}

int64_t wsec::values::truncate(double value) {
  if (std::isnan(value))
    return 0;
  if (value >= 9223372036854775807.0)
    return INT64_MAX;
  if (value <= -9223372036854775808.0)
    return INT64_MIN;
  return int64_t(value);
}

Tensor::Tensor(ElementType type, ArrayRef<int64_t> shape)
    : elementType(type), extents(shape.begin(), shape.end()),
      count(numElements(shape)) {
  if (isFloat(type))
    floats.resize(count);
  else
    integers.resize(count);
}

Tensor Tensor::ofInts(ArrayRef<int64_t> values) {
  Tensor tensor(ElementType::Int64, {int64_t(values.size())});
  tensor.integers.assign(values.begin(), values.end());
  return tensor;
}

Tensor Tensor::scalar(ElementType type, double value) {
  Tensor tensor(type, {});
  if (isFloat(type))
    tensor.setFloat(0, value);
  else
    tensor.setInt(0, truncate(value));
  return tensor;
}

void Tensor::setFloat(int64_t i, double value) {
  floats[i] = roundTo(elementType, value);
}
void Tensor::setInt(int64_t i, int64_t value) {
  integers[i] = wrapTo(elementType, value);
}
void Tensor::set(int64_t i, const Tensor &from, int64_t j) {
  if (isFloat(elementType))
    floats[i] = from.floats[j];
  else
    integers[i] = from.integers[j];
}

template <typename T>
static T read(const char *bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof(T));
  return value;
}
template <typename T>
static void write(char *bytes, T value) {
  std::memcpy(bytes, &value, sizeof(T));
}

static double readFloat(ElementType type, const char *bytes) {
  if (type == ElementType::Float64)
    return read<double>(bytes);
  if (type == ElementType::Float32)
    return read<float>(bytes);
  const llvm::fltSemantics &semantics = semanticsOf(type);
  uint64_t bits =
      storedBytes(type) == 1 ? read<uint8_t>(bytes) : read<uint16_t>(bytes);
  APFloat number(semantics, llvm::APInt(APFloat::getSizeInBits(semantics), bits,
                                        false, true));
  bool exact;
  number.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &exact);
  return number.convertToDouble();
}

static void writeFloat(ElementType type, double value, char *bytes) {
  if (type == ElementType::Float64)
    return write<double>(bytes, value);
  if (type == ElementType::Float32)
    return write<float>(bytes, float(value));
  APFloat number(value);
  bool exact;
  number.convert(semanticsOf(type), APFloat::rmNearestTiesToEven, &exact);
  const uint64_t bits = number.bitcastToAPInt().getZExtValue();
  if (storedBytes(type) == 1)
    write<uint8_t>(bytes, bits);
  else
    write<uint16_t>(bytes, bits);
}

Tensor Tensor::fromBytes(ElementType type, ArrayRef<int64_t> shape,
                         ArrayRef<char> bytes) {
  Tensor tensor(type, shape);
  int64_t width = storedBytes(type);
  for (int64_t i = 0; i < tensor.count; ++i) {
    const char *element = bytes.data() + i * width;
    if (isFloat(type)) {
      tensor.floats[i] = readFloat(type, element);
      continue;
    }
    int64_t value = 0;
    std::memcpy(&value, element, width);
    tensor.integers[i] = wrapTo(type, value); // extends the sign
  }
  return tensor;
}

std::vector<char> Tensor::toBytes() const {
  int64_t width = storedBytes(elementType);
  std::vector<char> result(count * width);
  for (int64_t i = 0; i < count; ++i) {
    if (isFloat(elementType))
      writeFloat(elementType, floats[i], &result[i * width]);
    else
      std::memcpy(&result[i * width], &integers[i], width);
  }
  return result;
}

Tensor Tensor::viewed(const StridedView &view) const {
  // A view of many atoms is read as a dense tensor of atoms.
  StridedView::Atoms atoms = view.atoms(0, view.rank());
  Shape sizes, strides;
  for (StridedView::Atom atom : atoms) {
    sizes.push_back(atom.size);
    strides.push_back(atom.stride);
  }
  Tensor result(elementType, view.shape());
  int64_t next = 0;
  if (result.count > 0)
    forEachPosition(sizes, view.getOffset(), strides, [&](int64_t position) {
      result.set(next++, *this, position);
    });
  return result;
}

Tensor Tensor::reshaped(ArrayRef<int64_t> shape) const {
  Tensor result = *this;
  result.extents.assign(shape.begin(), shape.end());
  return result;
}

/// A float as an unsigned integer of 64 bits.
static int64_t truncateUnsigned(double value) {
  constexpr double half = 9223372036854775808.0;
  if (!(value >= half))
    return truncate(value);
  return value >= 2 * half ? -1 : int64_t(uint64_t(value));
}

Tensor Tensor::cast(ElementType to) const {
  Tensor result(to, extents);
  const bool isUnsigned = elementType == ElementType::UInt64;
  for (int64_t i = 0; i < count; ++i) {
    if (to == ElementType::Float64 || (isFloat(to) && isFloat(elementType)))
      result.setFloat(i, asFloat(i));
    else if (isFloat(to)) // rounded once, not to double before
      result.setFloat(i, isUnsigned ? float(uint64_t(integers[i]))
                                    : float(integers[i]));
    else if (to == ElementType::UInt64 && isFloat(elementType))
      result.setInt(i, truncateUnsigned(floats[i]));
    else if (to == ElementType::Bool)
      result.setInt(i, asBool(i));
    else
      result.setInt(i, asInt(i));
  }
  return result;
}
