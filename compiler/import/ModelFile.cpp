// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One function per message of onnx.proto; the numbers are its field numbers.
#include "compiler/import/ModelFile.h"
#include "compiler/InputText.h"
#include "compiler/import/WireReader.h"
#include "llvm/ADT/Twine.h"

using namespace wsec;
using llvm::StringRef;

const OnnxAttribute *OnnxNode::find(StringRef attribute) const {
  for (const OnnxAttribute &candidate : attributes)
    if (candidate.name == attribute)
      return &candidate;
  return nullptr;
}

std::string OnnxNode::operatorName() const {
  StringRef prefix = normalizedDomain(domain);
  return prefix.empty() ? opType.str() : (prefix + "." + opType).str();
}

namespace {
/// Reads messages until one is malformed; the first problem is kept.
class MessageReader {
public:
  explicit MessageReader(StringRef file) : file(file) {}

  void read(StringRef message, OnnxModel &model);

  std::string problem;
  bool cutOff = false;

private:
  /// Calls `take` for each field of the message. It returns false for a field
  /// whose content is malformed.
  template <typename Take>
  void forEachField(StringRef message, StringRef what, Take take) {
    WireReader reader(message, file);
    WireField field;
    while (problem.empty() && reader.next(field)) {
      if (!take(field) && problem.empty())
        problem = (llvm::Twine("field ") + llvm::Twine(field.number) +
                   " of a " + what + " is malformed")
                      .str();
    }
    if (problem.empty() && reader.failed()) {
      problem = reader.error().str();
      // Only the outermost message ends where the file ends.
      cutOff = reader.cutOff() && message.size() == file.size();
    }
  }

  template <typename T>
  bool append(StringRef message, std::vector<T> &list) {
    read(message, list.emplace_back());
    return true;
  }

  void read(StringRef message, OnnxOpset &opset);
  void read(StringRef message, OnnxGraph &graph);
  void read(StringRef message, OnnxFunction &function);
  void read(StringRef message, OnnxNode &node);
  void read(StringRef message, OnnxAttribute &attribute);
  void read(StringRef message, OnnxTensor &tensor);
  void read(StringRef message, OnnxValue &value);
  void readType(StringRef message, OnnxValue &value);
  void readTensorType(StringRef message, OnnxValue &value);
  void readShape(StringRef message, OnnxValue &value);
  void readDimension(StringRef message, OnnxDimension &dimension);
  void readExternalEntry(StringRef message, OnnxTensor &tensor);

  StringRef file;
};
} // namespace

static bool isBytes(const WireField &field) {
  return field.kind == WireField::Bytes;
}
static bool set(StringRef &text, const WireField &field) {
  text = field.bytes;
  return isBytes(field);
}
static bool set(int64_t &integer, const WireField &field) {
  integer = field.integer();
  return field.kind == WireField::Varint;
}
template <typename List>
static bool addText(List &list, const WireField &field) {
  list.push_back(field.bytes);
  return isBytes(field);
}

void MessageReader::read(StringRef message, OnnxModel &model) {
  forEachField(message, "model", [&](const WireField &field) {
    switch (field.number) {
    case 1:
      return set(model.irVersion, field);
    case 7:
      read(field.bytes, model.graph.emplace());
      return isBytes(field);
    case 8:
      return isBytes(field) && append(field.bytes, model.opsets);
    case 25:
      return isBytes(field) && append(field.bytes, model.functions);
    }
    return true;
  });
}

void MessageReader::read(StringRef message, OnnxOpset &opset) {
  forEachField(message, "opset", [&](const WireField &field) {
    switch (field.number) {
    case 1:
      return set(opset.domain, field);
    case 2:
      return set(opset.version, field);
    }
    return true;
  });
}

