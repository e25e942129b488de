// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/strips/OperationOrder.h"

#include <algorithm>
#include <array>
#include <limits>

namespace wsec::runtime {

using BufferKind = Recording::Buffer::Kind;
using Operation = Recording::Operation;

/// What an operand lies in: memory that moves is used in the order of all of
/// it.
static Recording::BufferId bufferOf(const Recording &recording,
                                    const Recording::Operand &operand) {
  const Recording::Buffer &its = recording.buffers[operand.buffer];
  return its.kind == BufferKind::Moving ? recording.movings[its.viewIndex].area
                                        : operand.buffer;
}

Dependencies::Dependencies(const Recording &recording)
    : recording(recording), resources(recording.buffers.size()) {
  begins.reserve(recording.operations.size() + 1);
  for (uint32_t i = 0; i < recording.operations.size(); ++i) {
    begins.push_back(uint32_t(list.size()));
    note(i);
  }
  begins.push_back(uint32_t(list.size()));
}

/// Whether one is certain to come behind the other without being told.
bool Dependencies::follows(uint32_t before, uint32_t after) const {
  const Operation &x = recording.operations[before],
                  &y = recording.operations[after];
  return x.kind != Operation::Kind::Next && y.kind != Operation::Kind::Next &&
         x.actor == y.actor;
}

void Dependencies::after(uint32_t operation, uint32_t other) {
  if (other != none && other != operation && !follows(other, operation) &&
      std::find(list.begin() + begins[operation], list.end(), other) ==
          list.end())
    list.push_back(other);
}

void Dependencies::read(uint32_t operation, Resource &resource) {
  after(operation, resource.writer);
  for (uint32_t &reader : resource.readers)
    if (reader == operation || follows(reader, operation)) {
      reader = operation;
      return;
    }
  resource.readers.push_back(operation);
}

void Dependencies::write(uint32_t operation, Resource &resource) {
  after(operation, resource.writer);
  for (uint32_t reader : resource.readers)
    after(operation, reader);
  resource.readers.clear();
  resource.writer = operation;
}

Dependencies::Resource &
Dependencies::resourceOf(const Recording::Operand &operand) {
  return resources[bufferOf(recording, operand)];
}

void Dependencies::note(uint32_t index) {
  const Operation &operation = recording.operations[index];
  forEachSource(recording, operation, [&](const Recording::Operand &source) {
    if (recording.buffers[source.buffer].kind >= BufferKind::Sram)
      read(index, resourceOf(source));
  });
  if (operation.dst.buffer != Recording::nothing)
    write(index, resourceOf(operation.dst));
  if (operation.kind != Operation::Kind::Next &&
      operation.kind != Operation::Kind::Store)
    return;
  const ChannelKey channel = channelOf(recording, operation);
  if (operation.kind == Operation::Kind::Store)
    write(index, stored[channel]);
  for (uint32_t tensor : recording.passing[channel.first])
    if (operation.kind == Operation::Kind::Next)
      read(index, passing[tensor]);
    else
      write(index, passing[tensor]);
}

Delays::Delays(const Recording &recording)
    : recording(recording), accesses(recording.buffers.size()) {
  for (uint32_t i = 0; i < recording.operations.size(); ++i) {
    const Operation &operation = recording.operations[i];
    auto use = [&](const Recording::Operand &operand) {
      Accesses &its = accesses[bufferOf(recording, operand)];
      its.shared |= its.actor != none && its.actor != operation.actor;
      its.actor = operation.actor;
    };
    forEachSource(recording, operation, use);
    use(operation.dst);
    Accesses &its = accesses[bufferOf(recording, operation.dst)];
    its.written = i;
    its.writer = operation.actor;
  }
}

bool Delays::allowed(uint32_t index) const {
  const Operation &operation = recording.operations[index];
  auto isOwn = [&](const Recording::Operand &operand) {
    return recording.buffers[operand.buffer].kind == BufferKind::Sram &&
           !accesses[operand.buffer].shared;
  };
  if (operation.kind != Operation::Kind::Compute || !isOwn(operation.dst) ||
      recording.nests[operation.index].checks())
    return false;
  bool brings = false, stays = true;
  forEachSource(recording, operation, [&](const Recording::Operand &source) {
    const BufferKind kind = recording.buffers[source.buffer].kind;
    const Accesses &its = accesses[source.buffer];
    const bool complete = kind == BufferKind::Scratch && its.written < index;
    brings |= complete && its.writer != operation.actor;
    stays &= complete || isOwn(source) || kind <= BufferKind::External;
  });
  return brings && stays;
}

Delays::Ranges Delays::rangesOf(uint32_t index) const {
  const Operation &operation = recording.operations[index];
  const bool known =
      operation.kind == Operation::Kind::Compute && !operation.parts;
  std::array<std::pair<ptrdiff_t, ptrdiff_t>, 3> reaches;
  if (known)
    reaches = recording.nests[operation.index].reaches();
  auto range = [&](const Recording::Operand &its, size_t operand) -> Range {
    const Recording::BufferId buffer = bufferOf(recording, its);
    if (known && buffer == its.buffer)
      return {buffer, its.offset + reaches[operand].first,
              its.offset + reaches[operand].second};
    return {buffer, std::numeric_limits<ptrdiff_t>::min(),
            std::numeric_limits<ptrdiff_t>::max()};
  };
  Ranges result{range(operation.dst, 0),
                {range(operation.a, 1), range(operation.b, 2)}};
  if (!known)
    forEachSource(recording, operation, [&](const Recording::Operand &source) {
      result.more.push_back(range(source, 1));
    });
  return result;
}

bool Delays::Ranges::conflict(const Ranges &other) const {
  auto uses = [](const Ranges &its, const Range &written) {
    auto overlaps = [&](const Range &range) { return range.overlaps(written); };
    return overlaps(its.written) ||
           std::any_of(its.read.begin(), its.read.end(), overlaps) ||
           std::any_of(its.more.begin(), its.more.end(), overlaps);
  };
  return uses(*this, other.written) || uses(other, written);
}

} // namespace wsec::runtime
