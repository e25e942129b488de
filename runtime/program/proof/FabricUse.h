// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the code of a class does to the fabric, as functions of x and y whose
// parts are evaluated along one axis at a time.
#ifndef RUNTIME_PROGRAM_PROOF_FABRICUSE_H
#define RUNTIME_PROGRAM_PROOF_FABRICUSE_H

#include "runtime/program/Scalars.h"
#include "runtime/program/proof/AxisKinds.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace wsec::runtime {

/// Thrown where the proof does not understand a program.
struct NotUnderstood {
  std::string reason;
};

/// Runs `body`; what it does not understand begins with what `where` returns.
template <typename Where, typename Body>
void within(Where where, Body body) {
  try {
    body();
  } catch (const NotUnderstood &problem) {
    throw NotUnderstood{where() + ": " + problem.reason};
  }
}

/// The work of a proof. One that takes too much is given up, so that no file
/// keeps its reader busy.
class ProofSteps {
public:
  static constexpr int64_t usual = int64_t(1) << 28;

  explicit ProofSteps(int64_t most = usual) : most(most) {}

  void operator+=(int64_t more) {
    count += more;
    if (count > most)
      throw NotUnderstood{"a proof of more than " + std::to_string(most) +
                          " steps"};
  }
  void operator++() { *this += 1; }
  int64_t taken() const { return count; }

private:
  const int64_t most;
  int64_t count = 0;
};

/// A loop around an instruction, and which of its turns this is.
struct LoopTurn {
  const program::Affine *count = nullptr;
  int64_t turn = 0;
};
/// A branch around an instruction: whether it is taken where the condition is
/// not zero, or is.
struct BranchArm {
  const program::Affine *condition = nullptr;
  bool then = true;
};
/// By depth of the loop; and all branches.
struct LoopTurns : std::vector<LoopTurn> {
  std::vector<BranchArm> arms;
};

/// An instruction or control wavelet that touches the fabric, or acts on tasks,
/// in one turn of each loop around it.
struct FabricOp {
  size_t statement = 0; ///< of its routine, in program order
  LoopTurns turns;
  const program::Instruction *instruction = nullptr;
  const program::SendControl *control = nullptr; ///< instead
  const program::Operand *in = nullptr, *out = nullptr;
  /// Over all PEs; not if everything was read.
  std::set<int64_t> inColors, outColors;
  std::vector<int> guards;

  int thread() const { return instruction ? instruction->thread() : -1; }
  bool main() const { return thread() < 0; }
  /// Sends a word for each that it receives.
  bool oneForOne() const;
};

/// What happens next in the main thread: an op begins or is issued, an await of
/// microthreads, or a task is set.
struct FabricEvent {
  size_t op = 0;        ///< if there is nothing else
  unsigned awaits = 0;  ///< bit set of microthreads
  LoopTurns turns = {}; ///< of an await or task
  std::vector<int> guards = {};
  const program::SetTask *set = nullptr;
};

/// The scalars of a class or stream, by column and by row. Each is evaluated
/// when it is first asked for.
class AxisScalars {
public:
  enum Axis { X = 1, Y = 2 };

  /// At the positions of the given rectangles; without any, of the whole mesh.
  AxisScalars(const ScalarList *nodes, const std::vector<program::Rect> &rects,
              int64_t width, int64_t height, ProofSteps &steps);

  /// The axes that a node depends on.
  int axes(int node) const { return nodeAxes[size_t(node)]; }
  int axes(const program::Affine &affine) const;
  /// A node that depends on no other axis than `axis`, at a position on it that
  /// the rectangles have.
  int64_t along(int node, Axis axis, int64_t position) const {
    if (axes(node) == 0)
      return constants[size_t(node)];
    return valuesAlong(node, axis)[size_t(position)];
  }
  int64_t value(int node, int64_t x, int64_t y) const;
  int64_t value(const program::Affine &affine, int64_t x, int64_t y,
                const LoopTurns &turns = {}) const;

  /// The largest nodes below `node` that depend on one axis only.
  void atoms(int node, std::set<int> &result) const;
  void atoms(const program::Affine &affine, std::set<int> &result) const;
  /// The atoms of all that decides whether a turn is run.
  void atoms(const LoopTurns &turns, std::set<int> &result) const;

  /// Whether the rectangles have this position, and the first and last they
  /// have.
  bool has(Axis axis, int64_t position) const {
    return known(axis)[size_t(position)];
  }
  int64_t first(Axis axis) const {
    return std::find(known(axis).begin(), known(axis).end(), true) -
           known(axis).begin();
  }
  int64_t last(Axis axis) const {
    return known(axis).rend() -
           std::find(known(axis).rbegin(), known(axis).rend(), true) - 1;
  }

