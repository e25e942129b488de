// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RUNTIME_SWARMX_CANONICALSUM_H
#define RUNTIME_SWARMX_CANONICALSUM_H

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace wsec::runtime {

/// Samples of a batch, half open.
struct SampleRange {
  uint64_t begin = 0, end = 0;
  uint64_t size() const { return end - begin; }
};

/// The samples of system `system`: contiguous, in order, and as many as those
/// of others or one more (the first ones).
SampleRange samplesOf(unsigned system, unsigned systems, uint64_t samples);

/// Samples [index << level, (index + 1) << level) of a batch, as far as it has
/// them.
using Subtree = std::pair<unsigned, uint64_t>; ///< level, index

/// A part of a sum, in f32.
struct Partial {
  Subtree of;
  std::vector<float> values;
};

/// The sum over the samples of a batch in one order, whoever has which of them
/// and in whatever order they come: along the binary tree over the index of the
/// samples. A subtree is its left half plus its right half; its left half alone
/// where the right one lies behind the last sample. Rounded to f32 after each
/// addition.
///
///   5 samples: ((s0 + s1) + (s2 + s3)) + s4
///
/// Whoever has samples [b, e) adds what it can and holds one partial for each
/// of the largest subtrees that lie in them: one if the range is a subtree, at
/// most 2 * ceil(log2(samples)) else.
class CanonicalSum {
public:
  explicit CanonicalSum(uint64_t samples);

  void addSample(uint64_t sample, std::vector<float> values);
  /// `values` are as many as of all others; no sample of it is there yet.
  void add(Partial partial);

  /// What there is, in the order of the samples.
  std::vector<Partial> take();
  /// Whether all samples are there.
  bool complete() const { return held.count(whole); }

  /// The number of partials that are left of a range.
  static uint64_t partialsOf(SampleRange range, uint64_t samples);

private:
  const uint64_t samples;
  Subtree whole;
  /// Disjoint subtrees.
  std::map<Subtree, std::vector<float>> held;
};

} // namespace wsec::runtime

#endif // RUNTIME_SWARMX_CANONICALSUM_H
