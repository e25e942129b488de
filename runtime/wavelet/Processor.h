// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One PE: its main thread and microthreads, the datapath they share, its tasks.
#ifndef RUNTIME_WAVELET_PROCESSOR_H
#define RUNTIME_WAVELET_PROCESSOR_H

#include "runtime/engine/Launches.h"
#include "runtime/engine/MicrothreadUses.h"
#include "runtime/wavelet/VectorRun.h"

#include <array>
#include <deque>
#include <memory>
#include <vector>

namespace wsec::runtime::wavelet {

/// What all PEs of a run count and record together.
struct Ledger {
  Ledger(const program::Program &program, const EngineOptions &options);

  /// Takes work off what the host allows.
  void spend(uint64_t work);

  const program::Program &program;
  const EngineOptions &options;
  LaunchLog launches;
  size_t currentLaunch = 0; ///< of remote calls
  uint64_t vectorInstructions = 0, operations = 0, spent = 0;
};

/// The datapath computes one element after the other. It serves the threads in
/// turns: a step that a thread begins keeps it busy for its `work`; a step of
/// another thread may come in between, which makes the first one that much
/// longer, but not before the first has run for as long as it was held up
/// before. So a thread that computes vectors out of memory and a microthread
/// that relays words share it element by element. Set-up of an instruction and
/// overhead between vector calls leave it to others.
struct Datapath {
  int holder = -1;
  double until = 0;     ///< the holder's step ends
  double nextSteal = 0; ///< when another step may come in between
  int last = 0;         ///< thread that was served last
};

class Processor {
public:
  Processor(const program::Program &program, const ClassCode &code,
            Fabric &fabric, Agenda &agenda, Ledger &ledger, int pe);

  /// The PE is due in the agenda.
  void step();
  /// A remote call: enters the routine at `when`.
  void call(size_t launch, const Body &routine, Cycle when);
  /// So many command wavelets are going to come.
  void expectCommands(size_t launches);

  /// For copies of the host.
  Memory &sram() { return memory; }
  const Memory &sram() const { return memory; }
  const ClassCode &classCode() const { return code; }
  int index() const { return pe; }
  /// When it last came to rest.
  double restedAt() const { return rest; }
  /// Adds what it waits for, and its blocked tasks.
  void addTo(WaitGraph &graph) const;
  /// What threads are at, and pending and blocked tasks, in words.
  std::vector<std::string> describeThreads() const;
  std::vector<std::string> describeTasks() const;

private:
  static constexpr int microthreads = 8;
  /// The main thread, with its synchronous instruction, is the first.
  struct Thread {
    std::unique_ptr<VectorRun> run; ///< null: idle
    double ready = 0;  ///< when the next step may begin; at the end, when done
    double free = 0;   ///< when the last instruction was done
    bool held = false; ///< the fabric kept the next step from being taken
    VectorRun::Wait wait;
    // For the observer:
    double begun = 0, waitsToReceive = 0, waitsToSend = 0;
    Cycle waitsSince = -1;
    bool waitsForRoom = false;
    std::deque<std::pair<std::unique_ptr<VectorRun>, double>> queue;
  };
  /// A body in execution; the outermost is that of a routine or task.
  struct Frame {
    const Body *body;
    size_t next;
    int64_t iterations;
    bool loop;
  };
  struct TaskState {
    bool pending = false, blocked = false;
    double activated = 0;
  };
  /// When a task could start, and the color of the wavelet that starts it.
  struct Start {
    double since = 0;
    int color = -1;
  };

  // Threads and the datapath (Processor.cpp).
  bool stepThreads(Cycle now);
  bool stepThread(int thread, Cycle now);
  bool complete(int thread, Cycle now);
  void startNext(Thread &thread);
  void noteWait(Thread &thread, Cycle now);
  void report(const Thread &thread);
  ObservedPes observed() const { return {&pe, 1}; }
  void sleep(Cycle now);
  void wakeAt(Cycle when);
  void wakeAt(double when);
  void wakeForWord(int color);
  std::unique_ptr<VectorRun> freshRun();

  // What runs next (Tasks.cpp).
  bool nextWork(Cycle now);
  bool nextCommand(Cycle now);
  bool nextTask(Cycle now);
  int pendingTask(Cycle now, Start &start) const;
  int controlTask(const Wavelet &wavelet) const;
  bool receivedByInstruction(int color) const;
  bool endedByControl(int color) const;
  void activate(int task, double when);
  void enter(const Body &body, double since, int task);
  void endWork();
  void storeWord(int buffer, uint32_t bits);
  bool hasWork() const;
  void awaitWork();

  // What the code does (Statements.cpp).
  bool runMain(Cycle now);
  bool awaits();
  void statement();
  void leaveBody();
  void execute(const InstructionCode &instruction);
  void execute(const LoopCode &loop);
  void execute(const AwaitCode &await);
  void execute(const ComputeCode &compute);
  void execute(const LoadCode &load);
  void execute(const StoreCode &store);
  void execute(const IfCode &branch);
  void execute(const SetTaskCode &set);
  void execute(const SendControlCode &control);
  void execute(const ReadClockCode &clock);
  void execute(const SetRouteCode &route);
  bool sendPendingControl(Cycle now);
  void issue(const InstructionCode &instruction,
             std::unique_ptr<VectorRun> run);
  bool queuesMicrothreads() const;
  int64_t elementAddress(int buffer, int64_t offset) const;
  void checkPending(const VectorRun &run);
  std::string where() const;
  [[noreturn]] void refuse(const std::string &what) const;

  Bindings bindings() const {
    return {scalars.data(), loops.data(), locals.data()};
  }
  Place place() { return {program, machine, code, fabric, memory, pe}; }

  const program::Program &program;
  const program::Machine &machine;
  const ClassCode &code;
  Fabric &fabric;
  Agenda &agenda;
  Ledger &ledger;
  const int pe;
  const bool remoteCalls;
  Memory memory;
  std::vector<int64_t> scalars, loops;
  std::vector<int32_t> locals;

  // The main thread.
  double time = 0; ///< when its next statement begins
  size_t launch = 0;
  size_t commandsLeft = 0;
  std::vector<Frame> frames;
  int loopDepth = 0;
  unsigned awaited = 0;             ///< microthreads, a bit set
  std::unique_ptr<Wavelet> control; ///< that is to be sent
  int controlColor = 0;
  MicrothreadUses uses; ///< in programs with a command color
  std::vector<TaskState> tasks;
  double rest = 0;
  double results = 0; ///< when the last of them is in memory

  std::array<Thread, microthreads + 1> threads;
  Datapath datapath;
  std::vector<std::unique_ptr<VectorRun>> spare;
  Cycle nextWake; ///< that is entered in the agenda
  Cycle stepped = -1;
};

} // namespace wsec::runtime::wavelet

#endif // RUNTIME_WAVELET_PROCESSOR_H
