// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RUNTIME_PROGRAM_CHECK_HOSTCHECKER_H
#define RUNTIME_PROGRAM_CHECK_HOSTCHECKER_H

#include "runtime/program/check/EntryChecker.h"
#include "runtime/program/program_generated.h"

namespace wsec::runtime {

/// Check the host's side of a program: the tensors with the files they lie in,
/// the streams and copies that read and write them, and the values that PEs
/// hold. The machine, and for copies and values the classes, must be checked.
/// Arguments of streams are as launches carry them.
void checkTensors(const program::Program &program);
void checkStreams(const program::Program &program, const CarriedRanges &carried,
                  CheckerWork &work);
void checkCopies(const program::Program &program, CheckerWork &work);
void checkValues(const program::Program &program, CheckerWork &work);

/// Tensor `index`, of which "what" is said if it does not exist.
const program::Tensor &tensorAt(const program::Program &program, int64_t index,
                                const std::string &what, const Where &where);
/// The flatbuffer verifier aligns the length of a vector, not its elements:
/// here numbers of 64 bits, or structs that have some.
template <typename Element>
void checkAligned(const flatbuffers::Vector<Element> &vector,
                  const Where &where) {
  if (reinterpret_cast<uintptr_t>(vector.Data()) % alignof(int64_t) != 0)
    throw badProgram(where, "a list of numbers is not aligned");
}
/// A shape, if there is one, of no more elements than a store holds.
void checkShape(const flatbuffers::Vector<int64_t> *shape, const Where &where);
/// A factor that sums of products stay small with.
void checkStride(const char *name, int64_t stride, const Where &where);
/// What a sparse weight is made of lies in its matrix, whose elements have
/// indices of 16 bits. Shapes must be checked.
void checkSparsity(const program::Tensor &tensor,
                   const program::Program &program, const Where &where);
/// Tensors that are parameters, and outputs that are added to their gradients.
/// Shapes must be checked.
void checkParameters(const program::Program &program);
/// Intermediate tensors are written by launches, then read by later ones.
void checkIntermediates(const program::Program &program);

} // namespace wsec::runtime

#endif // RUNTIME_PROGRAM_CHECK_HOSTCHECKER_H
