// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COMPILER_IMPORT_CHECKGRAPH_H
#define COMPILER_IMPORT_CHECKGRAPH_H

#include "compiler/import/ModelFile.h"
#include "mlir/IR/MLIRContext.h"

namespace wsec {

/// Opsets of the default domain whose operators we know.
inline constexpr int64_t firstOpset = 7, lastOpset = 28;

/// Version of the default domain; an error if it is none of ours.
llvm::FailureOr<int64_t> checkOpsets(const OnnxModel &model,
                                     mlir::MLIRContext *context);

/// Refuses what is no graph: no nodes, values defined twice or never. Brings
/// the nodes in an order where values are defined before they are used, the
/// given one if possible; there is none when the graph has a cycle. Bodies of
/// an If, a Loop or a Scan are graphs that use values of those around them.
llvm::LogicalResult checkAndSortGraph(OnnxModel &model,
                                      mlir::MLIRContext *context);

} // namespace wsec

#endif // COMPILER_IMPORT_CHECKGRAPH_H
