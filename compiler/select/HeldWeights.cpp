// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/select/HeldWeights.h"

#include "compiler/select/KernelChoice.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace wsec;

wse::WeightAttr select::constantOf(wse::KernelOp kernel,
                                   wse::WeightAttr weight) {
  FlatSymbolRefAttr name = weight.getTensor();
  if (!name)
    return weight;
  auto parameter =
      SymbolTable::lookupNearestSymbolFrom<wse::ParameterOp>(kernel, name);
  if (!parameter || parameter.isResident() || parameter.getTrainable())
    return {};
  wse::WeightAttr value = parameter.getValue();
  return wse::WeightAttr::get(
      weight.getContext(), weight.getName(), weight.getType(), value.getFile(),
      value.getOffset(), value.getBytes(), value.getData(), {},
      weight.getViewOffset(), weight.viewStrides());
}

/// What is computed, given or changed in each run cannot stay.
static bool isTrained(wse::KernelOp kernel, wse::WeightAttr weight) {
  return select::constantOf(kernel, weight) || wse::residentOf(kernel, weight);
}

/// How many weights of the kernel can be resident, as it is.
static int64_t countHeld(wse::KernelOp kernel, const Kernel &library,
                         const Machine &machine) {
  return llvm::count_if(wse::allWeights(kernel), [&](wse::WeightAttr weight) {
    return isTrained(kernel, weight) &&
           library.held(kernel, weight, machine).has_value();
  });
}

int select::holdingVariant(wse::KernelOp kernel, const Machine &machine) {
  const Kernel &library = *findKernel(kernel);
  const int before = library.variantOf(kernel);
  int best = before;
  int64_t most = countHeld(kernel, library, machine);
  std::optional<double> cycles; // of the best, if it is not the one it has
  for (const Offer &offer : library.offers(kernel, machine)) {
    if (offer.input || offer.variant == before)
      continue;
    library.setVariant(kernel, offer.variant);
    const int64_t held = countHeld(kernel, library, machine);
    if (held > most ||
        (held == most && cycles && offer.cost.total() < *cycles)) {
      best = offer.variant;
      most = held;
      cycles = offer.cost.total();
    }
  }
  library.setVariant(kernel, before);
  return best;
}

select::HeldAmount select::heldAmount(wse::KernelOp kernel,
                                      const Machine &machine) {
  HeldAmount amount;
  for (wse::WeightAttr weight : wse::allWeights(kernel))
    if (auto held = findKernel(kernel)->held(kernel, weight, machine);
        held && isTrained(kernel, weight)) {
      amount.bytes += wse::DistAttr::heldBytesPerPE(held->type, machine.width,
                                                    machine.height);
      amount.elements += weight.getType().getNumElements();
    }
  return amount;
}

select::AssumeResident::AssumeResident(wse::ProgramOp program,
                                       ArrayRef<wse::KernelOp> kernels) {
  Builder builder(program.getContext());
  SymbolTable symbols(program);
  // Its value and type are nobody's: that there is one is what kernels ask.
  auto type = RankedTensorType::get({1}, builder.getF32Type());
  auto value = wse::WeightAttr::get(
      builder.getContext(), builder.getStringAttr("resident"), type, {}, 0, 0,
      DenseElementsAttr::get(type, 0.0f), {}, 0, {});
  auto placeholder = [&](wse::KernelOp kernel, wse::WeightAttr weight) {
    if (!constantOf(kernel, weight))
      return weight;
    return wse::WeightAttr::get(
        weight.getContext(), weight.getName(), weight.getType(), {}, 0, 0, {},
        FlatSymbolRefAttr::get(parameter), 0, weight.viewStrides());
  };
  for (wse::KernelOp kernel : kernels) {
    if (wse::allWeights(kernel).empty())
      continue;
    if (!parameter) {
      // Before what streams.
      OpBuilder at = OpBuilder::atBlockBegin(&program.bodyBlock());
      parameter = wse::ParameterOp::create(
          at, kernel.getLoc(), value.getName(), value, UnitAttr(),
          kernel.getRegionRef(), TypeAttr::get(type), IntegerAttr());
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
