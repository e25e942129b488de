// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The answer is the cycles of some stage: one of kernels x kernels x widths
// numbers, and of four ways to take and hand over what crosses. Whether all
// stages can be that fast is decided row by row, from left to right, by the
// westernmost column at which the first k kernels end with s stages in the row;
// so the least is found by bisection, and is exact.

#include "compiler/select/StagePartitioner.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <utility>

using namespace wsec;

namespace {

/// Every question looks at all pairs of cuts: a model of more kernels is cut at
/// so many places.
constexpr size_t mostCuts = 1024;

constexpr int64_t none = std::numeric_limits<int64_t>::max();
constexpr size_t notYet = std::numeric_limits<size_t>::max();
constexpr uint16_t widthNotYet = std::numeric_limits<uint16_t>::max();

class Partitioner {
public:
  explicit Partitioner(const StageProblem &problem);

  /// `least`: the cycles within which there is a plan; it is known that there
  /// is none within `tooFew`, and one within `enough` if that is finite.
  std::optional<StagePlan> run(double &least, double tooFew, double enough);
  std::optional<StagePlan> within(double limit);

private:
  /// What crosses at both ends of a stage passes through the store or not.
  struct Ends {
    bool loads = false, stores = false;
  };
  /// The first stages that end at a cut, with so many of them in the last row:
  /// the westernmost column at which they end, and how.
  struct Prefix {
    int64_t column = none;
    size_t width = 0; ///< of the last stage
    size_t from = 0;  ///< the cut that it begins at
  };
  /// How the rows before the one at hand end at a cut.
  struct Turn {
    bool reached = false;
    size_t width = 0, from = 0, inRow = 0; ///< of the last stage
  };
  /// Of one row of stages, [stages][cut]; what turns to the next one, [cut].
  struct Row {
    std::vector<std::vector<Prefix>> prefixes;
    std::vector<Turn> turns;
  };

  /// Sums over [begin, end), with what crosses at both ends.
  double cyclesOf(size_t width, size_t begin, size_t end, Ends ends) const {
    const std::vector<double> &sums = cycleSums[width];
    double all = sums[end] - sums[begin];
    if (begin > 0)
      all += (ends.loads ? problem.loading : problem.entering)[width][begin];
    if (end < count)
      all += (ends.stores ? problem.storing : problem.leaving)[width][end];
    return all;
  }
  bool fits(size_t width, size_t begin, size_t end) const {
    return byteSums[width][end] - byteSums[width][begin] +
               mostWorkingOf(width, begin, end) <=
           problem.room;
  }
  /// Of [begin, end): of two runs of a power of two that cover it.
  int64_t mostWorkingOf(size_t width, size_t begin, size_t end) const {
    const size_t log = 63 - size_t(__builtin_clzll(end - begin));
    const std::vector<int64_t> &runs = mostWorking[width][log];
    return std::max(runs[begin], runs[end - (size_t(1) << log)]);
  }
  bool canCut(size_t at) const {
    return at == 0 || at == count ||
           problem.entering[0][at] < std::numeric_limits<double>::infinity();
  }
  /// The narrowest region on which [begin, end) takes no more than `limit`;
  /// the number of widths if there is none.
  size_t narrowest(size_t begin, size_t end, Ends ends, double limit) const;
  /// The same of cuts, asked for once for a limit.
  size_t widthOf(size_t from, size_t to, Ends ends, double limit);
  /// The cut from which on no stage from `from` ends within the limit, whatever
  /// crosses: kernels only add cycles and bytes. Asked for once, too.
  size_t reachOf(size_t from, double limit);
  /// Whether all PEs together hold what stays of all kernels, each on the
  /// region where that is least. Where they do not there is no plan at all.
  bool heldByAll() const;
  /// Of more than `mostCuts` neighbours share one, where least crosses.
  void thinCuts();
  /// Fills `rows`; the stages in the last one, 0 if it cannot be done.
  size_t solve(double limit);
  size_t fillRow(const std::vector<Turn> &begins, double limit);
  StagePlan plan(size_t stages) const;
  void finish(StagePlan &plan) const;

