// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/swarmx/WireWords.h"

#include "runtime/program/Errors.h"

#include <gtest/gtest.h>

namespace wsec::runtime {
namespace {

const Message message{Message::Kind::Block, {3, 1}, {7, 8, 9}};
constexpr size_t headBytes = 4 * 8;

template <class Work>
std::string refusal(const Work &work) {
  try {
    work();
    return "";
  } catch (const Error &error) {
    return error.what();
  }
}

TEST(WireWordsTest, MessagesComeBack) {
  const Message back = decode(encode(message));
  EXPECT_EQ(back.kind, message.kind);
  EXPECT_EQ(back.numbers, message.numbers);
  EXPECT_EQ(back.bytes, message.bytes);
}

TEST(WireWordsTest, MessagesThatMpiCannotCountAreRefused) {
  EXPECT_EQ(encode(message, headBytes + 3).size(), headBytes + 3);
  EXPECT_EQ(refusal([] { encode(message, headBytes + 2); }),
            "HostLimit: a message of 35 bytes to another process is more than "
            "the 34 of one; run the systems in one process (--num-systems, "
            "without mpirun)");
}

TEST(WireWordsTest, WhatIsNoMessageIsRefused) {
  const auto refused = [](const std::vector<uint8_t> &data) {
    EXPECT_EQ(refusal([&] { decode(data); }),
              "IoError: a message of " + std::to_string(data.size()) +
                  " bytes from another process cannot be read; run the same "
                  "build in all of them");
  };
  const std::vector<uint8_t> good = encode(message);
  for (size_t size = 0; size < headBytes; ++size)
    refused({good.begin(), good.begin() + ptrdiff_t(size)});
  for (const size_t byte : {1, 15}) { // of the kind, and of how many numbers
    std::vector<uint8_t> bad = good;
    bad[byte] = 255;
    refused(bad);
  }
}

} // namespace
} // namespace wsec::runtime
