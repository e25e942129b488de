// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/placement/PlacementBound.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <set>

using namespace wsec;

static constexpr double infinite = std::numeric_limits<double>::infinity();

namespace {
/// The shapes of a set that a largest cost allows, as it rises: of each
/// shortest side the fewest PEs, less for longer ones.
class Allowed {
public:
  Allowed(const PlacementProblem &problem,
          const std::vector<CandidateShape> &shapes) {
    for (const CandidateShape &shape : shapes)
      if (problem.fits(shape))
        rising.push_back(shape);
    std::sort(rising.begin(), rising.end(),
              [](auto &a, auto &b) { return a.cost < b.cost; });
  }

  void raise(double cost) {
    for (; next < rising.size() && rising[next].cost <= cost; ++next)
      enter(std::min(rising[next].columns, rising[next].rows),
            rising[next].columns * rising[next].rows);
  }

  /// Of a shape with few PEs or many.
  int64_t shortestSide() const {
    return front.empty() ? 0 : front.front().side;
  }
  int64_t fewestPes() const {
    return front.empty() ? std::numeric_limits<int64_t>::max() / 4096
                         : front.back().pes;
  }

  /// Least of words x side + price x PEs; the PEs of that shape.
  std::pair<double, int64_t> least(double words, double price) const {
    std::pair<double, int64_t> best{infinite, 0};
    for (const Shape &shape : front)
      best = std::min(
          best,
          {words * double(shape.side) + price * double(shape.pes), shape.pes});
    return best;
  }

private:
  struct Shape {
    int64_t side, pes;
  };

  void enter(int64_t side, int64_t pes) {
    auto at = std::lower_bound(
        front.begin(), front.end(), side,
        [](const Shape &shape, int64_t value) { return shape.side < value; });
    if ((at != front.begin() && std::prev(at)->pes <= pes) ||
        (at != front.end() && at->side == side && at->pes <= pes))
      return;
    auto end = at;
    while (end != front.end() && end->pes >= pes)
      ++end;
    front.insert(front.erase(at, end), {side, pes});
  }

  std::vector<CandidateShape> rising;
  std::vector<Shape> front;
  size_t next = 0;
};

class Bound {
public:
  explicit Bound(const PlacementProblem &problem)
      : problem(problem), words(problem.regions.size(), 0),
        free(problem.freePes()) {
    for (const std::vector<CandidateShape> &shapes : problem.shapeSets) {
      allowed.emplace_back(problem, shapes);
      for (const CandidateShape &shape : shapes)
        if (problem.fits(shape))
          costs.insert(shape.cost);
    }
    for (const PlacementEdge &edge : problem.edges)
      if (edge.from != edge.to)
        for (size_t end : {edge.from, edge.to})
          words[end] += double(edge.words);
    for (const NearWish &wish : problem.wishes) {
      if (wish.target == NearWish::Target::Pe)
        continue;
      words[wish.region] += double(problem.wordsOf(wish));
      if (wish.target == NearWish::Target::Region)
        words[wish.other] += double(problem.wordsOf(wish));
    }
    findTriangles();
  }

  double throughput() {
    for (double cost : costs)
      if (raise(cost))
        return cost;
    return infinite;
  }

  double score() {
    double bound = infinite;
    for (double cost : costs) {
      const double time = problem.throughputWeight * cost;
      if (time >= bound)
        break;
      if (!raise(cost))
        continue;
      bound =
          std::min(bound, time + problem.wireWeight * (wire() + detours()) / 2);
    }
    return bound;
  }

private:
  /// Whether the smallest shapes within a cost have no more PEs than are free.
  bool raise(double cost) {
    for (Allowed &its : allowed)
      its.raise(cost);
    int64_t pes = 0;
    for (const RegionRequest &region : problem.regions)
      pes += allowed[region.shapeSet].fewestPes();
    return pes <= free;
  }

  /// In half hops: three regions of which each is a neighbour of the other two
  /// lie in a row, where the middle one is in the way of two, or round a
  /// corner, which is no shorter.
  double detours() const {
    double sum = 0;
    for (const Triangle &its : triangles) {
      int64_t side = std::numeric_limits<int64_t>::max();
      for (size_t region : its.regions)
        side = std::min(
            side, allowed[problem.regions[region].shapeSet].shortestSide());
      sum += 2 * its.words * double(side);
    }
    return sum;
  }

  /// In half hops, at a price for PEs, and the PEs in use.
  std::pair<double, int64_t> wireAt(double price) const {
    std::pair<double, int64_t> sum{-price * double(free), 0};
    for (size_t i = 0; i < words.size(); ++i) {
      const auto [wire, pes] =
          allowed[problem.regions[i].shapeSet].least(words[i], price);
      sum.first += wire;
      sum.second += pes;
    }
    return sum;
  }

  /// Concave in the price: it rises while more PEs are used than are free.
  double wire() const {
    double best = wireAt(0).first;
    if (wireAt(0).second <= free)
      return best;
    double low = 0, high = 1;
    while (wireAt(high).second > free && high < 1e12)
      high *= 4;
    for (int i = 0; i < 24; ++i) {
      const double middle = (low + high) / 2;
      const auto [wire, pes] = wireAt(middle);
      best = std::max(best, wire);
      (pes > free ? low : high) = middle;
    }
    return best;
  }

  struct Triangle {
    std::array<size_t, 3> regions;
    double words;
  };

  /// Each edge is of one at most.
  void findTriangles() {
    std::map<std::pair<size_t, size_t>, double> left; // words, of pairs
    for (const PlacementEdge &edge : problem.edges)
      if (edge.from != edge.to)
        left[std::minmax(edge.from, edge.to)] += double(edge.words);
    for (auto &[pair, words] : left)
      for (size_t third = pair.second + 1;
           third < problem.regions.size() && words > 0; ++third) {
        auto a = left.find({pair.first, third});
        auto b = left.find({pair.second, third});
        if (a == left.end() || b == left.end())
          continue;
        const double least = std::min({words, a->second, b->second});
        if (least > 0)
          triangles.push_back({{pair.first, pair.second, third}, least});
        for (double *its : {&words, &a->second, &b->second})
          *its -= least;
      }
  }

  const PlacementProblem &problem;
  std::vector<Allowed> allowed;
  std::vector<Triangle> triangles;
  std::set<double> costs;
  std::vector<double> words;
  int64_t free;
};
} // namespace

double wsec::throughputBound(const PlacementProblem &problem) {
  return Bound(problem).throughput();
}

double wsec::scoreBound(const PlacementProblem &problem) {
  return Bound(problem).score();
}
