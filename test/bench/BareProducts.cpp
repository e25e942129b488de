// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What one core of the host reaches on a matrix product's additions in the
// machine's order, y[n] += w[k][n] * x[k] for each weight as it streams in,
// with the whole problem in L1 and nothing else around the loops: the peak that
// emulated products are compared with.
#include <benchmark/benchmark.h>

#include <vector>

#ifndef TEST_BENCH_BAREPRODUCTS_SIZES
#define TEST_BENCH_BAREPRODUCTS_SIZES
namespace wsec::bench {
constexpr size_t depth = 96, rows = 24, lanes = 32; // 12 + 3 + 9 KB
} // namespace wsec::bench
#endif

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "test/bench/BareProducts.cpp"
#include "hwy/foreach_target.h"

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace wsec::bench::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using Tag = hn::ScalableTag<float>;

/// Accumulators stay in SRAM, as the machine has it.
void inMemory(const float *HWY_RESTRICT w, const float *HWY_RESTRICT x,
              float *HWY_RESTRICT y) {
  const Tag d;
  for (size_t k = 0; k < depth; ++k)
    for (size_t n = 0; n < rows; ++n) {
      const auto weight = hn::Set(d, w[k * rows + n]);
      for (size_t m = 0; m < lanes; m += hn::Lanes(d)) {
        float *sum = y + n * lanes + m;
        hn::StoreU(hn::MulAdd(weight, hn::LoadU(d, x + k * lanes + m),
                              hn::LoadU(d, sum)),
                   d, sum);
      }
    }
}

/// The same sums, whose terms come in the same order, with a tile of
/// accumulators in registers: as many as the instruction set has room for.
void inRegisters(const float *HWY_RESTRICT w, const float *HWY_RESTRICT x,
                 float *HWY_RESTRICT y) {
  constexpr int tile = HWY_TARGET <= HWY_AVX3 ? 12 : 6;
  const Tag d;
  const size_t width = hn::Lanes(d);
  for (size_t n = 0; n < rows; n += tile)
    for (size_t m = 0; m < lanes; m += 2 * width) {
      hn::Vec<Tag> sums[tile][2];
      for (int i = 0; i < tile; ++i)
        for (int v = 0; v < 2; ++v)
          sums[i][v] = hn::LoadU(d, y + (n + i) * lanes + m + v * width);
      for (size_t k = 0; k < depth; ++k) {
        const auto first = hn::LoadU(d, x + k * lanes + m);
        const auto second = hn::LoadU(d, x + k * lanes + m + width);
        for (int i = 0; i < tile; ++i) {
          const auto weight = hn::Set(d, w[k * rows + n + i]);
          sums[i][0] = hn::MulAdd(weight, first, sums[i][0]);
          sums[i][1] = hn::MulAdd(weight, second, sums[i][1]);
        }
      }
      for (int i = 0; i < tile; ++i)
        for (int v = 0; v < 2; ++v)
          hn::StoreU(sums[i][v], d, y + (n + i) * lanes + m + v * width);
    }
}

const char *target() { return hwy::TargetName(HWY_TARGET); }

} // namespace wsec::bench::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace wsec::bench {
namespace {

HWY_EXPORT(inMemory);
HWY_EXPORT(inRegisters);
HWY_EXPORT(target);

void bareProduct(benchmark::State &state, bool registers) {
  std::vector<float> w(depth * rows, 1e-3f), x(depth * lanes, 1),
      y(rows * lanes, 0);
  for (auto _ : state) {
    if (registers)
      HWY_DYNAMIC_DISPATCH(inRegisters)(w.data(), x.data(), y.data());
    else
      HWY_DYNAMIC_DISPATCH(inMemory)(w.data(), x.data(), y.data());
    benchmark::DoNotOptimize(y.data());
    benchmark::ClobberMemory();
  }
  state.SetLabel(HWY_DYNAMIC_DISPATCH(target)());
  state.counters["GFLOP/s"] = benchmark::Counter(
      2e-9 * double(depth * rows * lanes) * double(state.iterations()),
      benchmark::Counter::kIsRate);
}
// Many short runs by the clock on the wall, as products are timed: the best of
// them is one that nothing interrupted.
BENCHMARK_CAPTURE(bareProduct, memory, false)
    ->MinTime(0.005)
    ->Repetitions(30)
    ->UseRealTime();
BENCHMARK_CAPTURE(bareProduct, registers, true)
    ->MinTime(0.005)
    ->Repetitions(30)
    ->UseRealTime();

} // namespace
} // namespace wsec::bench
#endif
