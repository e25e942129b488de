// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// For the files that implement kernels: the typed base class, the arithmetic
// of costs, and how a kernel becomes one of the library.

#ifndef COMPILER_KERNELS_KERNELLIBRARY_H
#define COMPILER_KERNELS_KERNELLIBRARY_H

#include "compiler/kernels/Selection.h"
#include "compiler/kernels/code/RoutineBuilder.h"
#include "compiler/kernels/move/RowExchange.h"

namespace wsec {

#define WSEC_KERNEL(NAME) const Kernel *get##NAME##Kernel();
#include "compiler/kernels/Kernels.inc"
#undef WSEC_KERNEL

// Kernels write the operations of both dialects.
using pe::Affine;
using pe::Opcode;
using pe::Operand;

/// A kernel that gets its operation with its own type.
template <typename OpTy>
class KernelFor : public Kernel {
public:
  llvm::StringRef opName() const final { return OpTy::getOperationName(); }
  KernelCost cost(mlir::Operation *op, const Machine &machine) const final {
    return costOf(llvm::cast<OpTy>(op), machine);
  }
  llvm::SmallVector<StreamNeed> streams(mlir::Operation *op,
                                        const Machine &machine) const final {
    return streamsOf(llvm::cast<OpTy>(op), machine);
  }
  llvm::SmallVector<HostFlow> flows(mlir::Operation *op,
                                    const Machine &machine) const final {
    return flowsOf(llvm::cast<OpTy>(op), machine);
  }
  int64_t scratchBytes(mlir::Operation *op,
                       const Machine &machine) const final {
    return 4 * scratchWords(llvm::cast<OpTy>(op), machine);
  }
  bool mayOverwrite(mlir::Operation *op, unsigned index) const final {
    return mayOverwriteOf(llvm::cast<OpTy>(op), index);
  }
  llvm::LogicalResult lower(mlir::Operation *op,
                            RoutineBuilder &builder) const final {
    return lowerOp(llvm::cast<OpTy>(op), builder);
  }

protected:
  virtual KernelCost costOf(OpTy op, const Machine &machine) const = 0;
  virtual llvm::SmallVector<StreamNeed> streamsOf(OpTy, const Machine &) const {
    return {};
  }
  virtual llvm::SmallVector<HostFlow> flowsOf(OpTy, const Machine &) const {
    return {};
  }
  virtual int64_t scratchWords(OpTy, const Machine &) const { return 0; }
  virtual bool mayOverwriteOf(OpTy, unsigned) const { return false; }
  virtual llvm::LogicalResult lowerOp(OpTy op, RoutineBuilder &b) const = 0;
};

/// A kernel that computes all operators of one kind of the model, which it gets
/// with their own type.
template <typename OnnxOpTy, typename Base>
class KernelOf : public Base {
public:
  Match match(mlir::Operation *op, const Selection &) const final {
    return Match::when(llvm::isa<OnnxOpTy>(op));
  }
  mlir::Value build(mlir::Operation *op, Selection &selection) const final {
    return buildFor(llvm::cast<OnnxOpTy>(op), selection);
  }

protected:
  virtual mlir::Value buildFor(OnnxOpTy op, Selection &selection) const = 0;
};

/// Words of 32 bits that so many elements take.
inline int64_t wordsOf(mlir::Type element, int64_t elements) {
  return wse::wholeWords(elements * pe::elementBytes(element)) / 4;
}
inline mlir::Type elementTypeOf(mlir::Value tensor) {
  return llvm::cast<mlir::RankedTensorType>(tensor.getType()).getElementType();
}
/// Whether sums in the elements of a tensor would lose bits: they are made in
/// f32 beside it.
inline bool isNarrow(mlir::RankedTensorType tensor) {
  return pe::elementBytes(tensor.getElementType()) == 2;
}
inline bool isNarrow(mlir::Value tensor) {
  return isNarrow(llvm::cast<mlir::RankedTensorType>(tensor.getType()));
}

/// How the elements of these tensors pair up in words, if all do alike. Then
/// they move as such words: routes, relays and the proof of deadlock freedom
/// know nothing else.
Pairing pairingOf(llvm::ArrayRef<mlir::RankedTensorType> tensors,
                  const Machine &machine);
Pairing pairingOf(llvm::ArrayRef<mlir::Value> tensors, const Machine &machine);
/// The pairing of a tensor between the host and the wafer: the words of a
/// column meet those of no other, so that they may have tails.
Pairing hostPairingOf(mlir::Value tensor, const Machine &machine);
/// The layout of a tensor as it moves.
Layout layoutOf(mlir::RankedTensorType tensor, Pairing pairing,
                const Machine &machine);
Layout layoutOf(mlir::Value tensor, Pairing pairing, const Machine &machine);

/// Cycles of the parts kernels are made of, from the machine's parameters.
class CostModel {
public:
  /// Where tensors are `narrow`, products have factors of 16 bits, and sums of
  /// 32 but for `narrowSums`.
  explicit CostModel(const Machine &machine, bool narrow = false,
                     bool narrowSums = false)
      : machine(machine), narrow(narrow),
        fmacRate(narrowSums ? machine.fmacRate16
                 : narrow   ? machine.fmacRateMixed
                            : machine.fmacRate) {}

