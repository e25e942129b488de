// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/wse-run/Progress.h"

#include <chrono>
#include <cstdio>
#include <unistd.h>

namespace wsec::run {

ProgressLine::ProgressLine(const program::Program &program,
                           const runtime::Progress &progress, bool wanted)
    : program(program), progress(progress) {
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

std::string ProgressLine::line() const {
  auto index = flatbuffers::uoffset_t(progress.launch);
  const auto &launches = *program.launches();
  std::string text = "launch " + std::to_string(index + 1) + " of " +
                     std::to_string(launches.size());
  const auto *kernels = program.kernels();
  if (index < launches.size() && kernels &&
      launches.Get(index)->kernel() < kernels->size()) {
    const auto &kernel = *kernels->Get(launches.Get(index)->kernel());
    std::string name = kernel.name()->str();
    constexpr size_t longest = 32;
    if (name.size() > longest)
      name = "..." + name.substr(name.size() - longest);
    if (kernel.kind())
      text += ", " + kernel.kind()->str();
    text += " '" + name + "'";
  }
  uint64_t total = progress.total;
  char streamed[64];
  std::snprintf(streamed, sizeof(streamed),
                ": %.0f %% of %.1f M words streamed",
                total ? 100.0 * double(progress.words) / double(total) : 0.0,
                double(total) * 1e-6);
  return text + streamed;
}

void ProgressLine::show() {
  using namespace std::chrono_literals;
  bool shown = false;
  auto pause = 1000ms;
  std::unique_lock lock(mutex);
  while (!wake.wait_for(lock, pause, [&] { return stop; })) {
    pause = 200ms;
    shown = true;
    std::fprintf(stderr, "\r%s\033[K", line().c_str());
  }
  if (shown)
    std::fputs("\r\033[K", stderr);
}

} // namespace wsec::run
