// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RUNTIME_HOST_OUTPUTFILES_H
#define RUNTIME_HOST_OUTPUTFILES_H

#include "runtime/files/NewFile.h"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace wsec::runtime {

/// Says before a long run why a file could not be written after it: its folder
/// is missing or closed, it is named twice, or it is one of the files `read`
/// from, which would be lost. Throws IoError.
void checkOutputPaths(const std::vector<std::string> &written,
                      const std::vector<std::string> &read);

/// Files that appear together or not at all: `commit` puts all of them in
/// their places. Signals that end the process wait until it has.
class OutputFiles {
public:
  /// Writes the content of one file. Throws IoError, e.g. when a disk is full.
  void add(const std::string &path, std::string_view content);
  void commit();

private:
  std::vector<std::unique_ptr<NewFile>> pending;
};

} // namespace wsec::runtime

#endif // RUNTIME_HOST_OUTPUTFILES_H
