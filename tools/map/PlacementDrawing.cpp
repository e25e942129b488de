// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The drawing: the mesh with its regions and channels on the left; on the right
// a bar of the SRAM, and each stream as an arrow of its own color, drawn again
// on the mesh where its words go.

#include "runtime/program/NearestNames.h"
#include "tools/map/PlacementDump.h"

#include "llvm/Support/raw_ostream.h"

#include <algorithm>

using namespace wsec;
using namespace wsec::map;

namespace {

constexpr int64_t meshSide = 640, left = 60, top = 60;
constexpr int64_t panel = left + meshSide + 70;

struct Pixel {
  int64_t x, y;
};

/// Places PEs on the page. All numbers are integers: same bytes everywhere.
class Page {
public:
  explicit Page(const PlacementView &view) : view(view) {
    int64_t longest = std::max(view.machine.width, view.machine.height);
    width = std::max<int64_t>(1, view.machine.width * meshSide / longest);
    height = std::max<int64_t>(1, view.machine.height * meshSide / longest);
  }
  /// The north-west corner of PE (x, y).
  Pixel corner(int64_t x, int64_t y) const {
    return {left + x * width / view.machine.width,
            top + y * height / view.machine.height};
  }
  Pixel middle(int64_t x, int64_t y) const {
    Pixel a = corner(x, y), b = corner(x + 1, y + 1);
    return {(a.x + b.x) / 2, (a.y + b.y) / 2};
  }
  int64_t width, height;

private:
  const PlacementView &view;
};

/// XML knows no way to write a control character.
std::string escape(const std::string &name) {
  std::string result, text = runtime::inQuotes(name);
  for (char c : llvm::StringRef(text).drop_front().drop_back())
    result += c == '<'   ? "&lt;"
              : c == '>' ? "&gt;"
              : c == '&' ? "&amp;"
              : c == '"' ? "&quot;"
                         : std::string(1, c);
  return result;
}

/// Hues far apart for neighbouring numbers.
std::string hue(int64_t number, int64_t lightness) {
  return "hsl(" + std::to_string(number * 137 % 360) + ",65%," +
         std::to_string(lightness) + "%)";
}

class Drawing {
public:
  explicit Drawing(const PlacementView &view) : view(view), page(view) {}
  std::string draw();

private:
  void rect(Pixel from, Pixel to, const std::string &fill,
            const std::string &more);
  void text(Pixel at, const std::string &words, const std::string &more = "");
  void arrow(Pixel from, Pixel to, const std::string &color);
  void drawRegions();
  void drawKeepOuts();
  void drawFullest();
  void drawChannels();
  void drawSram();
  int64_t streamsTop() const;
  void drawStreams();
  void drawStream(const PlacementView::StreamView &stream,
                  const std::string &color);

  const PlacementView &view;
  Page page;
  std::string buffer;
  llvm::raw_string_ostream os{buffer};
};

} // namespace

void Drawing::rect(Pixel from, Pixel to, const std::string &fill,
                   const std::string &more) {
  os << "<rect x=\"" << from.x << "\" y=\"" << from.y << "\" width=\""
     << std::max<int64_t>(1, to.x - from.x) << "\" height=\""
     << std::max<int64_t>(1, to.y - from.y) << "\" fill=\"" << fill << "\" "
     << more << "/>\n";
}

void Drawing::text(Pixel at, const std::string &words,
                   const std::string &more) {
  os << "<text x=\"" << at.x << "\" y=\"" << at.y << "\" " << more << ">"
     << escape(words) << "</text>\n";
}

void Drawing::arrow(Pixel from, Pixel to, const std::string &color) {
  os << "<line x1=\"" << from.x << "\" y1=\"" << from.y << "\" x2=\"" << to.x
     << "\" y2=\"" << to.y << "\" stroke=\"" << color
     << "\" stroke-width=\"2\" marker-end=\"url(#tip)\"/>\n";
}

void Drawing::drawRegions() {
  rect({left, top}, {left + page.width, top + page.height}, "#fafafa",
       "stroke=\"#333\"");
  for (size_t i = 0; i < view.regions.size(); ++i) {
    const PlacedRegion &r = view.regions[i].pes;
    Pixel from = page.corner(r.x, r.y);
    rect(from, page.corner(r.x + r.columns, r.y + r.rows), hue(i, 85),
         "fill-opacity=\"0.6\" stroke=\"" + hue(i, 40) + "\"");
    text({from.x + 6, from.y + 16 + int64_t(i) * 16},
         "@" + view.regions[i].name + ", " + std::to_string(r.columns) + "x" +
             std::to_string(r.rows) + ", " +
             std::to_string(view.regions[i].kernels) + " kernels");
  }
}

