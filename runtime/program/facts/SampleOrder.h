// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// In which order launches of several samples go out, and when they then start.
#ifndef RUNTIME_PROGRAM_FACTS_SAMPLEORDER_H
#define RUNTIME_PROGRAM_FACTS_SAMPLEORDER_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace wsec::runtime {

/// A launch of an entry, for one of the samples.
struct SampleLaunch {
  uint32_t sample = 0, launch = 0;
  double start = 0;     ///< as predicted, in cycles of the run
  bool follows = false; ///< without a command, behind those before
};

/// Launches that each sample goes through, on classes of PEs that work side by
/// side. Times are in cycles.
struct SampleFlow {
  std::vector<std::vector<uint32_t>> classesOf; ///< of each launch
  /// Launches that store what this one reads.
  std::vector<std::vector<uint32_t>> after;
  std::vector<double> cycles; ///< of each launch
  /// From when something is stored to when it is sent, where `cycles` leave out
  /// what launches wait for that.
  double storeLatency = 0;
  size_t classes = 0;
  /// Commands that get ahead of a busy class, [busy][other].
  std::vector<std::vector<size_t>> ahead;
};

/// All launches of all samples, as early as classes are free. Each class takes
/// those of a sample in the order of the entry, and sample after sample, so
/// that no buffer of one is overwritten by the next before it has been read, or
/// sent. Commands reach all PEs in one order and wait behind a busy class
/// (CommandRoom). So there is one for each sample, with its first launch; all
/// launches until the next one follow it.
std::vector<SampleLaunch> orderSamples(const SampleFlow &flow,
                                       uint32_t samples);

/// Says when launches start that are commanded in this order.
void playSamples(const SampleFlow &flow, uint32_t samples,
                 std::vector<SampleLaunch> &launches);

/// Says when launches would start if commands never waited for one another.
void playUnhindered(const SampleFlow &flow, uint32_t samples,
                    std::vector<SampleLaunch> &launches);

/// From sample to sample: between the ends of the second half of the samples,
/// by the times at which they end. Of one it is that time.
double meanPace(const std::vector<double> &ends);

/// The mean pace of launches whose starts are known.
double cyclesPerSample(const SampleFlow &flow, uint32_t samples,
                       const std::vector<SampleLaunch> &launches);

} // namespace wsec::runtime

#endif // RUNTIME_PROGRAM_FACTS_SAMPLEORDER_H
