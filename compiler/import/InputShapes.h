// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COMPILER_IMPORT_INPUTSHAPES_H
#define COMPILER_IMPORT_INPUTSHAPES_H

#include "compiler/import/ImportModel.h"
#include "compiler/import/ModelFile.h"
#include "mlir/IR/BuiltinTypes.h"

namespace wsec {

/// Types of the model's inputs, in order, all extents bound. The problems of
/// all inputs are reported in one error, which says how to bind what is open.
llvm::FailureOr<llvm::SmallVector<mlir::RankedTensorType>>
bindInputShapes(const OnnxModel &model,
                llvm::ArrayRef<const ValueInfoProto *> inputs,
                const ImportOptions &options, mlir::MLIRContext *context);

} // namespace wsec

#endif // COMPILER_IMPORT_INPUTSHAPES_H
