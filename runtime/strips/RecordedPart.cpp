// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/strips/RecordedPart.h"

#include <algorithm>

namespace wsec::runtime {

using BufferKind = Recording::Buffer::Kind;

RecordedPart::Views RecordedPart::viewsOf(const World &world) {
  Views views;
  for (const auto &strip : world.image.strips)
    for (const StripMemory::ViewPlace &view : strip->memory.viewPlaces())
      views.push_back(view);
  return views;
}

void RecordedPart::begin(World &world, const StoreOrder &order) {
  for (const auto &strip : world.image.strips)
    strip->memory.sortViews();
  recording->passing = order.byStream();
  world.accesses = world.movesOperands ? &accesses : nullptr;
  world.record(recording.get());
  before = viewsOf(world);
}

void RecordedPart::end(World &world) {
  for (const auto &strip : world.image.strips)
    strip->memory.sortViews();
  after = viewsOf(world);
  world.record(nullptr);
  world.accesses = nullptr;
  isUsable = findUsable();
  diverges = !recording->expectations.empty();
  accesses.pinned = recording->pinned;
  itsMoves = recording->moves;
  std::map<Recording::BufferId, ptrdiff_t> known; ///< the first of each
  for (size_t i = 0; i < before.size(); ++i)
    known.emplace(before[i].buffer, ptrdiff_t(i));
  for (const StripMemory::ViewPlace &view : after) {
    const auto same = known.find(view.buffer);
    from.push_back(same == known.end() ? -1 : same->second);
  }
  writes = std::move(recording->lastingWrites);
  std::sort(writes.begin(), writes.end(), [](const auto &a, const auto &b) {
    return std::pair(a.second, a.first.begin) <
           std::pair(b.second, b.first.begin);
  });
  size_t disjoint = 0;
  for (const auto &its : writes)
    if (disjoint > 0 && its.second == writes[disjoint - 1].second &&
        its.first.begin <= writes[disjoint - 1].first.end)
      writes[disjoint - 1].first.end =
          std::max(writes[disjoint - 1].first.end, its.first.end);
    else
      writes[disjoint++] = its;
  writes.resize(disjoint);
}

std::vector<Recording::Words>
RecordedPart::lastingWrites(const Replay::Shift *shift) const {
  std::vector<Recording::Words> all;
  for (const auto &[words, move] : writes) {
    const ptrdiff_t by =
        shift && !shift->moved.empty() ? shift->moved[move] : 0;
    all.push_back({words.begin + by, words.end + by});
  }
  return all;
}

/// Buffers of views before it that its operations read.
std::set<Recording::BufferId> RecordedPart::usedFromBefore() const {
  std::set<Recording::BufferId> used;
  for (const Recording::Operation &operation : recording->operations)
    forEachSource(*recording, operation, [&](const Recording::Operand &source) {
      if (recording->buffers[source.buffer].kind == BufferKind::External)
        used.insert(source.buffer);
    });
  return used;
}

bool RecordedPart::findUsable() const {
  if (!recording->complete())
    return false;
  const std::set<Recording::BufferId> used = usedFromBefore();
  return std::none_of(before.begin(), before.end(), [&](const auto &view) {
    return view.floats == 0 && used.contains(view.buffer);
  });
}

void RecordedPart::prepare(WorkerPool &pool, MemoryRoom *room) {
  Replay::Lasting lasting;
  const std::set<Recording::BufferId> used = usedFromBefore();
  std::map<Recording::BufferId, size_t> viewOf;
  for (size_t i = 0; i < before.size(); ++i) {
    viewOf[before[i].buffer] = i;
    if (!used.contains(before[i].buffer))
      continue;
    carried.push_back({i, before[i].floats,
                       std::unique_ptr<float[]>(new float[before[i].floats])});
    lasting.before[before[i].buffer] = carried.back().words.get();
  }
  for (const StripMemory::ViewPlace &view : after)
    if (!viewOf.contains(view.buffer))
      lasting.after.insert(view.buffer);
  layer = std::make_unique<Replay>(*recording, pool, lasting, room);
  for (const StripMemory::ViewPlace &view : after) {
    const auto found = viewOf.find(view.buffer);
    if (found != viewOf.end())
      left.push_back(
          {found->second, nullptr, view.data - before[found->second].data});
    else
      left.push_back({0, &layer->find(view.buffer),
                      view.data - recording->buffers[view.buffer].base});
  }
  recording.reset();
  before = after = {};
}

void RecordedPart::replay(HostPort &host, std::atomic<uint64_t> *furthestLaunch,
                          const Replay::Shift *shift, Locations &locations) {
  for (const Carried &its : carried)
    std::copy_n(locations[its.view].data, its.floats, its.words.get());
  layer->run(host, furthestLaunch, shift);
  Locations behind;
  behind.reserve(left.size());
  for (const Left &its : left) {
    behind.push_back(its.buffer ? Location{its.buffer->data, its.buffer->owner}
                                : locations[its.view]);
    behind.back().data += its.offset;
  }
  locations = std::move(behind);
}

size_t RecordedPart::bytes() const {
  if (!layer)
    return recordedBytes();
  size_t sum = layer->bytes() + left.size() * sizeof(Left);
  for (const Carried &its : carried)
    sum += its.floats * sizeof(float);
  return sum;
}

} // namespace wsec::runtime
