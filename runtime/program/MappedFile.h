// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RUNTIME_PROGRAM_MAPPEDFILE_H
#define RUNTIME_PROGRAM_MAPPEDFILE_H

#include <cstdint>
#include <memory>
#include <string>

namespace wsec::runtime {

/// A file mapped read-only: nothing is copied, pages come in when touched.
class MappedFile {
public:
  /// Throws IoError when `path` is not a readable regular file.
  static std::shared_ptr<const MappedFile> open(const std::string &path);

  MappedFile(const MappedFile &) = delete;
  MappedFile &operator=(const MappedFile &) = delete;
  ~MappedFile();

  const uint8_t *data() const { return bytes; }
  uint64_t size() const { return length; }

private:
  MappedFile(const uint8_t *bytes, uint64_t length)
      : bytes(bytes), length(length) {}

  const uint8_t *bytes;
  uint64_t length;
};

} // namespace wsec::runtime

#endif // RUNTIME_PROGRAM_MAPPEDFILE_H
