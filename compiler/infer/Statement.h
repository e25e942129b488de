// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a node states is held against the definition of its operator and
// against what our rules for it understand. What is not understood is refused:
// an attribute that is overlooked gives wrong numbers.
#ifndef COMPILER_INFER_STATEMENT_H
#define COMPILER_INFER_STATEMENT_H

#include "dialects/onnx/OnnxSchemas.h"
#include "mlir/IR/BuiltinAttributes.h"
#include <optional>
#include <string>

namespace wsec::infer {

/// A node as the model states it.
struct StatedNode {
  llvm::StringRef qualifiedName;
  int64_t opset;
  mlir::DictionaryAttr attributes;
  size_t numInputs, numOutputs;
};

/// Why operands with elements of these types, null where one is left out, are
/// not what the operator takes; or nothing.
std::optional<std::string> operandProblem(const onnx::OperatorSchema &schema,
                                          llvm::ArrayRef<mlir::Type> elements);

/// Why a node is not what its operator's definition allows, or says more than
/// `understood`, names of attributes with spaces between them; or nothing. One
/// that is a word has its words behind it: "axis mode=linear|circular". An
/// attribute that is not understood may state its default.
std::optional<std::string> statementProblem(const StatedNode &node,
                                            llvm::StringRef understood);

/// Whether `understood` has an attribute of this name.
bool listsName(llvm::StringRef understood, llvm::StringRef name);
/// The words that it may be, with | between them; empty if any.
llvm::StringRef wordsOf(llvm::StringRef understood, llvm::StringRef name);

} // namespace wsec::infer

#endif // COMPILER_INFER_STATEMENT_H
