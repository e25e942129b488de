// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/host/Npy.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "runtime/program/Errors.h"
#include "runtime/program/NearestNames.h"

#include <algorithm>
#include <cstring>
#include <list>
#include <memory>
#include <zip.h>

namespace wsec::runtime {

namespace {

using Archive = std::unique_ptr<zip_t, decltype(&zip_discard)>;
using Source = std::unique_ptr<zip_source_t, decltype(&zip_source_free)>;

Error badArchive(const std::string &name, const std::string &what) {
  return Error(ErrorClass::BadTensor, absl::StrCat(inQuotes(name), ": ", what));
}

/// What libzip says, as a part of a sentence.
std::string reason(zip_error_t *error) {
  return absl::AsciiStrToLower(zip_error_strerror(error));
}

Archive openArchive(const uint8_t *data, uint64_t size,
                    const std::string &name) {
  zip_error_t error;
  zip_error_init_with_code(&error, ZIP_ER_NOZIP);
  // To libzip a file of nothing is an archive of nothing.
  Source source(size > 0 ? zip_source_buffer_create(data, size, 0, &error)
                         : nullptr,
                zip_source_free);
  Archive archive(
      source ? zip_open_from_source(source.get(), ZIP_RDONLY, &error) : nullptr,
      zip_discard);
  if (archive) {
    source.release(); // it is the archive's now
    return archive;
  }
  if (zip_error_code_zip(&error) != ZIP_ER_NOZIP)
    throw badArchive(name, "the .npz file is damaged: " + reason(&error) +
                               "; write or copy it again");
  if (size >= 4 && std::equal(data, data + 4, "PK\x03\x04"))
    throw badArchive(name, "the .npz file is cut off or damaged: the directory "
                           "at its end is missing; write or copy it again");
  throw badArchive(name, "not a .npz file; numpy.savez writes them, and a "
                         "single tensor is given as NAME=FILE.npy");
}

/// A name of ASCII as it is: old code pages, in which libzip reads names that
/// do not say that they are UTF-8, have pictures for control characters.
std::string nameOf(zip_t *archive, uint64_t index, const zip_stat_t &status) {
  const char *raw = zip_get_name(archive, index, ZIP_FL_ENC_RAW);
  const bool isAscii =
      raw && std::all_of(raw, raw + std::strlen(raw),
                         [](char c) { return absl::ascii_isascii(c); });
  return isAscii ? raw : status.name;
}

/// One file of an archive, inflated as it is read.
class Member {
public:
  Member(zip_t *archive, uint64_t index, const std::string &archiveName)
      : archiveName(archiveName), file(nullptr, zip_fclose) {
    zip_stat_t status;
    if (zip_stat_index(archive, index, 0, &status) == 0) {
      name = nameOf(archive, index, status);
      size = status.size;
      file.reset(zip_fopen_index(archive, index, 0));
    }
    if (!file)
      throw damaged(reason(zip_get_error(archive)));
  }

  /// The tensor's name, without .npy.
  std::string tensorName() const {
    return std::string(absl::StripSuffix(name, ".npy"));
  }
  HostTensor read(const AcceptTensor &accept);

private:
  Error damaged(const std::string &why) const {
    return badArchive(archiveName, inQuotes(name) + " cannot be read: " + why +
                                       "; write or copy the archive again");
  }
  /// Here the checksum is compared.
  void requireEnd() {
    uint8_t beyond = 0;
    if (take(&beyond, 1) != 0)
      throw damaged("it is longer than the archive states");
  }
  /// The next `bytes`; fewer at the end.
  uint64_t take(uint8_t *to, uint64_t bytes) {
    uint64_t taken = 0;
    while (taken < bytes) {
      const zip_int64_t more = zip_fread(file.get(), to + taken, bytes - taken);
      if (more < 0)
        throw damaged(reason(zip_file_get_error(file.get())));
      if (more == 0)
        break;
      taken += uint64_t(more);
    }
    return taken;
  }

