// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/select/HeldWeights.h"

#include "compiler/select/KernelChoice.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace wsec;

/// What is computed, given or changed in each run cannot stay.
static wse::ParameterOp constantOf(wse::KernelOp kernel,
                                   wse::WeightAttr weight) {
  wse::ParameterOp parameter = wse::parameterOf(kernel, weight);
  return parameter && !parameter.getTrainable() ? parameter
                                                : wse::ParameterOp();
}

bool select::isStreamedConstant(wse::KernelOp kernel, wse::WeightAttr weight) {
  wse::ParameterOp parameter = constantOf(kernel, weight);
  return parameter && !parameter.isResident();
}

/// How many weights of the kernel can be resident in a variant.
static int64_t countHeld(wse::KernelOp kernel, int variant,
                         const Machine &machine) {
  return llvm::count_if(wse::allWeights(kernel), [&](wse::WeightAttr weight) {
    return constantOf(kernel, weight) &&
           findKernel(kernel)->held(kernel, variant, weight, machine);
  });
}

Offer select::holdingOffer(wse::KernelOp kernel, const Machine &machine,
                           ScratchLimits limits, bool fewColors) {
  const Kernel &library = *findKernel(kernel);
  SmallVector<Offer> offers = library.offers(kernel, machine);
  const int now = library.variantOf(kernel);
  auto isNow = [&](const Offer &offer) { return offer.variant == now; };
  const Offer asItIs = {now,
                        {},
                        library.cost(kernel, machine),
                        library.scratchBytes(kernel, machine)};
  // What is packed streams so, and is not on offer where it stays.
  if (llvm::none_of(offers, isNow))
    offers.push_back(asItIs);
  llvm::erase_if(offers, [&](const Offer &offer) {
    return offer.input || !offer.applies() || limits.rulesOut(offer);
  });
  if (offers.empty())
    return asItIs;
  auto held = [&](const Offer &offer) {
    return countHeld(kernel, offer.variant, machine);
  };
  int64_t most = 0;
  for (const Offer &offer : offers)
    most = std::max(most, held(offer));
  llvm::erase_if(offers,
                 [&](const Offer &offer) { return held(offer) < most; });
  if (const auto *own = llvm::find_if(offers, isNow);
      fewColors && own != offers.end())
    return *own;
  return *cheapestOffer(kernel, offers, machine, {}, limits).offer;
}

select::HeldAmount select::heldAmount(wse::KernelOp kernel, int variant,
                                      const Machine &machine) {
  HeldAmount amount;
  for (wse::WeightAttr weight : wse::allWeights(kernel))
    if (auto held = findKernel(kernel)->held(kernel, variant, weight, machine);
        held && constantOf(kernel, weight)) {
      amount.bytes += wse::DistAttr::heldBytesPerPE(held->type, machine.width,
                                                    machine.height);
      amount.elements += held->type.getNumElements();
    }
  return amount;
}

int64_t select::leastHeldBytes(wse::ProgramOp program, const Machine &machine) {
  int64_t bits = 0;
  llvm::DenseSet<wse::ParameterOp> counted; // looked up only
  for (wse::KernelOp kernel : program.kernels()) {
    const Kernel *library = findKernel(kernel);
    if (!library || wse::allWeights(kernel).empty())
      continue;
    const SmallVector<Offer> offers = library->offers(kernel, machine);
    for (wse::WeightAttr weight : wse::allWeights(kernel)) {
      wse::ParameterOp parameter = constantOf(kernel, weight);
      for (const Offer &offer : offers)
        if (auto held = library->held(kernel, offer.variant, weight, machine);
            held && parameter && counted.insert(parameter).second)
          bits +=
              held->type.getNumElements() * held->type.getElementTypeBitWidth();
    }
  }
  return bits / 8;
}

select::AssumeResident::AssumeResident(wse::ProgramOp program,
                                       ArrayRef<wse::KernelOp> kernels) {
  Builder builder(program.getContext());
  SymbolTable symbols(program);
  // Its value and type are nobody's: that there is one is what kernels ask.
  auto type = RankedTensorType::get({1}, builder.getF32Type());
  auto value = DenseElementsAttr::get(type, 0.0f);
  auto placeholder = [&](wse::KernelOp kernel, wse::WeightAttr weight) {
    if (!isStreamedConstant(kernel, weight))
      return weight;
    return wse::WeightAttr::get(weight.getContext(),
                                FlatSymbolRefAttr::get(parameter),
                                weight.getType(), 0, weight.viewStrides());
  };
  for (wse::KernelOp kernel : kernels) {
    if (wse::allWeights(kernel).empty())
      continue;
    if (!parameter) {
      // Before what streams.
      OpBuilder at = OpBuilder::atBlockBegin(&program.bodyBlock());
      parameter = wse::ParameterOp::create(
          at, kernel.getLoc(), builder.getStringAttr("resident"), value,
          TypeAttr::get(type), UnitAttr(), kernel.getRegionRef(),
          TypeAttr::get(type), IntegerAttr());
      symbols.insert(parameter); // under another name if it is taken
    }
    before.emplace_back(kernel, kernel->getAttrDictionary());
    for (NamedAttribute attribute : before.back().second) {
      Attribute changed = attribute.getValue();
      if (auto weight = dyn_cast<wse::WeightAttr>(changed))
        changed = placeholder(kernel, weight);
      else if (auto array = dyn_cast<ArrayAttr>(changed))
        changed = builder.getArrayAttr(
            llvm::map_to_vector(array, [&](Attribute each) -> Attribute {
              auto weight = dyn_cast<wse::WeightAttr>(each);
              return weight ? placeholder(kernel, weight) : each;
            }));
      kernel->setAttr(attribute.getName(), changed);
    }
  }
}

select::AssumeResident::~AssumeResident() {
  for (auto &[kernel, attributes] : before)
    kernel->setAttrs(attributes);
  if (parameter)
    parameter.erase();
}

double select::heldCycles(wse::ProgramOp program, wse::KernelOp kernel,
                          const Machine &machine) {
  const AssumeResident resident(program, kernel);
  return holdingOffer(kernel, machine).cost.total();
}
