// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What ways cost while nets are negotiated, and the search for a tree.

#ifndef WSEC_COMPILER_ROUTE_PATHSEARCH_H
#define WSEC_COMPILER_ROUTE_PATHSEARCH_H

#include "compiler/route/PathProblem.h"

#include <map>
#include <optional>
#include <unordered_map>

namespace wsec {

/// PEs count row by row through the mesh; links by PE and port.
using PathPE = int64_t;

/// Who is where: settings of PEs by color, words of links. Nets are numbers of
/// the problem's.
class PathDemand {
public:
  explicit PathDemand(const PathProblem &problem);

  /// Ends of nets of a color, which no other net of it may pass.
  bool claim(size_t net, int64_t color);
  void release(size_t net, int64_t color);
  /// The end that `claim` last found taken.
  PathPE clashedPE() const { return clashedAt; }
  /// What a PE that the net cannot enter on the color is of; or nothing.
  std::string whoHas(size_t net, int64_t color, PathPE pe) const;

  void add(size_t net, const RoutedPath &path) { count(net, path, 1); }
  void remove(size_t net, const RoutedPath &path) { count(net, path, -1); }

  /// Makes all that is too much in demand dearer for good. How much there is.
  int64_t punish();
  void forget();

  /// Cost of entering a PE from a neighbour by the link `link`; nothing if the
  /// net cannot. 16 for a hop that nobody else wants.
  std::optional<int64_t> cost(size_t net, int64_t color, PathPE to,
                              int64_t link, int64_t pressure) const;
  static constexpr int64_t hop = 16;

  /// Words of other nets on a link, when most are at the time of this one.
  int64_t wordsBeside(size_t net, int64_t link) const;
  bool isOverloaded(int64_t link) const;

  struct Link {
    std::vector<size_t> nets;
    int64_t history = 0;
  };
  /// Links that nets use or used, by number.
  const std::map<int64_t, Link> &links() const { return used; }
  int64_t usersOf(int64_t color, PathPE pe) const {
    const Plane &plane = planes[size_t(color)];
    return plane.users.empty() ? 0 : plane.users[size_t(pe)];
  }
  /// Whether a color has obstacles, or nets of other bundles.
  bool isShared(int64_t color, size_t bundle) const;

private:
  /// What is known of a color, by PE; empty where no net has been there.
  struct Plane {
    std::vector<uint32_t> end;     ///< of the net with that number - 1
    std::vector<uint16_t> users;   ///< nets that pass
    std::vector<int32_t> history;  ///< what was fought over before
    std::vector<PathPE> contested; ///< has been entered by several
    std::map<size_t, int64_t> bundles;
    bool hasObstacles = false;
  };
  static constexpr uint32_t blocked = ~uint32_t(0);

  size_t meshPEs() const {
    return size_t(problem.meshWidth * problem.meshHeight);
  }
  /// `blocked`, the net that ends there + 1, or 0.
  uint32_t endAt(int64_t color, PathPE pe) const;
  void count(size_t net, const RoutedPath &path, int step);
  template <typename Visit>
  bool forEachEnd(const PathNet &net, Visit visit) const;

  const PathProblem &problem;
  std::vector<Plane> planes;
  std::vector<uint32_t> obstructed; ///< colors that may not pass; empty: none
  std::map<int64_t, Link> used;
  bool linksMatter; ///< whether all words together may be too many for a link
  PathPE clashedAt = 0;
};

/// Grows trees. Its memory is that of the mesh, whatever the number of nets.
class PathSearch {
public:
  PathSearch(const PathProblem &problem, const PathDemand &demand);

  /// The cheapest tree that it finds for the net; nothing if there is none, and
  /// `missed` says for which destination.
  std::optional<RoutedPath> grow(size_t net, int64_t color, int64_t pressure);
  PathPE missed() const { return missedPE; }
  /// After a search in vain: who is in the way, the nearest to what was missed
  /// first; three at most.
  std::vector<std::string> blockers(size_t net, int64_t color);
  /// PEs that were looked at, in all.
  int64_t steps() const { return stepCount; }

private:
  struct Reached {
    uint32_t round = 0;
    int64_t cost = 0;
    Port by = Port::Ramp; ///< the side words come from
    int32_t inTree = -1;  ///< index of the setting
    bool wanted = false;  ///< a destination that lacks its words
  };
  struct Candidate {
    int64_t estimate, cost;
    PathPE pe;
    bool operator<(const Candidate &other) const; // the best is the largest
  };

  void begin(const PathNet &net);
  Reached &at(PathPE pe);
  int64_t distance(PathPE pe) const;
  void push(PathPE pe, int64_t cost);
  void relax(size_t net, int64_t color, PathPE from, int64_t pressure);
  void connect(PathPE to, Port exit, RoutedPath &path);
  int32_t addToTree(PathPE pe, Port receive, RoutedPath &path);

  const PathProblem &problem;
  const PathDemand &demand;
  std::vector<Reached> reached;
  std::vector<Candidate> open;
  std::vector<PathPE> wanted;
  Rect box; ///< around the destinations
  uint32_t round = 0;
  PathPE missedPE = 0;
  int64_t stepCount = 0;
};

} // namespace wsec

#endif // WSEC_COMPILER_ROUTE_PATHSEARCH_H
