// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/swarmx/CanonicalSum.h"

#include <algorithm>
#include <bit>

namespace wsec::runtime {

SampleRange samplesOf(unsigned system, unsigned systems, uint64_t samples) {
  const uint64_t each = samples / systems, more = samples % systems;
  const auto start = [&](uint64_t i) { return i * each + std::min(i, more); };
  return {start(system), start(system + 1)};
}

CanonicalSum::CanonicalSum(uint64_t samples)
    : samples(samples),
      whole(samples < 2 ? 0 : std::bit_width(samples - 1), 0) {}

void CanonicalSum::addSample(uint64_t sample, std::vector<float> values) {
  add({{0, sample}, std::move(values)});
}

void CanonicalSum::add(Partial partial) {
  auto &[of, values] = partial;
  while (of != whole) {
    const auto [level, index] = of;
    const bool left = index % 2 == 0;
    if (!left || (index + 1) << level < samples) {
      const auto sibling = held.find({level, index ^ 1});
      if (sibling == held.end())
        break;
      // Sums keep their order: left plus right.
      std::vector<float> other = std::move(sibling->second);
      held.erase(sibling);
      if (!left)
        std::swap(values, other);
      for (size_t i = 0; i < values.size(); ++i)
        values[i] += other[i];
    }
    of = {level + 1, index / 2};
  }
  held[of] = std::move(values);
}

std::vector<Partial> CanonicalSum::take() {
  std::vector<Partial> partials;
  for (auto &[of, values] : held)
    partials.push_back({of, std::move(values)});
  held.clear();
  std::sort(partials.begin(), partials.end(),
            [](const Partial &a, const Partial &b) {
              return a.of.second << a.of.first < b.of.second << b.of.first;
            });
  return partials;
}

uint64_t CanonicalSum::partialsOf(SampleRange range, uint64_t samples) {
  CanonicalSum sum(samples);
  for (uint64_t sample = range.begin; sample < range.end; ++sample)
    sum.addSample(sample, {});
  return sum.held.size();
}

} // namespace wsec::runtime
