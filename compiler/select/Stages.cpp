// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where a program may be cut: between two kernels of its list, where all that
// is made before and used from there on can be transferred. Words of the host
// come to whoever needs them; what is computed from these alone and cannot be
// transferred, such as a mask that all columns hold, each stage computes for
// itself.
//
//   list     load  norm  q k v  attention  proj  add | norm  up  down  add
//   stages   [ 0                                     ] [ 1                 ]
//   crosses                                        add

#include "compiler/select/Stages.h"
#include "compiler/kernels/Selection.h"
#include "compiler/placement/MeshPlacement.h"
#include "compiler/select/GivenStages.h"
#include "compiler/select/Handovers.h"
#include "compiler/select/StagePartitioner.h"
#include "compiler/select/StageRows.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SetVector.h"

#include <limits>

using namespace mlir;
using namespace wsec;
using namespace wsec::select;

/// Widths that are tried for each stage.
static constexpr int64_t kMostWidths = 32;
/// Rows of stages that heights are tried for.
static constexpr size_t kMostHeights = 16;
/// Elements of weights that stay are loaded once for so many samples, where
/// there are many.
static constexpr int64_t kManySamples = 30;
/// Cycles in which an injector loads an element: it hears each twice, from its
/// channel and as it comes by in the column.
static constexpr double kLoadCycles = 2;
static constexpr double never = std::numeric_limits<double>::infinity();

namespace {

/// What stages are chosen from: all as tall as each other.
struct Setting {
  std::vector<int64_t> widths; ///< that are tried; they ascend
  int64_t rows = 0;
  size_t mostStages = 1; ///< in a row of stages
  std::vector<StageRow> stageRows;
  KeepOptions keep;
  int64_t share = 0; ///< channels that each stage counts on
};

class Stages {
public:
  Stages(wse::ProgramOp program, PlanningCache &cache);
  /// The values that may cross are passed on no more.
  void removeHandovers() {
    estimator.reset();
    handovers.remove();
  }

  /// Heights that are tried, for all stages the same: for 1, 2, ... rows of
  /// stages the greatest that they have room for.
  std::vector<int64_t> heights(bool isClear) const;
  /// The setting in which all have the same share of them.
  Setting evenly(std::vector<int64_t> widths, int64_t rows, size_t mostStages,
                 std::vector<StageRow> stageRows,
                 const KeepOptions &keep) const;
  StageProblem problem(const Setting &setting);
  /// The cycles of a plan with the channels that its stages get.
  void finish(StagePlan &plan, const Setting &setting);
  /// The kernels of a stage, with what they need there.
  llvm::SetVector<Operation *> membersOf(const Stage &stage) const;
  /// How many channels each stage should have, by the words it needs.
  std::vector<int64_t> sharesOf(const StagePlan &plan, const Setting &setting);
  /// Why it cannot be cut before that kernel of the list; empty if it can.
  std::string cutProblem(size_t at) const;
  size_t count() const { return kernels.size(); }
  /// The kernels and regions of each stage: `given`, or with shares of the
  /// channels and heads as they cost least.
  SideBySide spread(const StagePlan &plan, const Setting &setting,
                    const PlacementFile *given = nullptr);

  const PlacementProblem onMesh; ///< no regions

private:
  using Estimates = std::vector<KernelEstimate>;
  /// Of all kernels, where a stage has that width; all settings are of one kind
  /// of `keep`.
  Estimates estimate(const Setting &setting, int64_t width);
  const KernelEstimate &its(const Estimates &estimates,
                            Operation *kernel) const {
    return estimates[places.at(kernel)];
  }

  bool isPrepared(wse::KernelOp kernel) const;
  /// What is prepared for a kernel, sources first.
  llvm::SetVector<Operation *> preparationOf(wse::KernelOp kernel) const;
  double crossingCycles(Value value, RegionShape shape) const;
  /// Fills the rows of a shape; `estimates` are of all kernels.
  void addShape(RegionShape shape, const Estimates &estimates,
                StageProblem &problem) const;
  void prepare(size_t stage, wse::KernelOp kernel,
               llvm::SetVector<Operation *> &members);
  Value transfer(Value value, wse::KernelOp before);

