// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/import/Payloads.h"
#include "compiler/import/ModelFile.h"
#include "compiler/import/Subgraphs.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/Twine.h"
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>
#include <tuple>

using namespace wsec;
using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;
using llvm::StringRef;
using llvm::Twine;

namespace {
enum class Message { Model, Graph, Function, Node, Attribute, Tensor };

struct Field {
  int number;
  WireFormatLite::WireType type;
  uint64_t bits;  // of a varint
  StringRef text; // all of it, the tag too
  StringRef content;
  bool isBytes() const {
    return type == WireFormatLite::WIRETYPE_LENGTH_DELIMITED;
  }
};

class Stripper {
public:
  Stripper(StringRef file, StringRef name, ModelWithoutPayloads &result)
      : file(file), name(name), result(result) {}

  /// The message without what it need not hold, appended to `to`; it lies in
  /// `depth` subgraphs.
  void strip(StringRef message, Message kind, unsigned depth, std::string &to);

private:
  bool next(StringRef &rest, Field &field);
  bool fail(StringRef rest, const Twine &what, bool endsEarly = false);
  /// The one field of a tensor that is all of its elements, large and in the
  /// order of memory; null if there is none.
  static const Field *payload(llvm::ArrayRef<Field> tensor);
  void stripTensor(llvm::ArrayRef<Field> fields, std::string &to);

  StringRef file, name;
  ModelWithoutPayloads &result;
};
} // namespace

/// What a field holds that may hold payloads.
static std::optional<Message> messageIn(Message holder, int field) {
  static constexpr std::tuple<Message, int, Message> known[] = {
      {Message::Model, ModelProto::kGraphFieldNumber, Message::Graph},
      {Message::Model, ModelProto::kFunctionsFieldNumber, Message::Function},
      {Message::Graph, GraphProto::kNodeFieldNumber, Message::Node},
      {Message::Graph, GraphProto::kInitializerFieldNumber, Message::Tensor},
      {Message::Function, FunctionProto::kNodeFieldNumber, Message::Node},
      {Message::Function, FunctionProto::kAttributeProtoFieldNumber,
       Message::Attribute},
      {Message::Node, NodeProto::kAttributeFieldNumber, Message::Attribute},
      {Message::Attribute, AttributeProto::kTFieldNumber, Message::Tensor},
      {Message::Attribute, AttributeProto::kTensorsFieldNumber,
       Message::Tensor},
      {Message::Attribute, AttributeProto::kGFieldNumber, Message::Graph},
      {Message::Attribute, AttributeProto::kGraphsFieldNumber, Message::Graph},
  };
  for (auto [its, number, held] : known)
    if (its == holder && number == field)
      return held;
  return std::nullopt;
}

bool Stripper::fail(StringRef rest, const Twine &what, bool endsEarly) {
  result.problem =
      (what + " at byte " + Twine(rest.data() - file.data())).str();
  // Only the outermost message ends where the file ends.
  result.cutOff = endsEarly && rest.end() == file.end();
  return false;
}

/// A stream reader counts in int: each field gets one of its own, for the tag
/// and the number that follows.
bool Stripper::next(StringRef &rest, Field &field) {
  if (rest.empty() || !result.problem.empty())
    return false;
  constexpr size_t longest = 16;
  CodedInputStream stream(reinterpret_cast<const uint8_t *>(rest.data()),
                          int(std::min(rest.size(), longest)));
  const uint32_t tag = stream.ReadTag();
  field.number = WireFormatLite::GetTagFieldNumber(tag);
  field.type = WireFormatLite::GetTagWireType(tag);
  uint64_t length = 0;
  bool whole = tag != 0 && field.number != 0;
  if (field.type == WireFormatLite::WIRETYPE_VARINT)
    whole = whole && stream.ReadVarint64(&field.bits);
  else if (field.isBytes())
    whole = whole && stream.ReadVarint64(&length);
  else if (field.type == WireFormatLite::WIRETYPE_FIXED64)
    length = sizeof(uint64_t);
  else if (field.type == WireFormatLite::WIRETYPE_FIXED32)
    length = sizeof(uint32_t);
  else
    return fail(rest, "malformed field");
  const size_t head = stream.CurrentPosition();
  if (!whole)
    return fail(rest, "malformed field", head == rest.size());
  if (length > rest.size() - head)
    return fail(rest,
                Twine(length) + " bytes announced, " +
                    Twine(rest.size() - head) + " left,",
                true);
  field.content = rest.substr(head, length);
  field.text = rest.take_front(head + length);
  rest = rest.drop_front(head + length);
  return true;
}

