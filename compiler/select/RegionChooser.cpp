// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The distributions of a program are functions of the height of its region, and
// costs of the types and the region alone. So a shape is tried by giving all
// values the types they would have; layers that are alike are asked once.
// First all widths at full height, where all channels are, then heights for the
// best of these.

#include "compiler/select/RegionChooser.h"
#include "compiler/select/HeldWeights.h"
#include "compiler/select/KernelChoice.h"

#include "llvm/ADT/MapVector.h"

#include <cmath>

using namespace mlir;
using namespace wsec;
using namespace wsec::select;
using wse::TokenTiling;

namespace {

/// Kernels whose costs are equal on every region.
struct KernelClass {
  size_t number; ///< in the cache
  wse::KernelOp first;
  double count = 0;
};

using Candidate = ShapeEstimate;

/// The types that results of some kernels have on a region.
class ShapeTypes {
public:
  /// The kernels are on the whole mesh.
  explicit ShapeTypes(ArrayRef<wse::KernelOp> kernels);
  void retype(RegionShape shape) const;
  int64_t headSize() const { return leastHeadSize; }
  ArrayRef<std::pair<Value, RankedTensorType>> onMesh() const { return values; }

private:
  int64_t headColumns(TokenTiling tiling, int64_t features,
                      int64_t columns) const;

  SmallVector<std::pair<Value, RankedTensorType>> values;
  int64_t leastHeadSize = 0; ///< 0: there are no heads, or all stay whole
};

} // namespace

class select::RegionChooser {
public:
  RegionChooser(const Machine &mesh, ArrayRef<wse::KernelOp> kernels,
                PlanningCache &cache, bool keepWeights = false,
                ScratchLimits limits = {});
  std::vector<ShapeEstimate> estimateAll(size_t widthsAtAllHeights, int bands);
  std::vector<KernelEstimate> estimateEach(RegionShape shape);
  /// The same of values as they are, which were selected for that shape.
  std::vector<KernelEstimate> estimateAsTyped(RegionShape shape);
  /// `shape` with heads as they cost least.
  RegionShape chooseHeads(RegionShape shape);
  void retype(RegionShape shape) { types.retype(shape); }

private:
  void estimateCycles(RegionShape shape, Candidate &candidate);
  /// Bytes of the tensors that live while each kernel runs, and its scratch.
  std::vector<int64_t> working(const Machine &region) const;
  KernelEstimate estimate(wse::KernelOp kernel, const Machine &region) const;
  int64_t bytesOf(Value value, const Machine &region) const;
  Candidate estimate(RegionShape shape);
  /// Each kernel, on the shape at hand.
  std::vector<KernelEstimate> estimated() const;
  void tryShape(int64_t columns, int64_t rows);
  std::vector<int64_t> widths() const;
  std::vector<int64_t> heights() const;

  Machine mesh;
  SmallVector<wse::KernelOp> kernels;
  PlanningCache &cache;
  std::vector<KernelClass> classes;
  SmallVector<size_t> classOf; // of each kernel
  const ShapeTypes types;
  /// Values that live from a kernel on, and those that do up to it.
  struct Lives {
    SmallVector<Value, 1> born, dead;
  };
  std::vector<Lives> lives;      // of each kernel
  llvm::DenseSet<Value> leaving; // results that only leave the wafer
  // Of the shape at hand.
  std::vector<KernelEstimate> estimates; ///< by class; working: scratch
  std::vector<int64_t> bytes;            ///< working(), by kernel
  const bool keepWeights;
  std::optional<AssumeResident> resident; ///< with `keepWeights`
  const ScratchLimits limits;
  const int64_t code; ///< bytes of a PE; 0: not known
  std::vector<Candidate> candidates;
};

ShapeTypes::ShapeTypes(ArrayRef<wse::KernelOp> kernels) {
  for (wse::KernelOp kernel : kernels)
    for (Value result : kernel->getResults()) {
      auto type = cast<RankedTensorType>(result.getType());
      values.emplace_back(result, type);
      if (TokenTiling tiling = TokenTiling::of(type);
          tiling.getColumns() == wse::ColumnPlacement::Heads)
        leastHeadSize = leastHeadSize
                            ? std::min(leastHeadSize, tiling.getHeadSize())
                            : tiling.getHeadSize();
    }
  if (leastHeadSize && llvm::any_of(kernels, [](wse::KernelOp kernel) {
        return findKernel(kernel)->needsWholeHeads(kernel);
      }))
    leastHeadSize = 0;
}

