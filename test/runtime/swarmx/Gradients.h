// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Gradients at random, and their reduction over the processes of a link.
#ifndef TEST_RUNTIME_SWARMX_GRADIENTS_H
#define TEST_RUNTIME_SWARMX_GRADIENTS_H

#include "runtime/swarmx/PassLink.h"
#include "runtime/swarmx/ReductionLink.h"

#include <cmath>
#include <random>

namespace wsec::runtime::test {

constexpr size_t gradientWords = 33;
constexpr unsigned gradientStreams = 2;
using Sums = std::vector<std::vector<float>>; ///< by stream

/// Of very different sizes, so that every order of additions rounds otherwise.
inline std::vector<float> gradient(uint64_t sample, unsigned stream) {
  std::mt19937 random(unsigned(sample * gradientStreams + stream));
  std::vector<float> values(gradientWords);
  for (float &value : values)
    value = std::ldexp(float(int(random() % 20001) - 10000),
                       int(random() % 24) - 12);
  return values;
}

/// The part of a process; in process 0 until all sums are there.
inline Sums reduceOver(Link &link, unsigned systems, uint64_t samples,
                       ReduceOrder order) {
  const Tree tree(systems);
  Sums sums(gradientStreams);
  unsigned done = 0;
  ReductionLink reduction(link, tree, order, samples,
                          [&](unsigned stream, std::vector<float> sum) {
                            sums[stream] = std::move(sum);
                            ++done;
                          });
  for (unsigned system = 0; system < systems; ++system) {
    if (processOf(system, tree, link) != link.rank())
      continue;
    const SampleRange range = samplesOf(system, systems, samples);
    for (unsigned stream = 0; stream < gradientStreams; ++stream) {
      SystemSum sum(order, samples);
      for (uint64_t i = range.begin; i < range.end; ++i)
        sum.add(i, gradient(i, stream));
      reduction.send(system, stream, sum.take());
    }
  }
  for (bool ended = false;
       !ended && (link.rank() > 0 || done < gradientStreams);)
    if (const auto received = link.receive())
      ended = !reduction.dispatch(received->second);
  for (unsigned other = 1; link.rank() == 0 && other < link.size(); ++other)
    link.send(other, {Message::Kind::End, {1}});
  return sums;
}

} // namespace wsec::runtime::test

#endif // TEST_RUNTIME_SWARMX_GRADIENTS_H
