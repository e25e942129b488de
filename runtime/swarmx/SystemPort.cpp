// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/swarmx/SystemPort.h"

#include <algorithm>

namespace wsec::runtime {

static bool isShared(const program::Program &program,
                     const program::HostStream &stream) {
  using program::TensorRole;
  if (stream.direction() != program::Direction::In)
    return false;
  for (const program::Segment *segment : *stream.segments()) {
    const TensorRole role = program.tensors()->Get(segment->tensor())->role();
    if ((role != TensorRole::Weight && role != TensorRole::Constant) ||
        segment->index_tensor() >= 0)
      return false;
  }
  return true;
}

SharedChannels::SharedChannels(const Call &call) {
  const program::Program &program = call.program();
  for (const program::Launch *launch : call.launchList())
    for (unsigned s = 0; launch->streams() && s < launch->streams()->size();
         ++s) {
      const uint32_t index = launch->streams()->Get(s);
      const program::HostStream &stream = *program.streams()->Get(index);
      if (!isShared(program, stream))
        continue;
      for (uint32_t c = 0; c < stream.channels()->size(); ++c)
        if (numbers.try_emplace({index, c}, size()).second)
          channels.emplace_back(index, c);
    }
}

int SharedChannels::find(uint32_t stream, uint32_t channel) const {
  const auto found = numbers.find({stream, channel});
  return found == numbers.end() ? -1 : found->second;
}

SystemPort::SystemPort(HostPort &own, const SharedChannels &shared,
                       Broadcast &broadcast, unsigned system,
                       std::counting_semaphore<> *slots)
    : own(own), shared(shared), broadcast(broadcast), system(system),
      slots(slots), rests(shared.size()), taken(shared.size()) {}

uint64_t SystemPort::words(uint32_t stream, uint32_t channel) {
  return own.words(stream, channel);
}

/// Whole rows, or a part of one where `maxWords` are less.
static WordView cut(const WordView &block, size_t &row, size_t &word,
                    size_t maxWords) {
  WordView view = block;
  view.constant = false; // It has to be taken, as all others do.
  view.data += row * block.stride + word * block.wordStride;
  if (word == 0 && maxWords >= block.length) {
    view.rows = std::min(block.rows - row, maxWords / block.length);
    row += view.rows;
    return view;
  }
  view.rows = 1;
  view.length = std::min(block.length - word, maxWords);
  if (view.halves)
    view.halves += word;
  word += view.length;
  if (word == block.length) {
    word = 0;
    ++row;
  }
  return view;
}

void SystemPort::countDelivered(uint32_t stream, uint32_t channel,
                                uint64_t words) {
  own.countDelivered(stream, channel, words);
  wordsIn += words;
}

WordView SystemPort::next(uint32_t stream, uint32_t channel, size_t maxWords) {
  const int number = shared.find(stream, channel);
  if (number < 0) {
    WordView view = own.next(stream, channel, maxWords);
    wordsIn += view.words();
    return view;
  }
  Rest &rest = rests[size_t(number)];
  if (rest.row >= rest.block.rows)
    rest = {broadcast.take(system, unsigned(number), slots), 0, 0};
  WordView view = cut(rest.block, rest.row, rest.word, maxWords);
  taken[size_t(number)] += view.words();
  return view;
}

void SystemPort::store(uint32_t stream, uint32_t channel,
                       const WordView &words) {
  wordsOut += words.words();
  own.store(stream, channel, words);
}

const uint8_t *SystemPort::tensorElements(uint32_t tensor) {
  return own.tensorElements(tensor);
}

uint8_t *SystemPort::outputElements(uint32_t tensor) {
  return own.outputElements(tensor);
}

} // namespace wsec::runtime