  /// One instruction that runs an inner vector of `length` elements `calls`
  /// times: descriptors are loaded once and kept.
  double nest(double calls, double length, double rate) const {
    return machine.vectorSetup + calls * (machine.mapOverhead + length / rate);
  }
  double copies(double calls, double length) const {
    return nest(calls, length, machine.copyRate);
  }
  double adds(double calls, double length) const {
    return nest(calls, length, machine.addRate);
  }
  double fmacs(double calls, double length) const {
    return nest(calls, length, fmacRate);
  }
  /// Multiply-adds of operands in memory over extents of these sizes, results
  /// summed along `summed` of them: a call for each vector along `inner`. Of
  /// factors of 16 bits `strides` are the larger ones along each extent.
  double product(llvm::ArrayRef<double> sizes, size_t summed, size_t inner,
                 llvm::ArrayRef<double> strides) const {
    double all = 1;
    for (double size : sizes)
      all *= size;
    double rate = fmacRate;
    if (narrow && machine.strideElements > 0 && strides[inner] > 1)
      rate = std::min(rate,
                      std::max(1.0, machine.strideElements / strides[inner]));
    if (inner == summed)
      rate = std::min(rate, machine.dotRate);
    return all == 0 ? 0 : all / sizes[inner] * machine.mapOverhead + all / rate;
  }
  /// The extent along which such vectors cost least.
  size_t vectorAlong(llvm::ArrayRef<double> sizes, size_t summed,
                     llvm::ArrayRef<double> strides) const {
    size_t best = 0;
    for (size_t inner = 1; inner < sizes.size(); ++inner)
      if (product(sizes, summed, inner, strides) <
          product(sizes, summed, best, strides))
        best = inner;
    return best;
  }
  /// Multiply-adds with each of `words` of the fabric as they arrive, over the
  /// channels of a PE.
  double streamedFmacs(double words, double channels) const {
    return machine.vectorSetup +
           words * ((channels > 1 ? machine.mapOverhead : 0) +
                    channels / machine.fmacRate);
  }
  /// What each instruction costs besides where some PEs have nothing to do.
  double guard(const Layout &layout) const {
    return layout.inAllRows(machine.height) &&
                   layout.features.everywhere(machine.width)
               ? 0
               : machine.loadCycles + machine.branchNotTaken;
  }
  double functions(double elements) const {
    return machine.vectorSetup + elements * machine.functionCycles;
  }
  double divides(double elements) const {
    return machine.vectorSetup + elements * machine.divideCycles;
  }

