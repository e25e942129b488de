// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/streams/StreamsEngine.h"

#include "runtime/engine/HostCopies.h"
#include "runtime/engine/Rectangles.h"
#include "runtime/engine/VectorKernels.h"
#include "runtime/streams/HostLanes.h"
#include "runtime/streams/Processor.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>

namespace wsec::runtime {

using namespace streams;

namespace {

/// One run of a program.
class Run : public Inspection {
public:
  Run(const program::Program &program, const std::vector<ClassCode> &classes,
      const std::vector<int> &classOf, const EngineOptions &options,
      HostPort &host)
      : program(program), classes(classes), classOf(classOf), host(host),
        wafer(program, classes, classOf, options, host),
        west(program, wafer.network, wafer.agenda, host, options.observer),
        processors(classOf.size()) {
    for (size_t pe = 0; pe < classOf.size(); ++pe)
      if (classOf[pe] >= 0)
        processors[pe].create(wafer, classes[size_t(classOf[pe])], int(pe));
  }

  RunResult run() {
    const bool stopped = observeRun(observer(), *this, [&] {
      west.start();
      if (wafer.remoteCalls)
        runCalls();
      else
        runCommands();
      wafer.east.finish();
      checkAllRead();
    });
    RunResult result = this->result();
    result.stopped = stopped;
    return result;
  }

private:
  Observer *observer() const { return wafer.options.observer; }

  /// PEs begin a launch when its command wavelet has come to them.
  void runCommands() {
    const size_t launches = program.launches()->size();
    size_t wanted = launches;
    if (observer())
      wanted = std::min(wanted, observer()->untilLaunch);
    if (launches > 0) {
      const RouterTables router(program);
      const int color = program.command_color();
      requireCommands(
          program, router, router.trace(color, {0, 0}, program::Port::West),
          [&](int pe) { return isCommanded(processors[size_t(pe)]); });
    }
    for (Processor &processor : processors)
      if (isCommanded(processor))
        processor.expectCommands(wanted);
    settle();
    if (wanted < launches)
      throw StopRun{};
    checkAtRest(true);
  }

  static bool isCommanded(const Processor &processor) {
    return processor.exists() && !processor.classCode().routines.empty();
  }

  void runCalls() {
    const uint32_t launches = program.launches()->size();
    Cycle when = 0;
    for (uint32_t l = 0; l < launches; ++l) {
      if (observer() && observer()->untilLaunch <= l)
        throw StopRun{};
      copy(l);
      when = launch(l, when);
    }
    copy(launches);
  }

  /// Runs one launch to its end and returns when the next may begin.
  Cycle launch(uint32_t l, Cycle when) {
    wafer.currentLaunch = l;
    const uint32_t routine = program.launches()->Get(l)->routine();
    for (Processor &processor : processors)
      if (processor.exists())
        if (const Body *body = processor.classCode().routine(routine))
          processor.call(wafer, *body, when);
    settle();
    checkAtRest(l + 1 == program.launches()->size());
    Cycle end = std::max(wafer.agenda.now(), wafer.network.latest());
    Time rested = 0;
    for (const Processor &processor : processors) {
      end = std::max(end, Cycle(std::ceil(processor.actedAt())));
      rested = std::max(rested, processor.restedAt());
    }
    return std::max(end + 1, Cycle(std::ceil(rested)));
  }

  /// The west edge, PEs, then routers, cycle by cycle, until nobody has
  /// anything to do.
  void settle() {
    std::vector<uint32_t> due, late;
    while (wafer.agenda.advance(due)) {
      if (observer() && Time(wafer.agenda.now()) > observer()->untilCycle)
        throw StopRun{};
      for (uint32_t entry : due)
        if (Agenda::isEdge(entry))
          west.step(int(Agenda::indexOf(entry)));
      for (uint32_t entry : due)
        if (!Agenda::isRouter(entry) && !Agenda::isEdge(entry))
          processors[entry].step(wafer);
      wafer.agenda.takeLate(late);
      for (uint32_t pe : late)
        wafer.network.stepRouter(int(pe));
      for (uint32_t entry : due)
        if (Agenda::isRouter(entry))
          wafer.network.stepRouter(int(Agenda::indexOf(entry)));
    }
  }

  void copy(uint32_t before) {
    auto classAt = [&](Coordinate at) -> const ClassCode * {
      const int index = classOf[size_t(wafer.network.index(at))];
      return index < 0 ? nullptr : &classes[size_t(index)];
    };
    auto sram = [&](Coordinate at, int64_t address, int64_t bytes, bool in) {
      Memory &memory = processors[size_t(wafer.network.index(at))].memory;
      if (in)
        memory.markWritten(address, bytes);
      else if (!memory.written(address, bytes))
        return static_cast<uint8_t *>(nullptr);
      return memory.at(address);
    };
    copyBeforeLaunch(program, before, host, classAt, sram);
  }

