// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/memoryx/StateRegion.h"
#include "runtime/program/Errors.h"
#include "runtime/program/NearestNames.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <new>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <unistd.h>

namespace wsec::runtime {

namespace {

[[noreturn]] void fail(const std::string &folder, uint64_t bytes, int reason) {
  throw Error(ErrorClass::IoError,
              "cannot take " + std::to_string(bytes) +
                  " bytes for the state of parameters in " + inQuotes(folder) +
                  ": " + std::strerror(reason));
}

/// A file that ends with its last descriptor and mapping.
int openNameless(const std::string &folder, uint64_t bytes) {
  constexpr mode_t mine = 0600;
  int file = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, mine);
  if (file >= 0)
    return file;
  if (errno != EOPNOTSUPP && errno != EISDIR)
    fail(folder, bytes, errno);
  std::string name = folder + "/wsec-state-XXXXXX";
  file = ::mkostemp(name.data(), O_CLOEXEC);
  if (file < 0)
    fail(folder, bytes, errno);
  ::unlink(name.c_str());
  return file;
}

/// Zero, or why there is no room.
int reserve(int file, uint64_t bytes) {
  if (::fallocate(file, 0, 0, off_t(bytes)) == 0)
    return 0;
  if (errno != EOPNOTSUPP)
    return errno;
  // Some file systems cannot keep room; there should be some, though.
  struct statvfs disk;
  if (::fstatvfs(file, &disk) == 0 && disk.f_bavail * disk.f_frsize < bytes)
    return ENOSPC;
  return ::ftruncate(file, off_t(bytes)) == 0 ? 0 : errno;
}

} // namespace

StateRegion::StateRegion(uint64_t count, const std::string &folder)
    : size(count * sizeof(float)), isFile(!folder.empty()) {
  if (size == 0)
    return;
  int file = -1, kind = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  if (isFile) {
    file = openNameless(folder, size);
    if (const int reason = reserve(file, size)) {
      ::close(file);
      fail(folder, size, reason);
    }
    kind = MAP_SHARED;
  }
  void *data = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, kind, file, 0);
  const int reason = errno;
  if (file >= 0)
    ::close(file);
  if (data == MAP_FAILED && isFile)
    fail(folder, size, reason);
  if (data == MAP_FAILED)
    throw std::bad_alloc();
  values = static_cast<float *>(data);
}

StateRegion::~StateRegion() {
  if (values)
    ::munmap(values, size);
}

void StateRegion::release() const {
  if (values && isFile)
    ::madvise(values, size, MADV_DONTNEED);
}

} // namespace wsec::runtime
