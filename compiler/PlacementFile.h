// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A placement's JSON on its way back: its regions decide, and how their kernels
// were selected; all else in it follows from these.

#ifndef COMPILER_PLACEMENTFILE_H
#define COMPILER_PLACEMENTFILE_H

#include "compiler/placement/PlacementProblem.h"
#include "dialects/wse/Wse.h"

#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace wsec {

struct PlacementFile {
  struct Region {
    std::string name;
    PlacedRegion pes;
    wse::RegionRole role = wse::RegionRole::Whole;
    int64_t firstKernel = 0; ///< of a stage, see wse.region
    int64_t group = 0;       ///< of a stage: its row of them
    /// Channels of its own; none: all of its rows, or those that `select`
    /// chooses for a stage.
    int64_t shareBegin = 0, shareCount = 0;
    std::optional<bool> spreadHeads; ///< none: as `select` chooses
  };
  /// As in #wse.selection.
  struct Selection {
    int64_t code = 0;
    bool fewColors = false, littleScratch = false, weightsStay = false;
    std::map<std::string, int64_t> scratch; ///< bytes that a kernel takes
  };
  std::string path;
  int64_t width = 0, height = 0; ///< of the mesh
  std::vector<Region> regions;   ///< in the order in which `select` makes them
  std::optional<Selection> selection; ///< none: nothing is known

  /// The role of all regions.
  wse::RegionRole role() const { return regions.front().role; }
  /// Empty if the file is of a mesh of `columns` x `rows`, else what is wrong.
  std::string meshProblem(int64_t columns, int64_t rows) const;
  /// Empty if kernels can be selected for these roles, else what is wrong.
  std::string roleProblem() const;
};

/// The object in a file of JSON; errors name the file.
llvm::Expected<llvm::json::Object> readJsonObject(const std::string &path);

/// What `--dump-placement=FILE.json` wrote, perhaps with other rectangles. An
/// error names the region and the field that is missing, or rules out another.
llvm::Expected<PlacementFile> readPlacementFile(const std::string &path);

} // namespace wsec

#endif // COMPILER_PLACEMENTFILE_H
