// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/observe/HeatMap.h"

#include "runtime/program/Errors.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <zlib.h>

namespace wsec::runtime {

static double largest(const PeMap &map) {
  return map.values.empty()
             ? 0
             : *std::max_element(map.values.begin(), map.values.end());
}

static std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.10g", value);
  return text;
}

// ---------------------------------------------------------------- text

/// From nothing to the largest number.
static constexpr char shades[] = " .:-=+*#%@";

static char shade(double value, double most) {
  constexpr int levels = int(sizeof(shades)) - 1;
  if (value <= 0 || most <= 0)
    return shades[0];
  // Only nothing is blank.
  const int level = int(std::ceil(value / most * (levels - 1)));
  return shades[std::clamp(level, 1, levels - 1)];
}

static std::string heading(const PeMap &map, int width) {
  double sum = 0;
  size_t most = 0;
  for (size_t i = 0; i < map.values.size(); ++i) {
    sum += map.values[i];
    most = map.values[i] > map.values[most] ? i : most;
  }
  const double count = std::max<double>(1, double(map.values.size()));
  char mean[32];
  std::snprintf(mean, sizeof(mean), "%.4g", sum / count);
  return map.name + " (" + map.unit + "): total " + number(sum) + ", mean " +
         mean + ", most " + number(map.values[most]) + " at " +
         std::to_string(int(most) % width) + "," +
         std::to_string(int(most) / width) + "\n";
}

std::string drawText(const PeMap &map, int width, int height, int columns) {
  // The frame takes two columns.
  const int room = std::max(1, columns - 2);
  const int blockWidth = (width + room - 1) / room;
  const int blockHeight = blockWidth == 1 ? 1 : 2 * blockWidth;
  const double most = largest(map);
  std::string text = heading(map, width), border = "+";
  border += std::string(size_t((width + blockWidth - 1) / blockWidth), '-');
  border += "+\n";
  if (blockWidth > 1)
    text += "a character is the largest of " + std::to_string(blockWidth) +
            " x " + std::to_string(blockHeight) + " PEs\n";
  text += border;
  for (int y = 0; y < height; y += blockHeight) {
    text += '|';
    for (int x = 0; x < width; x += blockWidth) {
      double value = 0;
      for (int j = y; j < std::min(height, y + blockHeight); ++j)
        for (int i = x; i < std::min(width, x + blockWidth); ++i)
          value = std::max(value,
                           map.values[size_t(j) * size_t(width) + size_t(i)]);
      text += shade(value, most);
    }
    text += "|\n";
  }
  return text + border;
}

// ---------------------------------------------------------------- PNG

namespace {

void appendBigEndian(std::string &to, uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8)
    to += char(value >> shift & 255);
}

void appendChunk(std::string &file, const char *kind, const std::string &data) {
  appendBigEndian(file, uint32_t(data.size()));
  const std::string body = kind + data;
  file += body;
  appendBigEndian(
      file, uint32_t(crc32(0, reinterpret_cast<const Bytef *>(body.data()),
                           uInt(body.size()))));
}

/// Blue-black over violet and orange to pale yellow: ever brighter, so that it
/// can be read without color, too.
std::string palette() {
  constexpr std::array<std::array<double, 3>, 5> stops = {{{8, 8, 24},
                                                           {70, 24, 110},
                                                           {188, 52, 84},
                                                           {246, 146, 40},
                                                           {252, 250, 190}}};
  std::string colors;
  for (int i = 0; i < 256; ++i) {
    const double at = i / 255.0 * double(stops.size() - 1);
    const size_t from = std::min(size_t(at), stops.size() - 2);
    for (size_t c = 0; c < 3; ++c)
      colors += char(uint8_t(
          std::lround(stops[from][c] + (stops[from + 1][c] - stops[from][c]) *
                                           (at - double(from)))));
  }
  return colors;
}

std::string deflated(const std::string &data) {
  uLongf size = compressBound(uLong(data.size()));
  std::string result(size, 0);
  if (compress2(reinterpret_cast<Bytef *>(result.data()), &size,
                reinterpret_cast<const Bytef *>(data.data()),
                uLong(data.size()), Z_BEST_COMPRESSION) != Z_OK)
    throw Error(ErrorClass::IoError, "a heat map cannot be compressed");
  result.resize(size);
  return result;
}

} // namespace

std::string drawPng(const PeMap &map, int width, int height) {
  constexpr int pleasant = 768; // pixels of the longer side
  const int scale = std::max(1, pleasant / std::max(width, height));
  const double most = largest(map);
  std::string pixels;
  for (int y = 0; y < height; ++y) {
    std::string line(1, 0); // no filter
    for (int x = 0; x < width; ++x) {
      const double value = map.values[size_t(y) * size_t(width) + size_t(x)];
      const double share = most > 0 ? std::clamp(value / most, 0.0, 1.0) : 0;
      line.append(size_t(scale), char(uint8_t(std::lround(share * 255))));
    }
    for (int i = 0; i < scale; ++i)
      pixels += line;
  }
  std::string header;
  appendBigEndian(header, uint32_t(width * scale));
  appendBigEndian(header, uint32_t(height * scale));
  header += {8, 3, 0, 0, 0}; // 8 bits into a palette, not interlaced
  std::string file = "\x89PNG\r\n\x1a\n";
  appendChunk(file, "IHDR", header);
  appendChunk(file, "PLTE", palette());
  std::string title = "Title";
  title += '\0';
  appendChunk(file, "tEXt",
              title + map.name + ", 0 to " + number(most) + " " + map.unit);
  appendChunk(file, "IDAT", deflated(pixels));
  appendChunk(file, "IEND", "");
  return file;
}

} // namespace wsec::runtime
