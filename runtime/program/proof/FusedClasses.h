// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The classes of a program as one, for proofs that know of one.
#ifndef RUNTIME_PROGRAM_PROOF_FUSEDCLASSES_H
#define RUNTIME_PROGRAM_PROOF_FUSEDCLASSES_H

#include "runtime/program/program_generated.h"

namespace wsec::runtime {

/// A program whose only class is of all PEs of the mesh. Each of its routines
/// is, for every class that has it, a branch that PEs of that class take. Of
/// code, only what touches the fabric or waits is there; routes, streams,
/// launches and machine are those of the program.
class FusedClasses {
public:
  /// The program must have passed the checker. Throws NotUnderstood where a
  /// class has tasks or filters, or scalars that cannot be computed for PEs of
  /// other classes.
  explicit FusedClasses(const program::Program &program);

  const program::Program &program() const {
    return *program::GetProgram(builder.GetBufferPointer());
  }

private:
  flatbuffers::FlatBufferBuilder builder;
};

/// A program with one of its classes and no other: routes, streams, launches
/// and machine are those of the program.
class ClassAlone {
public:
  ClassAlone(const program::Program &program, const program::PEClass &peClass);

  const program::Program &program() const {
    return *program::GetProgram(builder.GetBufferPointer());
  }

private:
  flatbuffers::FlatBufferBuilder builder;
};

} // namespace wsec::runtime

#endif // RUNTIME_PROGRAM_PROOF_FUSEDCLASSES_H
