// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/strips/Recording.h"

#include <bit>
#include <cstring>

namespace wsec::runtime {

Recording::Recording(size_t limitBytes, std::vector<Words> lasting)
    : limitBytes(limitBytes), lasting(std::move(lasting)) {
  constexpr size_t likely = 1
                            << 18; // Memory that nothing touches costs nothing.
  operations.reserve(std::min(likely, limitBytes / sizeof(Operation)));
}

Recording::BufferId Recording::add(Buffer buffer) {
  buffers.push_back(buffer);
  return BufferId(buffers.size() - 1);
}

void Recording::add(Operation operation) {
  if (overflown)
    return;
  operations.push_back(operation);
  overflown = bytes() > limitBytes;
  if (overflown)
    operations = {};
}

Recording::BufferId Recording::addSram(const float *base, size_t floats) {
  Guard guard(lock);
  return add({Buffer::Kind::Sram, base, floats});
}

Recording::BufferId Recording::addScratch(const float *base, size_t floats) {
  Guard guard(lock);
  return overflown ? nothing : add({Buffer::Kind::Scratch, base, floats});
}

Recording::BufferId Recording::addExternal(const float *base) {
  Guard guard(lock);
  return add({Buffer::Kind::External, base, 0});
}

uint32_t Recording::addMove(Move move) {
  Guard guard(lock);
  const auto [known, isNew] =
      moveIndex.emplace(std::move(move), uint32_t(moves.size()));
  if (isNew)
    moves.push_back(known->first);
  return known->second;
}

Recording::BufferId Recording::moving(BufferId area, uint32_t move) {
  Guard guard(lock);
  constexpr size_t most = (1 << 24) - 1; // as many as a step can name
  if (movings.size() == most) {
    pinned.insert(move);
    return area;
  }
  const auto [known, isNew] = movingIndex.try_emplace({area, move}, nothing);
  if (isNew) {
    Buffer buffer = buffers[area];
    buffer.kind = Buffer::Kind::Moving;
    buffer.viewIndex = uint32_t(movings.size());
    movings.push_back({area, move});
    known->second = add(buffer);
  }
  return known->second;
}

bool Recording::areViews(BufferId a, BufferId b) {
  Guard guard(lock);
  return buffers[a].kind == Buffer::Kind::View &&
         buffers[b].kind == Buffer::Kind::View;
}

std::pair<Recording::BufferId, const float *>
Recording::addConstant(float value) {
  Guard guard(lock);
  auto [known, isNew] =
      constantIndex.emplace(std::bit_cast<uint32_t>(value), nothing);
  if (isNew) {
    constants.push_back(value);
    known->second = add({Buffer::Kind::Constant, &constants.back(), 1});
  }
  return {known->second, buffers[known->second].base};
}

Recording::BufferId Recording::addView(uint32_t actor, uint32_t stream,
                                       uint32_t channel, size_t maxWords,
                                       const WordView &view) {
  Guard guard(lock);
  if (overflown)
    return nothing;
  uint32_t index = uint32_t(views.size());
  views.push_back({stream, channel, maxWords, view.rows, view.length,
                   view.stride, view.wordStride, view.constant});
  BufferId buffer = add({Buffer::Kind::View, view.data, 0, index});
  add({Operation::Kind::Next, actor, index, {buffer, 0}, {}, {}});
  return buffer;
}

uint32_t Recording::indexOf(const PreparedNest &nest, size_t hash) {
  const auto [begin, end] = nestIndex.equal_range(hash);
  for (auto known = begin; known != end; ++known)
    if (nests[known->second] == nest)
      return known->second;
  nests.push_back(nest);
  return nestIndex.emplace(hash, uint32_t(nests.size() - 1))->second;
}

/// Words [from, from + span] change, or some of them.
void Recording::noteWrites(BufferId dst, const float *from, ptrdiff_t span) {
  const Buffer &buffer = buffers[dst];
  if (buffer.kind != Buffer::Kind::Sram && buffer.kind != Buffer::Kind::Moving)
    return;
  const uint32_t move =
      buffer.kind == Buffer::Kind::Moving ? movings[buffer.viewIndex].move : 0;
  const float *begin = std::min(from, from + span);
  const float *end = std::max(from, from + span) + 1;
  auto at = std::partition_point(
      lasting.begin(), lasting.end(),
      [&](const Words &words) { return words.end <= begin; });
  for (; at != lasting.end() && at->begin < end; ++at)
    lastingWrites.push_back(
        {{std::max(begin, at->begin), std::min(end, at->end)}, move});
}

void Recording::note(uint32_t actor, uint32_t index, const Nest &nest,
                     BufferId dst, BufferId a, BufferId b) {
  if (!lasting.empty()) {
    ptrdiff_t down = 0, up = 0; // Of floats, at most.
    for (int d = 0; d < nest.dimensions; ++d) {
      const ptrdiff_t span = ptrdiff_t(nest.extent[d] - 1) * nest.dst.stride[d];
      (span < 0 ? down : up) += span;
    }
    noteWrites(dst, nest.dst.data + down, up - down);
  }
  add({Operation::Kind::Compute, actor, index, operand(dst, nest.dst.data),
       operand(a, nest.a.data), operand(b, nest.b.data)});
}

Recording::Part Recording::part(const Nest &nest, BufferId a, BufferId b) {
  const PreparedNest prepared(nest);
  const size_t hash = prepared.hash();
  Guard guard(lock);
  if (overflown)
    return {};
  return {indexOf(prepared, hash), operand(a, nest.a.data),
          operand(b, nest.b.data), reinterpret_cast<intptr_t>(nest.a.data),
          reinterpret_cast<intptr_t>(nest.b.data)};
}

void Recording::compute(uint32_t actor, const Nest &nest, BufferId dst,
                        BufferId a, BufferId b, std::vector<Part> parts) {
  const PreparedNest prepared(nest);
  prepared.run(nest.dst.data, nest.a.data, nest.b.data);
  const size_t hash = prepared.hash();
  Guard guard(lock);
  if (!overflown && !prepared.empty())
    note(actor, indexOf(prepared, hash), dst, {nest, a, b, std::move(parts)});
}

void Recording::compute(uint32_t actor, BufferId dst, std::vector<Joined> its) {
  std::vector<PreparedNest> prepared;
  std::vector<size_t> hashes;
  for (const auto &[nest, a, b, parts] : its) {
    prepared.emplace_back(nest);
    prepared.back().run(nest.dst.data, nest.a.data, nest.b.data);
    hashes.push_back(prepared.back().hash());
  }
  Guard guard(lock);
  for (size_t i = 0; i < its.size() && !overflown; ++i)
    if (!prepared[i].empty())
      note(actor, indexOf(prepared[i], hashes[i]), dst, std::move(its[i]));
}

/// With what was joined to it.
void Recording::note(uint32_t actor, uint32_t index, BufferId dst, Joined its) {
  note(actor, index, its.nest, dst, its.a, its.b);
  if (its.parts.empty() || overflown)
    return;
  for (Part &part : its.parts) {
    part.aOffset -= reinterpret_cast<intptr_t>(its.nest.a.data);
    part.bOffset -= reinterpret_cast<intptr_t>(its.nest.b.data);
  }
  partBytes += its.parts.size() * sizeof(Part);
  joined.push_back(std::move(its.parts));
  operations.back().parts = uint32_t(joined.size());
}

void Recording::copy(uint32_t actor, size_t rows, size_t length,
                     Strided<float> dst, BufferId dstBuffer,
                     Strided<const float> from, BufferId fromBuffer) {
  Nest nest;
  nest.op = program::Opcode::Mov;
  nest.dimensions = 2;
  nest.extent[0] = rows;
  nest.extent[1] = length;
  nest.dst = dst;
  nest.a = from;
  const PreparedNest prepared(nest);
  const size_t hash = prepared.hash();
  Guard guard(lock);
  if (!overflown && !prepared.empty())
    note(actor, indexOf(prepared, hash), nest, dstBuffer, fromBuffer, nothing);
}

void Recording::interleave(uint32_t actor, const InterleaveProblem &problem,
                           float *dst, BufferId dstBuffer,
                           const std::vector<const float *> &sources,
                           const std::vector<BufferId> &sourceBuffers) {
  Guard guard(lock);
  if (overflown)
    return;
  Interleaved its{problem, {}};
  for (size_t i = 0; i < sources.size(); ++i)
    its.sources.push_back(operand(sourceBuffers[i], sources[i]));
  if (!lasting.empty())
    noteWrites(dstBuffer, dst,
               ptrdiff_t(problem.rows - 1) * problem.dstRow +
                   ptrdiff_t(problem.columns * problem.sources) - 1);
  partBytes += its.sources.size() * sizeof(Operand) + sizeof(Interleaved);
  interleaved.push_back(std::move(its));
  add({Operation::Kind::Interleave,
       actor,
       uint32_t(interleaved.size() - 1),
       operand(dstBuffer, dst),
       {},
       {}});
}

void Recording::store(uint32_t actor, uint32_t stream, uint32_t channel,
                      const WordView &words, BufferId buffer) {
  Guard guard(lock);
  if (overflown)
    return;
  uint32_t index = uint32_t(views.size());
  views.push_back({stream, channel, 0, words.rows, words.length, words.stride,
                   words.wordStride, false});
  add({Operation::Kind::Store,
       actor,
       index,
       {},
       operand(buffer, words.data),
       {}});
}

void Recording::expect(uint32_t actor, const float *word, BufferId buffer,
                       uint32_t mask) {
  uint32_t bits;
  std::memcpy(&bits, word, sizeof bits);
  Guard guard(lock);
  if (overflown)
    return;
  partBytes += sizeof(Expectation);
  expectations.push_back({bits & mask, mask});
  add({Operation::Kind::Expect,
       actor,
       uint32_t(expectations.size() - 1),
       {},
       operand(buffer, word),
       {}});
}

void Recording::enterLaunch(uint32_t launch) {
  Guard guard(lock);
  add({Operation::Kind::Launch, 0, launch, {}, {}, {}});
}

} // namespace wsec::runtime
