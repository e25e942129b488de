// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/program/Loader.h"
#include "runtime/program/Checker.h"
#include "runtime/program/Container.h"
#include "runtime/program/DeadlockChecker.h"
#include "runtime/program/Errors.h"
#include "runtime/program/MappedFile.h"

#include <algorithm>
#include <filesystem>

namespace wsec::runtime {

namespace {

constexpr const char *recompile =
    "; compile the model again with the wsec of this runtime";

Error badFile(const std::string &message) {
  return Error(ErrorClass::BadProgram, message);
}

/// Checks the container around the flatbuffer and returns its size.
uint64_t readContainer(const uint8_t *data, uint64_t size) {
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
    throw badFile("program version " + std::to_string(root->version()) +
                  ", this runtime reads " + std::to_string(programVersion) +
                  recompile);
  return root;
}

} // namespace

LoadedProgram::LoadedProgram(std::shared_ptr<const void> owner,
                             const uint8_t *data, uint64_t size,
                             std::string directory)
    : owner(std::move(owner)), directory(std::move(directory)) {
  uint64_t bytes = readContainer(data, size);
  root = readProgram(data + containerHeaderBytes, bytes);
  checkProgram(*root);
  checkProof(*root);
  if (uint64_t start = bundleStart(bytes); start < size) {
    bundleData = data + start;
    bundleLength = size - start;
  }
}

std::shared_ptr<const LoadedProgram>
LoadedProgram::open(const std::string &path) {
  auto file = MappedFile::open(path);
  const uint8_t *data = file->data();
  uint64_t size = file->size();
  auto directory = std::filesystem::path(path).parent_path().string();
  try {
    return std::shared_ptr<const LoadedProgram>(
        new LoadedProgram(std::move(file), data, size, std::move(directory)));
  } catch (const Error &error) {
    throw Error(error.errorClass(), "'" + path + "': " + error.message());
  }
}

std::shared_ptr<const LoadedProgram>
LoadedProgram::fromBytes(std::vector<uint8_t> bytes, std::string directory) {
  auto held = std::make_shared<const std::vector<uint8_t>>(std::move(bytes));
  return std::shared_ptr<const LoadedProgram>(new LoadedProgram(
      held, held->data(), held->size(), std::move(directory)));
}

std::string LoadedProgram::resolve(const std::string &path) const {
  return (std::filesystem::path(directory) / path).string();
}

} // namespace wsec::runtime
