// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a step of training or evaluation takes on 1..N wafers that stream
// weights. An estimate, never a measurement: see README.md.
//
// Work and streams of one microbatch of t tokens on one wafer, in seconds:
//
//   forward compute   C_f = t (2 rho Pmm + A) / (eta F),  A = 4 S d_attn L
//   backward compute  C_b = (2 + r) C_f        dX, dW, and what is recomputed
//   weights down      D   = rho Pmm (w + i) / (beta BW)   w = 2, i = 2 sparse
//   gradients up      U   = rho Pmm g / (beta BW)         g = 2
//   forward           T_f = max(C_f, D + h eta C_f, X)
//   backward          T_b = max(C_b, k D + h eta C_b + X, U)
//
// X are activations that are offloaded, h the part of the multiply-adds' time
// for which words wait (Cluster::wordsWait).
//
// All layers but the first hide behind one another, so of a step of n
// microbatches remain
//
//   T = n (T_f + T_b) + t_sync + max(0, t_adam - T_b) + exposed input
//   t_sync = (g + w) P1 / (beta BW) + 30 P1 / M + 2 ceil(log4 N) lambda
//   t_adam = 30 P / M          Adam reads 16 and writes 14 bytes a parameter
//
// and a pass is bound by compute from t* = eta F (w + i) rho Pmm / (beta BW
// (2 rho Pmm + A) (1 - h eta)) tokens on. Sources: the weight streaming
// execution mode as Cerebras documents it (Hot Chips 2021, 2022; training docs
// 1.9-2.10); bytes of activations as Korthikanti et al. count them (2022); the
// arithmetic is ours.
#ifndef WSEC_TOOLS_ESTIMATE_ESTIMATE_H
#define WSEC_TOOLS_ESTIMATE_ESTIMATE_H

#include "tools/estimate/Cluster.h"
#include "tools/presets/ModelShape.h"

#include <optional>
#include <string>
#include <vector>

namespace wsec::estimate {

using presets::Workload;

enum class Regime {
  Compute, ///< the wafer computes; the link waits
  Memory,  ///< the link is the limit, as SRAM caps the tokens of a pass
  Stream,  ///< the link is the limit, as there are too few tokens per wafer
};
const char *nameOf(Regime regime);

struct Flag {
  const char *name;
  std::string reason;
};

struct Estimate {
  Efficiency efficiency;
  double tokensPerWafer = 0; ///< per pass over the weights
  int64_t microbatches = 0;
  /// Seconds.
  double forwardCompute = 0, backwardCompute = 0;
  double weightsDown = 0, gradientsUp = 0, offload = 0;
  double forward = 0, backward = 0;
  double boundary = 0, optimizer = 0, exposedOptimizer = 0, exposedInput = 0;
  double step = 0;
  double tokensPerSecond = 0;
  /// What Step::totalTokens take.
  double seconds = 0, joules = 0, dollars = 0;
  double sustainedFlops = 0; ///< of the model, on all wafers
  double peakFraction = 0;
  double scaling = 0; ///< T(1) / (N T(N))
  /// Most wafers that the batch keeps bound by compute.
  double linearSystems = 0;
  double breakEvenForward = 0, breakEvenBackward = 0; ///< tokens
  Regime regime = Regime::Compute;
  std::string reason;
  std::vector<Flag> flags;
};

/// What does not depend on the used fractions.
struct Memory {
  int64_t segmentLayers = 0; ///< between stored inputs
  double activationBytesPerToken = 0;
  int64_t sequencesPerWafer = 0; ///< at most, per pass
  double tokensPerWaferMost = 0;
  double weightBytes = 0; ///< 16 bits, one pass
  double layerBytes = 0;  ///< the double buffer on a wafer
  double storeBytes = 0;  ///< weights, moments, gradients: 16 a parameter
  double imbalance = 0;   ///< slowest wafer over the mean
};

Memory memoryOf(const Workload &work, const Cluster &cluster, const Step &step);

/// Throws std::invalid_argument for a step that is none: fewer sequences than
/// systems, or a sequence that does not fit a wafer.
Estimate estimateStep(const Workload &work, const Cluster &cluster,
                      const Step &step, Efficiency efficiency);

/// Tokens of a pass from which on it is bound by compute.
double breakEven(const Workload &work, const Cluster &cluster, const Step &step,
                 Efficiency efficiency);

/// Tokens per second of one wafer that sees `tokens` of them in each pass over
/// the weights, step after step, with nothing exposed between steps.
double steadyTokensPerSecond(const Workload &work, const Cluster &cluster,
                             const Step &step, Efficiency efficiency,
                             double tokens);

/// One of the ways to share a model's training among processors.
struct Scheme {
  const char *name;
  double memoryBytes, trafficBytes; ///< per processor; traffic per step
  double blockingEvents;            ///< per step
  std::string limit;
};

/// Data, tensor and pipeline parallelism and sharded optimizers beside weight
/// streaming, for as many processors as the step has systems.
std::vector<Scheme> schemesOf(const Workload &work, const Cluster &cluster,
                              const Step &step);

} // namespace wsec::estimate

#endif // WSEC_TOOLS_ESTIMATE_ESTIMATE_H