  const StageProblem &problem;
  const size_t count;
  std::vector<size_t> cuts; // 0, where stages may begin, and the end
  std::vector<std::vector<double>> cycleSums;
  std::vector<std::vector<int64_t>> byteSums;
  /// Of [begin, begin + 2^log): [width][log][begin].
  std::vector<std::vector<std::vector<int64_t>>> mostWorking;
  std::vector<Row> rows;
  std::vector<uint16_t> widths; // of pairs of cuts and ends, or widthNotYet
  std::vector<size_t> reaches;  // of cuts, or notYet
  bool canHold = true;
};

} // namespace

template <typename Number>
static std::vector<std::vector<Number>>
sumsOf(const std::vector<std::vector<Number>> &table) {
  std::vector<std::vector<Number>> sums;
  for (const std::vector<Number> &row : table) {
    std::vector<Number> &its = sums.emplace_back(1, Number(0));
    for (Number number : row)
      its.push_back(its.back() + number);
  }
  return sums;
}

Partitioner::Partitioner(const StageProblem &problem)
    : problem(problem), count(problem.kernelCount()),
      cycleSums(sumsOf(problem.cycles)), byteSums(sumsOf(problem.bytes)) {
  for (const std::vector<int64_t> &row : problem.working) {
    auto &its = mostWorking.emplace_back(1, row);
    for (size_t half = 1; 2 * half <= count; half *= 2) {
      std::vector<int64_t> runs;
      for (size_t begin = 0; begin + 2 * half <= count; ++begin)
        runs.push_back(std::max(its.back()[begin], its.back()[begin + half]));
      its.push_back(std::move(runs));
    }
  }
  for (size_t at = 0; at <= count; ++at)
    if (canCut(at))
      cuts.push_back(at);
  if (cuts.size() > mostCuts)
    thinCuts();
  canHold = heldByAll();
  assert(problem.widths.size() < widthNotYet);
}

void Partitioner::thinCuts() {
  auto crossing = [&](size_t at) {
    return problem.leaving[0][at] + problem.entering[0][at];
  };
  std::vector<size_t> kept{cuts.front()};
  const size_t between = cuts.size() - 2, groups = mostCuts - 2;
  for (size_t group = 0; group < groups; ++group) {
    const auto begin = cuts.begin() + int64_t(1 + group * between / groups),
               end = cuts.begin() + int64_t(1 + (group + 1) * between / groups);
    kept.push_back(*std::min_element(begin, end, [&](size_t a, size_t b) {
      return crossing(a) < crossing(b);
    }));
  }
  kept.push_back(cuts.back());
  cuts = std::move(kept);
}

size_t Partitioner::narrowest(size_t begin, size_t end, Ends ends,
                              double limit) const {
  size_t width = 0;
  while (
      width < problem.widths.size() &&
      (cyclesOf(width, begin, end, ends) > limit || !fits(width, begin, end)))
    ++width;
  return width;
}

size_t Partitioner::widthOf(size_t from, size_t to, Ends ends, double limit) {
  uint16_t &width =
      widths[((from * cuts.size() + to) * 2 + ends.loads) * 2 + ends.stores];
  if (width == widthNotYet)
    width = uint16_t(narrowest(cuts[from], cuts[to], ends, limit));
  return width;
}

size_t Partitioner::reachOf(size_t from, double limit) {
  size_t &reach = reaches[from];
  if (reach != notYet)
    return reach;
  auto isPossible = [&](size_t to) {
    for (size_t width = 0; width < problem.widths.size(); ++width)
      if (cycleSums[width][cuts[to]] - cycleSums[width][cuts[from]] <= limit &&
          fits(width, cuts[from], cuts[to]))
        return true;
    return false;
  };
  for (reach = from + 1; reach < cuts.size() && isPossible(reach);)
    ++reach;
  return reach;
}

bool Partitioner::heldByAll() const {
  double needed = 0, has = 0; // bytes in a row of PEs
  for (size_t kernel = 0; kernel < count; ++kernel) {
    double least = std::numeric_limits<double>::infinity();
    for (size_t width = 0; width < problem.widths.size(); ++width)
      least = std::min(least, double(problem.widths[width]) *
                                  double(problem.bytes[width][kernel]));
    needed += least;
  }
  for (const FreeColumns &row : problem.rows)
    has += double(row.count()) * double(problem.room);
  return needed <= has;
}

size_t Partitioner::solve(double limit) {
  rows.clear();
  if (!canHold)
    return 0;
  reaches.assign(cuts.size(), notYet);
  widths.assign(4 * cuts.size() * cuts.size(), widthNotYet);
  std::vector<Turn> begins(cuts.size());
  begins[0].reached = true;
  for (size_t row = 0; row < problem.rows.size(); ++row) {
    if (size_t stages = fillRow(begins, limit))
      return stages;
    begins = rows.back().turns;
  }
  return 0;
}

