// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/estimate/Estimate.h"
#include "compiler/machine/Machine.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace wsec::estimate {

/// Bytes of the index beside a weight that streams sparse, and of weights and
/// gradients on a GPU.
static constexpr double kIndex = 2, kHalf = 2;
/// Bytes that Adam moves per parameter: reads weight, two moments and gradient
/// in f32, writes the first three and the 16-bit copy.
static constexpr double kAdamBytes = 30;
/// Bytes the store keeps: f32 weight, two moments, gradient.
static constexpr double kStateBytes = 16;

const char *nameOf(Regime regime) {
  switch (regime) {
  case Regime::Compute:
    return "compute";
  case Regime::Memory:
    return "memory";
  case Regime::Stream:
    return "stream";
  }
  return "";
}

static double indexBytes(const Step &step) {
  return step.density < 1 ? kIndex : 0;
}

/// Down; up come as many without an index.
static double passBytes(const Workload &work, const Cluster &cluster,
                        const Step &step) {
  return step.density * double(work.productParameters) *
         (cluster.weightBytes + indexBytes(step));
}

static double flopsPerToken(const Workload &work, const Step &step) {
  return step.density * work.productFlops + work.attentionFlops;
}

/// Forward passes that backward repeats. A measured eta contains them.
static double recomputeOf(const Step &step, Efficiency efficiency) {
  return efficiency.eta == measuredEta ? 0 : step.recompute;
}

Cluster waferOf(const Machine &machine) {
  const double clock = machine.clockGhz * 1e9;
  Cluster wafer;
  wafer.peakFlops = 2 * machine.fmacRate * double(machine.peCount()) * clock;
  wafer.weightBytes = sizeof(float);
  wafer.linkBytesPerSecond =
      wafer.weightBytes * machine.channelsInUse() * clock;
  wafer.wordsWait = 0.5;
  // Bytes of a token are counted in 16 bits; f32 takes twice as many.
  wafer.activationBytes = double(machine.peCount()) * machine.usableBytes() / 2;
  return wafer;
}

