// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/strips/NestExecutor.h"

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

namespace wsec::runtime {

using program::Opcode;

void NestExecutor::record(Recording *into, uint32_t its) {
  records = into;
  actor = its;
}

void NestExecutor::reset(Recording *recording, uint32_t its) {
  record(recording, its);
  holds = fills = false;
  memory = {};
  owners.clear();
  parts.clear();
  closed.clear();
  firstPart = 0;
}

/// Takes the outermost loop out of a nest whose iterations go into the same
/// accumulators; false if its nests cannot be joined.
bool NestExecutor::splitDepth(const Nest &nest, Terms &terms) {
  const bool isProduct = nest.op == Opcode::Fmac || nest.op == Opcode::Mul;
  if (!isProduct || nest.ordered || !nest.types.plain() ||
      nest.dimensions == maxDimensions || nest.a.data == nest.dst.data ||
      nest.b.data == nest.dst.data ||
      !namesEachOnce(nest.dimensions, nest.extent, nest.dst.stride))
    return false;
  terms = {nest, {}};
  const int lanes = nest.dimensions - 1;
  if (nest.op == Opcode::Mul) {
    // A term of each sum, the first one.
    for (int d = 0; d < lanes; ++d)
      if (nest.extent[d] > 1 && nest.dst.stride[d] == 0)
        return false;
    return true;
  }
  for (int d = 0; d < lanes; ++d) {
    if (nest.dst.stride[d] != 0 || nest.extent[d] == 1)
      continue;
    terms.depth = {nest.extent[d], nest.a.stride[d], nest.b.stride[d]};
    terms.rest.extent[d] = 1;
    terms.rest.a.stride[d] = terms.rest.b.stride[d] = 0;
    break;
  }
  return true;
}

Nest NestExecutor::joinDepth(const Terms &terms) {
  Nest nest;
  nest.op = terms.rest.op;
  nest.starts = terms.rest.starts;
  nest.start = terms.rest.start;
  if (nest.op == Opcode::Mul && terms.depth.extent > 1) {
    nest.op = Opcode::Fmac;
    nest.starts = true;
  }
  nest.types = terms.rest.types;
  nest.dst.data = terms.rest.dst.data;
  nest.a.data = terms.rest.a.data;
  nest.b.data = terms.rest.b.data;
  auto push = [&](size_t extent, ptrdiff_t dst, ptrdiff_t a, ptrdiff_t b) {
    const int d = nest.dimensions++;
    nest.extent[d] = extent;
    nest.dst.stride[d] = dst;
    nest.a.stride[d] = a;
    nest.b.stride[d] = b;
  };
  push(terms.depth.extent, 0, terms.depth.a, terms.depth.b);
  for (int d = 0; d < terms.rest.dimensions; ++d)
    push(terms.rest.extent[d], terms.rest.dst.stride[d], terms.rest.a.stride[d],
         terms.rest.b.stride[d]);
  return nest;
}

/// Whether loops are the same but for what they read.
static bool sameLoops(const Nest &x, const Nest &y) {
  if (x.dst.data != y.dst.data)
    return false;
  for (int i = 0, j = 0;; ++i, ++j) {
    while (i < x.dimensions && x.extent[i] == 1)
      ++i;
    while (j < y.dimensions && y.extent[j] == 1)
      ++j;
    if (i == x.dimensions || j == y.dimensions)
      return i == x.dimensions && j == y.dimensions;
    if (x.extent[i] != y.extent[j] || x.dst.stride[i] != y.dst.stride[j] ||
        x.a.stride[i] != y.a.stride[j] || x.b.stride[i] != y.b.stride[j])
      return false;
  }
}

/// Where the elements lie that a nest writes, if these are all there.
static std::optional<std::pair<const float *, size_t>>
writtenBlock(const Nest &nest) {
  size_t count = 1;
  for (bool found = true; found;) {
    found = false;
    for (int d = 0; d < nest.dimensions && !found; ++d)
      if (nest.extent[d] > 1 && nest.dst.stride[d] == ptrdiff_t(count)) {
        count *= nest.extent[d];
        found = true;
      }
  }
  size_t all = 1;
  for (int d = 0; d < nest.dimensions; ++d)
    all *= nest.dst.stride[d] == 0 ? 1 : nest.extent[d];
  if (all != count)
    return {};
  return std::pair(nest.dst.data, count);
}

/// The stride of a loop whose first `extent` terms begin at `from` and go on at
/// `to`; `stride` of those before and after, where there are several.
static std::optional<ptrdiff_t> joinedStride(const float *from, size_t extent,
                                             ptrdiff_t stride, const float *to,
                                             size_t more, ptrdiff_t after) {
  const intptr_t bytes =
      reinterpret_cast<intptr_t>(to) - reinterpret_cast<intptr_t>(from);
  if (bytes % intptr_t(sizeof(float)) != 0)
    return {};
  const ptrdiff_t distance = bytes / intptr_t(sizeof(float));
  const ptrdiff_t its = extent > 1 ? stride : more > 1 ? after : distance;
  if (distance != its * ptrdiff_t(extent) || (more > 1 && after != its))
    return {};
  return its;
}

/// Whether what lies in `other` stays where it is beside `buffer`, as words of
/// one file do. In a recording memory that happens to lie well does not.
bool NestExecutor::sameView(Recording::BufferId buffer, const void *owner,
                            Recording::BufferId other,
                            const void *otherOwner) const {
  return !records || buffer == other ||
         (owner && owner == otherOwner && records->areViews(buffer, other));
}

bool NestExecutor::continues(const Terms &terms, const NestMemory &its,
                             Depth &joined) const {
  if (!sameLoops(held.rest, terms.rest) ||
      !sameView(memory.a, memory.aOwner.get(), its.a, its.aOwner.get()) ||
      !sameView(memory.b, memory.bOwner.get(), its.b, its.bOwner.get()))
    return false;
  const Depth &before = held.depth, &more = terms.depth;
  const std::optional<ptrdiff_t> a =
      joinedStride(held.rest.a.data, before.extent, before.a, terms.rest.a.data,
                   more.extent, more.a);
  const std::optional<ptrdiff_t> b =
      joinedStride(held.rest.b.data, before.extent, before.b, terms.rest.b.data,
                   more.extent, more.b);
  if (!a || !b)
    return false;
  joined = {before.extent + more.extent, *a, *b};
  return true;
}

void NestExecutor::hold(const Terms &terms, NestMemory its) {
  held = terms;
  memory = std::move(its);
  holds = true;
  if (records)
    parts.push_back({terms.depth.extent, terms.rest.a.data, terms.rest.b.data,
                     memory.a, memory.b});
}

/// Whether a nest gives all elements of a block one value, with which sums that
/// follow may begin: it is held back.
bool NestExecutor::holdFill(const Nest &nest, const NestMemory &its) {
  if (nest.op != Opcode::Mov || !its.constant || nest.ordered ||
      !nest.types.plain() || !writtenBlock(nest))
    return false;
  filled = *nest.a.data;
  held = {nest, {}};
  if (!records)
    held.rest.a.data = &filled;
  memory = its;
  holds = fills = true;
  return true;
}

/// Whether these are sums in place of all that a fill writes which is held.
bool NestExecutor::startsHere(const Terms &terms) const {
  return fills && terms.rest.op == Opcode::Fmac &&
         writtenBlock(terms.rest) == writtenBlock(held.rest);
}

void NestExecutor::add(const Terms &terms, NestMemory its) {
  if (records)
    parts.push_back({terms.depth.extent, terms.rest.a.data, terms.rest.b.data,
                     its.a, its.b});
  keepOwners(its);
  memory.aOwner = std::move(its.aOwner);
  memory.bOwner = std::move(its.bOwner);
}

/// Owners of words before those that `next` reads, too.
void NestExecutor::keepOwners(NestMemory &next) {
  if (memory.aOwner != next.aOwner)
    owners.push_back(std::move(memory.aOwner));
  if (memory.bOwner != next.bOwner)
    owners.push_back(std::move(memory.bOwner));
}

/// Whether the nest that is held and one that does not continue it, but goes
/// into the same accumulators, are run as one, which keeps these in registers.
/// What is held is closed then.
bool NestExecutor::closes(const Terms &terms) {
  if (!sameLoops(held.rest, terms.rest))
    return false;
  const Nest nest = joinDepth(held);
  const PreparedNest prepared(nest);
  if (!prepared.joins() || closed.size() + 2 > PreparedNest::mostJoined)
    return false;
  Recording::Joined its{nest, memory.a, memory.b};
  its.parts = recordedParts(firstPart, parts.size(), its);
  closed.push_back(std::move(its));
  firstPart = parts.size();
  return true;
}

void NestExecutor::run(const Nest &nest, NestMemory its) {
  Terms terms;
  const bool joins = its.lasts && splitDepth(nest, terms);
  if (holds && joins && startsHere(terms)) {
    terms.rest.starts = true;
    terms.rest.start = filled;
    fills = false;
    return hold(terms, std::move(its));
  }
  if (fills)
    flush();
  if (Depth joined; holds && joins && nest.op == Opcode::Fmac &&
                    owners.size() < mostOwners &&
                    continues(terms, its, joined)) {
    held.depth = joined;
    add(terms, std::move(its));
    return;
  }
  if (holds && joins && nest.op == Opcode::Fmac && owners.size() < mostOwners &&
      closes(terms)) {
    keepOwners(its);
    return hold(terms, std::move(its));
  }
  flush();
  if (joins)
    hold(terms, std::move(its));
  else if (!holdFill(nest, its))
    runApart(nest, its);
}

void NestExecutor::runApart(const Nest &nest, const NestMemory &its) {
  if (records)
    records->compute(actor, nest, its.dst, its.a, its.b);
  else
    execute(nest);
}

/// The nests [begin, end) that were joined, if they read several views: each by
/// itself.
std::vector<Recording::Part>
NestExecutor::recordedParts(size_t begin, size_t end,
                            const Recording::Joined &its) {
  std::vector<Recording::Part> result;
  const bool several =
      std::any_of(parts.begin() + ptrdiff_t(begin),
                  parts.begin() + ptrdiff_t(end), [&](const Part &part) {
                    return part.aBuffer != its.a || part.bBuffer != its.b;
                  });
  if (!several)
    return result;
  Terms terms = held;
  for (size_t i = begin; i < end; ++i) {
    const Part &part = parts[i];
    terms.rest.op = result.empty() ? held.rest.op : Opcode::Fmac;
    terms.rest.starts = result.empty() && held.rest.starts;
    terms.depth.extent = part.extent;
    terms.rest.a.data = part.a;
    terms.rest.b.data = part.b;
    result.push_back(
        records->part(joinDepth(terms), part.aBuffer, part.bBuffer));
  }
  return result;
}

/// Lets sums begin where a product does not start them, with what leaves the
/// bits of the first term.
void NestExecutor::fill(const Terms &terms) {
  Nest nest = terms.rest;
  nest.op = Opcode::Mov;
  nest.starts = false;
  for (int d = 0; d < nest.dimensions; ++d)
    if (nest.dst.stride[d] == 0)
      nest.extent[d] = 1;
  nest.a = {&terms.rest.start, {}};
  nest.b = {};
  NestMemory its;
  its.dst = memory.dst;
  if (records)
    std::tie(its.a, nest.a.data) = records->addConstant(terms.rest.start);
  runApart(nest, its);
}

/// Nests that are equal but for what they read as one.
static void executeJoined(const std::vector<Recording::Joined> &nests) {
  for (size_t i = 0; i < nests.size();) {
    const Nest &first = nests[i].nest;
    const PreparedNest prepared(first);
    if (!prepared.joins()) {
      prepared.run(first.dst.data, first.a.data, first.b.data);
      ++i;
      continue;
    }
    Factors sources[PreparedNest::mostJoined];
    size_t count = 0;
    for (; i < nests.size() && count < PreparedNest::mostJoined &&
           (count == 0 || PreparedNest(nests[i].nest) == prepared);
         ++i)
      sources[count++] = {nests[i].nest.a.data, nests[i].nest.b.data};
    prepared.run(first.dst.data, sources, count);
  }
}

void NestExecutor::flush() {
  if (!std::exchange(holds, false))
    return;
  if (std::exchange(fills, false)) {
    runApart(held.rest, memory);
    memory = {};
    return;
  }
  Nest nest = joinDepth(held);
  // Replays may run what was joined part by part: the first has to start, too.
  auto isLost = [this](size_t depth) {
    Terms first = held;
    first.depth.extent = depth;
    const Nest its = joinDepth(first);
    return its.starts && !PreparedNest(its).isProduct();
  };
  const size_t depth = held.depth.extent;
  const size_t alone =
      closed.empty() && !parts.empty() ? parts.front().extent : depth;
  if (isLost(depth) || (alone != depth && isLost(alone))) {
    fill(held);
    held.rest.op = Opcode::Fmac;
    held.rest.starts = false;
    nest.starts = false;
  }
  if (closed.empty() && !records) {
    execute(nest);
  } else {
    Recording::Joined its{nest, memory.a, memory.b};
    its.parts = recordedParts(firstPart, parts.size(), its);
    closed.push_back(std::move(its));
    if (records)
      records->compute(actor, memory.dst, std::move(closed));
    else
      executeJoined(closed);
  }
  closed.clear();
  parts.clear();
  firstPart = 0;
  memory = {};
  owners.clear();
}

} // namespace wsec::runtime
