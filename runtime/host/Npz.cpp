// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// As much of the zip format as numpy uses: local headers, a central directory
// that has the truth about sizes, zip64 fields where 32 bits are not enough.
#include "runtime/host/Npy.h"
#include "runtime/program/Errors.h"

#include <algorithm>
#include <cstring>
#include <zlib.h>

namespace wsec::runtime {

namespace {

constexpr uint32_t localSignature = 0x04034b50;
constexpr uint32_t centralSignature = 0x02014b50;
constexpr uint32_t endSignature = 0x06054b50;
constexpr uint32_t end64Signature = 0x06064b50;
constexpr uint32_t locator64Signature = 0x07064b50;
constexpr uint64_t localBytes = 30, centralBytes = 46, endBytes = 22;
constexpr uint64_t end64Bytes = 56, locator64Bytes = 20;
constexpr uint16_t stored = 0, deflated = 8;
constexpr uint16_t zip64Tag = 1;
constexpr uint16_t version64 = 45;
constexpr uint16_t firstDay = 1 << 5 | 1; // 1980-01-01: no clock in the file

/// Little-endian fields with a check that they are there.
class Reader {
public:
  Reader(const uint8_t *data, uint64_t size, const std::string &name)
      : data(data), size(size), name(name) {}

  uint64_t field(uint64_t at, unsigned bytes) const {
    require(at, bytes);
    uint64_t value = 0;
    for (unsigned i = bytes; i-- > 0;)
      value = value << 8 | data[at + i];
    return value;
  }
  uint32_t u16(uint64_t at) const { return uint32_t(field(at, 2)); }
  uint32_t u32(uint64_t at) const { return uint32_t(field(at, 4)); }
  uint64_t u64(uint64_t at) const { return field(at, 8); }
  const uint8_t *range(uint64_t at, uint64_t bytes) const {
    require(at, bytes);
    return data + at;
  }
  uint64_t end() const { return size; }
  Error error(const std::string &what) const {
    return Error(ErrorClass::BadTensor, "'" + name + "': " + what);
  }

private:
  void require(uint64_t at, uint64_t bytes) const {
    if (at > size || bytes > size - at)
      throw error("not a whole .npz file: it ends too early");
  }
  const uint8_t *data;
  uint64_t size;
  const std::string &name;
};

/// One file of the archive.
struct Member {
  std::string name;
  uint16_t method = stored;
  uint32_t crc = 0;
  uint64_t packed = 0;
  uint64_t size = 0;
  uint64_t offset = 0; ///< of its local header
};

/// Where the central directory lies.
struct Directory {
  uint64_t offset;
  uint64_t count;
};

/// No directory at the end.
Error notArchive(const Reader &reader) {
  if (reader.end() >= 4 && reader.u32(0) == localSignature)
    return reader.error("the .npz file is cut off: the directory at its end is "
                        "missing; write or copy it again");
  return reader.error("not a .npz file; numpy.savez writes them, and a single "
                      "tensor is given as NAME=FILE.npy");
}

Directory findDirectory(const Reader &reader) {
  // The end record is last, but for a comment of up to 64 KiB.
  if (reader.end() < endBytes)
    throw notArchive(reader);
  uint64_t last = reader.end() - endBytes;
  for (uint64_t back = 0; back <= std::min<uint64_t>(last, 0xffff); ++back) {
    uint64_t at = last - back;
    if (reader.u32(at) != endSignature || reader.u16(at + 20) != back)
      continue;
    Directory directory{reader.u32(at + 16), reader.u16(at + 10)};
    if (at >= locator64Bytes &&
        reader.u32(at - locator64Bytes) == locator64Signature) {
      uint64_t wide = reader.u64(at - locator64Bytes + 8);
      if (reader.u32(wide) == end64Signature)
        directory = {reader.u64(wide + 48), reader.u64(wide + 32)};
    }
    return directory;
  }
  throw notArchive(reader);
}

/// Replaces the 32-bit fields that say "see the zip64 field".
void readZip64(const Reader &reader, uint64_t extra, uint64_t bytes,
               Member &member) {
  uint64_t end = extra + bytes;
  while (extra + 4 <= end) {
    uint64_t length = reader.u16(extra + 2);
    if (reader.u16(extra) == zip64Tag) {
      uint64_t at = extra + 4;
      for (uint64_t *field : {&member.size, &member.packed, &member.offset})
        if (*field == UINT32_MAX) {
          *field = reader.u64(at);
          at += 8;
        }
    }
    extra += 4 + length;
  }
}

std::vector<Member> readDirectory(const Reader &reader) {
  Directory directory = findDirectory(reader);
  std::vector<Member> members;
  uint64_t at = directory.offset;
  for (uint64_t i = 0; i < directory.count; ++i) {
    if (reader.u32(at) != centralSignature)
      throw reader.error("the directory of the archive is damaged");
    if (reader.u16(at + 8) & 1)
      throw reader.error("encrypted archives are not supported");
    Member member;
    member.method = uint16_t(reader.u16(at + 10));
    member.crc = reader.u32(at + 16);
    member.packed = reader.u32(at + 20);
    member.size = reader.u32(at + 24);
    member.offset = reader.u32(at + 42);
    uint64_t name = reader.u16(at + 28), extra = reader.u16(at + 30);
    auto *text = reader.range(at + centralBytes, name);
    member.name.assign(reinterpret_cast<const char *>(text), name);
    readZip64(reader, at + centralBytes + name, extra, member);
    at += centralBytes + name + extra + reader.u16(at + 32);
    members.push_back(std::move(member));
  }
  return members;
}

/// Inflates `member`, whose packed bytes are at `data`.
std::vector<uint8_t> inflateMember(const Reader &reader, const uint8_t *data,
                                   const Member &member) {
  // Deflate packs at most about 1032 to 1: a larger promise is a lie.
  if (member.size / 1100 > member.packed)
    throw reader.error("'" + member.name + "' states an impossible size");
  std::vector<uint8_t> bytes(member.size);
  z_stream stream{};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK)
    throw reader.error("cannot inflate '" + member.name + "'");
  constexpr uint64_t step = 1 << 30;
  uint64_t read = 0, written = 0;
  int status = Z_OK;
  while (status == Z_OK) {
    stream.next_in = const_cast<Bytef *>(data + read);
    stream.avail_in = uInt(std::min(step, member.packed - read));
    stream.next_out = bytes.data() + written;
    stream.avail_out = uInt(std::min(step, member.size - written));
    uInt in = stream.avail_in, out = stream.avail_out;
    status = inflate(&stream, Z_NO_FLUSH);
    read += in - stream.avail_in;
    written += out - stream.avail_out;
    if (status == Z_OK && in == stream.avail_in && out == stream.avail_out)
      status = Z_BUF_ERROR;
  }
  inflateEnd(&stream);
  if (status != Z_STREAM_END || written != member.size)
    throw reader.error("'" + member.name + "' does not inflate");
  return bytes;
}

uint32_t checksum(const uint8_t *data, uint64_t size) {
  return uint32_t(crc32_z(crc32_z(0, nullptr, 0), data, size));
}

HostTensor readMember(const Reader &reader, const Member &member,
                      const std::string &archive) {
  if (reader.u32(member.offset) != localSignature)
    throw reader.error("'" + member.name + "' is not where it should be");
  uint64_t start = member.offset + localBytes + reader.u16(member.offset + 26) +
                   reader.u16(member.offset + 28);
  const uint8_t *data = reader.range(start, member.packed);
  std::vector<uint8_t> inflated;
  if (member.method == deflated) {
    inflated = inflateMember(reader, data, member);
    data = inflated.data();
  } else if (member.method != stored || member.packed != member.size) {
    throw reader.error("'" + member.name + "' is packed by method " +
                       std::to_string(member.method) +
                       "; numpy.savez stores (0), numpy.savez_compressed "
                       "deflates (8)");
  }
  if (checksum(data, member.size) != member.crc)
    throw reader.error("'" + member.name +
                       "' is damaged: its checksum is another one; write or "
                       "copy the archive again");
  return parseNpy(data, member.size, archive + ":" + member.name);
}

/// Appends little-endian fields.
class Writer {
public:
  void add(uint64_t value, unsigned bytes) {
    for (unsigned i = 0; i < bytes; ++i)
      out += char(value >> (8 * i));
  }
  std::string out;
};

/// What local header and directory entry have in common.
void addCommon(Writer &writer, const Member &member, uint64_t extraBytes) {
  writer.add(version64, 2);
  writer.add(0, 2); // flags
  writer.add(stored, 2);
  writer.add(0, 2); // time
  writer.add(firstDay, 2);
  writer.add(member.crc, 4);
  writer.add(UINT32_MAX, 4); // both sizes are in the zip64 field
  writer.add(UINT32_MAX, 4);
  writer.add(member.name.size(), 2);
  writer.add(extraBytes, 2);
}

void addCentral(Writer &writer, const Member &member) {
  writer.add(centralSignature, 4);
  writer.add(version64, 2);
  addCommon(writer, member, 28);
  writer.add(0, 2); // comment
  writer.add(0, 2); // disk
  writer.add(0, 2); // attributes
  writer.add(0, 4);
  writer.add(UINT32_MAX, 4); // the offset, too
  writer.out += member.name;
  writer.add(zip64Tag, 2);
  writer.add(24, 2);
  writer.add(member.size, 8);
  writer.add(member.size, 8);
  writer.add(member.offset, 8);
}

/// An empty archive has the plain record alone: numpy knows an archive by its
/// first bytes, and not one that begins with a zip64 record.
void addEnd(Writer &writer, uint64_t count, uint64_t directory) {
  const bool zip64 = count > 0;
  uint64_t end = writer.out.size();
  if (zip64) {
    writer.add(end64Signature, 4);
    writer.add(end64Bytes - 12, 8);
    writer.add(version64, 2);
    writer.add(version64, 2);
    writer.add(0, 4);
    writer.add(0, 4);
    writer.add(count, 8);
    writer.add(count, 8);
    writer.add(end - directory, 8);
    writer.add(directory, 8);
    writer.add(locator64Signature, 4);
    writer.add(0, 4);
    writer.add(end, 8);
    writer.add(1, 4);
  }
  writer.add(endSignature, 4);
  writer.add(0, 4);
  writer.add(std::min<uint64_t>(count, UINT16_MAX), 2);
  writer.add(std::min<uint64_t>(count, UINT16_MAX), 2);
  writer.add(zip64 ? UINT32_MAX : 0, 4);
  writer.add(zip64 ? UINT32_MAX : 0, 4);
  writer.add(0, 2);
}

} // namespace

