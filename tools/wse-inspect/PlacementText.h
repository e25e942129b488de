// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Placements, as wsec --dump-placement=FILE.json writes them
// (tools/map/placement.schema.json), for people who compare two.
#ifndef TOOLS_WSE_INSPECT_PLACEMENTTEXT_H
#define TOOLS_WSE_INSPECT_PLACEMENTTEXT_H

#include "tools/wse-inspect/Summary.h"

#include <istream>
#include <string>
#include <vector>

namespace wsec::inspect {

/// The object in a file, whose text is given. Throws what says why it is none.
Json readPlacement(const std::string &path, std::istream &text);
Json readPlacement(const std::string &path);

/// A line for each thing that differs, by name: mesh, regions, channels,
/// kernels, streams, SRAM.
std::vector<std::string> placementDifferences(const Json &before,
                                              const Json &after);

} // namespace wsec::inspect

#endif // TOOLS_WSE_INSPECT_PLACEMENTTEXT_H
