// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/wse-run/Progress.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "runtime/program/NearestNames.h"

#include <cstdio>
#include <system_error>
#include <unistd.h>

namespace wsec::run {

using runtime::inQuotes, runtime::printable;

ProgressLine::ProgressLine(const runtime::Call &call,
                           const runtime::Progress &progress, bool wanted)
    : call(call), progress(progress) {
  if (!wanted || !isatty(STDERR_FILENO))
    return;
  try {
    thread = std::thread([this] { show(); });
  } catch (const std::system_error &) {
    // The system has no more threads; a run needs no line.
  }
}

ProgressLine::~ProgressLine() {
  if (!thread.joinable())
    return;
  stop.Notify();
  thread.join();
}

std::string ProgressLine::line() const {
  auto index = flatbuffers::uoffset_t(progress.launch);
  const auto &launches = *call.entry().launches();
  std::string text =
      absl::StrCat("launch ", index + 1, " of ", launches.size());
  const auto *kernels = call.program().kernels();
  if (index < launches.size() && kernels &&
      launches.Get(index)->kernel() < kernels->size()) {
    const auto &kernel = *kernels->Get(launches.Get(index)->kernel());
    std::string name = kernel.name()->str();
    constexpr size_t longest = 32;
    if (name.size() > longest)
      name = "..." + name.substr(name.size() - longest);
    if (kernel.kind())
      absl::StrAppend(&text, ", ", printable(kernel.kind()->string_view()));
    absl::StrAppend(&text, " ", inQuotes(name));
  }
  uint64_t total = progress.total;
  return absl::StrFormat("%s: %.0f %% of %.1f M words streamed", text,
                         total ? 100.0 * double(progress.words) / double(total)
                               : 0.0,
                         double(total) * 1e-6);
}

void ProgressLine::show() {
  bool shown = false;
  absl::Duration pause = absl::Seconds(1);
  while (!stop.WaitForNotificationWithTimeout(pause)) {
    pause = absl::Milliseconds(200);
    shown = true;
    std::fprintf(stderr, "\r%s\033[K", line().c_str());
  }
  if (shown)
    std::fputs("\r\033[K", stderr);
}

} // namespace wsec::run
