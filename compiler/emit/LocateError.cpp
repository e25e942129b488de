// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/emit/LocateError.h"
#include "compiler/emit/Translation.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;

namespace wsec::emit {

namespace {

/// Follows the steps of a place from the program to an op. Emission keeps the
/// order of ops, so numbers of the tables count ops of a kind.
class Walk {
public:
  explicit Walk(pe::ProgramOp program)
      : program(program), at(program), block(&program.getBody().front()) {}

  /// Goes a step further; false if no op stands for it.
  bool step(const runtime::PlaceStep &step) {
    if (step.what == "then" || step.what == "otherwise")
      return enterBranch(step.what == "then");
    Operation *next = find(step);
    if (!next)
      return false;
    at = next;
    block = nullptr;
    if (next->getNumRegions() == 1 && !next->getRegion(0).empty())
      block = &next->getRegion(0).front();
    return true;
  }
  Operation *op() const { return at; }

private:
  bool enterBranch(bool then) {
    auto branch = dyn_cast<pe::IfOp>(at);
    if (!branch)
      return false;
    Region &region = then ? branch.getThen() : branch.getOtherwise();
    block = region.empty() ? nullptr : &region.front();
    return block;
  }

  Operation *find(const runtime::PlaceStep &step) {
    if (!block)
      return nullptr;
    if (step.what == "statement")
      return nth(step.index, [](Operation &) { return true; });
    if (step.what == "routine")
      return findRoutine(step.index);
    return llvm::StringSwitch<llvm::function_ref<Operation *()>>(step.what)
        .Case("class", [&] { return named<pe::ClassOp>(step); })
        .Case("buffer", [&] { return named<pe::BufferOp>(step); })
        .Case("task", [&] { return named<pe::TaskOp>(step); })
        .Case("tensor", [&] { return named<pe::TensorOp>(step); })
        .Case("stream", [&] { return named<pe::StreamOp>(step); })
        .Case("segment", [&] { return numbered<pe::SegmentOp>(step); })
        .Case("route rule", [&] { return numbered<pe::RouteOp>(step); })
        .Case("filter", [&] { return numbered<pe::FilterOp>(step); })
        .Case("queue binding", [&] { return numbered<pe::QueueOp>(step); })
        .Case("copy", [&] { return numbered<pe::CopyOp>(step); })
        .Case("entry", [&] { return named<pe::EntryOp>(step); })
        .Case("value", [&] { return numbered<pe::ValueOp>(step); })
        .Case("launch", [&] { return numbered<pe::LaunchOp>(step); })
        .Default([]() -> Operation * { return nullptr; })();
  }

  Operation *nth(int64_t index, llvm::function_ref<bool(Operation &)> counts) {
    for (Operation &op : *block)
      if (counts(op) && index-- == 0)
        return &op;
    return nullptr;
  }
  template <class Op>
  Operation *numbered(const runtime::PlaceStep &step) {
    return nth(step.index, [](Operation &op) { return isa<Op>(op); });
  }
  template <class Op>
  Operation *named(const runtime::PlaceStep &step) {
    return nth(0, [&](Operation &op) {
      auto candidate = dyn_cast<Op>(op);
      return candidate && candidate.getSymName() == step.name;
    });
  }
  /// Routines are numbered by name over all classes.
  Operation *findRoutine(int64_t index) {
    const llvm::StringMap<int64_t> numbers = numberSymbols(program).routines;
    return nth(0, [&](Operation &op) {
      auto routine = dyn_cast<pe::RoutineOp>(op);
      return routine && numbers.lookup(routine.getSymName()) == index;
    });
  }

  pe::ProgramOp program;
  Operation *at;
  Block *block;
};

} // namespace

// The op at a place of the program, and how many steps lead to it.
static std::pair<Operation *, size_t> opAt(pe::ProgramOp program,
                                           ArrayRef<runtime::PlaceStep> place) {
  Walk walk(program);
  size_t found = 0;
  while (found < place.size() && walk.step(place[found]))
    ++found;
  return {walk.op(), found};
}

void reportLoadError(pe::ProgramOp program, const LoadError &error) {
  const auto [op, found] = opAt(program, error.place);
  InFlightDiagnostic diagnostic = op->emitOpError("cannot run: ")
                                  << error.errorClass << ": ";
  for (const runtime::PlaceStep &step : ArrayRef(error.place).drop_front(found))
    diagnostic << runtime::toString(step) << ": ";
  diagnostic << error.message;
  if (auto peClass = op->getParentOfType<pe::ClassOp>())
    diagnostic.attachNote(peClass.getLoc())
        << "in PEs of class @" << peClass.getSymName();
  if (!error.other.empty())
    diagnostic.attachNote(opAt(program, error.other).first->getLoc())
        << error.note;
}

} // namespace wsec::emit
