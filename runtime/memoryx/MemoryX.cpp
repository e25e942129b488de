// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/memoryx/MemoryX.h"
#include "runtime/memoryx/InChannel.h"
#include "runtime/memoryx/OutChannel.h"
#include "runtime/program/Checker.h"
#include "runtime/program/Errors.h"
#include "runtime/program/NearestNames.h"
#include "runtime/program/Scalars.h"

#include <algorithm>

namespace wsec::runtime {

MemoryX::MemoryX(TensorStore &store) : MemoryX(store, Call(store.program())) {}

MemoryX::MemoryX(TensorStore &store, const Call &which, WrittenLines *written)
    : call(which), program(store.program()), tensors(store) {
  if (!program.streams())
    return;
  streams = std::vector<Stream>(program.streams()->size());
  uint64_t blocks = 0;
  const std::map<uint32_t, uint64_t> used = launched();
  for (uint32_t index = 0; index < streams.size(); ++index) {
    // Those of other entries may ask for arguments that there are not.
    if (program.entries()->size() > 1 && !used.count(index))
      continue;
    const program::HostStream &stream = *program.streams()->Get(index);
    const std::vector<int64_t> arguments = call.carriedBy(index);
    if (stream.direction() == program::Direction::Out)
      streams[index].blocks =
          OutBlocks::of(stream, program.machine()->width(), arguments);
    for (const program::Channel *channel : *stream.channels())
      if (stream.direction() == program::Direction::In)
        streams[index].in.push_back(std::make_unique<InChannel>(
            store, stream, *channel, arguments, blocks));
      else
        streams[index].out.push_back(std::make_unique<OutChannel>(
            store, stream, *channel, streams[index].blocks));
    for (uint32_t i = 0; written && i < streams[index].in.size(); ++i)
      streams[index].in[i]->keep(*written,
                                 written->of(index, i,
                                             dependsOnArguments(stream)
                                                 ? arguments
                                                 : std::vector<int64_t>()));
  }
  separateSums();
}

void MemoryX::separateSums() {
  std::map<uint32_t, std::vector<OutChannel::Share *>> adding; // by tensor
  for (auto [stream, uses] : launched())
    for (const program::Segment *segment :
         *program.streams()->Get(stream)->segments())
      if (segment->accumulate())
        adding[segment->tensor()];
  if (adding.empty())
    return;
  for (auto [stream, uses] : launched())
    for (auto &channel : streams[stream].out) {
      channel->words();
      for (auto &[tensor, share] : channel->shares())
        if (share.accumulates)
          adding[tensor].push_back(&share);
    }
  for (auto &[tensor, shares] : adding) {
    std::vector<OutChannel::Share *> sorted = shares;
    std::sort(sorted.begin(), sorted.end(),
              [](const auto *a, const auto *b) { return a->low < b->low; });
    int64_t end = -1;
    bool apart = true;
    for (const OutChannel::Share *share : sorted) {
      apart &= share->low > end;
      end = std::max(end, share->high);
    }
    for (OutChannel::Share *share : shares)
      if (!apart)
        share->sums.resize(size_t(share->high - share->low + 1));
  }
}

void MemoryX::addSums() {
  for (Stream &stream : streams)
    for (auto &channel : stream.out)
      for (auto &[tensor, share] : channel->shares()) {
        auto *sums = reinterpret_cast<float *>(tensors.outputElements(tensor));
        for (size_t i = 0; i < share.sums.size(); ++i)
          sums[share.low + int64_t(i)] += share.sums[i];
      }
}

MemoryX::~MemoryX() = default;

void MemoryX::restart() {
  for (Stream &stream : streams) {
    for (auto &channel : stream.in)
      channel->restart();
    for (auto &channel : stream.out)
      channel->restart();
  }
}

bool MemoryX::rewind() {
  restart();
  tensors.clearOutputs(outputs());
  if (gradients)
    gradients->restart();
  return true;
}

InChannel &MemoryX::inChannel(uint32_t stream, uint32_t channel) {
  if (stream >= streams.size() || channel >= streams[stream].in.size())
    throw Error(ErrorClass::BadProgram,
                "there is no channel " + std::to_string(channel) +
                    " of an In stream " + std::to_string(stream));
  return *streams[stream].in[channel];
}

OutChannel &MemoryX::outChannel(uint32_t stream, uint32_t channel) {
  if (stream >= streams.size() || channel >= streams[stream].out.size())
    throw Error(ErrorClass::BadProgram,
                "there is no channel " + std::to_string(channel) +
                    " of an Out stream " + std::to_string(stream));
  return *streams[stream].out[channel];
}

uint64_t MemoryX::words(uint32_t stream, uint32_t channel) {
  if (stream < streams.size() && channel < streams[stream].in.size())
    return streams[stream].in[channel]->words();
  return outChannel(stream, channel).words();
}

WordView MemoryX::next(uint32_t stream, uint32_t channel, size_t maxWords) {
  return inChannel(stream, channel).next(maxWords);
}

void MemoryX::store(uint32_t stream, uint32_t channel, const WordView &words) {
  OutChannel &its = outChannel(stream, channel);
  const uint64_t before = its.stored();
  its.store(words);
  if (!gradients || its.words() == 0)
    return;
  if (const uint64_t launches =
          its.stored() / its.words() - before / its.words())
    for (const auto &[tensor, share] : its.shares())
      if (!share.accumulates)
        gradients->arrived(tensor, launches * share.elements);
}

void MemoryX::collectGradients(TakeGradient take) {
  std::map<uint32_t, uint64_t> expected;
  for (uint32_t output : outputs())
    expected[output];
  for (auto [stream, launches] : launched())
    for (auto &channel : streams[stream].out) {
      channel->words();
      // What adds to sums of its own is there at the end.
      for (const auto &[tensor, share] : channel->shares())
        expected[tensor] +=
            launches * share.elements + (share.accumulates ? 1 : 0);
    }
  gradients =
      std::make_unique<GradientCollector>(tensors, expected, std::move(take));
}

void MemoryX::countDelivered(uint32_t stream, uint32_t channel,
                             uint64_t words) {
  inChannel(stream, channel).countDelivered(words);
}

const uint8_t *MemoryX::tensorElements(uint32_t tensor) {
  return program.tensors()->Get(tensor)->role() == program::TensorRole::Output
             ? nullptr
             : tensors.elements(tensor);
}

uint8_t *MemoryX::outputElements(uint32_t tensor) {
  return program.tensors()->Get(tensor)->role() == program::TensorRole::Output
             ? tensors.outputElements(tensor)
             : nullptr;
}

std::map<uint32_t, uint64_t> MemoryX::launched() const {
  std::map<uint32_t, uint64_t> used;
  for (const program::Launch *launch : call.launchList())
    if (launch->streams())
      for (uint32_t stream : *launch->streams())
        ++used[stream];
  return used;
}

uint64_t MemoryX::wordsIn() const {
  uint64_t words = 0;
  for (auto [stream, launches] : launched())
    for (const auto &channel : streams[stream].in)
      words += launches * channel->words();
  return words;
}

uint64_t MemoryX::weightWordsIn() const {
  uint64_t words = 0;
  for (auto [stream, launches] : launched())
    for (const auto &channel : streams[stream].in)
      words += launches * channel->weightWords();
  return words;
}

std::set<uint32_t> MemoryX::outputs() const {
  std::set<uint32_t> written;
  for (auto [stream, launches] : launched())
    if (program.streams()->Get(stream)->direction() == program::Direction::Out)
      for (const program::Segment *segment :
           *program.streams()->Get(stream)->segments())
        written.insert(segment->tensor());
  if (call.copies())
    for (const program::HostCopy *copy : *call.copies())
      if (copy->direction() == program::Direction::Out)
        written.insert(copy->tensor());
  return written;
}

void MemoryX::checkWritten(std::map<uint32_t, uint64_t> written) const {
  if (!call.isWhole()) // launches that are not made write the rest
    return;
  // A copy writes all of its tensor.
  if (call.copies())
    for (const program::HostCopy *copy : *call.copies())
      if (copy->direction() == program::Direction::Out)
        written[copy->tensor()] = UINT64_MAX;
  // Other entries may write the others.
  const bool alone = program.entries()->size() == 1;
  const std::set<uint32_t> mine = outputs();
  for (uint32_t i = 0; i < program.tensors()->size(); ++i) {
    const program::Tensor &tensor = tensors.tensor(i);
    if (!alone && !mine.count(i))
      continue;
    const bool passing = tensor.role() == program::TensorRole::Intermediate;
    if ((tensor.role() != program::TensorRole::Output && !passing) ||
        tensor.alias() >= 0 || written[i] >= elementCount(tensor))
      continue;
    throw Error(ErrorClass::BadProgram,
                (passing ? "intermediate " : "output ") +
                    inQuotes(tensor.name()->string_view()) + " has " +
                    std::to_string(elementCount(tensor)) +
                    " elements, the program's streams write " +
                    std::to_string(written[i]));
  }
}

void MemoryX::finish() {
  auto compare = [&](uint32_t stream, uint64_t moved, uint64_t expected,
                     const char *verb) {
    if (moved == expected)
      return;
    const program::HostStream &host = *program.streams()->Get(stream);
    throw Error(ErrorClass::UnreadTraffic,
                "stream " + inQuotes(host.name()->string_view()) + " " + verb +
                    " " + std::to_string(moved) + " of its " +
                    std::to_string(expected) + " words on one channel");
  };
  std::map<uint32_t, uint64_t> written; // elements by tensor
  for (auto [stream, launches] : launched()) {
    for (auto &channel : streams[stream].in)
      compare(stream, channel->delivered(), launches * channel->words(),
              "delivered");
    for (auto &channel : streams[stream].out) {
      compare(stream, channel->stored(), launches * channel->words(),
              "brought");
      for (const auto &[tensor, share] : channel->shares())
        written[tensor] += share.elements;
    }
  }
  checkWritten(written);
  addSums();
  if (gradients)
    gradients->finish();
}

} // namespace wsec::runtime
