// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/files/MappedFile.h"
#include "runtime/program/Errors.h"
#include "runtime/program/NearestNames.h"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <mutex>
#include <sys/mman.h>
#include <unistd.h>

namespace wsec::runtime {

/// Where a file is mapped. Regions are read by a signal handler: they are
/// linked for ever, and used again once empty.
struct MappedRegion {
  void set(uintptr_t first, uintptr_t behind) {
    ++version;
    begin = first;
    end = behind;
    ++version;
  }
  /// Where it ends, if it has the address; else 0. One that changes meanwhile
  /// is not where somebody reads.
  uintptr_t endIfAround(uintptr_t address) const {
    const uint64_t before = version;
    const uintptr_t first = begin, behind = end;
    return before == version && before % 2 == 0 && first <= address &&
                   address < behind
               ? behind
               : 0;
  }

  std::atomic<uint64_t> version{0}; ///< odd while it is set
  std::atomic<uintptr_t> begin{0}, end{0};
  std::atomic<bool> used{false}, lost{false};
  MappedRegion *next = nullptr;
};

namespace {

std::atomic<MappedRegion *> regions{nullptr};
struct sigaction previousAction;

/// Puts zeros in place of the missing page, and of all behind it: what a file
/// has lost, it has lost up to its end.
bool replaceMissing(uintptr_t address) {
  for (MappedRegion *region = regions; region; region = region->next) {
    const uintptr_t end = region->endIfAround(address);
    if (end == 0)
      continue;
    region->lost = true;
    const uintptr_t page = address & ~(uintptr_t(::sysconf(_SC_PAGESIZE)) - 1);
    return ::mmap(reinterpret_cast<void *>(page), end - page, PROT_READ,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1,
                  0) != MAP_FAILED;
  }
  return false;
}

void onBusError(int signal, siginfo_t *info, void *) {
  const int error = errno;
  const bool fault = info->si_code > 0; // else somebody sent the signal
  if (!fault || !replaceMissing(reinterpret_cast<uintptr_t>(info->si_addr))) {
    // As if this handler were not here: the access faults again.
    ::sigaction(signal, &previousAction, nullptr);
    if (!fault)
      ::raise(signal);
  }
  errno = error;
}

void installHandler() {
  struct sigaction action = {};
  action.sa_sigaction = onBusError;
  action.sa_flags = SA_SIGINFO | SA_NODEFER;
  ::sigemptyset(&action.sa_mask);
  ::sigaction(SIGBUS, &action, &previousAction);
}

MappedRegion *addRegion(uintptr_t begin, uint64_t size) {
  static std::once_flag installed;
  std::call_once(installed, installHandler);
  MappedRegion *region = regions;
  while (region && region->used.exchange(true))
    region = region->next;
  if (!region) {
    region = new MappedRegion;
    region->used = true;
    region->next = regions;
    while (!regions.compare_exchange_weak(region->next, region))
      ;
  }
  region->lost = false;
  region->set(begin, begin + size);
  return region;
}

} // namespace

std::shared_ptr<const MappedFile> MappedFile::open(const std::string &path) {
  return std::shared_ptr<const MappedFile>(new MappedFile(path));
}

MappedFile::MappedFile(const std::string &path) : name(path) {
  InputFile file(path);
  opened = file.state();
  wasRecent = opened.recent();
  if (size() == 0)
    return;
  void *data =
      ::mmap(nullptr, size(), PROT_READ, MAP_PRIVATE, file.descriptor(), 0);
  if (data == MAP_FAILED)
    throw Error(ErrorClass::IoError,
                "cannot read " + inQuotes(path) + ": " + std::strerror(errno));
  bytes = static_cast<const uint8_t *>(data);
  region = addRegion(reinterpret_cast<uintptr_t>(data), size());
}

MappedFile::~MappedFile() {
  if (!region)
    return;
  region->set(0, 0);
  ::munmap(const_cast<uint8_t *>(bytes), size());
  region->used = false;
}

void MappedFile::release() const {
  if (bytes)
    ::madvise(const_cast<uint8_t *>(bytes), size(), MADV_DONTNEED);
}

bool MappedFile::damaged() const {
  if (region && region->lost)
    return true;
  // Another file may have taken the name; this one is as it was, then.
  const FileState now = stateOf(name);
  return now.device == opened.device && now.number == opened.number &&
         (now.size != opened.size || now.written != opened.written);
}

bool MappedFile::untouched() const {
  return !wasRecent && stateOf(name) == opened;
}

void MappedFile::confirm(const FileState &seen) const {
  if (seen == opened)
    wasRecent = false;
}

} // namespace wsec::runtime
