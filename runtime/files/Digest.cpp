// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/files/Digest.h"
#include "runtime/files/MappedFile.h"
#include "runtime/program/Errors.h"

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <optional>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

namespace wsec::runtime {

namespace {

/// Digests that were computed before: lines of equal length, a file's state and
/// its digest. What is remembered only saves time, so problems are ignored.
class DigestCache {
public:
  explicit DigestCache(const FileState &state) {
    char text[5 * 17 + 1];
    std::snprintf(text, sizeof(text),
                  "%016" PRIx64 " %016" PRIx64 " %016" PRIx64 " %016" PRIx64
                  " %016" PRIx64 " ",
                  state.device, state.number, state.size,
                  uint64_t(state.written), uint64_t(state.changed));
    key = text;
    const char *cache = std::getenv("XDG_CACHE_HOME");
    const char *home = std::getenv("HOME");
    if (cache && *cache == '/')
      folder = cache;
    else if (home && *home == '/')
      folder = std::string(home) + "/.cache";
    path = folder + "/wsec/digests";
  }

  std::optional<uint64_t> find() const {
    std::string lines = read();
    size_t at = lines.rfind("\n" + key);
    if (at == lines.npos || lines.size() - at < 1 + lineBytes)
      return std::nullopt;
    const std::string digits = lines.substr(at + 1 + key.size(), 16);
    if (digits.find_first_not_of("0123456789abcdef") != digits.npos)
      return std::nullopt;
    return std::strtoull(digits.c_str(), nullptr, 16);
  }

  void add(uint64_t digest) const {
    if (folder.empty())
      return;
    std::error_code ignored;
    std::filesystem::create_directories(folder, ignored);
    ::mkdir((folder + "/wsec").c_str(), 0700);
    if (stateOf(path).size > mostBytes)
      ::unlink(path.c_str());
    const int descriptor =
        ::open(path.c_str(),
               O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK, 0600);
    if (descriptor < 0)
      return;
    char digits[18];
    std::snprintf(digits, sizeof(digits), "%016" PRIx64 "\n", digest);
    // Lines of several processes do not mix: each is one write at the end.
    const std::string line = key + digits;
    [[maybe_unused]] ssize_t written =
        ::write(descriptor, line.data(), line.size());
    ::close(descriptor);
  }

private:
  static constexpr uint64_t mostBytes = 64 << 10, lineBytes = 5 * 17 + 17;

  /// All lines, with a line break in front.
  std::string read() const {
    try {
      std::vector<uint8_t> bytes = readFile(path);
      return "\n" + std::string(bytes.begin(), bytes.end());
    } catch (const Error &) {
      return "";
    }
  }

  std::string folder, path, key;
};

/// What is hashed as fast as it is found in the cache.
constexpr uint64_t smallFile = 1 << 20;

} // namespace

uint64_t digestOf(const void *data, uint64_t size) {
  return XXH3_64bits(data, size);
}

uint64_t digestOf(const MappedFile &file) {
  // A write that the times do not show must not meet a remembered digest.
  if (file.size() < smallFile || file.state().recent())
    return digestOf(file.data(), file.size());
  DigestCache cache(file.state());
  if (auto known = cache.find())
    return *known;
  const uint64_t digest = digestOf(file.data(), file.size());
  if (file.untouched() && !file.damaged())
    cache.add(digest);
  return digest;
}

StreamedDigest::StreamedDigest() : state(XXH3_createState()) {
  XXH3_64bits_reset(state);
}

StreamedDigest::~StreamedDigest() { XXH3_freeState(state); }

void StreamedDigest::add(const void *data, uint64_t size) {
  XXH3_64bits_update(state, data, size);
}

uint64_t StreamedDigest::value() const { return XXH3_64bits_digest(state); }

} // namespace wsec::runtime
