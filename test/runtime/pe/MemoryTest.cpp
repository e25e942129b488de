// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/pe/Memory.h"

#include "gtest/gtest.h"

using wsec::runtime::pe::Memory;

TEST(Memory, EndsWhereItWasWrittenLast) {
  Memory memory;
  memory.setRange(1000, 1256);
  EXPECT_EQ(memory.endOfWritten(), 0);
  *memory.at(1200) = 1; // looked at, not written
  EXPECT_EQ(memory.endOfWritten(), 0);
  // Within a word of marks, at its end, behind it, and at the end of all.
  for (const int64_t end : {1002, 1064, 1128, 1130, 1256}) {
    memory.markWritten(end - 2, 2);
    EXPECT_EQ(memory.endOfWritten(), end);
  }
  memory.markWritten(1000, 64);
  EXPECT_EQ(memory.endOfWritten(), 1256);
}
