// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COMPILER_IMPORT_INLINEFUNCTIONS_H
#define COMPILER_IMPORT_INLINEFUNCTIONS_H

#include "compiler/import/ModelFile.h"

namespace wsec {

/// Nodes and calls that functions may unfold to, and calls inside of calls.
inline constexpr size_t maxInlinedNodes = 1 << 20, maxNestedCalls = 64;

/// Gives every node a name of its own: nodes without one are called
/// "<Op>_<index>", repeated names get a number.
void nameNodes(OnnxModel &model);

/// Replaces calls of model-local functions by their nodes, innermost functions
/// too. Inlined nodes and values are called "<call>/<name>". Fails on
/// recursion, on calls that do not fit their function, and where a small file
/// would unfold to more than `maxInlinedNodes` or `maxNestedCalls`.
llvm::Error inlineFunctions(OnnxModel &model);

} // namespace wsec

#endif // COMPILER_IMPORT_INLINEFUNCTIONS_H
