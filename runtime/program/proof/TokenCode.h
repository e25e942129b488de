// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What PEs do to the fabric and to tasks, with loops unrolled.
#ifndef RUNTIME_PROGRAM_PROOF_TOKENCODE_H
#define RUNTIME_PROGRAM_PROOF_TOKENCODE_H

#include "runtime/program/proof/FabricUse.h"

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace wsec::runtime::tokens {

/// The code of all classes, and what tells PEs apart.
class Code {
public:
  Code(const program::Program &program, ProofSteps &steps) : program(program) {
    for (const program::PEClass *peClass : *program.classes())
      read(*peClass, steps);
  }

  const FabricRoutine *routine(size_t peClass, uint32_t id) const {
    auto found = routines.find({peClass, id});
    return found == routines.end() ? nullptr : &found->second;
  }
  const FabricRoutine &task(size_t peClass, size_t index) const {
    return tasks.at({peClass, uint32_t(index)});
  }
  /// "task 't' (class 'c')"
  std::string nameOfTask(size_t peClass, size_t task) const;

  const program::Program &program;
  std::vector<AxisScalars> scalars;
  std::vector<std::set<int>> atoms;

private:
  void read(const program::PEClass &peClass, ProofSteps &steps);
  void collectAtoms(const FabricRoutine &routine);

  std::map<std::pair<size_t, uint32_t>, FabricRoutine> routines, tasks;
};

} // namespace wsec::runtime::tokens

#endif // RUNTIME_PROGRAM_PROOF_TOKENCODE_H
