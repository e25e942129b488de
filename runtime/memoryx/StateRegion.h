// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RUNTIME_MEMORYX_STATEREGION_H
#define RUNTIME_MEMORYX_STATEREGION_H

#include <cstdint>
#include <string>

namespace wsec::runtime {

/// Numbers in f32, zeros at first: in memory, or in a mapped file without a
/// name, of which the system keeps in memory what it has room for. The file
/// takes its room on the disk at once, so that a full disk is told here and not
/// by a signal later; nothing is left of it when the process ends.
class StateRegion {
public:
  /// In a file in `folder`, in memory if that is empty. Throws IoError where
  /// there is no room for the file, std::bad_alloc for the memory.
  StateRegion(uint64_t count, const std::string &folder);
  ~StateRegion();
  StateRegion(const StateRegion &) = delete;
  StateRegion &operator=(const StateRegion &) = delete;

  float *data() const { return values; }
  uint64_t bytes() const { return size; }
  /// Ends the residence of a file's pages in this process; what they hold
  /// comes back when it is touched.
  void release() const;

private:
  uint64_t size;
  bool isFile;
  float *values = nullptr;
};

} // namespace wsec::runtime

#endif // RUNTIME_MEMORYX_STATEREGION_H
