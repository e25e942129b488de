// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which shape each region has and where on the mesh it lies. Plain C++: no MLIR
// in here.

#ifndef WSEC_COMPILER_PLACEMENT_PLACEMENTPROBLEM_H
#define WSEC_COMPILER_PLACEMENT_PLACEMENTPROBLEM_H

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

namespace wsec {

/// The north-west PE of a region.
struct PlacedOrigin {
  int64_t x = 0, y = 0;
  bool operator==(const PlacedOrigin &other) const {
    return x == other.x && y == other.y;
  }
};

/// The PEs [x, x + columns) x [y, y + rows).
struct PlacedRegion {
  int64_t x = 0, y = 0;
  int64_t columns = 0, rows = 0;
  bool overlaps(const PlacedRegion &other) const {
    return x < other.x + other.columns && other.x < x + columns &&
           y < other.y + other.rows && other.y < y + rows;
  }
};

/// PEs that a region may have, and what it costs then: its time, say.
struct CandidateShape {
  int64_t columns = 0, rows = 0;
  double cost = 0;
  /// The part of `cost` that each channel in its rows takes: those of regions
  /// that have a channel in common add up.
  double stream = 0;
  bool operator==(const CandidateShape &other) const {
    return columns == other.columns && rows == other.rows &&
           cost == other.cost && stream == other.stream;
  }
};

/// One of a set of shapes, somewhere. What is pinned has its place already.
struct RegionRequest {
  std::string name;    ///< as messages call it: `region @a`
  size_t shapeSet = 0; ///< equal regions share one
  std::optional<PlacedOrigin> pin = std::nullopt;
  /// Regions of one group share out the channels of their rows.
  std::optional<size_t> group = std::nullopt;
};

/// A region wants its centre close to that of another one, to a PE, or to a
/// side of the mesh. With a weight of 1 it counts as the edge with most words.
struct NearWish {
  enum class Target { Region, Pe, North, South, East, West };
  size_t region = 0;
  Target target = Target::Region;
  size_t other = 0; ///< the other region
  PlacedOrigin pe = {};
  int64_t weight = 1;
  int64_t words = 0; ///< of data that flows there, in place of a weight
};

/// Data that flows from one region to another.
struct PlacementEdge {
  size_t from = 0, to = 0;
  int64_t words = 1;
};

/// What a solution is worth, the less the better, in this order.
struct PlacementCost {
  double score = 0;      ///< throughput, latency and wire, weighted
  double throughput = 0; ///< the largest cost of a region, or of a channel
  int64_t lost = 0;   ///< channels that regions do not have, though tall enough
  double latency = 0; ///< the largest sum of costs along edges
  int64_t wire = 0;   ///< distances x words of edges and wishes, in half hops
  int64_t hops = 0;   ///< of launches and words to each region, x its PEs
  int64_t load = 0;   ///< words across the line of the mesh that most cross
  auto key() const {
    return std::make_tuple(score, throughput, lost, latency, wire, hops, load);
  }
};

struct PlacedShape {
  size_t shape = 0; ///< of the set
  PlacedOrigin at = {};
  bool operator==(const PlacedShape &other) const {
    return shape == other.shape && at == other.at;
  }
};

struct Placement {
  std::vector<PlacedShape> regions; // one per request
};

/// A mesh of 32x32 PEs with I/O channels on rows 0, 8, 16 and 24 of both edges:
///
///   @a 32x16   +--------+ 0      @a has the channels of rows 0 and 8, @b that
///   @b 16x 8   | @a     | 8      of row 16. One row further south @b would
///              +----+---+ 16     have that of row 24, for its last row only;
///              | @b |            it begins at a channel, because a channel
///              +----+     24     takes out the rows from its own on.
///
/// Code, buffers and routes of a region stay in its PEs from load to end, so no
/// two have a PE in common.
///
/// The largest cost of a region bounds the throughput of a pipeline. A larger
/// rectangle costs a region less, and its neighbours more.
class PlacementProblem {
public:
  int64_t width = 0, height = 0;
  /// Rows of the mesh at which regions may begin, ascending; none: at any.
  std::vector<int64_t> channelRows;
  std::vector<std::vector<CandidateShape>> shapeSets;
  std::vector<RegionRequest> regions;
  std::vector<PlacedRegion> keepOuts; // may overlap
  std::vector<NearWish> wishes;
  std::vector<PlacementEdge> edges;
  /// Regions that may have PEs in one row: what enters and leaves those further
  /// east passes the others, in colors of its own. None: any number.
  std::optional<int64_t> mostAbreast;
  /// What each counts in the score; without any, the rest decides in its order.
  double throughputWeight = 0, latencyWeight = 0, wireWeight = 0;

