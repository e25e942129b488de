// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/pe/Arithmetic.h"
#include "runtime/pe/VectorKernels.h"

#include "runtime/strips/Execute.h"

#include "runtime/program/program_generated.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <gtest/gtest.h>
#include <limits>
#include <optional>
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

/// All functions of the table, also those that have no vector form.
TEST(KernelsTest, FunctionsHaveTheirValuesInTheTable) {
  std::vector<float> values = randomFloats(2000, 9, -20, 20);
  for (float size : {0.0f, 1.0f, 1e-3f, 88.0f, 104.0f, 1e-40f, 3e38f,
                     std::numeric_limits<float>::infinity(),
                     std::numeric_limits<float>::quiet_NaN()})
    values.insert(values.end(), {size, -size});
  auto check = [&](Opcode op, auto valueOf) {
    std::vector<float> y(values.size());
    applyVector(op, y.size(), y.data(), {values.data(), false}, {});
    for (size_t i = 0; i < y.size(); ++i)
      EXPECT_LE(ulps(y[i], valueOf(values[i])), 1)
          << program::EnumNameOpcode(op) << " of " << values[i];
  };
#define WSEC_FUNCTION(Name, name, numbers, software, words, value)             \
  check(Opcode::Name, [](double x) -> double { return value; });
#include "runtime/program/Opcodes.def"
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
  for (int op = 0; op <= int(Opcode::MAX); ++op) {
    if (!computes(Opcode(op), NumberKind::Single))
      continue;
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
  for (size_t rows : {1, 3, 7, 8, 24, 150})
    for (size_t depth : {1, 5, 120, 300})
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
        FmacProblem problem;
        problem.rows = rows;
        problem.cRow = ptrdiff_t(columns);
        problem.aRow = ptrdiff_t(depth);
        problem.inner = {depth, 1, ptrdiff_t(columns)};
        problem.columns = columns;
        problem.c = c.data();
        // In pieces of the depth, too.
        std::vector<Factors> factors;
        const size_t pieces = depth % 5 == 0 && columns > 4 ? 5 : 1;
        for (size_t i = 0; i < pieces; ++i)
          factors.push_back({a.data() + i * (depth / pieces),
                             b.data() + i * (depth / pieces) * columns});
        problem.inner.extent = depth / pieces;
        problem.factors = factors.data();
        problem.count = pieces;
        accumulateProducts(problem);
        EXPECT_EQ(std::memcmp(c.data(), expected.data(), c.size() * 4), 0)
            << rows << " x " << depth << " x " << columns;
      }
}

/// Narrow products, whose rows lie side by side in one factor, of several
/// blocks; and the same begun by others.
TEST(KernelsTest, NarrowProductsEqualThePlainLoopBitForBit) {
  for (size_t rows : {1, 15, 16, 44, 400})
    for (size_t columns : {2, 5, 7, 9})
      for (size_t blocks : {1, 3, 13, 22})
        for (std::optional<float> start :
             {std::optional<float>(), std::optional(-0.0f),
              std::optional(1.5f)}) {
          constexpr size_t depth = 12;
          const size_t block = depth * columns;
          std::vector<float> a = randomFloats(depth * rows, 6, -1, 1);
          std::vector<float> b = randomFloats(blocks * block, 7, -1, 1);
          std::vector<float> c =
              randomFloats(blocks * rows * columns, 8, -1, 1);
          std::vector<float> expected = c;
          for (size_t p = 0; p < blocks; ++p)
            for (size_t i = 0; i < rows; ++i)
              for (size_t m = 0; m < columns; ++m) {
                float &sum = expected[(p * rows + i) * columns + m];
                sum = start.value_or(sum);
                for (size_t k = 0; k < depth; ++k)
                  sum = std::fma(a[k * rows + i],
                                 b[p * block + k * columns + m], sum);
              }
          FmacProblem problem;
          problem.rows = rows;
          problem.cRow = ptrdiff_t(columns);
          problem.aRow = 1;
          problem.inner = {depth, ptrdiff_t(rows), ptrdiff_t(columns)};
          problem.blocks = blocks;
          problem.cBlock = ptrdiff_t(rows * columns);
          problem.bBlock = ptrdiff_t(block);
          problem.columns = columns;
          problem.c = c.data();
          const Factors factors{a.data(), b.data()};
          problem.factors = &factors;
          problem.starts = start.has_value();
          problem.start = start.value_or(0);
          accumulateProducts(problem);
          EXPECT_EQ(std::memcmp(c.data(), expected.data(), c.size() * 4), 0)
              << blocks << " x " << rows << " x " << columns << problem.starts;
        }
}

