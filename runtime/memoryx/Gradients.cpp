// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/memoryx/Gradients.h"
#include "runtime/memoryx/Elements.h"
#include "runtime/program/Checker.h"
#include "runtime/program/Errors.h"
#include "runtime/program/NearestNames.h"

#include <cstring>

namespace wsec::runtime {

const program::Tensor &parameterOf(const program::Program &program,
                                   const program::Gradient &gradient) {
  const std::string_view name = gradient.parameter()->string_view();
  for (const program::Tensor *tensor : *program.tensors())
    if (tensor->parameter() && tensor->parameter()->string_view() == name)
      return *tensor;
  throw Error(ErrorClass::BadProgram,
              "there is no parameter " + inQuotes(std::string(name)));
}

/// Elements of an output, or of what it equals.
static const float *valuesOf(const TensorStore &store, uint32_t output) {
  const int alias = store.tensor(output).alias();
  const auto source = alias < 0 ? output : uint32_t(alias);
  const bool isOutput =
      store.tensor(source).role() == program::TensorRole::Output;
  return reinterpret_cast<const float *>(isOutput ? store.outputElements(source)
                                                  : store.elements(source));
}

/// In row-major order, the last dimension as one run.
static void addView(const program::Tensor &tensor,
                    const program::Gradient &gradient, const float *values,
                    std::span<float> sum) {
  const uint64_t count = elementCount(tensor);
  std::vector<int64_t> shape, strides;
  if (gradient.strides() && gradient.strides()->size() > 0) {
    shape.assign(tensor.shape()->begin(), tensor.shape()->end());
    strides.assign(gradient.strides()->begin(), gradient.strides()->end());
  } else {
    shape = {int64_t(count)};
    strides = {1};
  }
  const int64_t length = shape.back(), step = strides.back();
  std::vector<int64_t> index(shape.size(), 0);
  int64_t at = gradient.offset();
  for (uint64_t done = 0; done < count; done += uint64_t(length)) {
    for (int64_t i = 0; i < length; ++i)
      sum[size_t(at + i * step)] += values[done + uint64_t(i)];
    for (size_t d = shape.size() - 1; d-- > 0;) {
      at += strides[d];
      if (++index[d] < shape[d])
        break;
      at -= strides[d] * shape[d];
      index[d] = 0;
    }
  }
}

static void addRows(const TensorStore &store, const program::Tensor &tensor,
                    const program::Tensor &parameter, const float *values,
                    std::span<float> sum) {
  const auto ids = uint32_t(tensor.gradient()->rows());
  const program::Tensor &rows = store.tensor(ids);
  const uint8_t *numbers = store.elements(ids);
  const int64_t count = parameter.shape()->Get(0),
                length = parameter.shape()->Get(1);
  for (uint64_t i = 0; i < elementCount(rows); ++i) {
    int64_t row = readIndex(rows.type(), numbers, i);
    if (row < -count || row >= count)
      throw Error(ErrorClass::BadTensor,
                  inQuotes(rows.name()->string_view()) + " names row " +
                      std::to_string(row) + " (element " + std::to_string(i) +
                      ") of parameter " +
                      inQuotes(parameter.parameter()->string_view()) +
                      ", which has " + std::to_string(count) + " rows");
    row += row < 0 ? count : 0;
    for (int64_t f = 0; f < length; ++f)
      sum[size_t(row * length + f)] += values[int64_t(i) * length + f];
  }
}

void addGradient(const TensorStore &store, uint32_t output,
                 std::span<float> sum) {
  const program::Tensor &tensor = store.tensor(output);
  const program::Gradient &gradient = *tensor.gradient();
  const program::Tensor &parameter = parameterOf(store.program(), gradient);
  if (gradient.rows() >= 0)
    addRows(store, tensor, parameter, valuesOf(store, output), sum);
  else
    addView(tensor, gradient, valuesOf(store, output), sum);
}

std::span<const float> wholeGradient(const TensorStore &store,
                                     uint32_t output) {
  const program::Tensor &tensor = store.tensor(output);
  const program::Gradient &gradient = *tensor.gradient();
  const uint64_t count = elementCount(parameterOf(store.program(), gradient));
  if (gradient.rows() >= 0 || gradient.offset() != 0 ||
      elementCount(tensor) != count)
    return {};
  int64_t step = 1;
  const unsigned rank = gradient.strides() ? gradient.strides()->size() : 0;
  for (unsigned d = rank; d-- > 0; step *= tensor.shape()->Get(d))
    if (tensor.shape()->Get(d) > 1 && gradient.strides()->Get(d) != step)
      return {};
  return {valuesOf(store, output), count};
}

Gradients gradientsOf(const TensorStore &store,
                      const std::set<uint32_t> &written) {
  Gradients gradients;
  for (uint32_t output : written)
    if (const program::Gradient *its = store.tensor(output).gradient()) {
      std::vector<float> &sum = gradients[its->parameter()->str()];
      sum.resize(elementCount(parameterOf(store.program(), *its)));
      addGradient(store, output, sum);
    }
  return gradients;
}

} // namespace wsec::runtime
