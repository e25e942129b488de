// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/select/CallRegion.h"
#include "compiler/select/HeldWeights.h"

#include "llvm/ADT/MapVector.h"

#include <cmath>
#include <map>

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
  ShapeEstimate estimate(wse::ProgramOp program, RegionShape shape);
  /// That of a width and a height, by their numbers; null: there is none.
  const ShapeEstimate *at(size_t width, size_t height);

  const Machine &mesh;
  PlanningCache &cache;
  const int64_t code;
  function_ref<wse::ProgramOp(RegionShape)> select;
  const std::vector<int64_t> widths, heights;
  std::map<std::pair<size_t, size_t>, ShapeEstimate> known;
};

} // namespace

std::vector<int64_t> CallRegion::sides(int64_t most) {
  std::vector<int64_t> result;
  for (double side = double(most); side >= 1; side /= std::sqrt(2.0))
    if (result.empty() || int64_t(side) < result.back())
      result.push_back(int64_t(side));
  return result;
}

ShapeEstimate CallRegion::estimate(wse::ProgramOp program, RegionShape shape) {
  ShapeEstimate all{shape};
  const Machine region = shape.machineOn(mesh);
  const SmallVector<wse::KernelOp> kernels = program.kernels();
  const std::vector<KernelEstimate> each =
      KernelEstimator(mesh, kernels, cache, /*keepWeights=*/true,
                      /*littleScratch=*/false)
          .asTyped(shape);
  // Entries mostly share what they hold.
  llvm::MapVector<Operation *, int64_t> held;
  int64_t working = 0, states = 0;
  for (auto [kernel, its] : llvm::zip_equal(kernels, each)) {
    all.cycles += its.cycles;
    working = std::max(working, its.working);
    held[kernel->getParentOp()] += its.weights;
  }
  for (auto state : program.getOps<wse::StateOp>())
    states += wse::DistAttr::heldBytesPerPE(state.getType(), shape.columns,
                                            shape.rows);
  int64_t most = 0;
  for (auto [entry, bytes] : held)
    most = std::max(most, bytes);
  all.fits = working + states + most <= roomForData(region, code);
  return all;
}

const ShapeEstimate *CallRegion::at(size_t width, size_t height) {
  if (width >= widths.size() || height >= heights.size() ||
      !mesh.roomFor(int(widths[width]), int(heights[height])))
    return nullptr;
  auto [place, isNew] = known.try_emplace({width, height});
  if (isNew) {
    const RegionShape shape{widths[width], heights[height]};
    place->second = {shape, 0, 0, /*fits=*/false};
    if (wse::ProgramOp program = select(shape)) {
      place->second = estimate(program, shape);
      program.erase();
    }
  }
  return &place->second;
}

/// First all shapes like the mesh that hold what stays, then from the best of
/// them on to whichever neighbour is better.
std::vector<ShapeEstimate> CallRegion::run() {
  std::pair<size_t, size_t> best;
  const ShapeEstimate *least = nullptr;
  for (size_t i = 0; i < std::max(widths.size(), heights.size()); ++i) {
    const std::pair<size_t, size_t> place{std::min(i, widths.size() - 1),
                                          std::min(i, heights.size() - 1)};
    const ShapeEstimate *its = at(place.first, place.second);
    if (!its)
      continue;
    if (!its->fits)
      break;
    if (!least || its->key() < least->key())
      std::tie(best, least) = std::make_pair(place, its);
  }
  for (bool isBetter = least; isBetter;) {
    isBetter = false;
    const auto [width, height] = best;
    for (const auto &[x, y] :
         {std::pair(width + 1, height), std::pair(width - 1, height),
          std::pair(width, height + 1), std::pair(width, height - 1)})
      if (const ShapeEstimate *its = at(x, y);
          its && its->key() < least->key()) {
        std::tie(best, least) = std::make_pair(std::pair(x, y), its);
        isBetter = true;
      }
  }
  std::vector<ShapeEstimate> all;
  for (const auto &[place, its] : known)
    all.push_back(its);
  llvm::sort(all, [](const ShapeEstimate &a, const ShapeEstimate &b) {
    return a.key() < b.key();
  });
  return all;
}

RegionChoice
select::chooseCallRegion(MLIRContext *context, const Machine &mesh,
                         PlanningCache &cache, int64_t code,
                         function_ref<wse::ProgramOp(RegionShape)> select) {
  return choiceOf(context, CallRegion(mesh, cache, code, select).run());
}
