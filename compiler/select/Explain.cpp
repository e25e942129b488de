// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/select/Explain.h"
#include "compiler/kernels/Kernel.h"
#include "compiler/select/HeldWeights.h"
#include "compiler/select/KernelChoice.h"
#include "dialects/onnx/Onnx.h"
#include "runtime/program/NearestNames.h"

#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace wsec;
using namespace wsec::select;

/// Nodes that a kernel computes, and those that were fused into these.
static std::vector<std::string> nodesOf(wse::KernelOp kernel) {
  std::vector<std::string> names;
  for (ArrayAttr nodes :
       {kernel.getNodeNames(),
        kernel->getAttrOfType<ArrayAttr>(onnx::absorbedAttrName)})
    if (nodes)
      for (auto name : nodes.getAsRange<StringAttr>())
        names.push_back(name.str());
  return names;
}

static SmallVector<wse::KernelOp> kernelsOf(wse::ProgramOp program,
                                            const std::string &node) {
  SmallVector<wse::KernelOp> kernels;
  for (wse::KernelOp kernel : program.kernels())
    if (llvm::is_contained(nodesOf(kernel), node))
      kernels.push_back(kernel);
  return kernels;
}

/// Its region is then chosen with what stays in mind.
static bool isCalled(wse::ProgramOp program) {
  return !program.getOps<wse::EntryOp>().empty();
}

/// A program with entries was selected for the one shape there is of it.
static std::vector<std::vector<KernelEstimate>>
estimatesOf(wse::ProgramOp program, ArrayRef<wse::KernelOp> kernels,
            ArrayRef<RegionShape> each) {
  const Machine mesh = program.targetMachine();
  if (!isCalled(program))
    return estimateEach(mesh, kernels, each);
  PlanningCache cache;
  return {KernelEstimator(mesh, kernels, cache, /*keepWeights=*/true,
                          /*littleScratch=*/false)
              .asTyped(each.front())};
}

void Explanation::compared(wse::ProgramOp program,
                           ArrayRef<ShapeEstimate> estimates) {
  if (node.empty())
    return;
  SmallVector<wse::KernelOp> all = program.kernels();
  std::vector<RegionShape> each;
  for (const ShapeEstimate &estimate : estimates)
    each.push_back(estimate.shape);
  const auto kernels = estimatesOf(program, all, each);
  for (auto [estimate, its] : llvm::zip_equal(estimates, kernels)) {
    ComparedShape &shape = shapes.emplace_back(ComparedShape{estimate});
    for (auto [kernel, own] : llvm::zip_equal(all, its))
      if (llvm::is_contained(nodesOf(kernel), node))
        shape.own += own.cycles;
  }
}

static std::string number(double value) {
  return llvm::formatv("{0:f0}", value).str();
}

static std::string times(double value, double best) {
  return best > 0 ? llvm::formatv("{0:f2}x", value / best).str() : "";
}

/// A line of a table; the first column is to the left.
static std::string line(StringRef first, ArrayRef<std::string> cells) {
  std::string text = llvm::formatv("  {0,-24}", first).str();
  for (const std::string &cell : cells)
    text += llvm::formatv("{0,11}", cell).str();
  return StringRef(text).rtrim().str();
}

/// Of the streams that one way of running a kernel opens, others may share
/// them.
static int64_t colorsOf(wse::KernelOp op, int variant, const Machine &region) {
  const Kernel &kernel = *findKernel(op);
  int64_t colors = 0;
  for (const StreamNeed &need : kernel.streamsIn(op, variant, region))
    colors += need.pattern.colors();
  return colors;
}

static std::string tellOffer(wse::KernelOp op, const Offer &offer,
                             const Machine &region, bool isChosen,
                             const ScratchLimits &limits, int64_t others,
                             int64_t room, int64_t most) {
  std::string name = findKernel(op)->variantName(offer.variant).str();
  if (name.empty())
    name = op->getName().stripDialect();
  name = (isChosen ? "> " : "  ") + name;
  if (!offer.applies())
    return line(name, {"does not", " apply"}) + "\n";
  const int64_t missing =
      cheapestOffer(op, offer, region, offer.input, {limits.code}, others)
          .missing;
  std::string row =
      line(name, {number(offer.cost.total()), number(offer.cost.compute),
                  number(offer.cost.stream), number(offer.cost.fabric),
                  number(offer.cost.serial), std::to_string(offer.scratchBytes),
                  std::to_string(colorsOf(op, offer.variant, region)),
                  missing ? std::to_string(missing) : "fits"});
  if (offer.input)
    row += "  after a redistribute";
  if (limits.rulesOut(offer))
    row += std::string("  ruled out: with its ") +
           (offer.keepsWeights ? "weights" : "code") +
           ", SRAM was too small for the program";
  else if (offer.scratchBytes > most)
    row += "  ruled out: a launch of it, or of one like it, leaves " +
           std::to_string(room) + " bytes to scratch";
  return row + "\n";
}

