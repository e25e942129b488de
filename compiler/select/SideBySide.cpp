// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/select/SideBySide.h"
#include "compiler/placement/MeshPlacement.h"
#include "compiler/placement/PlacementSolver.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

#include <algorithm>
#include <numeric>

using namespace mlir;
using namespace wsec;
using namespace wsec::select;

/// At most so many regions: each has its colors.
static constexpr size_t kMostParts = 4;
/// What side by side has to gain at least, of all cycles.
static constexpr double kLeastGain = 0.02;
/// Widths that parts are tried in at all heights, the fastest ones.
static constexpr size_t kWidthsAtAllHeights = 8;

namespace {

using Kernels = SmallVector<wse::KernelOp>;

/// Which kernels depend on each other: by values, or by what one stores and
/// another loads.
class Components {
public:
  explicit Components(wse::ProgramOp program);

  /// In the order of their first kernels, each with the sources it uses.
  std::vector<Kernels> take() const;

private:
  SmallVector<StringAttr> passingTensors(wse::KernelOp kernel) const;
  /// Brings words of the host, which several parts may do.
  bool isSource(wse::KernelOp kernel) const {
    return kernel->getNumOperands() == 0 && passingTensors(kernel).empty();
  }

  Kernels kernels;
  llvm::DenseSet<StringAttr> intermediates;    // looked up only
  llvm::DenseMap<Operation *, size_t> numbers; // looked up only
  llvm::EquivalenceClasses<size_t> joined;
};

} // namespace

/// The intermediates that a kernel stores or loads.
SmallVector<StringAttr> Components::passingTensors(wse::KernelOp kernel) const {
  SmallVector<StringAttr> names = wse::tensorsRead(kernel);
  if (StringAttr stored = wse::tensorWritten(kernel))
    names.push_back(stored);
  llvm::erase_if(
      names, [&](StringAttr name) { return !intermediates.contains(name); });
  return names;
}

Components::Components(wse::ProgramOp program)
    : kernels(program.bodyBlock().getOps<wse::KernelOp>()) {
  for (auto tensor : program.getOps<wse::IntermediateOp>())
    intermediates.insert(
        StringAttr::get(program.getContext(), tensor.getSymName()));
  llvm::DenseMap<StringAttr, size_t> firstUse;
  for (auto [number, kernel] : llvm::enumerate(kernels)) {
    numbers[kernel] = number;
    joined.insert(number);
    for (Value operand : kernel->getOperands()) {
      auto producer = cast<wse::KernelOp>(operand.getDefiningOp());
      if (!isSource(producer))
        joined.unionSets(numbers.lookup(producer), number);
    }
    for (StringAttr tensor : passingTensors(kernel))
      joined.unionSets(firstUse.try_emplace(tensor, number).first->second,
                       number);
  }
}

std::vector<Kernels> Components::take() const {
  llvm::MapVector<size_t, llvm::SetVector<size_t>> parts; // by leader
  for (auto [number, kernel] : llvm::enumerate(kernels)) {
    if (isSource(kernel))
      continue;
    llvm::SetVector<size_t> &part = parts[joined.getLeaderValue(number)];
    for (Value operand : kernel->getOperands())
      part.insert(numbers.lookup(operand.getDefiningOp()));
    part.insert(number);
  }
  std::vector<Kernels> components;
  for (auto &[leader, part] : parts) {
    SmallVector<size_t> members = part.takeVector();
    llvm::sort(members);
    Kernels &component = components.emplace_back();
    for (size_t member : members)
      component.push_back(kernels[member]);
  }
  return components;
}

//===----------------------------------------------------------------------===//
// Choosing
//===----------------------------------------------------------------------===//

/// The components in `count` parts of about equal cycles: the longest first,
/// each to the part that has least.
static std::vector<Kernels> share(const std::vector<Kernels> &components,
                                  ArrayRef<double> cycles, size_t count) {
  std::vector<size_t> order(components.size());
  std::iota(order.begin(), order.end(), size_t(0));
  llvm::sort(order, [&](size_t a, size_t b) {
    return std::make_pair(-cycles[a], a) < std::make_pair(-cycles[b], b);
  });
  std::vector<SmallVector<size_t>> members(count);
  std::vector<double> load(count, 0);
  for (size_t component : order) {
    size_t least = std::min_element(load.begin(), load.end()) - load.begin();
    members[least].push_back(component);
    load[least] += cycles[component];
  }
  std::vector<Kernels> parts(count);
  for (size_t part = 0; part < count; ++part) {
    llvm::SetVector<wse::KernelOp> kernels;
    llvm::sort(members[part]);
    for (size_t component : members[part])
      kernels.insert(components[component].begin(),
                     components[component].end());
    parts[part] = kernels.takeVector();
    llvm::sort(parts[part], [](wse::KernelOp a, wse::KernelOp b) {
      return a->isBeforeInBlock(b);
    });
  }
  return parts;
}

/// A part of each region, in any of its shapes that SRAM holds.
static PlacementProblem
placementOf(const Machine &mesh,
            ArrayRef<std::vector<ShapeEstimate>> estimates) {
  PlacementProblem problem = placementOn(mesh);
  for (auto [part, shapes] : llvm::enumerate(estimates)) {
    std::vector<CandidateShape> candidates;
    for (const ShapeEstimate &its : shapes)
      candidates.push_back(
          {its.shape.columns, its.shape.rows, its.cycles, its.stream});
    problem.add("part " + std::to_string(part), std::move(candidates));
  }
  return problem;
}

/// Predicted for each component on its best shape.
static std::vector<double> cyclesOf(const Machine &mesh,
                                    const std::vector<Kernels> &components,
                                    PlanningCache &cache) {
  std::vector<double> cycles;
  for (const Kernels &component : components)
    cycles.push_back(estimateShapes(mesh, component, cache).front().cycles);
  return cycles;
}

