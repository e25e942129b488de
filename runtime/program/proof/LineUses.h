// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How many words PEs move, of lines side by side at once.
#ifndef RUNTIME_PROGRAM_PROOF_LINEUSES_H
#define RUNTIME_PROGRAM_PROOF_LINEUSES_H

#include "runtime/program/proof/ColorOps.h"
#include "runtime/program/proof/WordPairs.h"

#include "absl/container/flat_hash_map.h"

#include <map>
#include <memory>
#include <utility>
#include <vector>

namespace wsec::runtime {

/// Words that operands move, by what decides their sizes. Many ops of a routine
/// have the same sizes: each is computed once for a kind of PE, whatever the
/// color, and only where it is asked for.
class SizeTables {
public:
  explicit SizeTables(const AxisScalars &scalars) : scalars(scalars) {}

  class Table {
  public:
    Table(const FabricOp &op, const program::Operand &operand,
          const AxisScalars &scalars);
    int64_t at(int64_t x, int64_t y);
    const AxisKinds &kinds(AxisScalars::Axis axis) const {
      return axis == AxisScalars::X ? *xs : *ys;
    }

  private:
    const FabricOp &op; ///< the first that has these sizes
    const program::Operand &operand;
    const AxisScalars &scalars;
    const AxisKinds *xs, *ys;
    std::vector<std::vector<int64_t>> words; ///< by kinds of rows and columns
  };

  Table &of(const FabricOp &op, const program::Operand &operand);

private:
  const AxisScalars &scalars;
  std::map<std::vector<int64_t>, Table> known;
};

/// What PEs of some lines move of a color.
class LineUses {
public:
  using Axis = AxisScalars::Axis;

  /// `ops` have been collected.
  LineUses(const FabricRoutine &routine, const AxisScalars &scalars,
           const ColorOps &ops, SizeTables &sizes, WordPairs &pairs,
           int64_t color, Axis axis);

  /// The lines that are asked about from now on. Guards y == f(x) hold in all
  /// of them at the same positions.
  void look(std::vector<int64_t> lines);

  /// What PEs at the position send or receive, in program order; `heads` says
  /// which guards y == f(x) hold, as bits, the last f first.
  uint32_t usesAt(bool sends, uint64_t heads, int64_t position);

private:
  /// When an op moves words of the color, and how many; ops that are alike in
  /// this share one.
  struct Rule {
    const FabricOp *op = nullptr;
    const program::Operand *operand = nullptr;
    std::vector<int> conditions;   ///< guards, besides those of heads
    const AxisKinds *when[2] = {}; ///< kinds of columns and rows
    SizeTables::Table *size = nullptr;
    std::vector<signed char> runs; ///< by those kinds; -1: not known yet
    /// Numbers of counts, by kinds of positions; of the lines looked at.
    absl::flat_hash_map<std::pair<uint32_t, uint32_t>, uint32_t> counts;
  };
  struct Listed {
    size_t op = 0;
    Rule *rule = nullptr;
    uint64_t heads = 0, denied = 0; ///< that have to hold, and not to
  };

  void add(bool sends, size_t index);
  bool runsAt(Rule &rule, int64_t x, int64_t y);
  uint32_t countsOf(Rule &rule, int64_t position);

  const FabricRoutine &routine;
  const AxisScalars &scalars;
  const ColorOps &ops;
  SizeTables &sizes;
  WordPairs &pairs;
  const int64_t color;
  const Axis axis;
  ProofSteps &steps;
  std::vector<Listed> listed[2]; ///< receivers, senders
  std::map<std::vector<int64_t>, Rule> rules;
  const AxisKinds &kinds; ///< of positions
  std::vector<int64_t> lines;
  /// The numbers of uses by kind of position; by direction and heads.
  std::map<std::pair<bool, uint64_t>, std::vector<uint32_t>> known;
};

} // namespace wsec::runtime

#endif // RUNTIME_PROGRAM_PROOF_LINEUSES_H
