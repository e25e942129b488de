// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/train/Tokens.h"
#include "runtime/files/Digest.h"
#include "runtime/host/Npy.h"
#include "runtime/program/Errors.h"
#include "runtime/program/NearestNames.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

#include <algorithm>
#include <cstring>

namespace wsec::runtime {

static Error badTokens(const std::string &path, const std::string &what) {
  return {ErrorClass::BadTensor, "tokens " + inQuotes(path) + ": " + what};
}

Tokens Tokens::open(const std::vector<std::string> &paths, TextUnit unit,
                    std::vector<char32_t> characters) {
  Tokens tokens;
  tokens.name = absl::StrJoin(paths, ", ");
  tokens.known = std::move(characters);
  for (const std::string &path : paths) {
    File &its = tokens.files.emplace_back();
    its.name = path;
    its.isText = absl::EndsWith(path, ".txt");
    its.file = MappedFile::open(path);
    its.data = its.file->data();
    its.count = its.file->size();
    if (absl::EndsWith(path, ".npy"))
      its.openNpy();
    else if (!its.isText)
      throw badTokens(path, "expected integers in a .npy file, or a .txt file");
  }
  if (unit == TextUnit::Characters)
    tokens.numberCharacters();
  for (File &its : tokens.files) {
    its.first = tokens.count;
    tokens.count += its.count;
    if (its.file->damaged())
      throw Error(ErrorClass::IoError,
                  inQuotes(its.name) + " was written to while it was read");
  }
  return tokens;
}

void Tokens::madeOf(const std::vector<std::string> &sources) {
  name = absl::StrJoin(sources, ", ");
  for (size_t i = 0; i < files.size(); ++i)
    files[i].name = sources[i];
}

static bool isInteger(DataType type) {
  switch (type) {
  case DataType::Int8:
  case DataType::Int16:
  case DataType::Int32:
  case DataType::Int64:
  case DataType::UInt8:
  case DataType::UInt16:
  case DataType::UInt32:
  case DataType::UInt64:
    return true;
  default:
    return false;
  }
}

void Tokens::File::openNpy() {
  const NpyHeader header = parseNpyHeader(
      file->data(), std::min<uint64_t>(file->size(), longestNpyHeader), name);
  requireElements(header, file->size() - header.start, name);
  if (!isInteger(header.type) || header.shape.size() != 1)
    throw badTokens(name, "expected integers of one dimension, found " +
                              describe(header.type, header.shape));
  type = header.type;
  data = file->data() + header.start;
  count = uint64_t(header.shape[0]);
}

/// The code point at `at`, which moves behind it; 0xFFFFFFFF for what is none.
static char32_t nextCharacter(const uint8_t *text, uint64_t size,
                              uint64_t &at) {
  constexpr char32_t none = 0xFFFFFFFF;
  const uint8_t first = text[at++];
  if (first < 0x80)
    return first;
  const unsigned more = first >= 0xF0 ? 3 : first >= 0xE0 ? 2 : 1;
  constexpr char32_t least[] = {0, 0x80, 0x800, 0x10000};
  if (first < 0xC2 || first > 0xF4 || size - at < more)
    return none;
  char32_t point = first & (0x3F >> more);
  for (unsigned i = 0; i < more; ++i) {
    const uint8_t byte = text[at++];
    if ((byte & 0xC0) != 0x80)
      return none;
    point = point << 6 | (byte & 0x3F);
  }
  const bool isSurrogate = point >= 0xD800 && point < 0xE000;
  return point < least[more] || point > 0x10FFFF || isSurrogate ? none : point;
}

void Tokens::File::decode(std::vector<char32_t> &text) const {
  for (uint64_t at = 0; at < count;) {
    const uint64_t from = at;
    text.push_back(nextCharacter(data, count, at));
    if (text.back() == 0xFFFFFFFF)
      throw badTokens(name, absl::StrCat("byte ", from,
                                         " begins no character of UTF-8; take "
                                         "bytes as tokens"));
  }
}

void Tokens::File::number(const std::vector<char32_t> &text,
                          const std::vector<char32_t> &known) {
  for (const char32_t character : text) {
    const auto found = std::lower_bound(known.begin(), known.end(), character);
    if (found == known.end() || *found != character)
      throw badTokens(name,
                      absl::StrFormat("character U+%04X is not one of the %d "
                                      "that the model learns from",
                                      uint32_t(character), known.size()));
    decoded.push_back(uint32_t(found - known.begin()));
  }
  type = DataType::UInt32;
  data = reinterpret_cast<const uint8_t *>(decoded.data());
  count = decoded.size();
}

void Tokens::numberCharacters() {
  std::vector<std::vector<char32_t>> texts(files.size());
  for (size_t i = 0; i < files.size(); ++i)
    if (files[i].isText)
      files[i].decode(texts[i]);
  if (known.empty()) {
    for (const std::vector<char32_t> &text : texts)
      known.insert(known.end(), text.begin(), text.end());
    std::sort(known.begin(), known.end());
    known.erase(std::unique(known.begin(), known.end()), known.end());
  }
  for (size_t i = 0; i < files.size(); ++i)
    if (files[i].isText)
      files[i].number(texts[i], known);
}

template <class Integer>
static int64_t integerAt(const uint8_t *data, uint64_t index) {
  Integer value;
  std::memcpy(&value, data + index * sizeof(value), sizeof(value));
  return int64_t(value);
}

int64_t Tokens::File::operator[](uint64_t index) const {
  switch (type) {
  case DataType::Int8:
    return integerAt<int8_t>(data, index);
  case DataType::Int16:
    return integerAt<int16_t>(data, index);
  case DataType::Int32:
    return integerAt<int32_t>(data, index);
  case DataType::UInt8:
    return integerAt<uint8_t>(data, index);
  case DataType::UInt16:
    return integerAt<uint16_t>(data, index);
  case DataType::UInt32:
    return integerAt<uint32_t>(data, index);
  default: // what is beyond 2^63 is negative, and outside of any vocabulary
    return integerAt<int64_t>(data, index);
  }
}

int64_t Tokens::operator[](uint64_t index) const {
  const auto behind = std::upper_bound(
      files.begin(), files.end(), index,
      [](uint64_t at, const File &its) { return at < its.first; });
  const File &its = *std::prev(behind);
  return its[index - its.first];
}

std::string Tokens::description() const {
  if (!known.empty())
    return absl::StrCat(count, " characters of ", known.size(), " kinds");
  return absl::StrCat(count, files[0].isText ? " bytes of text" : " tokens");
}

void Tokens::requireWithin(int64_t vocabulary) const {
  for (const File &its : files)
    for (uint64_t i = 0; i < its.count; ++i)
      if (const int64_t token = its[i]; token < 0 || token >= vocabulary)
        throw badTokens(its.name,
                        absl::StrCat("token ", i, " is ", token,
                                     ", and the vocabulary of the model has ",
                                     vocabulary, ": 0 to ", vocabulary - 1));
}

void Tokens::requireCount(uint64_t wanted, const std::string &forWhat) const {
  if (count < wanted)
    throw badTokens(name,
                    absl::StrCat(forWhat, " take ", wanted,
                                 " tokens, and there are ", count,
                                 "; take fewer steps, a smaller batch, shorter "
                                 "sequences or more tokens"));
}

HostTensor Tokens::rows(uint64_t first, uint64_t rows,
                        uint64_t sequence) const {
  HostTensor tensor{DataType::Int64, {int64_t(rows), int64_t(sequence)}, {}};
  tensor.bytes.resize(rows * sequence * sizeof(int64_t));
  for (uint64_t i = 0; i < rows * sequence; ++i) {
    const int64_t token = (*this)[first + i];
    std::memcpy(tensor.bytes.data() + i * sizeof(token), &token, sizeof(token));
  }
  return tensor;
}

uint64_t Tokens::File::digest() const {
  return digestOf(data, count * dataTypeBytes(type));
}

uint64_t Tokens::digest() const {
  if (files.size() == 1)
    return files[0].digest();
  std::vector<uint64_t> all;
  for (const File &its : files)
    all.insert(all.end(), {its.digest(), its.count});
  return digestOf(all.data(), all.size() * sizeof(uint64_t));
}

} // namespace wsec::runtime