/// Columns of each head of a tensor, of those that there are for it: no more
/// than any head has features, so that all tensors of an attention agree.
int64_t ShapeTypes::headColumns(TokenTiling tiling, int64_t features,
                                int64_t columns) const {
  if (tiling.getColumns() != wse::ColumnPlacement::Heads)
    return 1;
  int64_t heads = features / tiling.getHeadSize();
  return std::clamp<int64_t>(columns / heads, 1, leastHeadSize);
}

/// A distribution as it is over so many rows. Copies are in the rows of other
/// tensors, which are all of either height where they fill it.
static TokenTiling overRows(TokenTiling tiling, int64_t rows,
                            int64_t headColumns) {
  const int64_t most = std::max<int64_t>(1, tiling.group(rows));
  return tiling.withCopies(std::min(tiling.getCopies(), most))
      .withHeadColumns(headColumns);
}

void ShapeTypes::retype(RegionShape shape) const {
  llvm::DenseMap<Type, Type> known;
  for (auto [value, type] : values) {
    Type &other = known[type];
    if (!other) {
      TokenTiling tiling = TokenTiling::of(type);
      int64_t columns =
          shape.spreadHeads
              ? headColumns(tiling, type.getShape().back(), shape.columns)
              : 1;
      other = overRows(tiling, shape.rows, columns)
                  .type(type.getShape(), type.getElementType());
    }
    value.setType(other);
  }
}

RegionChooser::RegionChooser(const Machine &mesh,
                             ArrayRef<wse::KernelOp> kernels,
                             PlanningCache &cache, bool keepWeights,
                             ScratchLimits limits)
    : mesh(mesh), kernels(kernels), cache(cache), types(this->kernels),
      keepWeights(keepWeights), limits(limits), code(limits.code) {
  if (keepWeights && !kernels.empty())
    resident.emplace(this->kernels.front()->getParentOfType<wse::ProgramOp>(),
                     kernels);
  const bool packs =
      !kernels.empty() &&
      packsWeights(this->kernels.front()->getParentOfType<wse::ProgramOp>());
  llvm::DenseMap<Value, size_t> lastUse;
  llvm::DenseMap<size_t, size_t> known; // class by number
  for (auto [index, kernel] : llvm::enumerate(this->kernels)) {
    const size_t number = cache.numberOf(costKey(kernel, packs));
    const size_t its = known.try_emplace(number, classes.size()).first->second;
    if (its == classes.size())
      classes.push_back({number, kernel});
    ++classes[its].count;
    classOf.push_back(its);
    for (Value operand : kernel->getOperands())
      lastUse[operand] = index;
    for (Value result : kernel->getResults()) {
      lastUse[result] = index;
      if (findKernel(kernel)->leavesInPieces() &&
          llvm::all_of(result.getUsers(), [](Operation *user) {
            return user->getNumResults() == 0;
          }))
        leaving.insert(result);
    }
  }
  for (auto [index, kernel] : llvm::enumerate(this->kernels)) {
    Lives &its = lives.emplace_back();
    llvm::append_range(its.born, kernel->getResults());
    SmallVector<Value> used(kernel->getOperands());
    llvm::append_range(used, kernel->getResults());
    for (Value value : used)
      if (lastUse.lookup(value) == index &&
          !llvm::is_contained(its.dead, value))
        its.dead.push_back(value);
  }
}

/// Kernels that are alike share code, but not where they read what stays:
/// bytes of a routine, 500 on the average of a GPT-2's products and norms.
static constexpr int64_t codeOfHolder = 512;

