// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PEs of one color by what they are set to and what they mean: a cell has all
// PEs of one class of columns and one of rows.

#ifndef WSEC_COMPILER_ROUTE_ROUTECELLS_H
#define WSEC_COMPILER_ROUTE_ROUTECELLS_H

#include "compiler/route/PatternSemantics.h"

#include <utility>
#include <vector>

namespace wsec {

/// Columns (or rows) by which progressions they are in.
class Classes {
public:
  Classes(int64_t length, std::vector<Progression> progressions,
          int64_t &steps);

  size_t count() const { return representatives.size(); }
  size_t first() const { return classOf.front(); }
  size_t last() const { return classOf.back(); }
  /// Classes that are neighbours somewhere, the lower position first.
  const std::vector<std::pair<size_t, size_t>> &neighbours() const {
    return pairs;
  }
  /// The classes that lie in one of the given progressions.
  std::vector<size_t> in(const Progression &progression);

private:
  void split(const Progression &progression);
  void number();

  int64_t &steps;
  std::vector<size_t> classOf;
  std::vector<int64_t> representatives;
  std::vector<std::pair<size_t, size_t>> pairs;
  // For each class, when it was last met; while splitting, where members go.
  std::vector<std::pair<size_t, size_t>> moves;
  size_t round = 0;
};

/// One setting and meaning, shared by all PEs of a cell.
struct Cell {
  Port receive = Port::Ramp;
  uint8_t transmit = 0; // 0: no setting
  bool source = false, destination = false, exit = false;

  bool receives(Port port) const { return transmit != 0 && receive == port; }
};

/// The cells of one color of one stream, or of all streams of a color.
class CellTable {
public:
  CellTable(const RoutingProblem &problem,
            const std::vector<const RouteRule *> &rules, const Meaning &meaning,
            int64_t &steps);

  bool disjoint() const { return disjointRules; }
  bool proves(uint8_t arrivals) const;

private:
  template <typename Change>
  void update(const Rect &rect, Change change);
  bool agrees(const Cell &cell, uint8_t arrivals) const;
  bool neighboursAgree() const;
  bool edgesAgree() const;
  const Cell &at(size_t column, size_t row) const {
    return cells[row * columns.count() + column];
  }

  const Meaning &meaning;
  int64_t &steps;
  Classes columns, rows;
  std::vector<Cell> cells;
  bool disjointRules = true;
};

} // namespace wsec

#endif // WSEC_COMPILER_ROUTE_ROUTECELLS_H
