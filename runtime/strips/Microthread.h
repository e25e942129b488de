// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One microthread of all PEs of a strip: runs what it was given in order.
#ifndef RUNTIME_STRIPS_MICROTHREAD_H
#define RUNTIME_STRIPS_MICROTHREAD_H

#include "runtime/strips/InstructionRun.h"

#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace wsec::runtime {

/// An instruction in all lanes (one run) or in some lanes (a run for each).
/// Instructions that all lanes do alike run for the strip as a whole; others
/// run lane by lane, each at its own pace, and the two kinds do not mix.
class Microthread {
public:
  Microthread(World &world, Actor &owner);
  ~Microthread();

  /// Adds an instruction issued at `time`.
  void issue(std::vector<std::unique_ptr<InstructionRun>> runs, double time);
  /// Whether all is done; if not, the owner is woken when it is.
  bool idle();
  /// When the last instruction was complete; only while idle.
  double finished() const { return latest; }
  /// Runs that wait, for the report of a deadlock.
  std::vector<const InstructionRun *> waiting() const;

private:
  class Worker;
  struct Entry {
    double issued;
    std::vector<std::unique_ptr<InstructionRun>> runs;
    bool wholeStrip() const { return runs[0]->lane() < 0; }
  };
  void dispatch(Entry entry);
  void complete(Worker &worker);

  World &world;
  Actor &owner;
  mutable std::mutex lock;
  std::unique_ptr<Worker> strip;
  std::map<int, std::unique_ptr<Worker>> lanes;
  std::deque<Entry> backlog;
  bool stripMode = true; ///< kind of what is in work
  size_t inWork = 0;     ///< runs
  double latest = 0, stripFinished = 0;
  bool ownerWaits = false;
};

} // namespace wsec::runtime

#endif // RUNTIME_STRIPS_MICROTHREAD_H