void Drawing::drawKeepOuts() {
  for (const PeRectangle &its : view.machine.keepOuts) {
    os << "<g><title>kept out: " << its.width << "x" << its.height << " at ("
       << its.x << "," << its.y << ")</title>\n";
    rect(page.corner(its.x, its.y),
         page.corner(its.x + its.width, its.y + its.height), "url(#out)",
         "stroke=\"#333\" class=\"keep-out\"");
    os << "</g>\n";
  }
}

/// One line for each entry.
void Drawing::drawFullest() {
  int64_t line = top + 68;
  for (const PlacementView::LoadView &load : view.loads) {
    if (load.fullest.empty())
      continue;
    const PlacementView::LinkView &link = load.fullest.front();
    // As many as there is room for.
    std::string streams;
    const size_t shown = std::min<size_t>(link.streams.size(), 2);
    for (size_t i = 0; i < shown; ++i)
      streams += " @" + link.streams[i].first + " " +
                 std::to_string(link.streams[i].second);
    if (shown < link.streams.size())
      streams +=
          " and " + std::to_string(link.streams.size() - shown) + " more";
    text({panel, line},
         "fullest link of " + load.entry + ": " + std::to_string(link.words) +
             " words out of (" + std::to_string(link.x) + "," +
             std::to_string(link.y) + ") to the " + link.port + ":" + streams);
    line += 16;
  }
}

void Drawing::drawChannels() {
  for (const PlacedChannel &channel : view.west) {
    Pixel p = page.middle(0, channel.row);
    arrow({left - 30, p.y}, {left - 4, p.y}, "#333");
  }
  for (const PlacedChannel &channel : view.east) {
    Pixel p = page.middle(0, channel.row);
    arrow({left + page.width + 4, p.y}, {left + page.width + 30, p.y}, "#333");
  }
  text({left - 30, top - 10}, "in");
  text({left + page.width + 4, top - 10}, "out");
}

void Drawing::drawSram() {
  if (!view.sramPeak)
    return;
  int64_t limit = view.machine.sramBytes, length = 300;
  auto at = [&](int64_t bytes) { return panel + bytes * length / limit; };
  text({panel, top}, "SRAM of the fullest PE");
  rect({panel, top + 10}, {panel + length, top + 30}, "#fff",
       "stroke=\"#333\"");
  rect({panel, top + 10}, {at(view.machine.runtimeBytes), top + 30}, "#999",
       "");
  rect({at(view.machine.runtimeBytes), top + 10},
       {at(*view.sramPeak), top + 30}, hue(1, 60), "");
  text({panel, top + 48}, std::to_string(*view.sramPeak) + " of " +
                              std::to_string(limit) + " bytes, " +
                              std::to_string(view.machine.runtimeBytes) +
                              " of them the runtime's; " + view.sramOwner);
}

