// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How fast the emulator computes: the inner loop of matrix products, the
// functions, and a whole weight-streamed matrix product on a mesh.
#include "runtime/pe/VectorKernels.h"
#include "runtime/strips/Execute.h"
#include "runtime/strips/StripsEngine.h"
#include "test/runtime/ProgramBuilder.h"

#include <benchmark/benchmark.h>

namespace wsec::runtime {
namespace {

using program::Opcode;
using program::Port;

/// As the engine calls it for a chunk of `lines` lines: M = tokens of a strip,
/// N = outputs of a column, in the order (k, n, v) or (n, k, v).
void fmacNest(benchmark::State &state, bool kMajor) {
  const size_t M = size_t(state.range(0)), N = size_t(state.range(1)),
               K = size_t(state.range(2));
  std::vector<float> x(K * M, 1), c(N * M, 0), w(K * N, 1e-3f);
  Nest nest;
  nest.op = Opcode::Fmac;
  nest.dimensions = 4;
  const ptrdiff_t m = ptrdiff_t(M);
  const size_t lanes = 32;
  if (kMajor) {
    size_t extents[] = {K, N, M / lanes, lanes};
    std::copy(extents, extents + 4, nest.extent);
    nest.dst = {c.data(), {0, m, ptrdiff_t(lanes), 1}};
    nest.a = {w.data(), {ptrdiff_t(N), 1, 0, 0}};
    nest.b = {x.data(), {m, 0, ptrdiff_t(lanes), 1}};
  } else {
    size_t extents[] = {N, K, M / lanes, lanes};
    std::copy(extents, extents + 4, nest.extent);
    nest.dst = {c.data(), {m, 0, ptrdiff_t(lanes), 1}};
    nest.a = {w.data(), {ptrdiff_t(K), 1, 0, 0}};
    nest.b = {x.data(), {0, m, ptrdiff_t(lanes), 1}};
  }
  for (auto _ : state) {
    execute(nest);
    benchmark::DoNotOptimize(c.data());
  }
  state.counters["GFLOP/s"] =
      benchmark::Counter(2e-9 * double(M * N * K) * double(state.iterations()),
                         benchmark::Counter::kIsRate);
}
BENCHMARK_CAPTURE(fmacNest, knv, true)
    ->Args({128, 96, 768})
    ->Args({128, 24, 170})
    ->Args({32, 24, 170});
BENCHMARK_CAPTURE(fmacNest, nkv, false)
    ->Args({128, 96, 768})
    ->Args({128, 680, 24})
    ->Args({1024, 4096, 4});

void function(benchmark::State &state) {
  const Opcode op = Opcode(state.range(0));
  std::vector<float> x(1 << 14, 0.7f), y(x.size());
  for (auto _ : state) {
    applyVector(op, x.size(), y.data(), {x.data(), false}, {x.data(), false});
    benchmark::DoNotOptimize(y.data());
  }
  state.SetLabel(program::EnumNameOpcode(op));
  state.SetItemsProcessed(state.iterations() * int64_t(x.size()));
}
BENCHMARK(function)
    ->Arg(int(Opcode::Exp))
    ->Arg(int(Opcode::Erf))
    ->Arg(int(Opcode::Tanh))
    ->Arg(int(Opcode::Pow))
    ->Arg(int(Opcode::Sin))
    ->Arg(int(Opcode::Div));

/// y = x W with a stationary result on a mesh of `columns` x `rows` PEs with
/// `tokens` tokens in each row; every column has its own lane, every PE holds
/// all of x.
void streamedProduct(benchmark::State &state) {
  using namespace test;
  const int columns = int(state.range(0)), rows = int(state.range(1)),
            tokens = int(state.range(2)), K = int(state.range(3)),
            share = int(state.range(4)), launches = int(state.range(5));
  const int lane = 0, column = 1, lanes = std::min(44, rows);
  ProgramBuilder builder(columns, rows);
  ClassBuilder pes = builder.addClass("pe", 0, columns, 0, rows);
  Scalar x = pes.px(), y = pes.py();
  // Lane l enters at row l * rows / lanes and serves a range of columns.
  Scalar laneOf =
      pes.scalar(program::ScalarOp::TileIndex, pes.constant(columns).index,
                 pes.constant(lanes).index, x.index);
  Scalar headRow =
      pes.scalar(program::ScalarOp::TileStart, pes.constant(rows).index,
                 pes.constant(lanes).index, laneOf.index);
  Scalar isHead = pes.scalar(program::ScalarOp::Equal, y.index, headRow.index);
  Scalar first =
      pes.scalar(program::ScalarOp::TileStart, pes.constant(columns).index,
                 pes.constant(lanes).index, laneOf.index);
  Scalar served =
      pes.scalar(program::ScalarOp::TileSize, pes.constant(columns).index,
                 pes.constant(lanes).index, laneOf.index);
  Scalar place = pes.scalar(program::ScalarOp::Sub, x.index, first.index);
  auto tileStart = [](int n, int p, int i) {
    return i * (n / p) + std::min(i, n % p);
  };
  std::vector<int> servedBy;
  for (int l = 0; l < lanes; ++l) {
    int row = tileStart(rows, lanes, l);
    int begin = tileStart(columns, lanes, l),
        end = tileStart(columns, lanes, l + 1);
    servedBy.push_back(end - begin);
    if (begin)
      builder.route(lane, 0, begin, row, row + 1, Port::West, {Port::East});
    if (end - begin > 1)
      builder.route(lane, begin, end - 1, row, row + 1, Port::West,
                    {Port::East, Port::Ramp});
    builder.route(lane, end - 1, end, row, row + 1, Port::West, {Port::Ramp});
    std::vector<Port> ports{Port::Ramp};
    if (row > 0)
      ports.push_back(Port::North);
    if (row < rows - 1)
      ports.push_back(Port::South);
    builder.route(column, begin, end, row, row + 1, Port::Ramp, ports);
    if (row > 1)
      builder.route(column, begin, end, 1, row, Port::South,
                    {Port::Ramp, Port::North});
    if (row > 0)
      builder.route(column, begin, end, 0, 1, Port::South, {Port::Ramp});
    if (row < rows - 2)
      builder.route(column, begin, end, row + 1, rows - 1, Port::North,
                    {Port::Ramp, Port::South});
    if (row < rows - 1)
      builder.route(column, begin, end, rows - 1, rows, Port::North,
                    {Port::Ramp});
  }
  uint16_t in = pes.buffer("x", uint32_t(K * tokens));
  uint16_t out = pes.buffer("y", uint32_t(share * tokens));
  BodyBuilder body = pes.routine(0);
  auto &relay = body.add(Opcode::Mov, {K, share}, fabric(column, 2),
                         fabric(lane, 2).window(Value(place).times(share),
                                                Value(served).times(share)));
  relay.guard = int16_t(isHead.index);
  relay.thread = 0;
  body.add(Opcode::Mov, {K * tokens}, memory(in, {1}), immediate(1));
  body.add(Opcode::Mov, {share * tokens}, memory(out, {1}), immediate(0));
  body.add(Opcode::Fmac, {K, share, tokens}, memory(out, {0, tokens, 1}),
           fabric(column, 2), memory(in, {tokens, 0, 1}));
  body.await(1);
  VectorHost host;
  for (int i = 0; i < launches; ++i) {
    uint32_t stream = builder.stream("w", program::Direction::In, lane, {});
    for (int l = 0; l < lanes; ++l) {
      builder.source.streams[stream]->channels.push_back(
          {tileStart(rows, lanes, l), 0, 1});
      host.feed(stream, uint32_t(l),
                std::vector<float>(size_t(K * share * servedBy[size_t(l)]), 1),
                size_t(share * servedBy[size_t(l)]));
    }
    builder.launch(0, {stream});
  }
  StripsEngine emulator(builder.finish());
  double cycles = 0;
  for (auto _ : state) {
    host.rewind();
    cycles = emulator.run(host).cycles;
  }
  state.counters["GFLOP/s"] =
      benchmark::Counter(2e-9 * double(K) * share * columns * rows * tokens *
                             launches * double(state.iterations()),
                         benchmark::Counter::kIsRate);
  state.counters["cycles"] = cycles;
}
BENCHMARK(streamedProduct)
    ->Args({32, 32, 4, 768, 24, 75})
    ->Args({32, 32, 1, 768, 24, 75})
    ->Args({750, 128, 1, 768, 4, 4})
    ->Args({750, 994, 1, 768, 4, 2})
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

/// Partial products that travel west and meet their owner in column 0: the
/// cost of many small instructions. Each column has its own lane.
void chainedProduct(benchmark::State &state) {
  using namespace test;
  const int size = int(state.range(0)), tokens = int(state.range(1)),
            tile = int(state.range(2)), blocks = int(state.range(3));
  ProgramBuilder builder(size, size);
  ClassBuilder pes = builder.addClass("pe", 0, size, 0, size);
  Scalar x = pes.px();
  Scalar sends = pes.parity(x), receives = pes.negate(sends);
  Scalar first = pes.equal(x, 0), last = pes.equal(x, size - 1);
  Scalar inner = pes.both(pes.negate(first), pes.negate(last));
  const int lane = 2, column = 3;
  for (int i = 0; i < size; ++i) {
    if (i > 0)
      builder.route(lane, 0, i, i, i + 1, Port::West, {Port::East});
    builder.route(lane, i, i + 1, i, i + 1, Port::West, {Port::Ramp});
    for (int y = 0; y < size; ++y) {
      std::vector<Port> ports{Port::Ramp};
      if (y <= i && y > 0)
        ports.push_back(Port::North);
      if (y >= i && y < size - 1)
        ports.push_back(Port::South);
      builder.route(column, i, i + 1, y, y + 1,
                    y == i  ? Port::Ramp
                    : y < i ? Port::South
                            : Port::North,
                    ports);
    }
  }
  for (int parity = 0; parity < 2; ++parity) {
    builder.route(parity, parity, size, 0, size, Port::Ramp, {Port::West}, 2);
    builder.route(parity, 1 - parity, size, 0, size, Port::East, {Port::Ramp},
                  2);
  }
  uint16_t in = pes.buffer("x", uint32_t(tile * tokens));
  uint16_t part = pes.buffer("part", uint32_t(tile * tokens));
  BodyBuilder body = pes.routine(0);
  Scalar isHead = pes.scalar(program::ScalarOp::Equal, x.index, pes.py().index);
  auto &relay = body.add(Opcode::Mov, {blocks * tile * tile}, fabric(column),
                         fabric(lane));
  relay.guard = int16_t(isHead.index);
  relay.thread = 0;
  body.add(Opcode::Mov, {tile * tokens}, memory(in, {1}), immediate(1));
  body.loop(blocks, [&](BodyBuilder b) {
    int words = tile * tokens;
    b.add(Opcode::Mov, {words}, memory(part, {1}), immediate(0));
    b.add(Opcode::Fmac, {tile, tile, tokens}, memory(part, {tokens, 0, 1}),
          fabric(column, 2), memory(in, {0, tokens, 1}));
    b.add(Opcode::Mov, {words}, fabric(sends), memory(part, {1})).guard =
        int16_t(last.index);
    b.add(Opcode::Add, {words}, fabric(sends), fabric(receives),
          memory(part, {1}))
        .guard = int16_t(inner.index);
    b.add(Opcode::Add, {words}, memory(part, {1}), fabric(receives),
          memory(part, {1}))
        .guard = int16_t(first.index);
  });
  body.await(1);
  VectorHost host;
  uint32_t stream = builder.stream("w", program::Direction::In, lane, {});
  for (int i = 0; i < size; ++i) {
    builder.source.streams[stream]->channels.push_back({i, 0, 1});
    host.feed(stream, uint32_t(i),
              std::vector<float>(size_t(blocks * tile * tile), 1),
              size_t(tile));
  }
  builder.launch(0, {stream});
  StripsEngine emulator(builder.finish());
  for (auto _ : state) {
    host.rewind();
    emulator.run(host);
  }
  state.counters["GFLOP/s"] =
      benchmark::Counter(2e-9 * double(tile) * tile * blocks * size * size *
                             tokens * double(state.iterations()),
                         benchmark::Counter::kIsRate);
  state.SetItemsProcessed(state.iterations() * size * blocks * 3);
}
BENCHMARK(chainedProduct)
    ->Args({32, 4, 24, 1000})
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

} // namespace
} // namespace wsec::runtime

BENCHMARK_MAIN();
