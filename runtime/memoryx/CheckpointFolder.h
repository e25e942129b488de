// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RUNTIME_MEMORYX_CHECKPOINTFOLDER_H
#define RUNTIME_MEMORYX_CHECKPOINTFOLDER_H

#include <cstdint>
#include <string>
#include <vector>

namespace wsec::runtime {

/// A new folder step-N among others, which gets its name when it is whole.
/// Until then it is called step-N.part; the next writer removes what a killed
/// one has left. Throws IoError.
class CheckpointFolder {
public:
  CheckpointFolder(const std::string &folder, uint64_t step);
  ~CheckpointFolder();
  CheckpointFolder(const CheckpointFolder &) = delete;
  CheckpointFolder &operator=(const CheckpointFolder &) = delete;

  /// Where its files are written to.
  const std::string &part() const { return partPath; }
  /// Gives it its name; then removes the oldest until `keep` are left, unless
  /// that is 0. Returns its path.
  std::string commit(unsigned keep);

  /// In order.
  static std::vector<uint64_t> stepsIn(const std::string &folder);
  static std::string pathOf(const std::string &folder, uint64_t step);

private:
  void removeParts() const;

  const std::string folder, path, partPath;
  int descriptor = -1; ///< of `folder`, locked
};

} // namespace wsec::runtime

#endif // RUNTIME_MEMORYX_CHECKPOINTFOLDER_H