  const std::string &archiveName;
  std::string name;
  uint64_t size = 0; ///< as the archive states
  std::unique_ptr<zip_file_t, decltype(&zip_fclose)> file;
};

HostTensor Member::read(const AcceptTensor &accept) {
  const std::string place = archiveName + ":" + name;
  // No more than the header is inflated before somebody wants the tensor.
  std::vector<uint8_t> bytes(std::min<uint64_t>(size, longestNpyHeader));
  uint64_t filled = take(bytes.data(), bytes.size());
  if (filled == size)
    requireEnd();
  const NpyHeader header = parseNpyHeader(bytes.data(), filled, place);
  accept(tensorName(), header.type, header.shape);
  requireElements(header, size - header.start, place);
  if (filled < size) {
    bytes.resize(size);
    filled += take(bytes.data() + filled, size - filled);
    requireEnd();
  }
  if (filled != size)
    throw damaged("its elements end too early");
  bytes.erase(bytes.begin(), bytes.begin() + ptrdiff_t(header.start));
  return makeTensor(header, std::move(bytes));
}

} // namespace

NamedTensors parseNpz(const uint8_t *data, uint64_t size,
                      const std::string &name, const AcceptTensor &accept) {
  const Archive archive = openArchive(data, size, name);
  NamedTensors tensors;
  const auto count = uint64_t(zip_get_num_entries(archive.get(), 0));
  for (uint64_t index = 0; index < count; ++index) {
    Member member(archive.get(), index, name);
    tensors.emplace_back(member.tensorName(), member.read(accept));
  }
  return tensors;
}

/// Without a clock: same tensors, same bytes.
static void addFile(zip_t *archive, const std::string &tensorName,
                    const std::string &content) {
  constexpr uint16_t firstDay = 1 << 5 | 1; // 1980-01-01
  const std::string name = tensorName + ".npy";
  Source source(zip_source_buffer(archive, content.data(), content.size(), 0),
                zip_source_free);
  const zip_int64_t index =
      source && name.find('\0') == name.npos
          ? zip_file_add(archive, name.c_str(), source.get(), ZIP_FL_ENC_UTF_8)
          : -1;
  if (index < 0)
    throw Error(ErrorClass::BadTensor,
                absl::StrCat("output ", inQuotes(tensorName),
                             " cannot be named in an archive; write it to a "
                             "file of its own with --output"));
  source.release();
  zip_set_file_compression(archive, uint64_t(index), ZIP_CM_STORE, 0);
  zip_file_set_dostime(archive, uint64_t(index), 0, firstDay, 0);
}

static std::string contentOf(zip_source_t *source) {
  zip_stat_t status;
  if (zip_source_stat(source, &status) != 0 || zip_source_open(source) != 0)
    throw std::bad_alloc();
  std::string content(status.size, 0);
  const zip_int64_t taken =
      zip_source_read(source, content.data(), content.size());
  zip_source_close(source);
  if (taken != zip_int64_t(content.size()))
    throw Error(ErrorClass::IoError,
                absl::StrCat("an archive cannot be written: of its ",
                             content.size(), " bytes ",
                             std::max<zip_int64_t>(taken, 0),
                             " came back; write a file for each tensor"));
  return content;
}

std::string formatNpz(const NamedTensors &tensors) {
  // libzip writes no empty archive; this is its end record.
  if (tensors.empty())
    return std::string("PK\x05\x06", 4) + std::string(18, '\0');
  const Source target(zip_source_buffer_create(nullptr, 0, 0, nullptr),
                      zip_source_free);
  Archive archive(
      target ? zip_open_from_source(target.get(), ZIP_TRUNCATE, nullptr)
             : nullptr,
      zip_discard);
  if (!archive)
    throw std::bad_alloc();
  zip_source_keep(target.get());
  std::list<std::string> files; // read as the archive is closed
  for (const auto &[name, tensor] : tensors)
    addFile(archive.get(), name, files.emplace_back(formatNpy(tensor)));
  if (zip_close(archive.get()) != 0)
    throw Error(ErrorClass::IoError, "an archive cannot be written: " +
                                         reason(zip_get_error(archive.get())));
  archive.release();
  return contentOf(target.get());
}

} // namespace wsec::runtime
