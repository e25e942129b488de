// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/strips/StripsEngine.h"

#include "runtime/engine/Rectangles.h"
#include "runtime/pe/VectorKernels.h"
#include "runtime/program/Errors.h"
#include "runtime/program/NearestNames.h"
#include "runtime/strips/LaunchMemory.h"

#include <algorithm>
#include <map>
#include <set>
#include <thread>
#include <utility>

namespace wsec::runtime {

namespace {

/// One run of a program: all actors and what they share.
class Run : public Inspection {
public:
  Run(ProgramImage &image, const Call &call, const EngineOptions &options,
      WorkerPool &pool, HostPort &host, KeptByLaunch *kept, size_t keptRoom,
      MemoryRoom *room)
      : world(image, call, options, pool),
        channels(makeHostChannels(world, host)),
        memory(
            world, host, pool, channels, mains,
            [this](size_t limit) { return runUntil(limit); },
            options.furthestLaunch, kept, keptRoom, room) {
    for (const auto &strip : image.strips)
      if (!strip->code.routines.empty())
        mains.push_back(std::make_unique<MainThread>(world, *strip));
  }

  /// Writes down all that it does, until `takeParts`.
  void record(size_t limitBytes) { memory.keep(limitBytes); }
  PartUses takeParts() { return memory.takeParts(); }

  /// Launches are replayed where they can be, if it `remembers`.
  RunResult run(bool remembers) {
    const bool stopped = observeRun(world.observer, *this, [&] {
      setOrder();
      if (remembers && !world.observer)
        memory.run();
      runUntil(SIZE_MAX);
      if (world.observer && world.observer->untilLaunch < world.call.launches())
        throw StopRun{};
      checkDone();
      world.checkAllRead();
    });
    RunResult result = this->result();
    result.stopped = stopped;
    return result;
  }

private:
  template <class Visit>
  void forEachActor(const Visit &visit) {
    for (const auto &channel : channels.inputs)
      visit(*channel);
    for (const auto &channel : channels.outputs)
      visit(*channel);
    for (const auto &main : mains)
      visit(*main);
  }

  void setOrder() {
    int64_t order = 0;
    forEachActor([&](Actor &actor) { actor.order = order++; });
  }

  /// Runs launches below `limit`. Whether nothing is under way then.
  bool runUntil(size_t limit) {
    world.untilLaunch = limit;
    forEachActor([&](Actor &actor) { world.scheduler.wake(actor); });
    // Senders that wait for room while nothing else can run get it.
    do
      world.scheduler.runUntilIdle(world.observer); // Observers want one order.
    while (world.growStripQueues() || releaseRows() || world.releaseSenders() ||
           releaseChannels() || world.commands.release());
    world.noteEnds();
    for (const auto &strip : world.image.strips)
      strip->memory.executor().flush();
    bool rests = true;
    world.forEachQueue(
        [&](StripQueue &queue) { rests = rests && queue.rests(); });
    forEachActor([&](auto &actor) { rests = rests && actor.rests(); });
    return rests;
  }

  bool releaseRows() {
    bool any = false;
    for (const auto &row : channels.rows)
      any |= row->release();
    return any;
  }

