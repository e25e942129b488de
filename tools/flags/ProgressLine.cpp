// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/flags/ProgressLine.h"

#include <chrono>
#include <cstdio>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace wsec::tools {

ProgressLine::ProgressLine(bool wanted, std::function<std::string()> line)
    : line(std::move(line)) {
  if (!wanted || !isatty(STDERR_FILENO))
    return;
  try {
    thread = std::thread([this] { show(); });
  } catch (const std::system_error &) {
    // The system has no more threads; no work needs a line.
  }
}

ProgressLine::ProgressLine(bool wanted) : ProgressLine(wanted, nullptr) {}

ProgressLine::~ProgressLine() {
  if (!thread.joinable())
    return;
  {
    std::lock_guard lock(mutex);
    ends = true;
  }
  changed.notify_one();
  thread.join();
}

std::function<void(const std::string &)> ProgressLine::teller() {
  if (!thread.joinable())
    return nullptr;
  return [this](const std::string &what) {
    std::lock_guard lock(mutex);
    told = what;
    if (told.empty())
      erase();
  };
}

void ProgressLine::erase() {
  if (std::exchange(shown, false))
    std::fputs("\r\033[K", stderr);
}

void ProgressLine::show() {
  using namespace std::chrono;
  const auto start = steady_clock::now();
  milliseconds pause(1000);
  std::unique_lock lock(mutex);
  while (!changed.wait_for(lock, pause, [this] { return ends; })) {
    pause = milliseconds(200);
    std::string text = line ? line() : told;
    if (text.empty())
      continue;
    if (!line) {
      const auto since = duration_cast<seconds>(steady_clock::now() - start);
      text += ", " + std::to_string(since.count()) + " s";
    }
    shown = true;
    std::fprintf(stderr, "\r%s\033[K", text.c_str());
  }
  erase();
}

} // namespace wsec::tools
