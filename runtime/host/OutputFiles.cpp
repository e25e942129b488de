// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/host/OutputFiles.h"
#include "runtime/program/Errors.h"
#include "runtime/program/NearestNames.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace wsec::runtime {

static Error cannotWrite(const std::string &path, int reason) {
  return Error(ErrorClass::IoError,
               "cannot write " + inQuotes(path) + ": " + std::strerror(reason));
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

/// Whether both names lead to one file that exists.
static bool sameFile(const std::string &a, const std::string &b) {
  struct stat first, second;
  return ::stat(a.c_str(), &first) == 0 && ::stat(b.c_str(), &second) == 0 &&
         S_ISREG(first.st_mode) && first.st_dev == second.st_dev &&
         first.st_ino == second.st_ino;
}

static void checkWritable(const std::string &path) {
  struct stat status;
  if (::stat(path.c_str(), &status) == 0) {
    if (S_ISDIR(status.st_mode))
      throw cannotWrite(path, EISDIR);
    if (!S_ISREG(status.st_mode))
      return;
  }
  // A file is replaced, so what counts is its folder.
  size_t slash = path.rfind('/');
  std::string folder = slash == path.npos ? "." : path.substr(0, slash + 1);
  if (::access(folder.c_str(), W_OK | X_OK) != 0)
    throw cannotWrite(path, errno);
}

void checkOutputPaths(const std::vector<std::string> &written,
                      const std::vector<std::string> &read) {
  for (size_t i = 0; i < written.size(); ++i) {
    const std::string &path = written[i];
    checkWritable(path);
    for (const std::string &source : read)
      if (sameFile(path, source))
        throw Error(ErrorClass::IoError,
                    inQuotes(path) +
                        " is read by this run and would be overwritten; "
                        "write to another file");
    struct stat status;
    bool device =
        ::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode);
    for (size_t j = 0; j < i && !device; ++j)
      if (path == written[j] || sameFile(path, written[j]))
        throw Error(ErrorClass::IoError,
                    inQuotes(path) + " is to be written twice");
  }
}

void OutputFiles::holdSignals() {
  if (std::exchange(held, true))
    return;
  sigset_t ending;
  ::sigemptyset(&ending);
  for (int signal : {SIGTERM, SIGINT, SIGHUP, SIGQUIT})
    ::sigaddset(&ending, signal);
  ::pthread_sigmask(SIG_BLOCK, &ending, &before);
}

void OutputFiles::releaseSignals() {
  if (std::exchange(held, false))
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

OutputFiles::~OutputFiles() {
  for (const auto &[from, to] : pending)
    ::unlink(from.c_str());
  releaseSignals();
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
  holdSignals();
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
  releaseSignals();
}

} // namespace wsec::runtime
