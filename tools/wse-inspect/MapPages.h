// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Maps of the wafer, as wsec --dump-placement=FILE.html writes them, of which
// two are shown side by side.
#ifndef TOOLS_WSE_INSPECT_MAPPAGES_H
#define TOOLS_WSE_INSPECT_MAPPAGES_H

#include <string>
#include <vector>

namespace wsec::inspect {

/// A file that is a page.
struct MapPage {
  std::string path, text;

  /// The placement in it, as JSON; throws if it is no map.
  std::string placement() const;
};

MapPage readMapPage(const std::string &path);

/// One page with both maps, which is complete in itself, and a list of what
/// differs above them.
std::string sideBySide(const MapPage &first, const MapPage &second,
                       const std::vector<std::string> &differences);

} // namespace wsec::inspect

#endif // TOOLS_WSE_INSPECT_MAPPAGES_H
