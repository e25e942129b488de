// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/kernels/Kernel.h"

#include "compiler/kernels/KernelLibrary.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/JSON.h"

namespace wsec {

llvm::ArrayRef<const Kernel *> allKernels() {
  static const Kernel *const kernels[] = {
#define WSEC_KERNEL(NAME) get##NAME##Kernel(),
#include "compiler/kernels/Kernels.inc"
#undef WSEC_KERNEL
  };
  return kernels;
}

std::vector<std::string> planNames(wse::ProgramOp program) {
  std::vector<std::string> names;
  llvm::StringMap<int> count;
  for (wse::KernelOp kernel : program.kernels()) {
    std::string name = kernel->getName().stripDialect().str() + " " +
                       kernel.getReportName() + " ";
    std::replace(name.begin(), name.end(), ',', ';'); // as text a list has them
    name = llvm::json::fixUTF8(name);                 // as placements have them
    names.push_back(name + std::to_string(count[name]++));
  }
  return names;
}

const Kernel *findKernel(mlir::Operation *op) {
  const llvm::StringRef name = op->getName().getStringRef();
  for (const Kernel *kernel : allKernels())
    if (kernel->opName() == name)
      return kernel;
  return nullptr;
}

Match Kernel::match(mlir::Operation *, const Selection &) const { return {}; }

mlir::Value Kernel::build(mlir::Operation *, Selection &) const {
  llvm_unreachable("a kernel that matches operators builds itself for them");
}

llvm::SmallVector<Offer> Kernel::offers(mlir::Operation *op,
                                        const Machine &machine) const {
  Offer only;
  only.cost = cost(op, machine);
  only.scratchBytes = scratchBytes(op, machine);
  return {only};
}

Pairing pairingOf(llvm::ArrayRef<mlir::RankedTensorType> tensors,
                  const Machine &machine) {
  for (Pairing along : {Pairing::Channels, Pairing::Features})
    if (llvm::all_of(tensors, [&](mlir::RankedTensorType type) {
          if (!isNarrow(type) || type.getRank() < 2)
            return false;
          // Neighbouring tokens are neighbours in the model's tensor, too.
          const bool whole = along == Pairing::Features ||
                             type.getDimSize(type.getRank() - 2) % 2 == 0;
          return whole && Layout::of(type, machine.height)
                              .inPairs(along, machine.width, machine.height);
        }))
      return along;
  return Pairing::None;
}

Pairing pairingOf(llvm::ArrayRef<mlir::Value> tensors, const Machine &machine) {
  return pairingOf(
      llvm::map_to_vector(tensors,
                          [](mlir::Value tensor) {
                            return llvm::cast<mlir::RankedTensorType>(
                                tensor.getType());
                          }),
      machine);
}

Pairing hostPairingOf(mlir::Value tensor, const Machine &machine) {
  const Pairing pairing = pairingOf(tensor, machine);
  const bool tails =
      pairing == Pairing::None && isNarrow(tensor) &&
      Layout::of(tensor, machine.height)
          .inPairs(Pairing::Tails, machine.width, machine.height);
  return tails ? Pairing::Tails : pairing;
}

Layout layoutOf(mlir::RankedTensorType tensor, Pairing pairing,
                const Machine &machine) {
  Layout layout = Layout::of(tensor, machine.height);
  return pairing == Pairing::None
             ? layout
             : *layout.inPairs(pairing, machine.width, machine.height);
}

Layout layoutOf(mlir::Value tensor, Pairing pairing, const Machine &machine) {
  return layoutOf(llvm::cast<mlir::RankedTensorType>(tensor.getType()), pairing,
                  machine);
}

wse::WeightAttr HeldWeight::all(mlir::Operation *kernel,
                                wse::WeightAttr weight) const {
  auto entry = kernel->getAttrOfType<wse::EntryAttr>("entry");
  return entry && strides.size() > size_t(weight.getType().getRank())
             ? weight.entries(entry)
             : weight;
}

std::optional<HeldWeight> Kernel::held(mlir::Operation *, int, wse::WeightAttr,
                                       const Machine &) const {
  return std::nullopt;
}

mlir::Value Kernel::moved(mlir::Operation *) const { return {}; }

std::optional<StreamNeed> streamForBoth(const StreamNeed &a,
                                        const StreamNeed &b) {
  if (a == b)
    return a;
  if (a.pattern != b.pattern || a.from != b.from)
    return std::nullopt;
  StreamNeed both = a;
  if (a.pattern.isFromInjectors()) {
    const int64_t end = std::max(a.rows.end(), b.rows.end());
    both.rows = a.rows.cover(b.rows)   ? a.rows
                : b.rows.cover(a.rows) ? b.rows
                                       : RowSet{1, end, end};
    return both;
  }
  // Whoever hears words along columns has a use for them.
  if (a.pattern.members != fabric::Members::Groups ||
      a.rows.pitch != b.rows.pitch ||
      (a.pattern.groupsColumns() && a.rows.used != b.rows.used))
    return std::nullopt;
  both.rows.groups = std::max(a.rows.groups, b.rows.groups);
  both.rows.used = std::max(a.rows.used, b.rows.used);
  return both;
}

RowSet rowsThatHear(const StreamNeed &stream, const StreamNeed &need) {
  // Of other groups nobody sends.
  return stream.pattern.isFromInjectors()
             ? stream.rows
             : RowSet{need.rows.groups, stream.rows.pitch, stream.rows.used};
}

double startCycles(const Machine &machine, bool streams) {
  double command = machine.hopCycles * (machine.x + machine.width + machine.y +
                                        machine.height) +
                   2 * machine.rampCycles + machine.taskOverhead;
  return command + (streams ? machine.storeLatencyCycles : 0);
}

} // namespace wsec
