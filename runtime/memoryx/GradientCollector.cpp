// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/memoryx/GradientCollector.h"
#include "runtime/memoryx/Gradients.h"
#include "runtime/program/Checker.h"

#include <sys/mman.h>
#include <unistd.h>
#include <utility>

namespace wsec::runtime {

/// Lets go of an output. Whole pages go back at once: those of a heap would
/// wait until something takes them again.
static void letGo(TensorStore &store, uint32_t output) {
  const auto elements = store.takeOutput(output);
  const program::Tensor &tensor = store.tensor(output);
  const auto page = uintptr_t(::sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<uintptr_t>(elements.get());
  const uintptr_t first = (begin + page - 1) / page * page;
  const uintptr_t last =
      (begin + elementCount(tensor) * elementBytes(tensor.type())) / page *
      page;
  if (elements && first < last)
    (void)::madvise(reinterpret_cast<void *>(first), last - first,
                    MADV_DONTNEED);
}

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
    parameter = {std::move(parameter.outputs), 0, {}};
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

void GradientCollector::advance(Parameter &parameter,
                                const program::Tensor &tensor) {
  while (parameter.added < parameter.outputs.size()) {
    const uint32_t next = parameter.outputs[parameter.added];
    Output &source = outputs.at(sourceOf(next));
    if (!source.isThere)
      return;
    addGradient(store, next, parameter.sum);
    if (--source.unused == 0 && !source.isShown)
      letGo(store, sourceOf(next));
    if (++parameter.added < parameter.outputs.size())
      continue;
    take(tensor, parameter.sum);
    parameter.sum = {};
  }
}

} // namespace wsec::runtime
