// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/host/Pipeline.h"

#include "absl/strings/str_cat.h"
#include "runtime/program/Errors.h"
#include "runtime/program/Lengths.h"
#include "runtime/program/NearestNames.h"
#include "runtime/program/facts/Holdings.h"

#include <algorithm>
#include <numeric>

namespace wsec::runtime {

template <class Value>
static Value requireOk(absl::StatusOr<Value> value) {
  requireOk(value.status());
  return *std::move(value);
}

Pipeline::Pipeline(const std::string &path,
                   const std::vector<std::string> &weightFolders,
                   const std::string &entry, const NamedValues &arguments,
                   unsigned samples)
    : samples(samples) {
  const std::shared_ptr<const LoadedProgram> loaded = LoadedProgram::open(path);
  one = requireOk(Session::open(loaded, weightFolders));
  const uint32_t index = findEntry(loaded->program(), entry);
  const program::Entry &its = *loaded->program().entries()->Get(index);
  if (lengthOf(its))
    throw Error(ErrorClass::BadCall,
                absl::StrCat("calls of ", inQuotes(its.name()->string_view()),
                             " have a length each; leave out --samples, and "
                             "call it for each"));
  if (changesState(loaded->program(), its))
    throw Error(ErrorClass::BadCall,
                absl::StrCat("a call of ", inQuotes(its.name()->string_view()),
                             " leaves something on the wafer that the next one "
                             "finds, so its samples are not alike; leave out "
                             "--samples, and call it for each"));
  plan = std::make_unique<SamplePlan>(loaded->program(), index, samples);
  all = requireOk(
      Session::open(repeatEntry(loaded, index, samples, *plan), weightFolders));
  single = std::make_unique<Call>(requireOk(one->callOf(entry, arguments)));
  repeated = std::make_unique<Call>(requireOk(all->callOf(entry, arguments)));
  batch = std::make_unique<Batch>(*one);
  batch->setCalls(samples);
  if (const program::Entry *entry = loadingEntry(loaded->program(), index))
    load = entry->name()->str();
  predictedLoad = loadCycles(loaded->program(), index);
}

absl::StatusOr<std::unique_ptr<Pipeline>> Pipeline::open(
    const std::string &path, const std::vector<std::string> &weightFolders,
    const std::string &entry, const NamedValues &arguments, unsigned samples) {
  return asStatusOr([&] {
    return std::unique_ptr<Pipeline>(
        new Pipeline(path, weightFolders, entry, arguments, samples));
  });
}

absl::Status Pipeline::accepts(const std::string &name, DataType type,
                               const std::vector<int64_t> &shape) const {
  return asStatus([&] { batch->callsIn(name, type, shape); });
}

absl::Status Pipeline::bind(const std::string &name, HostTensor tensor) {
  return asStatus([&] {
    const uint64_t its = batch->callsIn(name, tensor.type, tensor.shape);
    if (its != 1 && its != samples)
      throw Error(ErrorClass::BadTensor,
                  absl::StrCat("input ", inQuotes(name), " holds ", its,
                               " samples, and ", samples,
                               " are asked for; give it that many times the "
                               "rows of the program, or its own"));
    batch->bind(name, std::move(tensor));
  });
}

absl::StatusOr<PipelineRun> Pipeline::run(EngineOptions options,
                                          Progress *progress, Engine engine) {
  return asStatusOr([&] { return runAll(options, progress, engine); });
}

PipelineRun Pipeline::runAll(const EngineOptions &options, Progress *progress,
                             Engine engine) {
  // What is missing is said once, not for each sample.
  batch->forEachInput(0, [&](const std::string &name, HostTensor part) {
    requireOk(one->bind(name, std::move(part)));
  });
  requireOk(one->ready(*single));
  for (unsigned sample = 0; sample < samples; ++sample)
    batch->forEachInput(sample, [&](const std::string &name, HostTensor part) {
      requireOk(all->bind(sampleName(name, sample), std::move(part)));
    });
  PipelineRun run;
  EngineOptions unseen = options;
  unseen.observer = nullptr;
  if (!load.empty())
    run.loadCycles =
        requireOk(all->call(load, {}, unseen, nullptr, engine)).result.cycles;
  run.run = requireOk(all->call(*repeated, options, progress, engine));
  run.samples = samples;
  batch->clearOutputs();
  const std::vector<std::string> known = all->written();
  for (const std::string &name : one->outputs())
    for (unsigned sample = 0; sample < samples; ++sample)
      if (const std::string its = sampleName(name, sample);
          std::find(known.begin(), known.end(), its) != known.end())
        batch->keepOutput(name, sample, requireOk(all->output(its)));
  if (!run.run.result.stopped)
    measure(run);
  return run;
}

/// Of a launch that moves words from class to class nobody knows how much of
/// its time is waiting: it counts as predicted.
void Pipeline::measure(PipelineRun &run) const {
  const std::vector<LaunchTime> &times = run.run.result.launches;
  const std::vector<SampleLaunch> &order = plan->order();
  std::vector<double> ends(samples, 0);
  for (size_t i = 0; i < order.size(); ++i)
    ends[order[i].sample] = std::max(ends[order[i].sample], times[i].end);
  auto spanOf = [&](size_t i) {
    const auto &[start, end] = times[i];
    const uint32_t launch = order[i].launch;
    return plan->isShared(launch)
               ? SamplePlan::Span(end - plan->cyclesOf(launch), end)
               : SamplePlan::Span(start, end);
  };
  const std::vector<double> all = plan->latencies(nullptr, spanOf);
  const std::vector<double> allPredicted = plan->latencies();
  run.firstLatency = all.front();
  run.lastLatency = all.back();
  run.predictedFirstLatency = allPredicted.front();
  run.predictedLastLatency = allPredicted.back();
  const unsigned middle = (samples - 1) / 2;
  auto mean = [&](const std::vector<double> &each) {
    const auto first = each.begin() + (samples > 1 ? middle + 1 : 0);
    return std::accumulate(first, each.end(), 0.0) / double(each.end() - first);
  };
  run.measured = meanPace(ends);
  run.predicted = plan->cyclesPerSample();
  run.predictedLoadCycles = predictedLoad;
  for (const StageLaunches &stage : plan->stages()) {
    StageRun its;
    its.predicted = stage.cycles;
    its.predictedLatency = mean(plan->latencies(&stage));
    its.latency = mean(plan->latencies(&stage, spanOf));
    const program::Rect &first =
        *one->program().classes()->Get(stage.peClass)->rects()->Get(0);
    its.region = {first.x0(), first.y0(), first.x1(), first.y1()};
    double end = 0;
    for (size_t i = 0; i < order.size(); ++i) {
      if (std::find(stage.launches.begin(), stage.launches.end(),
                    order[i].launch) == stage.launches.end())
        continue;
      if (order[i].sample > middle || samples == 1)
        its.measured +=
            plan->isShared(order[i].launch)
                ? plan->cyclesOf(order[i].launch)
                : std::max(0.0, times[i].end - std::max(end, times[i].start));
      end = std::max(end, times[i].end);
    }
    its.measured /= samples > 1 ? double(samples - 1 - middle) : 1;
    run.stages.push_back(its);
  }
}

absl::StatusOr<HostTensor> Pipeline::output(const std::string &name) const {
  if (const HostTensor *whole = batch->output(name))
    return *whole;
  return all->output(name);
}

std::vector<std::string> Pipeline::written() const {
  std::vector<std::string> names;
  for (const std::string &name : one->outputs())
    if (batch->output(name))
      names.push_back(name);
  return names;
}

} // namespace wsec::runtime
