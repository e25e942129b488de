// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/flags/ProgressLine.h"

#include "gtest/gtest.h"
#include <chrono>
#include <fcntl.h>
#include <pty.h>
#include <thread>
#include <unistd.h>

using wsec::tools::ProgressLine;

namespace {

/// Standard error is a terminal until it ends.
class Terminal {
public:
  Terminal() {
    int line = -1;
    EXPECT_EQ(openpty(&screen, &line, nullptr, nullptr, nullptr), 0);
    fcntl(screen, F_SETFL, O_NONBLOCK);
    before = dup(STDERR_FILENO);
    dup2(line, STDERR_FILENO);
    close(line);
  }
  ~Terminal() {
    dup2(before, STDERR_FILENO);
    close(before);
    close(screen);
  }
  /// What was written since it was asked last.
  std::string read() {
    char bytes[4096];
    const ssize_t count = ::read(screen, bytes, sizeof bytes);
    return std::string(bytes, size_t(count < 0 ? 0 : count));
  }

private:
  int screen = -1, before = -1;
};

void pass(int milliseconds) {
  std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
}

bool endsErased(const std::string &text) {
  return text.size() >= 4 && text.substr(text.size() - 4) == "\r\033[K";
}

TEST(ProgressLineTest, ShowsWhatItIsToldAfterASecond) {
  Terminal terminal;
  ProgressLine line(true);
  const auto tell = line.teller();
  ASSERT_TRUE(tell);
  tell("plan 1 of 2");
  EXPECT_EQ(terminal.read(), "");
  pass(1700);
  EXPECT_NE(terminal.read().find("\rplan 1 of 2, 1 s\033[K"),
            std::string::npos);
  tell(""); // a report follows
  EXPECT_TRUE(endsErased(terminal.read()));
  pass(500);
  EXPECT_EQ(terminal.read(), "");
}

TEST(ProgressLineTest, AsksForItsLineAndErasesItAtTheEnd) {
  Terminal terminal;
  {
    ProgressLine line(true, [] { return std::string("launch 3 of 9"); });
    pass(1500);
    EXPECT_NE(terminal.read().find("\rlaunch 3 of 9\033[K"), std::string::npos);
  }
  EXPECT_TRUE(endsErased(terminal.read()));
}

TEST(ProgressLineTest, IsSilentWhereNobodyLooks) {
  if (!isatty(STDERR_FILENO))
    EXPECT_FALSE(ProgressLine(true).teller());
  Terminal terminal;
  EXPECT_FALSE(ProgressLine(false).teller());
}

} // namespace
