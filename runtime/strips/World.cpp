// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/strips/World.h"

#include "runtime/engine/Mesh.h"
#include "runtime/engine/Rectangles.h"
#include "runtime/pe/Costs.h"
#include "runtime/program/Errors.h"
#include "runtime/program/NearestNames.h"
#include "runtime/strips/Recording.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace wsec::runtime {

using program::Port;

// ---------------------------------------------------------------- image

static std::vector<ClassCode> decodeClasses(const program::Program &program) {
  std::vector<ClassCode> classes;
  for (uint32_t i = 0; i < program.classes()->size(); ++i)
    classes.push_back(decodeClass(program, i));
  return classes;
}

ProgramImage::ProgramImage(const program::Program &program, bool joins)
    : program(program), machine(*program.machine()), router(program),
      classes(decodeClasses(program)),
      strips(makeStrips(program, classes, router, joins)), persistent(program) {
  for (const ClassCode &code : classes)
    forEachStatement(code, [&](const StatementCode &statement) {
      loads |= std::holds_alternative<LoadCode>(statement);
    });
  joined = joins && std::any_of(strips.begin(), strips.end(),
                                [](const auto &its) { return its->lanes > 1; });
  mapStrips();
  for (const auto &strip : strips) {
    std::vector<std::pair<int64_t, int64_t>> lasting;
    for (const auto &piece : persistent.pieces(strip->classIndex))
      lasting.push_back(
          {piece.address / 4, (piece.address + piece.bytes + 3) / 4});
    strip->memory.keepHome(std::move(lasting));
  }
  if (std::any_of(program.entries()->begin(), program.entries()->end(),
                  [](const program::Entry *entry) {
                    return entry->launches()->size() > 0;
                  }))
    commands = CommandTree(program, router, strips, stripOf);
}

std::vector<Recording::Words> ProgramImage::lastingWords() const {
  std::vector<Recording::Words> words;
  for (const auto &strip : strips)
    for (const auto &piece : persistent.pieces(strip->classIndex))
      if (piece.bytes > 0)
        words.push_back(
            {strip->memory.home(piece.address / 4),
             strip->memory.home((piece.address + piece.bytes + 3) / 4)});
  std::sort(words.begin(), words.end(),
            [](const auto &a, const auto &b) { return a.begin < b.begin; });
  return words;
}

void ProgramImage::mapStrips() {
  stripOf.assign(size_t(router.width()) * router.height(), -1);
  for (const auto &strip : strips)
    for (int lane = 0; lane < strip->lanes; ++lane) {
      Coordinate pe = strip->pe(lane);
      int &slot = stripOf[size_t(pe.y) * router.width() + pe.x];
      if (slot >= 0)
        throw Error(ErrorClass::BadProgram,
                    "PE " + toString(pe) + " belongs to two classes");
      slot = strip->index;
    }
}

// ---------------------------------------------------------------- links

static Expected expectedOf(const Link &link, Ticket *ticket) {
  if (!ticket || link.queue == ticket->own || link.room == SIZE_MAX)
    return {};
  return {ticket, link.room, link.latency};
}

void Links::push(const Chunk &chunk, Ticket *ticket) const {
  for (const Link &link : links) {
    Chunk sent = chunk.shifted(link.from, link.broadcast);
    sent.first += link.latency;
    sent.last += link.latency;
    link.queue->push(std::move(sent), link.to, link.count,
                     expectedOf(link, ticket));
  }
}

/// How many lanes a link carries words of, from `link.from` on.
static int lanesOf(const Link &link) { return link.broadcast ? 1 : link.count; }

