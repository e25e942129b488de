// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RUNTIME_FILES_MAPPEDFILE_H
#define RUNTIME_FILES_MAPPEDFILE_H

#include "runtime/files/InputFile.h"

#include <atomic>
#include <memory>

namespace wsec::runtime {

struct MappedRegion;

/// A file mapped read-only: nothing is copied, pages come in when touched.
///
/// Somebody else may write to the file meanwhile. Where it has become shorter,
/// or cannot be read, the system would end the process at the first touch;
/// zeros are put there instead, and `damaged` tells. So whoever uses the data
/// asks, at the end, whether it was good.
class MappedFile {
public:
  /// Throws IoError when `path` is not a readable regular file.
  static std::shared_ptr<const MappedFile> open(const std::string &path);

  MappedFile(const MappedFile &) = delete;
  MappedFile &operator=(const MappedFile &) = delete;
  ~MappedFile();

  const uint8_t *data() const { return bytes; }
  uint64_t size() const { return opened.size; }
  const std::string &path() const { return name; }
  const FileState &state() const { return opened; }

  /// Ends the residence of its pages; they come back when touched.
  void release() const;

  /// Whether pages were missing, or the file was written to since it was
  /// mapped.
  bool damaged() const;
  /// Whether nothing can have been written to it. If neither this holds nor
  /// `damaged`, the digest decides; if that was right in what was read after
  /// `seen`, the state of its path, `confirm` says so.
  bool untouched() const;
  void confirm(const FileState &seen) const;

private:
  explicit MappedFile(const std::string &path);

  std::string name;
  FileState opened;
  mutable std::atomic<bool> wasRecent{false};
  const uint8_t *bytes = nullptr;
  MappedRegion *region = nullptr;
};

} // namespace wsec::runtime

#endif // RUNTIME_FILES_MAPPEDFILE_H
