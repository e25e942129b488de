// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Choices between kernels that their own cost model decides.

#ifndef WSEC_COMPILER_SELECT_KERNELCHOICE_H
#define WSEC_COMPILER_SELECT_KERNELCHOICE_H

#include "compiler/kernels/Kernel.h"
#include "dialects/wse/Wse.h"

#include <limits>
#include <map>
#include <memory>
#include <tuple>

namespace wsec::select {

/// Bytes of a tensor in the fullest PE of a region; 0 of what is none.
int64_t bytesPerPE(mlir::Type tensor, const Machine &region);

/// Bytes of a PE that states take, which have the only region of a program.
int64_t bytesOfStates(wse::ProgramOp program, const Machine &region);

/// What a result that only leaves the wafer may take beside the input of its
/// kernel: half of the rest, which has to hold scratch and what else lives.
/// `code`: bytes of it; 0: not known.
int64_t roomForOutput(mlir::Value input, const Machine &region,
                      int64_t code = 0);

/// An offer as it is compared: of those that apply the least scratch that does
/// not fit, then the fewest cycles win.
struct Choice {
  const Offer *offer;
  int64_t missing; ///< bytes of scratch that do not fit beside the operands
  double cycles;

  bool operator<(const Choice &other) const {
    return std::tuple(!offer->applies(), missing, cycles) <
           std::tuple(!other.offer->applies(), other.missing, other.cycles);
  }
};

/// What scratch has to leave to others.
struct ScratchLimits {
  int64_t code = 0;           ///< bytes of a PE; 0: not known, a guess is left
  bool littleScratch = false; ///< no offer that is dear in SRAM (isDear)
  /// Bytes that kernels take at most, by `planNames`.
  std::map<std::string, int64_t> ofKernels = {};

  bool rulesOut(const Offer &offer) const {
    return littleScratch && offer.isDear();
  }
};

/// The cheapest of a kernel's offers, of those that take its first operand as
/// it lies, or as `input`. `others`: bytes of results that live meanwhile and
/// that it does not use, where the code is known. `unavoidable`: bytes that
/// another kernel needs anyway beside code, so that this one may, too.
Choice cheapestOffer(mlir::Operation *op, llvm::ArrayRef<Offer> offers,
                     const Machine &region, mlir::Type input = {},
                     ScratchLimits limits = {}, int64_t others = 0,
                     int64_t unavoidable = 0);

/// All that costs of a kernel can depend on: its name, types, attributes and
/// body; of constants their types, and no names, but where they are quantised,
/// as some are in a program that `packs`.
mlir::Attribute costKey(wse::KernelOp kernel, bool packs = true);

/// Whether any parameter is quantised.
bool packsWeights(wse::ProgramOp program);

/// Offers of kernels on one region: those of kernels that are alike are asked
/// for once.
class Offers {
public:
  explicit Offers(Machine region, bool packs = true)
      : region(std::move(region)), packs(packs) {}

  /// The offers of the kernel as it is; valid while this lives.
  llvm::ArrayRef<Offer> of(wse::KernelOp kernel);

private:
  const Machine region;
  const bool packs;
  llvm::DenseMap<mlir::Attribute, std::unique_ptr<llvm::SmallVector<Offer>>>
      known; // looked up only
};

/// Gives every kernel its cheapest variant, now that all values have their
/// types. With `fewColors` the cheapest whose streams, in each region, ask for
/// no more colors than there are, counted as if no two streams could share one.
void chooseVariants(wse::ProgramOp program, ScratchLimits limits,
                    bool fewColors);

/// Bytes of scratch where nothing limits it.
constexpr int64_t unlimited = std::numeric_limits<int64_t>::max();

/// For kernels that the limits name, and those of their regions that are alike,
/// the bytes that their scratch takes at most.
llvm::DenseMap<mlir::Operation *, int64_t>
roomForScratch(wse::ProgramOp program, const ScratchLimits &limits);

/// Leaves the offers whose scratch takes no more than the room, or the least
/// there is. Returns which of the two.
int64_t keepWithin(llvm::SmallVectorImpl<Offer> &offers, int64_t room);

/// For each kernel of the program's entries the bytes of results that live
/// while it runs, and that it neither uses nor makes, as they are on a region.
llvm::DenseMap<mlir::Operation *, int64_t> bytesBeside(wse::ProgramOp program,
                                                       const Machine &region);

} // namespace wsec::select

#endif // WSEC_COMPILER_SELECT_KERNELCHOICE_H