TEST(KernelsTest, InterleavedWordsLieSideBySide) {
  for (size_t sources : {1, 2, 3, 4, 5, 7, 8, 32, 35})
    for (size_t columns : {1, 2, 3, 4, 5, 8, 16, 70, 90})
      for (ptrdiff_t column : {1, 2}) {
        constexpr size_t rows = 2;
        const size_t pitch = columns * sources + 3;
        const size_t row = columns * size_t(column) + 1;
        std::vector<std::vector<float>> words;
        std::vector<const float *> from;
        for (size_t l = 0; l < sources; ++l)
          words.push_back(randomFloats(rows * row, unsigned(l), -1, 1));
        for (const std::vector<float> &its : words)
          from.push_back(its.data());
        std::vector<float> result(rows * pitch, 9);
        std::vector<float> expected = result;
        for (size_t r = 0; r < rows; ++r)
          for (size_t i = 0; i < columns; ++i)
            for (size_t l = 0; l < sources; ++l)
              expected[r * pitch + i * sources + l] =
                  words[l][r * row + i * size_t(column)];
        interleave(
            {rows, columns, sources, ptrdiff_t(pitch), ptrdiff_t(row), column},
            result.data(), from.data());
        EXPECT_EQ(result, expected) << sources << " " << columns;
      }
}

/// Copies with any strides, those that transpose by blocks among them: forwards
/// and backwards, with pitches, at any address.
TEST(KernelsTest, StridedCopiesEqualThePlainLoop) {
  const std::vector<float> words = randomFloats(1 << 14, 5, -1, 1);
  for (size_t rows : {1, 3, 4, 5, 16, 18, 33})
    for (size_t columns : {1, 4, 7, 16, 24, 50})
      for (ptrdiff_t dense : {1, -1, 2})
        for (ptrdiff_t way : {1, -1, 0}) // 0: the last row stays
          for (bool swapped : {false, true}) {
            CopyProblem p{rows,    columns,
                          nullptr, way * ptrdiff_t(2 * columns + 3),
                          dense,   words.data() + 8001,
                          dense,   (way ? way : 1) * ptrdiff_t(2 * rows + 1)};
            if (swapped) {
              std::swap(p.rows, p.columns);
              std::swap(p.dstRow, p.dstColumn);
              std::swap(p.aRow, p.aColumn);
            }
            std::vector<float> result(1 << 13, 9), expected = result;
            auto at = [](size_t r, ptrdiff_t row, size_t i, ptrdiff_t column) {
              return ptrdiff_t(r) * row + ptrdiff_t(i) * column;
            };
            for (size_t r = 0; r < p.rows; ++r)
              for (size_t i = 0; i < p.columns; ++i)
                expected[size_t(4001 + at(r, p.dstRow, i, p.dstColumn))] =
                    p.a[at(r, p.aRow, i, p.aColumn)];
            p.dst = result.data() + 4001;
            copyStrided(p);
            EXPECT_EQ(result, expected)
                << rows << " x " << columns << " " << dense << " " << way;
          }
}

