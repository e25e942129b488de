// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/memoryx/TensorStore.h"
#include "runtime/program/Checker.h"
#include "runtime/program/Digest.h"
#include "runtime/program/Errors.h"
#include "runtime/program/MappedFile.h"

#include <algorithm>

namespace wsec::runtime {

static void checkFile(const program::File &file, const std::string &name,
                      const uint8_t *data, uint64_t size) {
  if (size != file.size())
    throw Error(ErrorClass::WeightFileChanged,
                name + " has " + std::to_string(size) +
                    " bytes, the program was compiled for " +
                    std::to_string(file.size()) + "; compile the model again");
  if (fileDigest(data, size) != file.digest())
    throw Error(ErrorClass::WeightFileChanged,
                name + " is not the file the program was compiled for: its "
                       "contents differ; compile the model again");
}

static std::shared_ptr<const MappedFile> openWeights(const std::string &path) {
  try {
    return MappedFile::open(path);
  } catch (const Error &error) {
    throw Error(error.errorClass(),
                "weights: " + error.message() +
                    "; a program finds its weight files by their place beside "
                    "it, or has them within if compiled with --bundle");
  }
}

TensorStore::TensorStore(std::shared_ptr<const LoadedProgram> loadedProgram)
    : loaded(std::move(loadedProgram)) {
  mapFiles();
  const auto &tensors = *program().tensors();
  entries.resize(tensors.size());
  outputs.resize(tensors.size());
  for (uint32_t i = 0; i < tensors.size(); ++i) {
    const program::Tensor &tensor = *tensors.Get(i);
    if (tensor.role() == program::TensorRole::Weight) {
      entries[i] = files[size_t(tensor.file())];
      entries[i].data += tensor.offset();
    } else if (tensor.role() == program::TensorRole::Constant) {
      static const uint8_t nothing = 0;
      entries[i] = {tensor.data() ? tensor.data()->data() : &nothing, loaded};
    }
  }
}

void TensorStore::mapFiles() {
  if (!program().files())
    return;
  for (const program::File *file : *program().files()) {
    if (!file->path() || file->path()->size() == 0) {
      // The file is padded, so the bundle may be longer than what it holds.
      uint64_t size = std::min(loaded->bundleBytes(), file->size());
      checkFile(*file, "the bundled weight data", loaded->bundle(), size);
      files.push_back({loaded->bundle(), loaded});
      continue;
    }
    std::string path = loaded->resolve(file->path()->str());
    auto mapped = openWeights(path);
    checkFile(*file, "weight file '" + path + "'", mapped->data(),
              mapped->size());
    const uint8_t *data = mapped->data();
    files.push_back({data, std::move(mapped)});
  }
}

const program::Tensor &TensorStore::tensor(uint32_t index) const {
  return *program().tensors()->Get(index);
}

void TensorStore::bindInput(uint32_t index, const uint8_t *data,
                            std::shared_ptr<const void> owner) {
  entries[index] = {data, std::move(owner)};
}

const uint8_t *TensorStore::elements(uint32_t index) const {
  if (!entries[index].data)
    throw Error(ErrorClass::BadTensor, "no tensor is given for input '" +
                                           tensor(index).name()->str() + "'");
  return entries[index].data;
}

std::shared_ptr<const void> TensorStore::owner(uint32_t index) const {
  return entries[index].owner;
}

uint8_t *TensorStore::outputElements(uint32_t index) const {
  return outputs[index].get();
}

void TensorStore::clearOutputs() {
  for (uint32_t i = 0; i < outputs.size(); ++i)
    if (tensor(i).role() == program::TensorRole::Output &&
        tensor(i).alias() < 0)
      outputs[i] = std::make_unique<uint8_t[]>(elementCount(tensor(i)) *
                                               elementBytes(tensor(i).type()));
}

} // namespace wsec::runtime
