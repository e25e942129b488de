// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/plan/TrainingPlanner.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"

#include <algorithm>
#include <utility>

using namespace wsec::plan;

TrainingPlanner::TrainingPlanner(const AskedPlan &asked, int64_t logits,
                                 Tries tries)
    : asked(asked), logits(logits), tries(std::move(tries)), base(asked.plan) {
  if (!asked.asks("logits"))
    base.logits = logits;
}

//===----------------------------------------------------------------------===//
// What a plan takes
//===----------------------------------------------------------------------===//

static int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// What `rest` layers more take than `next` has, which took so many (`step`)
/// more than `less`.
static Trial extrapolate(const Trial &less, const Trial &next, int64_t step,
                         int64_t rest) {
  Trial all = next;
  const double more = double(rest) / double(step);
  if (more <= 0)
    return all;
  all.cycles += more * (next.cycles - less.cycles);
  if (!all.fits)
    return all;
  all.sramBytes += int64_t(
      more * double(std::max<int64_t>(0, next.sramBytes - less.sramBytes)));
  if (all.sramBytes > all.sramLimit) {
    all.fits = false;
    all.why = "all layers are predicted to take " +
              std::to_string(all.sramBytes) + " bytes of a PE, which has " +
              std::to_string(all.sramLimit);
  }
  return all;
}

Trial TrainingPlanner::predict(const TrainingPlan &plan) {
  const Trial known = considered.empty() ? Trial() : considered.front().its;
  const int64_t layer = std::max<int64_t>(1, known.layer);
  // Layers in which the plan repeats.
  const int64_t unit =
      plan.recompute == "none" ? 1 : ceilDiv(plan.segment, layer);
  const int64_t few = std::max(
      plan.recompute == "none" ? int64_t(2) : 1 + ceilDiv(plan.kept, layer),
      2 * unit);
  if (!considered.empty() && few + unit >= known.layers)
    return tries(plan, 0);
  Trial less = tries(plan, few);
  if (!less.fits || few >= less.layers) // nor do more, or there are no more
    return less;
  for (int64_t tried = few, step = unit;; tried += step, step *= 2) {
    if (tried + step >= less.layers)
      return tries(plan, 0);
    Trial next = tries(plan, tried + step);
    if (next.isBroken)
      return next;
    Trial all = extrapolate(less, next, step, next.layers - tried - step);
    // The first layers bring code that later ones share: more of them are
    // tried before what would be the fastest is given up.
    const Considered *fastest = best();
    if (all.fits || !next.fits ||
        (fastest && all.cycles >= fastest->its.cycles))
      return all;
    less = std::move(next);
  }
}

const Trial &TrainingPlanner::consider(const TrainingPlan &plan) {
  for (const Considered &other : considered)
    if (other.plan == plan)
      return other.its;
  Trial its = predict(plan);
  considered.push_back({plan, std::move(its)});
  return considered.back().its;
}

const Considered *TrainingPlanner::best() const {
  const Considered *best = nullptr;
  for (const Considered &its : considered)
    if (its.its.fits && (!best || isBetter(its.its, best->its)))
      best = &its;
  return best;
}

bool TrainingPlanner::isBroken() const {
  return llvm::all_of(considered,
                      [](const Considered &its) { return its.its.isBroken; });
}

//===----------------------------------------------------------------------===//
// Which plans
//===----------------------------------------------------------------------===//

bool TrainingPlanner::isAsked(const TrainingPlan &plan) const {
  const auto is = [&](const char *key, const auto TrainingPlan::*value) {
    return !asked.asks(key) || plan.*value == asked.plan.*value;
  };
  return is("recompute", &TrainingPlan::recompute) &&
         is("attention", &TrainingPlan::attention) &&
         is("norms", &TrainingPlan::norms);
}

/// Of gradients, where the rest takes as little SRAM as it can.
void TrainingPlanner::chooseKernels() {
  // The first one tells whether there are such kernels.
  const auto differs = [&](const TrainingPlan &plan) {
    if (considered.empty())
      return true;
    const Considered &first = considered.front();
    return (plan.attention == first.plan.attention || first.its.attentions) &&
           (plan.norms == first.plan.norms || first.its.norms);
  };
  for (int64_t tile : {base.logits, base.logits / 2, base.logits / 4}) {
    for (const char *attention : {"kernel", "products"})
      for (const char *norms : {"kernel", "kernels"}) {
        TrainingPlan plan = base;
        plan.attention = attention;
        plan.norms = norms;
        plan.logits = tile;
        if (!isAsked(plan) || !differs(plan))
          continue;
        consider(plan);
      }
    if (best() || isBroken() || tile < 2 || asked.asks("logits"))
      break;
  }
  const Considered *fits = best();
  // Of one that is broken, or lacks something else, no bytes are known.
  auto lacks = [](const Considered &plan) {
    const int64_t bytes = plan.its.asked;
    return bytes > 0 ? bytes : std::numeric_limits<int64_t>::max();
  };
  base = (fits ? *fits : *llvm::min_element(considered, [&](auto &a, auto &b) {
           return lacks(a) < lacks(b);
         })).plan;
}

/// From all at once down to the first that fit.
void TrainingPlanner::chooseLogits() {
  if (asked.asks("logits"))
    return;
  TrainingPlan plan = base;
  const double before = consider(base).cycles;
  for (int64_t tile : {int64_t(0), 8 * logits, 4 * logits, 2 * logits}) {
    plan.logits = tile;
    const Trial its = consider(plan);
    if (its.cycles == before)
      return; // there are no more
    if (its.fits)
      break;
  }
}

