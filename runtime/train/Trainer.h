// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RUNTIME_TRAIN_TRAINER_H
#define RUNTIME_TRAIN_TRAINER_H

#include "runtime/host/Session.h"
#include "runtime/memoryx/ParameterStore.h"

#include <memory>

namespace wsec::runtime {

/// A program that makes gradients, and the store that updates its parameters.
///
///   auto trainer = Trainer::open(std::move(session), options);
///   for (...) {                                  // a step
///     for (...) {                                // a call: a part of the
///     batch
///       (*trainer)->session().bind("x", x);
///       (*trainer)->call();
///     }
///     (*trainer)->endStep(learningRate, samples);
///   }
///
/// Each call of a step is a leaf of the tree of sums (GradientSum), in the
/// order of the calls, so the sum has the same bits wherever they run. Throws
/// nothing; Session.h says which statuses there are.
class Trainer {
public:
  /// The store has the parameters of the program by their names, with the
  /// elements that the program was compiled with. BadCall for a program without
  /// any.
  static absl::StatusOr<std::unique_ptr<Trainer>>
  open(std::unique_ptr<Session> session, StoreOptions options);

  Session &session() { return *wafer; }
  ParameterStore &store() { return parameters; }

  /// One call with the parameters as they are; its gradients are the next of
  /// the step. A parameter of which the call makes none has one of zeros.
  absl::StatusOr<SessionRun> call(EngineOptions options = {},
                                  Engine engine = Engine::Burst);
  /// Updates the parameters, with the sum of the gradients divided by
  /// `divisor`. BadCall without a call.
  absl::StatusOr<ParameterStore::StepResult> endStep(double learningRate,
                                                     double divisor = 1);

private:
  Trainer(std::unique_ptr<Session> session, StoreOptions options);
  void addGradients();

  std::unique_ptr<Session> wafer;
  ParameterStore parameters;
};

} // namespace wsec::runtime

#endif // RUNTIME_TRAIN_TRAINER_H
