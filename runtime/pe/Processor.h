// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One PE: a main thread that runs routines and tasks, microthreads, and the
// datapath they share. It is looked at in the cycles it asked for.
#ifndef RUNTIME_PE_PROCESSOR_H
#define RUNTIME_PE_PROCESSOR_H

#include "runtime/pe/Wafer.h"
#include "runtime/pe/Wait.h"

#include <array>
#include <memory>
#include <string>
#include <vector>

namespace wsec::runtime::pe {

class Processor {
public:
  /// `pe` has the code of `code`.
  void create(Wafer &wafer, const ClassCode &code, int pe);
  bool exists() const { return code != nullptr; }
  const ClassCode &classCode() const { return *code; }

  /// The host calls a launch.
  void call(Wafer &wafer, size_t called, Cycle when);
  /// So many launch wavelets are going to come.
  void expectCommands(size_t launches);
  /// The PE is due in the current cycle.
  void step(Wafer &wafer);

  Memory memory;
  /// When it last did anything, and when its last result is in memory.
  Time actedAt() const { return acted; }
  Time restedAt() const { return rest; }
  /// What its threads wait for.
  std::vector<PeWait> waits(const Wafer &wafer) const;
  struct BlockedTask {
    const TaskCode &task;
    bool pending;
  };
  std::vector<BlockedTask> blockedTasks() const;
  /// What threads are at, and pending and blocked tasks, in words.
  std::vector<std::string> describeThreads(const Wafer &wafer) const;
  std::vector<std::string> describeTasks() const;

private:
  static constexpr int mainThread = 0, threadCount = 9;

  /// What keeps a step from being taken.
  struct Wait {
    enum Kind : uint8_t { Nothing, Word, Room, Until } kind = Nothing;
    int color = 0;
    Cycle until = 0;
    Mailbox *inbox = nullptr; ///< of Word
  };
  /// The instruction a thread runs. Thread 0 is the main thread, microthread i
  /// is thread i + 1.
  struct Thread {
    std::unique_ptr<VectorRun> run; ///< null: idle
    std::array<Mailbox *, 2> in{};
    Mailbox *out = nullptr;
    size_t launch = 0;
    Time ready = 0; ///< when the next step may begin; at the end, when done
    Time free = 0;  ///< when the last instruction was done
    Time begun = 0, waitsToSend = 0; ///< for the observer
    bool held = false;   ///< the fabric kept the next step from being taken
    bool closed = false; ///< no words of windows are left to drop
    Wait wait;
    Word control; ///< that it sends instead of elements

    bool finished() const { return closed && run->done() == run->steps(); }
  };
  /// Computes one element after the other for the threads in turns. A step of
  /// one thread may come in while that of another lasts, and makes it as much
  /// longer, but then not again for as long.
  struct Datapath {
    int8_t holder = -1, last = 0;
    Time until = 0;     ///< the holder's step ends
    Time nextSteal = 0; ///< when another step may come in
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
  /// What could start, since when, and the queue with the word that starts it.
  struct Candidate {
    int task = -1; ///< else a launch, or nothing
    Time since = 0;
    Mailbox *inbox = nullptr;
    bool follows = false; ///< the launch, without a word
    explicit operator bool() const { return task >= 0 || inbox || follows; }
  };

  Bindings bindings() const {
    return {scalars.data(), loops.data(), locals.data()};
  }
  Thread &thread(int index);
  /// Whether no microthread runs an instruction.
  bool aloneOnDatapath() const { return running >> 1 == 0; }

  // What runs when (Processor.cpp).
  void sleep(Wafer &wafer, Cycle now);
  void sleepOn(Wafer &wafer, Thread &thread, Cycle now);
  void wakeAt(Wafer &wafer, Cycle when);
  void wakeAt(Wafer &wafer, Time when);
  void enter(Wafer &wafer, const Body &body, Time since, int task);
  bool startWork(Wafer &wafer, Cycle now);
  void startCommand(Wafer &wafer, const Candidate &next);
  bool takeArgument(Wafer &wafer, Cycle now);
  const RoutineCode *routine(const Wafer &wafer, size_t called) const;
  void awaitWord(Wafer &wafer, int color, Cycle now);
  Candidate nextWork(Wafer &wafer, Cycle now) const;
  void activate(int task, Time when);
  int controlTask(const Wafer &wafer, int task) const;
  bool receivedByInstruction(int color) const;
  bool endedByControl(int color) const;
  void awaitWork(Wafer &wafer, Cycle now);
  void storeWord(const Wafer &wafer, int buffer, uint32_t bits);