void Links::sortByLane(int lanes) {
  firstOfLane.assign(size_t(lanes) + 1, 0);
  for (const Link &link : links)
    for (int i = 0; i < lanesOf(link); ++i)
      ++firstOfLane[size_t(link.from + i) + 1];
  std::partial_sum(firstOfLane.begin(), firstOfLane.end(), firstOfLane.begin());
  ofLane.resize(firstOfLane.back());
  std::vector<uint32_t> next = firstOfLane;
  for (size_t l = 0; l < links.size(); ++l)
    for (int i = 0; i < lanesOf(links[l]); ++i)
      ofLane[next[size_t(links[l].from + i)]++] = uint32_t(l);
}

template <class Visit>
bool Links::anyOf(int lane, const Visit &visit) const {
  const auto first = ofLane.begin();
  return std::any_of(first + firstOfLane[size_t(lane)],
                     first + firstOfLane[size_t(lane) + 1],
                     [&](uint32_t link) { return visit(links[link]); });
}

void Links::push(Chunk chunk, int lane, Ticket *ticket) const {
  const uint32_t end = firstOfLane[size_t(lane) + 1];
  for (uint32_t i = firstOfLane[size_t(lane)]; i < end; ++i) {
    const Link &link = links[ofLane[i]];
    Chunk sent = i + 1 < end ? chunk : std::move(chunk);
    sent.first += link.latency;
    sent.last += link.latency;
    const bool all = link.broadcast;
    link.queue->push(std::move(sent),
                     all ? link.to : link.to + lane - link.from,
                     all ? link.count : 1, expectedOf(link, ticket));
  }
}

void Links::await(int lane, Ticket &ticket) const {
  auto its = [&](const Link &link) {
    const bool one = lane >= 0 && !link.broadcast;
    link.queue->await(one ? link.to + lane - link.from : link.to,
                      one ? 1 : link.count, expectedOf(link, &ticket));
    return false;
  };
  if (lane >= 0)
    anyOf(lane, its);
  else
    std::any_of(links.begin(), links.end(), its);
}

void Links::push(std::span<Chunk> chunks, int lane) const {
  const uint32_t end = firstOfLane[size_t(lane) + 1];
  for (uint32_t i = firstOfLane[size_t(lane)]; i < end; ++i) {
    const Link &link = links[ofLane[i]];
    const bool all = link.broadcast;
    std::vector<Chunk> others; // The last one takes them.
    if (i + 1 < end)
      others.assign(chunks.begin(), chunks.end());
    link.queue->push(i + 1 < end ? others : chunks, link.latency,
                     all ? link.to : link.to + lane - link.from,
                     all ? link.count : 1);
  }
}

size_t Links::asked(Actor &sender, int lane, Demand &slowest) const {
  size_t words = SIZE_MAX;
  auto lacks = [&](const Link &link) {
    const bool one = lane >= 0 && !link.broadcast;
    Demand its;
    words = std::min(
        words, link.queue->asked(one ? link.to + lane - link.from : link.to,
                                 one ? 1 : link.count, sender, its));
    if (words == 0)
      return true;
    slowest.start = std::max(slowest.start, its.start - link.latency);
    slowest.queued = std::min(slowest.queued, its.queued);
    slowest.perWord = std::max(slowest.perWord, its.perWord * double(its.used) /
                                                    double(its.total));
    return false;
  };
  const bool none = lane < 0 ? std::any_of(links.begin(), links.end(), lacks)
                             : anyOf(lane, lacks);
  return none ? 0 : words;
}

bool Links::reach(const StripQueue &queue, int lane) const {
  if (lane < 0)
    return std::any_of(links.begin(), links.end(),
                       [&](const Link &link) { return link.queue == &queue; });
  return anyOf(lane, [&](const Link &link) {
    return link.queue == &queue && link.to <= lane &&
           lane < link.to + link.count;
  });
}

bool Links::full(Actor &writer) const {
  return std::any_of(links.begin(), links.end(), [&](const Link &link) {
    return link.queue->full(writer);
  });
}

bool Links::full(Actor &writer, int lane) const {
  return anyOf(lane,
               [&](const Link &link) { return link.queue->full(writer); });
}

// ---------------------------------------------------------------- world