  /// For lower bounds: results at full rate, nothing lost between vectors.
  double leastAdds(double elements) const {
    return elements / (narrow ? machine.addRate16 : machine.addRate);
  }
  double leastFmacs(double elements) const { return elements / fmacRate; }
  /// Until a word of the farthest of `pes` PEs in a line counts at all of them.
  double leastAcross(double pes) const {
    return pes > 1 ? (pes - 1) * machine.hopCycles + 2 * machine.rampCycles : 0;
  }

  /// Cycles in which the channels feed the columns, if each gets `words` per
  /// feature it holds, for the rows of `layout`. Columns are waited for
  /// `eastward` cycles longer the further east they are: what the others wait
  /// then anyway does not count. A PE works `perWord` cycles on each of its
  /// words. Without `echoes` no injector hears what it relays.
  double channelCycles(const Layout &layout, const FeatureTiling &tiling,
                       double words, double eastward = 0, double perWord = 0,
                       bool echoes = true) const {
    const RowSet rows = echoes ? layout.rows(machine.height) : RowSet();
    double most = 0;
    for (ChannelPosition channel : machine.westChannels()) {
      double cycles = 0;
      for (const auto &[features, columns] :
           tiling.sizes(channel.begin, channel.end, machine.width))
        cycles += double(columns) *
                  feedCycles(features, rows.contains(channel.row), perWord);
      most = std::max(most, words * cycles -
                                eastward * (machine.width - channel.end));
    }
    return most;
  }
  /// `words` for each feature that a column holds.
  HostFlow columnFlow(const FeatureTiling &tiling, int64_t words,
                      double firstUse = 0, double lastUse = 1) const {
    int64_t most = 0;
    for (ChannelPosition channel : machine.westChannels())
      most = std::max(most, tiling.before(channel.end, machine.width) -
                                tiling.before(channel.begin, machine.width));
    return {StreamPattern::Channel, most * words, firstUse, lastUse};
  }
  /// Latency of a chain of receive-add-forward along `pes` PEs, and of a
  /// multicast back; `words` words each.
  double chain(double pes, double words) const {
    return (pes - 1) * (machine.hopCycles + 2 * machine.rampCycles + 1) + words;
  }
  double multicast(double pes, double words) const {
    return pes * machine.hopCycles + words + 2 * machine.rampCycles;
  }
  /// Cycles of `words` words that each PE of a row takes in a chain and then in
  /// the multicast of what becomes of them, `back` words, without the latency
  /// of either. Both come over its ramp, in turns once the first are back.
  double thereAndBack(double words, double back) const {
    return words + std::max(0.0, back - chain(2, 0));
  }
  double thereAndBack(double words) const { return thereAndBack(words, words); }

private:
  /// Cycles of `words` words in a row for one column. The injector sees each
  /// twice on its ramp: from the channel, and as it comes by in the column. Of
  /// two in turn neither is held up by the last's echo, which falls into the
  /// words of the next column; a word alone loses its turn as often as not.
  /// Injectors in rows without tokens see no echo. More words than queue up
  /// come as fast as they are used.
  double feedCycles(int64_t words, bool echo, double perWord) const {
    const double all = double(words);
    const double queued =
        machine.routerBufferWords + machine.inputQueueWords.back();
    return std::max(echo ? std::max(1.5 * all, 2 * all - 1) : all,
                    perWord * (all - queued));
  }

  const Machine &machine;
  const bool narrow;
  const double fmacRate;
};

/// The constants, of those that are one per feature, that stream: the others
/// are resident.
llvm::SmallVector<wse::WeightAttr, 2>
streamedVectors(mlir::Operation *op, llvm::ArrayRef<wse::WeightAttr> vectors);

/// How such constants of the features of `tensor` are resident: in every row.
HeldWeight heldVector(mlir::Value tensor, wse::WeightAttr vector,
                      const Machine &machine);

/// Ends the file of each kernel that CMakeLists.txt lists.
#define WSEC_DEFINE_KERNEL(NAME)                                               \
  const Kernel *get##NAME##Kernel() {                                          \
    static const NAME kernel;                                                  \
    return &kernel;                                                            \
  }

} // namespace wsec

#endif // COMPILER_KERNELS_KERNELLIBRARY_H
