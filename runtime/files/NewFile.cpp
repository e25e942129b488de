// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/files/NewFile.h"
#include "runtime/files/InputFile.h"
#include "runtime/program/Errors.h"
#include "runtime/program/NearestNames.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace wsec::runtime {

static constexpr mode_t anyMode = 0666; // less the umask

void NewFile::fail(int reason) const {
  throw Error(ErrorClass::IoError,
              "cannot write " + inQuotes(path) + ": " + std::strerror(reason));
}

static bool isSpecial(const std::string &path) {
  struct stat status;
  return ::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode) &&
         !S_ISDIR(status.st_mode);
}

static bool isFolder(const std::string &path) {
  struct stat status;
  return ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

NewFile::NewFile(const std::string &path, NotYet)
    : path(path), part(path + ".part"), direct(isSpecial(path)) {}

// What throws below closes what it has opened.
NewFile::NewFile(const std::string &path, bool nameless)
    : NewFile(path, NotYet()) {
  if (isFolder(path))
    fail(EISDIR);
  if (direct) {
    descriptor = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
    if (descriptor < 0)
      fail(errno);
    return;
  }
  const size_t slash = path.rfind('/');
  const std::string folder =
      slash == path.npos ? "." : path.substr(0, slash + 1);
  // A nameless file gets its name by way of /proc.
  if (nameless && isFolder("/proc/self/fd"))
    descriptor =
        ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, anyMode);
  if (descriptor < 0)
    openNamed();
}

NewFile::~NewFile() {
  if (named)
    ::unlink(part.c_str());
  if (descriptor >= 0)
    ::close(descriptor);
}

/// The lock tells a file that is being written from one that was left behind.
void NewFile::openNamed() {
  for (;;) {
    descriptor = ::open(part.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW,
                        anyMode);
    if (descriptor < 0)
      fail(errno);
    if (::flock(descriptor, LOCK_EX | LOCK_NB) != 0)
      throw Error(ErrorClass::IoError, "cannot write " + inQuotes(path) +
                                           ": another process writes it now");
    struct stat locked;
    ::fstat(descriptor, &locked);
    if (locked.st_ino == stateOf(part).number)
      break;
    ::close(descriptor); // its writer was just done with it
  }
  named = true;
  if (::ftruncate(descriptor, 0) != 0)
    fail(errno);
}

void NewFile::write(const void *data, uint64_t bytes) {
  const auto *next = static_cast<const char *>(data);
  while (bytes > 0) {
    const ssize_t written =
        ::write(descriptor, next, std::min<uint64_t>(bytes, 1 << 30));
    if (written < 0 && errno == EINTR)
      continue;
    if (written < 0)
      fail(errno);
    next += written;
    bytes -= uint64_t(written);
    end += uint64_t(written);
  }
}

void NewFile::overwrite(uint64_t offset, const void *data, uint64_t bytes) {
  const ssize_t written = ::pwrite(descriptor, data, bytes, off_t(offset));
  if (written != ssize_t(bytes))
    fail(written < 0 ? errno : ENOSPC);
}

void NewFile::sync() const {
  if (!direct && ::fsync(descriptor) != 0)
    fail(errno);
}

bool NewFile::link(const std::string &name) const {
  const std::string handle = "/proc/self/fd/" + std::to_string(descriptor);
  if (::linkat(AT_FDCWD, handle.c_str(), AT_FDCWD, name.c_str(),
               AT_SYMLINK_FOLLOW) == 0)
    return true;
  if (errno != EEXIST)
    fail(errno);
  return false;
}

void NewFile::commit() {
  // Some file systems say only as a descriptor is closed that there was no
  // room: a copy, before the file has its name.
  const int copy = ::fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
  if (copy < 0 || ::close(copy) != 0)
    fail(errno);
  if (!direct && (named || !link(path))) {
    // What is there can only be replaced by a file with a name.
    while (!(named = named || link(part)))
      if (::unlink(part.c_str()) != 0)
        fail(errno);
    if (std::rename(part.c_str(), path.c_str()) != 0)
      fail(errno);
    named = false;
  }
  ::close(std::exchange(descriptor, -1));
}

} // namespace wsec::runtime
