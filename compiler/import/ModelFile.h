// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An ONNX file as plain structs: the parts of onnx.proto that a compiler needs,
// under the names of onnx.proto. All text and tensor data refer to the mapped
// file, which the model keeps alive. No MLIR here.
#ifndef COMPILER_IMPORT_MODELFILE_H
#define COMPILER_IMPORT_MODELFILE_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Allocator.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/StringSaver.h"
#include <memory>
#include <optional>
#include <vector>

namespace wsec {

/// TensorProto. Elements lie in `raw` or, depending on the type, in one of the
/// typed lists, or in another file.
struct OnnxTensor {
  llvm::StringRef name;
  llvm::SmallVector<int64_t, 4> dims;
  int64_t dataType = 0;
  std::optional<llvm::StringRef> raw;
  /// Floats or doubles that are contiguous in the file, as raw data would be.
  llvm::StringRef packed;
  llvm::SmallVector<float, 0> floats;
  llvm::SmallVector<double, 0> doubles;
  llvm::SmallVector<int64_t, 0> integers; // int32_data, int64_data
  bool external = false;
  llvm::StringRef location;
  llvm::StringRef externalOffset, externalLength; // decimal, may be empty
};

struct OnnxAttribute {
  // Numbers of AttributeProto.AttributeType.
  enum Type {
    Undefined,
    Float,
    Int,
    String,
    Tensor,
    Graph,
    Floats,
    Ints,
    Strings,
    Tensors,
    Graphs
  };
  llvm::StringRef name;
  llvm::StringRef reference; // ref_attr_name: an attribute of the function
  int64_t type = Undefined;
  float real = 0;
  int64_t integer = 0;
  llvm::StringRef text;
  llvm::SmallVector<float, 0> floats;
  llvm::SmallVector<int64_t, 0> integers;
  std::vector<llvm::StringRef> strings;
  std::vector<OnnxTensor> tensors; // Tensor (one) and Tensors
};

struct OnnxNode {
  llvm::StringRef name, opType, domain, overload;
  llvm::SmallVector<llvm::StringRef, 4> inputs, outputs;
  std::vector<OnnxAttribute> attributes;

  const OnnxAttribute *find(llvm::StringRef attribute) const;
  /// `Gemm`, or `com.microsoft.FastGelu`.
  std::string operatorName() const;
};

struct OnnxDimension {
  std::optional<int64_t> value;
  llvm::StringRef parameter;
};

/// ValueInfoProto; `kind` is "tensor" for all that can be compiled.
struct OnnxValue {
  llvm::StringRef name;
  llvm::StringRef kind;
  int64_t elementType = 0;
  bool hasShape = false;
  llvm::SmallVector<OnnxDimension, 4> dims;
};

struct OnnxGraph {
  llvm::StringRef name;
  std::vector<OnnxNode> nodes;
  std::vector<OnnxTensor> initializers;
  std::vector<OnnxValue> inputs, outputs;
  bool hasSparseInitializers = false;
};

struct OnnxOpset {
  llvm::StringRef domain;
  int64_t version = 0;
};

struct OnnxFunction {
  llvm::StringRef name, domain, overload;
  llvm::SmallVector<llvm::StringRef, 4> inputs, outputs, attributes;
  std::vector<OnnxAttribute> defaults;
  std::vector<OnnxNode> nodes;
  std::vector<OnnxOpset> opsets;
};

struct OnnxModel {
  std::string path;
  int64_t irVersion = 0;
  std::vector<OnnxOpset> opsets;
  std::optional<OnnxGraph> graph;
  std::vector<OnnxFunction> functions;

  std::unique_ptr<llvm::MemoryBuffer> file;
  std::unique_ptr<llvm::BumpPtrAllocator> allocator;
  /// Keeps text alive that is not in the file.
  llvm::StringRef save(const llvm::Twine &text) {
    return llvm::StringSaver(*allocator).save(text);
  }
};

/// Maps and reads a file. Errors say whether it is no ONNX file at all, or one
/// that was cut off.
llvm::Expected<OnnxModel> readModelFile(llvm::StringRef path);

/// The default domain goes by two names.
inline llvm::StringRef normalizedDomain(llvm::StringRef domain) {
  return domain == "ai.onnx" ? llvm::StringRef() : domain;
}

} // namespace wsec

#endif // COMPILER_IMPORT_MODELFILE_H
