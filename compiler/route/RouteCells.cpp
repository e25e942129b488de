// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/route/RouteCells.h"

#include <algorithm>
#include <tuple>

using namespace wsec;

static constexpr uint8_t north = portBit(Port::North);
static constexpr uint8_t south = portBit(Port::South);
static constexpr uint8_t east = portBit(Port::East);
static constexpr uint8_t west = portBit(Port::West);
static constexpr uint8_t ramp = portBit(Port::Ramp);

Classes::Classes(int64_t length, std::vector<Progression> progressions,
                 int64_t &steps)
    : steps(steps), classOf(size_t(length), 0), moves(1) {
  std::sort(progressions.begin(), progressions.end(),
            [](const Progression &a, const Progression &b) {
              return std::tie(a.begin, a.end, a.step) <
                     std::tie(b.begin, b.end, b.step);
            });
  progressions.erase(std::unique(progressions.begin(), progressions.end()),
                     progressions.end());
  for (const Progression &progression : progressions) {
    split(progression);
    steps += progression.count();
  }
  number();
  steps += length;
}

/// Members of a class that lie in the progression become a class of their own.
void Classes::split(const Progression &progression) {
  ++round;
  for (int64_t i = progression.begin; i < progression.end;
       i += progression.step) {
    size_t &mine = classOf[size_t(i)];
    if (moves[mine].first != round) {
      moves[mine] = {round, moves.size()};
      moves.emplace_back();
    }
    mine = moves[mine].second;
  }
}

/// Looks at the positions or at the classes, whatever is less.
std::vector<size_t> Classes::in(const Progression &progression) {
  std::vector<size_t> result;
  if (progression.count() >= int64_t(count())) {
    for (size_t c = 0; c < count(); ++c)
      if (progression.contains(representatives[c]))
        result.push_back(c);
    steps += int64_t(count());
    return result;
  }
  ++round;
  for (int64_t i = progression.begin; i < progression.end;
       i += progression.step) {
    size_t c = classOf[size_t(i)];
    if (std::exchange(moves[c].first, round) != round)
      result.push_back(c);
  }
  steps += progression.count();
  return result;
}

/// Splitting leaves empty classes behind: numbers those that have members.
void Classes::number() {
  constexpr size_t none = ~size_t(0);
  std::vector<size_t> numbers(moves.size(), none);
  for (size_t i = 0; i < classOf.size(); ++i) {
    size_t &number = numbers[classOf[i]];
    if (number == none) {
      number = representatives.size();
      representatives.push_back(int64_t(i));
    }
    classOf[i] = number;
    if (i > 0)
      pairs.emplace_back(classOf[i - 1], classOf[i]);
  }
  std::sort(pairs.begin(), pairs.end());
  pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
}

/// The progressions of all rectangles along one axis.
static std::vector<Progression>
progressionsOf(const std::vector<const RouteRule *> &rules,
               const Meaning &meaning, Progression (Rect::*along)() const) {
  std::vector<Progression> result;
  for (const RouteRule *rule : rules)
    result.push_back((rule->rect.*along)());
  for (const Rect &rect : meaning.sources)
    result.push_back((rect.*along)());
  for (const Rect &rect : meaning.destinations)
    result.push_back((rect.*along)());
  for (const Rect &rect : meaning.exits)
    result.push_back((rect.*along)());
  return result;
}

CellTable::CellTable(const RoutingProblem &problem,
                     const std::vector<const RouteRule *> &rules,
                     const Meaning &meaning, int64_t &steps)
    : meaning(meaning), steps(steps),
      columns(problem.meshWidth, progressionsOf(rules, meaning, &Rect::columns),
              steps),
      rows(problem.meshHeight, progressionsOf(rules, meaning, &Rect::rows),
           steps),
      cells(columns.count() * rows.count()) {
  steps += int64_t(cells.size());
  for (const RouteRule *rule : rules)
    update(rule->rect, [&](Cell &cell) {
      disjointRules &= cell.transmit == 0;
      cell.receive = rule->receive;
      cell.transmit = rule->transmit;
    });
  for (const Rect &rect : meaning.sources)
    update(rect, [](Cell &cell) { cell.source = true; });
  for (const Rect &rect : meaning.destinations)
    update(rect, [](Cell &cell) { cell.destination = true; });
  for (const Rect &rect : meaning.exits)
    update(rect, [](Cell &cell) { cell.exit = true; });
}

template <typename Change>
void CellTable::update(const Rect &rect, Change change) {
  std::vector<size_t> across = columns.in(rect.columns());
  std::vector<size_t> down = rows.in(rect.rows());
  for (size_t row : down)
    for (size_t column : across)
      change(cells[row * columns.count() + column]);
  steps += int64_t(across.size() * down.size());
}

/// L3 to L5, as far as a cell can tell. Words that enter off the mesh arrive
/// by a port, too: edgesAgree() tells the sources among those that do.
bool CellTable::agrees(const Cell &cell, uint8_t arrivals) const {
  if (cell.source && !cell.receives(meaning.entry))
    return false;
  if (cell.receives(Port::Ramp)
          ? !cell.source
          : cell.transmit != 0 && !(arrivals & portBit(cell.receive)))
    return false;
  if (cell.source && !meaning.exits.empty() && !(cell.transmit & east))
    return false;
  return cell.destination == bool(cell.transmit & ramp);
}

/// Whether `from` sends by `port` exactly if `to` receives from `back`.
static bool linked(const Cell &from, uint8_t port, const Cell &to, Port back) {
  return bool(from.transmit & port) == to.receives(back);
}

/// L2 inside the mesh.
bool CellTable::neighboursAgree() const {
  for (auto [left, right] : columns.neighbours())
    for (size_t row = 0; row < rows.count(); ++row) {
      const Cell &a = at(left, row), &b = at(right, row);
      if (!linked(a, east, b, Port::West) || !linked(b, west, a, Port::East))
        return false;
    }
  for (auto [upper, lower] : rows.neighbours())
    for (size_t column = 0; column < columns.count(); ++column) {
      const Cell &a = at(column, upper), &b = at(column, lower);
      if (!linked(a, south, b, Port::North) ||
          !linked(b, north, a, Port::South))
        return false;
    }
  steps += int64_t(columns.neighbours().size() * rows.count() +
                   rows.neighbours().size() * columns.count());
  return true;
}

/// L2 at the edges of the mesh: nothing passes but entries in the west and
/// exits in the east.
bool CellTable::edgesAgree() const {
  bool entries = meaning.entry == Port::West;
  for (size_t row = 0; row < rows.count(); ++row) {
    const Cell &a = at(columns.first(), row), &b = at(columns.last(), row);
    if ((a.transmit & west) || a.receives(Port::West) != (entries && a.source))
      return false;
    if (b.receives(Port::East) || bool(b.transmit & east) != b.exit)
      return false;
  }
  for (size_t column = 0; column < columns.count(); ++column) {
    const Cell &a = at(column, rows.first()), &b = at(column, rows.last());
    if ((a.transmit & north) || a.receives(Port::North) ||
        (b.transmit & south) || b.receives(Port::South))
      return false;
  }
  return true;
}

bool CellTable::proves(uint8_t ports) const {
  return disjointRules &&
         std::all_of(cells.begin(), cells.end(),
                     [&](const Cell &cell) { return agrees(cell, ports); }) &&
         neighboursAgree() && edgesAgree();
}
