// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The wafers and what is around them, as numbers. README.md has the source of
// each default.
#ifndef WSEC_TOOLS_ESTIMATE_CLUSTER_H
#define WSEC_TOOLS_ESTIMATE_CLUSTER_H

#include <cstdint>

namespace wsec {
struct Machine;
namespace presets {
struct Workload;
}
} // namespace wsec

namespace wsec::estimate {

struct Cluster {
  /// Operations a second of one wafer: 850,000 PEs x 4 multiply-adds, of two
  /// operations each, x 1.1 GHz, 16-bit.
  double peakFlops = 7.5e15;
  /// Link of one wafer, each direction: 12 x 100 Gb/s Ethernet.
  double linkBytesPerSecond = 1.5e11;
  /// Bytes of a weight on the link, and of a gradient.
  double weightBytes = 2;
  /// SRAM of a wafer that may hold activations.
  double activationBytes = 32e9;
  /// Bytes a second of the store, while it runs the optimizer.
  double storeBytesPerSecond = 2.4e12;
  /// Between levels of the tree of broadcast and reduction.
  double hopSeconds = 5e-6;
  /// Words of a pass wait for this part of its multiply-adds, at the peak: a PE
  /// that multiplies takes a word in every other cycle. 0 where the used part
  /// of the link was measured with that in it.
  double wordsWait = 0;
  /// Samples that the workers deliver, tokens per second; 0: as fast as asked.
  double inputTokensPerSecond = 0;
  /// What a system draws, cooling and pumps included.
  double systemWatts = 23000;
  /// A system for an hour, without the power; and power.
  double dollarsPerSystemHour = 85, dollarsPerKilowattHour = 0.1;
};

/// One wafer as programs run on it here, in f32: multiply-adds of all PEs, and
/// a word per cycle and I/O channel. Of the peak a kernel uses what its vectors
/// are long enough for.
Cluster waferOf(const Machine &machine);
/// Forward passes that its programs repeat: they keep the inputs of layers, and
/// of each but the last compute all again but its last product, 4 d^2 of 12 d^2
/// weights (compiler/differentiate).
double recomputedOf(const presets::Workload &work);

/// Used fractions of the peak and of the link.
struct Efficiency {
  double eta, beta;
};

/// As measured on wafers by others, and the bounds of physics. A fraction of
/// one is never shown without the measured one beside it.
inline constexpr double measuredEta = 0.22;
inline constexpr double idealEta = 1;
inline constexpr double measuredBeta = 0.66;
inline constexpr double idealBeta = 1;

/// How a step runs.
struct Step {
  enum class Mode { Train, Eval };
  Mode mode = Mode::Train;
  int64_t systems = 1;
  int64_t batch = 0;  ///< sequences per step, over all systems
  double density = 1; ///< of product weights
  /// Times that a layer's weights stream in a step beyond the forward pass.
  int64_t backwardPasses = 1;
  /// Forward passes that are recomputed. A measured eta has them in it, so
  /// this counts where eta is ideal.
  double recompute = 0;
  int64_t totalTokens = 0; ///< to be taken step by step, or 0: one step
  bool offload = false;    ///< layer inputs go to the store and come back
};

} // namespace wsec::estimate

#endif // WSEC_TOOLS_ESTIMATE_CLUSTER_H
