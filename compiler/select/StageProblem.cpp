// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/select/StageProblem.h"

#include <algorithm>
#include <cmath>

using namespace wsec;

double StageProblem::cyclesOf(const Stage &stage, bool nextTurns) const {
  double sum = 0;
  for (size_t k = stage.begin; k < stage.end; ++k)
    sum += cycles[stage.width][k];
  if (stage.begin > 0)
    sum += (stage.turns ? loading : entering)[stage.width][stage.begin];
  if (stage.end < kernelCount())
    sum += (nextTurns ? storing : leaving)[stage.width][stage.end];
  return sum;
}

int64_t StageProblem::bytesOf(const Stage &stage) const {
  int64_t sum = 0, most = 0;
  for (size_t k = stage.begin; k < stage.end; ++k) {
    sum += bytes[stage.width][k];
    most = std::max(most, working[stage.width][k]);
  }
  return sum + most;
}

template <typename Number>
static bool isTable(const std::vector<std::vector<Number>> &table, size_t rows,
                    size_t columns) {
  return table.size() == rows &&
         std::all_of(table.begin(), table.end(), [&](const auto &row) {
           return row.size() == columns &&
                  std::all_of(row.begin(), row.end(),
                              [](Number number) { return number >= 0; });
         });
}

std::string StageProblem::check() const {
  if (kernelCount() == 0)
    return "there are no kernels";
  if (mostStages == 0 || rows.empty())
    return "at least one stage is needed";
  if (!std::is_sorted(widths.begin(), widths.end()) || widths.empty() ||
      widths.front() < 1)
    return "widths are positive, and ascend";
  if (!isTable(cycles, widths.size(), kernelCount()) ||
      !isTable(leaving, widths.size(), kernelCount()) ||
      !isTable(entering, widths.size(), kernelCount()) ||
      (rows.size() > 1 && (!isTable(storing, widths.size(), kernelCount()) ||
                           !isTable(loading, widths.size(), kernelCount()))) ||
      !isTable(bytes, widths.size(), kernelCount()) ||
      !isTable(working, widths.size(), kernelCount()))
    return "each kernel has cycles and bytes on each width, and what leaves "
           "and "
           "enters before it";
  for (const std::vector<double> &row : cycles)
    if (std::any_of(row.begin(), row.end(),
                    [](double number) { return std::isinf(number); }))
      return "cycles are finite";
  return "";
}

static std::string text(size_t number) { return std::to_string(number); }

std::string StageProblem::verify(const StagePlan &plan) const {
  // G1
  size_t next = 0, row = 0, inRow = 0;
  int64_t column = 0;
  for (const Stage &stage : plan.stages) {
    if (stage.begin != next || stage.end <= stage.begin ||
        stage.end > kernelCount())
      return "G1: stage [" + text(stage.begin) + ", " + text(stage.end) +
             ") does not go on at kernel " + text(next) + " of " +
             text(kernelCount());
    const bool isFirst = stage.turns || next == 0;
    next = stage.end;
    row += isFirst;
    inRow = isFirst ? 1 : inRow + 1;
    if (row > rows.size() || inRow > mostStages)
      return "G1: " + text(inRow) + " stages in row " + text(row) +
             ", there may be " + text(mostStages) + " in each of " +
             text(rows.size());
    // G2
    if (stage.width >= widths.size())
      return "G2: there is no width " + text(stage.width);
    const int64_t from = isFirst ? 0 : column;
    const auto at = rows[row - 1].firstFor(widths[stage.width], from);
    if (!at)
      return "G2: no " + std::to_string(widths[stage.width]) +
             " columns are free in row " + text(row) + " from column " +
             std::to_string(from) + " on";
    column = *at + widths[stage.width];
  }
  if (next != kernelCount())
    return "G1: " + text(plan.stages.size()) + " stages have " + text(next) +
           " of " + text(kernelCount()) + " kernels";
  double slowest = 0, all = 0;
  for (size_t i = 0; i < plan.stages.size(); ++i) {
    const Stage &stage = plan.stages[i];
    const double its =
        cyclesOf(stage, i + 1 < plan.stages.size() && plan.stages[i + 1].turns);
    if (std::isinf(its)) // G3
      return "G3: what kernels [" + text(stage.begin) + ", " + text(stage.end) +
             ") take or hand over cannot cross";
    if (bytesOf(stage) > room) // G4
      return "G4: kernels [" + text(stage.begin) + ", " + text(stage.end) +
             ") hold " + std::to_string(bytesOf(stage)) + " bytes in a PE of " +
             std::to_string(room);
    slowest = std::max(slowest, its);
    all += its;
  }
  // G5, but for the order of the sums.
  if (std::abs(slowest - plan.cycles) > 1e-6 * (1 + slowest))
    return "G5: the slowest stage takes " + std::to_string(slowest) +
           " cycles, not " + std::to_string(plan.cycles);
  if (std::abs(all - plan.latency) > 1e-6 * (1 + all))
    return "G5: all stages take " + std::to_string(all) + " cycles, not " +
           std::to_string(plan.latency);
  return "";
}

std::vector<int64_t> wsec::shareOutChannels(const std::vector<double> &words,
                                            size_t channels) {
  std::vector<int64_t> counts(words.size(), 1);
  for (size_t left = channels - words.size(); left > 0; --left) {
    size_t most = 0;
    for (size_t stage = 1; stage < words.size(); ++stage)
      if (words[stage] / double(counts[stage]) >
          words[most] / double(counts[most]))
        most = stage;
    ++counts[most];
  }
  return counts;
}

std::vector<size_t> wsec::stageCounts(size_t most, bool one) {
  std::vector<size_t> counts;
  if (one)
    counts.push_back(1);
  for (double count = 2; size_t(count) < most; count *= std::sqrt(2.0))
    if (counts.empty() || size_t(count) > counts.back())
      counts.push_back(size_t(count));
  if (counts.empty() || most > counts.back())
    counts.push_back(most);
  return counts;
}
