// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/memoryx/CheckpointFolder.h"
#include "runtime/program/Errors.h"
#include "runtime/program/NearestNames.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/file.h>
#include <unistd.h>

namespace wsec::runtime {

namespace fs = std::filesystem;

namespace {

constexpr const char *prefix = "step-", *partSuffix = ".part";

[[noreturn]] void fail(const std::string &path, const std::string &reason) {
  throw Error(ErrorClass::IoError,
              "cannot write " + inQuotes(path) + ": " + reason);
}

/// Waits until the names in a folder have reached the disk.
void syncFolder(const std::string &path) {
  const int folder = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const bool synced = folder >= 0 && ::fsync(folder) == 0;
  const int reason = errno;
  if (folder >= 0)
    ::close(folder);
  if (!synced)
    fail(path, std::strerror(reason));
}

void remove(const std::string &path) {
  std::error_code problem;
  fs::remove_all(path, problem);
  if (problem)
    fail(path, problem.message());
}

} // namespace

std::string CheckpointFolder::pathOf(const std::string &folder, uint64_t step) {
  return folder + "/" + prefix + absl::StrFormat("%012d", step);
}

std::vector<uint64_t> CheckpointFolder::stepsIn(const std::string &folder) {
  std::vector<uint64_t> steps;
  std::error_code none;
  for (const auto &entry : fs::directory_iterator(folder, none)) {
    const std::string name = entry.path().filename().string();
    uint64_t step;
    if (name.rfind(prefix, 0) == 0 &&
        absl::SimpleAtoi(name.substr(std::strlen(prefix)), &step) &&
        pathOf(folder, step) == folder + "/" + name)
      steps.push_back(step);
  }
  std::sort(steps.begin(), steps.end());
  return steps;
}

CheckpointFolder::CheckpointFolder(const std::string &folder, uint64_t step)
    : folder(folder), path(pathOf(folder, step)), partPath(path + partSuffix) {
  std::error_code problem;
  fs::create_directories(folder, problem);
  descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0)
    fail(folder, problem ? problem.message() : std::strerror(errno));
  try {
    if (::flock(descriptor, LOCK_EX | LOCK_NB) != 0)
      fail(folder, "another process saves a checkpoint there now");
    removeParts();
    fs::create_directory(partPath, problem);
    if (problem)
      fail(partPath, problem.message());
  } catch (...) {
    ::close(descriptor);
    throw;
  }
}

CheckpointFolder::~CheckpointFolder() {
  std::error_code none;
  fs::remove_all(partPath, none);
  ::close(descriptor);
}

void CheckpointFolder::removeParts() const {
  std::vector<std::string> parts;
  std::error_code none;
  for (const auto &entry : fs::directory_iterator(folder, none)) {
    const std::string name = entry.path().filename().string();
    if (name.rfind(prefix, 0) == 0 && entry.path().extension() == partSuffix)
      parts.push_back(entry.path().string());
  }
  for (const std::string &part : parts)
    remove(part);
}

std::string CheckpointFolder::commit(unsigned keep) {
  syncFolder(partPath);
  // An old one of this name takes the name of the part, and goes with it.
  const bool isThere = fs::exists(path);
  if (::renameat2(AT_FDCWD, partPath.c_str(), AT_FDCWD, path.c_str(),
                  isThere ? RENAME_EXCHANGE : RENAME_NOREPLACE) != 0)
    fail(path, isThere && errno == EINVAL
                   ? "it is there, and this file system cannot replace a folder"
                   : std::strerror(errno));
  syncFolder(folder);
  if (isThere)
    remove(partPath);
  const std::vector<uint64_t> steps = stepsIn(folder);
  for (size_t i = 0; keep > 0 && i + keep < steps.size(); ++i) {
    // It loses its name before its files.
    const std::string old = pathOf(folder, steps[i]);
    if (old == path)
      continue;
    if (std::rename(old.c_str(), (old + partSuffix).c_str()) != 0)
      fail(old, std::strerror(errno));
    remove(old + partSuffix);
  }
  return path;
}

} // namespace wsec::runtime
