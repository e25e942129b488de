// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// When words flow between the store and the wafer, as predicted. Plain C++: no
// MLIR.

#ifndef WSEC_COMPILER_SCHEDULE_FLOWPROBLEM_H
#define WSEC_COMPILER_SCHEDULE_FLOWPROBLEM_H

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace wsec {

/// Cycles [begin, end) of a run.
struct CycleWindow {
  int64_t begin = 0, end = 0;
};

/// One launch, in cycles as its kernel predicts them.
struct LaunchCost {
  std::string name; // for reports, with its ONNX nodes
  double cycles = 0;
  double lead = 0; // before it begins: what a region waits for once
  /// Regions that take part, its own first. They run at the same time.
  std::vector<size_t> regions = {0};
};

/// Words of one launch on one color, through the channels of its region.
struct HostTransfer {
  size_t launch = 0;
  size_t stream = 0; // number of the color's stream
  bool in = true;    // to the wafer
  int64_t words = 0; // of the busiest channel
  /// When PEs take the first and the last, as shares of the launch.
  double firstUse = 0, lastUse = 1;
  /// Words that wait between the edge and the first PE that takes them.
  int64_t queue = 0;
  /// Transfers, to the store, of all that it reads there.
  std::vector<size_t> after;
};

struct TransferSlot {
  int64_t slot = 0; // the lowest goes first where several could
  CycleWindow window;
  int64_t ahead = 0;
};

struct FlowSchedule {
  std::vector<CycleWindow> launches;
  std::vector<TransferSlot> transfers;
};

/// Two launches of 100 cycles, words of both on one color, 4 of which may wait.
/// The second's last word enters when the fourth before it is used. A dot: a
/// channel has a word, the fabric no room for it.
///
///   launch      0 |-------100 cycles-------|1 |------100 cycles------|
///   transfer 0    |w.w.w.w.w.w.w.w.w|
///   transfer 1                      |wwww.....w.w.w.w.w.w.w.w|
class FlowProblem {
public:
  /// Until the store sends a first word.
  int64_t storeLatency = 0;
  std::vector<LaunchCost> launches;    // in the order in which they run
  std::vector<HostTransfer> transfers; // in the order of launches

  /// Empty if the input makes sense, else what is wrong with it.
  std::string check() const;

  /// Empty if `schedule` is legal, else the first rule it breaks:
  ///   T5 each transfer has a slot of its own, 0 to n-1; those of one stream
  ///      ascend in the order of launches
  ///   T6 words of one stream flow one after the other, in the order of
  ///      launches, and a window holds a cycle for each
  ///   T7 the store sends nothing before its latency, and no word of a tensor
  ///      before the wafer has sent all of it, and the latency is over
  ///   T8 a transfer ends in its launch; what enters before its launch are
  ///      `ahead` words, no more than the way holds; none leaves before it
  ///   T9 a launch begins as the last before it ends on its regions, once the
  ///      store has what it reads there, and is no shorter than its cost
  /// `about`: the launches that it concerns.
  std::string verify(const FlowSchedule &schedule,
                     std::vector<size_t> *about = nullptr) const;

private:
  using Launches = std::vector<size_t>;
  std::string verifySlots(const FlowSchedule &schedule, Launches &about) const;
  std::string verifyColors(const FlowSchedule &schedule, Launches &about) const;
  std::string verifyStore(const FlowSchedule &schedule, Launches &about) const;
  std::string verifyAhead(const FlowSchedule &schedule, Launches &about) const;
  std::string verifyLaunches(const FlowSchedule &schedule,
                             Launches &about) const;
};

} // namespace wsec

#endif // WSEC_COMPILER_SCHEDULE_FLOWPROBLEM_H
