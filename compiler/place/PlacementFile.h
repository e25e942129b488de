// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A placement's JSON on its way back: its regions decide, all else in it
// follows from them.

#ifndef WSEC_COMPILER_PLACE_PLACEMENTFILE_H
#define WSEC_COMPILER_PLACE_PLACEMENTFILE_H

#include "compiler/placement/PlacementProblem.h"
#include "dialects/wse/Wse.h"

#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"

#include <string>
#include <vector>

namespace wsec {

struct PlacementFile {
  struct Region {
    std::string name;
    PlacedRegion pes;
  };
  std::string path;
  int64_t width = 0, height = 0; ///< of the mesh
  std::vector<Region> regions;   ///< in the order in which `select` makes them
};

/// The object in a file of JSON; errors name the file.
llvm::Expected<llvm::json::Object> readJsonObject(const std::string &path);

/// What `--dump-placement=FILE.json` wrote, perhaps with other rectangles.
llvm::Expected<PlacementFile> readPlacementFile(const std::string &path);

/// Gives the regions of a selected program their places. Returns empty, or what
/// of the file is not of this program.
std::string pinRegions(wse::ProgramOp program, const PlacementFile &file);

} // namespace wsec

#endif // WSEC_COMPILER_PLACE_PLACEMENTFILE_H