  wse::ProgramOp program;
  PlanningCache &cache;
  const Machine mesh;
  SmallVector<wse::KernelOp> kernels; ///< that are not prepared
  /// Of each, as long as nothing is spread.
  std::vector<llvm::SetVector<Operation *>> preparations;
  /// Results of kernels before that others from there on read.
  std::vector<SmallVector<Value>> crossing;
  std::vector<std::tuple<Value, size_t, size_t>> crossings; ///< from, to
  llvm::DenseMap<Operation *, size_t> numbers;              // looked up only
  Handovers handovers;
  /// Of the prepared kernels the stage that has them, and what other stages
  /// have instead.
  llvm::DenseMap<Operation *, size_t> owner;
  llvm::DenseMap<std::pair<size_t, Operation *>, Operation *> copies;
  std::optional<KernelEstimator> estimator;   ///< until something is spread
  llvm::DenseMap<Operation *, size_t> places; ///< in its estimates
};

} // namespace

static bool canCross(Value value) {
  wse::TokenTiling tiling = wse::TokenTiling::of(value.getType());
  return tiling.splitsRows() &&
         tiling.getColumns() != wse::ColumnPlacement::Replicated;
}

/// Words of the host, or computed of these alone where it is used.
bool Stages::isPrepared(wse::KernelOp kernel) const {
  if (kernel->getNumResults() == 0)
    return false;
  if (kernel->getNumOperands() == 0)
    return llvm::none_of(wse::tensorsRead(kernel), [&](StringAttr name) {
      return isa_and_nonnull<wse::IntermediateOp>(
          SymbolTable::lookupSymbolIn(program, name));
    });
  const bool isOfElements = kernel->getNumRegions() > 0;
  return isOfElements && !canCross(kernel->getResult(0)) &&
         llvm::all_of(kernel->getOperands(), [&](Value operand) {
           return !numbers.contains(operand.getDefiningOp());
         });
}

Stages::Stages(wse::ProgramOp program, PlanningCache &cache)
    : onMesh(placementOn(program.targetMachine())), program(program),
      cache(cache), mesh(program.targetMachine()), handovers(program) {
  for (auto kernel : program.bodyBlock().getOps<wse::KernelOp>()) {
    if (isPrepared(kernel))
      continue;
    numbers[kernel] = kernels.size();
    kernels.push_back(kernel);
  }
  for (wse::KernelOp kernel : kernels)
    preparations.push_back(preparationOf(kernel));
  crossing.resize(kernels.size() + 1);
  for (auto [number, kernel] : llvm::enumerate(kernels))
    for (Value value : kernel->getResults()) {
      size_t last = number;
      for (Operation *user : value.getUsers())
        last = std::max(last, numbers.lookup(user));
      for (size_t at = number + 1; at <= last; ++at)
        crossing[at].push_back(value);
      crossings.emplace_back(value, number + 1, last);
      if (last > number && canCross(value))
        handovers.add(value);
    }
}

std::string Stages::cutProblem(size_t at) const {
  if (at >= kernels.size())
    return "there are " + std::to_string(kernels.size()) + " of them";
  for (Value value : crossing[at])
    if (!canCross(value))
      return "what '" +
             cast<wse::KernelOp>(value.getDefiningOp()).getReportName() +
             "' makes is used from there on, and cannot be transferred";
  return "";
}

std::vector<int64_t> Stages::heights(bool isClear) const {
  std::vector<int64_t> heights;
  for (size_t count = 1; count <= kMostHeights; ++count) {
    int64_t rows = mesh.height / int64_t(count);
    while (rows > 1 &&
           rowsOfStages(onMesh, rows, count, isClear).size() < count)
      --rows;
    if (rows > 1 && (heights.empty() || rows < heights.back()))
      heights.push_back(rows);
  }
  return heights;
}

