// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The ops of a routine that may use a color, and where.
#ifndef RUNTIME_PROGRAM_PROOF_COLOROPS_H
#define RUNTIME_PROGRAM_PROOF_COLOROPS_H

#include "runtime/program/proof/RouteTable.h"

#include <map>
#include <set>
#include <utility>
#include <vector>

namespace wsec::runtime {

/// Operations whose words of the color pass along one axis, as far as scalars
/// tell; too many rather than too few.
class ColorOps {
public:
  /// What one operand moves in a PE.
  struct Moved {
    size_t op = 0;
    int64_t words = 0;
  };

  using Axis = AxisScalars::Axis;

  ColorOps(const FabricRoutine &routine, const AxisScalars &scalars,
           ColorRules &routes, int64_t color, Axis axis)
      : routine(routine), scalars(scalars), routes(routes), color(color),
        cross(axis == Axis::X ? Axis::Y : Axis::X), steps(scalars.steps) {}

  /// Fills the lists below.
  void collect();

  /// Whether the operand may be of the color, in some PE.
  bool mayUse(const FabricOp &op, const program::Operand &operand) const;

  /// What PE (x, y) sends or receives of the color, in program order.
  std::vector<Moved> usesAt(bool sends, int64_t x, int64_t y) const;
  /// Positions that agree in settings and in all scalars that matter; once
  /// collected.
  AxisKinds classify(Axis which) const;

  std::vector<size_t> senders, receivers;
  /// Lines in which one of them may use the color.
  std::vector<bool> lines;
  std::set<int> atoms;     ///< all that they depend on
  std::set<int> sizeAtoms; ///< those that numbers of words depend on
  std::set<int> pinned;    ///< f of guards y == f(x)

private:
  void add(size_t index, const program::Operand &operand,
           std::vector<size_t> &list);
  const std::vector<bool> &feasible(const FabricOp &op,
                                    const program::Operand &operand,
                                    Axis which) const;
  std::vector<bool> findFeasible(const FabricOp &op,
                                 const program::Operand &operand,
                                 Axis which) const;
  const OperandReach &reachOf(const FabricOp &op,
                              const program::Operand &operand);
  bool concerns(const FabricOp &op, const program::Operand &operand) const;
  std::vector<bool> linesOf(const FabricOp &op,
                            const program::Operand &operand) const;
  bool isExit(const program::RouteRule &rule) const;

  const FabricRoutine &routine;
  const AxisScalars &scalars;
  ColorRules &routes;
  const int64_t color;
  const Axis cross;
  ProofSteps &steps;
  std::map<std::pair<const program::Operand *, std::vector<int>>,
           const OperandReach *>
      reached;                           ///< the same in each turn of a loop
  std::set<const OperandReach *> merged; ///< into `lines`
};

} // namespace wsec::runtime

#endif // RUNTIME_PROGRAM_PROOF_COLOROPS_H
