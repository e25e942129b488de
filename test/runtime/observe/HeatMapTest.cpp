// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/observe/HeatMap.h"

#include <gtest/gtest.h>
#include <zlib.h>

namespace wsec::runtime {
namespace {

uint32_t bigEndian(const std::string &text, size_t at) {
  uint32_t value = 0;
  for (size_t i = 0; i < 4; ++i)
    value = value << 8 | uint8_t(text[at + i]);
  return value;
}

/// The data of a chunk, whose checksum must be right.
std::string chunk(const std::string &file, const std::string &kind) {
  for (size_t at = 8; at < file.size();) {
    const uint32_t size = bigEndian(file, at);
    const std::string body = file.substr(at + 4, size + 4);
    EXPECT_EQ(bigEndian(file, at + 8 + size),
              crc32(0, reinterpret_cast<const Bytef *>(body.data()),
                    uInt(body.size())));
    if (body.substr(0, 4) == kind)
      return body.substr(4);
    at += size + 12;
  }
  ADD_FAILURE() << "no chunk " << kind;
  return "";
}

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
  EXPECT_EQ(file.substr(0, 8), "\x89PNG\r\n\x1a\n");
  const std::string header = chunk(file, "IHDR");
  EXPECT_EQ(bigEndian(header, 0), 768u);
  EXPECT_EQ(bigEndian(header, 4), 512u);
  EXPECT_EQ(chunk(file, "PLTE").size(), 768u);
  EXPECT_EQ(chunk(file, "IEND"), "");
  std::string pixels(769 * 512, 1);
  uLongf size = uLongf(pixels.size());
  const std::string data = chunk(file, "IDAT");
  ASSERT_EQ(uncompress(reinterpret_cast<Bytef *>(pixels.data()), &size,
                       reinterpret_cast<const Bytef *>(data.data()),
                       uLong(data.size())),
            Z_OK);
  ASSERT_EQ(size, pixels.size());
  auto pixel = [&](size_t x, size_t y) {
    return int(uint8_t(pixels[y * 769 + 1 + x]));
  };
  EXPECT_EQ(pixels[0], 0); // no filter
  EXPECT_EQ(pixel(0, 0), 0);
  EXPECT_EQ(pixel(256, 255), 128);
  EXPECT_EQ(pixel(767, 255), 255);
  EXPECT_EQ(pixel(767, 256), 0);
}

} // namespace
} // namespace wsec::runtime