/// In its best variant; `working` is its scratch alone.
KernelEstimate RegionChooser::estimate(wse::KernelOp kernel,
                                       const Machine &region) const {
  const Kernel *library = findKernel(kernel);
  KernelEstimate estimate;
  if (!keepWeights || wse::allWeights(kernel).empty()) {
    SmallVector<Offer> offers = library->offers(kernel, region);
    // Whether streams leave colors is not known yet.
    llvm::erase_if(offers, [](const Offer &its) { return its.addsColor; });
    const Offer &offer =
        *cheapestOffer(kernel, offers, region, {}, limits).offer;
    estimate.stream = offer.cost.stream;
    estimate.cycles = offer.cost.total();
    estimate.working = offer.scratchBytes;
    return estimate;
  }
  const Offer offer = holdingOffer(kernel, region, limits);
  estimate.stream = offer.cost.stream;
  estimate.cycles = offer.cost.total();
  estimate.working = offer.scratchBytes;
  const HeldAmount held = heldAmount(kernel, offer.variant, region);
  estimate.held = held.bytes ? held.bytes + codeOfHolder : 0;
  estimate.weights = held.bytes;
  estimate.loaded = held.elements;
  return estimate;
}

/// Values have their types on that shape.
void RegionChooser::estimateCycles(RegionShape shape, Candidate &candidate) {
  const Machine region = shape.machineOn(mesh);
  PlanningCache::Estimates &known = cache.estimates(
      {shape, types.headSize(), keepWeights, limits.littleScratch, code});
  estimates.clear();
  candidate.cycles = startCycles(region, /*streams=*/true);
  for (const KernelClass &kernels : classes) {
    std::optional<KernelEstimate> &its = known[kernels.number];
    if (!its)
      its = estimate(kernels.first, region);
    candidate.cycles += kernels.count * its->cycles;
    candidate.stream += kernels.count * its->stream;
    estimates.push_back(*its);
  }
}

/// A result that only leaves the wafer is cut to fit.
int64_t RegionChooser::bytesOf(Value value, const Machine &region) const {
  const int64_t bytes = bytesPerPE(value.getType(), region);
  return leaving.contains(value)
             ? std::min(bytes,
                        roomForOutput(value.getDefiningOp()->getOperand(0),
                                      region, code))
             : bytes;
}

/// Code of a PE, where it is not known.
static constexpr int64_t codeGuess = 10240;

int64_t select::roomForData(const Machine &region, int64_t code) {
  return (region.usableBytes() - (code ? code : codeGuess)) / 8 * 7;
}

std::vector<int64_t> RegionChooser::working(const Machine &region) const {
  // What leaves is cut by how large the operand is that it is made of.
  llvm::DenseMap<std::pair<Type, Type>, int64_t> byType;
  auto bytes = [&](Value value) {
    Type operand = leaving.contains(value)
                       ? value.getDefiningOp()->getOperand(0).getType()
                       : Type();
    auto [known, isNew] = byType.try_emplace({value.getType(), operand}, 0);
    if (isNew)
      known->second = bytesOf(value, region);
    return known->second;
  };
  std::vector<int64_t> each;
  int64_t live = 0;
  for (auto [its, kernelClass] : llvm::zip_equal(lives, classOf)) {
    for (Value value : its.born)
      live += bytes(value);
    each.push_back(live + estimates[kernelClass].working);
    for (Value value : its.dead)
      live -= bytes(value);
  }
  return each;
}

Candidate RegionChooser::estimate(RegionShape shape) {
  types.retype(shape);
  const Machine region = shape.machineOn(mesh);
  Candidate candidate;
  candidate.shape = shape;
  estimateCycles(shape, candidate);
  bytes = working(region);
  candidate.fits = llvm::all_of(
      bytes, [&](int64_t its) { return its <= roomForData(region, code); });
  return candidate;
}

RegionShape RegionChooser::chooseHeads(RegionShape shape) {
  if (!types.headSize())
    return shape;
  RegionShape other = shape;
  other.spreadHeads = true;
  const Candidate spread = estimate(other), together = estimate(shape);
  return spread.key() < together.key() ? other : shape;
}

std::vector<KernelEstimate> RegionChooser::estimateEach(RegionShape shape) {
  const RegionShape heads = chooseHeads(shape);
  // What was asked last, if heads stay together.
  if (!types.headSize() || heads.spreadHeads)
    estimate(heads);
  retype({mesh.width, mesh.height});
  return estimated();
}

std::vector<KernelEstimate> RegionChooser::estimateAsTyped(RegionShape shape) {
  Candidate candidate;
  estimateCycles(shape, candidate);
  bytes = working(shape.machineOn(mesh));
  return estimated();
}

std::vector<KernelEstimate> RegionChooser::estimated() const {
  std::vector<KernelEstimate> each;
  for (auto [kernelClass, its] : llvm::zip_equal(classOf, bytes)) {
    each.push_back(estimates[kernelClass]);
    each.back().working = its;
  }
  return each;
}