  /// Where a column asks for its words only once another has got some, which
  /// on the wafer then lie in the queue of the first, channels go on without.
  bool releaseChannels() {
    bool any = false;
    for (const auto &channel : channels.inputs)
      any |= channel->release();
    return any;
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
    strip.memory.bringHome(address / 4, (address + int64_t(bytes) + 3) / 4);
    strip.memory.executor().flush();
    for (size_t i = 0; i < bytes; ++i) {
      const int64_t at = address + int64_t(i), word = at / 4;
      if (strip.firstUninitialised(at / 2, 1, lane) == at / 2)
        return false;
      static_cast<uint8_t *>(into)[i] = reinterpret_cast<const uint8_t *>(
          strip.memory.home(word) + lane)[size_t(at % 4)];
    }
    return true;
  }
  std::vector<std::string> threads(int pe) const override {
    std::vector<std::string> lines;
    for (const auto &main : mains)
      if (&main->where() == stripAt(pe))
        for (const InstructionRun *run : main->waits())
          if (run->lane() < 0 || run->lane() == laneAt(pe))
            lines.push_back(world.describeLaunch(run->launch()) + ", class " +
                            inQuotes(main->where().code.name) + ": " +
                            run->describeWait());
    return lines;
  }
  std::vector<std::string> tasks(int) const override { return {}; }
  std::vector<std::string> queues(int pe) const override {
    return world.describeQueues(*stripAt(pe), laneAt(pe));
  }

  // ---- checks and results

  void checkDone() const {
    const RouterTables &router = world.image.router;
    WaitGraph graph(world.call,
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
    reportLaunches(world.call, world.launches, result);
    for (const ClassCode &code : world.image.classes)
      result.classes.push_back({code.name, 0, code.highWaterBytes});
    for (const auto &strip : world.image.strips)
      result.classes[size_t(strip->classIndex)].pes += uint64_t(strip->lanes);
    for (const auto &channel : channels.inputs)
      result.hostWordsIn += channel->delivered;
    for (const auto &channel : channels.outputs)
      result.hostWordsOut += channel->stored;
    const World::Work work = world.work();
    result.vectorInstructions = work.instructions;
    result.operations = work.operations;
    result.rememberedLaunches = memory.launches();
    result.peakQueueBytes = world.scheduler.peakQueueBytes();
    return result;
  }

  World world;
  HostChannels channels;
  std::vector<std::unique_ptr<MainThread>> mains;
  LaunchMemory memory;
};

} // namespace

/// Whether calls begin with values in buffers: what is written down of a run
/// does not bring them back.
static bool fillsBuffers(const program::Program &program) {
  for (const program::PEClass *peClass : *program.classes())
    if (peClass->buffers())
      for (const program::Buffer *buffer : *peClass->buffers())
        if (buffer->initial())
          return true;
  return false;
}

class StripsEngine::Implementation final : public PersistentState::Keeper {
public:
  Implementation(const program::Program &program, EngineOptions options,
                 bool joins)
      : image(program, joins), options(options), pool(options.threads),
        records(options.replay && !options.observer && !fillsBuffers(program)),
        room(options.recordingBytes) {}
  ~Implementation() override { release(); }

  RunResult run(HostPort &host, const Call &call, PersistentState *state) {
    try {
      return replayOrRun(host, call, state);
    } catch (const NestError &) { // A replay does not know in which PE.
      if (!host.rewind())
        throw;
    }
    return runOnce(host, call, state, nullptr, /*remembers=*/false);
  }

  const program::Program &program() const { return image.program; }

  /// Where PEs of a strip may have waited for one another, one whose strips do
  /// not, for a run that begins anew.
  /// Nobody looks on: it would see the run twice.
  std::unique_ptr<Implementation> separate() const {
    if (!image.joined)
      return nullptr;
    EngineOptions unseen = options;
    unseen.observer = nullptr;
    return std::make_unique<Implementation>(image.program, unseen, false);
  }
  bool isObserved() const { return options.observer; }

private:
  /// The first run of a call.
  struct Recorded {
    PartUses parts; ///< of the run, one behind the other; none: it is not kept
    RunResult result;
    /// What of persistent buffers was written before and after.
    PersistentState::Written before, after;
    bool mayDiverge = false;
    bool given = false; ///< up
    bool seen = false;
    size_t bytes = 0;
  };

