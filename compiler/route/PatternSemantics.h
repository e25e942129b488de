// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the patterns of streams mean for the PEs of a region and of the mesh.

#ifndef WSEC_COMPILER_ROUTE_PATTERNSEMANTICS_H
#define WSEC_COMPILER_ROUTE_PATTERNSEMANTICS_H

#include "compiler/route/RoutingProblem.h"

namespace wsec {

/// Words that go along lines of a region, rows or columns, all alike: from each
/// source to the PEs that lie `low` to `high` positions behind it, both
/// included. Positions are columns and rows of the region, and may lie beside
/// it.
///
///   low = 0, high = 2, sources 1 5:     . s > h . s > h    (s hears itself)
struct Span {
  bool alongRows = true;
  std::vector<Progression> lines; ///< rows if it goes along rows, else columns
  Progression sources;
  int64_t low = 0, high = 0;
  RowSet among;        ///< only these hear, if there are any
  bool others = false; ///< the source does not hear itself
  bool exits = false;  ///< nobody hears: at `high` words are off the mesh

  bool hears(int64_t source, int64_t position) const {
    return !exits && position >= source + low && position <= source + high &&
           (among.groups == 0 || among.contains(position)) &&
           !(others && position == source);
  }
  /// How many PEs hear a source.
  int64_t hearers(int64_t source) const {
    if (exits)
      return 0;
    return among.groups == 0
               ? high - low + 1
               : among.count() - (others && among.contains(source));
  }
};

/// What color number `slot` of a stream means, which has `slots` of them.
/// Nothing for launches, and for transfers that do not go straight.
std::vector<Span> spansOf(const RoutingProblem &problem,
                          const StreamRequest &request, int64_t slot,
                          int64_t slots);

/// Where words of a stream are at their sources: on the ramp, or off the mesh.
Port entryOf(const StreamRequest &request);

/// The sources, destinations and exits of a stream, as rectangles of the mesh.
struct Meaning {
  Port entry = Port::Ramp; // of words at their sources
  std::vector<Rect> sources, destinations;
  std::vector<Rect> exits; // PEs that send off the mesh, to the east
};

/// The meaning of a stream that is not searched.
Meaning meaningOf(const RoutingProblem &problem, const StreamRequest &request,
                  int64_t slot, int64_t slots);

/// The PEs of the mesh that hear row `row` of a transfer: those of runs of
/// rows, north to south. None for a row without tokens.
std::vector<Rect> heardBy(const RoutingProblem &problem,
                          const StreamRequest &transfer, int64_t row);
/// The column of the mesh from which the rows of a transfer are sent.
int64_t senderColumn(const RoutingProblem &problem,
                     const StreamRequest &transfer);

/// The ports by which words may arrive at a PE of the pattern, from another PE
/// or off the mesh. No port and its opposite, but where each column has one
/// source: then the PEs north of it hear the south, the others the north. None
/// for ways that are searched, which may turn anywhere.
uint8_t arrivals(const RoutingProblem &problem, const StreamRequest &request);

} // namespace wsec

#endif // WSEC_COMPILER_ROUTE_PATTERNSEMANTICS_H
