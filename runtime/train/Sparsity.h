// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RUNTIME_TRAIN_SPARSITY_H
#define RUNTIME_TRAIN_SPARSITY_H

#include "runtime/memoryx/ParameterStore.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace wsec::runtime {

/// Which weights count, and how that changes: masks as they begin; gradual
/// magnitude pruning (Zhu 2017); as many that are dropped grow elsewhere, at
/// random (SET, Mocanu 2018) or where gradients are largest (RigL, Evci 2020).
enum class SparsityAlgorithm { Static, Gmp, Set, RigL };
std::optional<SparsityAlgorithm> findSparsityAlgorithm(std::string_view name);

struct SparsityOptions {
  SparsityAlgorithm algorithm = SparsityAlgorithm::Static;
  double sparsity = 0;       ///< share of weights that are 0; 0: all are kept
  double initial = 0;        ///< that of the first step, of Gmp
  bool byMagnitude = false;  ///< the first masks, else by a random score
  uint64_t every = 100;      ///< steps from one update of masks to the next
  uint64_t stop = 0;         ///< step from which on there are none
  double dropFraction = 0.3; ///< of the weights of a group, at first

  /// In step `step`, from 0.
  double sparsityAt(uint64_t step) const;
  /// In that of the last update of the masks before it.
  double sparsityBefore(uint64_t step) const {
    return sparsityAt(step ? (step - 1) / every * every : 0);
  }
  double dropFractionAt(uint64_t step) const;
  bool updatesAt(uint64_t step) const;
  /// How many of so many weights are kept, as the compiler counts them.
  static uint64_t kept(double sparsity, uint64_t weights);
};

/// The masks of the parameters whose products in a program are sparse. A group
/// is what a record has (Sparsity in program.fbs): all have equally many
/// weights that are kept, so what streams does not depend on which these are.
/// The largest of a group are what the program streams, and all others are 0.
class Masks {
public:
  /// BadCall where products take parts of a parameter that overlap.
  Masks(const SparsityOptions &options, const program::Program &program);

  bool any() const { return !sparse.empty(); }
  /// Gives the store the first masks, unless it has some from a checkpoint.
  void begin(ParameterStore &store) const;
  /// Changes them in step `step`, from 0, whose gradients the store has, before
  /// its weights are updated: what is dropped is not, and what grows is. False:
  /// they stay as they are.
  bool update(ParameterStore &store, uint64_t step) const;
  /// The share of the weights of these products that is kept.
  double density(const ParameterStore &store) const;

private:
  /// A matrix that is a view of a parameter.
  struct Matrix {
    uint64_t offset;
    int64_t rowStride, columnStride;
    uint64_t rows, columns, group, seed;
    bool operator==(const Matrix &other) const;
  };
  struct Parameter {
    std::string name;
    std::vector<Matrix> matrices;
  };
  /// Calls use(matrix, elements) for each group.
  template <typename Use>
  static void forEachGroup(const Parameter &parameter, const Use &use);
  void requireApart(const Parameter &parameter, uint64_t elements) const;

  const SparsityOptions options;
  std::vector<Parameter> sparse;
};

} // namespace wsec::runtime

#endif // RUNTIME_TRAIN_SPARSITY_H
