// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/program/facts/Samples.h"

#include "runtime/program/Call.h"
#include "runtime/program/Errors.h"
#include "runtime/program/facts/CommandRoom.h"
#include "runtime/program/proof/DeadlockChecker.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <set>

namespace wsec::runtime {

using program::TensorRole;

// ---------------------------------------------------------------- the order

/// The tensors that a launch moves in this direction.
static std::set<uint32_t> tensorsOf(const program::Program &program,
                                    const program::Launch &launch,
                                    program::Direction direction) {
  std::set<uint32_t> tensors;
  for (unsigned s = 0; launch.streams() && s < launch.streams()->size(); ++s) {
    const program::HostStream &stream =
        *program.streams()->Get(launch.streams()->Get(s));
    if (stream.direction() != direction)
      continue;
    for (const program::Segment *segment : *stream.segments()) {
      tensors.insert(segment->tensor());
      if (segment->index_tensor() >= 0)
        tensors.insert(uint32_t(segment->index_tensor()));
    }
  }
  return tensors;
}

SamplePlan::SamplePlan(const program::Program &program, uint32_t index,
                       uint32_t samples, Start start)
    : program(program), entry(*program.entries()->Get(index)),
      samples(samples) {
  if (program.launch_color() == 255)
    throw Error(ErrorClass::BadProgram,
                "launches of this program are calls of the host, which wait "
                "until all PEs are at rest; several samples at a time take "
                "launch wavelets");
  findPartners();
  findCommandRoom();
  flow.classes = classes.size();
  if (start == Start::Behind)
    forgetWaits();
  for (StageLaunches &stage : classes)
    for (uint32_t launch : stage.launches)
      stage.cycles += flow.cycles[launch];
  launches = orderSamples(flow, samples);
}

/// Which classes take part in a launch, and which launches it has to follow.
void SamplePlan::findPartners() {
  const uint32_t count = entry.launches()->size();
  flow.classesOf.resize(count);
  flow.after.resize(count);
  for (uint32_t c = 0; c < program.classes()->size(); ++c) {
    std::set<uint32_t> routines;
    const auto *its = program.classes()->Get(c)->routines();
    for (unsigned r = 0; its && r < its->size(); ++r)
      routines.insert(its->Get(r)->id());
    StageLaunches stage;
    for (uint32_t l = 0; l < count; ++l)
      if (routines.count(entry.launches()->Get(l)->routine()))
        stage.launches.push_back(l);
    if (stage.launches.empty())
      continue;
    for (uint32_t l : stage.launches)
      flow.classesOf[l].push_back(uint32_t(classes.size()));
    stage.peClass = c;
    classes.push_back(std::move(stage));
  }
  std::map<uint32_t, std::vector<uint32_t>> stored; // by tensor
  for (uint32_t l = 0; l < count; ++l) {
    const program::Launch &launch = *entry.launches()->Get(l);
    for (uint32_t tensor : tensorsOf(program, launch, program::Direction::In))
      if (const auto writers = stored.find(tensor); writers != stored.end())
        flow.after[l].insert(flow.after[l].end(), writers->second.begin(),
                             writers->second.end());
    for (uint32_t tensor : tensorsOf(program, launch, program::Direction::Out))
      stored[tensor].push_back(l);
    flow.cycles.push_back(
        program.kernels()
            ? program.kernels()->Get(launch.kernel())->predicted_cycles()
            : 0);
  }
}

/// How far commands get ahead of a class that is busy.
void SamplePlan::findCommandRoom() {
  const program::Machine &machine = *program.machine();
  CommandQueues queues;
  if (const auto *words = machine.input_queue_words())
    queues.inputQueueWords.assign(words->begin(), words->end());
  queues.reservedInputQueues = machine.reserved_input_queues();
  queues.routerWords = machine.router_buffer_words();
  queues.rampCycles = machine.ramp_cycles();
  queues.hopCycles = machine.hop_cycles();
  std::vector<CommandTarget> targets;
  for (const StageLaunches &stage : classes) {
    const auto &rects = *program.classes()->Get(stage.peClass)->rects();
    CommandTarget all = {INT64_MAX, INT64_MAX, 0, 0};
    for (const program::Rect *rect : rects)
      all = {std::min<int64_t>(all.x0, rect->x0()),
             std::min<int64_t>(all.y0, rect->y0()),
             std::max<int64_t>(all.x1, rect->x1()),
             std::max<int64_t>(all.y1, rect->y1())};
    targets.push_back(all);
  }
  flow.ahead = commandsAhead(queues, targets);
}

/// In one sample a launch waits for the first words of the store, at the start
/// of the run or after those that it reads have been stored. Of many samples a
/// class is at work on others meanwhile: it takes the launch when words are
/// there.
void SamplePlan::forgetWaits() {
  const double latency = program.machine()->store_latency_cycles();
  std::vector<SampleLaunch> once = inOrder();
  playUnhindered(flow, 1, once);
  std::vector<double> ends(flow.cycles.size(), 0), waits(flow.cycles.size(), 0);
  for (const SampleLaunch &each : once)
    ends[each.launch] = each.start + flow.cycles[each.launch];
  for (const SampleLaunch &each : once) {
    double stored = 0;
    for (uint32_t other : flow.after[each.launch])
      stored = std::max(stored, ends[other]);
    if (!tensorsOf(program, *entry.launches()->Get(each.launch),
                   program::Direction::In)
             .empty())
      waits[each.launch] = std::clamp(stored + latency - each.start, 0.0,
                                      flow.cycles[each.launch]);
  }
  for (size_t launch = 0; launch < flow.cycles.size(); ++launch)
    flow.cycles[launch] -= waits[launch];
  flow.storeLatency = latency;
}

/// The launches of one sample as the entry has them.
std::vector<SampleLaunch> SamplePlan::inOrder() const {
  std::vector<SampleLaunch> order;
  for (uint32_t launch = 0; launch < flow.cycles.size(); ++launch)
    order.push_back({0, launch, 0, entry.launches()->Get(launch)->follows()});
  return order;
}

double SamplePlan::cyclesOfEntry() const {
  std::vector<SampleLaunch> order = inOrder();
  playSamples(flow, 1, order);
  double end = 0;
  for (const SampleLaunch &each : order)
    end = std::max(end, each.start + flow.cycles[each.launch]);
  return end;
}

double SamplePlan::cyclesPerSample() const {
  return wsec::runtime::cyclesPerSample(flow, samples, launches);
}

std::vector<double>
SamplePlan::latencies(const StageLaunches *stage,
                      const std::function<Span(size_t)> &spanOf) const {
  const size_t number = stage ? size_t(stage - classes.data()) : 0;
  std::vector<Span> each(samples, {std::numeric_limits<double>::infinity(), 0});
  for (size_t i = 0; i < launches.size(); ++i) {
    const auto &its = flow.classesOf[launches[i].launch];
    if (its.empty() ||
        (stage && std::find(its.begin(), its.end(), number) == its.end()))
      continue;
    auto &[begin, end] = each[launches[i].sample];
    const Span span = spanOf(i);
    begin = std::min(begin, span.first);
    end = std::max(end, span.second);
  }
  std::vector<double> result;
  for (const auto &[begin, end] : each)
    result.push_back(std::max(0.0, end - begin));
  return result;
}

std::vector<double> SamplePlan::latencies(const StageLaunches *stage) const {
  return latencies(stage, [&](size_t i) {
    const double start = launches[i].start;
    return Span(start, start + flow.cycles[launches[i].launch]);
  });
}

double loadCycles(const program::Program &program, uint32_t entry) {
  const program::Entry *load = loadingEntry(program, entry);
  if (!load)
    return 0;
  const uint32_t index = findEntry(program, load->name()->str());
  return SamplePlan(program, index, /*samples=*/1, SamplePlan::Start::First)
      .cyclesOfEntry();
}

// ---------------------------------------------------------------- the program

std::string sampleName(const std::string &name, uint32_t sample) {
  return sample ? name + "#" + std::to_string(sample) : name;
}

namespace {

class Repeater {
public:
  Repeater(const program::Program &source, uint32_t entry, uint32_t samples)
      : source(source), entry(entry), samples(samples) {
    source.UnPackTo(&program);
  }

