// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A mesh in which PEs that cannot be told apart are one.
#ifndef RUNTIME_PROGRAM_PROOF_KINDMESH_H
#define RUNTIME_PROGRAM_PROOF_KINDMESH_H

#include "runtime/program/proof/FabricUse.h"

namespace wsec::runtime {

/// Columns and rows by kind. Columns of a kind lie in the same rules and
/// classes and agree in all scalars that matter; if words travel along rows,
/// each column that lies in any is of its own. Likewise rows. So what PEs of
/// one kind of column and one of row do is the same for all of them.
struct KindMesh {
  struct Line : AxisKinds {
    /// "0..3, 7": the positions of a kind.
    std::string describe(size_t kind) const;
  };
  Line columns, rows;
};

/// `atoms`: by class, the scalars that its code depends on, each on one axis.
KindMesh kindsOfPes(const program::Program &program,
                    const std::vector<std::set<int>> &atoms,
                    const std::vector<AxisScalars> &scalars, ProofSteps &steps);

} // namespace wsec::runtime

#endif // RUNTIME_PROGRAM_PROOF_KINDMESH_H
