// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RUNTIME_TRAIN_TRAINING_H
#define RUNTIME_TRAIN_TRAINING_H

#include "runtime/train/Schedule.h"
#include "runtime/train/Sparsity.h"
#include "runtime/train/StepReport.h"
#include "runtime/train/Trainer.h"
#include "runtime/train/TrainingData.h"

#include <atomic>
#include <functional>
#include <optional>
#include <string>

namespace wsec::runtime {

/// What a run is asked for. Sample j of step i, both from 0, is sample
/// i * batch + j of the data.
struct TrainingOptions {
  std::string loss = "loss"; ///< the output that is it
  uint64_t batch = 0;        ///< samples of a step
  uint64_t steps = 0; ///< of the whole run, those before a resumption included
  Schedule schedule;  ///< its `steps` may be others
  StoreOptions store;
  SparsityOptions sparsity;
  /// Wafers whose program streams fewer weights, as pruning leaves; null: all
  /// steps stream as many as the first.
  std::function<std::unique_ptr<Cluster>(double sparsity)> wafersFor;
  /// A digest of the model, its loss and what of it trains, which a checkpoint
  /// keeps; 0: of nothing.
  uint64_t model = 0;
  /// After every so many steps, 0: never; also of step 0, before training.
  uint64_t evaluateEvery = 0;
  /// So many evaluations in a row without a lower loss end the run; 0: none do.
  uint64_t patience = 0;
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
  /// Say where the first number that is none was made, which takes a call.
  bool detectAnomaly = false;
  /// Set by whoever wants the run to end after the step it is in.
  const std::atomic<bool> *stop = nullptr;
};

/// What a step gave.
struct TrainingStep {
  uint64_t step = 0; ///< from 1
  double loss = 0;   ///< the mean over all targets, before the update
  double learningRate = 0;
  double gradientNorm = 0;         ///< before clipping
  std::optional<double> lossScale; ///< where gradients are of f16
  std::optional<double> density;   ///< of weights that are sparse, after it
  bool isSkipped = false; ///< they overflow: no update, and half of the scale
  /// Learned from since step 1, this one's included: in units of the data.
  uint64_t position = 0;
  uint64_t size = 0;  ///< of those, this one's
  double cycles = 0;  ///< of the wafer; of the slowest system of each pass
  double seconds = 0; ///< of the host
};

/// The mean loss of the data that are kept for that.
struct Evaluation {
  uint64_t step = 0; ///< that it comes after
  double loss = 0;
  uint64_t size = 0; ///< in units of the data
  double cycles = 0; ///< of the wafer, as of a step
  double seconds = 0;
};

/// The evaluation of a run with the lowest loss.
struct BestEvaluation {
  uint64_t step = 0;
  double loss = 0;
  uint64_t since = 0; ///< evaluations
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
  /// For want of a lower loss, before the last step.
  virtual void endedEarly(const BestEvaluation &) {}
};

/// A model learns from data: batches, steps, evaluations and checkpoints in
/// their order. All that can be wrong with what it is given is thrown before
/// the first step, as Error or std::runtime_error.
///
/// The losses of a run depend on neither systems nor threads nor engines, and
/// are those of a run that was killed and resumed, bit for bit.
class Training {
public:
  /// `evaluated` null: there are no evaluations.
  Training(std::unique_ptr<Cluster> wafers, std::unique_ptr<TrainingData> data,
           std::unique_ptr<TrainingData> evaluated, TrainingOptions options);

  /// BadTensor unless each of so many systems makes calls of `rows` samples of
  /// a batch.
  static void requireBatch(uint64_t batch, uint64_t rows, unsigned systems);
  /// BadTensor unless there are data for all steps from `position` on.
  static void requireData(const TrainingData &data,
                          const TrainingOptions &options, uint64_t done,
                          uint64_t position);

  /// Until the last step, until evaluations do not get better, or until it is
  /// told to stop: then false. Throws Error NotFinite when the loss or a
  /// gradient of a step is no number.
  bool run(TrainingObserver &observer);

  Trainer &trainer() { return *wafers; }
  uint64_t microBatch() const { return rows; } ///< samples of a call
  uint64_t callsPerStep() const { return options.batch / rows; }
  /// The last step of the run: what it took, as a batch on the systems; before
  /// one nothing.
  std::optional<RunReport> report() const;
  /// What the last step took, by parts.
  std::optional<StepReport> stepReport() const;
  /// The report with what was trained, and what the compiler has reported:
  /// {"compilation": .., "training": .., "step": ..} (report.schema.json).
  std::string reportJson(const std::string &compilation) const;

private:
  void readShapes(const Session &session);
  void fitInputs(const Session &session, TrainingData &its);
  void open(std::unique_ptr<Cluster> cluster);
  void restore();
  void bind(const TrainingData &its, uint64_t position, uint64_t calls);
  /// The loss scale, for each sample of calls.
  HostTensor scales(uint64_t samples) const;
  double divisorOf(const TrainingData &its, uint64_t position,
                   uint64_t calls) const;
  /// Before step `step`, from 0: a program for as many weights as there are.
  void followPruning(uint64_t step);
  TrainingStep makeStep(uint64_t step);
  std::string anomalyOf(uint64_t calls);
  Evaluation evaluate(uint64_t step);
  /// Evaluates, and keeps in mind whether the loss is the lowest, if it
  /// `counts`: where a run is interrupted shows in nothing that it decides.
  void evaluate(TrainingObserver &observer, bool counts);
  bool endsEarly() const {
    return options.patience && best && best->since >= options.patience;
  }
  void save(uint64_t step, TrainingObserver &observer);

  const TrainingOptions options;
  const std::unique_ptr<TrainingData> data, evaluated;
  uint64_t rows = 0;
  std::unique_ptr<Trainer> wafers;
  std::optional<Masks> masks;
  std::optional<double> density; ///< of weights that are sparse
  double streamed = 0;           ///< the sparsity of the program
  std::optional<Call> call;
  std::optional<ClusterRun> lastRun;
  uint64_t done = 0;     ///< steps
  uint64_t position = 0; ///< of the next step in the data
  uint64_t digest = 0;   ///< of the data
  std::optional<BestEvaluation> best;
};

} // namespace wsec::runtime

#endif // RUNTIME_TRAIN_TRAINING_H
