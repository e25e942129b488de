// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The forward graph of a model as an ONNX file, with or without weights.
#ifndef WSEC_TOOLS_PRESETS_WRITEMODEL_H
#define WSEC_TOOLS_PRESETS_WRITEMODEL_H

#include "tools/presets/ModelShape.h"

namespace wsec::presets {

enum class Weights {
  Absent,     ///< named, as external data of a file that is not written
  Seeded,     ///< random numbers, written beside the model
  Procedural, ///< the same numbers, computed by whoever reads them
};

struct WriteOptions {
  std::string path; ///< of the .onnx file; seeded weights go to <path>.data
  Weights weights = Weights::Absent;
  uint64_t seed = 0;
  /// Extents of `input_ids`; 0 leaves a symbolic dimension.
  int64_t batch = 0, sequence = 0;
  /// Tokens whose keys and values are inputs, to which a call writes its own at
  /// an input `position`; 0: a whole sequence is one call. See README.md.
  int64_t cacheCapacity = 0;
  /// Whether there are logits of one token of each sequence only, the one of
  /// number `last`, an input; else of all.
  bool lastToken = false;
  /// How many logits of each token leave, the largest, and whose they are;
  /// 0: all.
  int64_t topK = 0;
};

struct WrittenModel {
  uint64_t graphBytes = 0;
  uint64_t weightBytes = 0; ///< of all weights, written or not
};

/// Throws runtime::Error where a file cannot be written, std::runtime_error for
/// a model that this cannot write.
WrittenModel writeModel(const ModelShape &shape, const WriteOptions &options);

} // namespace wsec::presets

#endif // WSEC_TOOLS_PRESETS_WRITEMODEL_H
