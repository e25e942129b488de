// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/host/Lengths.h"

#include "absl/strings/str_cat.h"
#include "runtime/host/Session.h"
#include "runtime/program/Checker.h"
#include "runtime/program/Errors.h"
#include "runtime/program/NearestNames.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>

namespace wsec::runtime {

/// Where an element along an axis lies that is dealt to so many parts.
static size_t placeOf(size_t element, size_t extent, size_t parts) {
  const size_t part = element % parts;
  return part * (extent / parts) + std::min(part, extent % parts) +
         element / parts;
}

/// Calls `visit(i, j)` for elements of a tensor of the caller and the program's
/// at the same place, in the order of the former's.
template <typename Visit>
static void eachPlace(const std::vector<int64_t> &shape,
                      const program::Tensor &whole,
                      const program::Argument &length, Visit visit) {
  size_t count = 1;
  for (const int64_t extent : shape)
    count *= size_t(extent);
  for (size_t i = 0; i < count; ++i) {
    size_t rest = i, place = 0, stride = 1;
    for (size_t axis = shape.size(); axis-- > 0;) {
      const auto extent = size_t(whole.shape()->Get(uint32_t(axis)));
      size_t at = rest % size_t(shape[axis]);
      for (const uint8_t its : *whole.length_axes())
        if (its == axis)
          at = placeOf(at, extent, size_t(length.length_parts()));
      place += at * stride;
      rest /= size_t(shape[axis]);
      stride *= extent;
    }
    visit(i, place);
  }
}

HostTensor toLength(const HostTensor &whole, const program::Tensor &tensor,
                    const program::Argument &length, int64_t extent) {
  HostTensor result{whole.type, shapeAt(tensor, extent), {}};
  const size_t bytes = dataTypeBytes(whole.type);
  eachPlace(result.shape, tensor, length, [&](size_t, size_t place) {
    const auto from = whole.bytes.begin() + ptrdiff_t(place * bytes);
    result.bytes.insert(result.bytes.end(), from, from + ptrdiff_t(bytes));
  });
  return result;
}

HostTensor fromLength(const HostTensor &given, const program::Tensor &tensor,
                      const program::Argument &length) {
  HostTensor result{given.type, shapeOf(tensor), {}};
  const size_t bytes = dataTypeBytes(given.type);
  result.bytes.resize(elementCount(tensor) * bytes);
  eachPlace(result.shape, tensor, length, [&](size_t i, size_t place) {
    size_t from = 0, stride = 1;
    for (size_t axis = given.shape.size(); axis-- > 0;) {
      const auto extent = size_t(given.shape[axis]);
      from += std::min(i % size_t(result.shape[axis]), extent - 1) * stride;
      i /= size_t(result.shape[axis]);
      stride *= extent;
    }
    std::memcpy(&result.bytes[place * bytes], &given.bytes[from * bytes],
                bytes);
  });
  return result;
}

/// The store has the number for kernels that compute with it.
static HostTensor numberOf(const program::Tensor &tensor, int64_t length) {
  HostTensor number{dataType(tensor.type()), {1}, {}};
  number.bytes.resize(elementBytes(tensor.type()));
  std::memcpy(number.bytes.data(), &length, number.bytes.size());
  return number;
}

Call Session::withLength(const Call &call) {
  const program::Argument *length = lengthOf(call.entry());
  if (!length)
    return call;
  int64_t found = 0;
  std::string by;
  for (const auto &[input, its] : lengths) {
    const program::Tensor &tensor = store.tensor(input);
    if (tensor.role() != program::TensorRole::Input)
      continue;
    const std::string name = inQuotes(tensor.name()->string_view());
    if (!by.empty() && found != its)
      throw Error(ErrorClass::BadTensor,
                  absl::StrCat("input ", name, " has length ", its, ", and ",
                               by, " has ", found,
                               "; give all inputs of a call one length"));
    found = its;
    by = name;
  }
  if (by.empty())
    throw Error(ErrorClass::BadTensor,
                absl::StrCat("no input is given that has a length, from ",
                             length->from(), " to ", length->to()));
  const auto number = uint32_t(length->length_tensor());
  auto held =
      std::make_shared<const HostTensor>(numberOf(store.tensor(number), found));
  store.bindInput(number, held->bytes.data(), held);
  std::vector<int64_t> values = call.arguments();
  for (uint32_t i = 0; i < values.size(); ++i)
    if (call.entry().arguments()->Get(i) == length)
      values[i] = found;
  return Call(call.program(), call.entryIndex(), std::move(values))
      .until(call.launches());
}

void Session::noteLengths(const Call &call) {
  const program::Argument *length = lengthOf(call.entry());
  for (uint32_t i = 0; length && i < call.arguments().size(); ++i)
    if (call.entry().arguments()->Get(i) == length)
      for (uint32_t output = 0; output < program().tensors()->size(); ++output)
        if (store.tensor(output).role() == program::TensorRole::Output)
          lengths[output] = call.arguments()[i];
}

} // namespace wsec::runtime
