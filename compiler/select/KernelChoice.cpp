// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/select/KernelChoice.h"
#include "dialects/wse/InherentAttributes.h"

#include "llvm/ADT/SetVector.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace wsec;

// Code and small tables of a PE, set aside when a tensor has to be cut to fit.
static constexpr int64_t codeReserve = 8192;
// The same, and results of other kernels that lie in between, set aside where
// a variant needs much scratch that others do without: models of many different
// products have over 20 kB of code. Where a program turned out not to fit, for
// all variants.
static constexpr int64_t stationaryReserve = 23040;

int64_t select::bytesPerPE(Type tensor, const Machine &region) {
  if (!isa<RankedTensorType>(tensor))
    return 0; // an argument of the call
  return wse::DistAttr::bytesPerPE(tensor, region.width, region.height);
}

int64_t select::roomForOutput(Value input, const Machine &region,
                              int64_t code) {
  return (region.usableBytes() - (code ? code : codeReserve) -
          bytesPerPE(input.getType(), region)) /
         2;
}

bool select::packsWeights(wse::ProgramOp program) {
  return llvm::any_of(program.getOps<wse::ParameterOp>(),
                      [](auto parameter) { return parameter.getQuantized(); });
}

Attribute select::costKey(wse::KernelOp kernel, bool packs) {
  Builder builder(kernel.getContext());
  SmallVector<Attribute> parts = {
      builder.getStringAttr(kernel->getName().getStringRef())};
  for (Type type : kernel->getOperandTypes())
    parts.push_back(TypeAttr::get(type));
  for (Type type : kernel->getResultTypes())
    parts.push_back(TypeAttr::get(type));
  for (NamedAttribute attribute : wse::inherentAttributes(kernel)) {
    if (attribute.getName() == "nodes" || attribute.getName() == "output")
      continue;
    parts.push_back(attribute.getName());
    if (auto weight = dyn_cast<wse::WeightAttr>(attribute.getValue())) {
      parts.push_back(TypeAttr::get(weight.getType()));
      if (packs)
        if (onnx::QuantizedAttr packed = wse::quantizedOf(kernel, weight))
          parts.append({weight, packed});
    } else if (auto array = dyn_cast<ArrayAttr>(attribute.getValue())) {
      parts.push_back(builder.getI64IntegerAttr(array.size()));
    } else if (auto entry = dyn_cast<wse::EntryAttr>(attribute.getValue())) {
      parts.push_back(builder.getI64IntegerAttr(entry.getCount()));
    } else if (!isa<SymbolRefAttr>(attribute.getValue())) {
      parts.push_back(attribute.getValue());
    }
  }
  kernel->walk([&](Operation *op) {
    parts.push_back(builder.getStringAttr(op->getName().getStringRef()));
  });
  return builder.getArrayAttr(parts);
}

ArrayRef<Offer> select::Offers::of(wse::KernelOp kernel) {
  std::unique_ptr<SmallVector<Offer>> &offers = known[costKey(kernel, packs)];
  if (!offers)
    offers = std::make_unique<SmallVector<Offer>>(
        findKernel(kernel)->offers(kernel, region));
  return *offers;
}

select::Choice select::cheapestOffer(Operation *op, ArrayRef<Offer> offers,
                                     const Machine &region, Type input,
                                     ScratchLimits limits, int64_t others,
                                     int64_t unavoidable) {
  int64_t left = region.usableBytes();
  for (OpOperand &operand : op->getOpOperands())
    left -= bytesPerPE(input && operand.getOperandNumber() == 0
                           ? input
                           : operand.get().getType(),
                       region);
  for (Value value : op->getResults())
    left -= bytesPerPE(value.getType(), region);
  // Gaps are between results.
  const int64_t gaps = (region.usableBytes() - limits.code) / 8;
  const int64_t anyway = unavoidable - others - std::min(others, gaps) -
                         (region.usableBytes() - left);
  const bool mayBeDear = llvm::none_of(offers, [&](const Offer &its) {
    return its.input == input && !its.isDear();
  });
  std::optional<Choice> best;
  for (const Offer &offer : offers) {
    if (offer.input != input || (limits.rulesOut(offer) && !mayBeDear))
      continue;
    int64_t reserve = offer.keepsWeights || limits.littleScratch
                          ? stationaryReserve
                          : codeReserve;
    if (limits.code) {
      const int64_t known = limits.code + others + gaps;
      reserve = limits.littleScratch ? std::max(reserve, known) : known;
    }
    const int64_t room = std::max(left - reserve, anyway);
    Choice choice = {&offer, std::max<int64_t>(0, offer.scratchBytes - room),
                     offer.cost.total()};
    if (!best || choice < *best)
      best = choice;
  }
  assert(best && "no offer is left");
  return *best;
}

