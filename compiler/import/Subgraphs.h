// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COMPILER_IMPORT_SUBGRAPHS_H
#define COMPILER_IMPORT_SUBGRAPHS_H

#include "compiler/import/ModelFile.h"
#include "llvm/ADT/SmallVector.h"

namespace wsec {

/// Subgraphs inside of subgraphs; what is deeper is not read.
inline constexpr unsigned maxNestedSubgraphs = 16;

/// ONNX's If, Loop and Scan. No other node's subgraphs are looked at.
bool hasBodies(const NodeProto &node);

/// The subgraphs of such a node, as it states them; none of another.
llvm::SmallVector<const GraphProto *, 2> bodiesOf(const NodeProto &node);
llvm::SmallVector<GraphProto *, 2> bodiesOf(NodeProto &node);

/// The values of outer graphs that a node's bodies use, each once, in the
/// order of their use.
std::vector<llvm::StringRef> capturedValues(const NodeProto &node);

/// What a node needs before it: its operands, then what its bodies use.
std::vector<llvm::StringRef> usedValues(const NodeProto &node);

} // namespace wsec

#endif // COMPILER_IMPORT_SUBGRAPHS_H
