// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/files/InputFile.h"
#include "runtime/program/Errors.h"
#include "runtime/program/NearestNames.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace wsec::runtime {

static int64_t nanoseconds(const timespec &time) {
  return int64_t(time.tv_sec) * 1000000000 + time.tv_nsec;
}

static FileState stateFrom(const struct stat &status) {
  return {status.st_dev, status.st_ino, uint64_t(status.st_size),
          nanoseconds(status.st_mtim), nanoseconds(status.st_ctim)};
}

static Error cannotRead(const std::string &path, const std::string &reason) {
  return Error(ErrorClass::IoError,
               "cannot read " + inQuotes(path) + ": " + reason);
}

bool FileState::recent() const {
  constexpr int64_t second = 1000000000;
  timespec now;
  ::clock_gettime(CLOCK_REALTIME, &now);
  return std::max(written, changed) > nanoseconds(now) - second;
}

// Without O_NONBLOCK, opening a FIFO waits for a writer.
InputFile::InputFile(const std::string &path)
    : path(path),
      handle(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
  if (handle < 0)
    throw cannotRead(path, std::strerror(errno));
  struct stat status;
  bool known = ::fstat(handle, &status) == 0;
  if (known && S_ISREG(status.st_mode)) {
    opened = stateFrom(status);
    return;
  }
  std::string reason = known ? "not a regular file" : std::strerror(errno);
  ::close(handle);
  throw cannotRead(path, reason);
}

InputFile::~InputFile() { ::close(handle); }

void InputFile::read(uint64_t offset, void *to, uint64_t bytes) const {
  auto *next = static_cast<char *>(to);
  while (bytes > 0) {
    ssize_t got = ::pread(handle, next, std::min<uint64_t>(bytes, 1 << 30),
                          off_t(offset));
    if (got < 0 && errno == EINTR)
      continue;
    if (got <= 0)
      throw cannotRead(path, got < 0
                                 ? std::strerror(errno)
                                 : "it ends at byte " + std::to_string(offset) +
                                       " and was longer before");
    next += got;
    offset += uint64_t(got);
    bytes -= uint64_t(got);
  }
}

FileState stateOf(const std::string &path) {
  struct stat status;
  return ::stat(path.c_str(), &status) == 0 ? stateFrom(status) : FileState();
}

std::vector<uint8_t> readFile(const std::string &path) {
  InputFile file(path);
  std::vector<uint8_t> bytes(file.size());
  file.read(0, bytes.data(), bytes.size());
  return bytes;
}

} // namespace wsec::runtime