/// The same of the kernels of an entry.
static void addBytesBeside(Block &entry, const Machine &region,
                           llvm::DenseMap<Operation *, int64_t> &beside) {
  llvm::DenseMap<Value, Operation *> lastUser;
  for (Operation &op : entry)
    for (Value operand : op.getOperands())
      lastUser[operand] = &op;
  int64_t living = 0;
  for (Operation &op : entry) {
    int64_t others = living;
    const llvm::SmallSetVector<Value, 4> used(op.operand_begin(),
                                              op.operand_end());
    for (Value value : used) {
      const int64_t bytes = select::bytesPerPE(value.getType(), region);
      others -= bytes;
      if (lastUser.lookup(value) == &op)
        living -= bytes;
    }
    beside[&op] = others;
    for (Value result : op.getResults())
      if (lastUser.contains(result))
        living += select::bytesPerPE(result.getType(), region);
  }
}

llvm::DenseMap<Operation *, int64_t>
select::bytesBeside(wse::ProgramOp program, const Machine &region) {
  llvm::DenseMap<Operation *, int64_t> beside;
  for (Block *block : program.entryBlocks())
    addBytesBeside(*block, region, beside);
  return beside;
}

int64_t select::keepWithin(SmallVectorImpl<Offer> &offers, int64_t room) {
  int64_t least = std::numeric_limits<int64_t>::max();
  for (const Offer &offer : offers)
    if (!offer.input && offer.applies())
      least = std::min(least, offer.scratchBytes);
  const int64_t most = std::max(room, least);
  llvm::erase_if(offers,
                 [&](const Offer &its) { return its.scratchBytes > most; });
  return most;
}

llvm::DenseMap<Operation *, int64_t>
select::roomForScratch(wse::ProgramOp program, const ScratchLimits &limits) {
  llvm::DenseMap<Operation *, int64_t> rooms;
  if (limits.ofKernels.empty())
    return rooms;
  const bool packs = packsWeights(program);
  llvm::DenseMap<Attribute, int64_t> ofAlike; // looked up only
  auto key = [&](wse::KernelOp kernel) -> Attribute {
    return ArrayAttr::get(kernel.getContext(),
                          {kernel.getRegionRef(), costKey(kernel, packs)});
  };
  SmallVector<wse::KernelOp> kernels = program.kernels();
  for (auto [kernel, name] : llvm::zip_equal(kernels, planNames(program)))
    if (auto its = limits.ofKernels.find(name); its != limits.ofKernels.end()) {
      int64_t &least =
          ofAlike.try_emplace(key(kernel), its->second).first->second;
      least = std::min(least, its->second);
    }
  for (wse::KernelOp kernel : kernels)
    if (auto its = ofAlike.find(key(kernel)); its != ofAlike.end())
      rooms[kernel] = its->second;
  return rooms;
}

namespace wsec::select {
namespace {

/// The kernels of a region while their variants are chosen. They share streams:
/// what one of them opens costs the others no colors.
class VariantChooser {
public:
  VariantChooser(const Machine &region, ScratchLimits limits, bool packs)
      : region(region), limits(limits), offers(region, packs) {}

  /// `room`: bytes that its scratch takes at most.
  void add(wse::KernelOp op, int64_t bytesBeside, int64_t room) {
    kernels.push_back(
        {op, offers.of(op), bytesBeside, room, findKernel(op)->variantOf(op)});
    int64_t &most = mostBeside[kernels.back().offers.data()];
    most = std::max(most, bytesBeside);
  }
  void chooseCheapest() {
    if (limits.code || choose({}).colors > region.usableColors())
      choose(withColor());
    take();
  }
  /// While streams ask for more colors than there are, all kernels do without
  /// the variant that is missed least. What is still too much then, the router
  /// says.
  void chooseFewColors();

private:
  struct Entry {
    Operation *op;
    ArrayRef<Offer> offers;
    int64_t others;  ///< bytes beside it
    int64_t room;    ///< bytes for its scratch at most
    int variant = 0; ///< that `choose` found last
  };
  /// A variant of all kernels of a name.
  using Variant = std::pair<StringRef, int>;
  /// What the cheapest of the variants that are left take, together.
  struct Sum {
    double cycles = 0;
    int64_t missing = 0; ///< bytes of scratch that do not fit
    int64_t colors = 1;  ///< that of launches, and those of their streams
    /// Those of streams that reach beyond the last column, where others' colors
    /// may be free.
    int64_t spread = 1;
    llvm::SmallSetVector<Variant, 8> variants; ///< where there are others

    bool fewerThan(const Sum &other) const {
      return std::pair(colors, spread) < std::pair(other.colors, other.spread);
    }
  };

  Sum choose(ArrayRef<Variant> without);
  /// Variants with colors of their own.
  SmallVector<Variant> withColor() const {
    SmallVector<Variant> variants;
    for (const Entry &each : kernels)
      for (const Offer &offer : each.offers)
        if (const Variant its(findKernel(each.op)->opName(), offer.variant);
            offer.addsColor && !llvm::is_contained(variants, its))
          variants.push_back(its);
    return variants;
  }
  /// What one of the kernels needs beside code, whatever its variant.
  int64_t unavoidableBytes() const;
  /// Gives the kernels what `choose` found.
  void take() const {
    for (const Entry &each : kernels)
      findKernel(each.op)->take(each.op, each.variant);
  }

