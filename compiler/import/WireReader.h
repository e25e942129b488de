// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads the protobuf wire format in place. An ONNX file of many GiB is mostly
// raw tensor data: here a field of bytes is a reference into the mapped file,
// so a model costs what its graph costs, whatever the size of its weights.
// (Message classes would copy the data, and stop at 2 GiB.)
#ifndef COMPILER_IMPORT_WIREREADER_H
#define COMPILER_IMPORT_WIREREADER_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/Twine.h"
#include <cstdint>
#include <string>

namespace wsec {

/// One field of a message.
struct WireField {
  enum Kind : uint8_t { Varint = 0, Fixed64 = 1, Bytes = 2, Fixed32 = 5 };

  uint32_t number;
  Kind kind;
  uint64_t bits;         // Varint, Fixed64, Fixed32
  llvm::StringRef bytes; // Bytes: a string, a message, or packed numbers

  int64_t integer() const { return static_cast<int64_t>(bits); }
  float real() const;
};

/// Iterates over the fields of one message:
///
///   WireReader reader(bytes, file);
///   for (WireField field; reader.next(field);) ...
///   if (reader.failed()) report(reader.error());
class WireReader {
public:
  /// `file` is the whole file that holds `message`, to tell positions.
  WireReader(llvm::StringRef message, llvm::StringRef file)
      : rest(message), file(file) {}

  /// Reads the next field; false at the end of the message or on an error.
  bool next(WireField &field);

  bool failed() const { return !problem.empty(); }
  /// What is wrong, with the position in the file.
  llvm::StringRef error() const { return problem; }
  /// The message ended inside a field: a file that was cut off.
  bool cutOff() const { return endedEarly; }

private:
  bool readVarint(uint64_t &value);
  bool readFixed(unsigned size, uint64_t &value);
  bool fail(const llvm::Twine &what);

  llvm::StringRef rest, file;
  std::string problem;
  bool endedEarly = false;
};

/// Repeated numbers arrive packed in one field or one field each; both append.
/// False when packed data does not divide into numbers.
bool appendIntegers(const WireField &field,
                    llvm::SmallVectorImpl<int64_t> &values);
bool appendFloats(const WireField &field, llvm::SmallVectorImpl<float> &values);
bool appendDoubles(const WireField &field,
                   llvm::SmallVectorImpl<double> &values);

} // namespace wsec

#endif // COMPILER_IMPORT_WIREREADER_H
