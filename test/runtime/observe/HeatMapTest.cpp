// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/observe/HeatMap.h"

#include "absl/strings/escaping.h"
#include "runtime/program/Errors.h"

#include <gtest/gtest.h>
#include <png.h>

namespace wsec::runtime {
namespace {

TEST(HeatMapTest, ACharacterForEachPe) {
  const PeMap map{"words_sent", "words", {0, 1, 50, 100, 0, 0}};
  EXPECT_EQ(drawText(map, 3, 2, 80),
            "words_sent (words): total 151, mean 25.17, most 100 at 0,1\n"
            "+---+\n"
            "| .+|\n"
            "|@  |\n"
            "+---+\n");
}

TEST(HeatMapTest, LargeMeshesAreDrawnByTheirLargest) {
  PeMap map{"words_sent", "words", std::vector<double>(100 * 8)};
  map.values[99] = 5;           // the last of the first row
  map.values[7 * 100 + 49] = 5; // in the last row
  const std::string text = drawText(map, 100, 8, 52);
  const std::string border = "+" + std::string(50, '-') + "+\n";
  const std::string blank(49, ' ');
  EXPECT_NE(text.find("a character is the largest of 2 x 4 PEs\n" + border +
                      "|" + blank + "@|\n|" + std::string(24, ' ') + "@" +
                      std::string(25, ' ') + "|\n" + border),
            std::string::npos)
      << text;
}

TEST(HeatMapTest, NothingIsBlank) {
  const PeMap map{"words_sent", "words", {0, 0}};
  EXPECT_NE(drawText(map, 2, 1, 80).find("|  |"), std::string::npos);
}

TEST(HeatMapTest, Png) {
  const PeMap map{"words_sent", "words", {0, 50, 100, 0, 0, 0}};
  const std::string file = drawPng(map, 3, 2);
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  ASSERT_TRUE(
      png_image_begin_read_from_memory(&image, file.data(), file.size()));
  EXPECT_EQ(image.width, 768u);
  EXPECT_EQ(image.height, 512u);
  EXPECT_EQ(image.colormap_entries, 256u);
  image.format = PNG_FORMAT_RGB;
  std::string colors(PNG_IMAGE_SIZE(image), 0);
  ASSERT_TRUE(
      png_image_finish_read(&image, nullptr, colors.data(), 0, nullptr));
  auto color = [&](size_t x, size_t y) {
    return absl::BytesToHexString(colors.substr((y * 768 + x) * 3, 3));
  };
  EXPECT_EQ(color(0, 0), "080818");
  EXPECT_EQ(color(256, 255), "bc3554"); // a half
  EXPECT_EQ(color(767, 255), "fcfabe");
  EXPECT_EQ(color(767, 256), "080818");
}

TEST(HeatMapTest, TooLargeToBeDrawn) {
  constexpr int width = 1000001;
  const PeMap map{"words_sent", "words", std::vector<double>(width)};
  try {
    drawPng(map, width, 1);
    FAIL();
  } catch (const Error &error) {
    EXPECT_EQ(error.errorClass(), ErrorClass::IoError);
    EXPECT_EQ(error.message().find(
                  "a heat map of 1000001 x 1 pixels cannot be drawn: "),
              0u);
  }
}

} // namespace
} // namespace wsec::runtime
