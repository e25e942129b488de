// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which kernels of a program that runs as a pipeline share a region, and how
// wide each region is. Plain C++: no MLIR.

#ifndef WSEC_COMPILER_SELECT_STAGEPROBLEM_H
#define WSEC_COMPILER_SELECT_STAGEPROBLEM_H

#include "compiler/placement/FreeColumns.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace wsec {

/// Kernels [begin, end) of the list, on a region of widths[width] columns.
struct Stage {
  size_t begin = 0, end = 0;
  size_t width = 0;
  /// The first of another row of stages than the stage before it: what crosses
  /// passes through the store.
  bool turns = false;
};

struct StagePlan {
  std::vector<Stage> stages;
  double cycles = 0;  ///< of the slowest: from sample to sample
  double latency = 0; ///< of all: a sample alone goes from one to the next
  double load = 0;    ///< until what stays is there

  /// What so many samples take, one after the other.
  double cyclesOf(int64_t samples) const {
    return load + latency + double(samples - 1) * cycles;
  }
};

/// Samples follow one another through the stages, which lie side by side, so
/// the slowest stage decides how many there are in a second. Three kernels, 8
/// columns, widths 2, 4 and 8:
///
///   kernel                 a    b    c
///   cycles on 2 columns   60   20   40
///             4           30   10   20
///             8           20    8   15       one stage of 8: 43
///   what crosses before        2    2
///
///   | a, 4 columns | b c, 4 columns |        32 and 2 + 30: 32
///
/// Where the mesh has room for several rows of stages, those of the next one
/// follow as lines of a text do. In a row they step over what is kept out.
class StageProblem {
public:
  std::vector<FreeColumns> rows; ///< of stages, from north to south
  size_t mostStages = 1;         ///< in a row: each has a channel
  int64_t room = 0; ///< bytes of a PE for what stays and what kernels use
  std::vector<int64_t> widths;
  /// The cycles of each kernel on each width, [width][kernel].
  std::vector<std::vector<double>> cycles;
  /// What a stage of that width that ends before kernel k takes to hand over
  /// what is used from there on, and one that begins with it to take that,
  /// [width][k]; infinite: no region can hand it over.
  std::vector<std::vector<double>> leaving, entering;
  /// What leaving and entering take through the store, to and from another row
  /// of stages; only needed where there is more than one.
  std::vector<std::vector<double>> storing, loading;
  /// Bytes of a PE that stay from sample to sample, and that are in use while
  /// the kernel runs, [width][kernel].
  std::vector<std::vector<int64_t>> bytes, working;

  size_t kernelCount() const { return cycles.empty() ? 0 : cycles[0].size(); }

  /// The cycles of one stage, with what it takes and hands over, to one that
  /// turns or not.
  double cyclesOf(const Stage &stage, bool nextTurns) const;
  /// What stays, and the most that is in use beside it.
  int64_t bytesOf(const Stage &stage) const;

  /// Empty if the input makes sense, else what is wrong with it.
  std::string check() const;

  /// Empty if `plan` is legal, else the first rule it breaks:
  ///   G1 stages have each kernel once, in order, in these rows, at most
  ///      mostStages in each
  ///   G2 their widths are of the list, and those of a row lie in its columns,
  ///      one behind the other
  ///   G3 what crosses from one to the next can be handed over
  ///   G4 what stays in a PE fits beside what each kernel uses
  ///   G5 its cycles are those of the slowest, its latency is that of all
  std::string verify(const StagePlan &plan) const;
};

/// Channels of each stage: one, then another for that whose channels have most
/// words to bring.
std::vector<int64_t> shareOutChannels(const std::vector<double> &words,
                                      size_t channels);

/// Numbers of stages that are tried, in steps of the root of two: up to `most`,
/// from two on, or from one.
std::vector<size_t> stageCounts(size_t most, bool one);

} // namespace wsec

#endif // WSEC_COMPILER_SELECT_STAGEPROBLEM_H
