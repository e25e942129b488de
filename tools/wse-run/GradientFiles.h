// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TOOLS_WSE_RUN_GRADIENTFILES_H
#define TOOLS_WSE_RUN_GRADIENTFILES_H

#include "runtime/host/Session.h"

#include <map>
#include <span>
#include <string>
#include <vector>

namespace wsec::run {

/// Writes of each gradient, as it arrives, its sum, norm and largest value, and
/// as .npy those whose names fit a glob.
class GradientFiles {
public:
  /// In a folder, which is made if it is not there. Throws IoError, and
  /// BadTensor for a glob that fits no parameter.
  GradientFiles(std::string folder, std::vector<std::string> globs,
                const runtime::Session &session);
  void take(const program::Tensor &parameter, std::span<const float> gradient);
  /// Writes FOLDER/gradients.jsonl: a line for each, by name.
  void finish() const;

private:
  bool isWanted(const std::string &name) const;

  const std::string folder;
  const std::vector<std::string> globs;
  std::map<std::string, std::string> lines;
};

} // namespace wsec::run

#endif // TOOLS_WSE_RUN_GRADIENTFILES_H