size_t Partitioner::fillRow(const std::vector<Turn> &begins, double limit) {
  const bool isFirst = rows.empty(),
             isLast = rows.size() + 1 == problem.rows.size();
  const FreeColumns &free = problem.rows[rows.size()];
  Row &row = rows.emplace_back();
  row.turns.resize(cuts.size());
  row.prefixes.assign(1, std::vector<Prefix>(cuts.size()));
  for (size_t cut = 0; cut < cuts.size(); ++cut)
    if (begins[cut].reached)
      row.prefixes[0][cut].column = 0;
  std::vector<int64_t> westernmost(cuts.size(), none);
  const size_t stages = std::min(problem.mostStages, count);
  for (size_t s = 1; s <= stages; ++s) {
    std::vector<Prefix> next(cuts.size());
    for (size_t from = 0; from < cuts.size(); ++from) {
      const int64_t before = row.prefixes.back()[from].column;
      if (before == none)
        continue;
      const size_t end = reachOf(from, limit);
      for (size_t to = from + 1; to < end; ++to)
        for (bool stores : {false, true}) {
          if (stores &&
              (isLast || to + 1 == cuts.size() || row.turns[to].reached))
            continue;
          const size_t width =
              widthOf(from, to, {s == 1 && !isFirst, stores}, limit);
          if (width == problem.widths.size())
            continue;
          const int64_t columns = problem.widths[width];
          const std::optional<int64_t> at = free.firstFor(columns, before);
          if (!at)
            continue;
          if (stores)
            row.turns[to] = {true, width, from, s};
          else if (*at + columns < next[to].column)
            next[to] = {*at + columns, width, from};
        }
    }
    if (next.back().column != none) {
      row.prefixes.push_back(std::move(next));
      return s;
    }
    // What fewer stages end as far west is of no more use.
    bool goesOn = false;
    for (size_t cut = 0; cut < cuts.size(); ++cut) {
      if (next[cut].column >= westernmost[cut])
        next[cut].column = none;
      else
        westernmost[cut] = next[cut].column;
      goesOn |= next[cut].column != none;
    }
    row.prefixes.push_back(std::move(next));
    if (!goesOn)
      break;
  }
  return 0;
}

StagePlan Partitioner::plan(size_t stages) const {
  StagePlan plan;
  size_t cut = cuts.size() - 1;
  for (size_t row = rows.size(); row-- > 0;) {
    for (size_t s = stages; s > 0; --s) {
      const Prefix &its = rows[row].prefixes[s][cut];
      plan.stages.push_back(
          {cuts[its.from], cuts[cut], its.width, s == 1 && row > 0});
      cut = its.from;
    }
    if (row == 0)
      break;
    const Turn &turn = rows[row - 1].turns[cut];
    stages = turn.inRow - 1;
    plan.stages.push_back(
        {cuts[turn.from], cuts[cut], turn.width, stages == 0 && row > 1});
    cut = turn.from;
  }
  std::reverse(plan.stages.begin(), plan.stages.end());
  finish(plan);
  return plan;
}

/// Fills in the cycles.
void Partitioner::finish(StagePlan &plan) const {
  for (size_t i = 0; i < plan.stages.size(); ++i) {
    const double its = problem.cyclesOf(
        plan.stages[i], i + 1 < plan.stages.size() && plan.stages[i + 1].turns);
    plan.cycles = std::max(plan.cycles, its);
    plan.latency += its;
  }
}

std::optional<StagePlan> Partitioner::within(double limit) {
  const size_t stages = solve(limit);
  return stages ? std::optional(plan(stages)) : std::nullopt;
}

/// Sums of another order than those of `cyclesOf` are no more than that.
static double roundedUp(double cycles) { return cycles * (1 + 1e-9); }

