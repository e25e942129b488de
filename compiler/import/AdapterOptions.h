// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COMPILER_IMPORT_ADAPTEROPTIONS_H
#define COMPILER_IMPORT_ADAPTEROPTIONS_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <string>
#include <vector>

namespace wsec {

/// Names of adapters.
inline constexpr const char *adapterNames = "*.lora_[AB].weight";

/// Low-rank adapters beside weights of products (LoRA):
///
///   y = x W   becomes   y = x W + ((alpha / rank) x A^T) B^T
///
/// Of a weight fc1.weight, A is the initializer fc1.lora_A.weight, [rank, in],
/// uniform in +-1 / sqrt(in), and B is fc1.lora_B.weight, [out, rank], of
/// zeros: names, shapes and first values that package `peft` gives them, too.
struct AdapterOptions {
  int64_t rank = 0;
  double alpha = 0;
  /// Globs of names of weights, those of modules, too, or of nodes.
  std::vector<std::string> targets;
  uint64_t seed = 0; ///< of A

  /// Reads "rank=8,alpha=16,targets=GLOB"; there may be several `targets`.
  static llvm::Expected<AdapterOptions> parse(llvm::StringRef text);
};

} // namespace wsec

#endif // COMPILER_IMPORT_ADAPTEROPTIONS_H
