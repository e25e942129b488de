// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/wavelet/WaveletEngine.h"

#include "runtime/engine/HostCopies.h"
#include "runtime/engine/Rectangles.h"
#include "runtime/engine/VectorKernels.h"
#include "runtime/wavelet/HostEdges.h"
#include "runtime/wavelet/Processor.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>

namespace wsec::runtime {

using namespace wavelet;

namespace {

/// One run of a program.
class Run : public Inspection {
public:
  Run(const program::Program &program, const std::vector<ClassCode> &classes,
      const EngineOptions &options, HostPort &host)
      : program(program), classes(classes), options(options), host(host),
        ledger(program, this->options),
        east(program, host, ledger.launches, options.observer),
        fabric(program, agenda, east), west(program, host, fabric, agenda) {
    fabric.observer = options.observer;
    processorOf.assign(size_t(fabric.width()) * size_t(fabric.height()), -1);
    for (int pe = 0; pe < int(processorOf.size()); ++pe)
      addProcessor(pe);
  }

  RunResult run() {
    const bool stopped = observeRun(options.observer, *this, [&] {
      if (launchedByRemoteCalls(program))
        runCalls();
      else
        runCommands();
      east.finish();
      checkAllRead();
    });
    RunResult result = this->result();
    result.stopped = stopped;
    return result;
  }

  uint64_t hops() const { return fabric.hops(); }

private:
  void addProcessor(int pe) {
    const int index = fabric.classOf(pe);
    const ClassCode *code = index < 0 ? nullptr : &classes[size_t(index)];
    if (!launchedByRemoteCalls(program) && (!code || code->routines.empty())) {
      fabric.ignore(pe, program.command_color());
      return;
    }
    if (!code)
      return;
    processorOf[size_t(pe)] = int(processors.size());
    processors.push_back(std::make_unique<Processor>(program, *code, fabric,
                                                     agenda, ledger, pe));
  }

  /// Everybody who is due, until nobody is.
  void settle() {
    std::vector<uint32_t> due;
    while (agenda.advance(due)) {
      if (options.observer &&
          double(agenda.now()) > options.observer->untilCycle)
        throw StopRun{};
      for (uint32_t entry : due) {
        const uint32_t index = indexOf(entry);
        switch (partyOf(entry)) {
        case Party::Router:
          fabric.wake(index);
          break;
        case Party::Edge:
          west.step(int(index));
          break;
        case Party::Processor:
          if (processorOf[index] >= 0)
            processors[size_t(processorOf[index])]->step();
          break;
        }
      }
      fabric.step();
    }
  }

  void runCommands() {
    const size_t launches = program.launches()->size();
    if (launches > 0) {
      const RouterTables router(program);
      const int color = program.command_color();
      requireCommands(program, router,
                      router.trace(color, {0, 0}, program::Port::West),
                      [&](int pe) { return processorOf[size_t(pe)] >= 0; });
      for (const auto &processor : processors)
        processor->expectCommands(
            options.observer ? std::min(launches, options.observer->untilLaunch)
                             : launches);
    }
    settle();
    stopBefore(launches);
    checkAtRest();
  }

  /// Stops if the observer wants to see the state before some launch of the
  /// first `launches`.
  void stopBefore(size_t launches) const {
    if (options.observer && options.observer->untilLaunch < launches)
      throw StopRun{};
  }

  /// A launch begins when the one before has come to rest everywhere.
  void runCalls() {
    for (uint32_t l = 0; l < program.launches()->size(); ++l) {
      stopBefore(l + 1);
      const uint32_t id = program.launches()->Get(l)->routine();
      Cycle when = agenda.now() + 1;
      for (const auto &processor : processors)
        when = std::max(when, Cycle(std::ceil(processor->restedAt())));
      copy(l);
      ledger.currentLaunch = l;
      for (const auto &processor : processors)
        if (const Body *body = processor->classCode().routine(id))
          processor->call(l, *body, when);
      settle();
      checkAtRest();
    }
    copy(program.launches()->size());
  }

