// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One microthread of all PEs of a strip: an instruction at a time in each.
#ifndef RUNTIME_STRIPS_MICROTHREAD_H
#define RUNTIME_STRIPS_MICROTHREAD_H

#include "runtime/strips/InstructionRun.h"

#include <memory>
#include <vector>

namespace wsec::runtime {

/// Runs an instruction for the strip as a whole, or one for each of some
/// lanes, each at its own pace. Of the group of its strip, as its owner is.
class Microthread {
public:
  Microthread(World &world, Actor &owner, ActorGroup &strip);
  ~Microthread();

  /// Starts an instruction that was issued at `time` in lanes that are idle.
  void issue(std::unique_ptr<InstructionRun> run, double time);
  /// Whether all is done; if not, the owner is woken when it is.
  bool idle();
  /// When the last instruction was complete; only while idle.
  double finished() const { return latest; }
  /// Runs that wait, for the report of a deadlock.
  std::vector<const InstructionRun *> waiting() const;

private:
  class Worker;
  void complete(Worker &worker);

  World &world;
  Actor &owner;
  ActorGroup &group;
  std::vector<std::unique_ptr<Worker>> workers; ///< the strip's, each lane's
  size_t inWork = 0;                            ///< runs
  double latest = 0;
  bool ownerWaits = false;
};

} // namespace wsec::runtime

#endif // RUNTIME_STRIPS_MICROTHREAD_H
