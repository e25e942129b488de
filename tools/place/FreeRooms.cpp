// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/place/FreeRooms.h"

#include <algorithm>

using namespace wsec;

namespace {
/// A cut through an area, and what lies on its sides.
struct Cut {
  PlacedRegion sides[2];
  int64_t freed = 0;   ///< PEs of a side that nothing takes
  int64_t through = 0; ///< taken rectangles that it goes through
  int64_t smaller = 0; ///< PEs of the smaller side
  auto key() const { return std::make_tuple(-freed, through, -smaller); }
};
} // namespace

static int64_t pesOf(const PlacedRegion &area) {
  return area.columns * area.rows;
}

static Cut cutAt(const PlacedRegion &area, int64_t at, bool isColumn,
                 const std::vector<PlacedRegion> &taken) {
  Cut cut;
  cut.sides[0] = cut.sides[1] = area;
  if (isColumn) {
    cut.sides[0].columns = at - area.x;
    cut.sides[1] = {at, area.y, area.x + area.columns - at, area.rows};
  } else {
    cut.sides[0].rows = at - area.y;
    cut.sides[1] = {area.x, at, area.columns, area.y + area.rows - at};
  }
  for (const PlacedRegion &side : cut.sides)
    if (std::none_of(taken.begin(), taken.end(),
                     [&](auto &its) { return its.overlaps(side); }))
      cut.freed = std::max(cut.freed, pesOf(side));
  for (const PlacedRegion &its : taken)
    cut.through += its.overlaps(cut.sides[0]) && its.overlaps(cut.sides[1]);
  cut.smaller = std::min(pesOf(cut.sides[0]), pesOf(cut.sides[1]));
  return cut;
}

static void addRooms(const PlacedRegion &area,
                     const std::vector<PlacedRegion> &all,
                     std::vector<PlacedRegion> &rooms) {
  std::vector<PlacedRegion> taken;
  std::copy_if(all.begin(), all.end(), std::back_inserter(taken),
               [&](auto &its) { return its.overlaps(area); });
  if (taken.empty())
    return rooms.push_back(area);
  std::optional<Cut> best;
  auto tryAt = [&](int64_t at, bool isColumn) {
    const int64_t begin = isColumn ? area.x : area.y;
    if (at <= begin || at >= begin + (isColumn ? area.columns : area.rows))
      return;
    const Cut cut = cutAt(area, at, isColumn, taken);
    if (!best || cut.key() < best->key())
      best = cut;
  };
  for (const PlacedRegion &its : taken) {
    tryAt(its.x, true);
    tryAt(its.x + its.columns, true);
    tryAt(its.y, false);
    tryAt(its.y + its.rows, false);
  }
  if (best)
    for (const PlacedRegion &side : best->sides)
      addRooms(side, taken, rooms);
}

std::vector<PlacedRegion>
wsec::freeRooms(const PlacedRegion &area,
                const std::vector<PlacedRegion> &taken) {
  std::vector<PlacedRegion> rooms;
  addRooms(area, taken, rooms);
  std::sort(rooms.begin(), rooms.end(), [](auto &a, auto &b) {
    return std::tie(a.x, a.y) < std::tie(b.x, b.y);
  });
  return rooms;
}