void RegionChooser::tryShape(int64_t columns, int64_t rows) {
  // As tall as there is room between what is kept out: words pass the rows of a
  // region from side to side, so better where these are free on all of the
  // mesh.
  const bool anyRow = mesh.roomFor(mesh.width, 1).has_value();
  const int64_t free = anyRow ? mesh.width : columns;
  while (rows > 0 && !mesh.roomFor(int(free), int(rows)))
    --rows;
  if (rows == 0)
    return;
  if (llvm::any_of(candidates, [&](const Candidate &candidate) {
        return candidate.shape.columns == columns &&
               candidate.shape.rows == rows;
      }))
    return;
  Candidate &candidate =
      candidates.emplace_back(estimate(chooseHeads({columns, rows})));
  // What does not fit the whole mesh fits nowhere; schedule says so.
  candidate.fits |= columns == mesh.width && rows == mesh.height;
}

/// Down from `most` in steps of about the root of two, each as small as it can
/// be with the same number of `elements` in the fullest part.
static std::vector<int64_t> series(int64_t most, int64_t elements,
                                   size_t count) {
  std::vector<int64_t> result = {most};
  for (double size = double(most); size > 1 && result.size() < count;
       size /= std::sqrt(2.0)) {
    int64_t share = (elements + int64_t(size) - 1) / int64_t(size);
    int64_t parts = (elements + share - 1) / share;
    if (parts < result.back())
      result.push_back(parts);
  }
  return result;
}

/// Elements of the largest matrix among the weights of a kernel.
static int64_t largestMatrix(Operation *kernel) {
  int64_t most = 0;
  for (NamedAttribute attribute : kernel->getAttrs())
    if (auto weight = dyn_cast<wse::WeightAttr>(attribute.getValue()))
      if (weight.getType().getRank() == 2)
        most = std::max(most, weight.getType().getNumElements());
  return most;
}

/// The features of most products, by weights.
std::vector<int64_t> RegionChooser::widths() const {
  llvm::MapVector<int64_t, double> weights;
  for (const KernelClass &kernels : classes)
    for (Value value : kernels.first->getOperands())
      weights[wse::featuresOf(value)] +=
          std::max(1.0, kernels.count * double(largestMatrix(kernels.first)));
  int64_t features = mesh.width;
  double most = 0;
  for (auto [size, weight] : weights)
    if (weight > most)
      std::tie(features, most) = std::make_pair(size, weight);
  return series(mesh.width, features, 16);
}

/// The rows that the tokens of most tensors can share.
std::vector<int64_t> RegionChooser::heights() const {
  llvm::MapVector<int64_t, size_t> uses;
  for (auto &[value, type] : types.onMesh()) {
    TokenTiling tiling = TokenTiling::of(type);
    ++uses[tiling.getBatch() * tiling.getTokens()];
  }
  int64_t tokens = mesh.height;
  size_t most = 0;
  for (auto [size, count] : uses)
    if (count > most)
      std::tie(tokens, most) = std::make_pair(size, count);
  return series(mesh.height, tokens, 8);
}

/// Rows of each of so many bands that begin at channels and have as many of
/// them; 0: there are fewer channels.
static int64_t bandHeight(const Machine &mesh, int bands) {
  const int each = mesh.channelsOfMesh() / bands;
  int64_t rows = each ? mesh.height : 0;
  for (int band = 0; band < bands && each; ++band) {
    const int64_t end =
        band + 1 < bands ? mesh.channelRow((band + 1) * each) : mesh.height;
    rows = std::min(rows, end - mesh.channelRow(band * each));
  }
  return rows;
}

std::vector<ShapeEstimate> RegionChooser::estimateAll(size_t widthsAtAllHeights,
                                                      int bands) {
  for (int64_t columns : widths())
    tryShape(columns, mesh.height);
  if (candidates.empty())
    tryShape(1, mesh.height);
  auto byKey = [](const Candidate &a, const Candidate &b) {
    return a.key() < b.key();
  };
  llvm::sort(candidates, byKey);
  SmallVector<int64_t> best;
  for (const Candidate &candidate :
       ArrayRef(candidates).take_front(widthsAtAllHeights))
    best.push_back(candidate.shape.columns);
  std::vector<int64_t> heights = this->heights();
  for (int count = 2; count <= bands; ++count)
    heights.push_back(bandHeight(mesh, count));
  for (int64_t rows : heights)
    for (int64_t columns : best)
      tryShape(columns, rows);
  retype({mesh.width, mesh.height});
  llvm::sort(candidates, byKey);
  return candidates;
}

