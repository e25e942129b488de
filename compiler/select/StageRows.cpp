// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/select/StageRows.h"

#include <algorithm>

using namespace wsec;
using namespace wsec::select;

std::vector<StageRow> select::stageRowsAt(const PlacementProblem &mesh,
                                          const std::vector<int64_t> &begins,
                                          int64_t rows) {
  std::vector<StageRow> stageRows;
  for (int64_t begin : begins)
    stageRows.push_back(
        {begin, freeColumns(mesh.width, begin, rows, mesh.keepOuts)});
  return stageRows;
}

/// Whether words of all its channels enter and leave the mesh.
static bool isOpen(const PlacementProblem &mesh, int64_t begin, int64_t rows) {
  return std::none_of(
      mesh.channelRows.begin(), mesh.channelRows.end(), [&](int64_t row) {
        return begin <= row && row < begin + rows &&
               std::any_of(
                   mesh.keepOuts.begin(), mesh.keepOuts.end(),
                   [&](const PlacedRegion &its) {
                     return its.overlaps({0, row, 1, 1}) ||
                            its.overlaps({mesh.width - 1, row, 1, 1});
                   });
      });
}

std::vector<StageRow> select::rowsOfStages(const PlacementProblem &mesh,
                                           int64_t rows, size_t most,
                                           bool isClear) {
  std::vector<int64_t> begins;
  for (int64_t row : mesh.channelRows)
    if (row + rows <= mesh.height && isOpen(mesh, row, rows))
      begins.push_back(row);
  std::vector<StageRow> all = stageRowsAt(mesh, begins, rows);
  const int64_t least = isClear ? mesh.width : 1;
  all.erase(std::remove_if(
                all.begin(), all.end(),
                [&](const StageRow &its) { return its.free.count() < least; }),
            all.end());
  // Of those from one on, so many at most: the most columns, and which comes
  // first.
  struct Best {
    int64_t columns = 0;
    size_t first = 0, next = 0;
  };
  std::vector<std::vector<Best>> best(most + 1,
                                      std::vector<Best>(all.size() + 1));
  for (size_t count = 1; count <= most; ++count)
    for (size_t at = all.size(), next = at; at-- > 0;) {
      while (next > 0 && all[next - 1].begin >= all[at].begin + rows)
        --next;
      const int64_t columns =
          all[at].free.count() + best[count - 1][next].columns;
      Best &its = best[count][at] = best[count][at + 1];
      if (columns >= its.columns)
        its = {columns, at, next};
    }
  std::vector<StageRow> chosen;
  for (size_t count = most, at = 0; count > 0; --count) {
    const Best &its = best[count][at];
    if (its.columns == 0)
      break;
    chosen.push_back(all[its.first]);
    at = its.next;
  }
  return chosen;
}

size_t select::channelsOf(const PlacementProblem &mesh, int64_t rows,
                          const std::vector<StageRow> &stageRows) {
  int64_t least = int64_t(mesh.channelRows.size());
  for (const StageRow &row : stageRows)
    if (const int64_t its = std::count_if(
            mesh.channelRows.begin(), mesh.channelRows.end(),
            [&](int64_t channel) {
              return row.begin <= channel && channel < row.begin + rows;
            }))
      least = std::min(least, its);
  return size_t(least);
}
