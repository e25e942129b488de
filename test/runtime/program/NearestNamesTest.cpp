// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/program/NearestNames.h"

#include <gtest/gtest.h>

namespace wsec::runtime {
namespace {

TEST(NearestNamesTest, FewAreAllThereTheNearestFirst) {
  EXPECT_EQ(nearestNames("recieve", {"send", "receive", "send"}),
            "; there is 'receive', 'send'");
}

TEST(NearestNamesTest, NamesThatContainItGoFirst) {
  EXPECT_EQ(nearestNames("fc1", {"fc2", "layer.0/fc1/MatMul"}),
            "; there is 'layer.0/fc1/MatMul', 'fc2'");
}

TEST(NearestNamesTest, AStarIsAnyPart) {
  EXPECT_EQ(nearestNames("*.q_prj*", {"x", "layers.0.q_proj.weight", "q"}),
            "; there is 'layers.0.q_proj.weight', 'q', 'x'");
}

TEST(NearestNamesTest, ManyAreCut) {
  EXPECT_EQ(nearestNames("a", {"a1", "b1", "c1", "d1", "e1", "f1"}),
            "; nearest: 'a1', 'b1', 'c1', 'd1', 'e1'");
}

TEST(NearestNamesTest, None) {
  EXPECT_EQ(nearestNames("a", {}), "; there are none");
}

TEST(NearestNamesTest, EscapesWhatATerminalObeys) {
  EXPECT_EQ(inQuotes("a b'\""), "'a b'\"'");
  EXPECT_EQ(inQuotes("x\x1b[31m\r\n\t\x7f"), "'x\\033[31m\\r\\n\\t\\177'");
  // U+009B introduces control sequences, too; other letters stay.
  EXPECT_EQ(inQuotes("\xc2\x9b \xc3\xa9 \xc2\xa0 \xc2"),
            "'\\302\\233 \xc3\xa9 \xc2\xa0 \xc2'");
  EXPECT_EQ(printable("one\ntwo\x1b"), "one\ntwo\\033");
}

TEST(NearestNamesTest, LeavesOutTheMiddleOfLongNames) {
  EXPECT_EQ(inQuotes(std::string(200, 'a')), "'" + std::string(200, 'a') + "'");
  const std::string longer = std::string(100000, 'a') + "z";
  EXPECT_EQ(inQuotes(longer), "'" + std::string(120, 'a') + " ... " +
                                  std::string(39, 'a') + "z'");
  // Not within a character of two bytes.
  std::string wide = "a";
  for (int i = 0; i < 200; ++i)
    wide += "\xc3\xa9";
  const std::string shown = inQuotes(wide);
  EXPECT_EQ(shown.find(" ... "), 1 + 119u);
  EXPECT_EQ(shown[shown.find(" ... ") + 5], '\xc3');
}

} // namespace
} // namespace wsec::runtime
