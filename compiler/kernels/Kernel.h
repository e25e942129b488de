// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The kernel library, asked by the phases that select, place, route, schedule
// and lower. One kernel per `wse` operation, one file per kernel, listed in
// CMakeLists.txt. A kernel says which operators of a model it computes and in
// what ways, which streams it opens and how much SRAM it borrows while it runs,
// and writes the code that every PE runs for it.

#ifndef COMPILER_KERNELS_KERNEL_H
#define COMPILER_KERNELS_KERNEL_H

#include "dialects/fabric/StreamPattern.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/LogicalResult.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace wsec::wse {
class ProgramOp;
} // namespace wsec::wse

namespace wsec {

struct Machine;
class RoutineBuilder;
class Selection;

namespace wse {
class WeightAttr;
} // namespace wse

using fabric::RowSet;
using fabric::StreamPattern;

/// One pattern that a kernel needs. `rows`, where it takes some: those that the
/// words must reach, or that they come from, in groups; else empty. The stream
/// is one of the kernel's region, or of the region `from`: `transfer` leads
/// from there to the kernel's. Two needs that compare equal share a stream, and
/// others may.
struct StreamNeed {
  StreamPattern pattern;
  RowSet rows;
  llvm::StringRef from = {};

  bool operator==(const StreamNeed &other) const {
    return pattern == other.pattern && rows == other.rows && from == other.from;
  }
};

/// One stream for two needs, which its sources serve alike; nothing: there is
/// none. Where it has more rows than a kernel asked for
/// (`RoutineBuilder::hears`), these take its words and drop them:
///
///   column of rows 0 1 2 3 4 5 and of 0 . 2 . 4 .     the first, for both
///   key_cast of 4 groups of 2 rows, and of 2 of 1     the first
///   key_cast of 4 groups of 2 rows, and of 2 of 4     none: row 2 sends in one
std::optional<StreamNeed> streamForBoth(const StreamNeed &a,
                                        const StreamNeed &b);
/// Rows (or columns) that hear words of `stream` where `need` is meant.
RowSet rowsThatHear(const StreamNeed &stream, const StreamNeed &need);

/// Cycles of one launch, seen by the busiest PE of its region. What is counted
/// by different members overlaps, except `serial`. Launches follow one another
/// closely: what a run waits for once, startCycles, is in none of them.
struct KernelCost {
  /// Vector instructions of the busiest PE.
  double compute = 0;
  /// Words the busiest channel carries from or to the host.
  double stream = 0;
  /// Words the busiest link carries, and the latency of the longest chain.
  double fabric = 0;
  /// What overlaps with nothing: chains and multicasts at the end.
  double serial = 0;
  /// No program on this region can be faster, whatever its variant.
  double lowerBound = 0;

  double total() const {
    return std::max(compute, std::max(stream, fabric)) + serial;
  }
  /// What is the longest: "compute", "stream", "fabric" or "serial".
  llvm::StringRef bound() const {
    if (serial > std::max(compute, std::max(stream, fabric)))
      return "serial";
    if (compute >= stream && compute >= fabric)
      return "compute";
    return stream >= fabric ? "stream" : "fabric";
  }
};

/// What one launch moves between the host and its region, on one color.
struct HostFlow {
  StreamPattern pattern; ///< channel, channel_row, out_exit, out_band
  int64_t words = 0;     ///< of the busiest channel, none has more
  /// When PEs take the first and the last of them, as shares of the launch;
  /// evenly in between.
  double firstUse = 0, lastUse = 1;
};

/// How a region keeps a weight so that a kernel reads it there, and the strides
/// of the weight over the elements of `type` in order; of one of several
/// entries, those of all of them.
struct HeldWeight {
  mlir::RankedTensorType type;
  llvm::SmallVector<int64_t, 2> strides;