  // The main thread (Statements.cpp).
  bool runMain(Wafer &wafer, Cycle now);
  void statement(Wafer &wafer);
  void leaveBody(Wafer &wafer);
  bool awaits();
  void execute(Wafer &wafer, const InstructionCode &instruction);
  void execute(Wafer &wafer, const LoopCode &loop);
  void execute(Wafer &wafer, const AwaitCode &await);
  void execute(Wafer &wafer, const ComputeCode &compute);
  void execute(Wafer &wafer, const LoadCode &load);
  void execute(Wafer &wafer, const StoreCode &store);
  void execute(Wafer &wafer, const IfCode &branch);
  void execute(Wafer &wafer, const BreakCode &leave);
  void execute(Wafer &wafer, const SetTaskCode &set);
  void execute(Wafer &wafer, const SendControlCode &control);
  void execute(Wafer &wafer, const ReadClockCode &clock);
  void execute(Wafer &wafer, const SetRouteCode &route);
  Word controlWord(const SendControlCode &send) const;
  bool sendPendingControl(Wafer &wafer, Cycle now);
  int64_t elementAddress(Wafer &wafer, int buffer, int64_t offset, bool writes,
                         const char *who) const;

  // Instructions (Threads.cpp).
  bool awaitsFree(const Wafer &wafer, const InstructionCode &instruction);
  void issue(Wafer &wafer, const InstructionCode &instruction);
  void begin(Wafer &wafer, int index, std::unique_ptr<VectorRun> run);
  void requireNoRace(const Wafer &wafer, const Elements &touched, bool writes,
                     int buffer, const InstructionCode *instruction,
                     const char *who = "") const;
  void requireNoRace(const Wafer &wafer, int color, bool sends,
                     const std::string &who) const;
  void requireNoRace(const Wafer &wafer, const VectorRun &run) const;
  void requireResources(const Wafer &wafer, const VectorRun *next,
                        int controlColor) const;
  Time settled(Wafer &wafer, const InstructionCode &code, Time when);
  bool complete(Wafer &wafer, int index, Cycle now);
  bool stepThreads(Wafer &wafer, Cycle now);
  bool stepThread(Wafer &wafer, int index, Cycle now);
  void drop(Wafer &wafer, Thread &thread, int source);
  bool dropped(Thread &thread);
  bool prepare(Wafer &wafer, Thread &thread, Cycle now);
  bool awaitWord(Thread &thread, int source, Cycle now);
  bool grant(int index, Cycle now);
  void takeStep(Wafer &wafer, Thread &thread, Cycle now);
  void takeWords(Wafer &wafer, Thread &thread);
  void send(Wafer &wafer, const Thread &thread, uint32_t payload, Cycle now);

  void observe(Wafer &wafer, const Thread &thread) const;
  ObservedPes observed() const { return {&pe, 1}; }

  std::string where(const Wafer &wafer, size_t launch) const;
  [[noreturn]] void fail(const Wafer &wafer, ErrorClass errorClass,
                         const std::string &what) const;

  const ClassCode *code = nullptr;
  int pe = 0;
  size_t launch = 0, launchesLeft = 0;
  size_t nextLaunch = 0; ///< that comes, whether it starts anything here or not
  /// Words that follow a launch wavelet that has been taken, and what it starts
  /// here.
  size_t argumentsLeft = 0;
  const RoutineCode *started = nullptr;
  std::vector<int32_t> arguments;
  Time time = 0; ///< of the main thread
  Time acted = 0, rest = 0;
  Time results = 0;    ///< when the last of them is in memory
  Cycle wakes = never; ///< entered in the agenda
  Cycle stepped = -1;
  uint16_t awaited = 0;
  uint16_t running = 0;          ///< threads that run an instruction, a bit set
  std::unique_ptr<Word> control; ///< waits to be sent
  int controlColor = 0;
  bool hearsWords = false; ///< may start something
  uint32_t loopDepth = 0;
  Datapath datapath;
  std::vector<Frame> frames;
  std::vector<int64_t> scalars, loops;
  std::vector<int32_t> locals;
  std::vector<TaskState> tasks;
  Thread main;
  std::unique_ptr<std::array<Thread, threadCount - 1>> micro;
};

} // namespace wsec::runtime::pe

#endif // RUNTIME_PE_PROCESSOR_H
