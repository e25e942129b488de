// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/select/CallRegion.h"
#include "compiler/kernels/Kernel.h"
#include "compiler/select/HeldWeights.h"

#include "llvm/ADT/DenseSet.h"

#include <cmath>
#include <map>
#include <optional>

using namespace mlir;
using namespace wsec;
using namespace wsec::select;

namespace {

class CallRegion {
public:
  CallRegion(const Machine &mesh, PlanningCache &cache, int64_t code,
             function_ref<wse::ProgramOp(RegionShape)> select)
      : mesh(mesh), cache(cache), code(code), select(select),
        widths(sides(mesh.width)), heights(sides(mesh.height)) {}

  std::vector<ShapeEstimate> run();

private:
  /// Down from all there are in steps of about the root of two.
  static std::vector<int64_t> sides(int64_t most);
  using Place = std::pair<size_t, size_t>; ///< numbers of width and height

  ShapeEstimate estimate(wse::ProgramOp program, RegionShape shape);
  /// Null: there is no room for it, or no program on it.
  const ShapeEstimate *at(Place place);
  /// The better of `best`, if any, and those before the first that does not
  /// hold what stays.
  std::optional<Place> bestOf(ArrayRef<Place> places,
                              std::optional<Place> best = {});
  /// Along the sides of the mesh, and all shapes like it.
  SmallVector<Place> thinner() const, shorter() const, alike() const;

  const Machine &mesh;
  PlanningCache &cache;
  const int64_t code;
  function_ref<wse::ProgramOp(RegionShape)> select;
  const std::vector<int64_t> widths, heights;
  std::map<Place, std::optional<ShapeEstimate>> known;
};

} // namespace

std::vector<int64_t> CallRegion::sides(int64_t most) {
  std::vector<int64_t> result;
  for (double side = double(most); side >= 1; side /= std::sqrt(2.0))
    if (result.empty() || int64_t(side) < result.back())
      result.push_back(int64_t(side));
  return result;
}

/// Bytes of a PE for what the kernels of all entries will hold on a region:
/// what several read alike stays once.
static int64_t heldBytes(wse::ProgramOp program,
                         ArrayRef<wse::KernelOp> kernels,
                         const Machine &region) {
  SmallVector<int> variants;
  {
    const AssumeResident resident(program, kernels);
    for (wse::KernelOp kernel : kernels)
      variants.push_back(wse::allWeights(kernel).empty()
                             ? 0
                             : holdingOffer(kernel, region).variant);
  }
  int64_t bytes = 0;
  llvm::DenseSet<std::pair<Attribute, Type>> counted; // looked up only
  for (auto [kernel, variant] : llvm::zip_equal(kernels, variants))
    for (wse::WeightAttr weight : wse::allWeights(kernel))
      if (auto held = findKernel(kernel)->held(kernel, variant, weight, region);
          held && isStreamedConstant(kernel, weight) &&
          counted.insert({weight, held->type}).second)
        bytes += wse::DistAttr::heldBytesPerPE(held->type, region.width,
                                               region.height);
  return bytes;
}

ShapeEstimate CallRegion::estimate(wse::ProgramOp program, RegionShape shape) {
  ShapeEstimate all{shape};
  const Machine region = shape.machineOn(mesh);
  const SmallVector<wse::KernelOp> kernels = program.kernels();
  const std::vector<KernelEstimate> each =
      KernelEstimator(mesh, kernels, cache, /*keepWeights=*/true,
                      /*littleScratch=*/false)
          .asTyped(shape);
  int64_t working = 0, states = 0;
  for (const KernelEstimate &its : each) {
    all.cycles += its.cycles;
    working = std::max(working, its.working);
  }
  for (auto state : program.getOps<wse::StateOp>())
    states += wse::DistAttr::heldBytesPerPE(state.getType(), shape.columns,
                                            shape.rows);
  all.fits = working + states + heldBytes(program, kernels, region) <=
             roomForData(region, code);
  return all;
}

const ShapeEstimate *CallRegion::at(Place place) {
  const auto [width, height] = place;
  if (width >= widths.size() || height >= heights.size() ||
      !mesh.roomFor(int(widths[width]), int(heights[height])))
    return nullptr;
  auto [its, isNew] = known.try_emplace(place);
  if (isNew) {
    const RegionShape shape{widths[width], heights[height]};
    if (wse::ProgramOp program = select(shape)) {
      its->second = estimate(program, shape);
      program.erase();
    }
  }
  return its->second ? &*its->second : nullptr;
}

SmallVector<CallRegion::Place> CallRegion::alike() const {
  SmallVector<Place> places;
  for (size_t i = 0; i < std::max(widths.size(), heights.size()); ++i)
    places.emplace_back(std::min(i, widths.size() - 1),
                        std::min(i, heights.size() - 1));
  return places;
}

SmallVector<CallRegion::Place> CallRegion::thinner() const {
  SmallVector<Place> places;
  for (size_t i = 0; i < widths.size(); ++i)
    places.emplace_back(i, 0);
  return places;
}

SmallVector<CallRegion::Place> CallRegion::shorter() const {
  SmallVector<Place> places;
  for (size_t i = 0; i < heights.size(); ++i)
    places.emplace_back(0, i);
  return places;
}

std::optional<CallRegion::Place> CallRegion::bestOf(ArrayRef<Place> places,
                                                    std::optional<Place> best) {
  for (Place place : places) {
    const ShapeEstimate *its = at(place);
    if (!its)
      continue;
    if (!its->fits)
      break;
    if (!best || its->key() < at(*best)->key())
      best = place;
  }
  return best;
}

/// First all shapes like the mesh that hold what stays, and where the whole
/// mesh is no region those along its sides; then from the best of them on to
/// whichever neighbour is better.
std::vector<ShapeEstimate> CallRegion::run() {
  std::optional<Place> best = bestOf(alike());
  if (!at({0, 0}))
    best = bestOf(shorter(), bestOf(thinner(), best));
  for (std::optional<Place> from; best && from != best;) {
    from = best;
    const auto [width, height] = *from;
    for (Place place : {Place(width + 1, height), Place(width - 1, height),
                        Place(width, height + 1), Place(width, height - 1)})
      best = bestOf(place, best);
  }
  std::vector<ShapeEstimate> all;
  for (const auto &[place, its] : known)
    if (its)
      all.push_back(*its);
  // Of those that are all too small the largest.
  llvm::sort(all, [&](const ShapeEstimate &a, const ShapeEstimate &b) {
    auto pes = [&](const ShapeEstimate &its) {
      return best ? 0 : -its.shape.columns * its.shape.rows;
    };
    return std::pair(pes(a), a.key()) < std::pair(pes(b), b.key());
  });
  return all;
}

std::optional<RegionChoice>
select::chooseCallRegion(MLIRContext *context, const Machine &mesh,
                         PlanningCache &cache, int64_t code,
                         function_ref<wse::ProgramOp(RegionShape)> select) {
  std::vector<ShapeEstimate> all = CallRegion(mesh, cache, code, select).run();
  if (all.empty())
    return std::nullopt;
  return choiceOf(context, std::move(all));
}
