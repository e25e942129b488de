// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/program/MappedFile.h"
#include "runtime/program/Errors.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace wsec::runtime {

std::shared_ptr<const MappedFile> MappedFile::open(const std::string &path) {
  auto fail = [&](const std::string &reason) {
    return Error(ErrorClass::IoError, "cannot read '" + path + "': " + reason);
  };
  int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0)
    throw fail(std::strerror(errno));
  struct stat status;
  bool known = ::fstat(descriptor, &status) == 0;
  if (!known || !S_ISREG(status.st_mode)) {
    std::string reason = known ? "not a regular file" : std::strerror(errno);
    ::close(descriptor);
    throw fail(reason);
  }
  uint64_t size = uint64_t(status.st_size);
  void *data = nullptr;
  if (size > 0)
    data = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
  int reason = errno;
  ::close(descriptor);
  if (data == MAP_FAILED)
    throw fail(std::strerror(reason));
  return std::shared_ptr<const MappedFile>(
      new MappedFile(static_cast<const uint8_t *>(data), size));
}

MappedFile::~MappedFile() {
  if (length > 0)
    ::munmap(const_cast<uint8_t *>(bytes), length);
}

} // namespace wsec::runtime