/// Results that are rounded to 16 bits, in rows long and short and with
/// strides: those of their elements, one by one.
TEST(KernelsTest, RoundedNestsEqualTheirElements) {
  std::mt19937 random{3};
  for (Opcode op : {Opcode::Mov, Opcode::Add, Opcode::Mul, Opcode::Fmac,
                    Opcode::Select, Opcode::Exp})
    for (NumberKind numbers : {NumberKind::Half, NumberKind::Single})
      for (size_t rows : {1, 3, 40})
        for (size_t columns : {1, 5, 32, 300, 700})
          for (ptrdiff_t stride : {1, 2}) {
            Nest nest;
            nest.op = op;
            nest.types.numbers = numbers;
            nest.types.rounded = program::ElementType::F16;
            nest.dimensions = 2;
            nest.extent[0] = rows;
            nest.extent[1] = columns;
            const ptrdiff_t row = ptrdiff_t(columns) * stride + 3;
            auto halves = [&](size_t n) {
              std::vector<float> its = randomFloats(n, random(), -2, 2);
              roundToNarrow(program::ElementType::F16, n, its.data());
              return its;
            };
            const size_t size = rows * size_t(row);
            const std::vector<float> old = halves(size), a = halves(size),
                                     b = halves(rows);
            std::vector<float> result = old, expected = old;
            nest.dst = {result.data(), {row, stride}};
            nest.a = {a.data(), {row, stride}};
            if (op != Opcode::Mov && op != Opcode::Exp)
              nest.b = {b.data(), {1, 0}};
            execute(nest);
            for (size_t r = 0; r < rows; ++r)
              for (size_t i = 0; i < columns; ++i) {
                Nest one = nest;
                one.extent[0] = one.extent[1] = 1;
                const ptrdiff_t at = ptrdiff_t(r) * row + ptrdiff_t(i) * stride;
                one.dst.data = expected.data() + at;
                one.a.data = a.data() + at;
                if (one.b.data)
                  one.b.data = b.data() + r;
                execute(one);
              }
            EXPECT_EQ(std::memcmp(result.data(), expected.data(), size * 4), 0)
                << rows << " x " << columns << " by " << stride;
          }
}

/// Operands in memory of their own, at addresses that are no multiple of four.
class RandomNest {
public:
  explicit RandomNest(unsigned seed) : generator(seed) {
    constexpr Opcode ops[] = {Opcode::Mov, Opcode::Add,  Opcode::Sub,
                              Opcode::Max, Opcode::Fmac, Opcode::Select,
                              Opcode::Mul, Opcode::Less, Opcode::Abs};
    nest.op = ops[pick(std::size(ops))];
    nest.dimensions = 1 + int(pick(4));
    size_t size = 1;
    for (int d = nest.dimensions - 1; d >= 0; --d) {
      nest.extent[d] = pick(8) == 0 ? 1 + pick(40) : 1 + pick(5);
      // Injective, or a reduction.
      nest.dst.stride[d] = pick(4) == 0 ? 0 : ptrdiff_t(size);
      if (nest.dst.stride[d])
        size *= nest.extent[d] + pick(2);
      for (ptrdiff_t *stride : {&nest.a.stride[d], &nest.b.stride[d]})
        *stride = std::array<ptrdiff_t, 5>{0, 1, 1, 3, 50}[pick(5)];
    }
    dst = randomFloats(size, seed, -2, 2);
    words = randomFloats(20000, seed + 1, -2, 2);
    a = misaligned(aBytes);
    b = misaligned(bBytes);
    if (pick(4) == 0) {
      aIsDst = true;
      std::copy_n(nest.dst.stride, maxDimensions, nest.a.stride);
    }
  }

  std::vector<float> executed() {
    std::vector<float> result = dst;
    nest.dst.data = result.data();
    nest.a.data = aIsDst ? result.data() : a;
    nest.b.data = takesTwo() ? b : nullptr;
    execute(nest);
    return result;
  }

  /// Element by element, in lexicographic order.
  std::vector<float> expected() const {
    std::vector<float> result = dst;
    size_t index[maxDimensions] = {};
    for (int d = 0; d >= 0;) {
      ptrdiff_t at[3] = {};
      for (int i = 0; i < nest.dimensions; ++i) {
        at[0] += ptrdiff_t(index[i]) * nest.dst.stride[i];
        at[1] += ptrdiff_t(index[i]) * nest.a.stride[i];
        at[2] += ptrdiff_t(index[i]) * nest.b.stride[i];
      }
      float x = aIsDst ? result[size_t(at[0])] : words[size_t(at[1])];
      float y = takesTwo() ? words[size_t(at[2])] : 0;
      applyVector(nest.op, 1, &result[size_t(at[0])], {&x, true},
                  {takesTwo() ? &y : nullptr, true});
      for (d = nest.dimensions - 1; d >= 0 && ++index[d] == nest.extent[d]; --d)
        index[d] = 0;
    }
    return result;
  }

private:
  size_t pick(size_t n) { return generator() % n; }
  bool takesTwo() const {
    return nest.op != Opcode::Mov && nest.op != Opcode::Abs;
  }
  const float *misaligned(std::vector<uint8_t> &bytes) const {
    bytes.resize(words.size() * sizeof(float) + 1);
    std::memcpy(bytes.data() + 1, words.data(), words.size() * sizeof(float));
    return reinterpret_cast<const float *>(bytes.data() + 1);
  }

