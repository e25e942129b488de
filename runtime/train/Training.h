// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RUNTIME_TRAIN_TRAINING_H
#define RUNTIME_TRAIN_TRAINING_H

#include "runtime/train/Schedule.h"
#include "runtime/train/StepReport.h"
#include "runtime/train/Tokens.h"
#include "runtime/train/Trainer.h"

#include <atomic>
#include <functional>
#include <optional>
#include <string>

namespace wsec::runtime {

/// Which tensors of the program are what.
struct TrainingTensors {
  std::string tokens = "input_ids", targets = "targets", loss = "loss";
};

/// What a run is asked for. Sequence j of step i, both from 0, is
/// tokens[(i * batch + j) * sequence] and the `sequence` tokens behind it: the
/// input is all but the last, the targets are all but the first.
struct TrainingOptions {
  TrainingTensors tensors;
  uint64_t batch = 0; ///< sequences of a step
  uint64_t steps = 0; ///< of the whole run, those before a resumption included
  Schedule schedule;  ///< its `steps` may be others
  StoreOptions store;
  /// A digest of the model, its loss and what of it trains, which a checkpoint
  /// keeps; 0: of nothing.
  uint64_t model = 0;
  /// After every so many steps, 0: never; also of step 0, before training.
  uint64_t evaluateEvery = 0;
  /// Where checkpoints go; empty: there are none. After every so many steps,
  /// after the last one, and when the run is stopped.
  std::string checkpointFolder;
  uint64_t checkpointEvery = 0;
  unsigned keptCheckpoints = 0; ///< 0: all
  /// Go on from the last checkpoint, if there is one.
  bool resume = false;
  /// To the other processes, which serve their systems (ServeTraining.h).
  std::shared_ptr<Link> link = std::make_shared<OneProcess>();
  EngineOptions engineOptions;
  Engine engine = Engine::Burst;
  /// Set by whoever wants the run to end after the step it is in.
  const std::atomic<bool> *stop = nullptr;
};

/// What a step gave.
struct TrainingStep {
  uint64_t step = 0; ///< from 1
  double loss = 0;   ///< the mean over all tokens, before the update
  double learningRate = 0;
  double gradientNorm = 0; ///< before clipping
  uint64_t tokens = 0;     ///< learned from since step 1, this one's included
  uint64_t ownTokens = 0;  ///< of those, this one's
  double cycles = 0;       ///< of the wafer; of the slowest system of each pass
  double seconds = 0;      ///< of the host
};

/// The mean loss of the tokens that are kept for that.
struct Evaluation {
  uint64_t step = 0; ///< that it comes after
  double loss = 0;
  uint64_t tokens = 0;
  double cycles = 0; ///< of the wafer, as of a step
  double seconds = 0;
};

/// What wants to know how a run goes; called between steps.
class TrainingObserver {
public:
  virtual ~TrainingObserver() = default;
  /// At a step that is not 0 if the run goes on from a checkpoint.
  virtual void begins(uint64_t, const Trainer &) {}
  virtual void ended(const TrainingStep &) {}
  virtual void ended(const Evaluation &) {}
  virtual void saved(uint64_t /*step*/, const std::string & /*path*/) {}
};

/// A model learns from tokens: batches, steps, evaluations and checkpoints in
/// their order. All that can be wrong with what it is given is thrown before
/// the first step, as Error or std::runtime_error.
///
/// The losses of a run depend on neither systems nor threads nor engines, and
/// are those of a run that was killed and resumed, bit for bit.
class Training {
public:
  Training(std::unique_ptr<Cluster> wafers, Tokens tokens,
           std::optional<Tokens> evaluated, TrainingOptions options);

  /// Until the last step, or until it is told to stop: then false. Throws Error
  /// NotFinite when the loss or a gradient of a step is no number.
  bool run(TrainingObserver &observer);

  Trainer &trainer() { return *wafers; }
  /// Sequences of a call, and tokens of a sequence.
  uint64_t microBatch() const { return rows; }
  uint64_t sequence() const { return length; }
  uint64_t callsPerStep() const { return options.batch / rows; }
  /// The last step of the run: what it took, as a batch on the systems; before
  /// one nothing.
  std::optional<RunReport> report() const;
  /// The same by parts of a step.
  std::optional<StepReport> stepReport() const;
  /// The same with what was trained, and what the compiler has reported:
  /// {"compilation": .., "training": .., "step": ..} (report.schema.json).
  std::string reportJson(const std::string &compilation) const;

private:
  void readShapes(const Session &session);
  void checkTokens(const Session &session) const;
  void open(std::unique_ptr<Cluster> cluster);
  void restore();
  void bind(const Tokens &tokens, uint64_t first, uint64_t calls);
  TrainingStep makeStep(uint64_t step);
  Evaluation evaluate(uint64_t step);
  void save(uint64_t step, TrainingObserver &observer);

  const TrainingOptions options;
  const Tokens tokens;
  const std::optional<Tokens> evaluated;
  uint64_t rows = 0, length = 0;
  std::unique_ptr<Trainer> wafers;
  std::optional<Call> call;
  std::optional<ClusterRun> lastRun;
  uint64_t done = 0;     ///< steps
  uint64_t position = 0; ///< of the next step in the tokens
  const uint64_t digest; ///< of the tokens
};

} // namespace wsec::runtime

#endif // RUNTIME_TRAIN_TRAINING_H
