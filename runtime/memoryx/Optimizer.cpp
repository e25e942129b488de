// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/memoryx/Optimizer.h"

#include <algorithm>
#include <cmath>

namespace wsec::runtime {

size_t Optimizer::add(std::vector<float> weights) {
  Tensor &tensor = tensors.emplace_back();
  tensor.gradient.resize(weights.size());
  tensor.weights = std::move(weights);
  return tensors.size() - 1;
}

void Optimizer::accumulate(size_t index, const float *gradient) {
  Tensor &tensor = tensors.at(index);
  // The accumulator of the last step is free once it was applied.
  update(tensor);
  for (size_t i = 0; i < tensor.gradient.size(); ++i)
    tensor.gradient[i] += gradient[i];
}

/// In f64, in the order of elements: the same on every machine.
static double squares(const std::vector<float> &values) {
  double sum = 0;
  for (float value : values)
    sum += double(value) * double(value);
  return sum;
}

Optimizer::StepResult Optimizer::endStep(double learningRate, double divisor) {
  // A tensor without a gradient in this step may still have the last one's.
  updateAll();
  double sum = 0;
  for (const Tensor &tensor : tensors)
    sum += squares(tensor.gradient);
  const double norm = std::sqrt(sum) / divisor;
  if (!std::isfinite(norm)) {
    for (Tensor &tensor : tensors)
      std::fill(tensor.gradient.begin(), tensor.gradient.end(), 0.0F);
    return {norm, false};
  }
  ++count;
  step.learningRate = learningRate;
  step.gradientScale = 1 / divisor;
  // As torch.nn.utils.clip_grad_norm_.
  if (rule.clipNorm > 0)
    step.gradientScale *= std::min(1.0, rule.clipNorm / (norm + 1e-6));
  for (Tensor &tensor : tensors)
    tensor.pending = true;
  return {norm, true};
}

const std::vector<float> &Optimizer::weights(size_t index) {
  Tensor &tensor = tensors.at(index);
  update(tensor);
  return tensor.weights;
}

void Optimizer::updateAll() {
  for (Tensor &tensor : tensors)
    update(tensor);
}

void Optimizer::update(Tensor &tensor) {
  if (!tensor.pending)
    return;
  tensor.pending = false;
  if (rule.kind == UpdateRule::Kind::Sgd)
    updateSgd(tensor);
  else
    updateAdamW(tensor);
  std::fill(tensor.gradient.begin(), tensor.gradient.end(), 0.0F);
}

/// v = momentum v + (g + decay w); w -= rate v. The first v is the first g.
void Optimizer::updateSgd(Tensor &tensor) const {
  const auto scale = float(step.gradientScale), rate = float(step.learningRate);
  const auto momentum = float(rule.momentum), decay = float(rule.weightDecay);
  const bool isFirst = tensor.first.empty();
  if (rule.momentum != 0)
    tensor.first.resize(tensor.weights.size());
  for (size_t i = 0; i < tensor.weights.size(); ++i) {
    float change = tensor.gradient[i] * scale + decay * tensor.weights[i];
    if (rule.momentum != 0) {
      if (!isFirst)
        change += momentum * tensor.first[i];
      tensor.first[i] = change;
    }
    tensor.weights[i] -= rate * change;
  }
}

/// Loshchilov and Hutter 2019, in the order of torch.optim.AdamW.
void Optimizer::updateAdamW(Tensor &tensor) const {
  const auto scale = float(step.gradientScale);
  const auto beta1 = float(rule.beta1), beta2 = float(rule.beta2);
  const auto rest1 = float(1 - rule.beta1), rest2 = float(1 - rule.beta2);
  const auto kept = float(1 - step.learningRate * rule.weightDecay);
  const double times = double(count);
  const auto rate =
      float(step.learningRate / (1 - std::pow(rule.beta1, times)));
  const auto root = float(std::sqrt(1 - std::pow(rule.beta2, times)));
  const auto epsilon = float(rule.epsilon);
  tensor.first.resize(tensor.weights.size());
  tensor.second.resize(tensor.weights.size());
  for (size_t i = 0; i < tensor.weights.size(); ++i) {
    const float gradient = tensor.gradient[i] * scale;
    float &first = tensor.first[i], &second = tensor.second[i];
    first = beta1 * first + rest1 * gradient;
    second = beta2 * second + rest2 * (gradient * gradient);
    const float divisor = std::sqrt(second) / root + epsilon;
    tensor.weights[i] = tensor.weights[i] * kept - rate * (first / divisor);
  }
}

} // namespace wsec::runtime
