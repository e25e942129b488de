// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RUNTIME_FILES_INPUTFILE_H
#define RUNTIME_FILES_INPUTFILE_H

#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

namespace wsec::runtime {

/// Tells two states of a file apart: a write changes the times, a file of the
/// same name has another number.
struct FileState {
  uint64_t device = 0, number = 0, size = 0;
  int64_t written = 0, changed = 0; ///< nanoseconds (mtime, ctime)

  auto fields() const {
    return std::tie(device, number, size, written, changed);
  }
  bool operator==(const FileState &other) const {
    return fields() == other.fields();
  }
  /// Whether it changed so lately that the clock of files, which ticks some
  /// times in a hundred milliseconds, may not tell another write from it.
  bool recent() const;
};

/// A regular file, open for reading. All files of strangers are opened here: a
/// folder, device or FIFO, which may never end, is refused at once.
class InputFile {
public:
  /// Throws IoError.
  explicit InputFile(const std::string &path);
  ~InputFile();
  InputFile(const InputFile &) = delete;
  InputFile &operator=(const InputFile &) = delete;

  int descriptor() const { return handle; }
  const FileState &state() const { return opened; }
  uint64_t size() const { return opened.size; }

  /// Throws IoError where the file has become shorter.
  void read(uint64_t offset, void *to, uint64_t bytes) const;

private:
  std::string path;
  int handle;
  FileState opened;
};

/// The state of the file at `path`; all zeros if there is none.
FileState stateOf(const std::string &path);

std::vector<uint8_t> readFile(const std::string &path);

} // namespace wsec::runtime

#endif // RUNTIME_FILES_INPUTFILE_H
