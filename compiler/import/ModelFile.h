// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An ONNX file in ONNX's own messages, generated from the definitions that
// PyPI's onnx ships. No MLIR here.
#ifndef COMPILER_IMPORT_MODELFILE_H
#define COMPILER_IMPORT_MODELFILE_H

#include "onnx-ml.pb.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"
#include <memory>

namespace wsec {

// `onnx` is our dialect in here.
using ::onnx::AttributeProto;
using ::onnx::FunctionProto;
using ::onnx::GraphProto;
using ::onnx::ModelProto;
using ::onnx::NodeProto;
using ::onnx::OperatorSetIdProto;
using ::onnx::StringStringEntryProto;
using ::onnx::TensorProto;
using ::onnx::TensorShapeProto;
using ::onnx::TypeProto;
using ::onnx::ValueInfoProto;

struct OnnxModel {
  std::string path;
  /// Mapped. Large tensors refer to it, see Payloads.h.
  std::unique_ptr<llvm::MemoryBuffer> file;
  ModelProto proto;

  /// What tensors call the model's own file.
  llvm::StringRef fileName() const;
};

/// Maps and reads a file. Errors say whether it is no ONNX file at all, or one
/// that was cut off.
llvm::Expected<OnnxModel> readModelFile(llvm::StringRef path);

/// The default domain goes by two names.
inline llvm::StringRef normalizedDomain(llvm::StringRef domain) {
  return domain == "ai.onnx" ? llvm::StringRef() : domain;
}

/// `Gemm`, or `com.microsoft.FastGelu`.
std::string operatorName(const NodeProto &node);

} // namespace wsec

#endif // COMPILER_IMPORT_MODELFILE_H