llvm::SetVector<Operation *> Stages::preparationOf(wse::KernelOp kernel) const {
  SmallVector<Operation *> all;
  SmallVector<Operation *> next = {kernel};
  while (!next.empty())
    for (Value operand : next.pop_back_val()->getOperands()) {
      Operation *producer = operand.getDefiningOp();
      if (numbers.contains(producer))
        continue;
      all.push_back(producer);
      next.push_back(producer);
    }
  llvm::sort(all,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  return {all.begin(), all.end()};
}

double Stages::crossingCycles(Value value, RegionShape shape) const {
  if (!canCross(value))
    return never;
  const auto own = wse::TokenTiling::of(value.getType());
  wse::TokenTiling tiling(own.getBatch(), own.getTokens());
  return double(wse::featuresOf(value) * tiling.tokensPerRowMax(shape.rows)) +
         double(shape.columns) * (mesh.hopCycles + 2 * mesh.rampCycles + 1);
}

void Stages::addShape(RegionShape shape, const Estimates &estimates,
                      StageProblem &problem) const {
  const size_t count = kernels.size();
  // What is prepared for a kernel and for an earlier one, too, is prepared
  // again where a stage begins in between.
  std::vector<double> own(count, 0), again(count + 1, 0);
  std::vector<int64_t> held(count, 0), working(count, 0);
  llvm::DenseMap<Operation *, size_t> lastUse; // looked up only
  for (auto [number, kernel] : llvm::enumerate(kernels)) {
    auto add = [&, number = number](Operation *each) {
      const KernelEstimate &estimate = its(estimates, each);
      held[number] += estimate.held;
      working[number] = std::max(working[number], estimate.working);
      return estimate.cycles;
    };
    own[number] += add(kernel);
    for (Operation *before : preparations[number]) {
      const double cycles = add(before);
      auto [use, isFirst] = lastUse.try_emplace(before, number);
      if (isFirst)
        own[number] += cycles;
      else
        for (size_t at = use->second + 1; at <= number; ++at)
          again[at] += cycles;
      use->second = number;
    }
  }
  std::vector<double> leaving(count, 0), entering(count, 0);
  std::vector<double> storing(count, 0);
  std::vector<double> loading(again.begin(), again.begin() + count);
  for (const auto &[value, first, last] : crossings) {
    const double leaves = crossingCycles(value, shape);
    Operation *store = handovers.storeOf(value);
    const double stores = store ? its(estimates, store).cycles : never;
    const double loads =
        store ? its(estimates, handovers.loadOf(value)).cycles : never;
    for (size_t at = first; at <= last; ++at) {
      leaving[at] += leaves;
      storing[at] += stores;
      loading[at] += loads;
    }
  }
  for (size_t at = 1; at < count; ++at)
    entering[at] = leaving[at] + again[at];
  problem.cycles.push_back(std::move(own));
  problem.leaving.push_back(std::move(leaving));
  problem.entering.push_back(std::move(entering));
  problem.storing.push_back(std::move(storing));
  problem.loading.push_back(std::move(loading));
  problem.bytes.push_back(std::move(held));
  problem.working.push_back(std::move(working));
}

/// Shares of the mesh.
static std::vector<int64_t> widthsOf(const Machine &mesh) {
  std::vector<int64_t> widths;
  for (int64_t i = 1; i <= kMostWidths; ++i)
    if (int64_t width = mesh.width * i / kMostWidths;
        width > (widths.empty() ? 0 : widths.back()))
      widths.push_back(width);
  return widths;
}

Setting Stages::evenly(std::vector<int64_t> widths, int64_t rows,
                       size_t mostStages, std::vector<StageRow> stageRows,
                       const KeepOptions &keep) const {
  const size_t channels = channelsOf(onMesh, rows, stageRows);
  const size_t most = std::min(mostStages, channels);
  return {std::move(widths),    rows, most,
          std::move(stageRows), keep, int64_t(channels / most)};
}

Stages::Estimates Stages::estimate(const Setting &setting, int64_t width) {
  if (!estimator) {
    const auto all =
        llvm::to_vector(program.bodyBlock().getOps<wse::KernelOp>());
    for (auto [place, kernel] : llvm::enumerate(all))
      places[kernel] = place;
    estimator.emplace(mesh, all, cache, setting.keep.weights,
                      setting.keep.spreadCode);
  }
  return estimator->on({width, setting.rows, false, 0, setting.share});
}

StageProblem Stages::problem(const Setting &setting) {
  StageProblem problem;
  const int64_t code = setting.keep.code, count = int64_t(kernels.size());
  // What a kernel adds to the code of its stage, on the average.
  const int64_t codeOfKernel =
      setting.keep.spreadCode ? (code + count - 1) / count : 0;
  problem.room = setting.keep.spreadCode ? mesh.usableBytes() / 8 * 7
                                         : roomForData(mesh, code);
  problem.mostStages = setting.mostStages;
  for (const StageRow &row : setting.stageRows)
    problem.rows.push_back(row.free);
  problem.widths = setting.widths;
  for (int64_t width : problem.widths)
    addShape({width, setting.rows}, estimate(setting, width), problem);
  for (std::vector<int64_t> &bytes : problem.bytes)
    for (int64_t &held : bytes)
      held += codeOfKernel;
  return problem;
}

llvm::SetVector<Operation *> Stages::membersOf(const Stage &stage) const {
  llvm::SetVector<Operation *> members;
  for (size_t k = stage.begin; k < stage.end; ++k) {
    members.insert(kernels[k]);
    members.insert_range(preparationOf(kernels[k]));
  }
  if (stage.turns)
    for (Value value : crossing[stage.begin])
      members.insert(handovers.loadOf(value));
  return members;
}

std::vector<int64_t> Stages::sharesOf(const StagePlan &plan,
                                      const Setting &setting) {
  const int64_t samples =
      setting.keep.samples ? setting.keep.samples : kManySamples;
  std::vector<double> words;
  for (const Stage &stage : plan.stages) {
    const Estimates estimates = estimate(setting, setting.widths[stage.width]);
    double &sum = words.emplace_back(1);
    for (Operation *member : membersOf(stage)) {
      const KernelEstimate &estimate = its(estimates, member);
      // What is stored leaves by the other edge.
      if (!wse::tensorWritten(cast<wse::KernelOp>(member)))
        sum += estimate.stream * double(setting.share);
      sum += double(estimate.loaded) / double(samples);
    }
  }
  std::vector<int64_t> counts;
  for (size_t first = 0; first < words.size();) {
    size_t end = first + 1;
    while (end < words.size() && !plan.stages[end].turns)
      ++end;
    llvm::append_range(
        counts,
        shareOutChannels({words.begin() + first, words.begin() + end},
                         channelsOf(onMesh, setting.rows, setting.stageRows)));
    first = end;
  }
  return counts;
}

void Stages::finish(StagePlan &plan, const Setting &setting) {
  const std::vector<int64_t> shares = sharesOf(plan, setting);
  plan.cycles = plan.latency = plan.load = 0;
  for (size_t i = 0; i < plan.stages.size(); ++i) {
    Stage stage = plan.stages[i];
    Setting own = setting;
    own.share = shares[i];
    own.widths = {setting.widths[stage.width]};
    stage.width = 0;
    const double cycles = problem(own).cyclesOf(
        stage, i + 1 < plan.stages.size() && plan.stages[i + 1].turns);
    plan.cycles = std::max(plan.cycles, cycles);
    plan.latency += cycles;
    const Estimates estimates = estimate(own, own.widths.front());
    double elements = 0;
    for (Operation *member : membersOf(plan.stages[i]))
      elements += double(its(estimates, member).loaded);
    plan.load = std::max(plan.load, kLoadCycles * elements / double(own.share));
  }
}

//===----------------------------------------------------------------------===//
// Spreading
//===----------------------------------------------------------------------===//

/// Gives `kernel` what is prepared for it on its own stage.
void Stages::prepare(size_t stage, wse::KernelOp kernel,
                     llvm::SetVector<Operation *> &members) {
  IRMapping mapping;
  for (Operation *before : preparationOf(kernel)) {
    Operation *its = before;
    if (owner.try_emplace(before, stage).first->second != stage) {
      Operation *&copy = copies[{stage, before}];
      if (!copy) {
        OpBuilder builder(before);
        builder.setInsertionPointAfter(before);
        copy = builder.clone(*before, mapping);
      }
      its = copy;
    }
    for (OpOperand &operand : its->getOpOperands())
      operand.set(mapping.lookupOrDefault(operand.get()));
    mapping.map(before->getResult(0), its->getResult(0));
    members.insert(its);
  }
  for (OpOperand &operand : kernel->getOpOperands())
    operand.set(mapping.lookupOrDefault(operand.get()));
}

Value Stages::transfer(Value value, wse::KernelOp before) {
  OpBuilder builder(before);
  auto producer = cast<wse::KernelOp>(value.getDefiningOp());
  return createKernel<wse::TransferOp>(
      builder, value.getLoc(), producer.getNodeNames(), producer.getRegionRef(),
      value.getType(), value);
}

SideBySide Stages::spread(const StagePlan &plan, const Setting &setting,
                          const PlacementFile *given) {
  SideBySide result;
  result.cycles = plan.cycles;
  const bool hasShares = given && given->regions.front().shareCount > 0;
  const std::vector<int64_t> shares =
      hasShares ? std::vector<int64_t>() : sharesOf(plan, setting);
  estimator.reset();
  int64_t shareBegin = 0, group = 0;
  IRMapping held; // what crossed, where the stage at hand has it
  for (auto [number, stage] : llvm::enumerate(plan.stages)) {
    llvm::SetVector<Operation *> members;
    if (stage.turns) {
      shareBegin = 0;
      ++group;
    }
    if (stage.begin > 0)
      for (Value value : crossing[stage.begin]) {
        Value before = held.lookupOrDefault(value), here;
        if (stage.turns) {
          auto [store, load] =
              handovers.passOn(value, before, kernels[stage.begin]);
          result.parts.back().kernels.push_back(store);
          here = load;
        } else {
          here = transfer(before, kernels[stage.begin]);
        }
        held.map(value, here);
        members.insert(here.getDefiningOp());
      }
    for (size_t k = stage.begin; k < stage.end; ++k) {
      prepare(number, kernels[k], members);
      members.insert(kernels[k]);
    }
    for (size_t k = stage.begin; k < stage.end; ++k)
      for (OpOperand &operand : kernels[k]->getOpOperands())
        if (!members.contains(operand.get().getDefiningOp()))
          operand.set(held.lookupOrDefault(operand.get()));
    RegionPart &part = result.parts.emplace_back();
    for (Operation *member : members)
      part.kernels.push_back(cast<wse::KernelOp>(member));
    llvm::sort(part.kernels, [](wse::KernelOp a, wse::KernelOp b) {
      return a->isBeforeInBlock(b);
    });
    part.role = setting.keep.spreadCode ? wse::RegionRole::Code
                                        : wse::RegionRole::Stage;
    part.firstKernel = int64_t(stage.begin);
    part.group = group;
    PlacementFile::Region region;
    if (given)
      region = given->regions[number];
    region.pes = {0, 0, setting.widths[stage.width], setting.rows};
    if (!hasShares) {
      region.shareBegin = shareBegin;
      region.shareCount = shares[number];
      shareBegin += shares[number];
    }
    part.shape = regionShapeOf(region, mesh, part.kernels, cache,
                               setting.keep.weights, setting.keep.spreadCode);
  }
  removeHandovers();
  return result;
}

bool select::spreadOverStages(wse::ProgramOp program, PlanningCache &cache,
                              size_t mostStages, size_t mostRows, double cycles,
                              const KeepOptions &keep) {
  Stages stages(program, cache);
  const Machine mesh = program.targetMachine();
  std::vector<Setting> settings;
  StageChoice choice(
      [&](size_t number) { return stages.problem(settings[number]); },
      [&](size_t number, StagePlan &plan) {
        stages.finish(plan, settings[number]);
      },
      keep.samples);
  for (int64_t rows : stages.heights(keep.clear)) {
    const std::vector<StageRow> stageRows =
        rowsOfStages(stages.onMesh, rows, mostRows, keep.clear);
    if (stageRows.empty())
      continue;
    const size_t most =
        std::min(mostStages, channelsOf(stages.onMesh, rows, stageRows));
    auto next = [&](size_t count) -> StageAnswers & {
      settings.push_back(
          stages.evenly(widthsOf(mesh), rows, count, stageRows, keep));
      return cache.stages({keep.weights, keep.spreadCode, keep.clear,
                           keep.selected, keep.code, rows, stageRows.size(),
                           settings.back().share, settings.back().mostStages});
    };
    // What SRAM does not hold with the most stages it does not with fewer.
    // Where it holds them nowhere one region is left, or weights have to
    // stream.
    if (keep.weights) {
      const bool holds = choice.hasPlan(next(most));
      settings.pop_back();
      if (!holds)
        continue;
    }
    for (size_t count : stageCounts(most, keep.samples > 0))
      choice.add(next(count));
  }
  const std::optional<StageChoice::Chosen> best = choice.best();
  if (!best || best->plan.stages.size() < 2 ||
      (keep.samples ? best->plan.cyclesOf(keep.samples) / double(keep.samples)
                    : best->plan.cycles) >= cycles)
    return false;
  SideBySide spread = stages.spread(best->plan, settings[best->problem]);
  spreadOverRegions(program, spread);
  return true;
}

LogicalResult select::spreadOverStagesOn(wse::ProgramOp program,
                                         PlanningCache &cache,
                                         const PlacementFile &given,
                                         const KeepOptions &keep) {
  auto refuse = [&] {
    return program.emitError("placement '") << given.path << "': ";
  };
  Stages stages(program, cache);
  const int64_t rows = given.regions.front().pes.rows;
  if (std::string problem = groupsProblem(given); !problem.empty())
    return refuse() << problem;
  std::vector<StageRow> stageRows =
      stageRowsAt(stages.onMesh, beginsOfGroups(given), rows);
  std::vector<int64_t> widths;
  StagePlan plan;
  size_t inRow = 0, mostInRow = 0;
  for (auto [number, region] : llvm::enumerate(given.regions)) {
    const bool turns =
        number > 0 && region.group != given.regions[number - 1].group;
    inRow = turns ? 1 : inRow + 1;
    mostInRow = std::max(mostInRow, inRow);
    if (region.pes.rows != rows)
      return refuse() << "stages of a pipeline exchange along rows and are as "
                         "tall as each other, one has "
                      << rows << " rows, another " << region.pes.rows;
    if (plan.stages.empty()
            ? region.firstKernel != 0
            : region.firstKernel <= int64_t(plan.stages.back().begin))
      return refuse() << "stages have the kernels of the list in order, the "
                         "first from 0 on; region @"
                      << region.name << " begins with " << region.firstKernel;
    const size_t begin = size_t(region.firstKernel);
    if (std::string problem = stages.cutProblem(begin); !problem.empty())
      return refuse() << "region @" << region.name << " begins with kernel "
                      << begin << " of the list: " << problem;
    if (!plan.stages.empty())
      plan.stages.back().end = begin;
    plan.stages.push_back({begin, stages.count(), number, turns});
    widths.push_back(region.pes.columns);
  }
  const size_t channels = channelsOf(stages.onMesh, rows, stageRows);
  if (std::string problem = sharesProblem(given, channels); !problem.empty())
    return refuse() << problem;
  if (mostInRow > channels)
    return refuse() << "there are " << mostInRow
                    << " stages, and their rows have " << channels
                    << " channels, of which each takes one";
  SideBySide choice = stages.spread(
      plan, stages.evenly(widths, rows, mostInRow, std::move(stageRows), keep),
      &given);
  spreadOverRegions(program, choice);
  return success();
}
