// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/strips/ConstantWords.h"

#include <map>
#include <utility>

namespace wsec::runtime {

using Kind = Recording::Operation::Kind;
using BufferKind = Recording::Buffer::Kind;

/// Whether an operation does nothing but bring words to another place.
static bool moves(const Recording &recording,
                  const Recording::Operation &operation) {
  return operation.kind == Kind::Interleave ||
         (operation.kind == Kind::Compute &&
          recording.nests[operation.index].moves());
}

ConstantWords::ConstantWords(const Recording &recording,
                             const std::set<Recording::BufferId> &lasting)
    : buffers(recording.buffers.size()),
      operations(recording.operations.size()) {
  for (Recording::BufferId i = 0; i < buffers.size(); ++i) {
    const Recording::Buffer &its = recording.buffers[i];
    if (its.kind == BufferKind::View) {
      const Recording::View &view = recording.views[its.viewIndex];
      buffers[i] = view.constant && recording.passing[view.stream].empty() &&
                   !lasting.contains(i);
    } else {
      buffers[i] = its.kind <= BufferKind::Constant ||
                   (its.kind == BufferKind::Scratch && !lasting.contains(i));
    }
  }
  findMoved(recording);
  findTaken(recording);
}

void ConstantWords::findMoved(const Recording &recording) {
  for (bool changed = true; changed;) {
    changed = false;
    std::vector<bool> read(buffers.size());
    for (size_t i = 0; i < operations.size(); ++i) {
      const Recording::Operation &operation = recording.operations[i];
      bool isConstant = moves(recording, operation);
      forEachSource(recording, operation,
                    [&](const Recording::Operand &source) {
                      isConstant = isConstant && buffers[source.buffer];
                      read[source.buffer] = true;
                    });
      const Recording::BufferId dst = operation.dst.buffer;
      if (recording.buffers[dst].kind != BufferKind::Scratch)
        continue;
      operations[i] = isConstant && !read[dst] && buffers[dst];
      changed |= buffers[dst] && !operations[i];
      buffers[dst] = operations[i];
    }
  }
}

void ConstantWords::findTaken(const Recording &recording) {
  std::vector<bool> needed(buffers.size());
  for (size_t i = 0; i < operations.size(); ++i)
    if (!operations[i] && recording.operations[i].kind != Kind::Next)
      forEachSource(recording, recording.operations[i],
                    [&](const Recording::Operand &source) {
                      needed[source.buffer] = true;
                    });
  std::map<std::pair<uint32_t, uint32_t>, bool> channels; // Whether it is one.
  for (bool adds : {true, false})
    for (size_t i = 0; i < operations.size(); ++i) {
      const Recording::Operation &operation = recording.operations[i];
      if (operation.kind != Kind::Next)
        continue;
      const Recording::View &view = recording.views[operation.index];
      const Recording::BufferId buffer = operation.dst.buffer;
      bool &isOne =
          channels.try_emplace({view.stream, view.channel}, true).first->second;
      if (adds)
        isOne = isOne && buffers[buffer] && !needed[buffer];
      else
        operations[i] = isOne;
    }
}

static size_t inLines(size_t floats) {
  constexpr size_t line = 64 / sizeof(float);
  return (floats + line - 1) / line * line;
}

ConstantPlaces::ConstantPlaces(const Recording &recording,
                               const std::set<Recording::BufferId> &lasting,
                               MemoryRoom *room)
    : recording(recording), places(recording.buffers.size()) {
  if (!room)
    return;
  its.emplace(recording, lasting);
  for (Recording::BufferId i = 0; i < places.size(); ++i)
    if (contains(i))
      all += inLines(recording.buffers[i].floats);
  if (room->take(all * sizeof(float)))
    return;
  its.reset();
  all = 0;
}

void ConstantPlaces::place(const std::vector<uint32_t> &operations) {
  if (!its)
    return;
  for (uint32_t operation : operations)
    if (!its->operations[operation])
      forEachSource(
          recording, recording.operations[operation],
          [&](const Recording::Operand &source) { place(source.buffer); });
  for (Recording::BufferId i = 0; i < places.size(); ++i)
    place(i);
}

void ConstantPlaces::place(Recording::BufferId buffer) {
  if (!contains(buffer) || places[buffer])
    return;
  places[buffer] = end;
  end += inLines(recording.buffers[buffer].floats);
}

std::vector<bool> ConstantPlaces::onlyTaken() const {
  std::vector<bool> views(recording.views.size());
  for (size_t i = 0; its && i < recording.operations.size(); ++i)
    if (recording.operations[i].kind == Kind::Next)
      views[recording.operations[i].index] = its->operations[i];
  return views;
}

std::vector<ConstantPlaces::Known> ConstantPlaces::known() const {
  const std::vector<bool> views = onlyTaken();
  std::map<std::pair<uint32_t, uint32_t>, uint64_t> words; // by channel
  for (size_t i = 0; i < views.size(); ++i)
    if (const Recording::View &view = recording.views[i]; views[i])
      words[{view.stream, view.channel}] += view.rows * view.length;
  std::vector<Known> result;
  for (const auto &[channel, count] : words)
    result.push_back({channel.first, channel.second, count});
  return result;
}

} // namespace wsec::runtime
