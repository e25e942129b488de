// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Files of tensors in the safetensors format: 8 bytes with the length of a JSON
// header, little endian; the header, which gives type, shape and place of each
// tensor; the elements, row by row, without holes. Large models come as several
// files and an index, {"weight_map": {tensor: file}}.
#ifndef RUNTIME_MEMORYX_SAFETENSORS_H
#define RUNTIME_MEMORYX_SAFETENSORS_H

#include "runtime/files/MappedFile.h"
#include "runtime/program/program_generated.h"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace wsec::runtime {

/// A tensor of a mapped file.
struct FileTensor {
  std::string name;
  std::string type; ///< as the format calls it: "F32", "BF16", "U64"
  std::vector<uint64_t> shape;
  uint64_t elements = 0;
  uint64_t offset = 0, bytes = 0; ///< in the file
  const uint8_t *data = nullptr;
};

/// The type of elements that parameters and their streams can have: F32, F16,
/// BF16.
std::optional<program::ElementType> floatType(const std::string &type);
/// The inverse.
std::string typeName(program::ElementType type);

/// One file, mapped; nothing is copied.
class SafetensorsFile {
public:
  /// Throws IoError, or BadTensor where the file is malformed: a header that is
  /// no JSON object or too long, keys that are twice there, types that do not
  /// exist, shapes whose sizes are not those of the data, data that overlap,
  /// leave the file or leave holes in it.
  explicit SafetensorsFile(const std::string &path);

  /// In the order of their data.
  const std::vector<FileTensor> &tensors() const { return entries; }
  const std::map<std::string, std::string> &metadata() const { return notes; }
  const MappedFile &file() const { return *mapped; }

private:
  void readHeader(const std::string &text);
  void checkPlaces() const;

  std::shared_ptr<const MappedFile> mapped;
  std::vector<FileTensor> entries;
  std::map<std::string, std::string> notes;
};

/// The tensors of a model: of one file, or of those that an index names.
class SafetensorsModel {
public:
  /// `path` is a file of tensors, an index (*.json), or a folder with
  /// model.safetensors or model.safetensors.index.json. Throws as
  /// SafetensorsFile; BadTensor also where index and files disagree, or the
  /// index names a file outside of its folder.
  static SafetensorsModel open(const std::string &path);

  /// By name.
  const std::map<std::string, const FileTensor *> &tensors() const {
    return byName;
  }
  const std::vector<std::unique_ptr<SafetensorsFile>> &files() const {
    return opened;
  }
  /// Throws BadTensor with the nearest names.
  const FileTensor &at(const std::string &name) const;

private:
  void addFile(const std::string &path);
  void addIndexed(const std::string &path);

  std::vector<std::unique_ptr<SafetensorsFile>> opened;
  std::map<std::string, const FileTensor *> byName;
};

/// A tensor that is to be written.
struct TensorSource {
  std::string name, type;
  std::vector<uint64_t> shape;
  uint64_t bytes;
  /// Copies bytes [offset, offset + bytes) of the elements.
  std::function<void(uint64_t offset, uint64_t bytes, void *to)> read;
};

/// A file that was written and has reached the disk.
struct WrittenFile {
  std::string name; ///< in its folder
  uint64_t bytes, digest;
};

/// Writes `stem`.safetensors into a folder; where the tensors take more than
/// `shardBytes` together, `stem`-00001-of-00003.safetensors and so on, and
/// `stem`.safetensors.index.json. No tensor is divided. Throws IoError.
std::vector<WrittenFile>
writeSafetensors(const std::string &folder, const std::string &stem,
                 const std::vector<TensorSource> &tensors,
                 uint64_t shardBytes = uint64_t(4) << 30);

/// A small file, the same way.
WrittenFile writeText(const std::string &folder, const std::string &name,
                      const std::string &text);

} // namespace wsec::runtime

#endif // RUNTIME_MEMORYX_SAFETENSORS_H
