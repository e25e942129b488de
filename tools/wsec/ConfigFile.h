// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TOOLS_WSEC_CONFIGFILE_H
#define TOOLS_WSEC_CONFIGFILE_H

#include "tools/estimate/Cluster.h"
#include "tools/presets/ModelShape.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace wsec::tools {

/// A run as YAML (or JSON, which is YAML) describes it:
///
///   model: {preset: gpt3-xl, layers: 12}     # a preset, numbers of it changed
///   cluster: {num_systems: 16}               # and rates of the hardware
///   batch_size: 528
///   sequence: 2048
///   training: {tokens: text.txt, steps: 300, lr: 3e-4, betas: [0.9, 0.95]}
///   sparsity: {algorithm: rigl, sparsity: 0.75, update: {freq: 100, stop:
///   200}}
struct Config {
  std::optional<presets::ModelShape> model;
  std::string modelFile; ///< `model: m.onnx` instead
  estimate::Cluster cluster;
  int64_t systems = 0, batch = 0, sequence = 0; ///< 0: not said
  /// Flags of `wsec train`, in order; lists with commas. Which there are, it
  /// knows.
  std::vector<std::pair<std::string, std::string>> training;
};

/// Throws std::runtime_error that names file, line and key.
Config readConfig(const std::string &path);

} // namespace wsec::tools

#endif // TOOLS_WSEC_CONFIGFILE_H
