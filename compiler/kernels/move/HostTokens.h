// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A tensor whose words the host sends: all tokens of a column pass all its PEs,
// each keeps a window of its own.

#ifndef COMPILER_KERNELS_MOVE_HOSTTOKENS_H
#define COMPILER_KERNELS_MOVE_HOSTTOKENS_H

#include "compiler/kernels/KernelLibrary.h"

namespace wsec {

KernelCost hostTokensCost(const Layout &layout, const Machine &machine);
llvm::SmallVector<HostFlow> hostTokensFlows(const Layout &layout,
                                            const Machine &machine);

/// Whether parameters that stay in the region of `op` are filled by a stream
/// that passes all its rows: words for some rows then come on that, too, and
/// take no colors of their own.
bool sharesFills(mlir::Operation *op);

/// From the host into the rows with tokens, or all.
llvm::SmallVector<StreamNeed>
hostTokensStreams(const Layout &layout, const Machine &machine, bool inAllRows);

/// A kernel that only brings such a tensor.
template <typename OpTy>
class HostTokensKernel : public KernelFor<OpTy> {
protected:
  /// The layout of the words that come.
  virtual Layout wordLayout(OpTy op, const Machine &machine) const = 0;
  virtual bool inAllRows(OpTy op) const { return sharesFills(op); }

  llvm::SmallVector<Relay> relays() const final { return columnRelays(); }
  KernelCost costOf(OpTy op, const Machine &machine) const final {
    return hostTokensCost(wordLayout(op, machine), machine);
  }
  llvm::SmallVector<StreamNeed> streamsOf(OpTy op,
                                          const Machine &machine) const final {
    return hostTokensStreams(wordLayout(op, machine), machine, inAllRows(op));
  }
  llvm::SmallVector<HostFlow> flowsOf(OpTy op,
                                      const Machine &machine) const final {
    return hostTokensFlows(wordLayout(op, machine), machine);
  }
};

/// How a parameter that stays comes, and lies: its elements of 16 bits two to a
/// word, of neighbouring tokens where all rows have as many and an even number,
/// else of neighbouring features.
struct HeldWords {
  Pairing pairing = Pairing::None;
  Layout layout; ///< of the words
};
HeldWords heldWords(mlir::RankedTensorType type, const Machine &machine);

/// Keeps the own tokens of a stream that lists all of them, features inside,
/// and passes the rows with tokens, or all.
void keepOwnTokens(RoutineBuilder &builder, const Tile &out,
                   bool inAllRows = false);

/// Streams the elements of `type` from `source` at `offset`, with these strides
/// or, without, in its own order; each PE keeps its own in `out`, which is of
/// words of two elements if they pair up.
llvm::LogicalResult
bringTokens(RoutineBuilder &builder, mlir::Attribute source,
            mlir::RankedTensorType type, const Tile &out, int64_t offset = 0,
            std::optional<llvm::ArrayRef<int64_t>> given = {},
            bool inAllRows = false, Pairing pairing = Pairing::None);

} // namespace wsec

#endif // COMPILER_KERNELS_MOVE_HOSTTOKENS_H
