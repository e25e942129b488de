// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/program/proof/TokenCode.h"
#include "runtime/program/NearestNames.h"

namespace wsec::runtime::tokens {

void Code::read(const program::PEClass &peClass, ProofSteps &steps) {
  const program::Machine &machine = *program.machine();
  std::string of = " (class " + inQuotes(peClass.name()->str()) + ")";
  for (unsigned i = 0; peClass.tasks() && i < peClass.tasks()->size(); ++i)
    if (peClass.tasks()->Get(i)->kind() == program::TaskKind::Control)
      throw NotUnderstood{"tasks that control wavelets start" + of};
  if (peClass.filters() && peClass.filters()->size() > 0)
    throw NotUnderstood{"filters, which may depend on data" + of};
  std::vector<program::Rect> rects;
  for (const program::Rect *rect : *peClass.rects())
    rects.push_back(*rect);
  scalars.emplace_back(peClass.scalars(), rects, machine.width(),
                       machine.height(), steps);
  atoms.emplace_back();
  auto unroll = [&](const StatementList &body, uint32_t id) {
    try {
      FabricRoutine unrolled = readRoutine(body, id, scalars.back(), true);
      collectAtoms(unrolled);
      return unrolled;
    } catch (const NotUnderstood &problem) {
      throw NotUnderstood{problem.reason + of};
    }
  };
  const size_t index = scalars.size() - 1;
  for (unsigned i = 0; peClass.routines() && i < peClass.routines()->size();
       ++i) {
    const program::Routine &routine = *peClass.routines()->Get(i);
    routines[{index, routine.id()}] = unroll(*routine.body(), routine.id());
  }
  for (unsigned i = 0; peClass.tasks() && i < peClass.tasks()->size(); ++i) {
    FabricRoutine &task = tasks[{index, i}];
    task = unroll(*peClass.tasks()->Get(i)->body(), i);
    task.isTask = true;
  }
}

std::string Code::nameOfTask(size_t peClass, size_t task) const {
  const program::PEClass &its = *program.classes()->Get(unsigned(peClass));
  return "task " + inQuotes(its.tasks()->Get(unsigned(task))->name()->str()) +
         " (class " + inQuotes(its.name()->str()) + ")";
}

void Code::collectAtoms(const FabricRoutine &routine) {
  auto collect = [&](const std::vector<int> &guards, const LoopTurns &turns) {
    for (int guard : guards)
      scalars.back().atoms(guard, atoms.back());
    scalars.back().atoms(turns, atoms.back());
  };
  for (const FabricEvent &event : routine.events)
    collect(event.guards, event.turns);
  for (const FabricOp &op : routine.ops) {
    collect(op.guards, op.turns);
    for (const program::Operand *operand : {op.in, op.out})
      if (operand) {
        for (const program::Affine *size : sizesOf(op, *operand))
          scalars.back().atoms(*size, atoms.back());
        scalars.back().atoms(*operand->color(), atoms.back());
        if (operand->window_offset())
          scalars.back().atoms(*operand->window_offset(), atoms.back());
      }
    if (op.control)
      scalars.back().atoms(*op.control->color(), atoms.back());
  }
}

} // namespace wsec::runtime::tokens
