// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/wsec/Progress.h"

#include <chrono>
#include <cstdio>
#include <system_error>
#include <unistd.h>
#include <utility>

using namespace wsec;

CompileProgress::CompileProgress(bool wanted) {
  if (!wanted || !isatty(STDERR_FILENO))
    return;
  try {
    thread = std::thread([this] { show(); });
  } catch (const std::system_error &) {
    // The system has no more threads; a compilation needs no line.
  }
}

CompileProgress::~CompileProgress() {
  if (!thread.joinable())
    return;
  {
    std::lock_guard lock(mutex);
    ends = true;
  }
  changed.notify_one();
  thread.join();
}

std::function<void(const std::string &)> CompileProgress::teller() {
  if (!thread.joinable())
    return nullptr;
  return [this](const std::string &what) { tell(what); };
}

void CompileProgress::tell(const std::string &what) {
  std::lock_guard lock(mutex);
  line = what;
  // Errors and the report follow.
  if (line.empty() && std::exchange(shown, false))
    std::fputs("\r\033[K", stderr);
}

void CompileProgress::show() {
  const auto start = std::chrono::steady_clock::now();
  std::unique_lock lock(mutex);
  while (!changed.wait_for(lock, std::chrono::seconds(1),
                           [this] { return ends; })) {
    if (line.empty())
      continue;
    shown = true;
    const auto since = std::chrono::steady_clock::now() - start;
    std::fprintf(
        stderr, "\r%s, %d s\033[K", line.c_str(),
        int(std::chrono::duration_cast<std::chrono::seconds>(since).count()));
  }
  if (shown)
    std::fputs("\r\033[K", stderr);
}
