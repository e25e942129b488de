// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/wsec/Bindings.h"
#include "runtime/host/Npy.h"
#include "runtime/program/Errors.h"

#include <charconv>
#include <string_view>

using namespace wsec;
using runtime::DataType;

/// As TensorProto.DataType counts them.
static int64_t onnxNumber(DataType type) {
  switch (type) {
  case DataType::Float32:
    return 1;
  case DataType::UInt8:
    return 2;
  case DataType::Int8:
    return 3;
  case DataType::UInt16:
    return 4;
  case DataType::Int16:
    return 5;
  case DataType::Int32:
    return 6;
  case DataType::Int64:
    return 7;
  case DataType::Bool:
    return 9;
  case DataType::Float16:
    return 10;
  case DataType::Float64:
    return 11;
  case DataType::UInt32:
    return 12;
  case DataType::UInt64:
    return 13;
  case DataType::BFloat16:
    return 16;
  case DataType::Bits8:
    break;
  }
  return 0; // none
}

static std::optional<BoundInput>
readFile(BoundInput bound, const std::string &path, std::string &problem) {
  try {
    runtime::HostTensor tensor = runtime::readNpy(path);
    bound.elementType = onnxNumber(tensor.type);
    bound.shape.assign(tensor.shape.begin(), tensor.shape.end());
    bound.bytes.assign(tensor.bytes.begin(), tensor.bytes.end());
  } catch (const runtime::Error &error) {
    problem = error.message();
    return std::nullopt;
  }
  return bound;
}

/// Words between commas, without blanks around them; none of an empty text.
static std::vector<std::string> wordsOf(std::string_view text) {
  auto trimmed = [](std::string_view word) {
    size_t first = word.find_first_not_of(' ');
    size_t last = word.find_last_not_of(' ');
    return first == word.npos
               ? std::string()
               : std::string(word.substr(first, last - first + 1));
  };
  std::vector<std::string> words;
  for (size_t comma; (comma = text.find(',')) != text.npos;
       text.remove_prefix(comma + 1))
    words.push_back(trimmed(text.substr(0, comma)));
  if (!words.empty() || !trimmed(text).empty())
    words.push_back(trimmed(text));
  return words;
}

std::optional<BoundInput> tools::readBinding(const std::string &name,
                                             const std::string &value,
                                             std::string &problem) {
  BoundInput bound;
  bound.name = name;
  std::string_view text = value;
  if (text.ends_with(".npy"))
    return readFile(std::move(bound), value, problem);
  bool isList = text.starts_with('[') && text.ends_with(']');
  if (isList)
    text = text.substr(1, text.size() - 2);
  bound.numbers = wordsOf(text);
  if (isList)
    bound.shape.push_back(int64_t(bound.numbers.size()));
  else if (bound.numbers.size() != 1)
    problem = "expected NAME=FILE.npy, NAME=[1,-1] or NAME=1";
  return problem.empty() ? std::optional(std::move(bound)) : std::nullopt;
}

std::optional<std::pair<int64_t, int64_t>>
tools::readRange(const std::string &value) {
  const size_t dots = value.find("..");
  std::pair<int64_t, int64_t> range;
  auto read = [](std::string_view text, int64_t &number) {
    const char *end = text.data() + text.size();
    const auto [behind, error] = std::from_chars(text.data(), end, number);
    return error == std::errc() && behind == end;
  };
  const std::string_view text = value;
  if (dots == text.npos || !read(text.substr(0, dots), range.first) ||
      !read(text.substr(dots + 2), range.second) || range.first < 1 ||
      range.second <= range.first)
    return std::nullopt;
  return range;
}
