// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/import/ModelFile.h"
#include "compiler/InputText.h"
#include "compiler/import/Payloads.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/Path.h"
#include <climits>

using namespace wsec;
using llvm::StringRef;

StringRef OnnxModel::fileName() const {
  return llvm::sys::path::filename(path);
}

std::string wsec::operatorName(const NodeProto &node) {
  StringRef prefix = normalizedDomain(node.domain());
  return prefix.empty() ? node.op_type()
                        : (prefix + "." + node.op_type()).str();
}

llvm::Expected<OnnxModel> wsec::readModelFile(StringRef path) {
  auto error = [&](const llvm::Twine &what) {
    return llvm::createStringError(path + ": " + what);
  };
  auto buffer = readRegularFile(path, /*isText=*/false);
  if (!buffer)
    return buffer.takeError();

  OnnxModel model;
  model.path = path.str();
  model.file = std::move(*buffer);
  if (model.file->getBufferSize() == 0)
    return error("the file is empty");
  const ModelWithoutPayloads small =
      withoutPayloads(model.file->getBuffer(), model.fileName());
  // Every writer puts the version first; text and archives have none.
  if (small.irVersion <= 0 || small.irVersion > 1000)
    return error("this is not an ONNX file");
  if (small.cutOff)
    return error("the file is cut off: " + small.problem);
  if (!small.problem.empty())
    return error("the file is damaged: " + small.problem);
  if (small.bytes.size() > INT_MAX)
    return error(llvm::Twine(small.bytes.size()) +
                 " bytes are not elements of large tensors; protobuf reads " +
                 llvm::Twine(INT_MAX));
  if (!model.proto.ParseFromString(small.bytes))
    return error("the file is damaged: a field of a message is malformed");
  if (!model.proto.has_graph())
    return error("the file holds no graph; it may be cut off");
  return model;
}