  /// The tensor of these strides, where a kernel reads `weight`.
  wse::WeightAttr all(mlir::Operation *kernel, wse::WeightAttr weight) const;
};

/// Whether a kernel computes an operator of the model.
struct Match {
  enum Answer {
    No,      ///< another kernel may
    Yes,     ///< it builds itself for it
    Refused, ///< it computes such operators, but not this one
  };
  Answer answer = No;
  std::string refusal; ///< why, and what to change

  static Match when(bool matches) { return {matches ? Yes : No, {}}; }
  static Match refused(std::string why) { return {Refused, std::move(why)}; }
};

/// A way to run an operation on a region, and what it takes there.
struct Offer {
  int variant = 0; ///< of the kernel
  /// The type, and so the distribution, that its first operand has to be in
  /// before; null: as it lies.
  mlir::Type input = {};
  KernelCost cost;
  int64_t scratchBytes = 0;
  /// Whether it holds weights on the wafer, for which it needs much scratch
  /// that others do without.
  bool keepsWeights = false;
  /// Whether it has code of its own where another offer shares that of kernels
  /// of its kind.
  bool addsCode = false;
  /// Whether it has a color that it could do without, and is left out where
  /// streams ask for more than there are, unless other kernels ask for it too.
  bool addsColor = false;

  /// A variant that does not apply to an operation costs infinitely much.
  bool applies() const { return std::isfinite(cost.total()); }
  /// Whether a program that did not fit does without it.
  bool isDear() const { return keepsWeights || addsCode; }
};

/// Words that come on a stream of the first pattern go on, as they arrive, on
/// one of the second.
using Relay = std::pair<StreamPattern, StreamPattern>;

/// How one operation of the wse dialect runs on its region. Kernels are
/// stateless and live as long as the process. The machine they are given is
/// their region: its columns, rows and channels (Machine::region()).
class Kernel {
public:
  virtual ~Kernel() = default;

  /// The operation it runs, such as "wse.matmul".
  virtual llvm::StringRef opName() const = 0;

  //===------------------------------------------------------------------===//
  // What becomes of a model
  //===------------------------------------------------------------------===//

  /// Whether it computes `op` of the onnx dialect. No two kernels compute the
  /// same operator; those that only move values compute none.
  virtual Match match(mlir::Operation *op, const Selection &selection) const;
  /// Brings the operands where it needs them and creates itself. The result on
  /// the wafer; null if only the store holds it, or if it was refused.
  virtual mlir::Value build(mlir::Operation *op, Selection &selection) const;

  /// The ways in which it can run `op` on the region, of which one is the way
  /// it runs now. Of equal ones the first is taken.
  virtual llvm::SmallVector<Offer> offers(mlir::Operation *op,
                                          const Machine &machine) const;
  virtual int variantOf(mlir::Operation *) const { return 0; }
  /// Makes it run in that variant from now on.
  virtual void take(mlir::Operation *, int) const {}
  /// Whether a head may not be spread over several columns.
  virtual bool needsWholeHeads(mlir::Operation *) const { return false; }
  /// How a resident `weight` of the operation must lie; nothing: that variant
  /// streams it.
  virtual std::optional<HeldWeight>
  held(mlir::Operation *, int, wse::WeightAttr, const Machine &) const;
  /// What a variant is called; empty: there is one.
  virtual llvm::StringRef variantName(int) const { return {}; }

  /// Makes one operation of several of its own that have the same operand, in
  /// the place of the first, where their weights stay and all are faster so.
  virtual bool join(llvm::ArrayRef<mlir::Operation *>, const Machine &) const {
    return false;
  }

  /// Whether results that only leave the wafer may do so piece by piece.
  virtual bool leavesInPieces() const { return false; }
  /// Whether it is only there to move values between the host and the wafer,
  /// with no node of the model behind it.
  virtual bool onlyMoves() const { return false; }

  //===------------------------------------------------------------------===//
  // What it takes to run
  //===------------------------------------------------------------------===//

