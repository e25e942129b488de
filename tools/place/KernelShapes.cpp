// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which rectangles a kernel may be. All its convolutions share h and w, and the
// rectangle's height h w (c + 1); given these, each c is as large as the height
// allows. What is left are the k: they start at the least that fits the memory,
// and grow where the time is, to the next k that is faster.
#include "tools/place/KernelGraph.h"

#include <algorithm>
#include <limits>
#include <map>
#include <stdexcept>
#include <tuple>

using namespace wsec;

static int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// Of one convolution on h w (c + 1) x 3k PEs.
static double timeOf(const Convolution &conv, int64_t h, int64_t w, int64_t c,
                     int64_t k) {
  return double(ceilDiv(conv.H, h) * ceilDiv(conv.W, w) * ceilDiv(conv.C, c) *
                ceilDiv(conv.K, k) * conv.R * conv.S) /
         double(conv.stride * conv.stride);
}

/// The least k whose words fit the memory:
///   K (C R S h w + (W+S-1) (H+R-1) c) <= limit c k h w
/// in whole numbers, which the reader has seen to be small enough.
static int64_t leastOutputs(const Convolution &conv, int64_t h, int64_t w,
                            int64_t c, int64_t limit) {
  const int64_t weights = conv.C * conv.R * conv.S * h * w;
  const int64_t inputs = (conv.W + conv.S - 1) * (conv.H + conv.R - 1) * c;
  return ceilDiv(conv.K * (weights + inputs), limit * c * h * w);
}

namespace {
/// The fastest execution of a kernel in each rectangle up to the wafer's.
class ShapeTable {
public:
  ShapeTable(const GraphKernel &kernel, const KernelGraph &graph)
      : kernel(kernel), memoryLimit(graph.memoryLimit),
        longest(std::max(graph.width, graph.height)),
        shortest(std::min(graph.width, graph.height)),
        cells(longest * longest) {
    int64_t h = longest, w = longest, c = 1;
    for (const Convolution &conv : kernel.convolutions) {
      h = std::min(h, conv.H);
      w = std::min(w, conv.W);
      c = std::max(c, conv.C);
    }
    for (int64_t i = 1; i <= h; ++i)
      for (int64_t j = 1; j <= w; ++j)
        for (int64_t k = 1; k <= c && i * j * (k + 1) <= longest; ++k)
          growOutputs(i, j, k);
  }

  /// Those that no other one beats; turned ones, too.
  void paretoFront(std::vector<CandidateShape> &shapes,
                   std::vector<Execution> &executions) {
    // The least time of rectangles no larger, for rising sizes.
    std::vector<double> least(cells.size(), infinite);
    for (int64_t height = 1; height <= longest; ++height)
      for (int64_t width = 1; width <= longest; ++width) {
        const bool turned = at(height, width).time < at(width, height).time;
        const Cell &cell = turned ? at(height, width) : at(width, height);
        double smaller = infinite;
        if (width > 1)
          smaller = std::min(smaller, least[index(width - 1, height)]);
        if (height > 1)
          smaller = std::min(smaller, least[index(width, height - 1)]);
        least[index(width, height)] = std::min(smaller, cell.time);
        if (cell.time < smaller) {
          shapes.push_back({width, height, cell.time});
          executions.push_back(executionOf(cell));
          executions.back().turned = turned;
        }
      }
  }

private:
  static constexpr double infinite = std::numeric_limits<double>::infinity();

  struct Cell {
    double time = infinite;
    uint16_t h = 0, w = 0, c = 0, k[4] = {};
  };

  size_t index(int64_t width, int64_t height) const {
    return (height - 1) * longest + width - 1;
  }
  Cell &at(int64_t width, int64_t height) {
    return cells[index(width, height)];
  }

  void growOutputs(int64_t h, int64_t w, int64_t c) {
    const size_t count = kernel.convolutions.size();
    int64_t k[4] = {}, width = 0;
    const int64_t height = h * w * (c + 1);
    const int64_t widest = height <= shortest ? longest : shortest;
    for (size_t i = 0; i < count; ++i) {
      const Convolution &conv = kernel.convolutions[i];
      k[i] = leastOutputs(conv, h, w, std::min(c, conv.C), memoryLimit);
      if (k[i] > conv.K)
        return;
      width += 3 * k[i];
    }
    while (width <= widest) {
      double time = 0;
      for (size_t i = 0; i < count; ++i)
        time = std::max(time, convTime(i, h, w, c, k[i]));
      Cell &cell = at(width, height);
      if (time < cell.time) {
        cell.time = time;
        cell.h = h, cell.w = w, cell.c = c;
        std::copy(k, k + 4, cell.k);
      }
      for (size_t i = 0; i < count; ++i) {
        if (convTime(i, h, w, c, k[i]) < time)
          continue;
        const int64_t K = kernel.convolutions[i].K;
        if (k[i] == K)
          return;
        const int64_t faster = ceilDiv(K, ceilDiv(K, k[i]) - 1);
        width += 3 * (faster - k[i]);
        k[i] = faster;
      }
    }
  }

  double convTime(size_t i, int64_t h, int64_t w, int64_t c, int64_t k) const {
    const Convolution &conv = kernel.convolutions[i];
    return timeOf(conv, h, w, std::min(c, conv.C), k);
  }

  Execution executionOf(const Cell &cell) const {
    Execution execution{cell.h, cell.w, {}, {}, false};
    for (size_t i = 0; i < kernel.convolutions.size(); ++i) {
      execution.c.push_back(
          std::min<int64_t>(cell.c, kernel.convolutions[i].C));
      execution.k.push_back(cell.k[i]);
    }
    return execution;
  }

  const GraphKernel &kernel;
  int64_t memoryLimit;
  int64_t longest, shortest;
  std::vector<Cell> cells;
};
} // namespace

/// Kernels of one key have the same shapes.
static auto keyOf(const GraphKernel &kernel) {
  std::vector<
      std::tuple<int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t>>
      key;
  for (const Convolution &conv : kernel.convolutions)
    key.push_back(
        {conv.H, conv.W, conv.R, conv.S, conv.C, conv.K, conv.stride});
  return key;
}

KernelPlacement wsec::placementProblemOf(const KernelGraph &graph) {
  KernelPlacement result;
  PlacementProblem &problem = result.problem;
  problem.width = graph.width;
  problem.height = graph.height;
  problem.throughputWeight = graph.timeWeight;
  problem.wireWeight = graph.wireWeight;
  std::map<decltype(keyOf({})), size_t> sets;
  for (const GraphKernel &kernel : graph.kernels) {
    const auto [set, isNew] =
        sets.insert({keyOf(kernel), problem.shapeSets.size()});
    if (isNew)
      ShapeTable(kernel, graph)
          .paretoFront(problem.shapeSets.emplace_back(),
                       result.executions.emplace_back());
    if (problem.shapeSets[set->second].empty())
      throw std::runtime_error(
          graph.file + ":" + std::to_string(kernel.line) + ": kernel " +
          kernel.name + " fits no rectangle of the wafer of " +
          std::to_string(graph.width) + "x" + std::to_string(graph.height) +
          " tiles with " + std::to_string(graph.memoryLimit) +
          " words of memory each");
    problem.regions.push_back({"kernel " + kernel.name, set->second});
  }
  for (const auto &[from, to] : graph.edges)
    problem.edges.push_back({from, to});
  return result;
}
