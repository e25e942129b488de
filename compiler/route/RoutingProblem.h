// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which router setting every PE has for which color. Plain C++: no MLIR here.

#ifndef WSEC_COMPILER_ROUTE_ROUTINGPROBLEM_H
#define WSEC_COMPILER_ROUTE_ROUTINGPROBLEM_H

#include "compiler/machine/TokenRows.h"
#include "dialects/fabric/StreamPattern.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace wsec {

using fabric::Port;
using fabric::Progression;
using fabric::Rect;
using fabric::RowSet;
using fabric::StreamPattern;

/// Router setting in every PE of a rectangle, for one color of a stream.
struct RouteRule {
  int64_t color = 0;
  Rect rect;
  Port receive = Port::Ramp;
  uint8_t transmit = 0;
};

/// One stream that kernels of a region ask for. `rows` is empty for patterns
/// that take none; of a transfer to a region with more or fewer rows it has
/// `groups` batch elements of `pitch` = `used` tokens, see TokenRows. `region`
/// and `target` index the regions of the problem; `target` is of a transfer.
struct StreamRequest {
  std::string name;
  StreamPattern pattern;
  RowSet rows;
  size_t region = 0, target = 0;
};

/// A channel enters or leaves at `row`. West channels serve the columns
/// [begin, end), east channels carry the rows [begin, end); all of the region.
struct RouteChannel {
  int64_t row = 0, begin = 0, end = 0;
};

/// A rectangle of PEs with its north-west corner at (x, y) of the mesh, and the
/// channels of the mesh whose rows it has.
struct RouteRegion {
  int64_t x = 0, y = 0;
  int64_t width = 0, height = 0;
  std::vector<RouteChannel> west, east;
  std::string name = {};
};

/// The exits of columns: east channels in the last of `rows` or south of it,
/// from the north, and the columns [begin, end) of the region that each has.
/// None without such channels; with few columns some have none.
std::vector<RouteChannel> bandsOf(const RouteRegion &region,
                                  const RowSet &rows);
/// East channels on which words of a stream leave the mesh: rows of the region,
/// and the rows (`out_exit`) or columns (`out_band`, `out_half`) whose words
/// they are.
std::vector<RouteChannel> exitsOf(const RouteRegion &region,
                                  const StreamRequest &stream);

/// `colors` has one entry per color of the pattern; rules name one of them.
struct RoutedStream {
  std::vector<int64_t> colors;
  std::vector<RouteRule> rules;
};
struct Routing {
  std::vector<RoutedStream> streams; // one per request
};

/// A 4x3 mesh, one channel at row 1, tokens in rows 0 and 1, stream `column`:
///
///   row 0 (tokens)   S -> RAMP                   4 rules of full width in a
///   row 1 (head)     RAMP -> NORTH, RAMP         mesh of any width; row 2
///   row 2            (no rule)                   needs nothing
///
/// The configuration is static: a PE has one setting per color from start to
/// end, so streams share a color only where they have no PE in common. Rules
/// have coordinates of the mesh, all else those of the stream's region.
class RoutingProblem {
public:
  int64_t meshWidth = 0, meshHeight = 0;
  int64_t colors = 0; // that a program may use: 0 .. colors-1
  /// The regions that have kernels; no two of them have a PE in common.
  std::vector<RouteRegion> regions;
  std::vector<StreamRequest> streams;
  /// PEs that no word passes, as rectangles without steps.
  std::vector<Rect> keepOuts;
  /// PEs that each search for ways may look at before it gives up.
  int64_t searchSteps = int64_t(1) << 26;
  /// (a, b): some PE forwards what it receives on a stream of pattern a to one
  /// of pattern b and so stops taking a while b is blocked.
  std::vector<std::pair<StreamPattern, StreamPattern>> relays;

  /// Empty if the input makes sense, else what is wrong with it.
  std::string check() const;

  /// False if the pattern would connect nothing in its region (neighbour links
  /// of a single column, a cast to oneself): such a stream is not opened.
  bool connects(const StreamRequest &stream) const;

  /// Whether the ways of its words have to be searched for: it is a transfer to
  /// other rows of the mesh. Everything else goes straight where it can.
  bool isSearched(const StreamRequest &stream) const;

  /// How rows of both regions of a transfer hold its tokens: as many as there
  /// are rows if those are as many, so that row i is row i of the other.
  std::pair<TokenRows, TokenRows> rowsOf(const StreamRequest &transfer) const;
  /// The colors that a transfer needs at least: rows that meet in one of the
  /// other region have different ones.
  int64_t leastColors(const StreamRequest &transfer) const;

  /// Empty if `routing` is legal, else the first rule it breaks:
  ///   R1 every stream has the colors its pattern needs, all usable, distinct
  ///   R2 rules lie in the mesh, use the stream's colors, transmit somewhere
  ///   R3 no PE has two settings of one color
  ///   R4 every hop arrives where the neighbour receives from that side, and
  ///      nothing leaves the mesh but on the exits of the east channels
  ///   R5 the words of each source reach exactly the PEs the pattern means
  ///   R6 no setting is left over: all are fed by a source (so no loop)
  ///   R7 no cycle of links and relays, so that no set of full links can wait
  ///      for one another
  ///   R8 no PE of a keep-out has a setting
  std::string verify(const Routing &routing) const;
};

} // namespace wsec

#endif // WSEC_COMPILER_ROUTE_ROUTINGPROBLEM_H