std::optional<StagePlan> Partitioner::run(double &least, double tooFew,
                                          double enough) {
  if (std::isinf(enough)) {
    const size_t stages = solve(std::numeric_limits<double>::max());
    if (stages == 0)
      return std::nullopt;
    enough = roundedUp(plan(stages).cycles);
  }
  // Halving what the least may be leaves few numbers to look at one by one.
  while (enough - std::max(tooFew, 0.0) > 1e-3 * enough) {
    const double middle = (std::max(tooFew, 0.0) + enough) / 2;
    if (const size_t stages = solve(middle))
      enough = std::min(middle, roundedUp(plan(stages).cycles));
    else
      tooFew = middle;
  }
  auto hasRoom = [&](int64_t columns) {
    return std::any_of(
        problem.rows.begin(), problem.rows.end(),
        [&](const FreeColumns &row) { return row.firstFor(columns, 0); });
  };
  std::vector<double> limits;
  const int ways = problem.rows.size() > 1 ? 4 : 1;
  for (size_t width = 0; width < problem.widths.size(); ++width)
    if (hasRoom(problem.widths[width]))
      for (size_t from = 0; from < cuts.size(); ++from)
        for (size_t to = from + 1; to < cuts.size(); ++to) {
          if (cycleSums[width][cuts[to]] - cycleSums[width][cuts[from]] >
              enough)
            break;
          for (int way = 0; way < ways; ++way)
            if (const double its = cyclesOf(width, cuts[from], cuts[to],
                                            {way % 2 == 1, way / 2 == 1});
                its > tooFew && its <= enough)
              limits.push_back(its);
        }
  if (limits.empty())
    return std::nullopt;
  // The least is one of [low, high]; the others are not put in order.
  size_t low = 0, high = limits.size() - 1;
  while (low < high) {
    const size_t middle = (low + high) / 2;
    std::nth_element(limits.begin() + int64_t(low),
                     limits.begin() + int64_t(middle),
                     limits.begin() + int64_t(high) + 1);
    if (solve(limits[middle]))
      high = middle;
    else
      low = middle + 1;
  }
  least = limits[low];
  return within(least);
}

std::optional<StagePlan> wsec::partitionStages(const StageProblem &problem) {
  double least = 0;
  return Partitioner(problem).run(least, -1,
                                  std::numeric_limits<double>::infinity());
}

bool StageChoice::hasPlan(StageAnswers &known) const {
  if (!known.hasPlan) {
    const StageProblem its = problem(count);
    known.hasPlan =
        its.check().empty() &&
        Partitioner(its).within(std::numeric_limits<double>::max()).has_value();
  }
  return *known.hasPlan;
}

/// Asks for the least cycles, or only whether the limit is below these.
void StageChoice::solve(StageAnswers &known) const {
  constexpr double never = std::numeric_limits<double>::infinity();
  const StageProblem its = problem(count);
  if (!its.check().empty()) {
    known.least = never;
    return;
  }
  Partitioner partitioner(its);
  // One that is too slow is known by one question, not by the least of all.
  if (fewest < never && !partitioner.within(limit())) {
    known.tooFew = limit();
    return;
  }
  known.least = never;
  known.fastest = partitioner.run(*known.least, known.tooFew, limit());
  assert((!known.fastest || its.verify(*known.fastest).empty()) &&
         "a plan breaks no rule");
}

void StageChoice::add(StageAnswers &known) {
  if (!known.least && known.tooFew < limit())
    solve(known);
  const size_t number = count++;
  if (!known.fastest || !isPossible(*known.fastest))
    return;
  candidates.push_back({number, *known.fastest});
  StagePlan &plan = candidates.back().fastest;
  finish(number, plan);
  fewest = std::min(fewest, measureOf(plan));
  candidates.erase(std::remove_if(candidates.begin(), candidates.end(),
                                  [&](const Candidate &each) {
                                    return each.fastest.cycles > limit();
                                  }),
                   candidates.end());
}

std::optional<StageChoice::Chosen> StageChoice::best() const {
  std::optional<Chosen> best;
  auto keyOf = [&](const StagePlan &plan) {
    return std::pair(samples ? plan.cyclesOf(samples) : plan.latency,
                     plan.cycles);
  };
  auto consider = [&](const Candidate &candidate, const StagePlan &plan) {
    if (isPossible(plan) && (!best || keyOf(plan) < keyOf(best->plan)))
      best = {candidate.number, plan};
  };
  for (const Candidate &each : candidates) {
    consider(each, each.fastest);
    // None at the very limit, where sums of another order are rounded up.
    const StageProblem its = problem(each.number);
    if (auto plan = Partitioner(its).within(limit())) {
      finish(each.number, *plan);
      consider(each, *plan);
    }
  }
  return best;
}
