// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The contest's output: written, and checked from the text alone.
#include "tools/place/KernelGraph.h"
#include "tools/place/LineCursor.h"

#include <algorithm>
#include <cstdlib>
#include <map>

using namespace wsec;

static std::string kindOf(const GraphKernel &kernel) {
  switch (kernel.kind) {
  case GraphKernel::Kind::DBlock:
    return "dblock";
  case GraphKernel::Kind::CBlock:
    return "cblock";
  case GraphKernel::Kind::Conv:
    break;
  }
  return "conv";
}

std::string wsec::kernelPlacementText(const KernelGraph &graph,
                                      const KernelPlacement &kernels,
                                      const Placement &placement) {
  std::string executions, places;
  for (size_t i = 0; i < graph.kernels.size(); ++i) {
    const GraphKernel &kernel = graph.kernels[i];
    const PlacedShape &placed = placement.regions[i];
    const Execution &execution =
        kernels.executions[kernels.problem.regions[i].shapeSet][placed.shape];
    std::vector<int64_t> values = kernel.fields;
    values.insert(values.end(), {execution.h, execution.w});
    values.insert(values.end(), execution.c.begin(), execution.c.end());
    values.insert(values.end(), execution.k.begin(), execution.k.end());
    executions += kernel.name + " = " + kindOf(kernel) + "(";
    for (int64_t value : values)
      executions += " " + std::to_string(value);
    executions += " )\n";
    places += kernel.name + " : place(" + std::to_string(placed.at.x) + " " +
              std::to_string(placed.at.y) +
              (execution.turned ? " R90)\n" : " R0)\n");
  }
  return executions + places;
}

//===----------------------------------------------------------------------===//
// The checker
//===----------------------------------------------------------------------===//

namespace {
class PlacementChecker {
public:
  PlacementChecker(const KernelGraph &graph, const PlacementProblem &problem,
                   const std::string &file)
      : graph(graph), problem(problem), file(file),
        kernels(graph.kernels.size()) {
    for (size_t i = 0; i < graph.kernels.size(); ++i)
      indices[graph.kernels[i].name] = i;
  }

  KernelScore check(std::istream &in) {
    std::string text;
    for (int64_t line = 1; std::getline(in, text); ++line) {
      LineCursor cursor(file, line, text);
      if (!cursor.atEnd())
        readLine(cursor, line);
    }
    for (size_t i = 0; i < kernels.size(); ++i)
      if (!kernels[i].sizeLine || !kernels[i].placeLine)
        throw std::runtime_error(
            file + ": kernel " + graph.kernels[i].name + " has no " +
            (kernels[i].sizeLine ? "place" : "execution values"));
    if (in.bad())
      throw std::runtime_error(file + ": cannot be read");
    checkRectangles();
    return score();
  }

private:
  struct Checked {
    int64_t sizeLine = 0, placeLine = 0;
    int64_t x = 0, y = 0, width = 0, height = 0;
    bool rotated = false;
    double time = 0;
  };

  void readLine(LineCursor &cursor, int64_t line) {
    const std::string name = cursor.word();
    const auto index = indices.find(name);
    if (index == indices.end())
      cursor.fail("the graph has no kernel " + name);
    Checked &checked = kernels[index->second];
    const bool place = cursor.take(":");
    int64_t &known = place ? checked.placeLine : checked.sizeLine;
    if (known)
      cursor.fail("kernel " + name + " has " +
                  (place ? "a place" : "execution values") +
                  " already, on line " + std::to_string(known));
    known = line;
    if (place) {
      readPlace(cursor, checked);
    } else {
      cursor.expect("=");
      readValues(cursor, graph.kernels[index->second], checked);
    }
    if (!cursor.atEnd())
      cursor.fail("more than expected on the line");
  }

  void readPlace(LineCursor &cursor, Checked &checked) {
    cursor.expect("place");
    cursor.expect("(");
    checked.x = cursor.number(0, graph.width - 1, "x");
    checked.y = cursor.number(0, graph.height - 1, "y");
    const std::string turn = cursor.word();
    if (turn != "R0" && turn != "R90")
      cursor.fail("expected R0 or R90, found '" + turn + "'");
    checked.rotated = turn == "R90";
    cursor.expect(")");
  }

  void readValues(LineCursor &cursor, const GraphKernel &kernel,
                  Checked &checked) {
    cursor.expect(kindOf(kernel));
    cursor.expect("(");
    for (int64_t field : kernel.fields)
      if (cursor.number(1, 65535, "a dimension") != field)
        cursor.fail("the graph has other dimensions, on line " +
                    std::to_string(kernel.line));
    const int64_t h = cursor.number(1, 65535, "h");
    const int64_t w = cursor.number(1, 65535, "w");
    std::vector<int64_t> c, k;
    for (std::vector<int64_t> *values : {&c, &k})
      for (size_t i = 0; i < kernel.convolutions.size(); ++i)
        values->push_back(cursor.number(1, 65535, values == &c ? "c" : "k"));
    cursor.expect(")");
    for (size_t i = 0; i < kernel.convolutions.size(); ++i)
      addConvolution(cursor, kernel.convolutions[i], h, w, c[i], k[i], checked);
  }

