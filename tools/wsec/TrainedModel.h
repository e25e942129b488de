// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TOOLS_WSEC_TRAINEDMODEL_H
#define TOOLS_WSEC_TRAINEDMODEL_H

#include "tools/wsec/TrainingProgram.h"

namespace wsec::tools {

/// The model that `wsec train` is given, as a file.
struct TrainedModel {
  TrainingProgram training;
  std::string tokens = "input_ids"; ///< the input that takes them
  int64_t vocabulary = 0;           ///< of its logits; 0: not known
};

/// What `word` and the flags name: a model, a preset, or a configuration with
/// one, which is then written to `folder`; bound to calls of `batch` sequences
/// of `sequence` tokens. Throws std::runtime_error where tokens do not fit it,
/// or its logits do not fit tokens.
TrainedModel readTrainedModel(const std::string &word,
                              const std::string &folder, uint64_t batch,
                              uint64_t sequence);

} // namespace wsec::tools

#endif // TOOLS_WSEC_TRAINEDMODEL_H
