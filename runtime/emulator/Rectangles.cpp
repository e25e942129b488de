// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/emulator/Rectangles.h"

#include <algorithm>
#include <map>

namespace wsec::runtime {

namespace {

struct Area {
  int x0, x1, y0, y1; ///< ends included
};

std::string range(const char *name, int from, int to) {
  std::string text = std::string(name) + " " + std::to_string(from);
  return from == to ? text : text + ".." + std::to_string(to);
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
      areas.push_back({pes[i].x, pes[i].x, rows.first, rows.second});
    }
    i = end;
  }
  if (pes.size() == 1)
    return "PE " + toString(pes[0]);
  constexpr size_t shown = 8;
  std::string text = "PEs ";
  for (size_t i = 0; i < std::min(shown, areas.size()); ++i)
    text += (i ? "; " : "") + range("x", areas[i].x0, areas[i].x1) + ", " +
            range("y", areas[i].y0, areas[i].y1);
  if (areas.size() > shown)
    text += "; and " + std::to_string(areas.size() - shown) + " more areas";
  return text;
}

} // namespace wsec::runtime
