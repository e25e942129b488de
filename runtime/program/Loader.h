// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RUNTIME_PROGRAM_LOADER_H
#define RUNTIME_PROGRAM_LOADER_H

#include "runtime/files/MappedFile.h"
#include "runtime/files/WeightFolders.h"
#include "runtime/program/program_generated.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace wsec::runtime {

/// A program that has passed the checker, and the bytes it lives in.
class LoadedProgram {
public:
  /// Reads and checks a .wafer file. Throws IoError, BadProgram, or the class
  /// of what the checker finds. Nobody can change the program after it has been
  /// checked: it is copied, and only bundled weights stay in the file.
  static std::shared_ptr<const LoadedProgram> open(const std::string &path);

  /// Checks a file held in memory, as if it lay in `directory`.
  static std::shared_ptr<const LoadedProgram>
  fromBytes(std::vector<uint8_t> bytes, const std::string &directory = "");

  /// Another flatbuffer in the place of `loaded`'s, with the same weights; it
  /// is checked as if it came from a file. The state of one is that of the
  /// other.
  static std::shared_ptr<const LoadedProgram>
  derived(std::shared_ptr<const LoadedProgram> loaded,
          std::vector<uint8_t> flatbuffer);

  const program::Program &program() const { return *root; }

  /// XXH3 of the flatbuffer: tells programs apart. Of a derived one that of
  /// the program it comes from.
  uint64_t digest() const;

  /// The weight data that travels inside the file.
  const uint8_t *bundle() const { return bundleData; }
  uint64_t bundleBytes() const { return bundleLength; }

  /// The file that the bundle is mapped from, if it is not in memory.
  const std::shared_ptr<const MappedFile> &bundleFile() const { return mapped; }

  /// Where the program lies, for weights beside it.
  const WeightFolders &folders() const { return home; }

private:
  LoadedProgram() = default;
  void check();

  std::vector<uint8_t> bytes; ///< of the flatbuffer, or of a whole file
  const program::Program *root = nullptr;
  const uint8_t *rootData = nullptr;
  uint64_t rootBytes = 0;
  std::shared_ptr<const LoadedProgram> origin; ///< of a derived program
  std::shared_ptr<const MappedFile> mapped;
  const uint8_t *bundleData = nullptr;
  uint64_t bundleLength = 0;
  WeightFolders home;
};

} // namespace wsec::runtime

#endif // RUNTIME_PROGRAM_LOADER_H
