// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/strips/MovedOperands.h"

#include <algorithm>
#include <optional>

namespace wsec::runtime {

// ---------------------------------------------------------------- arguments

namespace {

/// Walks a routine of a class and strikes out what arguments are used for
/// otherwise.
class ArgumentUse {
public:
  ArgumentUse(const ClassCode &code,
              const std::vector<PersistentState::Piece> &pieces,
              std::vector<bool> &moves)
      : code(code), pieces(pieces), moves(moves) {}

  void read(const Body &body) {
    forEachStatement(body, [&](const StatementCode &statement) {
      if (const auto *instruction = std::get_if<InstructionCode>(&statement))
        read(*instruction);
      else if (const auto *loop = std::get_if<LoopCode>(&statement))
        strike(loop->count);
      else if (const auto *branch = std::get_if<IfCode>(&statement))
        strike(branch->condition);
      else if (const auto *load = std::get_if<LoadCode>(&statement))
        strike(load->offset);
      else if (const auto *compute = std::get_if<ComputeCode>(&statement))
        for (const AffineFunction *its :
             {&compute->a, &compute->b, &compute->c})
          strike(*its);
    });
  }

private:
  void read(const InstructionCode &instruction) {
    for (const AffineFunction &extent : instruction.extents)
      strike(extent);
    for (const OperandCode *operand :
         {&instruction.dst, &instruction.a, &instruction.b}) {
      for (const AffineFunction *its :
           {&operand->color, &operand->windowOffset, &operand->windowTotal})
        strike(*its);
      if (!operand->memory() || !lasts(code.buffers[operand->buffer]))
        strike(operand->offset);
    }
  }
  void strike(const AffineFunction &function) {
    for (const AffineTerm &term : function.terms)
      if (term.local && term.index < moves.size())
        moves[term.index] = false;
  }
  /// Whether all its words persist, of whichever buffers.
  bool lasts(const BufferCode &buffer) const {
    int64_t at = buffer.address;
    const int64_t end = at + buffer.words * 4;
    for (bool grows = true; std::exchange(grows, false) && at < end;)
      for (const PersistentState::Piece &piece : pieces)
        if (piece.address <= at && at < piece.address + piece.bytes) {
          at = piece.address + piece.bytes;
          grows = true;
        }
    return at >= end && elementSize(buffer.type) == 4;
  }

  const ClassCode &code;
  const std::vector<PersistentState::Piece> &pieces;
  std::vector<bool> &moves;
};

} // namespace

AddressArguments::AddressArguments(const std::vector<ClassCode> &classes,
                                   const PersistentState &persistent) {
  for (size_t c = 0; c < classes.size(); ++c)
    for (const auto &[id, routine] : classes[c].routines) {
      std::vector<bool> &moves =
          ofRoutine
              .try_emplace(id,
                           std::vector<bool>(size_t(routine.arguments), true))
              .first->second;
      ArgumentUse(classes[c], persistent.pieces(int(c)), moves)
          .read(routine.body);
    }
}

// ---------------------------------------------------------------- accesses

void LastingAccesses::note(Strip &strip, int lane, const MemoryPattern &pattern,
                           const OperandCode &operand, uint32_t move,
                           bool reads, bool writes) {
  const BufferCode &buffer = strip.code.buffers[operand.buffer];
  const Lock guard(lock);
  byStrip[strip.index].push_back(
      {&strip, lane, pattern, buffer.address / 2,
       buffer.address / 2 + buffer.elements * elementSize(buffer.type) / 2,
       move, reads, writes});
}

namespace {

/// Halves, the last too.
struct Span {
  int64_t from, to;
};

/// Those that meet or overlap become one.
std::vector<Span> joined(std::vector<Span> spans) {
  std::sort(spans.begin(), spans.end(),
            [](const Span &a, const Span &b) { return a.from < b.from; });
  std::vector<Span> result;
  for (const Span &span : spans)
    if (!result.empty() && span.from <= result.back().to + 1)
      result.back().to = std::max(result.back().to, span.to);
    else
      result.push_back(span);
  return result;
}

bool meet(const std::vector<Span> &a, const std::vector<Span> &b) {
  for (size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    if (a[i].from <= b[j].to && b[j].from <= a[i].to)
      return true;
    (a[i].to < b[j].to ? i : j) += 1;
  }
  return false;
}

MemoryPattern movedBy(MemoryPattern pattern, int64_t halves) {
  pattern.first += halves;
  pattern.close();
  return pattern;
}

} // namespace

/// What moves differently must lie apart, as it did and as it will.
bool LastingAccesses::overlapsAlike(const std::vector<There> &all) {
  std::map<int64_t, std::pair<std::vector<Span>, std::vector<Span>>> groups;
  for (const There &its : all) {
    auto &[before, after] = groups[its.halves];
    before.push_back({its.access->pattern.low(), its.access->pattern.high()});
    after.push_back({its.pattern.low(), its.pattern.high()});
  }
  for (auto &[by, spans] : groups)
    spans = {joined(spans.first), joined(spans.second)};
  for (auto one = groups.begin(); one != groups.end(); ++one)
    for (auto other = std::next(one); other != groups.end(); ++other)
      if (meet(one->second.first, other->second.first) ||
          meet(one->second.second, other->second.second))
        return false;
  return true;
}

/// Whether all of it lies in its buffer, and what is read is written, before
/// them or by an earlier one.
bool LastingAccesses::isThere(const std::vector<There> &all) {
  std::vector<const There *> written;
  for (const There &its : all) {
    if (its.pattern.low() < its.access->bufferBegin ||
        its.pattern.high() >= its.access->bufferEnd)
      return false;
    auto isOwn = [&](int64_t half) {
      MemoryPattern one;
      one.first = half;
      one.close();
      return std::any_of(written.begin(), written.end(),
                         [&](const There *write) {
                           return (write->access->lane < 0 ||
                                   write->access->lane == its.access->lane) &&
                                  write->pattern.sharesHalves(one);
                         });
    };
    if (its.access->reads &&
        !isWritten(*its.access->strip, its.pattern, its.access->lane, isOwn))
      return false;
    if (its.access->writes)
      written.push_back(&its);
  }
  return true;
}

std::map<int, std::vector<LastingAccesses::There>>
LastingAccesses::allOf(const std::vector<Moved> &parts) {
  std::map<int, std::vector<There>> all;
  for (const auto &[accesses, words] : parts) {
    const Lock guard(accesses->lock);
    for (const auto &[strip, its] : accesses->byStrip)
      for (const Access &access : its) {
        const int64_t halves = 2 * words[access.move];
        all[strip].push_back(
            {&access, halves, movedBy(access.pattern, halves)});
      }
  }
  return all;
}

bool LastingAccesses::hold(const std::vector<Moved> &parts) {
  bool moves = false;
  for (const auto &[accesses, words] : parts)
    for (size_t move = 0; move < words.size(); ++move)
      if (words[move] != 0) {
        moves = true;
        if (accesses->pinned.contains(uint32_t(move)))
          return false;
      }
  if (!moves)
    return true;
  const std::map<int, std::vector<There>> byStrip = allOf(parts);
  for (const auto &[strip, all] : byStrip)
    if (!isThere(all) || !overlapsAlike(all))
      return false;
  for (const auto &[strip, all] : byStrip)
    for (const There &its : all)
      if (its.access->writes)
        markInitialised(*its.access->strip, its.pattern, its.access->lane);
  return true;
}

} // namespace wsec::runtime
