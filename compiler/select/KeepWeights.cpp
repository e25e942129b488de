// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Weights that stay on the wafer: constants of kernels become resident
// parameters, which an entry of their own fills.

#include "compiler/kernels/Selection.h"
#include "compiler/select/HeldWeights.h"
#include "compiler/select/Passes.h"
#include "dialects/StridedRange.h"
#include "dialects/wse/Wse.h"

#include "mlir/IR/Builders.h"

using namespace mlir;

namespace wsec::select {
#define GEN_PASS_DEF_KEEPWEIGHTSPASS
#include "compiler/select/Passes.h.inc"
} // namespace wsec::select

using namespace wsec;

/// Gives each kernel the variant in which it streams least.
static void takeVariants(wse::ProgramOp program) {
  SmallVector<wse::KernelOp> kernels;
  for (wse::KernelOp kernel : program.kernels())
    if (findKernel(kernel)) // of others routing says so
      kernels.push_back(kernel);
  const wse::SelectionAttr selection = program.getSelectionAttr();
  const select::ScratchLimits limits = {selection ? selection.getCode() : 0,
                                        selection &&
                                            selection.getLittleScratch()};
  SmallVector<int> variants;
  {
    const select::AssumeResident resident(program, kernels);
    for (wse::KernelOp kernel : kernels)
      variants.push_back(
          select::holdingOffer(kernel, wse::regionOf(kernel).machine(), limits,
                               selection && selection.getFewColors())
              .variant);
  }
  for (auto [kernel, variant] : llvm::zip_equal(kernels, variants))
    findKernel(kernel)->take(kernel, variant);
}

namespace {

class Keeper {
public:
  explicit Keeper(wse::ProgramOp program)
      : program(program), symbols(program) {}

  void run() {
    for (wse::KernelOp kernel : program.kernels())
      if (findKernel(kernel))
        keep(kernel);
  }

private:
  void keep(wse::KernelOp kernel);
  wse::WeightAttr keep(wse::KernelOp kernel, wse::WeightAttr weight);
  wse::ParameterOp declare(wse::KernelOp kernel, const HeldWeight &held,
                           wse::WeightAttr value);

  wse::ProgramOp program;
  SymbolTable symbols;
  wse::EntryOp entry; ///< that fills them
  /// By value, region and type. Looked up only.
  llvm::DenseMap<std::tuple<Attribute, Attribute, Type>, wse::ParameterOp>
      parameters;
};

struct KeepWeights final : select::impl::KeepWeightsPassBase<KeepWeights> {
  void runOnOperation() override {
    takeVariants(getOperation());
    Keeper(getOperation()).run();
  }
};

} // namespace

void Keeper::keep(wse::KernelOp kernel) {
  for (NamedAttribute attribute : llvm::to_vector(kernel->getAttrs())) {
    Attribute value = attribute.getValue();
    if (isa<wse::EntryAttr>(value))
      continue; // changed with the weight
    if (auto weight = dyn_cast<wse::WeightAttr>(value))
      value = keep(kernel, weight);
    else if (auto array = dyn_cast<ArrayAttr>(value))
      value = ArrayAttr::get(
          kernel->getContext(), llvm::map_to_vector(array, [&](Attribute each) {
            auto weight = dyn_cast<wse::WeightAttr>(each);
            return weight ? Attribute(keep(kernel, weight)) : each;
          }));
    kernel->setAttr(attribute.getName(), value);
  }
}

/// What the kernel reads instead of `weight`.
wse::WeightAttr Keeper::keep(wse::KernelOp kernel, wse::WeightAttr weight) {
  const Kernel &library = *findKernel(kernel);
  auto held = library.held(kernel, library.variantOf(kernel), weight,
                           wse::regionOf(kernel).machine());
  if (!held || !select::isStreamedConstant(kernel, weight))
    return weight;
  ArrayRef<int64_t> strides = held->strides;
  const wse::WeightAttr all = held->all(kernel, weight);
  // Its elements, in the order in which `held` lists them.
  auto order = llvm::to_vector(llvm::seq<int64_t>(all.getType().getRank()));
  llvm::sort(order, [&](int64_t a, int64_t b) {
    return std::pair(-strides[a], a) < std::pair(-strides[b], b);
  });
  const values::StridedView view = stridedView(all).transposed(order);
  const auto whole = view.reshaped(held->type.getShape());
  auto parameter = declare(
      kernel, *held, withView(all, whole && whole->strides() ? *whole : view));
  if (all != weight) {
    const auto entry = kernel->getAttrOfType<wse::EntryAttr>("entry");
    kernel->setAttr("entry", wse::EntryAttr::get(entry.getContext(),
                                                 entry.getIds(), entry.getAt(),
                                                 entry.getCount(), strides[0]));
    strides = strides.drop_front();
  }
  return wse::WeightAttr::of(FlatSymbolRefAttr::get(parameter),
                             weight.getType(), 0, strides);
}

wse::ParameterOp Keeper::declare(wse::KernelOp kernel, const HeldWeight &held,
                                 wse::WeightAttr value) {
  wse::ParameterOp &parameter =
      parameters[{value, kernel.getRegionRef(), held.type}];
  if (parameter)
    return parameter;
  OpBuilder builder(program.getContext());
  if (!entry) {
    entry = wse::EntryOp::create(builder, program.getLoc(), "load");
    entry.getBody().emplaceBlock();
    // Before what needs them, as they are called.
    symbols.insert(entry, Block::iterator(llvm::find_if(
                              program.bodyBlock(),
                              llvm::IsaPred<wse::KernelOp, wse::EntryOp>)));
  }
  parameter = wse::ParameterOp::create(
      builder, kernel.getLoc(),
      builder.getStringAttr(value.getName().getValue() + ".resident"), value,
      TypeAttr::get(value.getType()), UnitAttr(), kernel.getRegionRef(),
      TypeAttr::get(held.type), IntegerAttr());
  // Before what streams.
  auto streamed =
      llvm::find_if(program.getOps<wse::ParameterOp>(),
                    [](wse::ParameterOp its) { return !its.isResident(); });
  symbols.insert(parameter, streamed == program.getOps<wse::ParameterOp>().end()
                                ? Block::iterator(entry)
                                : Block::iterator((*streamed).getOperation()));
  builder.setInsertionPointToEnd(&entry.getBody().front());
  createKernel<wse::FillOp>(builder, kernel.getLoc(), kernel.getNodeNames(),
                            kernel.getRegionRef(),
                            FlatSymbolRefAttr::get(parameter));
  return parameter;
}
