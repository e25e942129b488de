// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RUNTIME_HOST_TENSORPROTO_H
#define RUNTIME_HOST_TENSORPROTO_H

#include "runtime/host/HostTensor.h"

#include <string>

namespace wsec::runtime {

/// The type of elements with an ONNX element type's number; none: it has no
/// such type.
std::optional<DataType> dataTypeOf(int32_t onnxType);

struct NamedTensor {
  std::string name; ///< may be empty
  HostTensor tensor;
};

/// Reads an ONNX TensorProto message, the content of the .pb files of ONNX's
/// test data. `file` is for messages. Throws BadTensor.
NamedTensor parseTensorProto(const uint8_t *data, uint64_t size,
                             const std::string &file);
NamedTensor readTensorProto(const std::string &path);

} // namespace wsec::runtime

#endif // RUNTIME_HOST_TENSORPROTO_H