  bool hasWeights() const {
    return throughputWeight > 0 || latencyWeight > 0 || wireWeight > 0;
  }

  /// A region with a set of its own.
  size_t add(const std::string &name, std::vector<CandidateShape> shapes,
             std::optional<PlacedOrigin> pin = std::nullopt);

  /// Empty if the input makes sense, else what is wrong with it.
  std::string check() const;

  /// Empty if `placement` is legal, else the first rule it breaks:
  ///   P1 every region has one of its shapes and a place, the one it is pinned
  ///      to if it is
  ///   P2 every region lies inside the mesh
  ///   P3 the first row of every region has an I/O channel
  ///   P4 regions are disjoint
  ///   P5 no region has a PE of a keep-out
  ///   P6 regions that share out channels begin at the same row, and have no
  ///      row of the mesh in common with those of another group
  ///   P7 no more regions have PEs in one row than may
  /// `about`: the regions that it concerns, and behind all of these the
  /// keep-outs, by number.
  std::string verify(const Placement &placement,
                     std::vector<size_t> *about = nullptr) const;

  PlacementCost cost(const Placement &placement) const;

  /// The most regions, `its` and those in `counted`, that have PEs in one row
  /// of `its`.
  int64_t abreast(const PlacedRegion &its, const Placement &placement,
                  const std::vector<bool> &counted) const;

  /// Whether two regions that lie there keep P6.
  bool mayShareRows(size_t i, const PlacedRegion &a, size_t j,
                    const PlacedRegion &b) const;

  /// Channels that a rectangle loses: no part of it has their rows, though it
  /// is tall enough to have them, or they have keep-outs in their rows; as many
  /// as there are for one that leads nowhere, with a keep-out at an edge.
  int64_t lostChannels(const PlacedRegion &pes) const;
  /// Hops of launches and words on their way to a rectangle, x its PEs. Words
  /// leave by the east edge: together, way in and way out are as long from
  /// everywhere.
  static int64_t hopsTo(const PlacedRegion &pes) {
    return (pes.x + pes.y) * pes.columns * pes.rows;
  }
  /// The largest cost of the regions in `counted`, or sum of what one channel
  /// brings.
  double throughput(const Placement &placement,
                    const std::vector<bool> &counted) const;
  /// How far a wish is from what it wants, in half hops.
  int64_t distance(const NearWish &wish, const Placement &placement) const;
  /// How far the centres lie apart, in half hops.
  static int64_t distance(const PlacedRegion &a, const PlacedRegion &b);
  /// Words that a wish counts as.
  int64_t wordsOf(const NearWish &wish) const;
  /// Words across the line between two columns, or two rows, that most words
  /// cross on a shortest way: of edges, and of wishes that have words.
  int64_t load(const Placement &placement) const;

  const std::vector<CandidateShape> &shapesOf(size_t region) const {
    return shapeSets[regions[region].shapeSet];
  }
  PlacedRegion cellsOf(const Placement &placement, size_t region) const {
    const PlacedShape &its = placement.regions[region];
    const CandidateShape &shape = shapesOf(region)[its.shape];
    return {its.at.x, its.at.y, shape.columns, shape.rows};
  }
  /// Whether a shape fits the mesh, keep-outs aside.
  bool fits(const CandidateShape &shape) const {
    return shape.columns <= width && shape.rows <= height;
  }
  /// The regions depth first along the edges, each after all that it reads,
  /// cycles aside.
  std::vector<size_t> flowOrder() const;
  /// PEs of the mesh that no keep-out has.
  int64_t freePes() const;
};

} // namespace wsec

#endif // WSEC_COMPILER_PLACEMENT_PLACEMENTPROBLEM_H
