// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/machine/Machine.h"

#include "compiler/machine/Tiling.h"

#include "llvm/ADT/StringRef.h"

#include <algorithm>

using namespace wsec;

Machine Machine::region(int column, int row, int columns, int rows) const {
  Machine region = *this;
  region.x = column;
  region.y = row;
  region.meshWidth = width;
  region.meshHeight = height;
  region.width = columns;
  region.height = rows;
  return region;
}

Machine Machine::withShare(int begin, int count) const {
  Machine machine = *this;
  machine.shareBegin = begin;
  machine.shareCount = count;
  return machine;
}

int Machine::channelsOfMesh() const {
  int rows = meshHeight ? meshHeight : height;
  return channels < rows ? channels : rows;
}

int Machine::channelRow(int channel) const {
  return int(
      tileStart(meshHeight ? meshHeight : height, channelsOfMesh(), channel));
}

int Machine::firstChannel() const {
  int rows = meshHeight ? meshHeight : height;
  int channel = int(tileIndex(rows, channelsOfMesh(), y));
  return channel + (channelRow(channel) < y);
}

int Machine::channelsInUse() const {
  int rows = meshHeight ? meshHeight : height;
  return int(tileIndex(rows, channelsOfMesh(), y + height - 1)) + 1 -
         firstChannel();
}

int Machine::westCount() const {
  return shareCount ? shareCount : channelsInUse();
}

std::vector<ChannelPosition> Machine::westChannels() const {
  std::vector<ChannelPosition> positions;
  int count = westCount(), first = firstWest();
  positions.reserve(size_t(count));
  for (int i = 0; i < count; ++i)
    positions.push_back({channelRow(first + i) - y,
                         int(tileStart(width, count, i)),
                         int(tileStart(width, count, i + 1))});
  return positions;
}

std::vector<ChannelPosition> Machine::eastChannels() const {
  std::vector<ChannelPosition> positions;
  int count = channelsInUse(), first = firstChannel();
  for (int i = 0; i < count; ++i) {
    int row = channelRow(first + i) - y;
    int end = i + 1 < count ? channelRow(first + i + 1) - y : height;
    positions.push_back({row, row, end});
  }
  return positions;
}

std::vector<ChannelPosition> Machine::exitsOfColumns(int last) const {
  std::vector<ChannelPosition> exits;
  for (const ChannelPosition &channel : eastChannels())
    if (channel.row >= last)
      exits.push_back({channel.row, 0, 0});
  const int64_t count = int64_t(exits.size());
  for (int64_t i = 0; i < count; ++i) {
    exits[size_t(i)].begin = int(tileStart(width, count, i));
    exits[size_t(i)].end = int(tileStart(width, count, i + 1));
  }
  return exits;
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
  // What lies outside is not in the way.
  std::vector<PeRectangle> inside;
  for (const PeRectangle &its : keepOuts)
    if (its.x < width && its.y < height)
      inside.push_back({its.x, its.y, std::min(its.width, width - its.x),
                        std::min(its.height, height - its.y)});
  keepOuts = std::move(inside);
  return std::nullopt;
}

std::optional<PeRectangle> Machine::roomFor(int columns, int rows) const {
  for (int channel = 0; channel < channelsOfMesh(); ++channel) {
    const int y = channelRow(channel);
    // At the west side, or just east of something.
    std::vector<int> starts{0};
    for (const PeRectangle &its : keepOuts)
      starts.push_back(its.x + its.width);
    std::sort(starts.begin(), starts.end());
    for (int x : starts) {
      auto hits = [&](const PeRectangle &its) {
        return x < its.x + its.width && its.x < x + columns &&
               y < its.y + its.height && its.y < y + rows;
      };
      if (x + columns <= width && y + rows <= height &&
          std::none_of(keepOuts.begin(), keepOuts.end(), hits))
        return PeRectangle{x, y, columns, rows};
    }
  }
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

std::optional<PeRectangle> wsec::parseKeepOut(std::string_view text) {
  auto [x, rest] = llvm::StringRef(text).split(',');
  auto [y, shape] = rest.split(',');
  std::optional<std::pair<int, int>> extents = parseMesh(shape);
  PeRectangle its;
  if (!extents || x.getAsInteger(10, its.x) || y.getAsInteger(10, its.y))
    return std::nullopt;
  its.width = extents->first;
  its.height = extents->second;
  return its;
}
