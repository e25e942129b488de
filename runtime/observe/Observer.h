// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the engines tell about a run while it goes on, and show where it ends.
// Without an observer an engine tests one pointer per event.
//
// Times are in cycles since the start of the run, PEs by index (y * width + x).
// Words are data words: neither command nor control wavelets.
#ifndef RUNTIME_OBSERVE_OBSERVER_H
#define RUNTIME_OBSERVE_OBSERVER_H

#include "runtime/program/program_generated.h"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

namespace wsec::runtime {

struct ClassCode;
struct InstructionCode;

/// PEs of one class that do the same at the same time.
using ObservedPes = std::span<const int>;

/// A vector instruction that is complete; numbers are of each PE.
struct ObservedInstruction {
  const InstructionCode &code;
  size_t launch = 0;
  double begin = 0; ///< its thread turns to it
  double end = 0;   ///< its last step is done, or its last word has room
  double busy = 0;  ///< set-up and steps
  double waitsToReceive = 0, waitsToSend = 0;
  uint64_t elements = 0;
};

/// The state of the wafer at one moment, PE by PE.
class Inspection {
public:
  virtual ~Inspection() = default;
  virtual double cycle() const = 0;
  /// Whether all PEs are shown at that cycle. The strips engine runs them
  /// one ahead of the other between launches.
  virtual bool simultaneous() const { return true; }
  /// Null: the PE has no code.
  virtual const ClassCode *code(int pe) const = 0;
  /// Copies bytes of the SRAM; false if some of them nobody has written.
  virtual bool read(int pe, int64_t address, size_t bytes,
                    void *into) const = 0;
  /// A line for each thread that is at work: at what, waiting for what.
  virtual std::vector<std::string> threads(int pe) const = 0;
  /// A line for each task that is pending or blocked.
  virtual std::vector<std::string> tasks(int pe) const = 0;
  /// A line for each queue of the PE and its router that holds words.
  virtual std::vector<std::string> queues(int pe) const = 0;
};

enum class RunEnd { Done, Stopped, Failed };

/// Thrown by an observer to end the run where it is.
struct StopRun {};

class Observer {
public:
  virtual ~Observer() = default;

  /// No PE enters this launch or a later one; all that comes before runs to
  /// its end.
  size_t untilLaunch = std::numeric_limits<size_t>::max();
  /// Nothing begins after this cycle. The strips engine has no such
  /// moment.
  double untilCycle = std::numeric_limits<double>::infinity();

  /// Once, before anything happens. The state may be read while the run lasts:
  /// of PEs, as they enter or leave.
  virtual void begin(const Inspection &) {}
  /// PEs enter the routine of a launch (task < 0) or a task of their class.
  virtual void enter(ObservedPes, size_t /*launch*/, int /*task*/,
                     double /*time*/) {}
  virtual void leave(ObservedPes, size_t /*launch*/, double /*time*/) {}
  virtual void instruction(ObservedPes, const ObservedInstruction &) {}
  /// Each of the PEs hands words to its router, or takes words off its ramp,
  /// between two times.
  virtual void sent(ObservedPes, size_t /*launch*/, int /*color*/,
                    uint64_t /*words*/, double /*first*/, double /*last*/) {}
  virtual void received(ObservedPes, int /*color*/, uint64_t /*words*/) {}
  /// Words leave a router through a port. The strips engine does not
  /// report it; there routes never change.
  virtual void passed(int /*pe*/, program::Port, int /*color*/,
                      uint64_t /*words*/, double /*first*/, double /*last*/) {}
  /// Words of a channel of a host stream enter or leave the mesh.
  virtual void hostWords(uint32_t /*stream*/, uint32_t /*channel*/,
                         uint64_t /*words*/, double /*first*/,
                         double /*last*/) {}
  /// Once, when the run is over, was stopped, or ends in an error.
  virtual void inspect(const Inspection &, RunEnd) {}
};

/// Runs `work` and shows the observer the state in which it ends. Returns
/// whether the observer stopped it.
template <class Work>
bool observeRun(Observer *observer, const Inspection &state, const Work &work) {
  bool stopped = false;
  if (observer)
    observer->begin(state);
  try {
    work();
  } catch (const StopRun &) {
    stopped = true;
  } catch (...) {
    if (observer)
      observer->inspect(state, RunEnd::Failed);
    throw;
  }
  if (observer)
    observer->inspect(state, stopped ? RunEnd::Stopped : RunEnd::Done);
  return stopped;
}

} // namespace wsec::runtime

#endif // RUNTIME_OBSERVE_OBSERVER_H
