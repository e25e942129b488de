// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COMPILER_IMPORT_RANDOMTENSORS_H
#define COMPILER_IMPORT_RANDOMTENSORS_H

#include "compiler/import/BoundInput.h"
#include "compiler/import/ModelFile.h"
#include "llvm/Support/Error.h"
#include <vector>

namespace wsec {

/// Makes inputs of the graph what its nodes draw at random and `--bind` gives,
/// by the name of the node or of its result; bindings then have the result's.
/// Fails where the model does not say which shape is drawn.
llvm::Error giveRandomTensors(OnnxModel &model,
                              std::vector<BoundInput> &bindings);

} // namespace wsec

#endif // COMPILER_IMPORT_RANDOMTENSORS_H
