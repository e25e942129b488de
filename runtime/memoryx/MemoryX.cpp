// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/memoryx/MemoryX.h"
#include "runtime/memoryx/InLane.h"
#include "runtime/memoryx/OutLane.h"
#include "runtime/program/Checker.h"
#include "runtime/program/Errors.h"
#include "runtime/program/NearestNames.h"

namespace wsec::runtime {

MemoryX::MemoryX(TensorStore &store)
    : program(store.program()), tensors(store) {
  if (!program.streams())
    return;
  uint64_t blocks = 0;
  for (const program::HostStream *stream : *program.streams()) {
    Stream made;
    for (const program::Lane *lane : *stream->lanes()) {
      if (stream->direction() == program::Direction::In)
        made.in.push_back(
            std::make_unique<InLane>(store, *stream, *lane, blocks));
      else
        made.out.push_back(std::make_unique<OutLane>(store, *stream, *lane));
    }
    streams.push_back(std::move(made));
  }
}

MemoryX::~MemoryX() = default;

InLane &MemoryX::inLane(uint32_t stream, uint32_t lane) {
  if (stream >= streams.size() || lane >= streams[stream].in.size())
    throw Error(ErrorClass::BadProgram,
                "there is no lane " + std::to_string(lane) +
                    " of an In stream " + std::to_string(stream));
  return *streams[stream].in[lane];
}

OutLane &MemoryX::outLane(uint32_t stream, uint32_t lane) {
  if (stream >= streams.size() || lane >= streams[stream].out.size())
    throw Error(ErrorClass::BadProgram,
                "there is no lane " + std::to_string(lane) +
                    " of an Out stream " + std::to_string(stream));
  return *streams[stream].out[lane];
}

uint64_t MemoryX::words(uint32_t stream, uint32_t lane) {
  if (stream < streams.size() && lane < streams[stream].in.size())
    return streams[stream].in[lane]->words();
  return outLane(stream, lane).words();
}

WordView MemoryX::next(uint32_t stream, uint32_t lane, size_t maxWords) {
  return inLane(stream, lane).next(maxWords);
}

void MemoryX::store(uint32_t stream, uint32_t lane, const WordView &words) {
  outLane(stream, lane).store(words);
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

std::set<uint32_t> MemoryX::launched() const {
  std::set<uint32_t> used;
  for (const program::Launch *launch : *program.launches())
    if (launch->streams())
      used.insert(launch->streams()->begin(), launch->streams()->end());
  return used;
}

uint64_t MemoryX::wordsIn() const {
  uint64_t words = 0;
  for (uint32_t stream : launched())
    for (const auto &lane : streams[stream].in)
      words += lane->words();
  return words;
}

uint64_t MemoryX::weightWordsIn() const {
  uint64_t words = 0;
  for (uint32_t stream : launched())
    for (const auto &lane : streams[stream].in)
      words += lane->weightWords();
  return words;
}

void MemoryX::checkWritten(std::map<uint32_t, uint64_t> written) const {
  // A copy writes all of its tensor.
  if (program.copies())
    for (const program::HostCopy *copy : *program.copies())
      if (copy->direction() == program::Direction::Out)
        written[copy->tensor()] = UINT64_MAX;
  for (uint32_t i = 0; i < program.tensors()->size(); ++i) {
    const program::Tensor &tensor = tensors.tensor(i);
    if (tensor.role() != program::TensorRole::Output || tensor.alias() >= 0 ||
        written[i] >= elementCount(tensor))
      continue;
    throw Error(ErrorClass::BadProgram,
                "output " + inQuotes(tensor.name()->string_view()) + " has " +
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
                    std::to_string(expected) + " words on one lane");
  };
  std::map<uint32_t, uint64_t> written; // words by tensor
  for (uint32_t stream : launched()) {
    for (auto &lane : streams[stream].in)
      compare(stream, lane->delivered(), lane->words(), "delivered");
    for (auto &lane : streams[stream].out) {
      compare(stream, lane->stored(), lane->words(), "brought");
      for (auto [tensor, words] : lane->wordsOf())
        written[tensor] += words;
    }
  }
  checkWritten(written);
}

} // namespace wsec::runtime
