// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WSEC_TOOLS_PRESETS_READMODEL_H
#define WSEC_TOOLS_PRESETS_READMODEL_H

#include "tools/presets/ModelShape.h"

#include <string>
#include <vector>

namespace wsec::presets {

/// What an ONNX model asks of a cluster: parameters and products from the
/// shapes of its initializers, layers from its attentions, the width from its
/// embedding. Attention is taken to have as many features as the model is wide.
/// No weight is read. `sequence` 0: the extent of the model's input.
///
/// Throws std::runtime_error where this cannot be told.
Workload readWorkload(const std::string &path, int64_t sequence);

/// What goes into a model, or comes out of it.
struct SignatureTensor {
  std::string name;
  int32_t elementType = 0; ///< of ONNX, by its number
  bool isInteger = false;
  bool hasShape = false;
  std::vector<int64_t> dims; ///< -1: symbolic, or unknown
  /// Rows of the smallest table that an input looks up; 0: it looks none up.
  int64_t tableRows = 0;

  /// "input_ids [-1, 128]", with ? for -1.
  std::string description() const;
};

struct ModelSignature {
  std::vector<SignatureTensor> inputs, outputs; ///< no initializers
  /// With external data, relative to the model's folder, in order.
  std::vector<std::string> weightFiles;
};

/// The inputs and outputs of an .onnx file. Throws std::runtime_error for what
/// is none.
ModelSignature readSignature(const std::string &path);

} // namespace wsec::presets

#endif // WSEC_TOOLS_PRESETS_READMODEL_H
