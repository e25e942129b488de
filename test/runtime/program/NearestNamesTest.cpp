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

TEST(NearestNamesTest, ManyAreCut) {
  EXPECT_EQ(nearestNames("a", {"a1", "b1", "c1", "d1", "e1", "f1"}),
            "; nearest: 'a1', 'b1', 'c1', 'd1', 'e1'");
}

TEST(NearestNamesTest, None) {
  EXPECT_EQ(nearestNames("a", {}), "; there are none");
}

} // namespace
} // namespace wsec::runtime
