// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What every engine is given beside the program, and what a run of it says.
#ifndef RUNTIME_ENGINE_ENGINE_H
#define RUNTIME_ENGINE_ENGINE_H

#include "runtime/engine/HostPort.h"
#include "runtime/pe/Launches.h"
#include "runtime/program/facts/EdgeForecast.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace wsec::runtime {

class Observer;

struct EngineOptions {
  /// Worker threads; 0 takes one per core. Neither values nor cycles depend
  /// on it.
  unsigned threads = 0;
  /// Words a queue may hold before its senders wait. A bound on memory, not
  /// on the machine: it grows when nothing else can run.
  size_t queueWords = size_t(1) << 18;
  /// Told the furthest launch that any PE has entered, for progress displays.
  std::atomic<uint64_t> *furthestLaunch = nullptr;
  /// Bytes waiting in all queues beyond which none grows: the run ends with
  /// HostLimit.
  size_t queueBytes = size_t(1) << 35;
  /// Elements to compute and statements to start, over all PEs, after which a
  /// run is refused with WorkLimit; 0: no limit. For programs nobody trusts.
  uint64_t workLimit = 0;
  /// Whether the first run is recorded, and later ones replay it: for a program
  /// that runs more than once. Programs whose control can depend on data always
  /// run as the first time.
  bool replay = false;
  /// Memory a recording may take; a run that needs more is not recorded, and
  /// all runs are like the first.
  size_t recordingBytes = size_t(1) << 30;
  /// Told what happens, or null. An observed run takes one thread and is not
  /// replayed.
  Observer *observer = nullptr;

  bool operator==(const EngineOptions &) const = default;
};

struct ClassMemory {
  std::string name;
  uint64_t pes = 0;
  uint64_t highWaterBytes = 0; ///< runtime, code and buffers, per PE
  /// Past the last byte that any of its PEs wrote; 0: the engine does not tell.
  uint64_t writtenBytes = 0;
};

struct RunResult {
  double cycles = 0;
  std::vector<LaunchTime> launches;
  /// By how much the launches of a kernel moved the end of the run; the sum
  /// over all kernels is `cycles`.
  std::vector<double> kernelCycles;
  std::vector<ClassMemory> classes;
  /// Rows that host streams enter, from the north; engines that do not know
  /// when words enter leave it empty.
  std::vector<EdgeUse> westEdge;
  uint64_t hostWordsIn = 0;
  uint64_t hostWordsOut = 0;
  uint64_t vectorInstructions = 0; ///< executed, summed over all PEs
  uint64_t operations = 0;         ///< elements computed, summed over all PEs
  /// Largest sum of bytes waiting in queues. The only number here that
  /// depends on scheduling.
  uint64_t peakQueueBytes = 0;
  uint64_t rememberedLaunches = 0; ///< done as equal ones before them were
  bool replayed = false; ///< the operations of the first run on new data
  bool stopped = false;  ///< by the observer; outputs are not complete
};

} // namespace wsec::runtime

#endif // RUNTIME_ENGINE_ENGINE_H
