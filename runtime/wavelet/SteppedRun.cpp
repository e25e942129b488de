// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/wavelet/SteppedRun.h"

#include "runtime/engine/HostCopies.h"
#include "runtime/engine/Launches.h"
#include "runtime/engine/Rectangles.h"
#include "runtime/program/NearestNames.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>

namespace wsec::runtime::wavelet {

using pe::Cycle;
using pe::Processor;
using pe::Time;

SteppedRun::SteppedRun(const Call &call, PersistentState *state,
                       const Mesh &mesh, const EngineOptions &options,
                       HostPort &host, LaunchLog &launches, HostChannels &west,
                       EastChannels &east, Fabric &fabric)
    : call(call), state(state), program(call.program()), mesh(mesh), host(host),
      observer(options.observer), launches(launches), west(west), east(east),
      fabric(fabric),
      wafer(call, fabric, launches, options.observer, options.workLimit),
      processors(size_t(mesh.size())) {
  for (int pe = 0; pe < mesh.size(); ++pe)
    if (const ClassCode *code = mesh.codeAt(pe))
      processors[size_t(pe)].create(wafer, *code, pe);
  east.onComplete = [this] { this->west.resume(); };
  loadState();
}

// ---------------------------------------------------------------- state

void SteppedRun::loadState() {
  if (!state)
    return;
  for (const auto &[pe, held] : state->pes()) {
    pe::Memory &memory = processors[size_t(pe)].memory;
    for (const PersistentState::Piece &piece :
         state->pieces(mesh.classOf[size_t(pe)]))
      for (int64_t at = 0; at < piece.bytes; at += 2)
        if (held.written[size_t(piece.offset + at) / 2]) {
          std::memcpy(memory.at(piece.address + at),
                      &held.bytes[size_t(piece.offset + at)], 2);
          memory.markWritten(piece.address + at, 2);
        }
  }
}

void SteppedRun::saveState() {
  if (!state)
    return;
  state->change();
  for (int pe = 0; pe < mesh.size(); ++pe) {
    Processor &processor = processors[size_t(pe)];
    if (!processor.exists() || !processor.memory.touched())
      continue;
    pe::Memory &memory = processor.memory;
    for (const PersistentState::Piece &piece :
         state->pieces(mesh.classOf[size_t(pe)]))
      for (int64_t at = 0; at < piece.bytes; at += 2)
        if (memory.written(piece.address + at, 2))
          state->write(pe, mesh.classOf[size_t(pe)], piece.offset + at,
                       memory.at(piece.address + at));
  }
}

RunResult SteppedRun::run(const std::function<void()> &settle) {
  const bool stopped = observeRun(observer, *this, [&] {
    if (calledByHost(program))
      runCalls(settle);
    else
      runCommands(settle);
    east.finish();
    checkAllRead();
  });
  if (!stopped)
    saveState();
  RunResult result = this->result();
  result.stopped = stopped;
  return result;
}

void SteppedRun::beginCycle(Cycle now) {
  wafer.now = now;
  if (observer && Time(now) > observer->untilCycle)
    throw StopRun{};
}

// ---------------------------------------------------------------- launches

static bool isCommanded(const Processor &processor) {
  return processor.exists() && !processor.classCode().routines.empty();
}

/// What launch wavelets start one after the other leaves the host no moment
/// in between.
void SteppedRun::requireNoCopies() const {
  const uint32_t count = call.launches();
  if (call.copies())
    for (const program::HostCopy *copy : *call.copies())
      if (copy->launch() > 0 && copy->launch() < count)
        throw Error(ErrorClass::BadProgram,
                    "the host copies buffer " +
                        inQuotes(copy->buffer()->str()) + " before " +
                        describeLaunch(call, copy->launch()) +
                        ", which a launch wavelet starts: it can before the "
                        "first launch and after the last; let the host call "
                        "the launches");
}

/// PEs begin a launch when its launch wavelet has come to them.
void SteppedRun::runCommands(const std::function<void()> &settle) {
  const uint32_t count = call.launches();
  size_t wanted = count;
  requireNoCopies();
  copy(0);
  if (observer)
    wanted = std::min(wanted, observer->untilLaunch);
  if (count > 0) {
    const RouterTables router(program);
    const int color = program.launch_color();
    requireCommands(
        program, router, router.trace(color, {0, 0}, program::Port::West),
        [&](int pe) { return isCommanded(processors[size_t(pe)]); });
  }
  for (Processor &processor : processors)
    if (isCommanded(processor))
      processor.expectCommands(wanted);
  west.open(count, 0);
  settle();
  if (wanted < count)
    throw StopRun{};
  checkAtRest(count);
  if (count > 0)
    copy(count);
}

void SteppedRun::runCalls(const std::function<void()> &settle) {
  const uint32_t count = call.launches();
  Cycle when = 0;
  for (uint32_t l = 0; l < count; ++l) {
    if (observer && observer->untilLaunch <= l)
      throw StopRun{};
    copy(l);
    when = launch(l, when, settle);
  }
  copy(count);
}

/// Runs one launch to its end and returns when the next may begin.
Cycle SteppedRun::launch(uint32_t l, Cycle when,
                         const std::function<void()> &settle) {
  west.open(l + 1, when);
  for (Processor &processor : processors)
    if (processor.exists())
      processor.call(wafer, l, when);
  settle();
  checkAtRest(l + 1);
  Cycle end = fabric.latest();
  Time rested = launches.end(); // That of outputs, too.
  for (const Processor &processor : processors) {
    end = std::max(end, Cycle(std::ceil(processor.actedAt())));
    rested = std::max(rested, processor.restedAt());
  }
  return std::max(end + 1, Cycle(std::ceil(rested)));
}

void SteppedRun::copy(uint32_t before) {
  auto classAt = [&](Coordinate at) { return mesh.codeAt(mesh.index(at)); };
  auto sram = [&](Coordinate at, int64_t address, int64_t bytes, bool in) {
    pe::Memory &memory = processors[size_t(mesh.index(at))].memory;
    if (in)
      memory.markWritten(address, bytes);
    else if (!memory.written(address, bytes))
      return static_cast<uint8_t *>(nullptr);
    return memory.at(address);
  };
  copyBeforeLaunch(call, before, host, classAt, sram);
}

// ---------------------------------------------------------------- at the end

/// After so many launches.
void SteppedRun::checkAtRest(size_t launches) const {
  WaitGraph graph(call, [&](Coordinate pe, int color) {
    return fabric.routeNow(mesh.index(pe), color);
  });
  for (int pe = 0; pe < mesh.size(); ++pe) {
    const Processor &processor = processors[size_t(pe)];
    if (!processor.exists())
      continue;
    for (const PeWait &wait : processor.waits(wafer))
      graph.add(wait);
    for (const auto &[task, pending] : processor.blockedTasks())
      graph.addBlocked(mesh.coordinate(pe), task, pending);
  }
  east.addTo(graph, launches);
  if (graph.empty())
    return;
  fabric.addTo(graph);
  throw Error(ErrorClass::Deadlock, "nothing can go on:" + graph.describe());
}

void SteppedRun::checkAllRead() const {
  std::map<int, std::vector<Coordinate>> unread;
  for (const auto &[pe, color] : fabric.leftOver()) {
    std::vector<Coordinate> &pes = unread[color];
    const Coordinate at = mesh.coordinate(pe);
    if (std::find(pes.begin(), pes.end(), at) == pes.end())
      pes.push_back(at);
  }
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

RunResult SteppedRun::result() const {
  RunResult result;
  reportLaunches(call, launches, result);
  for (const ClassCode &code : mesh.classes)
    result.classes.push_back({code.name, 0, code.highWaterBytes});
  for (size_t pe = 0; pe < mesh.classOf.size(); ++pe)
    if (const int index = mesh.classOf[pe]; index >= 0) {
      ClassMemory &its = result.classes[size_t(index)];
      ++its.pes;
      its.writtenBytes = std::max(
          its.writtenBytes, uint64_t(processors[pe].memory.endOfWritten()));
    }
  result.westEdge = west.use();
  for (const EdgeUse &use : result.westEdge)
    result.hostWordsIn += use.words;
  result.hostWordsOut = east.stored();
  result.vectorInstructions = wafer.vectorInstructions;
  result.operations = wafer.operations;
  return result;
}

// ---------------------------------------------------------------- observers

double SteppedRun::cycle() const { return std::max(0.0, Time(wafer.now)); }

bool SteppedRun::read(int pe, int64_t address, size_t bytes, void *into) const {
  // Looking may allocate what was never touched.
  auto &memory = const_cast<pe::Memory &>(processors[size_t(pe)].memory);
  if (!memory.written(address, int64_t(bytes)))
    return false;
  std::memcpy(into, memory.at(address), bytes);
  return true;
}

std::vector<std::string> SteppedRun::threads(int pe) const {
  return processors[size_t(pe)].describeThreads(wafer);
}

std::vector<std::string> SteppedRun::tasks(int pe) const {
  return processors[size_t(pe)].describeTasks();
}

std::vector<std::string> SteppedRun::queues(int pe) const {
  return fabric.describeQueues(pe);
}

} // namespace wsec::runtime::wavelet