  /// Positions of an axis that agree in all those of the nodes that depend on
  /// this axis alone. Those outside of the rectangles are of kinds of their
  /// own.
  const AxisKinds &kinds(const std::set<int> &nodes, Axis axis) const;
  /// Rows y == f(x) of some column x.
  const std::vector<bool> &headRows(int f) const;

  /// All values over the mesh of a function that depends on one axis at most.
  const std::set<int64_t> &values(const program::Affine &affine) const;
  /// f, if the node says y == f(x); else -1.
  int pinnedRow(int node) const;
  /// Appends what has to hold for a guard, one by one where it depends on both
  /// axes.
  void appendConditions(int guard, std::vector<int> &conditions) const;
  /// y == f(x), if the condition says that this does not hold; else -1.
  int deniedHead(int condition) const;

  int64_t length(Axis axis) const { return int64_t(known(axis).size()); }
  ProofSteps &steps;

private:
  using Values = std::vector<int64_t>; ///< by position

  const std::vector<bool> &known(Axis axis) const {
    return axis == X ? columns : rows;
  }
  const Values &valuesAlong(int node, Axis axis) const {
    const Values &values = byNode[axis == X ? 0 : 1][size_t(node)];
    return values.empty() ? evaluateAlong(node, axis) : values;
  }
  const Values &evaluateAlong(int node, Axis axis) const;
  void evaluateOne(int node, Axis axis) const;
  /// The nodes that a node depends on, and itself, as far as they depend on
  /// both axes; operands first.
  const std::vector<int> &mixedBelow(int node) const;

  const ScalarList *nodes;
  std::vector<int> nodeAxes;
  std::vector<bool> columns, rows; ///< whether the rectangles have them
  std::vector<int64_t> constants;
  mutable std::vector<Values> byNode[2]; ///< by axis and node; empty: not yet
  mutable std::map<int, std::vector<int>> knownMixed;
  /// Values of nodes that depend on both axes, where one was asked for
  /// last, if `visits` says that they are of this visit.
  mutable Values mixedValues;
  mutable std::vector<int64_t> visits; ///< by node
  mutable int64_t visit = 0, visitedX = -1, visitedY = -1;
  mutable std::map<std::pair<int, std::vector<int>>, AxisKinds> knownKinds;
  mutable std::map<int, std::vector<bool>> knownHeads;
  mutable std::map<std::vector<int64_t>, std::set<int64_t>> knownValues;
};

/// Positions of a rectangle on an axis: begin, begin + step, ... below end.
struct Span {
  int begin, end, step;

  bool has(int64_t position) const {
    return position >= begin && position < end &&
           (step == 1 || (position - begin) % step == 0);
  }
};
Span spanOf(const program::Rect &rect, AxisScalars::Axis axis);

/// One routine of a class with its loops unrolled.
struct FabricRoutine {
  uint32_t id = 0;
  bool isTask = false; ///< then `id` is its index in the class
  std::vector<FabricOp> ops;
  std::vector<FabricEvent> events;
  /// The first event of each of several launches, one after the other.
  std::vector<size_t> launches;
};
using StatementList =
    flatbuffers::Vector<flatbuffers::Offset<program::Statement>>;
/// Reads routine `id`, or a task. Unless `everything`, what acts on tasks and
/// switches, and wavelets of two elements are not understood.
FabricRoutine readRoutine(const StatementList &body, uint32_t id,
                          const AxisScalars &scalars, bool everything);
/// What each PE does in launches one after the other; null: nothing.
FabricRoutine readLaunches(const std::vector<const StatementList *> &bodies,
                           const AxisScalars &scalars);
/// All of a routine that a proof depends on. Routines of a class whose
/// signatures are equal do the same to the fabric.
std::vector<int64_t> signatureOf(const FabricRoutine &routine);
/// Appends a function to a signature; and what decides whether an op runs.
void sign(const program::Affine *affine, std::vector<int64_t> &signature);
void sign(const std::vector<int> &guards, const LoopTurns &turns,
          std::vector<int64_t> &signature);

/// a * b words, both at least 0. Words are added up over ops and PEs: what no
/// run could send is not understood.
int64_t countable(int64_t a, int64_t b);

/// Whether guards hold and loops get so far in PE (x, y).
bool runsAt(const std::vector<int> &guards, const LoopTurns &turns,
            const AxisScalars &scalars, int64_t x, int64_t y);

/// Words a fabric operand of the op moves in a PE.
int64_t wordsOf(const FabricOp &op, const program::Operand &operand,
                const AxisScalars &scalars, int64_t x, int64_t y);
/// The affine functions that this depends on.
std::vector<const program::Affine *> sizesOf(const FabricOp &op,
                                             const program::Operand &operand);

} // namespace wsec::runtime

#endif // RUNTIME_PROGRAM_PROOF_FABRICUSE_H
