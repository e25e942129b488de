// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COMPILER_PRESETS_READMODEL_H
#define COMPILER_PRESETS_READMODEL_H

#include "compiler/presets/ModelShape.h"

namespace wsec::presets {

/// What an ONNX model asks of a cluster: parameters and products from the
/// shapes of its initializers, layers from its attentions, the width from its
/// embedding. Attention is taken to have as many features as the model is wide.
/// No weight is read. `sequence` 0: the extent of the model's input.
///
/// Throws std::runtime_error where this cannot be told.
Workload readWorkload(const std::string &path, int64_t sequence);

} // namespace wsec::presets

#endif // COMPILER_PRESETS_READMODEL_H
