// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/host/OutputFiles.h"
#include "runtime/program/Errors.h"
#include "runtime/program/NearestNames.h"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <sys/stat.h>
#include <unistd.h>

namespace wsec::runtime {

static Error cannotWrite(const std::string &path, int reason) {
  return Error(ErrorClass::IoError,
               "cannot write " + inQuotes(path) + ": " + std::strerror(reason));
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

void OutputFiles::add(const std::string &path, std::string_view content) {
  auto file = std::make_unique<NewFile>(path);
  file->write(content.data(), content.size());
  pending.push_back(std::move(file));
}

void OutputFiles::commit() {
  sigset_t ending, before;
  ::sigemptyset(&ending);
  for (int signal : {SIGTERM, SIGINT, SIGHUP, SIGQUIT})
    ::sigaddset(&ending, signal);
  ::pthread_sigmask(SIG_BLOCK, &ending, &before);
  try {
    for (auto &file : pending)
      file->commit();
  } catch (const Error &) {
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    throw;
  }
  pending.clear();
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

} // namespace wsec::runtime
