// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/host/OutputFiles.h"
#include "runtime/program/Errors.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace wsec::runtime {

static Error cannotWrite(const std::string &path, int reason) {
  return Error(ErrorClass::IoError,
               "cannot write '" + path + "': " + std::strerror(reason));
}

/// Writes everything and closes; returns 0 or the reason in terms of errno.
static int writeAndClose(int descriptor, std::string_view content) {
  int reason = 0;
  while (!content.empty() && reason == 0) {
    size_t most = std::min<size_t>(content.size(), 1 << 30);
    ssize_t written = ::write(descriptor, content.data(), most);
    if (written >= 0)
      content.remove_prefix(size_t(written));
    else if (errno != EINTR)
      reason = errno;
  }
  // Some file systems only say here that there was no room.
  if (::close(descriptor) != 0 && reason == 0)
    reason = errno;
  return reason;
}

OutputFiles::~OutputFiles() {
  for (const auto &[from, to] : pending)
    ::unlink(from.c_str());
}

void OutputFiles::add(const std::string &path, std::string_view content) {
  struct stat status;
  bool direct = ::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode);
  if (direct) {
    int descriptor = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
    int reason = descriptor < 0 ? errno : writeAndClose(descriptor, content);
    if (reason)
      throw cannotWrite(path, reason);
    return;
  }
  std::string temporary = path + ".XXXXXX";
  int descriptor = ::mkstemp(temporary.data());
  if (descriptor < 0)
    throw cannotWrite(path, errno);
  pending.emplace_back(temporary, path);
  // mkstemp makes a private file; give it the mode of any other.
  mode_t mask = ::umask(0);
  ::umask(mask);
  ::fchmod(descriptor, 0666 & ~mask);
  if (int reason = writeAndClose(descriptor, content))
    throw cannotWrite(path, reason);
}

void OutputFiles::commit() {
  while (!pending.empty()) {
    const auto &[from, to] = pending.back();
    if (std::rename(from.c_str(), to.c_str()) != 0)
      throw cannotWrite(to, errno);
    pending.pop_back();
  }
}

} // namespace wsec::runtime