void MessageReader::read(StringRef message, OnnxGraph &graph) {
  forEachField(message, "graph", [&](const WireField &field) {
    switch (field.number) {
    case 1:
      return isBytes(field) && append(field.bytes, graph.nodes);
    case 2:
      return set(graph.name, field);
    case 5:
      return isBytes(field) && append(field.bytes, graph.initializers);
    case 11:
      return isBytes(field) && append(field.bytes, graph.inputs);
    case 12:
      return isBytes(field) && append(field.bytes, graph.outputs);
    case 15:
      graph.hasSparseInitializers = true;
      return true;
    }
    return true;
  });
}

void MessageReader::read(StringRef message, OnnxFunction &function) {
  forEachField(message, "function", [&](const WireField &field) {
    switch (field.number) {
    case 1:
      return set(function.name, field);
    case 4:
      return addText(function.inputs, field);
    case 5:
      return addText(function.outputs, field);
    case 6:
      return addText(function.attributes, field);
    case 7:
      return isBytes(field) && append(field.bytes, function.nodes);
    case 9:
      return isBytes(field) && append(field.bytes, function.opsets);
    case 10:
      return set(function.domain, field);
    case 11:
      return isBytes(field) && append(field.bytes, function.defaults);
    case 13:
      return set(function.overload, field);
    }
    return true;
  });
}

void MessageReader::read(StringRef message, OnnxNode &node) {
  forEachField(message, "node", [&](const WireField &field) {
    switch (field.number) {
    case 1:
      return addText(node.inputs, field);
    case 2:
      return addText(node.outputs, field);
    case 3:
      return set(node.name, field);
    case 4:
      return set(node.opType, field);
    case 5:
      return isBytes(field) && append(field.bytes, node.attributes);
    case 7:
      return set(node.domain, field);
    case 8:
      return set(node.overload, field);
    }
    return true;
  });
}

/// Files older than IR version 2 leave `type` out: it follows from the field.
static OnnxAttribute::Type typeOfField(uint32_t number) {
  switch (number) {
  case 2:
    return OnnxAttribute::Float;
  case 3:
    return OnnxAttribute::Int;
  case 4:
    return OnnxAttribute::String;
  case 5:
    return OnnxAttribute::Tensor;
  case 6:
    return OnnxAttribute::Graph;
  case 7:
    return OnnxAttribute::Floats;
  case 8:
    return OnnxAttribute::Ints;
  case 9:
    return OnnxAttribute::Strings;
  case 10:
    return OnnxAttribute::Tensors;
  case 11:
    return OnnxAttribute::Graphs;
  }
  return OnnxAttribute::Undefined;
}

void MessageReader::read(StringRef message, OnnxAttribute &attribute) {
  OnnxAttribute::Type guess = OnnxAttribute::Undefined;
  forEachField(message, "attribute", [&](const WireField &field) {
    if (typeOfField(field.number) != OnnxAttribute::Undefined)
      guess = typeOfField(field.number);
    switch (field.number) {
    case 1:
      return set(attribute.name, field);
    case 2:
      attribute.real = field.real();
      return field.kind == WireField::Fixed32;
    case 3:
      return set(attribute.integer, field);
    case 4:
      return set(attribute.text, field);
    case 5:
    case 10:
      return isBytes(field) && append(field.bytes, attribute.tensors);
    case 7:
      return appendFloats(field, attribute.floats);
    case 8:
      return appendIntegers(field, attribute.integers);
    case 9:
      return addText(attribute.strings, field);
    case 20:
      return set(attribute.type, field);
    case 21:
      return set(attribute.reference, field);
    }
    return true; // 6, 11: graphs are never entered, see CheckGraph.
  });
  if (attribute.type == OnnxAttribute::Undefined)
    attribute.type = guess;
}

