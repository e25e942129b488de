// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The rules of routes by color and axis, and what PEs agree in them.
#ifndef RUNTIME_PROGRAM_PROOF_ROUTETABLE_H
#define RUNTIME_PROGRAM_PROOF_ROUTETABLE_H

#include "runtime/program/proof/FabricUse.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace wsec::runtime {

/// Where an operand may be of a color.
struct OperandReach {
  bool anywhere = false;   ///< in a PE that the rules concern
  std::vector<bool> lines; ///< across which, if so
};

/// The rules of a color, by the axis that words pass them along: of `axis`, and
/// the others. Where some rule turns all are of both.
struct ColorRules {
  std::vector<const program::RouteRule *> mine, foreign;
  /// Rules that a row (or column) across the axis meets: indices of `mine`,
  /// then of `foreign`.
  std::vector<std::vector<uint32_t>> met;
  /// Columns whose PEs have the same settings, row by row; likewise rows.
  AxisKinds kindOfX, kindOfY;
  std::string problem; ///< why words cannot be followed, if so
  bool turn = false;   ///< whether some rule does
  bool enters = false; ///< from the west edge, by some rule
  /// What was found out for operands, by signature.
  std::map<std::vector<int64_t>, OperandReach> reach;
  std::map<std::vector<int64_t>, std::vector<bool>> feasible;

  bool empty() const { return mine.empty() && foreign.empty(); }
};

/// The rules of all colors, sorted once for all routines.
class RouteTable {
public:
  RouteTable(const program::Program &program, ProofSteps &steps)
      : program(program), steps(steps) {}
  ColorRules &of(int64_t color, AxisScalars::Axis axis);

private:
  void sort(ColorRules &rules, int64_t color, AxisScalars::Axis axis) const;
  AxisKinds kindsOf(const ColorRules &rules, AxisScalars::Axis which) const;

  const program::Program &program;
  ProofSteps &steps;
  std::map<std::pair<int64_t, int>, ColorRules> known;
};

} // namespace wsec::runtime

#endif // RUNTIME_PROGRAM_PROOF_ROUTETABLE_H
