// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/onnx/OnnxSchemas.h"
#include "llvm/ADT/STLExtras.h"

using namespace wsec::onnx;

#include "dialects/onnx/OnnxSchemas.inc"

const InputSchema &OperatorSchema::input(size_t i) const {
  return inputs[firstInput + std::min<size_t>(i, numInputs - 1)];
}

llvm::ArrayRef<AttributeSchema> OperatorSchema::attributes() const {
  return llvm::ArrayRef(::attributes).slice(firstAttribute, numAttributes);
}

const AttributeSchema *OperatorSchema::find(llvm::StringRef attribute) const {
  const AttributeSchema *found =
      llvm::find_if(attributes(), [&](const AttributeSchema &schema) {
        return schema.name == attribute;
      });
  return found == attributes().end() ? nullptr : found;
}

llvm::ArrayRef<OperatorSchema> wsec::onnx::operatorSchemas() {
  return operators;
}

const OperatorSchema *wsec::onnx::findSchema(llvm::StringRef qualifiedName,
                                             int64_t opset) {
  bool ownDomain = !qualifiedName.contains('.');
  // The first that comes behind all versions that may be meant.
  const OperatorSchema *behind =
      llvm::partition_point(operators, [&](const OperatorSchema &schema) {
        return schema.name < qualifiedName ||
               (schema.name == qualifiedName &&
                (!ownDomain || schema.sinceVersion <= opset));
      });
  if (behind == std::begin(operators) || behind[-1].name != qualifiedName)
    return nullptr;
  return &behind[-1];
}
