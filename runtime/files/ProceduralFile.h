// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RUNTIME_FILES_PROCEDURALFILE_H
#define RUNTIME_FILES_PROCEDURALFILE_H

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace wsec::runtime {

/// A file of f32 that is computed where it is read: weights of any size without
/// a byte of them. It has no end; element i (bytes 4 i to 4 i + 3) is
///
///   mean + range * ((mix(seed, i) >> 8) - 2^23) / 2^23
///
/// in f32, uniform in [mean - range, mean + range). mix is a keyed hash of 32
/// bits: with key = splitmix64(seed + 2^32-block of i * 0x9e3779b97f4a7c15), in
/// arithmetic modulo 2^32,
///
///   x = i ^ key;  x ^= x >> 16;  x *= 0x7feb352d;  x += key >> 32;
///   x ^= x >> 15;  x *= 0x846ca68b;  x ^= x >> 16
///
/// Models and programs name it as a location of external data,
/// "procedural:seed=1,range=0.02,mean=0".
struct ProceduralFile {
  uint64_t seed = 0;
  float range = 0, mean = 0;

  /// Whether a location is meant to be one.
  static bool isNamedBy(const std::string &location);
  /// Nothing where the location is malformed.
  static std::optional<ProceduralFile> parse(const std::string &location);
  /// What parse reads.
  std::string location() const;

  /// What a program keeps as the digest of the file: not 0, and another one for
  /// another file.
  uint64_t digest() const;

  /// As they would be read from a file; nothing where they are not whole
  /// elements.
  std::optional<std::vector<char>> bytesAt(uint64_t offset,
                                           uint64_t bytes) const;

  /// to[i] = element `first + i * stride`, for i in [0, count).
  void read(uint64_t first, int64_t stride, size_t count, float *to) const;
};

} // namespace wsec::runtime

#endif // RUNTIME_FILES_PROCEDURALFILE_H
