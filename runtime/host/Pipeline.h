// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RUNTIME_HOST_PIPELINE_H
#define RUNTIME_HOST_PIPELINE_H

#include "runtime/host/Batch.h"
#include "runtime/program/facts/Samples.h"

#include <array>
#include <memory>
#include <string>
#include <vector>

namespace wsec::runtime {

/// A stage of a pipeline: PEs of one class.
struct StageRun {
  std::array<int32_t, 4> region{}; ///< x0, y0, x1, y1, half open
  double predicted = 0;            ///< cycles of a sample
  /// Cycles of a sample, without what its transfers wait for the other stage.
  double measured = 0;
  /// From the start of its first launch for a sample to the end of the last,
  /// waiting for other stages included.
  double predictedLatency = 0, latency = 0;
};

/// What samples took that followed one another.
struct PipelineRun {
  SessionRun run; ///< of all samples
  uint64_t samples = 0;
  /// Cycles of the entry that fills resident weights.
  double loadCycles = 0, predictedLoadCycles = 0;
  double firstLatency = 0; ///< of the first sample, which waits for nobody
  double lastLatency = 0;
  double predictedFirstLatency = 0, predictedLastLatency = 0;
  double predicted = 0; ///< from sample to sample, in the order of launches
  double measured = 0;  ///< ends of the second half of the samples
  std::vector<StageRun> stages;
};

/// A program whose samples follow one another without waiting for each other's
/// end (program/Samples.h). Throws nothing; Session.h says which statuses there
/// are.
class Pipeline {
public:
  /// At least one sample.
  static absl::StatusOr<std::unique_ptr<Pipeline>>
  open(const std::string &path, const std::vector<std::string> &weightFolders,
       const std::string &entry, const NamedValues &arguments,
       unsigned samples);

  // As of a session, for a batch of so many samples.
  std::vector<std::string> inputs() const { return one->inputs(); }
  std::vector<std::string> outputs() const { return one->outputs(); }
  std::vector<std::string> weightFiles() const { return one->weightFiles(); }
  std::vector<std::string> values() const { return {}; }
  absl::Status keep(const std::string &value) { return one->keep(value); }
  absl::Status accepts(const std::string &name, DataType type,
                       const std::vector<int64_t> &shape) const;
  absl::Status bind(const std::string &name, HostTensor tensor);
  bool hasState() const { return all->hasState(); }
  absl::Status restoreState(const std::string &path) {
    load.clear();
    return all->restoreState(path);
  }
  absl::Status saveState(const std::string &path) const {
    return all->saveState(path);
  }

  /// The call with the launches of all samples.
  const Call &call() const { return *repeated; }
  /// Calls the loadingEntry() first, if there is one and no state was restored.
  absl::StatusOr<PipelineRun> run(EngineOptions options = {},
                                  Progress *progress = nullptr,
                                  Engine engine = Engine::Burst);

  absl::StatusOr<HostTensor> output(const std::string &name) const;
  std::vector<std::string> written() const;

private:
  Pipeline(const std::string &path,
           const std::vector<std::string> &weightFolders,
           const std::string &entry, const NamedValues &arguments,
           unsigned samples);
  PipelineRun runAll(const EngineOptions &options, Progress *progress,
                     Engine engine);
  void measure(PipelineRun &run) const;

  const unsigned samples;
  std::unique_ptr<Session> one; ///< of the program as it was compiled
  std::unique_ptr<SamplePlan> plan;
  std::unique_ptr<Session> all;
  std::unique_ptr<Call> single, repeated;
  std::unique_ptr<Batch> batch;
  std::string load; ///< the entry to call before the samples, if any
  double predictedLoad = 0;
};

} // namespace wsec::runtime

#endif // RUNTIME_HOST_PIPELINE_H
