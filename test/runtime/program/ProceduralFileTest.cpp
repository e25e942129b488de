// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/files/ProceduralFile.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

using namespace wsec::runtime;

/// The formula of the header, one element at a time.
static float expected(const ProceduralFile &file, uint64_t i) {
  uint64_t key = file.seed + (i >> 32) * 0x9e3779b97f4a7c15U;
  key += 0x9e3779b97f4a7c15U;
  key = (key ^ (key >> 30)) * 0xbf58476d1ce4e5b9U;
  key = (key ^ (key >> 27)) * 0x94d049bb133111ebU;
  key ^= key >> 31;
  uint32_t x = uint32_t(i) ^ uint32_t(key);
  x ^= x >> 16;
  x *= 0x7feb352dU;
  x += uint32_t(key >> 32);
  x ^= x >> 15;
  x *= 0x846ca68bU;
  x ^= x >> 16;
  const double uniform = (double(x >> 8) - 8388608) / 8388608;
  // Products and sums of two f32 are rounded once.
  const auto moved = float(double(file.range) * uniform);
  return float(double(file.mean) + double(moved));
}

TEST(ProceduralFileTest, ElementsFollowTheFormula) {
  const ProceduralFile file{7, 0.02f, 1};
  const struct {
    uint64_t first;
    int64_t stride;
    size_t count;
  } reads[] = {{0, 1, 100},
               {12345, 3, 50},
               {999, -7, 100},
               // Over the end of a block of 2^32, in both directions.
               {(uint64_t(3) << 32) - 5, 1, 10},
               {(uint64_t(3) << 32) + 5, -1, 10},
               {(uint64_t(1) << 32) - 12, 5, 9},
               {(uint64_t(2) << 32) + 12, -5, 9},
               {5, int64_t(1) << 33, 4},
               {77, 0, 3}};
  for (const auto &read : reads) {
    std::vector<float> elements(read.count);
    file.read(read.first, read.stride, read.count, elements.data());
    for (size_t i = 0; i < read.count; ++i)
      EXPECT_EQ(
          elements[i],
          expected(file, read.first + uint64_t(i) * uint64_t(read.stride)))
          << read.first << " " << read.stride << " " << i;
  }
}

TEST(ProceduralFileTest, IsUniform) {
  constexpr size_t count = 1 << 20;
  std::vector<float> elements(count);
  ProceduralFile{1, 1, 0}.read(0, 1, count, elements.data());
  double sum = 0, squares = 0, neighbours = 0;
  for (size_t i = 0; i < count; ++i) {
    EXPECT_GE(elements[i], -1);
    EXPECT_LT(elements[i], 1);
    sum += elements[i];
    squares += double(elements[i]) * elements[i];
    neighbours += i ? double(elements[i]) * elements[i - 1] : 0;
  }
  EXPECT_NEAR(sum / count, 0, 0.003);
  EXPECT_NEAR(squares / count, 1. / 3, 0.003);
  EXPECT_NEAR(neighbours / count, 0, 0.003);
}

/// Neither are the numbers of one seed those of another, moved.
TEST(ProceduralFileTest, SeedsHaveNothingInCommon) {
  constexpr size_t count = 4096;
  std::vector<float> a(count), b(count);
  ProceduralFile{1, 1, 0}.read(0, 1, count, a.data());
  ProceduralFile{2, 1, 0}.read(0, 1, count, b.data());
  for (size_t shift = 0; shift < count / 2; ++shift) {
    double product = 0;
    for (size_t i = 0; i + shift < count; ++i)
      product += double(a[i]) * b[i + shift];
    EXPECT_LT(std::abs(product / double(count - shift)), 0.05) << shift;
  }
}

TEST(ProceduralFileTest, NamesAreReadBack) {
  for (const ProceduralFile &file :
       {ProceduralFile{0, 0.02f, 0}, ProceduralFile{UINT64_MAX, 1 / 3.f, -1}}) {
    const auto parsed = ProceduralFile::parse(file.location());
    ASSERT_TRUE(parsed) << file.location();
    EXPECT_EQ(parsed->seed, file.seed);
    EXPECT_EQ(parsed->range, file.range);
    EXPECT_EQ(parsed->mean, file.mean);
    EXPECT_EQ(parsed->digest(), file.digest());
    EXPECT_NE(parsed->digest(), 0u);
  }
  EXPECT_NE((ProceduralFile{1, 1, 0}.digest()),
            (ProceduralFile{2, 1, 0}.digest()));
}

TEST(ProceduralFileTest, OtherNamesAreRefused) {
  for (const char *name :
       {"w.bin", "procedural:", "procedural:seed=1",
        "procedural:seed=1,range=x,mean=0", "procedural:seed=-1,range=1,mean=0",
        "procedural:seed=1,range=inf,mean=0",
        "procedural:range=1,seed=1,mean=0",
        "procedural:seed=1,range=1,mean=0,x=1"})
    EXPECT_FALSE(ProceduralFile::parse(name)) << name;
  EXPECT_FALSE(ProceduralFile::isNamedBy("weights/procedural:seed=1"));
}

TEST(ProceduralFileTest, BytesAreThoseOfElements) {
  const ProceduralFile file{3, 1, 0};
  float elements[2];
  file.read(5, 1, 2, elements);
  const auto bytes = file.bytesAt(20, 8);
  ASSERT_TRUE(bytes);
  EXPECT_EQ(std::memcmp(bytes->data(), elements, 8), 0);
  EXPECT_FALSE(file.bytesAt(21, 8));
  EXPECT_FALSE(file.bytesAt(20, 7));
}
