// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What can be read off a program without running it; for reports.
#ifndef RUNTIME_PROGRAM_FACTS_FACTS_H
#define RUNTIME_PROGRAM_FACTS_FACTS_H

#include "runtime/program/program_generated.h"

#include <cstdint>
#include <optional>
#include <string>

namespace wsec::runtime {

/// PEs that hold code.
uint64_t countPes(const program::Program &program);
/// The number of PEs that compute: run scalar code, or an instruction that does
/// more than receive words and send them on.
uint64_t computingPes(const program::Program &program);

/// The end of what a PE of the fullest class holds: host runtime, code and
/// buffers. The owner is the ONNX node (else the name) of the buffer that ends
/// there; empty where code does.
struct SramPeak {
  uint64_t bytes = 0;
  std::string owner;
};
SramPeak sramPeak(const program::Program &program);

/// Bytes of weights and constants that the launches of a call stream in, as f32
/// words: of an entry, with its largest arguments, or the most of all entries.
uint64_t streamedWeightBytes(const program::Program &program, uint32_t entry);
uint64_t streamedWeightBytes(const program::Program &program);

/// Elements of activations and weights: f16, bf16 or cb16 where buffers have
/// such, else f32; and what streams, beside a word for each element.
struct Precision {
  program::ElementType format = program::ElementType::F32;
  uint64_t streamedBytes = 0, streamedBytesAsF32 = 0;

  const char *name() const; ///< "bf16"
  int elementsPerWord() const {
    return format == program::ElementType::F32 ? 1 : 2;
  }
};
Precision precisionOf(const program::Program &program);

/// Weights of matrices of which a launch streams only those that are kept.
struct SparseWeights {
  uint64_t weights = 0; ///< of the whole matrices
  uint64_t kept = 0;
  uint64_t bytes = 0; ///< as values and indices

  double density() const { return double(kept) / double(weights); }
  SparseWeights &operator+=(const SparseWeights &other);
  /// "21600 of 86400 weights kept (25.0 %), 130 kB with their indices"; empty
  /// where there are none.
  std::string text() const;
};
SparseWeights sparseWeights(const program::Program &program,
                            const program::Launch &launch);

/// Tokens of a run: elements of the input that rows of a table are looked up
/// by (batch x tokens). 0: the model has no such input.
uint64_t tokensPerRun(const program::Program &program);

/// Rows of the smallest table that an input looks up: what it knows is its
/// vocabulary. Nothing: it looks up none.
std::optional<int64_t> vocabularyOf(const program::Program &program,
                                    uint32_t input);

} // namespace wsec::runtime

#endif // RUNTIME_PROGRAM_FACTS_FACTS_H
