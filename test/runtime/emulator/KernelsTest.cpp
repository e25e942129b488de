// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/emulator/VectorKernels.h"

#include "runtime/program/program_generated.h"

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <gtest/gtest.h>
#include <limits>
#include <random>
#include <vector>

namespace wsec::runtime {
namespace {

using program::Opcode;

std::vector<float> randomFloats(size_t n, unsigned seed, float low,
                                float high) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<float> distribution(low, high);
  std::vector<float> values(n);
  for (float &value : values)
    value = distribution(generator);
  return values;
}

/// Distance in units in the last place of the expected value.
double ulps(float got, double expected) {
  float rounded = float(expected);
  if (std::isnan(rounded) || std::isinf(rounded))
    return (std::isnan(rounded) ? std::isnan(got) : got == rounded) ? 0 : 1e9;
  float next = std::nextafter(std::fabs(rounded), INFINITY);
  return std::fabs(double(got) - expected) /
         (double(next) - std::fabs(double(rounded)));
}

struct FunctionCase {
  Opcode op;
  double (*reference)(double);
  float low, high;
};

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

TEST(KernelsTest, FunctionsAreWithinOneUlp) {
  const FunctionCase cases[] = {{Opcode::Exp, std::exp, -104, 89},
                                {Opcode::Log, std::log, 0, 1e6f},
                                {Opcode::Tanh, std::tanh, -12, 12},
                                {Opcode::Erf, std::erf, -5, 5},
                                {Opcode::Sigmoid, sigmoid, -90, 90},
                                {Opcode::Sin, std::sin, -1e5f, 1e5f},
                                {Opcode::Cos, std::cos, -1e3f, 1e3f},
                                {Opcode::Tanh, std::tanh, -1e-3f, 1e-3f},
                                {Opcode::Erf, std::erf, -1e-3f, 1e-3f}};
  for (const FunctionCase &c : cases) {
    std::vector<float> x = randomFloats(20000, 7, c.low, c.high), y(x.size());
    applyVector(c.op, x.size(), y.data(), {x.data(), false}, {});
    double worst = 0;
    for (size_t i = 0; i < x.size(); ++i)
      worst = std::max(worst, ulps(y[i], c.reference(double(x[i]))));
    EXPECT_LE(worst, 1.0) << program::EnumNameOpcode(c.op);
  }
}

TEST(KernelsTest, FunctionsOfSpecialValues) {
  const float inf = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  auto one = [](Opcode op, float a, float b = 0) {
    float result = 0;
    applyVector(op, 1, &result, {&a, true}, {&b, true});
    return result;
  };
  EXPECT_EQ(one(Opcode::Exp, -inf), 0);
  EXPECT_EQ(one(Opcode::Exp, inf), inf);
  EXPECT_TRUE(std::isnan(one(Opcode::Exp, nan)));
  EXPECT_EQ(one(Opcode::Log, 0), -inf);
  EXPECT_EQ(one(Opcode::Log, inf), inf);
  EXPECT_TRUE(std::isnan(one(Opcode::Log, -1)));
  EXPECT_EQ(one(Opcode::Tanh, inf), 1);
  EXPECT_EQ(one(Opcode::Erf, -inf), -1);
  EXPECT_TRUE(std::isnan(one(Opcode::Sin, inf)));
  EXPECT_TRUE(std::isnan(one(Opcode::Max, 1, nan)));
  EXPECT_TRUE(std::isnan(one(Opcode::Min, nan, 1)));
  EXPECT_EQ(one(Opcode::Pow, -2, 3), -8);
  EXPECT_EQ(one(Opcode::Pow, 2, 0.5f), float(std::sqrt(2.0)));
  EXPECT_EQ(one(Opcode::Pow, 0, 0), 1);
  EXPECT_EQ(one(Opcode::Round, 2.5f), 2);
  EXPECT_EQ(one(Opcode::Sign, -3), -1);
  EXPECT_EQ(one(Opcode::Sign, 0), 0);
}

TEST(KernelsTest, ResultsDoNotDependOnThePlaceInAVector) {
  std::vector<float> a = randomFloats(67, 1, 0.1f, 3),
                     b = randomFloats(67, 2, -3, 3);
  for (int op = 0; op <= int(Opcode::Select); ++op) {
    std::vector<float> whole(a.size(), 0.5f), single(a.size(), 0.5f);
    applyVector(Opcode(op), a.size(), whole.data(), {a.data(), false},
                {b.data(), false});
    for (size_t i = 0; i < a.size(); ++i)
      applyVector(Opcode(op), 1, &single[i], {&a[i], false}, {&b[i], false});
    EXPECT_EQ(std::memcmp(whole.data(), single.data(), a.size() * 4), 0)
        << program::EnumNameOpcode(Opcode(op));
  }
}

TEST(KernelsTest, ProductsEqualThePlainLoopBitForBit) {
  for (size_t rows : {1, 3, 7, 24})
    for (size_t depth : {1, 5, 300})
      for (size_t columns : {1, 4, 15, 16, 33, 128}) {
        std::vector<float> a = randomFloats(rows * depth, 3, -1, 1);
        std::vector<float> b = randomFloats(depth * columns, 4, -1, 1);
        std::vector<float> c = randomFloats(rows * columns, 5, -1, 1);
        std::vector<float> expected = c;
        for (size_t i = 0; i < rows; ++i)
          for (size_t m = 0; m < columns; ++m)
            for (size_t k = 0; k < depth; ++k)
              expected[i * columns + m] =
                  std::fma(a[i * depth + k], b[k * columns + m],
                           expected[i * columns + m]);
        accumulateProducts({rows, depth, columns, c.data(), ptrdiff_t(columns),
                            a.data(), ptrdiff_t(depth), 1, b.data(),
                            ptrdiff_t(columns)});
        EXPECT_EQ(std::memcmp(c.data(), expected.data(), c.size() * 4), 0)
            << rows << " x " << depth << " x " << columns;
      }
}

} // namespace
} // namespace wsec::runtime
