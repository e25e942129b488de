// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Several samples in flight: a program whose entry is called for many of them
// becomes one whose entry has the launches of all. While the PEs of one region
// are at work on a sample, those before it are on the next.
//
//   one sample   a0 [t] b0         a, b: launches of two regions
//   three        a0 [t] b0             t: a transfer, of both
//                       a1 [t] b1
//                              a2 [t] b2
#ifndef RUNTIME_PROGRAM_FACTS_SAMPLES_H
#define RUNTIME_PROGRAM_FACTS_SAMPLES_H

#include "runtime/program/Loader.h"
#include "runtime/program/facts/SampleOrder.h"

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace wsec::runtime {

/// PEs that share a class: what of an entry they take part in.
struct StageLaunches {
  uint32_t peClass = 0;
  std::vector<uint32_t> launches;
  /// Predicted for a sample, when all it needs is there.
  double cycles = 0;
};

/// How samples go through an entry.
class SamplePlan {
public:
  /// What was there before: nothing, so that the first launches wait for words
  /// of the store, or samples, behind which these words are there.
  enum class Start { First, Behind };
  /// Throws BadProgram for a program that cannot have several in flight.
  SamplePlan(const program::Program &program, uint32_t entry, uint32_t samples,
             Start start = Start::Behind);

  /// The classes that launches of the entry reach.
  const std::vector<StageLaunches> &stages() const { return classes; }
  /// The launch that moves words between classes.
  bool isShared(uint32_t launch) const {
    return flow.classesOf[launch].size() > 1;
  }
  /// Predicted for a launch, when all it needs is there.
  double cyclesOf(uint32_t launch) const { return flow.cycles[launch]; }
  /// All launches of all samples, as orderSamples() puts them.
  const std::vector<SampleLaunch> &order() const { return launches; }
  /// Predicted for a call of the entry as it is, in the order of its launches.
  double cyclesOfEntry() const;
  /// From sample to sample, in this order; of one sample its latency.
  double cyclesPerSample() const;

  /// Begin and end of a launch.
  using Span = std::pair<double, double>;
  /// For each sample, from the first begin to the last end of its launches, of
  /// a stage or (null) of all; when each launch of the order is, `spanOf` says.
  std::vector<double>
  latencies(const StageLaunches *stage,
            const std::function<Span(size_t)> &spanOf) const;
  /// As predicted.
  std::vector<double> latencies(const StageLaunches *stage = nullptr) const;

private:
  std::vector<SampleLaunch> inOrder() const;
  void findPartners();
  void findCommandRoom();
  void forgetWaits();

  const program::Program &program;
  const program::Entry &entry;
  const uint32_t samples;
  std::vector<StageLaunches> classes;
  SampleFlow flow;
  std::vector<SampleLaunch> launches;
};

/// Predicted for the entry that fills resident weights before the one at
/// `entry`; 0: there is none.
double loadCycles(const program::Program &program, uint32_t entry);

/// What a tensor of the model is called for one of the samples.
std::string sampleName(const std::string &name, uint32_t sample);

/// The program with the launches of a plan in its entry. Inputs, outputs and
/// intermediates are there once for each sample; weights are shared. It is
/// checked like one that is loaded, and proved free of deadlock if it is.
std::shared_ptr<const LoadedProgram>
repeatEntry(const std::shared_ptr<const LoadedProgram> &loaded, uint32_t entry,
            uint32_t samples, const SamplePlan &plan);

} // namespace wsec::runtime

#endif // RUNTIME_PROGRAM_FACTS_SAMPLES_H