  std::vector<uint8_t> run(const SamplePlan &plan);

private:
  void copyTensors();
  void copyStreams();
  void copyLaunches(const SamplePlan &plan);
  std::vector<uint8_t> pack() const;
  /// What stands for tensor (or stream) `index` of the source in a sample.
  uint32_t of(const std::vector<uint32_t> &firstCopies, uint32_t index,
              uint32_t sample) const {
    return sample == 0 || firstCopies[index] == 0
               ? index
               : firstCopies[index] + sample - 1;
  }

  const program::Program &source;
  const uint32_t entry, samples;
  program::ProgramT program;
  // The copies follow one another; 0: all samples share it.
  std::vector<uint32_t> tensorCopies, streamCopies;
};

void Repeater::copyTensors() {
  std::set<std::string> taken;
  for (const program::Tensor *tensor : *source.tensors())
    taken.insert(tensor->name()->str());
  for (const program::Tensor *tensor : *source.tensors()) {
    const bool isOwn = tensor->role() == TensorRole::Input ||
                       tensor->role() == TensorRole::Output ||
                       tensor->role() == TensorRole::Intermediate;
    tensorCopies.push_back(
        isOwn && samples > 1 ? uint32_t(program.tensors.size()) : 0);
    for (uint32_t sample = 1; isOwn && sample < samples; ++sample) {
      program.tensors.emplace_back(tensor->UnPack());
      std::string &name = program.tensors.back()->name;
      name = sampleName(tensor->name()->str(), sample);
      if (!taken.insert(name).second)
        throw Error(ErrorClass::BadProgram,
                    "tensor '" + name + "' has the name that '" +
                        tensor->name()->str() + "' gets in sample " +
                        std::to_string(sample) +
                        "; rename it in the model, or run samples one by one");
    }
  }
  for (uint32_t i = 0; i < tensorCopies.size(); ++i)
    for (uint32_t sample = 1; tensorCopies[i] && sample < samples; ++sample)
      if (const int alias = source.tensors()->Get(i)->alias(); alias >= 0)
        program.tensors[of(tensorCopies, i, sample)]->alias =
            int(of(tensorCopies, uint32_t(alias), sample));
  for (uint32_t i = 0; i < tensorCopies.size(); ++i)
    for (uint32_t sample = 1; tensorCopies[i] && sample < samples; ++sample) {
      auto &gradient = program.tensors[of(tensorCopies, i, sample)]->gradient;
      if (gradient && gradient->rows >= 0)
        gradient->rows =
            int(of(tensorCopies, uint32_t(gradient->rows), sample));
    }
}

void Repeater::copyStreams() {
  for (unsigned i = 0; source.streams() && i < source.streams()->size(); ++i) {
    const program::HostStream &stream = *source.streams()->Get(i);
    const auto isOwn = [&](const program::Segment *segment) {
      return tensorCopies[segment->tensor()] != 0 ||
             (segment->index_tensor() >= 0 &&
              tensorCopies[uint32_t(segment->index_tensor())] != 0);
    };
    const bool any = std::any_of(stream.segments()->begin(),
                                 stream.segments()->end(), isOwn);
    streamCopies.push_back(any ? uint32_t(program.streams.size()) : 0);
    for (uint32_t sample = 1; any && sample < samples; ++sample) {
      program.streams.emplace_back(stream.UnPack());
      program::HostStreamT &copy = *program.streams.back();
      copy.name = sampleName(copy.name, sample);
      for (auto &segment : copy.segments) {
        segment->tensor = of(tensorCopies, segment->tensor, sample);
        if (segment->index_tensor >= 0)
          segment->index_tensor =
              int(of(tensorCopies, uint32_t(segment->index_tensor), sample));
      }
    }
  }
}

void Repeater::copyLaunches(const SamplePlan &plan) {
  const program::Entry &its = *source.entries()->Get(entry);
  program::EntryT &repeated = *program.entries[entry];
  std::vector<double> starts(its.launches()->size()); // of the first sample
  for (const SampleLaunch &each : plan.order())
    if (each.sample == 0)
      starts[each.launch] = each.start;
  repeated.launches.clear();
  repeated.values.clear(); // which are of one sample
  uint32_t order = 0;
  for (const SampleLaunch &each : plan.order()) {
    const program::Launch &launch = *its.launches()->Get(each.launch);
    repeated.launches.emplace_back(launch.UnPack());
    program::LaunchT &copy = *repeated.launches.back();
    copy.follows = each.follows;
    for (uint32_t &stream : copy.streams)
      stream = of(streamCopies, stream, each.sample);
    // Words of a color flow in the order of launches. Later ones are expected
    // as much later as their launch.
    const auto later = uint64_t(each.start - starts[each.launch]);
    std::vector<size_t> slots(copy.slots.size());
    std::iota(slots.begin(), slots.end(), size_t(0));
    std::sort(slots.begin(), slots.end(), [&](size_t a, size_t b) {
      return copy.slots[a].order() < copy.slots[b].order();
    });
    for (size_t i : slots) {
      const program::Slot &slot = copy.slots[i];
      copy.slots[i] = program::Slot(order++, slot.ahead(), slot.begin() + later,
                                    slot.end() + later);
    }
  }
}

std::vector<uint8_t> Repeater::pack() const {
  flatbuffers::FlatBufferBuilder builder;
  program::FinishProgramBuffer(builder,
                               program::Program::Pack(builder, &program));
  return {builder.GetBufferPointer(),
          builder.GetBufferPointer() + builder.GetSize()};
}

std::vector<uint8_t> Repeater::run(const SamplePlan &plan) {
  if (!program.entries[entry]->copies.empty())
    throw Error(ErrorClass::BadProgram,
                "entry '" + program.entries[entry]->name +
                    "' copies tensors to and from PEs beside its streams, "
                    "between launches that several samples in flight mix");
  copyTensors();
  copyStreams();
  copyLaunches(plan);
  program.proof.reset();
  const std::vector<uint8_t> unproved = pack();
  DeadlockProof proof =
      proveDeadlockFree(*program::GetProgram(unproved.data()));
  program.proof = std::make_unique<program::ProofT>();
  program.proof->verdict = proof.verdict;
  program.proof->reason = std::move(proof.reason);
  return pack();
}

} // namespace

std::shared_ptr<const LoadedProgram>
repeatEntry(const std::shared_ptr<const LoadedProgram> &loaded, uint32_t entry,
            uint32_t samples, const SamplePlan &plan) {
  return LoadedProgram::derived(
      loaded, Repeater(loaded->program(), entry, samples).run(plan));
}

} // namespace wsec::runtime
