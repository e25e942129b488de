// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RUNTIME_TRAIN_TRAINER_H
#define RUNTIME_TRAIN_TRAINER_H

#include "runtime/memoryx/ParameterStore.h"
#include "runtime/train/BatchShare.h"

#include <memory>

namespace wsec::runtime {

/// Wafers that run a program that makes gradients, and the store that updates
/// its parameters.
///
///   auto trainer = Trainer::open(std::move(cluster), options);
///   for (...) {                                  // a step
///     (*trainer)->wafers().clearInputs();
///     (*trainer)->wafers().bind("x", x);         // the calls of a batch
///     (*trainer)->makeGradients(call);
///     (*trainer)->endStep(learningRate, calls);
///   }
///
/// Each call of a batch is a leaf of the canonical tree of sums (CanonicalSum),
/// which does not depend on the systems: so neither losses nor parameters do,
/// not by a bit. Throws nothing; Session.h says which statuses there are.
///
/// In process 0 of several the wafers are those of its systems; the others
/// serve theirs (ServeTraining.h), make their calls themselves, and send one
/// sum for each of the largest subtrees in them (ReductionLink).
class Trainer {
public:
  /// The store has the parameters of the program by their names, with the
  /// elements that the program was compiled with; or what a checkpoint holds:
  /// BadState if that is of other parameters. BadCall for a program without
  /// any. Output `loss` is that of a call; empty: there is none.
  static absl::StatusOr<std::unique_ptr<Trainer>>
  open(std::unique_ptr<Cluster> wafers, StoreOptions options,
       const std::string &checkpoint = {}, const std::string &loss = {},
       std::shared_ptr<Link> link = std::make_shared<OneProcess>());

  Cluster &wafers() { return *cluster; }
  /// Goes on with wafers whose program has the same parameters, else BadCall.
  /// In one process.
  void use(std::unique_ptr<Cluster> wafers);
  ParameterStore &store() { return parameters; }

  /// The calls of the batch that is bound, up to their losses, with the
  /// parameters as they are; losses in order. `after` is told of the calls of
  /// this process.
  absl::StatusOr<BatchShare> evaluate(const Call &call,
                                      EngineOptions options = {},
                                      Engine engine = Engine::Burst,
                                      const AfterCall &after = {});
  /// The whole calls, and adds their gradients. A parameter of which the
  /// program makes none has one of zeros. BadCall for a second batch of a step.
  absl::StatusOr<BatchShare> makeGradients(const Call &call,
                                           EngineOptions options = {},
                                           Engine engine = Engine::Burst,
                                           const AfterCall &after = {});
  /// Updates the parameters, with the sum of the gradients divided by
  /// `divisor`. BadCall without a batch.
  absl::StatusOr<ParameterStore::StepResult> endStep(double learningRate,
                                                     double divisor = 1);
  /// Bytes of gradients that each edge of the tree above members of this
  /// process has carried upwards, by member, in the last batch.
  const std::vector<uint64_t> &gradientBytes() const { return edgeBytes; }

private:
  Trainer(std::unique_ptr<Cluster> wafers, StoreOptions options,
          const std::string &checkpoint, std::string loss,
          std::shared_ptr<Link> link);
  void startFromProgram();
  void requireSameParameters(const std::string &checkpoint);
  void bindParameters();
  void tellOthers(bool withGradients);
  BatchShare makeBatch(const std::function<BatchShare()> &here,
                       ReductionLink *reduction,
                       const std::function<bool()> &isSummed);

  std::unique_ptr<Cluster> cluster;
  ParameterStore parameters;
  std::vector<std::string> names; ///< of parameters, as the program has them
  const std::string loss;
  const std::shared_ptr<Link> link;
  unsigned ready = 1;            ///< processes
  uint64_t batches = 0;          ///< with gradients
  std::optional<uint64_t> known; ///< step whose weights the others have
  std::vector<uint64_t> edgeBytes;
};

} // namespace wsec::runtime

#endif // RUNTIME_TRAIN_TRAINER_H