NamedTensors parseNpz(const uint8_t *data, uint64_t size,
                      const std::string &name) {
  Reader reader(data, size, name);
  NamedTensors tensors;
  for (const Member &member : readDirectory(reader)) {
    std::string tensorName = member.name;
    constexpr std::string_view suffix = ".npy";
    if (tensorName.ends_with(suffix))
      tensorName.resize(tensorName.size() - suffix.size());
    tensors.emplace_back(tensorName, readMember(reader, member, name));
  }
  return tensors;
}

std::string formatNpz(const NamedTensors &tensors) {
  Writer writer;
  std::vector<Member> members;
  for (const auto &[name, tensor] : tensors) {
    std::string file = formatNpy(tensor);
    Member member;
    member.name = name + ".npy";
    member.crc =
        checksum(reinterpret_cast<const uint8_t *>(file.data()), file.size());
    member.size = file.size();
    member.offset = writer.out.size();
    writer.add(localSignature, 4);
    addCommon(writer, member, 20);
    writer.out += member.name;
    writer.add(zip64Tag, 2);
    writer.add(16, 2);
    writer.add(member.size, 8);
    writer.add(member.size, 8);
    writer.out += file;
    members.push_back(std::move(member));
  }
  uint64_t directory = writer.out.size();
  for (const Member &member : members)
    addCentral(writer, member);
  addEnd(writer, members.size(), directory);
  return std::move(writer.out);
}

} // namespace wsec::runtime
