// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The registry of ONNX's operators: one row for each, in the table of its
// family.
#ifndef COMPILER_INFER_OPERATORS_H
#define COMPILER_INFER_OPERATORS_H

#include "compiler/infer/Legalization.h"

namespace wsec::infer {

/// What we know of an operator. Outside ONNX's own domain they are called
/// "domain.Name".
struct Operator {
  llvm::StringLiteral name;
  InferRule infer;
  /// Null where what inference leaves cannot be computed on the wafer.
  LegalizeRule legalize;
  /// The attributes that these rules honour, with spaces between them.
  llvm::StringLiteral understood = "";
};

/// Null for an operator that is not known.
const Operator *findOperator(llvm::StringRef qualifiedName);
/// All, family by family.
std::vector<Operator> allOperators();

// The families of operators, one file each.
llvm::ArrayRef<Operator> functionsOperators();
llvm::ArrayRef<Operator> arithmeticOperators();
llvm::ArrayRef<Operator> castsOperators();
llvm::ArrayRef<Operator> shapesOperators();
llvm::ArrayRef<Operator> rearrangementsOperators();
llvm::ArrayRef<Operator> lookupsOperators();
llvm::ArrayRef<Operator> sequencesOperators();
llvm::ArrayRef<Operator> reductionsOperators();
llvm::ArrayRef<Operator> normsOperators();
llvm::ArrayRef<Operator> productsOperators();
llvm::ArrayRef<Operator> quantizationOperators();
llvm::ArrayRef<Operator> attentionOperators();
llvm::ArrayRef<Operator> rotaryOperators();
llvm::ArrayRef<Operator> fusedAttentionOperators();
llvm::ArrayRef<Operator> groupedAttentionOperators();
llvm::ArrayRef<Operator> imagesOperators();
llvm::ArrayRef<Operator> poolsOperators();
llvm::ArrayRef<Operator> resizeOperators();
llvm::ArrayRef<Operator> gridSampleOperators();
llvm::ArrayRef<Operator> linearAttentionOperators();
llvm::ArrayRef<Operator> channelsOperators();
llvm::ArrayRef<Operator> einsumOperators();
llvm::ArrayRef<Operator> fourierOperators();
llvm::ArrayRef<Operator> integerProductsOperators();
llvm::ArrayRef<Operator> cachesOperators();
llvm::ArrayRef<Operator> expertsOperators();
llvm::ArrayRef<Operator> lossesOperators();

} // namespace wsec::infer

#endif // COMPILER_INFER_OPERATORS_H
