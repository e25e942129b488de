// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/place/ReadPlacement.h"
#include "compiler/kernels/Kernel.h"
#include "compiler/placement/MeshPlacement.h"

#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace wsec;

llvm::SmallVector<wse::RegionOp> wsec::regionsOf(wse::ProgramOp program) {
  return llvm::to_vector(program.bodyBlock().getOps<wse::RegionOp>());
}

static NearWish::Target sideOf(StringRef word) {
  return llvm::StringSwitch<NearWish::Target>(word)
      .Case("north", NearWish::Target::North)
      .Case("south", NearWish::Target::South)
      .Case("east", NearWish::Target::East)
      .Default(NearWish::Target::West);
}

/// That all rows of another region send to that of a kernel.
static int64_t wordsBetween(wse::KernelOp producer, wse::KernelOp kernel) {
  const Kernel *library = findKernel(kernel);
  const int64_t words =
      library ? library->wordsBetween(kernel, wse::regionOf(kernel).machine())
              : 0;
  return std::max<int64_t>(1, words * wse::regionOf(producer).rows());
}

/// Words of a sample that a stage only moves in come from the west edge, and
/// out leave by the east edge, through the stages on the way.
static void addHostWords(wse::KernelOp kernel, size_t region,
                         PlacementProblem &problem) {
  const Kernel *library = findKernel(kernel);
  if (!problem.regions[region].group || !library || !library->onlyMoves() ||
      isa<wse::EntryOp>(kernel->getParentOp()))
    return;
  const Machine machine = wse::regionOf(kernel).machine();
  for (const HostFlow &flow : library->flows(kernel, machine)) {
    const bool leaves = flow.pattern.movement == fabric::Movement::Out;
    NearWish wish;
    wish.region = region;
    wish.target = leaves ? NearWish::Target::East : NearWish::Target::West;
    wish.words = flow.words * int64_t(leaves ? machine.eastChannels().size()
                                             : machine.westChannels().size());
    if (wish.words > 0)
      problem.wishes.push_back(wish);
  }
}

/// What the program wishes, and the tensors that go from region to region.
static void readWishes(wse::ProgramOp program,
                       llvm::function_ref<size_t(FlatSymbolRefAttr)> numberOf,
                       PlacementProblem &problem) {
  for (auto near : program.bodyBlock().getOps<wse::NearOp>()) {
    NearWish wish;
    wish.region = numberOf(near.getRegionAttr());
    wish.weight = near.getWeight();
    if (auto other = dyn_cast<FlatSymbolRefAttr>(near.getTarget())) {
      wish.other = numberOf(other);
    } else if (auto pe = dyn_cast<DenseI64ArrayAttr>(near.getTarget())) {
      wish.target = NearWish::Target::Pe;
      wish.pe = {pe[0], pe[1]};
    } else {
      wish.target = sideOf(cast<StringAttr>(near.getTarget()).getValue());
    }
    problem.wishes.push_back(wish);
  }
  for (wse::KernelOp kernel : program.kernels()) {
    addHostWords(kernel, numberOf(kernel.getRegionRef()), problem);
    for (Value operand : kernel->getOperands()) {
      auto producer = operand.getDefiningOp<wse::KernelOp>();
      if (!producer || producer.getRegionRef() == kernel.getRegionRef())
        continue;
      problem.edges.push_back({numberOf(producer.getRegionRef()),
                               numberOf(kernel.getRegionRef()),
                               wordsBetween(producer, kernel)});
    }
  }
}

PlacementProblem wsec::readPlacementProblem(wse::ProgramOp program) {
  PlacementProblem problem = placementOn(program.targetMachine());
  auto regions = regionsOf(program);
  for (wse::RegionOp region : regions) {
    std::optional<PlacedOrigin> pin;
    if (region.isPlaced())
      pin = {int64_t(*region.getX()), int64_t(*region.getY())};
    problem.add("region @" + region.getSymName().str(),
                {{region.columns(), region.rows()}}, pin);
    problem.regions.back().group = region.getGroup();
  }
  auto numberOf = [&](FlatSymbolRefAttr name) {
    return size_t(llvm::find_if(regions,
                                [&](wse::RegionOp region) {
                                  return region.getSymName() == name.getValue();
                                }) -
                  regions.begin());
  };
  readWishes(program, numberOf, problem);
  return problem;
}

Placement wsec::pinsOf(const PlacementProblem &problem) {
  Placement pins;
  for (const RegionRequest &region : problem.regions)
    pins.regions.push_back({0, *region.pin});
  return pins;
}

void wsec::noteWhere(InFlightDiagnostic &said, wse::ProgramOp program,
                     ArrayRef<size_t> about) {
  SmallVector<Operation *> places;
  for (wse::RegionOp region : regionsOf(program))
    places.push_back(region);
  for (auto keepOut : program.bodyBlock().getOps<wse::KeepOutOp>())
    places.push_back(keepOut);
  for (size_t number : about)
    if (number < places.size()) // keep-outs of a machine stand in its file
      said.attachNote(places[number]->getLoc())
          << (isa<wse::RegionOp>(places[number]) ? "the region is here"
                                                 : "they are kept out here");
}
