// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/memoryx/TensorStore.h"
#include "runtime/files/Digest.h"
#include "runtime/memoryx/Elements.h"
#include "runtime/program/Checker.h"
#include "runtime/program/Errors.h"
#include "runtime/program/NearestNames.h"

#include <algorithm>
#include <cstdlib>
#include <new>
#include <sys/mman.h>

namespace wsec::runtime {

static Error changed(const std::string &what) {
  return Error(ErrorClass::WeightFileChanged, what);
}

static Error otherContents(const std::string &name) {
  return changed(name + " is not the file the program was compiled for: its "
                        "contents differ; compile the model again");
}

static void checkSize(const program::File &file, const std::string &name,
                      uint64_t size) {
  if (size != file.size())
    throw changed(name + " has " + std::to_string(size) +
                  " bytes, the program was compiled for " +
                  std::to_string(file.size()) + "; compile the model again");
}

/// Of what lives as long as the store: threads would count its many users in
/// one place.
static std::shared_ptr<const void> uncounted(const void *what) {
  return {std::shared_ptr<const void>(), what};
}

TensorStore::TensorStore(std::shared_ptr<const LoadedProgram> loadedProgram,
                         const std::vector<std::string> &weightFolders)
    : loaded(std::move(loadedProgram)) {
  openFiles(weightFolders);
  const auto &tensors = *program().tensors();
  entries.resize(tensors.size());
  outputs.resize(tensors.size());
  for (uint32_t i = 0; i < tensors.size(); ++i) {
    const program::Tensor &tensor = *tensors.Get(i);
    if (tensor.sparsity()) {
      makeSparse(i);
    } else if (tensor.role() == program::TensorRole::Weight) {
      const WeightFile &file = files[size_t(tensor.file())];
      if (file.computed) {
        entries[i].computed.emplace(*file.computed,
                                    tensor.offset() / sizeof(float));
        continue;
      }
      entries[i].data = file.data + tensor.offset();
      entries[i].owner = uncounted(file.data);
    } else if (tensor.role() == program::TensorRole::Constant) {
      static const uint8_t nothing = 0;
      entries[i] = {tensor.data() ? tensor.data()->data() : &nothing,
                    uncounted(loaded.get()),
                    {}};
    }
  }
}

TensorStore::TensorStore(const TensorStore &other, ForSibling)
    : loaded(other.loaded), files(other.files), byPath(other.byPath),
      entries(other.entries.size()), outputs(other.outputs.size()) {
  Lock lock(other.computing);
  for (uint32_t i = 0; i < entries.size(); ++i)
    if (tensor(i).role() == program::TensorRole::Weight ||
        tensor(i).role() == program::TensorRole::Constant)
      entries[i] = other.entries[i];
  // These read from the store they are in.
  for (uint32_t i = 0; i < entries.size(); ++i)
    if (tensor(i).sparsity())
      makeSparse(i);
}

/// The sparse form of a weight or constant, which may itself be computed.
void TensorStore::makeSparse(uint32_t index) {
  const program::Sparsity &sparsity = *tensor(index).sparsity();
  const uint32_t dense = sparsity.tensor();
  auto read = [this, dense](int64_t first, int64_t stride, size_t count,
                            float *to) {
    if (const Computed *source = computed(dense))
      return source->read(uint64_t(first), stride, count, to);
    readElements(tensor(dense).type(), elements(dense), first, stride, count,
                 to);
  };
  entries[index].computed.emplace(SparseMatrix(sparsity, read));
}

void TensorStore::Computed::read(uint64_t from, int64_t stride, size_t count,
                                 float *to) const {
  if (!matrix)
    return file.read(first + from, stride, count, to);
  if (stride == 1)
    return matrix->read(from, count, to);
  for (size_t i = 0; i < count; ++i)
    matrix->read(from + uint64_t(int64_t(i) * stride), 1, to + i);
}

void TensorStore::openFiles(const std::vector<std::string> &weightFolders) {
  if (!program().files())
    return;
  // What is named for this run comes before what happens to lie beside it.
  WeightFolders folders(weightFolders);
  for (const std::string &folder : loaded->folders().names())
    folders.add(folder);
  for (const program::File *file : *program().files())
    files.push_back(openFile(*file, folders));
}

TensorStore::WeightFile TensorStore::openFile(const program::File &file,
                                              const WeightFolders &folders) {
  if (!file.path() || file.path()->size() == 0) {
    const std::string name = "the bundled weight data";
    // The file is padded, so the bundle may be longer than what it holds.
    checkSize(file, name, std::min(loaded->bundleBytes(), file.size()));
    if (digestOf(loaded->bundle(), file.size()) != file.digest())
      throw otherContents(name);
    return {loaded->bundle(), loaded->bundleFile(), name, {}};
  }
  const std::string given = file.path()->str();
  if (auto computed = ProceduralFile::parse(given)) {
    if (file.digest() != computed->digest())
      throw otherContents("weights " + inQuotes(given));
    return {nullptr, nullptr, given, computed};
  }
  const auto path = folders.find(given);
  if (!path)
    throw Error(ErrorClass::IoError,
                "weights: there is no " + inQuotes(given) + " in " +
                    folders.describe() +
                    "; name the folder that has it with --weights=DIR, or "
                    "compile with --bundle");
  // A file may have many names; it is mapped and hashed once.
  const std::string name = "weight file " + inQuotes(*path);
  if (file.digest() == 0)
    throw changed(name + ": the program was compiled with "
                         "--allow-absent-weights, without a look at it; "
                         "compile the model again without");
  auto [known, isNew] = byPath.try_emplace(*path);
  auto &[mapped, digest] = known->second;
  if (isNew) {
    mapped = MappedFile::open(*path);
    checkSize(file, name, mapped->size());
    digest = digestOf(*mapped);
  }
  checkSize(file, name, mapped->size());
  if (digest != file.digest())
    throw otherContents(name);
  return {mapped->data(), mapped, name, {}};
}

std::vector<std::string> TensorStore::weightFiles() const {
  std::vector<std::string> paths;
  for (const WeightFile &file : files)
    if (file.mapped && file.mapped != loaded->bundleFile())
      paths.push_back(file.mapped->path());
  return paths;
}

void TensorStore::checkUnchanged() const {
  for (uint32_t i = 0; i < files.size(); ++i) {
    const auto &[data, mapped, name, computed] = files[i];
    if (!mapped || (!mapped->damaged() && mapped->untouched()))
      continue;
    const program::File &file = *program().files()->Get(i);
    const FileState seen = stateOf(mapped->path());
    const bool isCertain = !seen.recent();
    if (mapped->damaged() || digestOf(data, file.size()) != file.digest())
      throw changed(name + " was written to while the program ran; results of "
                           "this run are void, run it again");
    if (isCertain)
      mapped->confirm(seen);
  }
}

const program::Tensor &TensorStore::tensor(uint32_t index) const {
  return *program().tensors()->Get(index);
}

void TensorStore::bindInput(uint32_t index, const uint8_t *data,
                            std::shared_ptr<const void> owner) {
  entries[index] = {data, std::move(owner), {}};
}

void TensorStore::bindParameters(ParameterSource &source) {
  for (uint32_t i = 0; i < entries.size(); ++i) {
    const program::Tensor &its = tensor(i);
    if (!its.parameter())
      continue;
    std::shared_ptr<const uint8_t> held = source.elementsOf(
        its.parameter()->str(), its.type(), elementCount(its));
    entries[i] = {held.get(), held, {}};
  }
  // Their sparse forms are computed anew.
  for (uint32_t i = 0; i < entries.size(); ++i)
    if (tensor(i).sparsity()) {
      entries[i].data = nullptr;
      entries[i].owner.reset();
    }
}

const TensorStore::Computed *TensorStore::computed(uint32_t index) const {
  return entries[index].computed ? &*entries[index].computed : nullptr;
}

const uint8_t *TensorStore::elements(uint32_t index) const {
  if (const Computed *source = computed(index)) {
    Lock lock(computing);
    Entry &entry = entries[index];
    if (!entry.data) {
      auto all =
          std::make_shared<std::vector<float>>(elementCount(tensor(index)));
      source->read(0, 1, all->size(), all->data());
      entry.data = reinterpret_cast<const uint8_t *>(all->data());
      entry.owner = std::move(all);
    }
    return entry.data;
  }
  if (tensor(index).role() == program::TensorRole::Intermediate)
    return outputs[index].get();
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
  std::set<uint32_t> all;
  for (uint32_t i = 0; i < outputs.size(); ++i)
    if (tensor(i).role() == program::TensorRole::Output ||
        tensor(i).role() == program::TensorRole::Intermediate)
      all.insert(i);
  clearOutputs(all);
}

void TensorStore::Free::operator()(uint8_t *bytes) const {
  if (mapped > 0)
    ::munmap(bytes, mapped);
  else
    std::free(bytes);
}

/// A heap writes the zeros of what it has had before, and keeps what it gets
/// back.
TensorStore::OutputElements TensorStore::zeros(uint64_t bytes) {
  constexpr uint64_t large = 1 << 20;
  if (bytes < large) {
    OutputElements small(
        static_cast<uint8_t *>(std::calloc(std::max<uint64_t>(bytes, 1), 1)));
    if (!small)
      throw std::bad_alloc();
    return small;
  }
  void *memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED)
    throw std::bad_alloc();
#ifdef MADV_HUGEPAGE
  ::madvise(memory, bytes, MADV_HUGEPAGE); // It is written from end to end.
#endif
  return {static_cast<uint8_t *>(memory), Free{bytes}};
}

void TensorStore::clearOutputs(const std::set<uint32_t> &written) {
  for (uint32_t i : written) {
    if (tensor(i).alias() >= 0)
      continue;
    outputs[i] = nullptr; // before there are others
    outputs[i] =
        zeros(elementCount(tensor(i)) * elementBytes(tensor(i).type()));
  }
}

} // namespace wsec::runtime