static SmallVector<wse::KernelOp> kernelsOf(wse::ProgramOp program) {
  return llvm::to_vector(program.bodyBlock().getOps<wse::KernelOp>());
}

RegionChoice select::choiceOf(MLIRContext *context,
                              std::vector<ShapeEstimate> estimates) {
  Builder builder(context);
  SmallVector<Attribute> list;
  for (const ShapeEstimate &estimate : estimates)
    list.push_back(builder.getDictionaryAttr(
        {builder.getNamedAttr(
             "shape", builder.getDenseI64ArrayAttr(
                          {estimate.shape.columns, estimate.shape.rows})),
         builder.getNamedAttr("cycles",
                              builder.getF64FloatAttr(estimate.cycles)),
         builder.getNamedAttr("fits", builder.getBoolAttr(estimate.fits))}));
  return {estimates.front().shape, estimates.front().cycles,
          std::move(estimates), builder.getArrayAttr(list)};
}

RegionChoice select::chooseRegion(wse::ProgramOp program, PlanningCache &cache,
                                  int64_t code) {
  SmallVector<wse::KernelOp> kernels = kernelsOf(program);
  if (kernels.empty())
    return {{program.meshWidth(), program.meshHeight()},
            0,
            {},
            ArrayAttr::get(program.getContext(), {})};
  return choiceOf(program.getContext(), estimateShapes(program.targetMachine(),
                                                       kernels, cache, code));
}

std::vector<ShapeEstimate>
select::estimateShapes(const Machine &mesh, ArrayRef<wse::KernelOp> kernels,
                       PlanningCache &cache, int64_t code, size_t widths,
                       int bands) {
  return RegionChooser(mesh, kernels, cache, /*keepWeights=*/false, {code})
      .estimateAll(widths, bands);
}

std::vector<std::vector<KernelEstimate>>
select::estimateEach(const Machine &mesh, ArrayRef<wse::KernelOp> kernels,
                     ArrayRef<RegionShape> shapes) {
  PlanningCache cache;
  KernelEstimator estimator(mesh, kernels, cache, /*keepWeights=*/false,
                            /*littleScratch=*/false);
  std::vector<std::vector<KernelEstimate>> estimates;
  for (RegionShape shape : shapes)
    estimates.push_back(estimator.on(shape));
  return estimates;
}

KernelEstimator::KernelEstimator(const Machine &mesh,
                                 ArrayRef<wse::KernelOp> kernels,
                                 PlanningCache &cache, bool keepWeights,
                                 bool littleScratch)
    : chooser(std::make_unique<RegionChooser>(
          mesh, kernels, cache, keepWeights, ScratchLimits{0, littleScratch})) {
}

KernelEstimator::~KernelEstimator() = default;

std::vector<KernelEstimate> KernelEstimator::on(RegionShape shape) {
  return chooser->estimateEach(shape);
}

std::vector<KernelEstimate> KernelEstimator::asTyped(RegionShape shape) {
  return chooser->estimateAsTyped(shape);
}

void select::retype(ArrayRef<wse::KernelOp> kernels, RegionShape shape) {
  ShapeTypes(kernels).retype(shape);
}

RegionShape select::chooseHeads(wse::ProgramOp program, PlanningCache &cache,
                                RegionShape shape) {
  return chooseHeads(program.targetMachine(), kernelsOf(program), cache, shape);
}

RegionShape select::chooseHeads(const Machine &mesh,
                                ArrayRef<wse::KernelOp> kernels,
                                PlanningCache &cache, RegionShape shape,
                                bool keepWeights, bool littleScratch) {
  RegionChooser chooser(mesh, kernels, cache, keepWeights, {0, littleScratch});
  RegionShape chosen = chooser.chooseHeads(shape);
  chooser.retype({mesh.width, mesh.height});
  return chosen;
}

void select::spreadHeads(wse::ProgramOp program, RegionShape shape) {
  retype(kernelsOf(program), shape);
}
