// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TOOLS_WSEC_TRAINFILES_H
#define TOOLS_WSEC_TRAINFILES_H

#include "runtime/train/TrainingData.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace wsec::tools {

/// What flags of `wsec train` name to learn from, and to evaluate: arrays or
/// tokens, of each at most one.
struct TrainFiles {
  std::unique_ptr<runtime::NamedArrays> arrays, evaluatedArrays;
  std::optional<runtime::Tokens> tokens, evaluatedTokens;
};

/// `folder` keeps what tokenizers make of texts. Throws UsageError where flags
/// do not fit together.
TrainFiles readTrainFiles(const std::string &folder);
/// All of them, before they are read.
std::vector<std::string> namesOfTrainFiles();

} // namespace wsec::tools

#endif // TOOLS_WSEC_TRAINFILES_H
