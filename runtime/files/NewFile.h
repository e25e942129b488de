// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RUNTIME_FILES_NEWFILE_H
#define RUNTIME_FILES_NEWFILE_H

#include <cstdint>
#include <string>

namespace wsec::runtime {

/// A file that appears whole at its place or not at all. Until then it has no
/// name: nothing is left of it if the process is killed. On file systems that
/// do not know such files it is called `<path>.part`; what a killed process
/// leaves of that, the next one takes. A place that is no regular file (a pipe,
/// a device) is written to directly. All throw IoError, e.g. when a disk is
/// full.
///
/// Whole means: for whoever reads it, as long as the system runs. What is to
/// outlive a power cut is synced first.
class NewFile {
public:
  explicit NewFile(const std::string &path, bool nameless = true);
  ~NewFile();
  NewFile(const NewFile &) = delete;
  NewFile &operator=(const NewFile &) = delete;

  /// Appends.
  void write(const void *data, uint64_t bytes);
  /// Writes over what is there.
  void overwrite(uint64_t offset, const void *data, uint64_t bytes);
  uint64_t size() const { return end; }
  /// Waits until what is written has reached the disk.
  void sync() const;
  /// Puts the file in its place; the last call.
  void commit();

private:
  struct NotYet {};
  NewFile(const std::string &path, NotYet);
  void openNamed();
  /// Gives a nameless file a name; false if it is taken.
  bool link(const std::string &name) const;
  [[noreturn]] void fail(int reason) const;

  std::string path, part;
  int descriptor = -1;
  bool direct = false, named = false;
  uint64_t end = 0;
};

} // namespace wsec::runtime

#endif // RUNTIME_FILES_NEWFILE_H
