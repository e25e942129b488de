// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RUNTIME_MEMORYX_TENSORSTORE_H
#define RUNTIME_MEMORYX_TENSORSTORE_H

#include "runtime/files/ProceduralFile.h"
#include "runtime/memoryx/ParameterSource.h"
#include "runtime/memoryx/SparseMatrix.h"
#include "runtime/program/Loader.h"
#include "runtime/threads/Mutex.h"

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

namespace wsec::runtime {

/// Where the elements of every tensor of a program lie: weights in their
/// mapped files, constants in the program, inputs where the caller keeps them,
/// outputs in memory of the store. Weights and inputs are never copied.
class TensorStore {
public:
  /// Maps the weight files, which lie in one of `weightFolders` or beside the
  /// program. Throws WeightFileChanged when one of them is not what the program
  /// was compiled against, IoError when it cannot be read.
  explicit TensorStore(std::shared_ptr<const LoadedProgram> loaded,
                       const std::vector<std::string> &weightFolders = {});

  /// For a further wafer that runs the program: the same weights, in the same
  /// memory; inputs and outputs of its own.
  TensorStore sibling() const { return TensorStore(*this, ForSibling()); }

  /// The paths of the weight files, without the program's own.
  std::vector<std::string> weightFiles() const;
  /// After a run: throws WeightFileChanged when weights may have been written
  /// while they were used.
  void checkUnchanged() const;

  const program::Program &program() const { return loaded->program(); }
  const program::Tensor &tensor(uint32_t index) const;

  /// Gives input `index` its elements, which `owner` keeps alive.
  void bindInput(uint32_t index, const uint8_t *data,
                 std::shared_ptr<const void> owner);

  /// Gives the parameters of the program the elements that they have now at
  /// `source`, which outlives all calls; to be said again, between calls, when
  /// they have others. Until then they have those they were compiled with.
  void bindParameters(ParameterSource &source);

  /// A weight that is computed as it streams.
  class Computed {
  public:
    /// Element i is element `first` + i of the file.
    Computed(const ProceduralFile &file, uint64_t first)
        : file(file), first(first) {}
    explicit Computed(SparseMatrix matrix) : matrix(std::move(matrix)) {}

    /// to[i] = element `from + i * stride`, for i in [0, count).
    void read(uint64_t from, int64_t stride, size_t count, float *to) const;

  private:
    ProceduralFile file;
    uint64_t first = 0;
    std::optional<SparseMatrix> matrix;
  };
  /// Null for a tensor with elements in memory.
  const Computed *computed(uint32_t index) const;

  /// The elements of a weight, a constant or a bound input; all of one that is
  /// computed, from the first call on. Throws BadTensor for an input without
  /// elements.
  const uint8_t *elements(uint32_t index) const;
  /// What keeps them alive.
  std::shared_ptr<const void> owner(uint32_t index) const;

  /// The elements of an output (zeros until a run writes them).
  uint8_t *outputElements(uint32_t index) const;
  /// Fresh zeros for outputs that a run writes.
  void clearOutputs(const std::set<uint32_t> &written);
  /// For all of them.
  void clearOutputs();

  /// Zeros that cost nothing until they are written to, and go back to the
  /// system at once.
  struct Free {
    size_t mapped = 0; ///< bytes; 0: of the heap
    void operator()(uint8_t *bytes) const;
  };
  using OutputElements = std::unique_ptr<uint8_t[], Free>;
  static OutputElements zeros(uint64_t bytes);
  /// The elements of an output, which has none until they are put back.
  OutputElements takeOutput(uint32_t index) {
    return std::move(outputs[index]);
  }
  void putBack(uint32_t index, OutputElements elements) {
    outputs[index] = std::move(elements);
  }

private:
  void makeSparse(uint32_t index);

  struct Entry {
    const uint8_t *data = nullptr;
    std::shared_ptr<const void> owner;
    std::optional<Computed> computed;
  };
  /// A file of the program. What is not mapped is in memory, or computed.
  struct WeightFile {
    const uint8_t *data = nullptr;
    std::shared_ptr<const MappedFile> mapped;
    std::string name;
    std::optional<ProceduralFile> computed;
  };
  struct ForSibling {};
  TensorStore(const TensorStore &other, ForSibling);
  void openFiles(const std::vector<std::string> &weightFolders);
  WeightFile openFile(const program::File &file, const WeightFolders &folders);

  std::shared_ptr<const LoadedProgram> loaded;
  std::vector<WeightFile> files;
  std::map<std::string, std::pair<std::shared_ptr<const MappedFile>, uint64_t>>
      byPath; ///< mapped files and their digests
  /// Entries, of which those that are computed as a whole become so late.
  mutable std::vector<Entry> entries;
  mutable Mutex computing;
  std::vector<OutputElements> outputs;
};

} // namespace wsec::runtime

#endif // RUNTIME_MEMORYX_TENSORSTORE_H
