// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RUNTIME_HOST_OUTPUTFILES_H
#define RUNTIME_HOST_OUTPUTFILES_H

#include <csignal>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace wsec::runtime {

/// Says before a long run why a file could not be written after it: its folder
/// is missing or closed, it is named twice, or it is one of the files `read`
/// from, which would be lost. Throws IoError.
void checkOutputPaths(const std::vector<std::string> &written,
                      const std::vector<std::string> &read);

/// Files that appear together or not at all: each is written under another
/// name beside its place; `commit` renames all of them. What is not committed
/// is removed. A place that is no regular file (a pipe, a device) is written
/// to directly. Signals that end the process wait until it is done with them.
class OutputFiles {
public:
  OutputFiles() = default;
  OutputFiles(const OutputFiles &) = delete;
  OutputFiles &operator=(const OutputFiles &) = delete;
  ~OutputFiles();

  /// Writes the content of one file. Throws IoError, e.g. when a disk is full.
  void add(const std::string &path, std::string_view content);
  void commit();

private:
  void holdSignals();
  void releaseSignals();

  bool held = false;
  sigset_t before;
  std::vector<std::pair<std::string, std::string>> pending; ///< (from, to)
};

} // namespace wsec::runtime

#endif // RUNTIME_HOST_OUTPUTFILES_H
