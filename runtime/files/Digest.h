// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RUNTIME_FILES_DIGEST_H
#define RUNTIME_FILES_DIGEST_H

#include <cstdint>

struct XXH3_state_s;

namespace wsec::runtime {

class MappedFile;

/// Digest of weight data, as stored in `File.digest`: XXH3 with 64 bits of all
/// bytes, which `xxhsum -H3` prints.
uint64_t digestOf(const void *data, uint64_t size);

/// Digest of a whole file. Digests of large files are remembered under
/// $XDG_CACHE_HOME/wsec (or ~/.cache/wsec) by what tells states of a file
/// apart, its times among them, so that gigabytes are read once.
uint64_t digestOf(const MappedFile &file);

/// Digest of data that comes in pieces.
class StreamedDigest {
public:
  StreamedDigest();
  ~StreamedDigest();
  void add(const void *data, uint64_t size);
  uint64_t value() const;

private:
  XXH3_state_s *state;
};

} // namespace wsec::runtime

#endif // RUNTIME_FILES_DIGEST_H