  RunResult replayOrRun(HostPort &host, const Call &call,
                        PersistentState *state) {
    if (!records)
      return runOnce(host, call, state, nullptr);
    Recorded &its = recorded.try_emplace(call).first->second;
    // What is loaded may differ in a later run, which then begins anew.
    const bool rewinds = image.loads && host.rewind();
    if (its.mayDiverge && !rewinds)
      giveUp(its);
    // What a run reads must have been written in the recorded one, too.
    if (!its.parts.empty() && state && !state->isWritten(its.before))
      forget(its);
    if (!its.parts.empty())
      try {
        return runAgain(its, host, state);
      } catch (...) { // Diverged, what came of it, or a call that fails.
        if (!its.mayDiverge)
          throw;
        host.rewind();
        RunResult result = runOnce(host, call, state, nullptr);
        giveUp(its);
        return result;
      }
    // What another call of the entry did is of use. This one is written down
    // when it comes again.
    const bool first = !std::exchange(its.seen, true);
    if (its.given || recordedBytes >= options.recordingBytes ||
        (first && !launches[call.entryIndex()].empty()))
      return runOnce(host, call, state, nullptr);
    return record(its, host, call, state);
  }

  /// A run, which is written down if there is a place for it.
  RunResult runOnce(HostPort &host, const Call &call, PersistentState *state,
                    Recorded *into, bool remembers = true) {
    if (!state || !state->isKeptBy(*this))
      release();
    else
      saveBackup(image.lastingWords());
    try {
      return runKept(host, call, state, into, remembers);
    } catch (...) {
      undo();
      throw;
    }
  }

  RunResult runKept(HostPort &host, const Call &call, PersistentState *state,
                    Recorded *into, bool remembers) {
    Run run(image, call, options, pool, host,
            records ? &launches[call.entryIndex()] : nullptr,
            options.recordingBytes -
                std::min(options.recordingBytes, recordedBytes),
            records ? &room : nullptr);
    if (into)
      run.record(options.recordingBytes - recordedBytes);
    const int width = image.router.width();
    for (const auto &strip : image.strips) {
      strip->fill();
      if (state) {
        if (!state->isKeptBy(*this))
          strip->load(*state, width);
        strip->initialise(*state, width);
      }
    }
    RunResult result = run.run(remembers);
    countLaunches();
    const bool keeps = state && !result.stopped;
    if (keeps)
      for (const auto &strip : image.strips)
        strip->bringHome(piecesOf(*strip));
    if (into)
      into->parts = run.takeParts();
    if (keeps) {
      PersistentState::Written written;
      for (const auto &strip : image.strips)
        strip->addWritten(written, piecesOf(*strip), width);
      keep(*state, std::move(written));
    } else {
      undo();
    }
    return result;
  }

  RunResult record(Recorded &its, HostPort &host, const Call &call,
                   PersistentState *state) {
    its.given = true; // Once, whatever comes of it.
    PersistentState::Written before;
    if (state)
      before = state->written();
    RunResult result = runOnce(host, call, state, &its);
    if (its.parts.empty())
      return result;
    if (state) {
      its.before = std::move(before);
      its.after = state->written();
      for (const auto *written : {&its.before, &its.after})
        for (const auto &[pe, units] : *written)
          its.bytes += units.size() / 8;
    }
    its.result = result;
    its.result.replayed = true;
    std::set<std::shared_ptr<RecordedPart>> counted; // Asked only.
    for (const auto &[launch, other] : launches[call.entryIndex()])
      counted.insert(other->part);
    for (const auto &[part, shift] : its.parts) {
      if (!part->prepared())
        part->prepare(pool, &room);
      if (counted.insert(part).second)
        its.bytes += part->bytes();
      its.mayDiverge |= part->mayDiverge();
    }
    recordedBytes += its.bytes;
    return result;
  }

  /// Launches that are kept take room, too.
  void countLaunches() {
    size_t bytes = 0;
    for (const auto &[entry, all] : launches)
      for (const auto &[launch, its] : all)
        bytes += its->bytes();
    recordedBytes += bytes - std::exchange(keptBytes, bytes);
  }

