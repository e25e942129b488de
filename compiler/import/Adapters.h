// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COMPILER_IMPORT_ADAPTERS_H
#define COMPILER_IMPORT_ADAPTERS_H

#include "compiler/import/AdapterOptions.h"
#include "compiler/import/ModelFile.h"

namespace wsec {

/// Adds them to products, MatMul or Gemm, whose second operand is one of these
/// weights, or its Transpose. Fails where a glob names none.
llvm::Error addAdapters(OnnxModel &model, const AdapterOptions &options);

} // namespace wsec

#endif // COMPILER_IMPORT_ADAPTERS_H
