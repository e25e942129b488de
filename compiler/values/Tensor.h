// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tensors whose elements are known at compile time, as plain arrays.
#ifndef COMPILER_VALUES_TENSOR_H
#define COMPILER_VALUES_TENSOR_H

#include "compiler/values/StridedView.h"
#include <string>
#include <type_traits>
#include <vector>

namespace wsec::values {

/// Element types of ONNX tensors that have numbers in them, as TensorProto
/// counts them.
enum class ElementType {
  Float32 = 1,
  UInt8 = 2,
  Int8 = 3,
  UInt16 = 4,
  Int16 = 5,
  Int32 = 6,
  Int64 = 7,
  Bool = 9,
  Float16 = 10,
  Float64 = 11,
  UInt32 = 12,
  UInt64 = 13,
  BFloat16 = 16,
  Float8E4M3FN = 17,
  Float8E4M3FNUZ = 18,
  Float8E5M2 = 19,
  Float8E5M2FNUZ = 20,
  UInt4 = 21,
  Int4 = 22,
  Float4E2M1FN = 23,
  Float8E8M0FNU = 24,
  UInt2 = 25,
  Int2 = 26
};

bool isFloat(ElementType type);
/// A float of 8 bits or less.
bool isSmallFloat(ElementType type);
/// The largest number of a float of 8 bits or less.
double largestOf(ElementType type);
/// Bytes of one stored element; those of less than 8 bits take one.
int64_t storedBytes(ElementType type);
/// Type number of ONNX's TensorProto, as in the `to` of Cast.
std::optional<ElementType> elementTypeOfOnnx(int64_t number);
/// The nearest value of the type: rounds floats to their precision, wraps
/// integers to their width.
double roundTo(ElementType type, double value);
int64_t wrapTo(ElementType type, int64_t value);
/// The integer towards zero. What ONNX leaves undefined is the nearest int64,
/// and 0 for NaN.
int64_t truncate(double value);

/// A dense row-major tensor. Floats are kept as double and integers and bools
/// as int64 (of 64 bits without a sign: their bits), already rounded to their
/// type: each operator is one loop, and
/// + - * / sqrt of two f32 rounded from double are exact f32 results.
class Tensor {
public:
  Tensor(ElementType type, llvm::ArrayRef<int64_t> shape);

  static Tensor ofInts(llvm::ArrayRef<int64_t> values);
  static Tensor scalar(ElementType type, double value);
  /// Little-endian elements as ONNX stores them.
  static Tensor fromBytes(ElementType type, llvm::ArrayRef<int64_t> shape,
                          llvm::ArrayRef<char> bytes);
  std::vector<char> toBytes() const;

  ElementType type() const { return elementType; }
  const Shape &shape() const { return extents; }
  int64_t size() const { return count; }
  int64_t bytes() const { return count * storedBytes(elementType); }

  double asFloat(int64_t i) const {
    if (isFloat(elementType))
      return floats[i];
    return elementType == ElementType::UInt64 ? double(uint64_t(integers[i]))
                                              : double(integers[i]);
  }
  int64_t asInt(int64_t i) const {
    return isFloat(elementType) ? truncate(floats[i]) : integers[i];
  }
  bool asBool(int64_t i) const {
    return isFloat(elementType) ? floats[i] != 0 : integers[i] != 0;
  }
  void setFloat(int64_t i, double value);
  void setInt(int64_t i, int64_t value);
  /// The element, by type: for code that is one for floats and for integers
  /// (see `withNumbers`).
  template <typename T>
  T get(int64_t i) const {
    if constexpr (std::is_floating_point_v<T>)
      return asFloat(i);
    else
      return T(asInt(i));
  }
  void put(int64_t i, double value) { setFloat(i, value); }
  void put(int64_t i, int64_t value) { setInt(i, value); }
  void put(int64_t i, uint64_t value) { setInt(i, int64_t(value)); }
  /// Copies one element of a tensor of the same type.
  void set(int64_t i, const Tensor &from, int64_t j);

  /// The elements a view of this tensor takes.
  Tensor viewed(const StridedView &view) const;
  /// A tensor of these elements in another shape of equally many.
  Tensor reshaped(llvm::ArrayRef<int64_t> shape) const;
  /// Elements converted as ONNX's Cast does.
  Tensor cast(ElementType to) const;

private:
  ElementType elementType;
  Shape extents;
  int64_t count;
  std::vector<double> floats;
  std::vector<int64_t> integers;
};

/// Calls `visit(position)` for each index of `view` in row-major order.
template <typename Visit>
void forEachPosition(const Shape &shape, int64_t offset, const Shape &strides,
                     Visit visit) {
  int64_t count = numElements(shape);
  if (count == 0)
    return;
  Shape index(shape.size(), 0);
  int64_t position = offset;
  for (int64_t i = 0;; ++i) {
    visit(position);
    if (i + 1 == count)
      return;
    for (size_t d = shape.size(); d-- > 0;) {
      position += strides[d];
      if (++index[d] < shape[d])
        break;
      position -= strides[d] * shape[d];
      index[d] = 0;
    }
  }
}

} // namespace wsec::values

#endif // COMPILER_VALUES_TENSOR_H
