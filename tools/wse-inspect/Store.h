// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Stored parameters: files of tensors and checkpoints.
#ifndef TOOLS_WSE_INSPECT_STORE_H
#define TOOLS_WSE_INSPECT_STORE_H

#include "tools/wse-inspect/Summary.h"

#include <string>

namespace wsec::inspect {

/// What is in a safetensors file, an index or a folder of them, or a
/// checkpoint; of a folder of checkpoints in the last one:
///   path, elements, bytes
///   tensors      name, type, shape, file, offset, bytes
///   checkpoint   its manifest, where it is one; without `tensors` of the
///                optimizer
/// `verify`: files of a checkpoint are compared with their digests.
Json storedTensors(const std::string &path, bool verify);

std::string showStored(const Json &stored);

} // namespace wsec::inspect

#endif // TOOLS_WSE_INSPECT_STORE_H
