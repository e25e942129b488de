// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RUNTIME_PROGRAM_LOADER_H
#define RUNTIME_PROGRAM_LOADER_H

#include "runtime/program/program_generated.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace wsec::runtime {

/// A program that has passed the checker, and the bytes it lives in.
class LoadedProgram {
public:
  /// Maps and checks a .wafer file. Throws IoError, BadProgram, or the class
  /// of what the checker finds.
  static std::shared_ptr<const LoadedProgram> open(const std::string &path);

  /// The same for a file held in memory; `directory` resolves the relative
  /// paths of its weight files.
  static std::shared_ptr<const LoadedProgram>
  fromBytes(std::vector<uint8_t> bytes, std::string directory = "");

  const program::Program &program() const { return *root; }

  /// The weight data that travels inside the file.
  const uint8_t *bundle() const { return bundleData; }
  uint64_t bundleBytes() const { return bundleLength; }

  /// The place of a weight file: `path` itself if absolute, otherwise
  /// relative to the folder of the program.
  std::string resolve(const std::string &path) const;

private:
  LoadedProgram(std::shared_ptr<const void> owner, const uint8_t *data,
                uint64_t size, std::string directory);

  std::shared_ptr<const void> owner;
  const program::Program *root = nullptr;
  const uint8_t *bundleData = nullptr;
  uint64_t bundleLength = 0;
  std::string directory;
};

} // namespace wsec::runtime

#endif // RUNTIME_PROGRAM_LOADER_H
