// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RUNTIME_HOST_SAMPLING_H
#define RUNTIME_HOST_SAMPLING_H

#include <cstdint>
#include <vector>

namespace wsec::runtime {

/// How the next token is taken from logits: the largest at a temperature of 0;
/// else by chance, with logits divided by it, among the `topK` likeliest (0:
/// all), of these the fewest that have a share of `topP` together.
struct Sampling {
  double temperature = 0;
  uint64_t topK = 0;
  double topP = 1;
  uint64_t seed = 0;
};

/// A token and its logit.
struct Likely {
  int64_t id;
  double logit;
};

/// Draws token after token: equal seeds and logits, equal tokens.
class Sampler {
public:
  explicit Sampler(const Sampling &sampling)
      : sampling(sampling), state(sampling.seed) {}

  /// One of them; of equally likely ones the lowest. Throws NotFinite unless
  /// the largest logit is a finite number and none is NaN.
  int64_t choose(std::vector<Likely> tokens);

private:
  /// Even in [0, 1).
  double draw();

  Sampling sampling;
  uint64_t state;
};

} // namespace wsec::runtime

#endif // RUNTIME_HOST_SAMPLING_H
