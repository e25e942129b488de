// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An ONNX file of many GiB is mostly numbers, which message classes would copy,
// up to 2 GiB. A first pass with protobuf's own stream reader leaves them where
// they are.
#ifndef COMPILER_IMPORT_PAYLOADS_H
#define COMPILER_IMPORT_PAYLOADS_H

#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <string>

namespace wsec {

/// Elements of more bytes than this stay in the file.
inline constexpr uint64_t largestCopiedPayload = 1024;

/// A ModelProto in which the elements of large tensors are references: external
/// data whose file is the model itself. Subgraphs that lie deeper than
/// `maxNestedSubgraphs` are empty.
struct ModelWithoutPayloads {
  std::string bytes;
  int64_t irVersion = 0;
  /// What is malformed, with its place in the file; else empty.
  std::string problem;
  bool cutOff = false; ///< the file ends inside of a field
};

/// `name` is what references call the file.
ModelWithoutPayloads withoutPayloads(llvm::StringRef file,
                                     llvm::StringRef name);

} // namespace wsec

#endif // COMPILER_IMPORT_PAYLOADS_H
