// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is proved about a program before it runs, whoever wrote it. The work
// does not grow with the PEs, except for rectangles (a bit per PE) and for
// divisors that no interval proves to be non-zero, whose number is limited.
#ifndef RUNTIME_PROGRAM_CHECKER_H
#define RUNTIME_PROGRAM_CHECKER_H

#include "runtime/program/program_generated.h"

namespace wsec::runtime {

/// Limits that keep a damaged file from asking for absurd amounts of work.
inline constexpr int32_t largestMeshSide = 1 << 14;
inline constexpr int64_t largestMeshPEs = 1 << 22;
inline constexpr uint32_t largestScalarList = 1 << 15;
inline constexpr uint32_t largestTermList = 1 << 8;
inline constexpr uint32_t largestTensorRank = 1 << 6;
inline constexpr uint32_t largestLoopDepth = 8;
inline constexpr uint32_t largestOperandRank = 4;
inline constexpr uint32_t largestSegmentRank = 8;
inline constexpr uint32_t largestCopyList = 1 << 14;
inline constexpr uint32_t largestEntryList = 1 << 8;
inline constexpr uint32_t largestArgumentList = 1 << 6;

/// The launch color of programs that calls of the host launch.
inline constexpr uint8_t noLaunchColor = 255;

/// Throws an Error when the program, already verified as a flatbuffer, does
/// not make sense. Afterwards every index, enumeration and size in it is in
/// range and scalars can be evaluated without a fault.
void checkProgram(const program::Program &program);

/// Bytes of code that the routines and tasks of a class take in each of its
/// PEs.
uint64_t codeBytes(const program::PEClass &peClass);

/// Elements of a tensor, and bytes of one element. The shape must have passed
/// the checker.
uint64_t elementCount(const program::Tensor &tensor);
uint32_t elementBytes(program::ElementType type);

} // namespace wsec::runtime

#endif // RUNTIME_PROGRAM_CHECKER_H
