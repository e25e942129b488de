// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RUNTIME_TRAIN_TRAININGLOG_H
#define RUNTIME_TRAIN_TRAININGLOG_H

#include "runtime/train/Training.h"

#include <cstdio>

namespace wsec::runtime {

/// A run as lines of JSON in a file, and as lines for people:
///
///   {"step": 1, "loss": 4.57, "lr": 0.001, "grad_norm": 1.9, "tokens": 96,
///    "cycles": 81034, "samples_per_second": 70.2, "tokens_per_second": 1123.4}
///   {"step": 100, "eval_loss": 3.2, "eval_tokens": 4096}
///
/// What depends on the host stands last. A run that goes on from a checkpoint
/// removes what a killed one has written of later steps, so that the file is
/// that of a run that was never killed.
class TrainingLog : public TrainingObserver {
public:
  /// `path` empty: no file. `people` null: nobody reads along. Of every
  /// `every`th step they are told. `unit` is that of the data. Throws IoError.
  TrainingLog(const std::string &path, std::FILE *people, uint64_t steps,
              uint64_t batch, std::string unit, uint64_t every = 1);
  ~TrainingLog() override;

  void begins(uint64_t step, const Trainer &trainer) override;
  void ended(const TrainingStep &step) override;
  void ended(const Evaluation &evaluation) override;
  void saved(uint64_t step, const std::string &path) override;
  void endedEarly(const BestEvaluation &best) override;

  const std::vector<double> &losses() const { return all; }

private:
  void keepUntil(uint64_t step);
  void write(const std::string &line);
  void show(const std::string &line, bool stays);
  double rate(double seconds) const;

  const std::string path;
  std::FILE *const people;
  const bool isTerminal;
  const uint64_t steps, batch, every;
  const std::string unit;
  std::FILE *file = nullptr;
  uint64_t first = 0;  ///< step that the run has begun after
  double seconds = 0;  ///< of its steps
  double smoothed = 0; ///< of a step
  std::vector<double> all;
};

} // namespace wsec::runtime

#endif // RUNTIME_TRAIN_TRAININGLOG_H
