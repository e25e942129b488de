// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/emit/OutputFile.h"
#include "runtime/program/Container.h"
#include "runtime/program/Digest.h"

#include "llvm/Support/Endian.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace wsec::emit {

/// Any digest but 0, which flatbuffers would leave out.
static constexpr uint64_t kOpenDigest = 1;

static Error fileError(const std::string &path, std::error_code code) {
  return createStringError(code,
                           "cannot write '" + path + "': " + code.message());
}

static std::string containerHeader(uint64_t flatbufferBytes) {
  std::string header(runtime::containerMagic.begin(),
                     runtime::containerMagic.end());
  char size[8];
  support::endian::write64le(size, flatbufferBytes);
  return header + std::string(size, sizeof(size));
}

// Copies in pieces that stay in the cache, so that a full disk is noticed soon
// and pages of the source can be given back.
static Error copyPiece(const BundledPiece &piece, raw_fd_ostream &output) {
  constexpr uint64_t kBlock = 4 << 20;
  for (uint64_t done = 0; done < piece.bytes; done += kBlock) {
    uint64_t bytes = std::min(kBlock, piece.bytes - done);
    auto block =
        MemoryBuffer::getFileSlice(piece.path, bytes, piece.offset + done);
    if (!block)
      return createStringError(block.getError(),
                               "cannot read '" + piece.path +
                                   "': " + block.getError().message());
    output.write((*block)->getBufferStart(), bytes);
    if (output.has_error())
      break;
  }
  return Error::success();
}

static Error writeBundle(const WeightPlan &plan, uint64_t start,
                         raw_fd_ostream &output) {
  for (const BundledPiece &piece : plan.pieces) {
    output.write_zeros(start + piece.target - output.tell());
    if (Error error = copyPiece(piece, output))
      return error;
  }
  return Error::success();
}

// The digest of what was written, for which the file is mapped.
static Expected<uint64_t> digestBundle(int descriptor, const std::string &path,
                                       uint64_t start, uint64_t bytes) {
  auto mapped =
      MemoryBuffer::getOpenFileSlice(sys::fs::convertFDToNativeFile(descriptor),
                                     path, bytes, static_cast<int64_t>(start));
  if (!mapped)
    return fileError(path, mapped.getError());
  return runtime::fileDigest((*mapped)->getBufferStart(), bytes);
}

static Error writeTo(int descriptor, const std::string &path,
                     const WeightPlan &plan, PackProgram pack) {
  raw_fd_ostream output(descriptor, /*shouldClose=*/false);
  std::string flatbuffer = pack(kOpenDigest);
  output << containerHeader(flatbuffer.size()) << flatbuffer;
  uint64_t start = runtime::bundleStart(flatbuffer.size());
  Error error = Error::success();
  if (!plan.pieces.empty())
    error = writeBundle(plan, start, output);
  else
    output.write_zeros(start - output.tell());
  output.flush();
  if (output.has_error()) {
    std::error_code code = output.error();
    output.clear_error();
    consumeError(std::move(error));
    return fileError(path, code);
  }
  if (error || plan.pieces.empty())
    return error;

  auto digest = digestBundle(descriptor, path, start, plan.bundleBytes);
  if (!digest)
    return digest.takeError();
  std::string final = pack(*digest);
  if (final.size() != flatbuffer.size())
    return createStringError("the size of '" + path +
                             "' depends on the digest of its weights");
  output.pwrite(final.data(), final.size(), runtime::containerHeaderBytes);
  output.flush();
  if (!output.has_error())
    return Error::success();
  std::error_code code = output.error();
  output.clear_error();
  return fileError(path, code);
}

// Devices such as /dev/full cannot be replaced by a file.
static Error writeDirectly(const std::string &path, const WeightPlan &plan,
                           PackProgram pack) {
  int descriptor;
  if (std::error_code code = sys::fs::openFileForReadWrite(
          path, descriptor, sys::fs::CD_OpenExisting, sys::fs::OF_None))
    return fileError(path, code);
  Error error = writeTo(descriptor, path, plan, pack);
  sys::fs::file_t file = sys::fs::convertFDToNativeFile(descriptor);
  sys::fs::closeFile(file);
  return error;
}

Error writeContainer(const std::string &path, const WeightPlan &plan,
                     PackProgram pack) {
  sys::fs::file_status status;
  if (!sys::fs::status(path, status) && sys::fs::is_other(status))
    return writeDirectly(path, plan, pack);
  auto temporary = sys::fs::TempFile::create(
      path + ".%%%%%%.part", sys::fs::all_read | sys::fs::all_write);
  if (!temporary)
    return fileError(path, errorToErrorCode(temporary.takeError()));
  if (Error error = writeTo(temporary->FD, path, plan, pack)) {
    consumeError(temporary->discard());
    return error;
  }
  if (Error error = temporary->keep(path))
    return fileError(path, errorToErrorCode(std::move(error)));
  return Error::success();
}

} // namespace wsec::emit
