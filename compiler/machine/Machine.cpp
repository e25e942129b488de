// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/machine/Machine.h"

#include "compiler/machine/Tiling.h"

#include "llvm/ADT/StringRef.h"

using namespace wsec;

static std::vector<LanePosition> spreadLanes(int lanes, int rows, int served) {
  std::vector<LanePosition> positions;
  for (int lane = 0; lane < lanes; ++lane)
    positions.push_back({int(tileStart(rows, lanes, lane)),
                         int(tileStart(served, lanes, lane)),
                         int(tileStart(served, lanes, lane + 1))});
  return positions;
}

std::vector<LanePosition> Machine::westLanes() const {
  return spreadLanes(lanesInUse(), height, width);
}

std::vector<LanePosition> Machine::eastLanes() const {
  return spreadLanes(lanesInUse(), height, height);
}

std::optional<std::string> Machine::setMesh(int newWidth, int newHeight) {
  if (newWidth < 1 || newHeight < 1)
    return "a mesh needs at least one column and one row";
  if (newWidth > width || newHeight > height)
    return "mesh " + std::to_string(newWidth) + "x" +
           std::to_string(newHeight) + " is larger than the " +
           std::to_string(width) + "x" + std::to_string(height) +
           " PEs a program may use on " + name;
  width = newWidth;
  height = newHeight;
  return std::nullopt;
}

std::optional<std::pair<int, int>> wsec::parseMesh(std::string_view text) {
  llvm::StringRef width, height;
  std::tie(width, height) = llvm::StringRef(text).split('x');
  std::pair<int, int> mesh;
  if (width.getAsInteger(10, mesh.first) ||
      height.getAsInteger(10, mesh.second) || mesh.first < 1 || mesh.second < 1)
    return std::nullopt;
  return mesh;
}