  std::mt19937 generator;
  Nest nest;
  bool aIsDst = false;
  std::vector<float> dst, words;
  std::vector<uint8_t> aBytes, bBytes;
  const float *a = nullptr, *b = nullptr;
};

TEST(KernelsTest, NestsEqualThePlainLoopBitForBit) {
  for (unsigned seed = 0; seed < 3000; ++seed) {
    RandomNest nest(seed);
    std::vector<float> got = nest.executed(), expected = nest.expected();
    EXPECT_EQ(std::memcmp(got.data(), expected.data(), got.size() * 4), 0)
        << "seed " << seed;
  }
}

/// Equal nests all over the same memory, one behind the other: where they are
/// one, it does the same; where one needs what another did, they are not.
TEST(KernelsTest, RepeatedNestsEqualThoseOneBehindTheOther) {
  int joined = 0, kept = 0;
  for (unsigned seed = 0; seed < 5000; ++seed) {
    std::mt19937 generator(seed);
    auto pick = [&](size_t n) { return size_t(generator() % n); };
    auto stride = [&] {
      return std::array<ptrdiff_t, 7>{0, 1, 1, 4, 20, 60, -1}[pick(7)];
    };
    const std::vector<float> before = randomFloats(6000, seed, -2, 2);
    std::vector<float> expected = before, got = before;
    const std::array<size_t, 3> first = {
        2000 + pick(200), 2000 + (pick(3) ? pick(2000) : pick(9)),
        2000 + pick(2000)};
    Nest nest;
    nest.op = std::array{Opcode::Mov, Opcode::Add, Opcode::Fmac}[pick(3)];
    nest.dimensions = 1 + int(pick(3));
    PreparedNest::Dimension times{2 + pick(6), stride(), stride(), stride()};
    const bool inPlace = pick(3) == 0;
    if (inPlace)
      times.a = times.dst;
    for (int d = 0; d < nest.dimensions; ++d) {
      nest.extent[d] = 1 + pick(5);
      nest.dst.stride[d] = stride();
      nest.a.stride[d] = inPlace ? nest.dst.stride[d] : stride();
      nest.b.stride[d] = stride();
    }
    nest.ordered = true; // Sources may lie anywhere.
    auto bind = [&](std::vector<float> &memory, ptrdiff_t i) {
      nest.dst.data = memory.data() + first[0] + i * times.dst;
      nest.a.data = memory.data() + first[inPlace ? 0 : 1] + i * times.a;
      nest.b.data = nest.op == Opcode::Mov
                        ? nullptr
                        : memory.data() + first[2] + i * times.b;
      if (!nest.b.data)
        times.b = 0;
    };
    for (ptrdiff_t i = 0; i < ptrdiff_t(times.extent); ++i) {
      bind(expected, i);
      execute(nest);
    }
    bind(got, 0);
    const std::optional<PreparedNest> one = PreparedNest(nest).repeated(
        times, nest.dst.data, nest.a.data, nest.b.data);
    ++(one ? joined : kept);
    if (!one)
      continue;
    one->run(nest.dst.data, nest.a.data, nest.b.data);
    EXPECT_EQ(std::memcmp(got.data(), expected.data(), got.size() * 4), 0)
        << "seed " << seed;
  }
  EXPECT_GT(joined, 200);
  EXPECT_GT(kept, 200);
}

} // namespace
} // namespace wsec::runtime
