// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/memoryx/ParameterStore.h"

#include "absl/numeric/int128.h"
#include "runtime/memoryx/Elements.h"
#include "runtime/memoryx/Parameter.h"
#include "runtime/program/Errors.h"
#include "runtime/program/NearestNames.h"

#include <array>
#include <cmath>

namespace wsec::runtime {

using program::ElementType;

namespace {

Error badCall(const std::string &what) {
  return Error(ErrorClass::BadCall, what);
}

/// What files and memory can count in bytes.
constexpr uint64_t mostElements = INT64_MAX / sizeof(float);

uint64_t countElements(const std::string &name,
                       const std::vector<uint64_t> &shape) {
  absl::uint128 count = 1;
  for (uint64_t extent : shape) {
    count *= extent;
    if (count > mostElements)
      throw badCall("parameter " + inQuotes(name) + " has more than " +
                    std::to_string(mostElements) +
                    " elements; split it into several");
  }
  return uint64_t(count);
}

void checkFloat(ElementType type) {
  if (type != ElementType::F32 && type != ElementType::F16 &&
      type != ElementType::BF16)
    throw badCall("parameters are F32, F16 or BF16, not " + typeName(type));
}

/// In f64, as sixteen sums of every sixteenth element: the same on every
/// machine, and as fast as memory.
double sumOfSquares(const float *values, uint64_t count) {
  constexpr size_t lanes = 16;
  std::array<double, lanes> sums = {};
  uint64_t i = 0;
  for (; i + lanes <= count; i += lanes)
    for (size_t lane = 0; lane < lanes; ++lane)
      sums[lane] += double(values[i + lane]) * double(values[i + lane]);
  for (; i < count; ++i)
    sums[i % lanes] += double(values[i]) * double(values[i]);
  for (size_t width = lanes / 2; width > 0; width /= 2)
    for (size_t lane = 0; lane < width; ++lane)
      sums[lane] += sums[lane + width];
  return sums[0];
}

} // namespace

ParameterStore::ParameterStore(StoreOptions options)
    : options(std::move(options)), scale(this->options.lossScale) {}

ParameterStore::~ParameterStore() = default;

size_t ParameterStore::add(const std::string &name, std::vector<uint64_t> shape,
                           bool isTrainable) {
  if (numbers.count(name))
    throw badCall("there is a parameter " + inQuotes(name) + " already");
  const uint64_t count = countElements(name, shape);
  auto parameter = std::make_unique<Parameter>(name, std::move(shape), count,
                                               isTrainable, options.folder);
  if (isTrainable) {
    parameter->update =
        options.updateOf ? options.updateOf(name) : options.update;
    for (Moment &moment : parameter->update->moments(parameter->shape)) {
      parameter->moments.push_back(std::make_unique<StateRegion>(
          countElements(name, moment.shape), options.folder));
      parameter->momentNames.push_back(std::move(moment));
    }
  }
  numbers.emplace(name, parameters.size());
  parameters.push_back(std::move(parameter));
  return parameters.size() - 1;
}

size_t ParameterStore::add(const FileTensor &tensor, bool isTrainable) {
  const auto type = floatType(tensor.type);
  if (!type)
    throw Error(ErrorClass::BadTensor, "tensor " + inQuotes(tensor.name) +
                                           " is " + tensor.type +
                                           "; parameters are F32, F16 or BF16");
  const size_t parameter = add(tensor.name, tensor.shape, isTrainable);
  write(parameter, *type, tensor.data);
  return parameter;
}

ParameterStore::Parameter &ParameterStore::at(size_t parameter) const {
  if (parameter >= parameters.size())
    throw badCall("there is no parameter " + std::to_string(parameter) +
                  " of " + std::to_string(parameters.size()));
  return *parameters[parameter];
}

const std::string &ParameterStore::name(size_t parameter) const {
  return at(parameter).name;
}

const std::vector<uint64_t> &ParameterStore::shape(size_t parameter) const {
  return at(parameter).shape;
}

uint64_t ParameterStore::elements(size_t parameter) const {
  return at(parameter).count;
}

bool ParameterStore::isTrainable(size_t parameter) const {
  return at(parameter).isTrainable;
}

size_t ParameterStore::find(const std::string &name) const {
  const auto found = numbers.find(name);
  if (found != numbers.end())
    return found->second;
  std::vector<std::string> names;
  for (const auto &entry : numbers)
    names.push_back(entry.first);
  throw badCall("there is no parameter " + inQuotes(name) +
                nearestNames(name, names));
}

void ParameterStore::write(size_t parameter, ElementType type,
                           const void *weights) {
  checkFloat(type);
  Parameter &its = at(parameter);
  {
    Lock lock(its.mutex);
    update(its);
    readElements(type, static_cast<const uint8_t *>(weights), 0, 1, its.count,
                 its.weights.data());
  }
  touched(its);
}

void ParameterStore::setMask(size_t parameter, std::vector<uint8_t> kept) {
  Parameter &its = at(parameter);
  checkTrainable(its);
  if (!kept.empty() && kept.size() != its.count)
    throw badCall("a mask of " + std::to_string(kept.size()) +
                  " elements for parameter " + inQuotes(its.name) +
                  ", which has " + std::to_string(its.count));
  {
    Lock lock(its.mutex);
    update(its);
    its.mask = std::move(kept);
    for (size_t i = 0; i < its.mask.size(); ++i) {
      if (its.mask[i])
        continue;
      its.weights.data()[i] = 0;
      for (size_t moment = 0; moment < its.moments.size(); ++moment)
        if (its.momentNames[moment].shape == its.shape)
          its.moments[moment]->data()[i] = 0;
    }
  }
  touched(its);
}

const std::vector<uint8_t> &ParameterStore::mask(size_t parameter) const {
  return at(parameter).mask;
}

const float *ParameterStore::gradient(size_t parameter) {
  Parameter &its = at(parameter);
  Lock lock(its.mutex);
  return its.isPending ? nullptr : its.gradient.total();
}

void ParameterStore::checkTrainable(const Parameter &parameter) const {
  if (!parameter.isTrainable)
    throw badCall("parameter " + inQuotes(parameter.name) +
                  " is frozen and takes no gradient");
}

void ParameterStore::accumulate(size_t parameter, ElementType type,
                                const void *gradient, uint64_t first,
                                uint64_t samples) {
  checkFloat(type);
  Parameter &its = at(parameter);
  checkTrainable(its);
  {
    Lock lock(its.mutex);
    // The sum of the last step is free once it was applied.
    update(its);
    its.gradient.add(type, gradient, first, samples);
  }
  touched(its);
}

void ParameterStore::accumulate(size_t parameter, const float *gradient) {
  Parameter &its = at(parameter);
  uint64_t next;
  {
    Lock lock(its.mutex);
    next = its.isPending ? 0 : its.gradient.samples();
  }
  accumulate(parameter, ElementType::F32, gradient, next, 1);
}

/// The samples of the step, the same of all trainable parameters.
uint64_t ParameterStore::checkSamples() const {
  const Parameter *first = nullptr;
  for (const auto &parameter : parameters) {
    if (!parameter->isTrainable)
      continue;
    if (!first)
      first = parameter.get();
    const uint64_t its =
                       parameter->isPending ? 0 : parameter->gradient.samples(),
                   firsts = first->isPending ? 0 : first->gradient.samples();
    if (its != firsts || its == 0)
      throw badCall("a step wants gradients of the same samples for all "
                    "parameters: " +
                    inQuotes(first->name) + " has those of " +
                    std::to_string(firsts) + ", " + inQuotes(parameter->name) +
                    " of " + std::to_string(its));
  }
  return first ? first->gradient.samples() : 0;
}

double ParameterStore::gradientNorm() {
  double sum = 0;
  for (const auto &parameter : parameters) {
    if (!parameter->isTrainable)
      continue;
    sum += sumOfSquares(parameter->gradient.total(), parameter->count);
    touched(*parameter);
  }
  return std::sqrt(sum);
}

ParameterStore::StepResult ParameterStore::endStep(double rate,
                                                   double divisor) {
  if (readers > 0)
    throw badCall("a step ends while weights are still streamed");
  checkSamples();
  for (const auto &parameter : parameters)
    if (!parameter->mask.empty())
      parameter->gradient.mask(parameter->mask);
  divisor *= lossScale();
  const double norm = gradientNorm() / divisor;
  const bool applied = std::isfinite(norm);
  if (scale)
    scale->afterStep(!applied);
  if (!applied) {
    dropGradients();
    return {norm, false};
  }
  ++count;
  learningRate = rate;
  gradientScale = 1 / divisor;
  if (options.clipNorm > 0)
    gradientScale *= std::min(1.0, options.clipNorm / (norm + 1e-6));
  for (const auto &parameter : parameters)
    parameter->isPending = parameter->isTrainable;
  return {norm, true};
}

void ParameterStore::dropGradients() {
  for (const auto &parameter : parameters)
    parameter->gradient.clear();
}

void ParameterStore::update(Parameter &parameter) {
  if (!parameter.isPending)
    return;
  parameter.isPending = false;
  ParameterStep step = {parameter.shape,
                        parameter.count,
                        parameter.weights.data(),
                        parameter.gradient.total(),
                        {},
                        gradientScale,
                        learningRate,
                        count};
  for (const auto &moment : parameter.moments)
    step.moments.push_back(moment->data());
  parameter.update->apply(step);
  parameter.gradient.clear();
}

void ParameterStore::read(size_t parameter, ElementType type, uint64_t first,
                          uint64_t count, void *to) {
  checkFloat(type);
  Parameter &its = at(parameter);
  if (first > its.count || count > its.count - first)
    throw badCall("elements [" + std::to_string(first) + ", " +
                  std::to_string(first + count) + ") of parameter " +
                  inQuotes(its.name) + ", which has " +
                  std::to_string(its.count));
  {
    Lock lock(its.mutex);
    update(its);
    writeElements(type, static_cast<uint8_t *>(to), 0, 1, count,
                  its.weights.data() + first);
  }
  touched(its);
}

std::shared_ptr<const uint8_t>
ParameterStore::elementsOf(const std::string &name, ElementType type,
                           uint64_t count) {
  const size_t parameter = find(name);
  Parameter &its = at(parameter);
  if (its.count != count)
    throw badCall("parameter " + inQuotes(name) + " has " +
                  std::to_string(its.count) + " elements, " +
                  std::to_string(count) + " are asked for");
  if (type != ElementType::F32) {
    auto words = std::make_shared<std::vector<uint16_t>>(count);
    read(parameter, type, 0, count, words->data());
    return {words, reinterpret_cast<const uint8_t *>(words->data())};
  }
  {
    Lock lock(its.mutex);
    update(its);
  }
  touched(its);
  // Nobody owns it but the store.
  return {std::shared_ptr<void>(),
          reinterpret_cast<const uint8_t *>(its.weights.data())};
}

std::vector<float> ParameterStore::weights(size_t parameter) {
  std::vector<float> result(elements(parameter));
  read(parameter, ElementType::F32, 0, result.size(), result.data());
  return result;
}

void ParameterStore::settle() {
  for (const auto &parameter : parameters) {
    {
      Lock lock(parameter->mutex);
      update(*parameter);
    }
    touched(*parameter);
  }
}

uint64_t ParameterStore::bytes() const {
  uint64_t sum = 0;
  for (const auto &parameter : parameters)
    sum += parameter->bytes();
  return sum;
}

void ParameterStore::touched(Parameter &parameter) {
  if (options.folder.empty())
    return;
  Lock lock(residency);
  if (parameter.lastUse != 0) {
    byUse.erase(parameter.lastUse);
    resident -= parameter.residentBytes;
  }
  {
    Lock its(parameter.mutex);
    parameter.residentBytes = parameter.bytes();
  }
  parameter.lastUse = ++clock;
  resident += parameter.residentBytes;
  byUse.emplace(parameter.lastUse, &parameter);
  for (auto next = byUse.begin();
       next != byUse.end() && resident > options.residentBytes;) {
    Parameter &oldest = *next->second;
    ++next;
    // One that is being used is touched again soon.
    if (oldest.mutex.try_lock()) {
      release(oldest);
      oldest.mutex.unlock();
    }
  }
}

void ParameterStore::release(Parameter &parameter) {
  parameter.weights.release();
  for (const auto &moment : parameter.moments)
    moment->release();
  parameter.gradient.release();
  byUse.erase(parameter.lastUse);
  parameter.lastUse = 0;
  resident -= parameter.residentBytes;
}

} // namespace wsec::runtime
