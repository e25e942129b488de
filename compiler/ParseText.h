// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COMPILER_PARSETEXT_H
#define COMPILER_PARSETEXT_H

#include "compiler/import/ImportModel.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/Support/SourceMgr.h"
#include <memory>
#include <optional>
#include <string>

namespace wsec {

/// The module in `sources`; null, with errors, if there is none. What is of a
/// dialect that wsec does not have is refused in words for who comes from
/// another compiler.
mlir::OwningOpRef<mlir::ModuleOp>
parseText(const std::shared_ptr<llvm::SourceMgr> &sources,
          mlir::MLIRContext &context);

/// What is asked of a text that only models can be asked, in words.
std::optional<std::string> askedOfModel(llvm::StringRef input,
                                        const ImportOptions &options);

} // namespace wsec

#endif // COMPILER_PARSETEXT_H