  void checkAtRest(bool last) const {
    WaitGraph graph(program, [&](Coordinate pe, int color) {
      return wafer.network.routeNow(wafer.network.index(pe), color);
    });
    for (const Processor &processor : processors)
      if (processor.exists())
        processor.addTo(graph, wafer);
    if (!graph.empty() || last)
      wafer.east.addTo(graph);
    if (graph.empty())
      return;
    wafer.network.addTo(graph);
    throw Error(ErrorClass::Deadlock, "nothing can go on:" + graph.describe());
  }

  void checkAllRead() const {
    std::map<int, std::vector<Coordinate>> unread;
    for (const Station *station : wafer.network.leftOver()) {
      auto &pes = unread[station->color];
      const Coordinate pe = wafer.network.coordinate(station->pe);
      if (std::find(pes.begin(), pes.end(), pe) == pes.end())
        pes.push_back(pe);
    }
    std::string message;
    for (auto &[color, pes] : unread)
      message += "\n  color " + std::to_string(color) + " at " +
                 describeRectangles(std::move(pes));
    for (const std::string &text : wafer.east.surplus())
      message += "\n  " + text;
    if (!message.empty())
      throw Error(ErrorClass::UnreadTraffic,
                  "words are left that nobody read:" + message);
  }

  // ---- for observers

  double cycle() const override {
    return std::max(0.0, double(wafer.agenda.now()));
  }
  const ClassCode *code(int pe) const override {
    const int index = classOf[size_t(pe)];
    return index < 0 ? nullptr : &classes[size_t(index)];
  }
  bool read(int pe, int64_t address, size_t bytes, void *into) const override {
    // Looking may allocate what was never touched.
    auto &memory = const_cast<Memory &>(processors[size_t(pe)].memory);
    if (!memory.written(address, int64_t(bytes)))
      return false;
    std::memcpy(into, memory.at(address), bytes);
    return true;
  }
  std::vector<std::string> threads(int pe) const override {
    return processors[size_t(pe)].describeThreads(wafer);
  }
  std::vector<std::string> tasks(int pe) const override {
    return processors[size_t(pe)].describeTasks();
  }
  std::vector<std::string> queues(int pe) const override {
    return wafer.network.describeQueues(pe);
  }

  RunResult result() const {
    RunResult result;
    wafer.launches.report(program, result);
    for (const ClassCode &code : classes)
      result.classes.push_back({code.name, 0, code.highWaterBytes});
    for (int index : classOf)
      if (index >= 0)
        ++result.classes[size_t(index)].pes;
    result.hostWordsIn = west.delivered();
    result.hostWordsOut = wafer.east.stored();
    result.vectorInstructions = wafer.vectorInstructions;
    result.operations = wafer.operations;
    return result;
  }

  const program::Program &program;
  const std::vector<ClassCode> &classes;
  const std::vector<int> &classOf;
  HostPort &host;
  Wafer wafer;
  HostLanes west;
  std::vector<Processor> processors;
};

} // namespace

StreamsEngine::StreamsEngine(const program::Program &program,
                             EngineOptions options)
    : program(program), options(options) {
  if (!processorSupported())
    throw Error(ErrorClass::BadProgram,
                "the emulator needs a processor with AVX2 and FMA");
  const program::Machine &machine = *program.machine();
  classOf.assign(size_t(machine.width()) * size_t(machine.height()), -1);
  for (uint32_t i = 0; i < program.classes()->size(); ++i) {
    classes.push_back(decodeClass(program, i));
    for (const program::Rect *rect : *program.classes()->Get(i)->rects()) {
      if (rect->xstep() < 1 || rect->ystep() < 1 || rect->x0() < 0 ||
          rect->y0() < 0 || rect->x1() > machine.width() ||
          rect->y1() > machine.height())
        throw Error(ErrorClass::BadProgram,
                    "class '" + classes.back().name + "' leaves the mesh");
      for (int y = rect->y0(); y < rect->y1(); y += rect->ystep())
        for (int x = rect->x0(); x < rect->x1(); x += rect->xstep()) {
          int &slot = classOf[size_t(y) * size_t(machine.width()) + size_t(x)];
          if (slot >= 0)
            throw Error(ErrorClass::BadProgram,
                        "PE " + toString({x, y}) + " belongs to two classes");
          slot = int(i);
        }
    }
  }
}

RunResult StreamsEngine::run(HostPort &host) {
  return Run(program, classes, classOf, options, host).run();
}

} // namespace wsec::runtime
