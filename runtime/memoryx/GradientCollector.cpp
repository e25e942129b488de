// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/memoryx/GradientCollector.h"
#include "runtime/memoryx/Gradients.h"
#include "runtime/program/Checker.h"

#include <utility>

namespace wsec::runtime {

uint32_t GradientCollector::sourceOf(uint32_t output) const {
  const int alias = store.tensor(output).alias();
  return alias < 0 ? output : uint32_t(alias);
}

GradientCollector::GradientCollector(
    TensorStore &store, const std::map<uint32_t, uint64_t> &expected,
    TakeGradient take)
    : store(store), take(std::move(take)) {
  for (auto [tensor, elements] : expected)
    outputs[tensor].expected = elements;
  for (uint32_t i = 0; i < store.program().tensors()->size(); ++i) {
    const program::Tensor &tensor = store.tensor(i);
    if (tensor.role() != program::TensorRole::Output)
      continue;
    const uint32_t source = sourceOf(i);
    const program::TensorRole role = store.tensor(source).role();
    const bool isGiven = role != program::TensorRole::Output &&
                         role != program::TensorRole::Intermediate;
    if (!isGiven && !expected.count(source))
      continue; // of other entries
    Output &its = outputs[source];
    its.isShown |= !tensor.gradient() || role != program::TensorRole::Output;
    if (!tensor.gradient())
      continue;
    its.gradients.push_back(i);
    parameters[&parameterOf(store.program(), *tensor.gradient())]
        .outputs.push_back(i);
  }
  restart();
}

void GradientCollector::restart() {
  for (auto &[tensor, output] : outputs) {
    output.left = output.expected;
    output.isThere = false;
    output.unused = output.gradients.size();
  }
  for (auto &[tensor, parameter] : parameters)
    parameter = {std::move(parameter.outputs), 0, nullptr};
}

void GradientCollector::arrived(uint32_t output, uint64_t elements) {
  const auto its = outputs.find(output);
  if (its == outputs.end() || its->second.gradients.empty() ||
      its->second.left.fetch_sub(elements) != elements)
    return;
  Lock lock(adding);
  see(output);
}

void GradientCollector::finish() {
  Lock lock(adding);
  for (auto &[tensor, output] : outputs)
    if (!output.isThere && !output.gradients.empty())
      see(tensor);
}

void GradientCollector::see(uint32_t number) {
  Output &output = outputs.at(number);
  output.isThere = true;
  for (uint32_t gradient : output.gradients) {
    const program::Tensor &tensor =
        parameterOf(store.program(), *store.tensor(gradient).gradient());
    advance(parameters.at(&tensor), tensor);
  }
}

void GradientCollector::add(Parameter &parameter, uint32_t output,
                            const program::Tensor &tensor) {
  const uint64_t count = elementCount(tensor);
  if (parameter.outputs.size() == 1)
    if (const auto all = wholeGradient(store, output); !all.empty())
      return take(tensor, all);
  if (!parameter.sum)
    parameter.sum = TensorStore::zeros(count * sizeof(float));
  const std::span sum(reinterpret_cast<float *>(parameter.sum.get()), count);
  addGradient(store, output, sum);
  if (parameter.added + 1 < parameter.outputs.size())
    return;
  take(tensor, sum);
  parameter.sum.reset();
}

void GradientCollector::advance(Parameter &parameter,
                                const program::Tensor &tensor) {
  while (parameter.added < parameter.outputs.size()) {
    const uint32_t next = parameter.outputs[parameter.added];
    Output &source = outputs.at(sourceOf(next));
    if (!source.isThere)
      return;
    add(parameter, next, tensor);
    ++parameter.added;
    if (--source.unused == 0 && !source.isShown)
      store.takeOutput(sourceOf(next)); // It goes.
  }
}

} // namespace wsec::runtime
