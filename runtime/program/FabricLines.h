// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Who gives words to whom, for one routine: follows the routes of each color
// along representative rows and columns and pairs what is sent with what is
// received, word by word.
#ifndef RUNTIME_PROGRAM_FABRICLINES_H
#define RUNTIME_PROGRAM_FABRICLINES_H

#include "runtime/program/FabricUse.h"

#include <map>
#include <set>
#include <utility>
#include <vector>

namespace wsec::runtime {

/// Op `sender` gives words to op `receiver`, in some PEs.
struct Handover {
  size_t sender = 0, receiver = 0;
  program::Port direction = program::Port::East; ///< of a link
  bool link = false;  ///< to one PE, perhaps past others, not to several
  bool whole = false; ///< all of one are all of the other

  bool operator<(const Handover &other) const;
};

/// Words in order that one op gives to another.
struct Portion {
  size_t sender = 0;
  int64_t first = 0; ///< word of the sender's op
  int64_t words = 0;
  size_t receiver = 0;
};

/// What microthreads of PE (x, y) give to main threads, on one color; the same
/// in all PEs where these ops have the same sizes.
struct Relayed {
  int64_t x = 0, y = 0;
  std::vector<Portion> portions;
};

/// All that is paired in a routine.
struct Handovers {
  std::set<Handover> pairs;
  /// Ops of main threads that receive the same words.
  std::set<std::pair<size_t, size_t>> together;
  std::vector<Relayed> relayed;
  /// Ops that receive what enters at the west edge, by color.
  std::map<int64_t, std::set<size_t>> fromHost;
  /// The columns in which words that enter go up a ramp, as half-open ranges:
  /// by color and row.
  std::map<std::pair<int64_t, int64_t>,
           std::vector<std::pair<int64_t, int64_t>>>
      hostColumns;
};

/// Where an operand may be of a color.
struct OperandReach {
  bool anywhere = false;   ///< in a PE that the rules concern
  std::vector<bool> lines; ///< across which, if so
};

/// The rules of a color, by the axis that words pass them along: of `axis`, and
/// the others.
struct ColorRules {
  std::vector<const program::RouteRule *> mine, foreign;
  /// Rules that a row (or column) across the axis meets: indices of `mine`,
  /// then of `foreign`.
  std::vector<std::vector<uint32_t>> met;
  /// Columns whose PEs have the same settings, row by row; likewise rows.
  AxisKinds kindOfX, kindOfY;
  std::string problem; ///< why words cannot be followed, if so
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

/// Throws NotUnderstood where something does not fit: words without a route,
/// more or fewer words than are received, a color that turns.
Handovers findHandovers(const program::Program &program,
                        const FabricRoutine &routine,
                        const AxisScalars &scalars, RouteTable &routes);

} // namespace wsec::runtime

#endif // RUNTIME_PROGRAM_FABRICLINES_H
