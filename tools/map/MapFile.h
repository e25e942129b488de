// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef WSEC_TOOLS_MAP_MAPFILE_H
#define WSEC_TOOLS_MAP_MAPFILE_H

#include "compiler/ProgramViewer.h"
#include "tools/map/PlacementDump.h"

namespace wsec::map {

/// The map of a compilation, `wsec --dump-placement=FILE`.
class MapFile final : public ProgramViewer {
public:
  /// `path` ends in .txt, .json, .svg or .html; `measured` are counters and
  /// reports of runs, for .html.
  MapFile(std::string path, std::vector<std::string> measured)
      : ProgramViewer(std::move(path)), measured(std::move(measured)) {}

  void view(wse::ProgramOp program) override;
  llvm::LogicalResult write(mlir::ModuleOp module) override;

private:
  std::vector<std::string> measured;
  std::optional<PlacementView> viewed;
};

} // namespace wsec::map

#endif // WSEC_TOOLS_MAP_MAPFILE_H
