// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/host/Sampling.h"
#include "runtime/program/Errors.h"

#include <algorithm>
#include <cmath>

namespace wsec::runtime {

/// splitmix64: the same numbers on every machine.
double Sampler::draw() {
  uint64_t z = state += 0x9E3779B97F4A7C15ull;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  return double((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

int64_t Sampler::choose(std::vector<Likely> tokens) {
  const auto isBefore = [](const Likely &a, const Likely &b) {
    return a.logit != b.logit ? a.logit > b.logit : a.id < b.id;
  };
  const bool isNumbers =
      std::none_of(tokens.begin(), tokens.end(),
                   [](const Likely &its) { return std::isnan(its.logit); });
  const auto best = std::min_element(tokens.begin(), tokens.end(), isBefore);
  if (!isNumbers || best == tokens.end() || !std::isfinite(best->logit))
    throw Error(ErrorClass::NotFinite,
                "logits are no finite numbers: numbers of the model are too "
                "large for its precision; compile it with --precision=f32");
  if (sampling.temperature == 0)
    return best->id;
  std::sort(tokens.begin(), tokens.end(), isBefore);
  if (sampling.topK && sampling.topK < tokens.size())
    tokens.resize(sampling.topK);
  // Sums of shares, up to each token.
  std::vector<double> sums;
  double sum = 0;
  for (const Likely &token : tokens)
    sums.push_back(sum += std::exp((token.logit - tokens.front().logit) /
                                   sampling.temperature));
  const auto within = [&](double share) {
    const auto at = std::upper_bound(sums.begin(), sums.end(), share);
    return std::min(size_t(at - sums.begin()), sums.size() - 1);
  };
  if (sampling.topP < 1)
    sums.resize(within(sampling.topP * sum) + 1);
  return tokens[within(draw() * sums.back())].id;
}

} // namespace wsec::runtime