/// The offers of a kernel where it lies now, and which one won.
static std::string tellOffers(wse::KernelOp op, const Machine &region,
                              ScratchLimits limits) {
  SmallVector<Offer> offers = findKernel(op)->offers(op, region);
  const int variant = findKernel(op)->variantOf(op);
  const int64_t others =
      limits.code ? bytesBeside(op->getParentOfType<wse::ProgramOp>(), region)
                        .lookup(op)
                  : 0;
  const int64_t room =
      roomForScratch(op->getParentOfType<wse::ProgramOp>(), limits)
          .lookup_or(op, unlimited);
  SmallVector<Offer> within = offers;
  const int64_t most = keepWithin(within, room);
  const Choice cheapest = cheapestOffer(op, within, region, {}, limits, others);
  const Offer *chosen = llvm::find_if(offers, [&](const Offer &offer) {
    return !offer.input && offer.variant == variant;
  });
  std::string text =
      line("variants", {"cycles", "compute", "stream", "fabric", "serial",
                        "scratch B", "colors", "missing B"}) +
      "\n";
  for (const Offer &offer : offers)
    text += tellOffer(op, offer, region, &offer == chosen, limits, others, room,
                      most);
  const KernelCost &cost = chosen->cost;
  text += "  bound by " + cost.bound().str() + ", " +
          times(cost.total(), cost.lowerBound) + " of the lower bound of " +
          number(cost.lowerBound) + " cycles\n";
  if (chosen->variant != cheapest.offer->variant)
    text += "  decided: the streams of faster ones need more colors than the "
            "region has beside those of other kernels\n";
  else if (offers.size() > 1)
    text += cheapest.missing
                ? "  decided: the least scratch is missing, none fits\n"
                : "  decided: the fewest cycles of those whose scratch fits\n";
  return text;
}

/// The same of a kernel whose weights stay, in the variants that it may have.
static std::string tellHeld(wse::KernelOp op, const Machine &region,
                            ScratchLimits limits, bool fewColors) {
  const Kernel &kernel = *findKernel(op);
  const size_t weights = wse::allWeights(op).size();
  const int chosen = holdingOffer(op, region, limits, fewColors).variant;
  std::string text =
      line("variants", {"cycles", "compute", "stream", "fabric", "serial",
                        "scratch B", "colors", "held B"}) +
      "\n";
  KernelCost cost;
  for (const Offer &offer : kernel.offers(op, region)) {
    if (offer.input)
      continue;
    std::string name = kernel.variantName(offer.variant).str();
    if (name.empty())
      name = op->getName().stripDialect();
    name = (offer.variant == chosen ? "> " : "  ") + name;
    if (offer.variant == chosen)
      cost = offer.cost;
    text += (offer.applies()
                 ? line(name,
                        {number(offer.cost.total()), number(offer.cost.compute),
                         number(offer.cost.stream), number(offer.cost.fabric),
                         number(offer.cost.serial),
                         std::to_string(offer.scratchBytes),
                         std::to_string(colorsOf(op, offer.variant, region)),
                         std::to_string(
                             heldAmount(op, offer.variant, region).bytes)})
                 : line(name, {"does not", " apply"})) +
            "\n";
  }
  return text + "  bound by " + cost.bound().str() + ", " +
         times(cost.total(), cost.lowerBound) + " of the lower bound of " +
         number(cost.lowerBound) + " cycles\n  decided: the most of its " +
         std::to_string(weights) +
         " weights stay on the wafer, then the fewest cycles\n";
}

std::string Explanation::tellKernel(wse::KernelOp kernel, const Machine &region,
                                    ScratchLimits limits) const {
  if (!weightsStay || wse::allWeights(kernel).empty())
    return tellOffers(kernel, region, limits);
  auto program = kernel->getParentOfType<wse::ProgramOp>();
  const AssumeResident resident(program, kernel);
  return tellHeld(kernel, region, limits,
                  program.getSelectionAttr().getFewColors());
}