/// Launch wavelets, and what they carry.
static size_t commandWords(const Call &call) {
  size_t words = 0;
  for (size_t launch = 0; launch < call.launches(); ++launch)
    words += call.commandWords(launch);
  return words;
}

World::World(ProgramImage &image, const Call &call,
             const EngineOptions &options, WorkerPool &pool)
    : image(image), call(call), observer(options.observer), scheduler(pool),
      commands(image.commands, scheduler, commandWords(call)),
      launches(call.launches(), options.furthestLaunch),
      queueWords(options.queueWords), queueBytes(options.queueBytes),
      workLimit(options.workLimit), done(image.strips.size()),
      knownWiring(image.strips.size() * size_t(image.machine.colors())) {
  for (const auto &strip : image.strips) {
    strip->reset();
    if (observer) {
      std::vector<int> &pes = pesOfStrip.emplace_back();
      for (int row : strip->rows)
        pes.push_back(row * image.router.width() + strip->column);
    }
    wiring.push_back(std::make_unique<Wiring>());
  }
}

void World::refuseColor(int color, const Strip &strip) const {
  throw Error(ErrorClass::BadProgram,
              "class " + inQuotes(strip.code.name) + " uses color " +
                  std::to_string(color) + ", the machine has " +
                  std::to_string(image.machine.colors()));
}

World::Known &World::known(const Strip &strip, int color) {
  const int colors = image.machine.colors();
  if (color < 0 || color >= colors)
    refuseColor(color, strip);
  return knownWiring[size_t(strip.index) * size_t(colors) + size_t(color)];
}

StripQueue &World::queue(const Strip &strip, int color) {
  Known &its = known(strip, color);
  if (StripQueue *queue = its.queue.load(std::memory_order_acquire))
    return *queue;
  Wiring &w = *wiring[size_t(strip.index)];
  std::lock_guard<std::mutex> guard(w.lock);
  std::unique_ptr<StripQueue> &slot = w.queues[color];
  if (!slot) {
    slot = std::make_unique<StripQueue>(scheduler, strip.lanes, queueWords,
                                        recording, strip.index);
    slot->inbox = inboxWords(image.machine, strip.code, color);
  }
  its.queue.store(slot.get(), std::memory_order_release);
  return *slot;
}

StripQueue &World::exitStripQueue(int color, int row) {
  std::lock_guard<std::mutex> guard(exitLock);
  std::unique_ptr<StripQueue> &slot = exits[{color, row}];
  if (!slot) {
    slot = std::make_unique<StripQueue>(scheduler, 1, queueWords, recording,
                                        exitReader(row));
    // The host takes all of them at once.
    slot->ask({.queued = 1e9}, PTRDIFF_MAX / 2, -1);
  }
  return *slot;
}

