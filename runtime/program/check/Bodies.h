// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RUNTIME_PROGRAM_CHECK_BODIES_H
#define RUNTIME_PROGRAM_CHECK_BODIES_H

#include "runtime/program/check/Where.h"
#include "runtime/program/program_generated.h"

namespace wsec::runtime {

/// Calls `visit` with the code of each routine and task of a class, and its
/// place in it.
template <typename Visit>
void forEachBody(const program::PEClass &peClass, const Where &where,
                 Visit visit) {
  if (peClass.routines())
    for (const program::Routine *routine : *peClass.routines())
      visit(routine->body(), Where{&where, "routine", routine->id()});
  if (peClass.tasks())
    for (const program::Task *task : *peClass.tasks())
      visit(task->body(), Where{&where, "task", -1, task->name()});
}

} // namespace wsec::runtime

#endif // RUNTIME_PROGRAM_CHECK_BODIES_H
