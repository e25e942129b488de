// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/program/facts/Holdings.h"

#include "runtime/program/Scalars.h"
#include "runtime/program/facts/PlacedBuffers.h"

#include <algorithm>
#include <map>

namespace wsec::runtime {

namespace {

using Statements = flatbuffers::Vector<flatbuffers::Offset<program::Statement>>;

/// What code does to a buffer.
struct Touch {
  bool readsFirst = false, writes = false;
};
using Touches = std::map<int, Touch>;

/// Follows the code of a class, statement after statement, a loop as if it ran
/// once.
class CodeTouches {
public:
  CodeTouches(const program::PEClass &peClass, const std::pair<int, int> *pe)
      : peClass(peClass), placed(peClass), known(pe) {
    if (pe)
      evaluateScalars(peClass.scalars(), pe->first, pe->second, scalars);
  }

  /// Of a launch that carries these numbers.
  Touches ofRoutine(uint32_t id, const KnownArguments &its) {
    arguments = its;
    Touches touches;
    for (unsigned r = 0; peClass.routines() && r < peClass.routines()->size();
         ++r)
      if (peClass.routines()->Get(r)->id() == id)
        follow(peClass.routines()->Get(r)->body(), touches);
    return touches;
  }

  Touches ofTasks() {
    arguments.clear();
    Touches touches;
    for (unsigned t = 0; peClass.tasks() && t < peClass.tasks()->size(); ++t) {
      const program::Task &task = *peClass.tasks()->Get(t);
      follow(task.body(), touches);
      for (int given : {task.word_buffer(), task.index_buffer()})
        if (given >= 0)
          write(touches, given);
    }
    return touches;
  }

private:
  static void write(Touches &touches, int buffer) {
    touches[buffer].writes = true;
  }
  /// The same of an operand or its like.
  template <class Access>
  void read(Touches &touches, const Access &access) const {
    touches.try_emplace(bufferOf(access), Touch{true, false});
  }
  template <class Access>
  void write(Touches &touches, const Access &access) const {
    write(touches, bufferOf(access));
  }
  template <class Access>
  int bufferOf(const Access &access) const {
    return int(placed.of(access.buffer(), access.offset(), arguments));
  }

  /// Whether the PE does what has this guard and runs so many times.
  bool runs(int guard, const program::Affine *times) const {
    if (!known)
      return true;
    if (guard >= 0 && scalars[size_t(guard)] == 0)
      return false;
    for (unsigned t = 0; times->terms() && t < times->terms()->size(); ++t)
      if (times->terms()->Get(t)->kind() != program::TermKind::Scalar)
        return true; // a run decides
    return evaluateAffine(*times, scalars) > 0;
  }

  void followInstruction(const program::Instruction &instruction,
                         Touches &touches) const {
    for (const program::Affine *extent : *instruction.extents())
      if (!runs(instruction.guard(), extent))
        return;
    for (const program::Operand *source : {instruction.a(), instruction.b()})
      if (source && source->kind() == program::OperandKind::Memory)
        read(touches, *source);
    const program::Operand &dst = *instruction.dst();
    if (dst.kind() != program::OperandKind::Memory)
      return;
    if (instruction.op() == program::Opcode::Fmac ||
        instruction.op() == program::Opcode::Select)
      read(touches, dst);
    write(touches, dst);
  }

  void follow(const Statements *body, Touches &touches) const {
    for (unsigned s = 0; body && s < body->size(); ++s) {
      const program::Statement *statement = body->Get(s);
      if (const auto *instruction = statement->kind_as_Instruction())
        followInstruction(*instruction, touches);
      if (const auto *load = statement->kind_as_Load())
        read(touches, *load);
      if (const auto *store = statement->kind_as_Store())
        write(touches, *store);
      if (const auto *clock = statement->kind_as_ReadClock())
        write(touches, *clock);
      if (const auto *loop = statement->kind_as_Loop())
        if (runs(loop->guard(), loop->count()))
          follow(loop->body(), touches);
      if (const auto *branch = statement->kind_as_If()) {
        follow(branch->then(), touches);
        follow(branch->otherwise(), touches);
      }
    }
  }

