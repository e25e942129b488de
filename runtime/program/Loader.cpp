// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/program/Loader.h"
#include "runtime/files/Digest.h"
#include "runtime/program/Checker.h"
#include "runtime/program/Container.h"
#include "runtime/program/Errors.h"
#include "runtime/program/proof/DeadlockChecker.h"

#include <algorithm>

namespace wsec::runtime {

namespace {

constexpr const char *recompile =
    "; compile the model again with the wsec of this runtime";

Error badFile(const std::string &message) {
  return Error(ErrorClass::BadProgram, message);
}

/// Checks the header of a file of `size` bytes; returns the flatbuffer's size.
uint64_t readHeader(const uint8_t *data, uint64_t size) {
  if (size < containerHeaderBytes)
    throw badFile("not a .wafer file: " + std::to_string(size) +
                  " bytes are less than a header");
  constexpr size_t nameBytes = 6;
  if (!std::equal(data, data + nameBytes, containerMagic.begin()))
    throw badFile("not a .wafer file: it does not start with WAFER; wsec "
                  "compiles .onnx and .mlir files to .wafer files");
  if (!std::equal(data, data + containerMagic.size(), containerMagic.begin()))
    throw badFile("container version " + std::to_string(data[6]) + "." +
                  std::to_string(data[7]) + " of the .wafer file, expected " +
                  std::to_string(containerMagic[6]) + "." +
                  std::to_string(containerMagic[7]) + recompile);
  uint64_t bytes = 0;
  for (int i = 7; i >= 0; --i)
    bytes = bytes << 8 | data[containerMagic.size() + i];
  if (bytes > size - containerHeaderBytes)
    throw badFile("the .wafer file is cut off: its program has " +
                  std::to_string(bytes) + " bytes, " +
                  std::to_string(size - containerHeaderBytes) +
                  " are in the file; copy it again, or compile the model "
                  "again");
  if (bytes >= FLATBUFFERS_MAX_BUFFER_SIZE)
    throw badFile("a program of " + std::to_string(bytes) +
                  " bytes is too large");
  return bytes;
}

const program::Program *readProgram(const uint8_t *data, uint64_t bytes) {
  flatbuffers::Verifier::Options options;
  // Tables may be shared; a program with more than one table per byte has loops
  // of sharing that no writer makes.
  options.max_tables = flatbuffers::uoffset_t(bytes + 1024);
  flatbuffers::Verifier verifier(data, bytes, options);
  if (!program::VerifyProgramBuffer(verifier))
    throw badFile("the .wafer file is damaged: its tables do not verify");
  const program::Program *root = program::GetProgram(data);
  if (root->version() != programVersion)
    throw badFile("program version " + versionText(root->version()) +
                  ", this runtime reads " + versionText(programVersion) +
                  recompile);
  return root;
}

} // namespace

uint64_t LoadedProgram::digest() const {
  return origin ? origin->digest() : digestOf(rootData, rootBytes);
}

/// What the flatbuffer says, before anybody reads it.
void LoadedProgram::check() {
  root = readProgram(rootData, rootBytes);
  checkProgram(*root);
  checkProof(*root);
}

std::shared_ptr<const LoadedProgram>
LoadedProgram::open(const std::string &path) {
  std::shared_ptr<LoadedProgram> loaded(new LoadedProgram);
  InputFile file(path);
  try {
    uint8_t header[containerHeaderBytes] = {};
    file.read(0, header, std::min(file.size(), containerHeaderBytes));
    const uint64_t size = readHeader(header, file.size());
    loaded->bytes.resize(size);
    file.read(containerHeaderBytes, loaded->bytes.data(), size);
    loaded->rootData = loaded->bytes.data();
    loaded->rootBytes = size;
    loaded->check();
    if (uint64_t start = bundleStart(size); start < file.size()) {
      loaded->mapped = MappedFile::open(path);
      if (loaded->mapped->size() > start) {
        loaded->bundleData = loaded->mapped->data() + start;
        loaded->bundleLength = loaded->mapped->size() - start;
      }
    }
  } catch (const Error &error) {
    throw Error(error.errorClass(), "'" + path + "': " + error.message());
  }
  loaded->home.addFolderOf(path);
  return loaded;
}

std::shared_ptr<const LoadedProgram>
LoadedProgram::fromBytes(std::vector<uint8_t> bytes,
                         const std::string &directory) {
  std::shared_ptr<LoadedProgram> loaded(new LoadedProgram);
  loaded->bytes = std::move(bytes);
  const uint8_t *data = loaded->bytes.data();
  const uint64_t size = readHeader(data, loaded->bytes.size());
  loaded->rootData = data + containerHeaderBytes;
  loaded->rootBytes = size;
  loaded->check();
  if (uint64_t start = bundleStart(size); start < loaded->bytes.size()) {
    loaded->bundleData = data + start;
    loaded->bundleLength = loaded->bytes.size() - start;
  }
  loaded->home.add(directory);
  return loaded;
}

std::shared_ptr<const LoadedProgram>
LoadedProgram::derived(std::shared_ptr<const LoadedProgram> from,
                       std::vector<uint8_t> flatbuffer) {
  std::shared_ptr<LoadedProgram> loaded(new LoadedProgram);
  loaded->bytes = std::move(flatbuffer);
  loaded->rootData = loaded->bytes.data();
  loaded->rootBytes = loaded->bytes.size();
  loaded->check();
  loaded->mapped = from->mapped;
  loaded->bundleData = from->bundleData;
  loaded->bundleLength = from->bundleLength;
  loaded->home = from->home;
  loaded->origin = std::move(from);
  return loaded;
}

} // namespace wsec::runtime
