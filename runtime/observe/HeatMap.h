// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A number for each PE as a picture: of characters, or a PNG file.
#ifndef RUNTIME_OBSERVE_HEATMAP_H
#define RUNTIME_OBSERVE_HEATMAP_H

#include "runtime/observe/Counters.h"

#include <string>

namespace wsec::runtime {

/// A heading and a picture at most `columns` wide. A PE is a character as long
/// as they fit; else a character stands for the largest number of a block of
/// PEs, twice as high as wide, like the characters of a terminal.
std::string drawText(const PeMap &map, int width, int height, int columns);

/// A PNG file: dark is 0, bright the largest number. A PE is a square of
/// several pixels on small meshes and one pixel on large ones. Throws IoError
/// for a mesh wider or higher than libpng draws, a million PEs.
std::string drawPng(const PeMap &map, int width, int height);

} // namespace wsec::runtime

#endif // RUNTIME_OBSERVE_HEATMAP_H