  void replay(Recorded &its, HostPort &host) {
    Locations views;
    for (const PartUse &use : its.parts)
      use.part->replay(host, options.furthestLaunch, use.its(), views);
  }

  void forget(Recorded &its) {
    recordedBytes -= its.bytes;
    its = {};
  }
  void giveUp(Recorded &its) {
    forget(its);
    its.given = true;
  }

  RunResult runAgain(Recorded &its, HostPort &host, PersistentState *state) {
    if (!state) {
      replay(its, host);
      return its.result;
    }
    if (!state->isKeptBy(*this)) {
      release();
      for (const auto &strip : image.strips)
        strip->load(*state, image.router.width());
    }
    std::vector<Recording::Words> changes;
    for (const PartUse &use : its.parts)
      for (const Recording::Words &words : use.part->lastingWrites(use.its()))
        changes.push_back(words);
    saveBackup(changes);
    try {
      replay(its, host);
    } catch (...) {
      undo();
      throw;
    }
    keep(*state, its.after);
    return its.result;
  }

  // ---- the state whose values lie in the SRAM of the strips

  const Strip::Pieces &piecesOf(const Strip &strip) const {
    return image.persistent.pieces(strip.classIndex);
  }
  void keep(PersistentState &state, PersistentState::Written written) {
    state.keep(*this, std::move(written));
    kept = &state;
  }
  void release() {
    if (kept)
      kept->release();
  }
  void bring(PersistentState::Values &values) override {
    for (const auto &strip : image.strips)
      strip->copyTo(values, piecesOf(*strip), image.router.width());
  }
  void saveBackup(const std::vector<Recording::Words> &words) {
    backup.clear();
    for (const auto &[begin, end] : words)
      backup.push_back({const_cast<float *>(begin), {begin, end}});
  }
  void undo() override {
    for (const auto &[at, words] : backup)
      std::copy(words.begin(), words.end(), at);
    backup.clear();
  }
  void forget() override { kept = nullptr; }

  PersistentState *kept = nullptr;
  /// What the last run has written over, or may have.
  std::vector<std::pair<float *, std::vector<float>>> backup;

  ProgramImage image;
  EngineOptions options;
  WorkerPool pool;
  const bool records;
  MemoryRoom room; ///< for words that replays make once
  std::map<Call, Recorded> recorded;
  std::map<uint32_t, KeptByLaunch> launches; ///< that are kept, by entry
  size_t recordedBytes = 0, keptBytes = 0;
};

StripsEngine::StripsEngine(const program::Program &program,
                           EngineOptions options) {
  if (const std::string what = unsupported(program); !what.empty())
    throw Error(ErrorClass::BadProgram,
                "the strips engine runs no programs with " + what +
                    "; take --engine=wavelet");
  requireProcessor();
  if (options.threads == 0)
    options.threads = std::max(1u, std::thread::hardware_concurrency());
  implementation = std::make_unique<Implementation>(program, options, true);
}

StripsEngine::~StripsEngine() = default;

RunResult StripsEngine::run(HostPort &host) {
  return run(host, Call(implementation->program()));
}

RunResult StripsEngine::run(HostPort &host, const Call &call,
                            PersistentState *state) {
  try {
    return implementation->run(host, call, state);
  } catch (const Error &error) {
    auto separate = error.errorClass() == ErrorClass::Deadlock
                        ? implementation->separate()
                        : nullptr;
    if (!separate || !host.rewind())
      throw;
    RunResult result;
    try {
      result = separate->run(host, call, state);
    } catch (const Error &) {
      throw error;
    }
    if (implementation->isObserved())
      throw Error(ErrorClass::BadProgram,
                  "PEs that the strips engine runs together wait for one "
                  "another here, which nobody can look at; take "
                  "--engine=wavelet");
    implementation = std::move(separate);
    return result;
  }
}

} // namespace wsec::runtime
