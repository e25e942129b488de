// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TOOLS_WSE_RUN_PROGRESS_H
#define TOOLS_WSE_RUN_PROGRESS_H

#include "runtime/host/Session.h"

#include <condition_variable>
#include <mutex>
#include <thread>

namespace wsec::run {

/// Shows on a terminal how much of its input a run has taken, once it lasts
/// longer than a second. Silent when standard error is no terminal.
class ProgressLine {
public:
  ProgressLine(const runtime::Progress &progress, bool wanted);
  ~ProgressLine();

private:
  void show();

  const runtime::Progress &progress;
  std::mutex mutex;
  std::condition_variable wake;
  bool stop = false;
  std::thread thread;
};

} // namespace wsec::run

#endif // TOOLS_WSE_RUN_PROGRESS_H
