// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the definitions of ONNX and onnxruntime say of operators, version by
// version. The table is written by OnnxSchemas.py when wsec is built.
#ifndef DIALECTS_ONNX_ONNXSCHEMAS_H
#define DIALECTS_ONNX_ONNXSCHEMAS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>

namespace wsec::onnx {

struct AttributeSchema {
  enum Kind {
    Float,
    Int,
    String,
    Tensor,
    Graph,
    Floats,
    Ints,
    Strings,
    Other // of types that no operator we know has
  };
  enum Use { Required, Optional, Default };

  llvm::StringLiteral name;
  Kind kind;
  Use use;
  // The default of an attribute that has one.
  int64_t integer;
  float real;
  llvm::StringLiteral text;
};

struct InputSchema {
  enum Use { Required, Optional, Variadic };

  Use use;
  /// Bit n: tensors of TensorProto.DataType n.
  uint32_t types;
  /// Inputs of one variable have one type; -1 for those of none.
  int32_t variable;
};

struct OperatorSchema {
  llvm::StringLiteral name; // outside of ONNX's own domain "domain.Name"
  int32_t sinceVersion;
  // Of a variadic operator the most are more than a file can hold.
  int32_t minInputs, maxInputs, maxOutputs;
  int32_t firstInput, numInputs;
  int32_t firstAttribute, numAttributes;

  /// What input `i` may be; the last one of a variadic operator repeats. There
  /// are no more than `maxInputs`.
  const InputSchema &input(size_t i) const;
  llvm::ArrayRef<AttributeSchema> attributes() const;
  /// Null if the operator has no such attribute.
  const AttributeSchema *find(llvm::StringRef attribute) const;
};

/// All, in order of their names and versions.
llvm::ArrayRef<OperatorSchema> operatorSchemas();

/// The version of an operator that a model of this opset means, or null.
/// Operators of other domains than ONNX's own have one version.
const OperatorSchema *findSchema(llvm::StringRef qualifiedName, int64_t opset);

} // namespace wsec::onnx

#endif // DIALECTS_ONNX_ONNXSCHEMAS_H
