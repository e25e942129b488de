// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TOOLS_WSEC_TRAINEDMODEL_H
#define TOOLS_WSEC_TRAINEDMODEL_H

#include "runtime/train/TrainingData.h"
#include "tools/wsec/TrainingProgram.h"

namespace wsec::tools {

/// What data give to a program: an input of the model, or targets.
struct TakenInput {
  std::string name;
  runtime::DataType type;
  std::vector<int64_t> shape; ///< below 0: not known before it is compiled
  /// Its integers are below this: rows of a table, classes; 0: not known.
  int64_t limit = 0;
};

/// The model that `wsec train` is given, as a file.
struct TrainedModel {
  TrainingProgram training;
  std::string tokens = "input_ids"; ///< the input that takes them
  uint64_t sequence = 0; ///< how many it takes; of arrays, what was asked for
  /// As far as the model says; of an .mlir file none.
  std::vector<TakenInput> inputs;
};

/// What `word` and the flags name: a model, a preset, or a configuration with
/// one, which is then written to `folder`; bound to calls of `batch` samples of
/// `arrays`, or, where that is null, of sequences of `sequence` tokens; 0: as
/// many as the model says, or UsageError. Throws std::runtime_error for an
/// input that nothing is given to, and where the output that the loss is of
/// cannot be told, or has no such loss.
TrainedModel readTrainedModel(const std::string &word,
                              const std::string &folder, uint64_t batch,
                              uint64_t sequence,
                              const runtime::NamedArrays *arrays);

/// The cycles of a call that are predicted of it; nothing if it has no room, or
/// takes no inputs of such extents.
std::optional<double> cyclesOfCall(const std::string &word,
                                   const std::string &folder, uint64_t batch,
                                   uint64_t sequence,
                                   const runtime::NamedArrays *arrays);

} // namespace wsec::tools

#endif // TOOLS_WSEC_TRAINEDMODEL_H
