// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which weights kernels could hold on the wafer, and in which variant.

#ifndef WSEC_COMPILER_SELECT_HELDWEIGHTS_H
#define WSEC_COMPILER_SELECT_HELDWEIGHTS_H

#include "compiler/select/KernelChoice.h"
#include "dialects/wse/Wse.h"

namespace wsec::select {

/// Whether `weight` is a view of a parameter that streams and does not train.
bool isStreamedConstant(wse::KernelOp kernel, wse::WeightAttr weight);

/// The offer of the kernel that holds most of its weights on a region of that
/// machine, of such the cheapest; with `fewColors` the variant it has, if that
/// is one of them: it was chosen with colors in mind.
Offer holdingOffer(wse::KernelOp kernel, const Machine &machine,
                   ScratchLimits limits = {}, bool fewColors = false);

/// Cycles of the kernel on a region of that machine if its weights stay.
double heldCycles(wse::ProgramOp program, wse::KernelOp kernel,
                  const Machine &machine);

/// Weights that a kernel holds.
struct HeldAmount {
  int64_t bytes = 0;    ///< of a PE
  int64_t elements = 0; ///< that are loaded, for all PEs
};

/// The weights that the kernel holds in a variant.
HeldAmount heldAmount(wse::KernelOp kernel, int variant,
                      const Machine &machine);

/// Bytes of all weights that kernels could hold on regions as large as that
/// machine, each weight once: what no placement of them goes below.
int64_t leastHeldBytes(wse::ProgramOp program, const Machine &machine);

/// While it lives the constants of some kernels count as resident, so that
/// kernels say what they cost then.
class AssumeResident {
public:
  AssumeResident(wse::ProgramOp program, llvm::ArrayRef<wse::KernelOp> kernels);
  ~AssumeResident();
  AssumeResident(const AssumeResident &) = delete;
  AssumeResident &operator=(const AssumeResident &) = delete;

private:
  wse::ParameterOp parameter; ///< that stands for all of them
  llvm::SmallVector<std::pair<wse::KernelOp, mlir::DictionaryAttr>> before;
};

} // namespace wsec::select

#endif // WSEC_COMPILER_SELECT_HELDWEIGHTS_H
