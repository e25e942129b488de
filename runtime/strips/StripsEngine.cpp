// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/strips/StripsEngine.h"

#include "runtime/engine/Rectangles.h"
#include "runtime/pe/VectorKernels.h"
#include "runtime/program/Errors.h"
#include "runtime/strips/HostChannels.h"
#include "runtime/strips/MainThread.h"
#include "runtime/strips/Replay.h"

#include <algorithm>
#include <map>
#include <thread>

namespace wsec::runtime {

namespace {

/// One run of a program: all actors and what they share.
class Run : public Inspection {
public:
  Run(ProgramImage &image, const EngineOptions &options, HostPort &host,
      Recording *recording = nullptr)
      : world(image, options, recording),
        channels(makeHostChannels(world, host)) {
    for (const auto &strip : image.strips)
      if (!strip->code.routines.empty())
        mains.push_back(std::make_unique<MainThread>(world, *strip));
  }

  RunResult run(unsigned threads) {
    const bool stopped = observeRun(world.observer, *this, [&] {
      runActors(world.observer ? 1 : threads);
      if (world.observer &&
          world.observer->untilLaunch < world.image.program.launches()->size())
        throw StopRun{};
      checkDone();
      world.checkAllRead();
    });
    RunResult result = this->result();
    result.stopped = stopped;
    return result;
  }

private:
  void runActors(unsigned threads) {
    int64_t order = 0;
    auto start = [&](Actor &actor) {
      actor.order = order++;
      world.scheduler.wake(actor);
    };
    for (const auto &channel : channels.inputs)
      start(*channel);
    for (const auto &channel : channels.outputs)
      start(*channel);
    for (const auto &main : mains)
      start(*main);
    // Senders that wait for room while nothing else can run get it.
    do
      world.scheduler.runUntilIdle(threads);
    while (world.growStripQueues());
  }

  // ---- for observers

  const Strip *stripAt(int pe) const {
    const int index = world.image.stripOf[size_t(pe)];
    return index < 0 ? nullptr : world.image.strips[size_t(index)].get();
  }
  int laneAt(int pe) const {
    const int width = world.image.router.width();
    return stripAt(pe)->laneOf({pe % width, pe / width});
  }

  double cycle() const override { return world.launches.end(); }
  bool simultaneous() const override { return false; }
  const ClassCode *code(int pe) const override {
    const Strip *strip = stripAt(pe);
    return strip ? &strip->code : nullptr;
  }
  bool read(int pe, int64_t address, size_t bytes, void *into) const override {
    Strip &strip = *world.image.strips[size_t(world.image.stripOf[size_t(pe)])];
    const int lane = laneAt(pe);
    for (size_t i = 0; i < bytes; ++i) {
      const int64_t at = address + int64_t(i), word = at / 4;
      if (strip.firstUninitialised(word, 1, lane) == word)
        return false;
      static_cast<uint8_t *>(into)[i] = reinterpret_cast<const uint8_t *>(
          strip.sram(word) + lane)[size_t(at % 4)];
    }
    return true;
  }
  std::vector<std::string> threads(int pe) const override {
    std::vector<std::string> lines;
    for (const auto &main : mains)
      if (&main->where() == stripAt(pe))
        for (const InstructionRun *run : main->waits())
          if (run->lane() < 0 || run->lane() == laneAt(pe))
            lines.push_back(world.describeLaunch(run->launch()) + ", class '" +
                            main->where().code.name +
                            "': " + run->describeWait());
    return lines;
  }
  std::vector<std::string> tasks(int) const override { return {}; }
  std::vector<std::string> queues(int pe) const override {
    return world.describeQueues(*stripAt(pe), laneAt(pe));
  }

  // ---- checks and results

  void checkDone() const {
    const RouterTables &router = world.image.router;
    WaitGraph graph(world.image.program,
                    [&](Coordinate pe, int color) -> std::optional<RouteNow> {
                      if (!router.hasRule(color, pe))
                        return {};
                      return RouteNow{router.receive(color, pe),
                                      router.transmit(color, pe), false};
                    });
    for (const auto &main : mains)
      main->addTo(graph);
    for (const auto &channel : channels.outputs)
      channel->addTo(graph);
    if (graph.empty())
      return;
    world.addTo(graph);
    throw Error(ErrorClass::Deadlock, "nothing can go on:" + graph.describe());
  }

  RunResult result() const {
    RunResult result;
    reportLaunches(world.image.program, world.launches, result);
    for (const ClassCode &code : world.image.classes)
      result.classes.push_back({code.name, 0, code.highWaterBytes});
    for (const auto &strip : world.image.strips)
      result.classes[size_t(strip->classIndex)].pes += uint64_t(strip->lanes);
    for (const auto &channel : channels.inputs)
      result.hostWordsIn += channel->delivered;
    for (const auto &channel : channels.outputs)
      result.hostWordsOut += channel->stored;
    result.vectorInstructions = world.vectorInstructions;
    result.operations = world.operations;
    result.peakQueueBytes = world.scheduler.peakQueueBytes();
    return result;
  }

  World world;
  HostChannels channels;
  std::vector<std::unique_ptr<MainThread>> mains;
};

} // namespace

class StripsEngine::Implementation {
public:
  Implementation(const program::Program &program, EngineOptions options)
      : image(program), options(options),
        records(options.replay && !options.observer) {}

  RunResult run(HostPort &host) {
    if (replay)
      return replay->run(host, options.furthestLaunch);
    if (!records)
      return Run(image, options, host).run(options.threads);
    records = false; // Once, whatever comes of it.
    Recording recording(options.recordingBytes);
    RunResult result = Run(image, options, host, &recording).run(1);
    if (recording.complete())
      replay = std::make_unique<Replay>(recording, result, options.threads);
    return result;
  }

  ProgramImage image;
  EngineOptions options;

private:
  bool records;
  std::unique_ptr<Replay> replay;
};

StripsEngine::StripsEngine(const program::Program &program,
                           EngineOptions options) {
  if (const std::string what = unsupported(program); !what.empty())
    throw Error(ErrorClass::BadProgram,
                "the strips engine runs no programs with " + what +
                    "; take --engine=streams or --engine=wavelet");
  requireProcessor();
  if (options.threads == 0)
    options.threads = std::max(1u, std::thread::hardware_concurrency());
  implementation = std::make_unique<Implementation>(program, options);
}

StripsEngine::~StripsEngine() = default;

RunResult StripsEngine::run(HostPort &host) {
  return implementation->run(host);
}

} // namespace wsec::runtime
