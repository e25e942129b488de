// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/plan/NextPlan.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

using namespace wsec::plan;

/// Bytes of a PE that the stages of a pipeline leave to code and gaps, where
/// they turned out too few: at least, from try to try, and at most.
static constexpr int64_t leastCode = 10240, codeStep = 4096, mostCode = 32768;
/// Stages of a pipeline at most, each of which has an I/O channel at least;
/// rows of them; and stages where they are there for their code.
static constexpr int64_t mostStages = 64, mostStageRows = 16,
                         mostStagesOfCode = 6;
/// Kernels that are put on stages for their code, at most: which of them share
/// one is asked for all pairs of cuts.
static constexpr int64_t mostKernelsOfCode = 2000;
/// PEs that could hold all code of those that then have it with numbers
/// carried.
static constexpr int64_t mostCodeOfNumbers = 2;
/// Parts of a model that run side by side, each on a region of its own.
static constexpr int64_t mostParts = 4;

bool Outcome::lacks(Lack of) const {
  return llvm::any_of(shortages,
                      [&](const Shortage &its) { return its.of == of; });
}

static int64_t most(const Shortages &shortages, int64_t Shortage::*of) {
  int64_t most = 0;
  for (const Shortage &its : shortages)
    most = std::max(most, its.*of);
  return most;
}

int64_t Outcome::code() const { return most(shortages, &Shortage::code); }
int64_t Outcome::launch() const { return most(shortages, &Shortage::launch); }

Constraints wsec::plan::firstPlan(const Asked &asked) {
  Constraints plan;
  if (asked.stages) {
    plan.stages = mostStages;
    plan.stageRows = mostStageRows;
  }
  plan.keepWeights = asked.resident;
  plan.whereFaster = asked.stages;
  plan.abreast.assign(mostParts - 1, mostParts);
  return plan;
}

namespace {
/// What a rule decides by. It changes a step that goes from the plan `now`, and
/// says in its note what is not there, or returns false.
struct Situation {
  const Constraints &now;
  const Outcome &outcome;
  const Asked &asked;
  const int64_t regions = outcome.regions;
  const bool noColors = outcome.lacks(Lack::Colors);
  const bool noSram = outcome.lacks(Lack::Sram);
  const bool isFree = !asked.placement;
};
using Rule = bool (*)(const Situation &, Step &);
} // namespace

/// Stages in rows without keep-outs, and if they are that in one row.
static bool otherRows(const Situation &at, Step &to) {
  if (at.now.stages < 2 || at.now.spreadCode || !at.isFree)
    return false;
  if (at.outcome.hasKeepOuts && !at.now.clearRows) {
    to.note = "stages in rows without keep-outs";
    return to.plan.clearRows = true;
  }
  to.note = "stages in one row";
  to.plan.stageRows = 1;
  return at.now.stageRows > 1;
}

/// Streams of regions in several rows pass one another.
static bool rowsForColors(const Situation &at, Step &to) {
  return at.noColors && at.regions > at.outcome.abreast && otherRows(at, to);
}

static bool fewerStages(const Situation &at, Step &to) {
  to.note = "fewer than " + std::to_string(at.regions) + " stages";
  to.plan.stages = at.regions - 1;
  return at.noColors && at.now.stages > 1 && at.isFree &&
         at.regions > (at.asked.resident ? 2 : 1);
}

/// Kernels whose launches have no room take variants with less scratch, down to
/// the least there is; but where weights stay they take those that hold most.
static bool lessScratch(const Situation &at, Step &to) {
  if (at.now.keepWeights)
    return false;
  for (const Shortage &its : at.outcome.shortages)
    for (const ScratchShortage &each : its.scratch) {
      if (each.least >= each.takes)
        continue;
      const int64_t bytes = std::max(each.room, each.least);
      int64_t &most =
          to.plan.scratch.try_emplace(each.kernel, bytes).first->second;
      most = std::min(most, bytes);
    }
  return to.plan.scratch != at.now.scratch;
}

/// The same where they then have room; else there is to be less code first.
static bool scratchThatFits(const Situation &at, Step &to) {
  for (const Shortage &its : at.outcome.shortages)
    for (const ScratchShortage &each : its.scratch)
      if (each.least > each.room)
        return false;
  return lessScratch(at, to);
}

static bool roomForCode(const Situation &at, Step &to) {
  to.plan.code = at.outcome.code();
  return to.plan.code > at.now.code && to.plan.code < at.outcome.usableBytes;
}

static bool roomForGaps(const Situation &at, Step &to) {
  to.plan.code = std::max(at.now.code, leastCode) + codeStep;
  return at.noSram && at.now.keepWeights &&
         (at.regions > 1 || at.outcome.hasEntries) && at.now.code < mostCode &&
         at.isFree;
}

/// But not those of a program with states, which asks for them in each call.
static bool weightsStream(const Situation &at, Step &to) {
  to.note = "weights do not stay on the wafer";
  to.plan.keepWeights = false;
  return at.noSram && at.now.keepWeights && !at.outcome.hasEntries;
}

/// So many regions as these, with as many in a row, or with as little SRAM, are
/// not tried again.
static bool fewerAbreast(const Situation &at, Step &to) {
  if (at.now.abreast[0] == 0 || at.regions < 2 || at.asked.resident ||
      !at.isFree)
    return false;
  const int64_t most = at.noSram ? 0 : at.outcome.abreast - 1;
  for (int64_t count = std::min(at.regions, mostParts); count <= mostParts;
       ++count) {
    int64_t &regions = to.plan.abreast[count - 2];
    regions = std::max<int64_t>(0, std::min(regions - 1, most));
  }
  to.plan.stages = 1;
  return true;
}