void MessageReader::read(StringRef message, OnnxTensor &tensor) {
  // Contiguous floats can be mapped like raw data, if they come in one piece.
  bool pieces = false;
  auto addFixed = [&](const WireField &field, auto appendTo, auto &list) {
    if (isBytes(field) && tensor.packed.empty() && list.empty() && !pieces) {
      tensor.packed = field.bytes;
      return true;
    }
    pieces = true;
    if (!tensor.packed.empty()) {
      WireField first = field;
      first.kind = WireField::Bytes;
      first.bytes = std::exchange(tensor.packed, StringRef());
      if (!appendTo(first, list))
        return false;
    }
    return appendTo(field, list);
  };
  forEachField(message, "tensor", [&](const WireField &field) {
    switch (field.number) {
    case 1:
      return appendIntegers(field, tensor.dims);
    case 2:
      return set(tensor.dataType, field);
    case 4:
      return addFixed(field, appendFloats, tensor.floats);
    case 5:
    case 7:
    case 11:
      return appendIntegers(field, tensor.integers);
    case 8:
      return set(tensor.name, field);
    case 9:
      tensor.raw = field.bytes;
      return isBytes(field);
    case 10:
      return addFixed(field, appendDoubles, tensor.doubles);
    case 13:
      readExternalEntry(field.bytes, tensor);
      return isBytes(field);
    case 14:
      tensor.external = field.integer() == 1;
      return field.kind == WireField::Varint;
    }
    return true;
  });
}

void MessageReader::readExternalEntry(StringRef message, OnnxTensor &tensor) {
  StringRef key, value;
  forEachField(message, "external data entry", [&](const WireField &field) {
    if (field.number == 1)
      return set(key, field);
    return field.number == 2 ? set(value, field) : true;
  });
  if (key == "location")
    tensor.location = value;
  else if (key == "offset")
    tensor.externalOffset = value;
  else if (key == "length")
    tensor.externalLength = value;
}

void MessageReader::read(StringRef message, OnnxValue &value) {
  forEachField(message, "value", [&](const WireField &field) {
    if (field.number == 1)
      return set(value.name, field);
    if (field.number == 2)
      readType(field.bytes, value);
    return field.number != 2 || isBytes(field);
  });
}

void MessageReader::readType(StringRef message, OnnxValue &value) {
  forEachField(message, "type", [&](const WireField &field) {
    switch (field.number) {
    case 1:
      value.kind = "tensor";
      readTensorType(field.bytes, value);
      return isBytes(field);
    case 4:
      value.kind = "sequence";
      return true;
    case 5:
      value.kind = "map";
      return true;
    case 8:
      value.kind = "sparse tensor";
      return true;
    case 9:
      value.kind = "optional";
      return true;
    }
    return true;
  });
}

void MessageReader::readTensorType(StringRef message, OnnxValue &value) {
  forEachField(message, "tensor type", [&](const WireField &field) {
    if (field.number == 1)
      return set(value.elementType, field);
    if (field.number == 2)
      readShape(field.bytes, value);
    return field.number != 2 || isBytes(field);
  });
}

void MessageReader::readShape(StringRef message, OnnxValue &value) {
  value.hasShape = true;
  forEachField(message, "shape", [&](const WireField &field) {
    if (field.number == 1)
      readDimension(field.bytes, value.dims.emplace_back());
    return field.number != 1 || isBytes(field);
  });
}

void MessageReader::readDimension(StringRef message, OnnxDimension &dimension) {
  forEachField(message, "dimension", [&](const WireField &field) {
    if (field.number == 1)
      return set(dimension.value.emplace(), field);
    return field.number == 2 ? set(dimension.parameter, field) : true;
  });
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
  model.allocator = std::make_unique<llvm::BumpPtrAllocator>();
  if (model.file->getBufferSize() == 0)
    return error("the file is empty");
  MessageReader reader(model.file->getBuffer());
  reader.read(model.file->getBuffer(), model);
  // Every writer puts the version first; text and archives have none.
  if (model.irVersion <= 0 || model.irVersion > 1000)
    return error("this is not an ONNX file");
  if (reader.cutOff)
    return error("the file is cut off: " + reader.problem);
  if (!reader.problem.empty())
    return error("the file is damaged: " + reader.problem);
  if (!model.graph)
    return error("the file holds no graph; it may be cut off");
  return model;
}
