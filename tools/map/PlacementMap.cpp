// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The map for the terminal: at most 64 x 24 characters for any mesh, then a
// legend. A character shows the smallest region that has a PE under it.

#include "runtime/program/NearestNames.h"
#include "tools/map/PlacementDump.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>

using namespace wsec;
using namespace wsec::map;

static constexpr int64_t mapColumns = 64, mapRows = 24;
static constexpr size_t listedKernels = 60;
static constexpr char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";

static std::string text(const PlacedRegion &region) {
  return std::to_string(region.columns) + "x" + std::to_string(region.rows) +
         " at (" + std::to_string(region.x) + "," + std::to_string(region.y) +
         ")";
}

/// A name without the quotes of messages.
static std::string shown(const std::string &name) {
  std::string quoted = runtime::inQuotes(name);
  return quoted.substr(1, quoted.size() - 2);
}

static std::string join(const std::vector<int64_t> &values) {
  std::string result;
  for (int64_t value : values)
    result += (result.empty() ? "" : ",") + std::to_string(value);
  return result;
}

/// The letter of the i-th region; the ones past Z share a '+'.
static char letterOf(size_t i) { return i < 26 ? letters[i] : '+'; }

static bool meets(const PlacedRegion &r, int64_t x0, int64_t x1, int64_t y0,
                  int64_t y1) {
  return r.x < x1 && x0 < r.x + r.columns && r.y < y1 && y0 < r.y + r.rows;
}

static bool hasChannel(const std::vector<PlacedChannel> &channels, int64_t y0,
                       int64_t y1) {
  return std::any_of(channels.begin(), channels.end(),
                     [&](const PlacedChannel &channel) {
                       return channel.row >= y0 && channel.row < y1;
                     });
}

static void drawMap(llvm::raw_ostream &os, const PlacementView &view) {
  int64_t width = view.machine.width, height = view.machine.height;
  int64_t xs = (width + mapColumns - 1) / mapColumns;
  int64_t ys = (height + mapRows - 1) / mapRows;
  os << "one character = " << xs << "x" << ys << " PEs, '>' an I/O channel"
     << (view.machine.keepOuts.empty() ? "" : ", '#' kept out") << "\n\n";
  for (int64_t y = 0; y < height; y += ys) {
    os << llvm::format("%6lld ", (long long)y)
       << (hasChannel(view.west, y, y + ys) ? '>' : '|');
    for (int64_t x = 0; x < width; x += xs) {
      char symbol = '.';
      for (size_t i = 0; i < view.regions.size(); ++i)
        if (meets(view.regions[i].pes, x, x + xs, y, y + ys))
          symbol = letterOf(i);
      for (const PeRectangle &its : view.machine.keepOuts)
        if (meets({its.x, its.y, its.width, its.height}, x, x + xs, y, y + ys))
          symbol = '#';
      os << symbol;
    }
    os << (hasChannel(view.east, y, y + ys) ? '>' : '|') << "\n";
  }
  os << "\n";
}

static void listRegions(llvm::raw_ostream &os, const PlacementView &view) {
  os << "regions\n";
  for (size_t i = 0; i < view.regions.size(); ++i) {
    const PlacementView::RegionView &region = view.regions[i];
    os << "  " << letterOf(i) << "  @" << shown(region.name) << " "
       << text(region.pes) << ", " << region.kernels << " kernels";
    if (view.regions.size() > 1)
      os << ", " << region.role;
    if (region.firstKernel)
      os << " from " << *region.firstKernel;
    os << "\n";
  }
  os << "channels\n  " << view.west.size() << " in at the west edge, "
     << view.east.size() << " out at the east edge\n";
}

/// Those of a call of main, and of other entries by name.
static std::string wordsText(const PlacementView::StreamView &stream) {
  std::string text;
  for (const auto &[entry, words] : stream.words)
    text += ", " + std::to_string(words) + " words" +
            (entry == "main" ? "" : " of " + shown(entry));
  return text;
}

static void listStreams(llvm::raw_ostream &os, const PlacementView &view) {
  if (view.streams.empty())
    return;
  int64_t colors = 0;
  for (const PlacementView::StreamView &stream : view.streams)
    for (int64_t color : stream.colors)
      colors = std::max(colors, color + 1);
  os << "streams, " << colors << " of " << view.machine.usableColors()
     << " colors\n";
  for (const PlacementView::StreamView &stream : view.streams)
    os << "  " << llvm::left_justify("@" + shown(stream.name), 16)
       << llvm::left_justify(stream.pattern, 12)
       << (stream.colors.size() > 1 ? "colors " : "color ")
       << join(stream.colors) << ", " << stream.routes.size() << " rules"
       << wordsText(stream) << "\n";
}

static void listLoads(llvm::raw_ostream &os, const PlacementView &view) {
  for (const PlacementView::LoadView &load : view.loads) {
    os << "fullest links in a call of " << shown(load.entry) << "\n";
    if (load.unknown)
      os << "  without the words of " << load.unknown
         << " launches, which are not known before it\n";
    for (const PlacementView::LinkView &link : load.fullest) {
      os << "  " << link.words << " words out of (" << link.x << "," << link.y
         << ") to the " << link.port;
      if (link.links > 1)
        os << ", and " << link.links - 1 << " more like it";
      os << ":";
      for (const auto &[stream, words] : link.streams)
        os << (&stream == &link.streams.front().first ? " @" : ", @")
           << shown(stream) << " " << words;
      os << "\n";
    }
  }
}

static void listSram(llvm::raw_ostream &os, const PlacementView &view) {
  if (!view.sramPeak)
    return;
  int64_t limit = view.machine.sramBytes, peak = *view.sramPeak;
  int64_t filled = limit ? std::min<int64_t>(40, peak * 40 / limit) : 0;
  os << "SRAM of the fullest PE\n  [" << std::string(filled, '#')
     << std::string(40 - filled, '-') << "] " << peak << " of " << limit
     << " bytes, by " << shown(view.sramOwner) << "\n";
}

static void listKernels(llvm::raw_ostream &os, const PlacementView &view) {
  os << "kernels\n";
  size_t count = std::min(view.kernels.size(), listedKernels);
  for (size_t i = 0; i < count; ++i) {
    const PlacementView::KernelView &kernel = view.kernels[i];
    os << llvm::format("  %4lld  ", (long long)kernel.slot.value_or(i))
       << llvm::left_justify(kernel.kind, 14) << text(kernel.pes);
    if (kernel.address)
      os << ", [" << *kernel.address << "," << *kernel.address + kernel.bytes
         << ")";
    if (kernel.scratchAddress)
      os << ", scratch [" << *kernel.scratchAddress << ","
         << *kernel.scratchAddress + kernel.scratchBytes << ")";
    os << "  " << shown(kernel.name) << "\n";
  }
  if (count < view.kernels.size())
    os << "  ... " << view.kernels.size() - count
       << " more; all are in the JSON\n";
}

std::string map::placementAsText(const PlacementView &view) {
  std::string result;
  llvm::raw_string_ostream os(result);
  os << "@" << shown(view.name) << " (" << view.state << ") on "
     << view.machine.width << "x" << view.machine.height << " PEs of "
     << shown(view.machine.name) << "; ";
  drawMap(os, view);
  listRegions(os, view);
  listStreams(os, view);
  listLoads(os, view);
  listSram(os, view);
  listKernels(os, view);
  return result;
}