  void addConvolution(LineCursor &cursor, const Convolution &conv, int64_t h,
                      int64_t w, int64_t c, int64_t k, Checked &checked) const {
    if (h > conv.H || w > conv.W || c > conv.C || k > conv.K)
      cursor.fail("execution values " + std::to_string(h) + " " +
                  std::to_string(w) + " " + std::to_string(c) + " " +
                  std::to_string(k) + " exceed the dimensions " +
                  std::to_string(conv.H) + " " + std::to_string(conv.W) + " " +
                  std::to_string(conv.C) + " " + std::to_string(conv.K));
    auto parts = [](int64_t all, int64_t split) {
      return all / split + (all % split != 0);
    };
    checked.width += 3 * k;
    checked.height = std::max(checked.height, h * w * (c + 1));
    const double steps = double(parts(conv.H, h) * parts(conv.W, w)) *
                         double(parts(conv.C, c) * parts(conv.K, k));
    checked.time =
        std::max(checked.time, steps * double(conv.R * conv.S) /
                                   double(conv.stride) / double(conv.stride));
    // Both sides times h w c k.
    const int64_t weights = conv.C * conv.K * conv.R * conv.S * h * w;
    const int64_t inputs =
        (conv.W + conv.S - 1) * (conv.H + conv.R - 1) * conv.K * c;
    if (weights + inputs > graph.memoryLimit * h * w * c * k)
      cursor.fail("memory of " +
                  std::to_string((weights + inputs) / (h * w * c * k) + 1) +
                  " words in a tile, the limit is " +
                  std::to_string(graph.memoryLimit));
  }

  void checkRectangles() {
    for (Checked &checked : kernels)
      if (checked.rotated)
        std::swap(checked.width, checked.height);
    for (size_t i = 0; i < kernels.size(); ++i) {
      const Checked &a = kernels[i];
      if (a.x + a.width > graph.width || a.y + a.height > graph.height)
        fail(a, describe(i) + " leaves the wafer of " +
                    std::to_string(graph.width) + "x" +
                    std::to_string(graph.height));
      for (size_t j = 0; j < i; ++j) {
        const Checked &b = kernels[j];
        const bool apart = a.x + a.width <= b.x || b.x + b.width <= a.x ||
                           a.y + a.height <= b.y || b.y + b.height <= a.y;
        if (!apart)
          fail(a, describe(i) + " overlaps " + describe(j));
      }
      checkConstraints(i);
    }
  }

  void checkConstraints(size_t i) const {
    const Checked &its = kernels[i];
    const std::optional<PlacedOrigin> &pin = problem.regions[i].pin;
    if (pin && (pin->x != its.x || pin->y != its.y))
      fail(its, describe(i) + " is pinned to (" + std::to_string(pin->x) +
                    ", " + std::to_string(pin->y) + ")");
    for (const PlacedRegion &out : problem.keepOuts)
      if (its.x < out.x + out.columns && out.x < its.x + its.width &&
          its.y < out.y + out.rows && out.y < its.y + its.height)
        fail(its, describe(i) + " has tiles of the keep-out of " +
                      std::to_string(out.columns) + "x" +
                      std::to_string(out.rows) + " at (" +
                      std::to_string(out.x) + ", " + std::to_string(out.y) +
                      ")");
  }

  double distanceOf(const NearWish &wish) const {
    auto x = [&](size_t i) {
      return double(kernels[i].x) + double(kernels[i].width) / 2;
    };
    auto y = [&](size_t i) {
      return double(kernels[i].y) + double(kernels[i].height) / 2;
    };
    const size_t i = wish.region;
    switch (wish.target) {
    case NearWish::Target::Region:
      return std::abs(x(i) - x(wish.other)) + std::abs(y(i) - y(wish.other));
    case NearWish::Target::Pe:
      return std::abs(x(i) - double(wish.pe.x) - 0.5) +
             std::abs(y(i) - double(wish.pe.y) - 0.5);
    case NearWish::Target::North:
      return y(i);
    case NearWish::Target::South:
      return double(graph.height) - y(i);
    case NearWish::Target::East:
      return double(graph.width) - x(i);
    case NearWish::Target::West:
      return x(i);
    }
    return 0;
  }

  std::string describe(size_t i) const {
    const Checked &its = kernels[i];
    return "kernel " + graph.kernels[i].name + " of " +
           std::to_string(its.width) + "x" + std::to_string(its.height) +
           " at (" + std::to_string(its.x) + ", " + std::to_string(its.y) + ")";
  }

  [[noreturn]] void fail(const Checked &at, const std::string &what) const {
    throw std::runtime_error(file + ":" + std::to_string(at.placeLine) + ": " +
                             what);
  }

  KernelScore score() const {
    KernelScore score;
    for (const Checked &checked : kernels)
      score.time = std::max(score.time, checked.time);
    for (const auto &[from, to] : graph.edges) {
      const Checked &a = kernels[from], &b = kernels[to];
      const double x = double(a.x - b.x) + double(a.width - b.width) / 2;
      const double y = double(a.y - b.y) + double(a.height - b.height) / 2;
      score.wire += std::abs(x) + std::abs(y);
    }
    for (const NearWish &wish : problem.wishes)
      score.near += double(wish.weight) * distanceOf(wish);
    score.total = graph.timeWeight * score.time + graph.wireWeight * score.wire;
    return score;
  }

  const KernelGraph &graph;
  const PlacementProblem &problem;
  std::string file;
  std::vector<Checked> kernels;
  std::map<std::string, size_t> indices;
};
} // namespace

KernelScore wsec::checkKernelPlacement(const KernelGraph &graph,
                                       const PlacementProblem &problem,
                                       std::istream &text,
                                       const std::string &name) {
  return PlacementChecker(graph, problem, name).check(text);
}