/// Appends a field of bytes; `size` of them follow.
static void appendHead(int number, uint64_t size, std::string &to) {
  using google::protobuf::io::CodedOutputStream;
  uint8_t head[16];
  uint8_t *end = CodedOutputStream::WriteTagToArray(
      WireFormatLite::MakeTag(number,
                              WireFormatLite::WIRETYPE_LENGTH_DELIMITED),
      head);
  end = CodedOutputStream::WriteVarint64ToArray(size, end);
  to.append(reinterpret_cast<const char *>(head), end - head);
}

const Field *Stripper::payload(llvm::ArrayRef<Field> tensor) {
  const Field *elements = nullptr;
  uint64_t type = TensorProto::UNDEFINED;
  for (const Field &field : tensor) {
    if (field.number == TensorProto::kDataTypeFieldNumber)
      type = field.bits;
    if (field.number != TensorProto::kRawDataFieldNumber &&
        field.number != TensorProto::kFloatDataFieldNumber &&
        field.number != TensorProto::kDoubleDataFieldNumber)
      continue;
    // Elements in pieces are for the message class to join.
    if (elements || !field.isBytes())
      return nullptr;
    elements = &field;
  }
  if (!elements || elements->content.size() <= largestCopiedPayload ||
      (elements->number == TensorProto::kFloatDataFieldNumber &&
       type != TensorProto::FLOAT) ||
      (elements->number == TensorProto::kDoubleDataFieldNumber &&
       type != TensorProto::DOUBLE))
    return nullptr;
  return elements;
}

void Stripper::stripTensor(llvm::ArrayRef<Field> fields, std::string &to) {
  const Field *elements = payload(fields);
  for (const Field &field : fields)
    if (&field != elements)
      to += field.text;
  if (!elements)
    return;
  TensorProto reference;
  reference.set_data_location(TensorProto::EXTERNAL);
  auto add = [&](const char *key, const std::string &value) {
    StringStringEntryProto &entry = *reference.add_external_data();
    entry.set_key(key);
    entry.set_value(value);
  };
  add("location", name.str());
  add("offset", std::to_string(elements->content.data() - file.data()));
  add("length", std::to_string(elements->content.size()));
  reference.AppendToString(&to);
}

void Stripper::strip(StringRef message, Message kind, unsigned depth,
                     std::string &to) {
  llvm::SmallVector<Field, 8> tensor;
  Field field{};
  while (next(message, field)) {
    if (kind == Message::Model && !field.isBytes() &&
        field.number == ModelProto::kIrVersionFieldNumber)
      result.irVersion = int64_t(field.bits);
    if (kind == Message::Tensor) {
      tensor.push_back(field);
    } else if (auto held = messageIn(kind, field.number);
               held && field.isBytes()) {
      const unsigned inside =
          depth + (kind == Message::Attribute && *held == Message::Graph);
      std::string stripped;
      if (inside <= maxNestedSubgraphs)
        strip(field.content, *held, inside, stripped);
      appendHead(field.number, stripped.size(), to);
      to += stripped;
    } else {
      to += field.text;
    }
  }
  stripTensor(tensor, to);
}

ModelWithoutPayloads wsec::withoutPayloads(StringRef file, StringRef name) {
  ModelWithoutPayloads result;
  Stripper(file, name, result).strip(file, Message::Model, 0, result.bytes);
  return result;
}
