// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TOOLS_FLAGS_PROGRESSLINE_H
#define TOOLS_FLAGS_PROGRESSLINE_H

#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace wsec::tools {

/// Shows on a terminal what a tool is at, once it lasts longer than a second:
///   plan 3 of at most 40, up to 2 stages, 12 s
///   launch 12 of 61, matmul 'h.1/fc1': 20 % of 124.4 M words streamed
/// Silent when standard error is no terminal.
class ProgressLine {
public:
  /// What `line` says, asked from a thread of its own.
  ProgressLine(bool wanted, std::function<std::string()> line);
  /// What `teller` was told last, and for how long it has been at work.
  explicit ProgressLine(bool wanted);
  ~ProgressLine();

  /// Takes lines from one thread, an empty one where errors or a report follow;
  /// null where nobody shows them.
  std::function<void(const std::string &)> teller();

private:
  void show();
  void erase();

  std::function<std::string()> line; ///< null: `told`
  std::mutex mutex;
  std::condition_variable changed;
  std::string told;
  bool shown = false, ends = false;
  std::thread thread;
};

} // namespace wsec::tools

#endif // TOOLS_FLAGS_PROGRESSLINE_H