  /// Cycles of one launch. Needs nothing but types and attributes, so that the
  /// selection can ask before placement.
  virtual KernelCost cost(mlir::Operation *op,
                          const Machine &machine) const = 0;

  /// The route patterns it opens, in a fixed order without repetition.
  /// `channel` and `column` are listed together wherever words come from the
  /// host; `launch` belongs to the program and is never listed.
  virtual llvm::SmallVector<StreamNeed>
  streams(mlir::Operation *op, const Machine &machine) const = 0;
  /// Route patterns that it would open in another variant.
  virtual llvm::SmallVector<StreamNeed>
  streamsIn(mlir::Operation *op, int, const Machine &machine) const {
    return streams(op, machine);
  }
  /// Where it forwards words while they arrive. What waits for a whole message
  /// before it sends (the sum of a row that column 0 casts back, say) relays
  /// too: it is one more link of the same chain.
  virtual llvm::SmallVector<Relay> relays() const { return {}; }

  /// What it moves from and to the host, by color; nothing if that is nothing.
  virtual llvm::SmallVector<HostFlow> flows(mlir::Operation *op,
                                            const Machine &machine) const = 0;
  /// Words of a launch that a row of another region sends to its region, at
  /// most; 0 if none come from there.
  virtual int64_t wordsBetween(mlir::Operation *, const Machine &) const {
    return 0;
  }
  /// The output or intermediate that it stores its words in, and its type.
  virtual std::optional<std::pair<mlir::StringAttr, mlir::RankedTensorType>>
  stored(mlir::Operation *) const {
    return std::nullopt;
  }
  /// Whether an attribute says where in the store its words come from or go,
  /// which no code depends on.
  virtual bool isPlace(mlir::NamedAttribute) const { return false; }
  /// Whether what it writes takes the place of what was there, so that it comes
  /// after whoever reads that.
  virtual bool replaces() const { return false; }

  /// Bytes of SRAM it borrows while it runs, beyond operands and results.
  virtual int64_t scratchBytes(mlir::Operation *op,
                               const Machine &machine) const = 0;
  /// Whether it may write its result over operand number `index`.
  virtual bool mayOverwrite(mlir::Operation *, unsigned) const { return false; }

  //===------------------------------------------------------------------===//
  // What it becomes
  //===------------------------------------------------------------------===//

  /// Writes the routine that every PE runs and the host streams it feeds on.
  /// Asked for each region that takes part: the kernel's, and before it those
  /// of operands that lie in others.
  virtual llvm::LogicalResult lower(mlir::Operation *op,
                                    RoutineBuilder &builder) const = 0;
  /// The tensor whose words it moves as they are; null: it computes with f32.
  virtual mlir::Value moved(mlir::Operation *op) const;
};

/// What a wse.redistribute of `repeat` would take from one type to another.
KernelCost redistributeCost(mlir::RankedTensorType from,
                            mlir::RankedTensorType to, int64_t repeat,
                            const Machine &machine);

/// Until the first launch can begin: its command reaches the last PE, and if
/// `streams` it uses words of the host, these come from the store.
double startCycles(const Machine &machine, bool streams);

/// All kernels, in the order of the list in CMakeLists.txt.
llvm::ArrayRef<const Kernel *> allKernels();

/// The program, or another in its place, with tokens that lie along the rows
/// between products where that takes fewer cycles, and weights that stay have
/// `room` bytes.
wse::ProgramOp layAlongRows(wse::ProgramOp program, const Machine &machine,
                            int64_t room);

/// What constraints of a plan call the kernels of a program: by operation,
/// nodes, and the how many-th of these it is: "matmul head/MatMul 0".
std::vector<std::string> planNames(wse::ProgramOp program);

/// The kernel that runs `op`, or null if `op` is no kernel of the wse dialect.
const Kernel *findKernel(mlir::Operation *op);

} // namespace wsec

#endif // COMPILER_KERNELS_KERNEL_H
