// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TOOLS_WSEC_PROGRESS_H
#define TOOLS_WSEC_PROGRESS_H

#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace wsec {

/// Shows on a terminal what a compilation is at, once it lasts longer than a
/// second:
///   plan 3 of at most 40, up to 2 stages, 12 s
/// Silent when standard error is no terminal.
class CompileProgress {
public:
  explicit CompileProgress(bool wanted);
  ~CompileProgress();

  /// What the compiler tells its lines; null where nobody shows them.
  std::function<void(const std::string &)> teller();

private:
  void show();
  void tell(const std::string &what);

  std::mutex mutex;
  std::condition_variable changed;
  std::string line;
  bool shown = false, ends = false;
  std::thread thread;
};

} // namespace wsec

#endif // TOOLS_WSEC_PROGRESS_H
