// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef WSEC_COMPILER_SELECT_PLANNINGCACHE_H
#define WSEC_COMPILER_SELECT_PLANNINGCACHE_H

#include "compiler/select/RegionShape.h"
#include "compiler/select/StagePartitioner.h"

#include "dialects/wse/Wse.h"

#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/DenseMap.h"

#include <iterator>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

namespace wsec::select {

/// What planning computed, kept for all attempts of a compilation: of one
/// model, machine and precision. An attempt asks only for what no earlier one
/// asked; whoever has none makes one of its own.
class PlanningCache {
public:
  PlanningCache() = default;
  PlanningCache(const PlanningCache &) = delete;
  PlanningCache &operator=(const PlanningCache &) = delete;

  /// What an estimate depends on, beside the kernel as it is on the whole mesh.
  struct EstimateKey {
    RegionShape shape;
    int64_t leastHeadSize = 0;
    bool keepWeights = false, littleScratch = false;
    int64_t code = 0; ///< bytes of a PE

    auto key() const {
      return std::tuple_cat(shape.key(), std::tie(leastHeadSize, keepWeights,
                                                  littleScratch, code));
    }
    bool operator<(const EstimateKey &other) const {
      return key() < other.key();
    }
  };
  /// By the numbers of kernels.
  using Estimates = std::vector<std::optional<KernelEstimate>>;

  /// One for all kernels that cost alike: of the same `costKey`.
  size_t numberOf(mlir::Attribute costKey) {
    return numbers.try_emplace(costKey, numbers.size()).first->second;
  }
  /// With room for all that are numbered; valid until it is asked again.
  Estimates &estimates(const EstimateKey &key) {
    Estimates &its = byKey[key];
    its.resize(numbers.size());
    return its;
  }

  /// What a problem of stages depends on: what they are chosen for, bytes of
  /// code that kernels were selected for and that stages leave room for, rows,
  /// rows of stages, channels of each stage, and stages in a row at most.
  struct StagesKey {
    bool weights, spreadCode, clear;
    int64_t selected, code, rows;
    size_t stageRows;
    int64_t channels;
    size_t stages;

    auto others() const {
      return std::tie(weights, spreadCode, clear, selected, code, rows,
                      stageRows, channels);
    }
    bool operator<(const StagesKey &other) const {
      return std::tuple_cat(others(), std::tie(stages)) <
             std::tuple_cat(other.others(), std::tie(other.stages));
    }
  };
  /// What is known of it, or follows from what is known where there may be more
  /// stages.
  StageAnswers &stages(const StagesKey &key) {
    const auto its = answers.try_emplace(key).first;
    if (const auto more = std::next(its);
        more != answers.end() && more->first.others() == key.others())
      its->second.isPartOf(more->second);
    return its->second;
  }

  /// The program with all kernels on one region of that shape, selected with
  /// room for so many bytes of code, joined or not, and with little scratch or
  /// not; null where none was.
  mlir::OwningOpRef<wse::ProgramOp> &program(RegionShape shape, int64_t code,
                                             bool joined, bool littleScratch) {
    return programs[{shape.columns, shape.rows, code, joined, littleScratch}];
  }

private:
  std::map<std::tuple<int64_t, int64_t, int64_t, bool, bool>,
           mlir::OwningOpRef<wse::ProgramOp>>
      programs;
  llvm::DenseMap<mlir::Attribute, size_t> numbers; // looked up only
  std::map<EstimateKey, Estimates> byKey;
  std::map<StagesKey, StageAnswers> answers;
};

} // namespace wsec::select

#endif // WSEC_COMPILER_SELECT_PLANNINGCACHE_H