  /// The host's copies before a launch.
  void copy(uint32_t launch) {
    auto sram = [&](Coordinate pe, int64_t address, int64_t bytes,
                    bool in) -> uint8_t * {
      Memory &memory =
          processors[size_t(processorOf[size_t(fabric.index(pe))])]->sram();
      if (in)
        memory.mark(address, bytes);
      return memory.initialised(address, bytes) ? memory.at(address) : nullptr;
    };
    auto classOf = [&](Coordinate pe) -> const ClassCode * {
      const int at = processorOf[size_t(fabric.index(pe))];
      return at < 0 ? nullptr : &processors[size_t(at)]->classCode();
    };
    copyBeforeLaunch(program, launch, host, classOf, sram);
  }

  void checkAtRest() const {
    WaitGraph graph(program, [&](Coordinate pe, int color) {
      return fabric.routeNow(fabric.index(pe), color);
    });
    for (const auto &processor : processors)
      processor->addTo(graph);
    if (!graph.empty() ||
        ledger.currentLaunch + 1 >= program.launches()->size())
      east.addTo(graph);
    if (graph.empty())
      return;
    fabric.addTo(graph);
    throw Error(ErrorClass::Deadlock, "nothing can go on:" + graph.describe());
  }

  void checkAllRead() const {
    std::map<int, std::vector<Coordinate>> unread;
    for (const auto &[pe, color] : fabric.undelivered())
      unread[color].push_back(fabric.coordinate(pe));
    for (const auto &[pe, color] : fabric.inTransit())
      unread[color].push_back(fabric.coordinate(pe));
    std::string message;
    for (auto &[color, pes] : unread)
      message += "\n  color " + std::to_string(color) + " at " +
                 describeRectangles(std::move(pes));
    for (const std::string &text : east.surplus())
      message += "\n  " + text;
    if (!message.empty())
      throw Error(ErrorClass::UnreadTraffic,
                  "words are left that nobody read:" + message);
  }

  // ---- for observers

  const Processor *at(int pe) const {
    const int index = processorOf[size_t(pe)];
    return index < 0 ? nullptr : processors[size_t(index)].get();
  }
  double cycle() const override {
    return double(std::max<Cycle>(0, agenda.now()));
  }
  const ClassCode *code(int pe) const override {
    return at(pe) ? &at(pe)->classCode() : nullptr;
  }
  bool read(int pe, int64_t address, size_t bytes, void *into) const override {
    const Memory &memory = at(pe)->sram();
    if (!memory.initialised(address, int64_t(bytes)))
      return false;
    std::memcpy(into, memory.at(address), bytes);
    return true;
  }
  std::vector<std::string> threads(int pe) const override {
    return at(pe)->describeThreads();
  }
  std::vector<std::string> tasks(int pe) const override {
    return at(pe)->describeTasks();
  }
  std::vector<std::string> queues(int pe) const override {
    return fabric.describeQueues(pe);
  }

  RunResult result() const {
    RunResult result;
    ledger.launches.report(program, result);
    for (const ClassCode &code : classes)
      result.classes.push_back({code.name, 0, code.highWaterBytes});
    for (int pe = 0; pe < int(processorOf.size()); ++pe)
      if (fabric.classOf(pe) >= 0)
        ++result.classes[size_t(fabric.classOf(pe))].pes;
    result.hostWordsIn = west.delivered();
    result.hostWordsOut = east.stored();
    result.vectorInstructions = ledger.vectorInstructions;
    result.operations = ledger.operations;
    return result;
  }

  const program::Program &program;
  const std::vector<ClassCode> &classes;
  EngineOptions options;
  HostPort &host;
  Agenda agenda;
  Ledger ledger;
  EastLanes east;
  Fabric fabric;
  WestEdge west;
  std::vector<std::unique_ptr<Processor>> processors;
  std::vector<int> processorOf; ///< by PE; -1: no code
};

} // namespace

WaveletEngine::WaveletEngine(const program::Program &program,
                             EngineOptions options)
    : program(program), options(options) {
  if (!processorSupported())
    throw Error(ErrorClass::BadProgram,
                "the emulator needs a processor with AVX2 and FMA");
  for (uint32_t i = 0; i < program.classes()->size(); ++i)
    classes.push_back(decodeClass(program, i));
}

WaveletEngine::~WaveletEngine() = default;

RunResult WaveletEngine::run(HostPort &host) {
  Run run(program, classes, options, host);
  RunResult result = run.run();
  lastHops = run.hops();
  return result;
}

} // namespace wsec::runtime
