// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COMPILER_IMPORT_BOUNDINPUTS_H
#define COMPILER_IMPORT_BOUNDINPUTS_H

#include "compiler/import/ImportModel.h"
#include "compiler/import/ModelFile.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/StringMap.h"

namespace wsec {

/// The elements of the inputs that `--bind` makes constants, by name; `types`
/// are those of `inputs`, in order. Elements of a file have the type of their
/// input, numbers of the command line are converted to it.
llvm::FailureOr<llvm::StringMap<mlir::DenseElementsAttr>>
boundElements(const OnnxModel &model,
              llvm::ArrayRef<const ValueInfoProto *> inputs,
              llvm::ArrayRef<mlir::RankedTensorType> types,
              const ImportOptions &options, mlir::MLIRContext *context);

} // namespace wsec

#endif // COMPILER_IMPORT_BOUNDINPUTS_H
