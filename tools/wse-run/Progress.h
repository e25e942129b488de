// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TOOLS_WSE_RUN_PROGRESS_H
#define TOOLS_WSE_RUN_PROGRESS_H

#include "absl/synchronization/notification.h"
#include "runtime/host/Session.h"

#include <string>
#include <thread>

namespace wsec::run {

/// Shows on a terminal how far a run has come, once it lasts longer than a
/// second:
///   launch 12 of 61, matmul 'h.1/fc1': 20 % of 124.4 M words streamed
/// Silent when standard error is no terminal.
class ProgressLine {
public:
  ProgressLine(const runtime::Call &call, const runtime::Progress &progress,
               bool wanted);
  ~ProgressLine();

private:
  void show();
  std::string line() const;

  const runtime::Call call;
  const runtime::Progress &progress;
  absl::Notification stop;
  std::thread thread;
};

} // namespace wsec::run

#endif // TOOLS_WSE_RUN_PROGRESS_H
