// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/observe/HeatMap.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "runtime/program/Errors.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <png.h>

namespace wsec::runtime {

static double largest(const PeMap &map) {
  return map.values.empty()
             ? 0
             : *std::max_element(map.values.begin(), map.values.end());
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
  return absl::StrFormat(
      "%s (%s): total %.10g, mean %.4g, most %.10g at %d,%d\n", map.name,
      map.unit, sum, sum / count, map.values[most], int(most) % width,
      int(most) / width);
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

/// Blue-black over violet and orange to pale yellow: ever brighter, so that it
/// can be read without color, too.
static std::string palette() {
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

std::string drawPng(const PeMap &map, int width, int height) {
  constexpr int pleasant = 768; // pixels of the longer side
  const int scale = std::max(1, pleasant / std::max(width, height));
  const double most = largest(map);
  std::string pixels;
  for (int y = 0; y < height; ++y) {
    std::string line;
    for (int x = 0; x < width; ++x) {
      const double value = map.values[size_t(y) * size_t(width) + size_t(x)];
      const double share = most > 0 ? std::clamp(value / most, 0.0, 1.0) : 0;
      line.append(size_t(scale), char(uint8_t(std::lround(share * 255))));
    }
    for (int i = 0; i < scale; ++i)
      pixels += line;
  }
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = uint32_t(width * scale);
  image.height = uint32_t(height * scale);
  image.format = PNG_FORMAT_RGB_COLORMAP;
  image.colormap_entries = 256;
  std::string file(PNG_IMAGE_PNG_SIZE_MAX(image), 0);
  png_alloc_size_t size = file.size();
  if (!png_image_write_to_memory(&image, file.data(), &size, 0, pixels.data(),
                                 0, palette().data()))
    throw Error(ErrorClass::IoError,
                absl::StrCat("a heat map of ", image.width, " x ", image.height,
                             " pixels cannot be drawn: ", image.message));
  file.resize(size);
  return file;
}

} // namespace wsec::runtime