/// Adds a lane's flow, joining it with the previous lane's where the targets
/// are neighbours too.
void World::connect(Links &result, int color, const Flow &flow, int fromLane,
                    const Strip *sender) {
  const bool fromHost = !sender;
  const size_t outbox =
      sender ? size_t(outboxWords(image.machine, sender->code, color)) : 0;
  const auto perHop =
      size_t(routerWords(image.machine) + hopCycles(image.machine) - 1);
  struct Target {
    int strip, lane, hops;
  };
  std::vector<Target> targets;
  for (const Arrival &arrival : flow.delivered) {
    int index = image.stripOf[size_t(arrival.pe.y) * image.router.width() +
                              arrival.pe.x];
    if (index < 0)
      throw Error(ErrorClass::UnreadTraffic,
                  "color " + std::to_string(color) + " delivers to PE " +
                      toString(arrival.pe) + ", which has no code");
    targets.push_back(
        {index, image.strips[index]->laneOf(arrival.pe), arrival.hops});
  }
  std::sort(targets.begin(), targets.end(),
            [](const Target &a, const Target &b) {
              return std::pair(a.strip, a.lane) < std::pair(b.strip, b.lane);
            });
  for (size_t i = 0; i < targets.size();) {
    size_t end = i + 1;
    int hops = targets[i].hops;
    for (; end < targets.size() && targets[end].strip == targets[i].strip &&
           targets[end].lane == targets[end - 1].lane + 1;
         ++end)
      hops = std::max(hops, targets[end].hops);
    StripQueue &to = queue(*image.strips[targets[i].strip], color);
    double latency = linkLatency(image.machine, hops, fromHost);
    int lane = targets[i].lane, count = int(end - i);
    i = end;
    auto joins = [&](const Link &link) {
      return !link.broadcast && link.queue == &to &&
             link.from + link.count == fromLane && link.to + link.count == lane;
    };
    auto before = std::find_if(result.links.begin(), result.links.end(), joins);
    if (count == 1 && before != result.links.end()) {
      ++before->count;
      before->latency = std::max(before->latency, latency);
    } else {
      const ClassCode &code =
          image.strips[targets[i - size_t(count)].strip]->code;
      const size_t room = outbox + perHop * size_t(hops) +
                          size_t(inboxWords(image.machine, code, color));
      result.leastRoom = std::min(result.leastRoom, room);
      result.links.push_back(
          {&to, fromLane, lane, count, count > 1, latency, room});
    }
  }
  for (const Arrival &exit : flow.exits) {
    result.links.push_back({&exitStripQueue(color, exit.pe.y), fromLane, 0, 1,
                            false,
                            linkLatency(image.machine, exit.hops, fromHost),
                            SIZE_MAX}); // The host takes all at once.
    result.exitRow = exit.pe.y;
  }
}

double World::exitPerWord(size_t launch, int row, int color) const {
  auto found = exitWords.find({launch, row});
  if (found == exitWords.end() || !found->second.count(color))
    return 0;
  const uint64_t own = found->second.at(color);
  double turns = 0;
  for (const auto &[other, words] : found->second)
    turns += double(std::min(words, own));
  return turns / double(own);
}

const Links &World::links(const Strip &strip, int color) {
  Known &its = known(strip, color);
  if (const Links *links = its.links.load(std::memory_order_acquire))
    return *links;
  // Traced without the lock: a flow may come back to its own strip.
  auto result = std::make_unique<Links>();
  for (int lane = 0; lane < strip.lanes; ++lane) {
    // Lanes of a strip may play different roles; one that cannot send is not
    // an error until it does.
    Coordinate pe = strip.pe(lane);
    bool sends = image.router.hasRule(color, pe) &&
                 image.router.receive(color, pe) == Port::Ramp;
    Flow flow;
    try {
      if (sends)
        flow = image.router.trace(color, pe, Port::Ramp);
    } catch (const Error &) {
      sends = false;
    }
    if (sends)
      connect(*result, color, flow, lane, &strip);
    else
      result->mute.push_back(lane);
  }
  result->sortByLane(strip.lanes);
  Wiring &w = *wiring[size_t(strip.index)];
  std::lock_guard<std::mutex> guard(w.lock);
  const Links &made = *w.links.emplace(color, std::move(result)).first->second;
  its.links.store(&made, std::memory_order_release);
  return made;
}

Links World::hostLinks(int color, int row) {
  Links result;
  connect(result, color, image.router.trace(color, {0, row}, Port::West), 0,
          nullptr);
  for (const Link &link : result.links)
    link.queue->isFromHost = true;
  return result;
}

bool World::growStripQueues() {
  bool any = false;
  size_t waiting = 0;
  auto growOne = [&](StripQueue &queue) {
    any |= queue.grow();
    waiting += queue.waitingBytes();
  };
  for (const auto &w : wiring)
    for (const auto &[color, queue] : w->queues)
      growOne(*queue);
  for (const auto &[where, queue] : exits)
    growOne(*queue);
  if (any && waiting > queueBytes)
    throw Error(ErrorClass::HostLimit,
                "words that wait between PEs take " + std::to_string(waiting) +
                    " bytes of the host's memory, allowed are " +
                    std::to_string(queueBytes) +
                    " (EngineOptions::queueBytes); the wavelet engine "
                    "holds no more than the machine's queues");
  return any;
}