double recomputedOf(const Workload &work) {
  const auto layers = double(std::max<int64_t>(1, work.layers));
  return 2.0 / 3 * (layers - 1) / layers;
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

/// Inputs of segments of c layers are kept, and of one segment all layers'
/// inputs, and of one layer everything: 2 d (L/c + c) + 34 d bytes a token,
/// with c the root of L. With offload the first part leaves the wafer.
static double bytesPerToken(const Workload &work, const Step &step,
                            int64_t segment) {
  const double d = double(work.width);
  if (step.mode == Step::Mode::Eval || step.offload)
    return 34 * d;
  return 2 * d * (double(work.layers) / double(segment) + double(segment)) +
         34 * d;
}

static double tokensPerStep(const Workload &work, const Step &step) {
  return double(step.batch) * double(work.sequence);
}

static int64_t microbatchesOf(const Workload &work, const Memory &memory,
                              const Step &step) {
  const double most = memory.tokensPerWaferMost;
  if (most <= 0)
    return 0;
  return int64_t(
      std::ceil(tokensPerStep(work, step) / (double(step.systems) * most)));
}

Memory memoryOf(const Workload &work, const Cluster &cluster,
                const Step &step) {
  Memory memory;
  memory.segmentLayers = int64_t(std::ceil(std::sqrt(double(work.layers))));
  memory.activationBytesPerToken =
      bytesPerToken(work, step, memory.segmentLayers);
  memory.sequencesPerWafer =
      int64_t(cluster.activationBytes /
              (memory.activationBytesPerToken * double(work.sequence)));
  memory.tokensPerWaferMost =
      double(memory.sequencesPerWafer) * double(work.sequence);
  memory.weightBytes = passBytes(work, cluster, step);
  memory.layerBytes =
      2 * cluster.weightBytes * double(work.firstLayerParameters);
  memory.storeBytes = kStateBytes * double(work.parameters);
  const int64_t microbatches =
      std::max<int64_t>(1, microbatchesOf(work, memory, step));
  const int64_t passes = microbatches * step.systems;
  memory.imbalance = double(passes * ((step.batch + passes - 1) / passes)) /
                     double(std::max<int64_t>(1, step.batch));
  return memory;
}

//===----------------------------------------------------------------------===//
// Time
//===----------------------------------------------------------------------===//

/// The times of a pass over `tokens` tokens.
static Estimate passOf(const Workload &work, const Cluster &cluster,
                       const Step &step, Efficiency efficiency, double tokens) {
  const double link = efficiency.beta * cluster.linkBytesPerSecond;
  const bool trains = step.mode == Step::Mode::Train;
  Estimate e;
  e.efficiency = efficiency;
  e.tokensPerWafer = tokens;
  e.forwardCompute =
      tokens * flopsPerToken(work, step) / (efficiency.eta * cluster.peakFlops);
  e.weightsDown = passBytes(work, cluster, step) / link;
  if (step.offload && trains)
    e.offload = 2.0 * double(work.width) * tokens * double(work.layers) / link;
  const double wait = cluster.wordsWait * efficiency.eta;
  e.forward = std::max(
      {e.forwardCompute, e.weightsDown + wait * e.forwardCompute, e.offload});
  if (!trains)
    return e;
  e.backwardCompute = (2 + recomputeOf(step, efficiency)) * e.forwardCompute;
  e.gradientsUp = step.density * double(work.productParameters) *
                  cluster.weightBytes / link;
  e.backward = std::max({e.backwardCompute,
                         double(step.backwardPasses) * e.weightsDown +
                             wait * e.backwardCompute + e.offload,
                         e.gradientsUp});
  return e;
}

double breakEven(const Workload &work, const Cluster &cluster, const Step &step,
                 Efficiency efficiency) {
  return efficiency.eta * cluster.peakFlops * passBytes(work, cluster, step) /
         ((1 - cluster.wordsWait * efficiency.eta) * efficiency.beta *
          cluster.linkBytesPerSecond * flopsPerToken(work, step));
}

/// The same of the backward pass: several passes down, one up.
static double breakEvenBackward(const Workload &work, const Cluster &cluster,
                                const Step &step, Efficiency efficiency) {
  const double down =
      double(step.backwardPasses) * (cluster.weightBytes + indexBytes(step));
  const double ratio = std::max(down, cluster.weightBytes) /
                       (cluster.weightBytes + indexBytes(step));
  return breakEven(work, cluster, step, efficiency) * ratio /
         (2 + recomputeOf(step, efficiency));
}

/// Between two steps: the first layer's gradient goes up, is applied, and its
/// weights come down before anything else can start.
static double boundaryOf(const Workload &work, const Cluster &cluster,
                         const Step &step, Efficiency efficiency) {
  const double first = double(work.firstLayerParameters);
  const double levels =
      std::ceil(std::log(double(step.systems)) / std::log(4.0) - 1e-9);
  return 2 * cluster.weightBytes * first /
             (efficiency.beta * cluster.linkBytesPerSecond) +
         kAdamBytes * first / cluster.storeBytesPerSecond +
         2 * levels * cluster.hopSeconds;
}

static void checkStep(const Step &step) {
  if (step.systems < 1)
    throw std::invalid_argument("a step needs at least one system");
  if (step.batch < step.systems)
    throw std::invalid_argument(absl::StrFormat(
        "a batch of %d sequences does not reach %d systems, which take at "
        "least one each: raise --batch to %d, or lower the number of systems",
        step.batch, step.systems, step.systems));
}

static void checkMemory(const Workload &work, const Cluster &cluster,
                        const Memory &memory, const Step &step) {
  if (memory.sequencesPerWafer < 1)
    throw std::invalid_argument(absl::StrFormat(
        "one sequence of %d tokens needs %.1f GB for activations, a wafer has "
        "%.1f GB for them: shorten --sequence%s",
        work.sequence,
        memory.activationBytesPerToken * double(work.sequence) / 1e9,
        cluster.activationBytes / 1e9,
        step.offload ? "" : ", or use --offload"));
}

static void findRegime(Estimate &e, const Memory &memory) {
  const double needed = e.breakEvenForward, has = e.tokensPerWafer;
  if (has >= needed) {
    e.regime = Regime::Compute;
    e.reason = absl::StrFormat("%.0f tokens per pass, %.0f hide the stream",
                               has, needed);
  } else if (e.microbatches > 1) {
    e.regime = Regime::Memory;
    e.reason = absl::StrFormat(
        "%.0f tokens per pass of %.0f that hide the stream: SRAM holds %.0f",
        has, needed, memory.tokensPerWaferMost);
  } else {
    e.regime = Regime::Stream;
    e.reason = absl::StrFormat("%.0f tokens per wafer of %.0f that hide the "
                               "stream: a larger batch or fewer wafers",
                               has, needed);
  }
}

/// What all tokens take, as long as each step does.
static void addTotals(Estimate &e, const Cluster &cluster, const Step &step) {
  constexpr double secondsOfHour = 3600, joulesOfKilowattHour = 3.6e6;
  const double systems = double(step.systems);
  e.seconds = double(step.totalTokens) / e.tokensPerSecond;
  e.joules = e.seconds * systems * cluster.systemWatts;
  e.dollars =
      e.seconds / secondsOfHour * systems * cluster.dollarsPerSystemHour +
      e.joules / joulesOfKilowattHour * cluster.dollarsPerKilowattHour;
}

static void findFlags(Estimate &e, const Workload &work, const Cluster &cluster,
                      const Memory &memory, const Step &step) {
  if (e.exposedOptimizer > 0)
    e.flags.push_back(
        {"memoryx",
         absl::StrFormat("the optimizer takes %.3g s, the backward pass that "
                         "hides it %.3g s: the store needs %.3g TB/s",
                         e.optimizer, e.backward,
                         kAdamBytes * double(work.parameters) / e.backward /
                             1e12)});
  if (e.exposedInput > 0)
    e.flags.push_back(
        {"input", absl::StrFormat("samples come %.3g s late", e.exposedInput)});
  if (memory.imbalance > 1)
    e.flags.push_back(
        {"imbalance",
         absl::StrFormat("%d sequences do not divide into %d passes: the "
                         "slowest wafer takes %.2f x the mean",
                         step.batch, e.microbatches * step.systems,
                         memory.imbalance)});
  const double state = memory.storeBytes +
                       memory.activationBytesPerToken * double(work.sequence);
  if (step.systems == 1 && state <= cluster.activationBytes)
    e.flags.push_back(
        {"resident", absl::StrFormat("all %.2g GB of weights and optimizer "
                                     "state would fit on the wafer, where a "
                                     "program that streams none may be faster",
                                     memory.storeBytes / 1e9)});
}

static Estimate stepOf(const Workload &work, const Cluster &cluster,
                       const Step &step, Efficiency efficiency,
                       const Memory &memory) {
  const bool trains = step.mode == Step::Mode::Train;
  const int64_t microbatches = microbatchesOf(work, memory, step);
  const double tokens = tokensPerStep(work, step);
  const double passes = double(microbatches) * double(step.systems);
  Estimate e = passOf(work, cluster, step, efficiency, tokens / passes);
  e.microbatches = microbatches;
  const double busy = double(microbatches) * (e.forward + e.backward);
  if (trains) {
    e.boundary = boundaryOf(work, cluster, step, efficiency);
    e.optimizer =
        kAdamBytes * double(work.parameters) / cluster.storeBytesPerSecond;
    e.exposedOptimizer = std::max(0.0, e.optimizer - e.backward);
  }
  if (cluster.inputTokensPerSecond > 0)
    e.exposedInput =
        std::max(0.0, tokens / cluster.inputTokensPerSecond - busy);
  e.step = busy + e.boundary + e.exposedOptimizer + e.exposedInput;
  e.tokensPerSecond = tokens / e.step;
  addTotals(e, cluster, step);
  e.sustainedFlops =
      e.tokensPerSecond * flopsPerToken(work, step) * (trains ? 3 : 1);
  e.peakFraction =
      e.sustainedFlops / (double(step.systems) * cluster.peakFlops);
  return e;
}

Estimate estimateStep(const Workload &work, const Cluster &cluster,
                      const Step &step, Efficiency efficiency) {
  checkStep(step);
  const Memory memory = memoryOf(work, cluster, step);
  checkMemory(work, cluster, memory, step);
  Estimate e = stepOf(work, cluster, step, efficiency, memory);
  Step alone = step;
  alone.systems = 1;
  const double one = stepOf(work, cluster, alone, efficiency, memory).step;
  e.scaling = one / (double(step.systems) * e.step);
  e.breakEvenForward = breakEven(work, cluster, step, efficiency);
  if (step.mode == Step::Mode::Train)
    e.breakEvenBackward = breakEvenBackward(work, cluster, step, efficiency);
  e.linearSystems = tokensPerStep(work, step) / e.breakEvenForward;
  findRegime(e, memory);
  findFlags(e, work, cluster, memory, step);
  return e;
}

double steadyTokensPerSecond(const Workload &work, const Cluster &cluster,
                             const Step &step, Efficiency efficiency,
                             double tokens) {
  const Estimate pass = passOf(work, cluster, step, efficiency, tokens);
  return tokens / (pass.forward + pass.backward);
}

//===----------------------------------------------------------------------===//
// Other ways to share the work
//===----------------------------------------------------------------------===//

std::vector<Scheme> schemesOf(const Workload &work, const Cluster &cluster,
                              const Step &step) {
  // Symbols as README.md has them.
  const double p = double(work.parameters), n = double(step.systems);
  const double layers = double(work.layers), batch = double(step.batch);
  const double activations =
      34.0 * double(work.width) * double(work.sequence); // T
  const double state = kStateBytes * p, others = (n - 1) / n;
  const Memory memory = memoryOf(work, cluster, step);
  const double passes = double(microbatchesOf(work, memory, step));
  const double pipelined = std::min(batch, 4 * n); // m
  const double bubble = (n - 1) / (pipelined + n - 1);
  return {{"data parallel", state + layers * activations * batch / n,
           2 * kHalf * p * others, 1,
           absl::StrFormat("%.0f GB of state in each device", state / 1e9)},
          {"ZeRO-3 / FSDP",
           state / n + kHalf * p / layers + layers * activations * batch / n,
           3 * kHalf * p * others, 3 * layers, "bandwidth of the fabric"},
          {"tensor", state / n + layers * activations * batch,
           8 * layers * 2 * double(work.width) * double(work.sequence) * batch *
               others,
           4 * layers, "heads; an island of fast links"},
          {"pipeline",
           state / n + layers / n * activations * (batch / pipelined) *
                           std::min(pipelined, n),
           2 * 2 * double(work.width) * double(work.sequence) * batch,
           2 * pipelined,
           absl::StrFormat("at most %d stages; %.0f %% bubble with %.0f "
                           "microbatches",
                           work.layers, 100 * bubble, pipelined)},
          {"weight streaming",
           memory.activationBytesPerToken * double(work.sequence) * batch /
                   (n * std::max(1.0, passes)) +
               memory.layerBytes,
           passes * (double(1 + step.backwardPasses) * memory.weightBytes +
                     cluster.weightBytes * step.density *
                         double(work.productParameters)),
           1,
           absl::StrFormat("%.0f tokens per wafer and pass at most",
                           memory.tokensPerWaferMost)}};
}

} // namespace wsec::estimate
