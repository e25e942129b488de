// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The .wafer file around the flatbuffer:
//
//   8 bytes   magic, with the version of the container
//   8 bytes   size of the flatbuffer, little endian
//   ...       the flatbuffer (program.fbs)
//   ...       zeros up to a multiple of 4096
//   ...       bundled weight data, if any
#ifndef RUNTIME_PROGRAM_CONTAINER_H
#define RUNTIME_PROGRAM_CONTAINER_H

#include "runtime/program/Opcodes.h"
#include <array>
#include <cstdint>
#include <string>

namespace wsec::runtime {

inline constexpr std::array<uint8_t, 8> containerMagic = {'W', 'A', 'F', 'E',
                                                          'R', 0,   1,   0};
inline constexpr uint64_t containerHeaderBytes = 16;
inline constexpr uint64_t bundleAlignment = 4096;

/// `Program.version` this runtime reads: the number of the format, and 24 bits
/// for the instructions, whose numbers a row more in their table changes.
inline constexpr uint32_t programVersion =
    6u << 24 | (opcodesDigest() & 0xffffff);

/// As errors say it: "6.8471203", or "4" of a format without instructions.
inline std::string versionText(uint32_t version) {
  const uint32_t format = version >> 24;
  return (format ? std::to_string(format) + "." : "") +
         std::to_string(version & 0xffffff);
}

/// Where the bundled data starts in the file.
inline constexpr uint64_t bundleStart(uint64_t flatbufferBytes) {
  uint64_t end = containerHeaderBytes + flatbufferBytes;
  return (end + bundleAlignment - 1) / bundleAlignment * bundleAlignment;
}

} // namespace wsec::runtime

#endif // RUNTIME_PROGRAM_CONTAINER_H