static std::string headOfShapes(bool streams) {
  return line("shapes of one region", {"all cycles", "", "this node", "SRAM"}) +
         (streams ? "  where weights stream\n" : "\n");
}

std::string Explanation::tellShapes(RegionShape chosen, size_t regions) const {
  if (isGiven)
    return "shape of the region: given\n";
  std::string text;
  auto isChosen = [&](const ComparedShape &shape) {
    return !sideBySide && !isStaged &&
           shape.all.shape.columns == chosen.columns &&
           shape.all.shape.rows == chosen.rows;
  };
  constexpr size_t listed = 10;
  const ComparedShape *least = nullptr;
  for (auto [place, shape] : llvm::enumerate(shapes)) {
    if (shape.all.fits && (!least || shape.own < least->own))
      least = &shape;
    if (place < listed || isChosen(shape))
      text +=
          line((isChosen(shape) ? "> " : "  ") +
                   std::to_string(shape.all.shape.columns) + "x" +
                   std::to_string(shape.all.shape.rows),
               {number(shape.all.cycles),
                times(shape.all.cycles, shapes.front().all.cycles),
                number(shape.own), shape.all.fits ? "fits" : "too little"}) +
          "\n";
  }
  if (shapes.size() > listed)
    text +=
        "  and " + std::to_string(shapes.size() - listed) + " slower ones\n";
  if (noParts)
    text += "  regions side by side are ruled out: too little SRAM or too few "
            "colors\n";
  if (isStaged)
    return text + "  decided: " + std::to_string(regions) +
           (isForCode ? " regions, each with the code of its own kernels, of "
                        "which one has too much\n"
                      : " stages of a pipeline, the slowest as fast as any can "
                        "be (--mode)\n");
  if (sideBySide)
    return text + "  decided: regions side by side take " + number(sideBySide) +
           " cycles, the best single one " + number(shapes.front().all.cycles) +
           "\n";
  text += "  decided: the fewest cycles of all kernels together, where SRAM "
          "holds what lives at a time\n";
  if (least && !isChosen(*least) && least->own < shapes.front().own)
    text += "  alone, this node would be fastest on " +
            std::to_string(least->all.shape.columns) + "x" +
            std::to_string(least->all.shape.rows) + "\n";
  return text;
}

FailureOr<std::string> Explanation::tell(wse::ProgramOp program,
                                         ScratchLimits limits) {
  SmallVector<wse::KernelOp> kernels = kernelsOf(program, node);
  if (kernels.empty()) {
    std::vector<std::string> names;
    for (wse::KernelOp kernel : program.kernels())
      llvm::append_range(names, nodesOf(kernel));
    return program.emitError("no kernel computes a node ")
           << runtime::inQuotes(node)
           << ", which may be a view, a constant, or of another model"
           << runtime::nearestNames(node, names);
  }
  std::string text;
  llvm::DenseSet<std::pair<Attribute, Attribute>> told; // looked up only
  for (wse::KernelOp kernel : kernels) {
    wse::RegionOp region = wse::regionOf(kernel);
    std::string offers = tellKernel(kernel, region.machine(), limits);
    auto *context = program.getContext();
    if (!told.insert(
                 {StringAttr::get(context, offers), region.getSymNameAttr()})
             .second)
      continue;
    size_t alike = llvm::count_if(kernels, [&](wse::KernelOp other) {
      return wse::regionOf(other) == region &&
             tellKernel(other, region.machine(), limits) == offers;
    });
    text +=
        "node " + runtime::inQuotes(node) + ": " +
        (alike > 1 ? std::to_string(alike) + " kernels " : "kernel ") +
        kernel->getName().stripDialect().str() + " on @" +
        region.getSymName().str() + ", " + std::to_string(region.columns()) +
        "x" + std::to_string(region.rows()) +
        (findKernel(kernel)->onlyMoves() ? "; it moves words\n"
                                         : "; no other kernel computes it\n");
    std::vector<std::string> nodes = nodesOf(kernel);
    if (nodes.size() > 1) {
      text += "  computes";
      for (auto [index, name] : llvm::enumerate(nodes))
        text += (index ? ", " : " ") + name;
      text += "\n";
    }
    text += offers;
  }
  wse::RegionOp region = wse::regionOf(kernels.front());
  if (!isGiven)
    text += headOfShapes(weightsStay && !isCalled(program));
  return text + tellShapes({region.columns(), region.rows()},
                           program.kernelRegions().size());
}
