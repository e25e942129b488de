// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One PE: a main thread that runs routines and tasks, and microthreads. It is
// advanced by whole instructions, in the order of simulated time.
#ifndef RUNTIME_TASKS_PROCESSOR_H
#define RUNTIME_TASKS_PROCESSOR_H

#include "runtime/emulator/Emulator.h"
#include "runtime/tasks/Network.h"
#include "runtime/tasks/VectorRun.h"

#include <array>
#include <memory>
#include <string>
#include <vector>

namespace wsec::runtime::tasks {

/// What all PEs of a run share and count together.
struct Wafer {
  Wafer(const program::Program &program, const std::vector<ClassCode> &classes,
        const std::vector<int> &classOf, const EmulatorOptions &options);

  /// Takes work off what the host allows.
  void spend(uint64_t work) {
    spent += work;
    if (spent > limit)
      failWorkLimit();
  }
  [[noreturn]] void failWorkLimit() const;
  void noteActive(size_t launch, Time time) {
    LaunchTime &entry = launches[launch];
    entry.start = std::min(entry.start, time);
    entry.end = std::max(entry.end, time);
  }
  std::string describeLaunch(size_t launch) const;

  const program::Program &program;
  const program::Machine &machine;
  const EmulatorOptions &options;
  Agenda agenda;
  Network network;
  std::vector<LaunchTime> launches;
  size_t currentLaunch = 0;
  uint64_t vectorInstructions = 0, operations = 0, spent = 0, limit;
  std::vector<uint32_t> sent; ///< scratch
  std::vector<std::unique_ptr<VectorRun>> spare;
};

class Processor {
public:
  /// `pe` has the code of `code`.
  void create(Wafer &wafer, const ClassCode &code, int pe);
  bool exists() const { return code != nullptr; }
  const ClassCode &classCode() const { return *code; }

  /// A remote call.
  void call(Wafer &wafer, const Body &routine, Time when);

  // Events.
  void resume(Wafer &wafer);
  void arrived(Wafer &wafer, int color);
  void completed(Wafer &wafer, int thread);
  void released(Wafer &wafer, int thread);

  Memory memory;
  /// When it last did anything.
  Time restedAt() const { return rest; }
  /// What it waits for, in words; empty: at rest.
  std::vector<std::string> waits(const Wafer &wafer) const;
  /// What threads are at, and pending and blocked tasks, in words.
  std::vector<std::string> describeThreads(const Wafer &wafer) const;
  std::vector<std::string> describeTasks() const;

private:
  static constexpr int mainThread = 0, threadCount = 9;

  /// The instruction a thread runs. Thread 0 is the main thread, microthread i
  /// is thread i + 1.
  struct Thread {
    std::unique_ptr<VectorRun> run;
    size_t launch = 0;
    Time nextStep = 0; ///< earliest time of the next step; the end, at the end
    bool draining = false; ///< all steps are taken, words wait for room
    bool over = false;     ///< ends at `nextStep`
    Time free = 0;         ///< when the last instruction ended
    Time begun = 0, waitsToSend = 0; ///< for the observer
    std::vector<std::pair<std::unique_ptr<VectorRun>, Time>> queue;
  };
  struct Frame {
    const Body *body;
    uint32_t next;
    bool loop;
    int64_t iterations;
  };
  struct TaskState {
    bool pending, blocked;
    Time activated;
  };
  /// A color that the PE receives or sends.
  struct Port {
    int color;
    Outlet *outlet; ///< null: nothing has come yet
    int64_t inlet;  ///< -1: nothing was sent
  };
  struct Candidate {
    int task = -1;
    Time since = 0;
    Outlet *outlet = nullptr;
  };

  Bindings bindings() const {
    return {scalars.data(), loops.data(), locals.data()};
  }
  Thread &thread(int index);
  Port &port(Wafer &wafer, int color);

  // The main thread.
  void runMain(Wafer &wafer);
  bool statement(Wafer &wafer);
  void leaveBody(Wafer &wafer);
  bool awaits(Wafer &wafer);
  void enter(Wafer &wafer, const Body &body, Time since, int task);
  void startWork(Wafer &wafer);
  Candidate nextTask(Wafer &wafer, Time &later);
  int controlTask(Wafer &wafer, int task) const;
  bool receivedByInstruction(int color) const;
  bool endedByControl(int color) const;
  void storeWord(int buffer, uint32_t bits);
  void sleepUntil(Wafer &wafer, Time when);

  bool execute(Wafer &wafer, const InstructionCode &instruction);
  bool execute(Wafer &wafer, const LoopCode &loop);
  bool execute(Wafer &wafer, const AwaitCode &await);
  bool execute(Wafer &wafer, const ComputeCode &compute);
  bool execute(Wafer &wafer, const LoadCode &load);
  bool execute(Wafer &wafer, const StoreCode &store);
  bool execute(Wafer &wafer, const IfCode &branch);
  bool execute(Wafer &wafer, const SetTaskCode &set);
  bool execute(Wafer &wafer, const SendControlCode &control);
  bool execute(Wafer &wafer, const ReadClockCode &clock);
  bool execute(Wafer &wafer, const SetRouteCode &route);
  int64_t elementAddress(Wafer &wafer, int buffer, int64_t offset) const;
  /// Whether simulated time is as far as the main thread.
  bool present(Wafer &wafer);

  // Instructions.
  void issue(Wafer &wafer, const InstructionCode &instruction,
             std::unique_ptr<VectorRun> run);
  void checkShared(Wafer &wafer, const VectorRun &run, int index) const;
  void begin(Wafer &wafer, int index, std::unique_ptr<VectorRun> run,
             Time when);
  void progress(Wafer &wafer, int index);
  bool pull(Wafer &wafer, VectorRun &run, int source, Time &first, Time &last);
  void sendWords(Wafer &wafer, VectorRun &run, Time first, Time last);
  bool endedBy(Wafer &wafer, Thread &thread);
  void finish(Wafer &wafer, int index);
  void activate(int task, Time when);
  ObservedPes observed() const { return {&pe, 1}; }

  std::string where(const Wafer &wafer, size_t launch) const;
  [[noreturn]] void fail(const Wafer &wafer, ErrorClass errorClass,
                         const std::string &what) const;
  [[noreturn]] void undecided(const Wafer &wafer,
                              const std::string &what) const;

  const ClassCode *code = nullptr;
  int pe = 0;
  Time time = 0; ///< of the main thread
  Time rest = 0;
  Time wakes = never; ///< a Resume event is on the agenda
  uint16_t awaited = 0;
  bool controlWaits = false; ///< a control wavelet waits for room
  int controlColor = 0;
  uint32_t loopDepth = 0;
  std::vector<Frame> frames;
  std::vector<int64_t> scalars, loops;
  std::vector<int32_t> locals;
  std::vector<TaskState> tasks;
  std::vector<Port> ports;
  Thread main;
  std::unique_ptr<std::array<Thread, threadCount - 1>> micro;
};

} // namespace wsec::runtime::tasks

#endif // RUNTIME_TASKS_PROCESSOR_H
