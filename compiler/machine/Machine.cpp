// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/machine/Machine.h"

#include "compiler/machine/Tiling.h"

#include "llvm/ADT/StringRef.h"

using namespace wsec;

static std::vector<ChannelPosition> spreadChannels(int channels, int rows,
                                                   int served) {
  std::vector<ChannelPosition> positions;
  for (int channel = 0; channel < channels; ++channel)
    positions.push_back({int(tileStart(rows, channels, channel)),
                         int(tileStart(served, channels, channel)),
                         int(tileStart(served, channels, channel + 1))});
  return positions;
}

std::vector<ChannelPosition> Machine::westChannels() const {
  return spreadChannels(channelsInUse(), height, width);
}

std::vector<ChannelPosition> Machine::eastChannels() const {
  return spreadChannels(channelsInUse(), height, height);
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