  const Machine &region;
  const ScratchLimits limits;
  Offers offers;
  std::vector<Entry> kernels;
  /// Of kernels that are alike, by their offers: with little scratch they take
  /// one variant, and share its code.
  llvm::DenseMap<const Offer *, int64_t> mostBeside; // looked up only
};

int64_t VariantChooser::unavoidableBytes() const {
  int64_t most = 0;
  for (const Entry &each : kernels) {
    int64_t bytes = each.others;
    for (Type type : each.op->getOperandTypes())
      bytes += bytesPerPE(type, region);
    for (Type type : each.op->getResultTypes())
      bytes += bytesPerPE(type, region);
    std::optional<int64_t> scratch;
    for (const Offer &offer : each.offers)
      if (!offer.input && offer.applies())
        scratch =
            std::min(scratch.value_or(offer.scratchBytes), offer.scratchBytes);
    most = std::max(most, bytes + scratch.value_or(0));
  }
  return most;
}

VariantChooser::Sum VariantChooser::choose(ArrayRef<Variant> without) {
  Sum sum;
  // Less than another kernel needs anyway is nothing gained.
  const int64_t unavoidable = limits.code ? unavoidableBytes() : 0;
  SmallVector<StreamNeed> streams;
  for (Entry &each : kernels) {
    const Kernel &kernel = *findKernel(each.op);
    SmallVector<Offer> left;
    for (const Offer &offer : each.offers)
      if (!llvm::is_contained(without,
                              Variant(kernel.opName(), offer.variant)) &&
          !limits.rulesOut(offer))
        left.push_back(offer);
    keepWithin(left, each.room);
    if (each.offers.size() > 1 && left.empty()) {
      sum.cycles = std::numeric_limits<double>::infinity();
    } else if (each.offers.size() > 1) {
      const Choice choice = cheapestOffer(
          each.op, left, region, {}, limits,
          limits.littleScratch ? mostBeside.lookup(each.offers.data())
                               : each.others,
          unavoidable);
      each.variant = choice.offer->variant;
      sum.cycles += choice.cycles;
      sum.missing += choice.missing;
      if (left.size() > 1)
        sum.variants.insert({kernel.opName(), choice.offer->variant});
    }
    for (const StreamNeed &need :
         kernel.streamsIn(each.op, each.variant, region)) {
      std::optional<StreamNeed> both;
      for (StreamNeed &stream : streams)
        if ((both = streamForBoth(stream, need))) {
          stream = *both;
          break;
        }
      if (!both) {
        streams.push_back(need);
        sum.colors += need.pattern.colors();
        if (need.pattern != StreamPattern::OutNorth &&
            need.pattern != StreamPattern::OutExit)
          sum.spread += need.pattern.colors();
      }
    }
  }
  return sum;
}

void VariantChooser::chooseFewColors() {
  const SmallVector<Variant> colored = withColor();
  SmallVector<Variant> without = colored;
  Sum now = choose(without);
  while (now.colors > region.usableColors()) {
    std::optional<Sum> best;
    std::optional<Variant> given;
    auto rank = [&](const Sum &sum) {
      return std::pair(sum.colors >= now.colors, sum.cycles);
    };
    for (const Variant &variant : now.variants) {
      without.push_back(variant);
      Sum sum = choose(without);
      without.pop_back();
      if (sum.fewerThan(now) && sum.missing <= now.missing &&
          std::isfinite(sum.cycles) && // All kernels have one that applies.
          (!best || rank(sum) < rank(*best))) {
        best = sum;
        given = variant;
      }
    }
    if (!given)
      break;
    without.push_back(*given);
    now = *best;
  }
  // Colors that others have anyway cost nothing.
  for (const Variant &variant : colored) {
    SmallVector<Variant> others = without;
    llvm::erase(others, variant);
    if (!limits.code && choose(others).colors <= now.colors)
      without = others;
  }
  choose(without);
  take();
}

} // namespace
} // namespace wsec::select

int64_t select::bytesOfStates(wse::ProgramOp program, const Machine &region) {
  int64_t bytes = 0;
  for (auto state : program.bodyBlock().getOps<wse::StateOp>())
    bytes += bytesPerPE(state.getType(), region);
  return bytes;
}

void select::chooseVariants(wse::ProgramOp program, ScratchLimits limits,
                            bool fewColors) {
  const bool packs = packsWeights(program);
  const auto rooms = roomForScratch(program, limits);
  for (wse::RegionOp region : program.kernelRegions()) {
    Machine machine = region.machine();
    machine.sramBytes -= bytesOfStates(program, machine);
    VariantChooser chooser(machine, limits, packs);
    llvm::DenseMap<Operation *, int64_t> beside;
    if (limits.code)
      beside = bytesBeside(program, machine);
    for (wse::KernelOp op : program.kernels())
      if (wse::regionOf(op) == region)
        chooser.add(op, beside.lookup(op), rooms.lookup_or(op, unlimited));
    if (fewColors)
      chooser.chooseFewColors();
    else
      chooser.chooseCheapest();
  }
}
