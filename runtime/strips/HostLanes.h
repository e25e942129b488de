// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The edge of the wafer: lanes that bring the host's words in at the west and
// take words out at the east.
#ifndef RUNTIME_STRIPS_HOSTLANES_H
#define RUNTIME_STRIPS_HOSTLANES_H

#include "runtime/engine/EdgeLanes.h"
#include "runtime/strips/World.h"

#include <memory>
#include <vector>

namespace wsec::runtime {

/// Feeds the streams of one color that enter at one row, one after the other,
/// a word each cycle.
class InputLane : public Actor {
public:
  InputLane(World &world, HostPort &host, int color, int row);
  void run() override;
  bool done() const { return next == uses.size(); }
  std::string describe() const;

  std::vector<LaneUse> uses;
  uint64_t delivered = 0;

private:
  World &world;
  HostPort &host;
  int color, row;
  Links links;
  size_t next = 0;
  uint64_t deliveredOfUse = 0;
  double now;
};

/// Hands the words that leave at one row to the host.
class OutputLane : public Actor {
public:
  OutputLane(World &world, HostPort &host, int color, int row);
  void run() override;
  bool done() const { return next == uses.size(); }
  /// Adds what the lane lacks.
  void addTo(WaitGraph &graph) const;

  std::vector<LaneUse> uses;
  uint64_t stored = 0;

private:
  void record(const LaneUse &use, const Chunk &from,
              const WordView &view) const;

  World &world;
  HostPort &host;
  int color, row;
  Channel &channel;
  size_t next = 0;
  uint64_t storedOfUse = 0;
};

struct HostLanes {
  std::vector<std::unique_ptr<InputLane>> inputs;
  std::vector<std::unique_ptr<OutputLane>> outputs;
};

/// The lanes that the launches of the program use. Throws BadProgram if two
/// launches list one stream.
HostLanes makeHostLanes(World &world, HostPort &host);

} // namespace wsec::runtime

#endif // RUNTIME_STRIPS_HOSTLANES_H
