// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RUNTIME_MEMORYX_GRADIENTSUM_H
#define RUNTIME_MEMORYX_GRADIENTSUM_H

#include "runtime/memoryx/StateRegion.h"
#include "runtime/program/program_generated.h"

#include <memory>
#include <string>
#include <vector>

namespace wsec::runtime {

/// The gradient of one parameter over the samples of a batch, which come in
/// their order, some at a time. They are added in f32 along the binary tree
/// over their index, a subtree being its left half plus its right half, or its
/// left half alone where the batch ends before the right one. So the sum has
/// the same bits for any division of the batch into aligned parts:
///
///   5 samples: ((s0 + s1) + (s2 + s3)) + s4
///
/// Keeps one partial sum for each subtree that waits for its right half: one
/// if a batch comes at once, at most 1 + log2(parts) else.
class GradientSum {
public:
  GradientSum(uint64_t count, std::string folder)
      : count(count), folder(std::move(folder)) {}

  /// The sum over samples [first, first + samples), whose elements are of type
  /// F32, F16 or BF16. They are a subtree: first is a multiple of 2^k and
  /// samples at most 2^k, less only at the end of the batch. Throws BadCall
  /// where they are none, or not those that come next.
  void add(program::ElementType type, const void *gradient, uint64_t first,
           uint64_t samples);
  /// The samples that have come.
  uint64_t samples() const;

  /// The sum; null before anything has come. Nothing can be added then before
  /// clear().
  const float *total();
  void clear();
  /// Makes the elements of the sum 0 that a mask has as 0.
  void mask(const std::vector<uint8_t> &kept);

  /// Bytes that are taken now.
  uint64_t bytes() const;
  void release() const;

private:
  struct Partial {
    uint64_t first, samples, size; ///< size: of the subtree, a power of two
    std::unique_ptr<StateRegion> values;
    bool isWhole() const { return samples == size; }
  };
  void checkNext(uint64_t first, uint64_t samples, uint64_t size) const;
  /// Whether a partial is the left half to a right one of that size.
  static bool areHalves(const Partial &left, uint64_t first, uint64_t size);
  std::unique_ptr<StateRegion> takeRegion();
  /// Adds the last partial to the one before it.
  void mergeLast();

  uint64_t count;
  std::string folder;
  std::vector<Partial> partials;
  std::vector<std::unique_ptr<StateRegion>> spare;
};

} // namespace wsec::runtime

#endif // RUNTIME_MEMORYX_GRADIENTSUM_H
