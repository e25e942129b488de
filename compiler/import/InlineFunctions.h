// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COMPILER_IMPORT_INLINEFUNCTIONS_H
#define COMPILER_IMPORT_INLINEFUNCTIONS_H

#include "compiler/import/ModelFile.h"

namespace wsec {

/// Gives every node a name of its own: nodes without one are called
/// "<Op>_<index>", repeated names get a number.
void nameNodes(OnnxModel &model);

/// Replaces calls of model-local functions by their nodes, innermost functions
/// too. Inlined nodes and values are called "<call>/<name>". Fails on recursion
/// and on calls that do not fit their function.
llvm::Error inlineFunctions(OnnxModel &model);

} // namespace wsec

#endif // COMPILER_IMPORT_INLINEFUNCTIONS_H
