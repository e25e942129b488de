// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The edges of the mesh: lanes that bring command wavelets and the host's words
// in at the west, and take words out at the east.
#ifndef RUNTIME_WAVELET_HOSTEDGES_H
#define RUNTIME_WAVELET_HOSTEDGES_H

#include "runtime/emulator/HostPort.h"
#include "runtime/wavelet/Processor.h"

#include <map>
#include <string>
#include <vector>

namespace wsec::runtime::wavelet {

/// A lane of one host stream, in the order of the launches that list it.
struct LaneUse {
  size_t launch;
  uint32_t stream, lane;
  uint64_t words;
};

/// All uses of the lanes of one direction, by row and color.
using LaneUses = std::map<std::pair<int, int>, std::vector<LaneUse>>;
/// Throws BadProgram if two launches list one stream.
LaneUses laneUses(const program::Program &program, HostPort &host,
                  program::Direction direction);

/// Every row has one link into the mesh: a word per cycle, the colors that
/// have one taking turns.
class WestEdge {
public:
  WestEdge(const program::Program &program, HostPort &host, Fabric &fabric,
           Agenda &agenda);

  /// A row is due in the agenda.
  void step(int row);
  uint64_t delivered() const { return words; }

private:
  /// What enters on one color.
  struct Lane {
    int color;
    std::vector<LaneUse> uses; ///< none: the commands
    size_t use = 0;
    uint64_t sent = 0; ///< of this use, or all commands
    WordView view;
    size_t next = 0; ///< of the view
    Cycle from = 0;  ///< the first word is there
  };
  struct Row {
    std::vector<Lane> lanes;
    size_t first = 0; ///< lane that is asked first
    Cycle stepped = -1;
  };
  bool hasWord(Lane &lane);
  void fetch(Lane &lane);
  Wavelet take(Lane &lane, Cycle now);

  const program::Program &program;
  HostPort &host;
  Fabric &fabric;
  Agenda &agenda;
  std::vector<Row> rows;
  uint64_t words = 0;
};

/// Gathers what leaves and hands it to the host.
class EastLanes : public EastEdge {
public:
  EastLanes(const program::Program &program, HostPort &host, Ledger &ledger);

  void leave(int row, int color, const Wavelet &wavelet) override;
  /// Hands over what is left.
  void finish();
  uint64_t stored() const { return words; }
  /// Lanes that lack words, for the report of a deadlock.
  std::vector<std::string> waits() const;
  /// Lanes with words that nobody asked for, likewise.
  std::vector<std::string> surplus() const;

private:
  struct Lane {
    std::vector<LaneUse> uses;
    size_t use = 0;
    uint64_t taken = 0; ///< of this use
    uint64_t tooMany = 0;
    std::vector<float> waiting;
  };
  void flush(Lane &lane);
  void skipComplete(Lane &lane);

  const program::Program &program;
  HostPort &host;
  Ledger &ledger;
  std::map<std::pair<int, int>, Lane> lanes; ///< by row and color
  uint64_t words = 0;
};

} // namespace wsec::runtime::wavelet

#endif // RUNTIME_WAVELET_HOSTEDGES_H