std::optional<SideBySide> select::chooseSideBySide(wse::ProgramOp program,
                                                   PlanningCache &cache,
                                                   double cyclesOfOne,
                                                   ArrayRef<int64_t> abreast) {
  const Machine mesh = program.targetMachine();
  const std::vector<Kernels> components = Components(program).take();
  if (components.size() < 2)
    return std::nullopt;
  std::vector<double> cycles = cyclesOf(mesh, components, cache);
  std::optional<SideBySide> best;
  for (size_t count = 2; count <= std::min(components.size(), kMostParts);
       ++count) {
    std::vector<Kernels> parts = share(components, cycles, count);
    std::vector<std::vector<ShapeEstimate>> shapes;
    for (const Kernels &part : parts) {
      shapes.push_back(estimateShapes(mesh, part, cache, 0, kWidthsAtAllHeights,
                                      int(kMostParts)));
      llvm::erase_if(shapes.back(),
                     [](const ShapeEstimate &its) { return !its.fits; });
    }
    PlacementProblem problem = placementOf(mesh, shapes);
    if (!abreast.empty())
      problem.mostAbreast = abreast[std::min(count - 2, abreast.size() - 1)];
    Placement placement;
    if (!problem.check().empty() ||
        !solvePlacement(problem, {}, placement).empty())
      continue;
    const double together = problem.cost(placement).throughput;
    if (together > (1 - kLeastGain) * (best ? best->cycles : cyclesOfOne))
      continue;
    best = SideBySide{{}, together};
    for (auto [part, estimates, placed] :
         llvm::zip_equal(parts, shapes, placement.regions))
      best->parts.push_back({part, estimates[placed.shape].shape, placed.at});
  }
  return best;
}

RegionShape select::regionShapeOf(const PlacementFile::Region &given,
                                  const Machine &mesh,
                                  ArrayRef<wse::KernelOp> kernels,
                                  PlanningCache &cache, bool keepWeights,
                                  bool littleScratch) {
  const RegionShape shape{given.pes.columns, given.pes.rows,
                          given.spreadHeads.value_or(false), given.shareBegin,
                          given.shareCount};
  return given.spreadHeads ? shape
                           : chooseHeads(mesh, kernels, cache, shape,
                                         keepWeights, littleScratch);
}

FailureOr<SideBySide> select::sideBySideOn(wse::ProgramOp program,
                                           PlanningCache &cache,
                                           const PlacementFile &given) {
  const Machine mesh = program.targetMachine();
  const std::vector<Kernels> components = Components(program).take();
  if (components.size() < given.regions.size())
    return program.emitError("placement '")
           << given.path << "' has " << given.regions.size()
           << " regions to run side by side (their role is part), and the "
              "model "
           << components.size()
           << " parts that have nothing to do with one another";
  SideBySide choice;
  for (auto [kernels, region] :
       llvm::zip_equal(share(components, cyclesOf(mesh, components, cache),
                             given.regions.size()),
                       given.regions))
    choice.parts.push_back(
        {kernels, regionShapeOf(region, mesh, kernels, cache), {}});
  return choice;
}

//===----------------------------------------------------------------------===//
// Spreading
//===----------------------------------------------------------------------===//

/// The region of the first part is the one that is there; others follow it in
/// the order of the parts.
static wse::RegionOp regionOfPart(wse::ProgramOp program, wse::RegionOp first,
                                  size_t part, const RegionPart &its) {
  wse::RegionOp region = first;
  if (part > 0) {
    wse::RegionOp last = first;
    for (wse::RegionOp each : program.getOps<wse::RegionOp>())
      last = each;
    region = first.clone();
    region.setSymName((first.getSymName() + Twine(part)).str());
    // Under another name if it is taken.
    SymbolTable(program).insert(region, std::next(Block::iterator(last)));
  }
  const RegionShape &shape = its.shape;
  region.setShape({shape.columns, shape.rows});
  if (its.at) {
    region.setX(its.at->x);
    region.setY(its.at->y);
  }
  region.setRole(its.role);
  if (region.isCut())
    region.setFirstKernel(its.firstKernel);
  region.setSpreadHeads(shape.spreadHeads);
  if (shape.shareCount > 0) {
    region.setShareCount(shape.shareCount);
    region.setShareBegin(shape.shareBegin);
    region.setGroup(its.group);
  }
  return region;
}

void select::spreadOverRegions(wse::ProgramOp program, SideBySide &choice) {
  wse::RegionOp first = *program.getOps<wse::RegionOp>().begin();
  llvm::DenseSet<Operation *> taken; // looked up only
  for (auto [number, each] : llvm::enumerate(choice.parts)) {
    RegionPart &part = each;
    // What another part has is cloned for this one.
    llvm::DenseSet<Operation *> members(part.kernels.begin(),
                                        part.kernels.end());
    for (wse::KernelOp &kernel : part.kernels) {
      if (taken.insert(kernel).second)
        continue;
      OpBuilder builder(kernel);
      builder.setInsertionPointAfter(kernel);
      Operation *own = builder.clone(*kernel);
      kernel->replaceUsesWithIf(own, [&](OpOperand &use) {
        return members.contains(use.getOwner());
      });
      kernel = cast<wse::KernelOp>(own);
      taken.insert(kernel);
    }
    wse::RegionOp region = regionOfPart(program, first, number, part);
    for (wse::KernelOp kernel : part.kernels)
      kernel.setRegionRef(FlatSymbolRefAttr::get(region.getSymNameAttr()));
  }
  // On the whole mesh until here; sources that were shared have their own
  // types.
  for (RegionPart &part : choice.parts)
    retype(part.kernels, part.shape);
}
