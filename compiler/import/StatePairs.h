// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COMPILER_IMPORT_STATEPAIRS_H
#define COMPILER_IMPORT_STATEPAIRS_H

#include "compiler/import/ImportModel.h"
#include "compiler/import/ModelFile.h"
#include "llvm/ADT/StringMap.h"

namespace wsec {

/// What of a model's ends is a state: by the name of the input, or of the
/// output, the name that the state gets, which is that of the input.
struct StatePairs {
  llvm::StringMap<std::string> pasts, presents;
};

/// Pairs that `options` name, or, with `statesByName`, those whose names say
/// it: past.0.key and present.0.key, past_key_values.0.key and present.0.key.
/// Fails after errors: where there is no such input or output, or one has two
/// partners.
mlir::FailureOr<StatePairs>
pairStates(const OnnxModel &model,
           llvm::ArrayRef<const ValueInfoProto *> inputs,
           const ImportOptions &options, mlir::MLIRContext *context);

} // namespace wsec

#endif // COMPILER_IMPORT_STATEPAIRS_H
