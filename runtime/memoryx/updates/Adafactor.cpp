// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/memoryx/updates/Update.h"

#include <algorithm>
#include <cmath>

namespace wsec::runtime {
namespace {

double rootMeanSquare(const float *values, size_t count) {
  double sum = 0;
  for (size_t i = 0; i < count; ++i)
    sum += double(values[i]) * values[i];
  return std::sqrt(sum / double(count));
}

/// old = beta old + (1 - beta) value.
void decay(float &old, double beta, double value) {
  old = float(beta * old + (1 - beta) * value);
}

class Adafactor : public Update {
public:
  explicit Adafactor(AdafactorOptions options) : options(options) {}

  std::string_view name() const override { return "adafactor"; }

  std::vector<Moment>
  moments(const std::vector<uint64_t> &shape) const override {
    std::vector<Moment> result;
    if (shape.size() >= 2) {
      std::vector<uint64_t> rows(shape.begin(), shape.end() - 1);
      std::vector<uint64_t> columns(shape.begin(), shape.end() - 2);
      columns.push_back(shape.back());
      result = {{"exp_avg_sq_row", rows}, {"exp_avg_sq_col", columns}};
    } else {
      result = {{"exp_avg_sq", shape}};
    }
    if (options.beta1 != 0)
      result.push_back({"exp_avg", shape});
    return result;
  }

  void apply(const ParameterStep &step) const override {
    if (step.count == 0)
      return;
    const double beta2 = 1 - std::pow(double(step.step), options.decayRate);
    if (step.shape.size() >= 2)
      factored(step, beta2);
    else
      whole(step, beta2);
  }

private:
  double square(const ParameterStep &step, size_t i) const {
    const double gradient = step.gradient[i] * float(step.gradientScale);
    return gradient * gradient + options.epsilonSquare;
  }

  double rateOf(const ParameterStep &step) const {
    double rate = step.learningRate;
    if (options.relativeStep)
      rate = std::min(rate, 1 / std::sqrt(double(step.step)));
    if (options.scaleParameter)
      rate *= std::max(options.epsilonScale,
                       rootMeanSquare(step.weights, step.count));
    return rate;
  }

  /// Of scalars and vectors.
  void whole(const ParameterStep &step, double beta2) const {
    float *const mean = step.moments[0];
    for (size_t i = 0; i < step.count; ++i)
      decay(mean[i], beta2, square(step, i));
    finish(step, step.moments.size() > 1 ? step.moments[1] : nullptr,
           [&](size_t i) { return 1 / std::sqrt(mean[i]); });
  }

  /// Of matrices, and of tensors that are stacks of matrices.
  void factored(const ParameterStep &step, double beta2) const {
    const size_t width = step.shape.back(),
                 height = step.shape[step.shape.size() - 2];
    const size_t size = width * height, matrices = step.count / size;
    // 1 / sqrt(row / mean of rows), 1 / sqrt(column).
    std::vector<float> rowFactor(matrices * height),
        columnFactor(matrices * width);
    for (size_t m = 0; m < matrices; ++m) {
      float *const rows = step.moments[0] + m * height;
      float *const columns = step.moments[1] + m * width;
      updateMeans(step, m * size, height, width, beta2, rows, columns);
      double mean = 0;
      for (size_t r = 0; r < height; ++r)
        mean += rows[r];
      mean /= double(height);
      for (size_t r = 0; r < height; ++r)
        rowFactor[m * height + r] = float(1 / std::sqrt(rows[r] / mean));
      for (size_t c = 0; c < width; ++c)
        columnFactor[m * width + c] = float(1 / std::sqrt(double(columns[c])));
    }
    finish(step, step.moments.size() > 2 ? step.moments[2] : nullptr,
           [&](size_t i) {
             const size_t row = i / width;
             return rowFactor[row] *
                    columnFactor[row / height * width + i % width];
           });
  }

  void updateMeans(const ParameterStep &step, size_t first, size_t height,
                   size_t width, double beta2, float *rows,
                   float *columns) const {
    std::vector<double> columnSums(width);
    for (size_t r = 0; r < height; ++r) {
      double rowSum = 0;
      for (size_t c = 0; c < width; ++c) {
        const double value = square(step, first + r * width + c);
        rowSum += value;
        columnSums[c] += value;
      }
      decay(rows[r], beta2, rowSum / double(width));
    }
    for (size_t c = 0; c < width; ++c)
      decay(columns[c], beta2, columnSums[c] / double(height));
  }

  /// Takes the step gradient * factor(i), clipped as a whole.
  template <typename Factor>
  void finish(const ParameterStep &step, float *first,
              const Factor &factor) const {
    const double rate = rateOf(step);
    const auto scale = float(step.gradientScale);
    auto change = [&](size_t i) {
      return factor(i) * (step.gradient[i] * scale);
    };
    double sum = 0;
    for (size_t i = 0; i < step.count; ++i)
      sum += double(change(i)) * change(i);
    const double size = std::sqrt(sum / double(step.count));
    const auto factorOfAll =
        float(rate / std::max(1.0, size / options.clipThreshold));
    const auto kept = float(1 - options.weightDecay * step.learningRate);
    const auto beta1 = float(options.beta1), rest1 = float(1 - options.beta1);
    for (size_t i = 0; i < step.count; ++i) {
      float its = change(i) * factorOfAll;
      if (first)
        its = first[i] = beta1 * first[i] + rest1 * its;
      step.weights[i] = step.weights[i] * kept - its;
    }
  }

  const AdafactorOptions options;
};

} // namespace

UpdatePtr adafactor(AdafactorOptions options) {
  return std::make_shared<Adafactor>(options);
}

} // namespace wsec::runtime