bool World::releaseSenders() {
  bool any = false;
  for (const auto &w : wiring)
    for (const auto &[color, queue] : w->queues)
      any |= queue->release();
  return any;
}

void World::refuseWork() const {
  throw Error(ErrorClass::WorkLimit,
              "the run takes more than the " + std::to_string(workLimit) +
                  " elements and statements that are allowed");
}

void World::record(Recording *into) {
  recording = into;
  for (const auto &strip : image.strips) {
    strip->memory.record(into, uint32_t(strip->index));
    strip->programWords.forget();
  }
  forEachQueue([&](StripQueue &queue) { queue.recording = into; });
  for (const auto &[where, queue] : exits)
    queue->recording = into;
}

void World::checkAllRead() {
  std::map<int, std::vector<Coordinate>> unread;
  for (size_t i = 0; i < wiring.size(); ++i)
    for (const auto &[color, queue] : wiring[i]->queues)
      for (int lane : queue->lanesWithWords())
        unread[color].push_back(image.strips[i]->pe(lane));
  std::string message;
  for (const auto &[color, pes] : unread)
    message +=
        "\n  color " + std::to_string(color) + " at " + describeRectangles(pes);
  for (const auto &[where, queue] : exits)
    if (!queue->lanesWithWords().empty())
      message += "\n  color " + std::to_string(where.first) +
                 " beyond the east edge at row " + std::to_string(where.second);
  if (!message.empty())
    throw Error(ErrorClass::UnreadTraffic,
                "words are left that nobody read:" + message);
}

void World::addTo(WaitGraph &graph) const {
  for (size_t i = 0; i < wiring.size(); ++i)
    for (const auto &[color, queue] : wiring[i]->queues)
      for (int lane : queue->lanesWithWords())
        graph.addDelivered(image.strips[i]->pe(lane), color, 1);
}

std::vector<std::string> World::describeQueues(const Strip &strip,
                                               int lane) const {
  std::vector<std::string> lines;
  for (const auto &[color, queue] : wiring[size_t(strip.index)]->queues) {
    const std::vector<int> lanes = queue->lanesWithWords();
    if (std::find(lanes.begin(), lanes.end(), lane) != lanes.end())
      lines.push_back("color " + std::to_string(color) +
                      ": words wait for the PE");
  }
  return lines;
}

std::string World::describeLaunch(size_t launch) const {
  return runtime::describeLaunch(call, launch);
}

void World::noteArrival(uint32_t stream, double when) {
  std::lock_guard<SpinLock> guard(launchLock);
  arrivals.emplace_back(stream, when);
}

void World::recordLaunch(size_t launch, double time) {
  std::lock_guard<SpinLock> guard(launchLock);
  if (launches.note(launch, time, time) && recording)
    recording->enterLaunch(uint32_t(launch));
}

void World::recordEnd(const Strip &strip, size_t launch, double end) {
  if (observer) // It may ask at any time.
    return recordLaunch(launch, end);
  Done &its = done[size_t(strip.index)];
  if (launch == its.launch) {
    its.end = std::max(its.end, end);
    return;
  }
  if (its.launch != SIZE_MAX)
    recordLaunch(its.launch, its.end);
  its.launch = launch;
  its.end = end;
}

void World::noteEnds() {
  for (Done &its : done)
    if (its.launch != SIZE_MAX)
      recordLaunch(std::exchange(its.launch, SIZE_MAX), its.end);
}

World::Work World::work() const {
  Work sum = repeated;
  sum.spent = spent;
  for (const Done &its : done) {
    sum.instructions += its.work.instructions;
    sum.operations += its.work.operations;
  }
  return sum;
}

} // namespace wsec::runtime