  const program::PEClass &peClass;
  const PlacedBuffers placed;
  KnownArguments arguments;
  const bool known;
  std::vector<int64_t> scalars;
};

/// A launch touches a buffer.
void touch(Holdings &holdings, int launch, int kernel, Touch how) {
  if (how.readsFirst) {
    if (holdings.empty())
      holdings.push_back({launch, launch, Holding::unknown});
    holdings.back().last = launch;
    // Who goes on with a value of its own has no other.
    if (!how.writes || holdings.back().kernel == kernel)
      return;
  }
  holdings.push_back({launch, launch, kernel});
}

bool isIn(const program::Rect &rect, int x, int y) {
  return x >= rect.x0() && x < rect.x1() &&
         (x - rect.x0()) % rect.xstep() == 0 && y >= rect.y0() &&
         y < rect.y1() && (y - rect.y0()) % rect.ystep() == 0;
}

/// Whether a copy concerns the PE, or any of the class.
bool concerns(const program::Rect &rect, const program::PEClass &peClass,
              const std::pair<int, int> *pe) {
  if (pe)
    return isIn(rect, pe->first, pe->second);
  for (const program::Rect *its : *peClass.rects())
    for (int y = its->y0(); y < its->y1(); y += its->ystep())
      for (int x = its->x0(); x < its->x1(); x += its->xstep())
        if (isIn(rect, x, y))
          return true;
  return false;
}

/// The host's copies before a launch.
void addCopies(const program::Entry &entry, const program::PEClass &peClass,
               const std::pair<int, int> *pe, int launch,
               std::vector<Holdings> &all) {
  const int launches = int(entry.launches()->size());
  for (unsigned c = 0; entry.copies() && c < entry.copies()->size(); ++c) {
    const program::HostCopy &copy = *entry.copies()->Get(c);
    if (int(copy.launch()) != launch || !concerns(*copy.rect(), peClass, pe))
      continue;
    const bool in = copy.direction() == program::Direction::In;
    for (size_t b = 0; b < all.size(); ++b)
      if (peClass.buffers()->Get(unsigned(b))->name()->string_view() ==
          copy.buffer()->string_view())
        touch(all[b],
              in ? std::min(launch, launches - 1) : std::max(0, launch - 1),
              Holding::host, {!in, in});
  }
}

} // namespace

std::vector<Holdings> bufferHoldings(const program::Entry &entry,
                                     const program::PEClass &peClass,
                                     const std::pair<int, int> *pe) {
  const int launches = int(entry.launches()->size());
  std::vector<Holdings> all(peClass.buffers() ? peClass.buffers()->size() : 0);
  CodeTouches code(peClass, pe);
  std::map<std::pair<uint32_t, KnownArguments>, Touches> routines;
  for (int l = 0; l < launches; ++l) {
    addCopies(entry, peClass, pe, l, all);
    const program::Launch &launch = *entry.launches()->Get(unsigned(l));
    const KnownArguments arguments = knownArguments(entry, launch);
    auto [routine, fresh] = routines.try_emplace({launch.routine(), arguments});
    if (fresh)
      routine->second = code.ofRoutine(launch.routine(), arguments);
    for (const auto &[buffer, how] : routine->second)
      touch(all[size_t(buffer)], l, int(launch.kernel()), how);
  }
  addCopies(entry, peClass, pe, launches, all);
  const int only = launches == 1 ? int(entry.launches()->Get(0)->kernel())
                                 : Holding::unknown;
  for (const auto &[buffer, how] : code.ofTasks())
    all[size_t(buffer)] = {{0, std::max(0, launches - 1), only}};
  // What it holds came with the call, or goes on after it.
  for (unsigned b = 0; b < all.size(); ++b)
    if (peClass.buffers()->Get(b)->persistent() && launches > 0) {
      if (all[b].empty() || all[b].front().first > 0)
        all[b].insert(all[b].begin(), {0, 0, Holding::unknown});
      all[b].back().last = launches - 1;
    }
  return all;
}

bool changesState(const program::Program &program,
                  const program::Entry &entry) {
  for (const program::PEClass *peClass : *program.classes()) {
    if (!peClass->buffers())
      continue;
    CodeTouches code(*peClass, nullptr);
    std::vector<Touches> all{code.ofTasks()};
    for (const program::Launch *launch : *entry.launches())
      all.push_back(
          code.ofRoutine(launch->routine(), knownArguments(entry, *launch)));
    auto persists = [&](const program::Buffer &its) {
      return std::any_of(
          peClass->buffers()->begin(), peClass->buffers()->end(),
          [&](const program::Buffer *other) {
            return other->persistent() &&
                   its.address() < other->address() + other->bytes() &&
                   other->address() < its.address() + its.bytes();
          });
    };
    for (const Touches &touches : all)
      for (const auto &[buffer, how] : touches)
        if (how.writes && persists(*peClass->buffers()->Get(uint32_t(buffer))))
          return true;
    for (uint32_t c = 0; entry.copies() && c < entry.copies()->size(); ++c)
      for (const program::Buffer *its : *peClass->buffers())
        if (const program::HostCopy &copy = *entry.copies()->Get(c);
            copy.direction() == program::Direction::In &&
            copy.buffer()->string_view() == its->name()->string_view() &&
            persists(*its))
          return true;
  }
  return false;
}

std::string ownerOf(const program::Program &program, const Holding &holding) {
  if (holding.kernel == Holding::host)
    return "(host)";
  if (!program.kernels() || holding.kernel < 0 ||
      unsigned(holding.kernel) >= program.kernels()->size())
    return "";
  return program.kernels()->Get(unsigned(holding.kernel))->name()->str();
}

} // namespace wsec::runtime