/// Where the words of a pattern go, for one channel, row or column of many.
void Drawing::drawStream(const PlacementView::StreamView &stream,
                         const std::string &color) {
  if (view.regions.empty())
    return;
  const PlacedRegion &r = view.regions.front().pes;
  int64_t right = r.x + r.columns - 1, bottom = r.y + r.rows - 1;
  auto across = [&](int64_t part, int64_t parts) {
    return r.x + (r.columns - 1) * part / parts;
  };
  auto down = [&](int64_t part, int64_t parts) {
    return r.y + (r.rows - 1) * part / parts;
  };
  const std::string &pattern = stream.pattern;
  auto link = [&](int64_t x0, int64_t y0, int64_t x1, int64_t y1) {
    arrow(page.middle(x0, y0), page.middle(x1, y1), color);
  };
  if (pattern == "channel" || pattern == "column" || pattern == "column_rest") {
    for (const PlacedChannel &channel : view.west) {
      if (channel.begin == channel.end)
        continue;
      if (pattern == "channel") {
        link(0, channel.row, channel.end - 1, channel.row);
        continue;
      }
      int64_t x = (channel.begin + channel.end) / 2;
      link(x, channel.row, x, r.y);
      link(x, channel.row, x, bottom);
    }
  } else if (pattern == "channel_row") {
    for (const PlacedChannel &channel : view.west)
      link(0, channel.row, right, channel.row);
  } else if (pattern == "launch") {
    link(0, 0, 0, r.y);
    link(0, r.y, right, r.y);
    link(across(1, 4), r.y, across(1, 4), bottom);
  } else if (pattern == "row_west") {
    link(right, down(1, 3), r.x, down(1, 3));
  } else if (pattern == "root_west") {
    link(right, down(2, 5), r.x, down(2, 5));
  } else if (pattern == "head_cast") {
    link(r.x, down(3, 5), right, down(3, 5));
  } else if (pattern == "row_east") {
    link(r.x, down(1, 2), right, down(1, 2));
  } else if (pattern == "row_cast") {
    link(r.x, down(2, 3), right, down(2, 3));
  } else if (pattern == "key_north" || pattern == "value_north") {
    int64_t x = pattern == "key_north" ? across(1, 3) : across(1, 2);
    link(x, bottom, x, r.y);
  } else if (pattern == "root_north") {
    link(across(1, 5), bottom, across(1, 5), r.y);
  } else if (pattern == "sum_south") {
    link(across(2, 5), r.y, across(2, 5), bottom);
  } else if (pattern == "key_cast" || pattern == "value_cast") {
    int64_t x = pattern == "key_cast" ? across(2, 3) : across(3, 4);
    link(x, r.y, x, bottom);
  } else if (pattern == "out_north") {
    for (const PlacedChannel &channel : view.east)
      if (channel.row + 1 < channel.end)
        link(right, channel.end - 1, right, channel.row);
  } else if (pattern == "out_column") {
    link(across(3, 5), r.y, across(3, 5), bottom);
  } else if (pattern == "out_exit" || pattern == "out_band" ||
             pattern == "out_half") {
    for (const PlacedChannel &channel : view.east) {
      Pixel p = page.middle(right, channel.row);
      arrow(p, {left + page.width + 30, p.y}, color);
    }
  }
}

/// Below the lines of drawFullest().
int64_t Drawing::streamsTop() const {
  return top + 78 + 16 * int64_t(view.loads.size());
}

void Drawing::drawStreams() {
  int64_t y = streamsTop();
  if (!view.streams.empty())
    text({panel, y}, "streams");
  for (size_t i = 0; i < view.streams.size(); ++i) {
    const PlacementView::StreamView &stream = view.streams[i];
    std::string colors;
    for (int64_t color : stream.colors)
      colors += (colors.empty() ? "" : ", ") + std::to_string(color);
    std::string drawn = hue(stream.colors.front(), 45);
    y += 20;
    arrow({panel, y - 4}, {panel + 26, y - 4}, drawn);
    text({panel + 40, y},
         stream.name + ": " + stream.pattern + ", color " + colors);
    os << "<g opacity=\"0.7\"><title>" << escape(stream.name) << "</title>\n";
    drawStream(stream, drawn);
    os << "</g>\n";
  }
}

std::string Drawing::draw() {
  int64_t bottom =
      std::max(top + page.height,
               streamsTop() + 20 + 20 * int64_t(view.streams.size())) +
      40;
  const int64_t right = panel + 420;
  os << "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" << right
     << "\" height=\"" << bottom << "\" viewBox=\"0 0 " << right << " "
     << bottom << "\" font-family=\"sans-serif\" font-size=\"12\">\n"
     << "<defs><marker id=\"tip\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" "
        "markerWidth=\"5\" markerHeight=\"5\" orient=\"auto\"><path d=\"M0 0 "
        "L8 4 L0 8 z\" fill=\"context-stroke\"/></marker><pattern id=\"out\" "
        "width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\"><path "
        "d=\"M0 6 L6 0\" stroke=\"#333\"/></pattern></defs>\n";
  rect({0, 0}, {right, bottom}, "#fff", "");
  text({left, 30},
       view.model + " (" + view.state + "), " +
           std::to_string(view.machine.width) + "x" +
           std::to_string(view.machine.height) + " PEs of " + view.machine.name,
       "font-size=\"16\"");
  drawRegions();
  drawKeepOuts();
  drawChannels();
  text({left, top + page.height + 18},
       "columns 0 to " + std::to_string(view.machine.width - 1) +
           " eastward, rows 0 to " + std::to_string(view.machine.height - 1) +
           " southward");
  drawSram();
  drawFullest();
  drawStreams();
  os << "</svg>\n";
  return buffer;
}

std::string map::placementAsSvg(const PlacementView &view) {
  return Drawing(view).draw();
}
