// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/wse-run/Progress.h"

#include <chrono>
#include <cstdio>
#include <unistd.h>

namespace wsec::run {

ProgressLine::ProgressLine(const runtime::Progress &progress, bool wanted)
    : progress(progress) {
  if (wanted && isatty(STDERR_FILENO))
    thread = std::thread([this] { show(); });
}

ProgressLine::~ProgressLine() {
  if (!thread.joinable())
    return;
  {
    std::lock_guard lock(mutex);
    stop = true;
  }
  wake.notify_one();
  thread.join();
}

void ProgressLine::show() {
  using namespace std::chrono_literals;
  bool shown = false;
  auto pause = 1000ms;
  std::unique_lock lock(mutex);
  while (!wake.wait_for(lock, pause, [&] { return stop; })) {
    pause = 200ms;
    shown = true;
    uint64_t total = progress.total;
    double share = total ? 100.0 * double(progress.words) / double(total) : 0;
    std::fprintf(stderr, "\rstreaming: %3.0f %% of %.1f M words", share,
                 double(total) * 1e-6);
  }
  if (shown)
    std::fputs("\r\033[K", stderr);
}

} // namespace wsec::run
