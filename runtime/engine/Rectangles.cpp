// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/engine/Rectangles.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace wsec::runtime {

namespace {

struct Area {
  int x0, x1, y0, y1; ///< ends included
  int xstep = 1, ystep = 1;
};

std::string range(const char *name, int from, int to, int step) {
  std::string text = std::string(name) + " " + std::to_string(from);
  if (from != to)
    text += ".." + std::to_string(to);
  return step == 1 ? text : text + " step " + std::to_string(step);
}

/// Single columns of equal rows, three or more at equal distances, are one
/// area; likewise rows.
void mergeStrided(std::vector<Area> &areas, int Area::*from, int Area::*to,
                  int Area::*step, int Area::*otherFrom, int Area::*otherTo,
                  int Area::*otherStep) {
  std::map<std::tuple<int, int, int, bool>, std::vector<Area>> alike;
  for (const Area &area : areas)
    alike[{area.*otherFrom, area.*otherTo, area.*otherStep,
           area.*from == area.*to}]
        .push_back(area);
  areas.clear();
  for (const auto &[key, list] : alike)
    for (size_t i = 0; i < list.size();) {
      Area area = list[i];
      size_t end = i + 1;
      if (std::get<3>(key) && i + 2 < list.size()) {
        const int distance = list[i + 1].*from - area.*from;
        while (end < list.size() &&
               list[end].*from - list[end - 1].*from == distance)
          ++end;
        if (end - i > 2) {
          area.*to = list[end - 1].*to;
          area.*step = distance;
        } else {
          end = i + 1;
        }
      }
      areas.push_back(area);
      i = end;
    }
  std::sort(areas.begin(), areas.end(), [](const Area &a, const Area &b) {
    return std::pair(a.x0, a.y0) < std::pair(b.x0, b.y0);
  });
}

} // namespace

std::string describeRectangles(std::vector<Coordinate> pes) {
  std::sort(pes.begin(), pes.end(), [](Coordinate a, Coordinate b) {
    return std::pair(a.x, a.y) < std::pair(b.x, b.y);
  });
  pes.erase(std::unique(pes.begin(), pes.end()), pes.end());
  // Runs within a column, then equal runs of neighbouring columns.
  std::vector<Area> areas;
  std::map<std::pair<int, int>, size_t> open;
  for (size_t i = 0; i < pes.size();) {
    size_t end = i + 1;
    while (end < pes.size() && pes[end].x == pes[i].x &&
           pes[end].y == pes[end - 1].y + 1)
      ++end;
    std::pair<int, int> rows{pes[i].y, pes[end - 1].y};
    auto before = open.find(rows);
    if (before != open.end() && areas[before->second].x1 == pes[i].x - 1) {
      areas[before->second].x1 = pes[i].x;
    } else {
      open[rows] = areas.size();
      areas.push_back({pes[i].x, pes[i].x, rows.first, rows.second, 1, 1});
    }
    i = end;
  }
  if (pes.size() == 1)
    return "PE " + toString(pes[0]);
  mergeStrided(areas, &Area::x0, &Area::x1, &Area::xstep, &Area::y0, &Area::y1,
               &Area::ystep);
  mergeStrided(areas, &Area::y0, &Area::y1, &Area::ystep, &Area::x0, &Area::x1,
               &Area::xstep);
  constexpr size_t shown = 8;
  std::string text = "PEs ";
  for (size_t i = 0; i < std::min(shown, areas.size()); ++i)
    text += (i ? "; " : "") +
            range("x", areas[i].x0, areas[i].x1, areas[i].xstep) + ", " +
            range("y", areas[i].y0, areas[i].y1, areas[i].ystep);
  if (areas.size() > shown)
    text += "; and " + std::to_string(areas.size() - shown) + " more areas";
  return text;
}

} // namespace wsec::runtime
