// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/files/Digest.h"
#include "runtime/files/NewFile.h"
#include "runtime/memoryx/Safetensors.h"
#include "runtime/memoryx/StrictJson.h"

#include "absl/strings/str_format.h"

#include <algorithm>

namespace wsec::runtime {

namespace {

/// Data begin at a multiple of this: whole vectors of a mapped file.
constexpr uint64_t alignment = 64;
constexpr uint64_t pieceBytes = uint64_t(8) << 20;

/// A file that is digested as it is written.
class DigestedFile {
public:
  DigestedFile(const std::string &folder, const std::string &name)
      : name(name), file(folder + "/" + name) {}
  void write(const void *data, uint64_t bytes) {
    digest.add(data, bytes);
    file.write(data, bytes);
  }
  WrittenFile finish() {
    file.sync();
    file.commit();
    return {name, file.size(), digest.value()};
  }

private:
  std::string name;
  NewFile file;
  StreamedDigest digest;
};

std::string headerOf(const TensorSource *begin, const TensorSource *end) {
  Json header = {{"__metadata__", {{"format", "pt"}}}};
  uint64_t offset = 0;
  for (const TensorSource *tensor = begin; tensor != end; ++tensor) {
    header[tensor->name] = {{"dtype", tensor->type},
                            {"shape", tensor->shape},
                            {"data_offsets", {offset, offset + tensor->bytes}}};
    offset += tensor->bytes;
  }
  std::string text = header.dump();
  text.resize((text.size() + 8 + alignment - 1) / alignment * alignment - 8,
              ' ');
  std::string bytes;
  for (int i = 0; i < 8; ++i)
    bytes += char(text.size() >> (8 * i));
  return bytes + text;
}

WrittenFile writeShard(const std::string &folder, const std::string &name,
                       const TensorSource *begin, const TensorSource *end) {
  DigestedFile file(folder, name);
  const std::string header = headerOf(begin, end);
  file.write(header.data(), header.size());
  std::vector<uint8_t> piece;
  for (const TensorSource *tensor = begin; tensor != end; ++tensor)
    for (uint64_t done = 0; done < tensor->bytes; done += piece.size()) {
      piece.resize(std::min(pieceBytes, tensor->bytes - done));
      tensor->read(done, piece.size(), piece.data());
      file.write(piece.data(), piece.size());
    }
  return file.finish();
}

/// Where shards begin, and the end.
std::vector<size_t> divide(const std::vector<TensorSource> &tensors,
                           uint64_t shardBytes) {
  std::vector<size_t> begins = {0};
  uint64_t bytes = 0;
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (bytes > 0 && bytes + tensors[i].bytes > shardBytes) {
      begins.push_back(i);
      bytes = 0;
    }
    bytes += tensors[i].bytes;
  }
  begins.push_back(tensors.size());
  return begins;
}

} // namespace

std::vector<WrittenFile>
writeSafetensors(const std::string &folder, const std::string &stem,
                 const std::vector<TensorSource> &tensors,
                 uint64_t shardBytes) {
  const std::vector<size_t> begins = divide(tensors, shardBytes);
  const size_t shards = begins.size() - 1;
  std::vector<WrittenFile> written;
  uint64_t total = 0;
  Json map = Json::object();
  for (size_t shard = 0; shard < shards; ++shard) {
    const std::string name =
        shards == 1 ? stem + ".safetensors"
                    : absl::StrFormat("%s-%05d-of-%05d.safetensors", stem,
                                      shard + 1, shards);
    written.push_back(writeShard(folder, name, tensors.data() + begins[shard],
                                 tensors.data() + begins[shard + 1]));
    for (size_t i = begins[shard]; i < begins[shard + 1]; ++i) {
      map[tensors[i].name] = name;
      total += tensors[i].bytes;
    }
  }
  if (shards > 1)
    written.push_back(writeText(
        folder, stem + ".safetensors.index.json",
        Json{{"metadata", {{"total_size", total}}}, {"weight_map", map}}.dump(
            2) +
            "\n"));
  return written;
}

WrittenFile writeText(const std::string &folder, const std::string &name,
                      const std::string &text) {
  DigestedFile file(folder, name);
  file.write(text.data(), text.size());
  return file.finish();
}

} // namespace wsec::runtime
