// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/memoryx/Safetensors.h"
#include "runtime/memoryx/StrictJson.h"
#include "runtime/program/NearestNames.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <set>
#include <tuple>

namespace wsec::runtime {

namespace fs = std::filesystem;
using program::ElementType;

namespace {

/// The limit of the reference implementation.
constexpr uint64_t mostHeaderBytes = 100'000'000;

const std::map<std::string, uint64_t> &bitsOfTypes() {
  static const std::map<std::string, uint64_t> bits = {
      {"BOOL", 8},    {"U8", 8},   {"I8", 8},   {"F8_E5M2", 8}, {"F8_E4M3", 8},
      {"F8_E8M0", 8}, {"F4", 4},   {"I16", 16}, {"U16", 16},    {"F16", 16},
      {"BF16", 16},   {"I32", 32}, {"U32", 32}, {"F32", 32},    {"F64", 64},
      {"I64", 64},    {"U64", 64}, {"C64", 64}};
  return bits;
}

[[noreturn]] void refuse(const std::string &what, const std::string &problem) {
  throw Error(ErrorClass::BadTensor, what + " " + problem);
}

std::vector<uint64_t> readNumbers(const Json &entry, const char *key,
                                  const std::string &what) {
  std::vector<uint64_t> numbers;
  if (!entry.contains(key) || !entry[key].is_array())
    refuse(what, "has no list " + inQuotes(key));
  for (const Json &number : entry[key]) {
    if (!number.is_number_unsigned())
      refuse(what, "has " + number.dump() + " in " + inQuotes(key) +
                       ", expected whole numbers from 0");
    numbers.push_back(number.get<uint64_t>());
  }
  return numbers;
}

/// Elements times bits; nothing where that is no number of 64 bits.
std::optional<uint64_t> bitsOf(FileTensor &tensor, uint64_t bits) {
  tensor.elements = 1;
  // A tensor with a zero in its shape is empty, whatever its other sizes are.
  if (std::count(tensor.shape.begin(), tensor.shape.end(), 0)) {
    tensor.elements = 0;
    return 0;
  }
  for (uint64_t size : tensor.shape)
    if (__builtin_mul_overflow(tensor.elements, size, &tensor.elements))
      return std::nullopt;
  if (__builtin_mul_overflow(tensor.elements, bits, &bits))
    return std::nullopt;
  return bits;
}

/// Without its place in memory.
FileTensor readTensor(const std::string &name, const Json &entry,
                      uint64_t dataBytes, const std::string &what) {
  if (!entry.is_object())
    refuse(what, "is no object");
  for (const auto &[key, value] : entry.items())
    if (key != "dtype" && key != "shape" && key != "data_offsets")
      refuse(what, "has the unknown key " + inQuotes(key));
  if (!entry.contains("dtype") || !entry["dtype"].is_string())
    refuse(what, "has no 'dtype'");
  FileTensor tensor;
  tensor.name = name;
  tensor.type = entry["dtype"].get<std::string>();
  const auto type = bitsOfTypes().find(tensor.type);
  if (type == bitsOfTypes().end())
    refuse(what, "has the unknown type " + inQuotes(tensor.type));
  tensor.shape = readNumbers(entry, "shape", what);
  const std::vector<uint64_t> ends = readNumbers(entry, "data_offsets", what);
  if (ends.size() != 2 || ends[0] > ends[1])
    refuse(what, "has 'data_offsets' that are no begin and end");
  if (ends[1] > dataBytes)
    refuse(what, "ends at byte " + std::to_string(ends[1]) + " of " +
                     std::to_string(dataBytes) + " bytes of data");
  tensor.offset = ends[0];
  tensor.bytes = ends[1] - ends[0];
  const std::optional<uint64_t> bits = bitsOf(tensor, type->second);
  if (!bits || *bits % 8 != 0 || *bits / 8 != tensor.bytes)
    refuse(what, "has " + std::to_string(tensor.bytes) +
                     " bytes of data, expected " +
                     (bits ? std::to_string(*bits / 8) : "more than 2^64") +
                     " for its type and shape");
  return tensor;
}

} // namespace

std::optional<ElementType> floatType(const std::string &type) {
  for (ElementType its :
       {ElementType::F32, ElementType::F16, ElementType::BF16})
    if (typeName(its) == type)
      return its;
  return std::nullopt;
}

std::string typeName(ElementType type) {
  return program::EnumNameElementType(type);
}

SafetensorsFile::SafetensorsFile(const std::string &path)
    : mapped(MappedFile::open(path)) {
  const std::string what = inQuotes(path);
  constexpr uint64_t prefix = 8;
  if (mapped->size() < prefix)
    refuse(what, "is no safetensors file: it has " +
                     std::to_string(mapped->size()) + " bytes");
  uint64_t length = 0;
  for (uint64_t i = prefix; i-- > 0;)
    length = length << 8 | mapped->data()[i];
  if (length > mostHeaderBytes || length > mapped->size() - prefix)
    refuse(what, "is no safetensors file, or cut off: its header has " +
                     std::to_string(length) + " bytes, the file " +
                     std::to_string(mapped->size()) +
                     ", and a header at most " +
                     std::to_string(mostHeaderBytes));
  readHeader({reinterpret_cast<const char *>(mapped->data()) + prefix, length});
  for (FileTensor &tensor : entries) {
    tensor.offset += prefix + length;
    tensor.data = mapped->data() + tensor.offset;
  }
  checkPlaces();
}

void SafetensorsFile::readHeader(const std::string &text) {
  const std::string what = "the header of " + inQuotes(mapped->path());
  if (text.empty() || text[0] != '{')
    refuse(what, "does not begin with '{'");
  const uint64_t dataBytes = mapped->size() - 8 - text.size();
  const Json header = parseObject(text, ErrorClass::BadTensor, what);
  for (const auto &[name, entry] : header.items()) {
    if (name == "__metadata__") {
      if (!entry.is_object())
        refuse(what, "has '__metadata__' that is no object");
      for (const auto &[key, value] : entry.items()) {
        if (!value.is_string())
          refuse(what, "has metadata " + inQuotes(key) + " that is no string");
        notes[key] = value.get<std::string>();
      }
      continue;
    }
    entries.push_back(readTensor(name, entry, dataBytes,
                                 "tensor " + inQuotes(name) + " of " +
                                     inQuotes(mapped->path())));
  }
  std::sort(entries.begin(), entries.end(),
            [](const FileTensor &a, const FileTensor &b) {
              return std::tie(a.offset, a.bytes, a.name) <
                     std::tie(b.offset, b.bytes, b.name);
            });
}

/// Each begins where the one before ends: no byte has two meanings, or none.
void SafetensorsFile::checkPlaces() const {
  uint64_t header = 0;
  std::memcpy(&header, mapped->data(), sizeof(header));
  uint64_t end = 8 + header;
  const std::string *before = nullptr;
  for (const FileTensor &tensor : entries) {
    const std::string what =
        "tensor " + inQuotes(tensor.name) + " of " + inQuotes(mapped->path());
    if (tensor.offset < end)
      refuse(what, "overlaps " + inQuotes(*before));
    if (tensor.offset > end)
      refuse(what, "has " + std::to_string(tensor.offset - end) +
                       " bytes before it that are of no tensor");
    end = tensor.offset + tensor.bytes;
    before = &tensor.name;
  }
  if (end != mapped->size())
    refuse(inQuotes(mapped->path()),
           "has " + std::to_string(mapped->size() - end) +
               " bytes at its end that are of no tensor");
}

SafetensorsModel SafetensorsModel::open(const std::string &path) {
  SafetensorsModel model;
  std::error_code none;
  std::string file = path;
  if (fs::is_directory(path, none)) {
    file = (fs::path(path) / "model.safetensors").string();
    if (fs::exists(file + ".index.json", none))
      file += ".index.json";
  }
  if (fs::path(file).extension() == ".json")
    model.addIndexed(file);
  else
    model.addFile(file);
  return model;
}

void SafetensorsModel::addFile(const std::string &path) {
  opened.push_back(std::make_unique<SafetensorsFile>(path));
  for (const FileTensor &tensor : opened.back()->tensors())
    if (!byName.emplace(tensor.name, &tensor).second)
      refuse("tensor " + inQuotes(tensor.name),
             "is in two files, the second is " + inQuotes(path));
}

void SafetensorsModel::addIndexed(const std::string &path) {
  const std::string what = "index " + inQuotes(path);
  const std::vector<uint8_t> bytes = readFile(path);
  const Json index =
      parseObject({bytes.begin(), bytes.end()}, ErrorClass::BadTensor, what);
  if (!index.contains("weight_map") || !index["weight_map"].is_object())
    refuse(what, "has no object 'weight_map'");
  std::map<std::string, std::string> fileOf;
  std::set<std::string> names;
  for (const auto &[tensor, file] : index["weight_map"].items()) {
    if (!file.is_string())
      refuse(what, "has no file for " + inQuotes(tensor));
    const std::string name = file.get<std::string>();
    if (name.empty() || name[0] == '.' ||
        name.find_first_of(std::string("/\0", 2)) != name.npos)
      refuse(what,
             "names " + inQuotes(name) + ", expected a file of its own folder");
    fileOf[tensor] = name;
    names.insert(name);
  }
  for (const std::string &name : names) {
    addFile((fs::path(path).parent_path() / name).string());
    for (const FileTensor &tensor : opened.back()->tensors())
      if (auto its = fileOf.find(tensor.name);
          its == fileOf.end() || its->second != name)
        refuse(what, "does not have tensor " + inQuotes(tensor.name) + " of " +
                         inQuotes(name));
  }
  for (const auto &[tensor, file] : fileOf)
    if (!byName.count(tensor))
      refuse(what, "has tensor " + inQuotes(tensor) + ", which is not in " +
                       inQuotes(file));
}

const FileTensor &SafetensorsModel::at(const std::string &name) const {
  const auto found = byName.find(name);
  if (found != byName.end())
    return *found->second;
  std::vector<std::string> names;
  for (const auto &entry : byName)
    names.push_back(entry.first);
  throw Error(ErrorClass::BadTensor, "there is no tensor " + inQuotes(name) +
                                         nearestNames(name, names));
}

} // namespace wsec::runtime