static bool fewColors(const Situation &at, Step &to) {
  to.plan.fewColors = true;
  return at.noColors && !at.now.fewColors;
}

/// Where kernels with less scratch have code that leaves no room at all: all of
/// them with what the largest launch leaves to code.
static bool roomForLaunch(const Situation &at, Step &to) {
  to.plan.code = at.outcome.usableBytes - at.outcome.launch();
  to.plan.scratch.clear();
  return !at.now.scratch.empty() && to.plan.code > at.now.code &&
         at.outcome.code() >= at.outcome.usableBytes;
}

static bool oneRegion(const Situation &at, Step &to) {
  to.note = "one region";
  to.plan.stages = 1;
  return at.noColors && at.now.stages > 1 && at.regions > 1 && at.isFree;
}

/// Fewer kernels share out their tokens over half the rows in ways of their
/// own.
static bool halfTheRows(const Situation &at, Step &to) {
  if (at.now.region.empty())
    to.note = "the region has fewer rows";
  to.plan.region = std::to_string(at.outcome.columns) + "x" +
                   std::to_string(at.outcome.rows / 2);
  to.keepsError = true;
  return at.noColors && !at.asked.region && at.isFree && at.outcome.rows > 1;
}

static bool littleScratch(const Situation &at, Step &to) {
  to.plan.abreast.assign(mostParts - 1, 0); // but for a placement that is given
  to.plan.littleScratch = true;
  return at.noSram && !at.now.littleScratch;
}

/// Regions that have the code of their own kernels, where code takes a third of
/// a PE, and no more than the PEs of so many have, beside the buffers of the
/// largest launch, which do not become fewer: two first.
static bool spreadCode(const Situation &at, Step &to) {
  to.note = "kernels on several regions";
  to.keepsError = true;
  to.plan.spreadCode = true;
  to.plan.scratch.clear();
  to.plan.whereFaster = false;
  to.plan.abreast.assign(mostParts - 1, mostParts);
  to.plan.code = to.plan.codeOfOne = at.outcome.code();
  to.plan.region.clear();
  to.plan.stages = 2;
  to.plan.stageRows = 1;
  const int64_t code = at.outcome.code(), bytes = at.outcome.usableBytes;
  const int64_t room = bytes - at.outcome.launch();
  return at.noSram && !at.now.carryNumbers && at.now.codeOfOne == 0 &&
         3 * code > bytes && code < mostStagesOfCode * room &&
         !at.asked.region && !at.asked.codeTogether && at.isFree &&
         !at.outcome.hasEntries && at.outcome.kernels <= mostKernelsOfCode;
}

/// Then with more room for it, as they have unlike shares, then one more.
static bool spreadFurther(const Situation &at, Step &to) {
  if (at.noSram && at.regions > 1 && at.now.code < 2 * at.now.codeOfOne) {
    to.plan.code += at.now.codeOfOne / 4;
    return true;
  }
  ++to.plan.stages;
  to.plan.code = at.now.codeOfOne;
  to.plan.fewColors |= at.noColors;
  return at.now.stages < mostStagesOfCode;
}

/// At last less code, of launches that carry numbers, on one region: then
/// kernels may have as much scratch as at first. Calls of entries with
/// arguments would be too many to prove each.
static bool carryNumbers(const Situation &at, Step &to) {
  const int64_t code = std::max(at.outcome.code(), at.now.codeOfOne);
  to.keepsError = true;
  to.plan.carryNumbers = true;
  to.plan.spreadCode = false; // and never again: its code of one is known
  to.plan.littleScratch = false;
  to.plan.scratch.clear();
  to.plan.code = 0;
  to.plan.stages = 1;
  return at.noSram && !at.now.carryNumbers && !at.asked.resident && at.isFree &&
         3 * code > at.outcome.usableBytes &&
         code < mostCodeOfNumbers * at.outcome.usableBytes &&
         !at.outcome.hasEntries;
}

std::optional<Step> wsec::plan::nextPlan(const Constraints &plan,
                                         const Outcome &outcome,
                                         const Asked &asked) {
  const Situation at = {plan, outcome, asked};
  static constexpr Rule ofPlaces[] = {otherRows},
                        ofCode[] = {spreadFurther, carryNumbers},
                        ofAll[] = {rowsForColors, fewerStages, scratchThatFits,
                                   roomForCode,   roomForGaps, weightsStream,
                                   fewerAbreast,  fewColors,   roomForLaunch,
                                   oneRegion,     halfTheRows, lessScratch,
                                   littleScratch, spreadCode,  carryNumbers};
  // Stages may have no place or no paths, as beside keep-outs.
  const bool isNarrow = !at.noSram && !at.noColors;
  if (outcome.shortages.empty() || (isNarrow && at.regions < 2))
    return std::nullopt;
  for (Rule rule : isNarrow          ? llvm::ArrayRef(ofPlaces)
                   : plan.spreadCode ? llvm::ArrayRef(ofCode)
                                     : llvm::ArrayRef(ofAll))
    if (Step to{plan, "", false}; rule(at, to)) {
      if (!to.note.empty())
        to.note += ": " + outcome.error();
      return to;
    }
  return std::nullopt;
}