/// In the order in which one tells of others: what takes more SRAM than one
/// that does not fit need not be tried.
std::vector<TrainingPlan> TrainingPlanner::policies() const {
  std::vector<TrainingPlan> all;
  const auto add = [&](const char *recompute, const char *inputs,
                       int64_t segment) {
    TrainingPlan plan = base;
    plan.recompute = recompute;
    plan.inputs = asked.asks("inputs") ? asked.plan.inputs : inputs;
    plan.segment = asked.asks("segment") ? asked.plan.segment : segment;
    if (isAsked(plan))
      all.push_back(plan);
  };
  if (asked.asks("segment") || asked.asks("kept") || asked.asks("inputs")) {
    for (const char *recompute : {"pieces", "segments"})
      for (const char *inputs : {"store", "wafer"})
        add(recompute, inputs, 1);
  } else {
    add("none", "store", 1);
  }
  add("pieces", "wafer", 1);
  for (const char *inputs : {"store", "wafer"})
    for (int64_t segment = 2; segment < pieces(); segment *= 2)
      add("segments", inputs, segment);
  // Of more than twice the square root both inputs and what is made again grow.
  for (int64_t segment = 2; segment * segment < 4 * pieces(); segment *= 2)
    add("pieces", "wafer", segment);
  return all;
}

/// What takes at least what another one does that has no room, or makes inputs
/// again where the fastest that fits takes less time than to keep them all on
/// the wafer and make them again.
bool TrainingPlanner::cannotWin(const TrainingPlan &plan) const {
  TrainingPlan together = plan, none = plan;
  together.segment = 1;
  none.recompute = "none";
  double forward = 0, kept = 0;
  for (const Considered &other : considered) {
    TrainingPlan same = other.plan;
    same.segment = plan.segment;
    if (plan.recompute == "segments" && same == plan && !other.its.fits)
      return true; // of fewer pieces
    if (other.plan == together)
      kept = other.its.cycles;
    if (other.plan.recompute == "none")
      forward = other.its.cycles;
  }
  if (plan.recompute != "pieces" || plan.segment == 1 || !forward || !kept)
    return false;
  const double again = double(plan.segment - 1) / double(plan.segment);
  const Considered *fastest = best();
  return fastest && kept + again * (kept - forward) > fastest->its.cycles;
}

void TrainingPlanner::choosePolicy() {
  for (const TrainingPlan &plan : policies())
    if (!cannotWin(plan))
      consider(plan);
  const Considered *fastest = best();
  if (!fastest || asked.asks("kept"))
    return;
  // What room is left is for pieces that are not computed again.
  TrainingPlan plan = fastest->plan;
  for (plan.kept = 2; plan.recompute != "none" && plan.kept < pieces();
       plan.kept *= 2)
    if (!consider(plan).fits)
      return;
}

/// What room is left then is for what functions of elements make.
void TrainingPlanner::chooseElements() {
  const Considered *fastest = best();
  if (!fastest || asked.asks("elements"))
    return;
  TrainingPlan plan = fastest->plan;
  plan.elements = "kept";
  consider(plan);
}

bool TrainingPlanner::run() {
  chooseKernels();
  // With some kernels for gradients, and if more than these is to be chosen.
  const bool chooses = asked.asks("auto") && !isBroken();
  if (chooses && best())
    chooseLogits();
  if (const Considered *fits = best())
    base = fits->plan;
  if (chooses) {
    choosePolicy();
    chooseElements();
  }
  // Where none fits, what is said is said of the one that takes the least.
  const bool isNone = !best();
  llvm::sort(considered, [&](const Considered &a, const Considered &b) {
    const auto rank = [&](const Considered &its) {
      return std::tuple(!its.its.fits, isNone && its.plan != base,
                        its.its.fits && its.its.carries, its.its.cycles,
                        its.plan.text());
    };
    return rank(a) < rank(b);
  });
  return !isBroken();
}

//===----------------------------------------------------------------------===//
// For people
//===----------------------------------------------------------------------===//

/// "recompute=none": what another plan has, of one that is known.
static std::string differences(const TrainingPlan &plan,
                               const TrainingPlan &known) {
  llvm::SmallVector<llvm::StringRef> parts, others;
  const std::string text = plan.text(), other = known.text();
  llvm::StringRef(text).split(parts, ',');
  llvm::StringRef(other).split(others, ',');
  llvm::erase_if(parts, [&](llvm::StringRef part) {
    return llvm::is_contained(others, part);
  });
  return llvm::join(parts, ",");
}

void wsec::plan::print(llvm::ArrayRef<Considered> plans,
                       llvm::raw_ostream &os) {
  if (plans.empty())
    return;
  const Considered &chosen = plans.front();
  // Those that carry numbers may take fewer cycles than the chosen one.
  const auto fitting = llvm::count_if(plans, [&](const Considered &its) {
    return its.its.fits && its.its.carries == chosen.its.carries;
  });
  os << "  training       " << chosen.plan.text() << "\n    "
     << llvm::format("%12.0f cycles, %5lld bytes of SRAM", chosen.its.cycles,
                     static_cast<long long>(chosen.its.sramBytes))
     << (fitting > 1 ? ", the fewest cycles of " + std::to_string(fitting) +
                           " plans that fit"
         : fitting   ? ", the only plan of " + std::to_string(plans.size()) +
                           " that fits"
                     : ", and none of " + std::to_string(plans.size()) +
                           " plans is predicted to fit")
     << "\n";
  for (const Considered &other : plans.drop_front()) {
    os << llvm::format("    %12.0f cycles, ", other.its.cycles);
    if (other.its.fits)
      os << llvm::format("%5lld bytes of SRAM",
                         static_cast<long long>(other.its.sramBytes));
    else
      os << "at least, and too little SRAM";
    if (other.its.fits && other.its.carries && !chosen.its.carries)
      os << " where launches carry numbers";
    os << ": " << differences(other.plan, chosen.plan) << "\n";
  }
}
