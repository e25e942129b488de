// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/select/PipelinePace.h"
#include "runtime/program/facts/SampleOrder.h"

#include <algorithm>
#include <cassert>

using namespace wsec;

/// Where stages lie: each as far west as those before it in its row let it.
static std::vector<runtime::CommandTarget>
regionsOf(const PipelinePace &pace, const StageProblem &problem,
          const StagePlan &plan) {
  std::vector<runtime::CommandTarget> regions;
  size_t row = 0;
  int64_t column = 0;
  for (const Stage &stage : plan.stages) {
    if (stage.turns) {
      ++row;
      column = 0;
    }
    const int64_t width = problem.widths[stage.width];
    column = problem.rows[row].firstFor(width, column).value_or(column);
    const int64_t y = pace.rowBegins[row];
    regions.push_back({column, y, column + width, y + pace.rows});
    column += width;
  }
  return regions;
}

double PipelinePace::operator()(const StageProblem &problem,
                                const StagePlan &plan) const {
  assert(valuesCrossing.size() == problem.kernelCount());
  runtime::SampleFlow flow;
  flow.classes = plan.stages.size();
  flow.ahead = runtime::commandsAhead(queues, regionsOf(*this, problem, plan));
  flow.storeLatency = storeLatency;
  auto launch = [&](std::vector<uint32_t> stages, double cycles,
                    std::vector<uint32_t> after = {}) {
    flow.classesOf.push_back(std::move(stages));
    flow.after.push_back(std::move(after));
    flow.cycles.push_back(cycles);
  };
  for (uint32_t s = 0; s < plan.stages.size(); ++s) {
    const Stage &stage = plan.stages[s];
    if (s > 0) {
      const size_t values = std::max<size_t>(1, valuesCrossing[stage.begin]);
      const Stage &before = plan.stages[s - 1];
      auto each = [&](const std::vector<std::vector<double>> &cycles,
                      const Stage &its) {
        return cycles[its.width][stage.begin] / double(values);
      };
      for (size_t i = 0; i < values; ++i)
        if (stage.turns) {
          launch({s - 1}, each(problem.storing, before));
          launch({s}, each(problem.loading, stage),
                 {uint32_t(flow.cycles.size() - 1)});
        } else {
          launch({s - 1, s}, std::max(each(problem.leaving, before),
                                      each(problem.entering, stage)));
        }
    }
    for (size_t k = stage.begin; k < stage.end; ++k)
      launch({s}, problem.cycles[stage.width][k]);
  }
  const auto samples = uint32_t(4 * plan.stages.size());
  return std::max(plan.cycles,
                  runtime::cyclesPerSample(
                      flow, samples, runtime::orderSamples(flow, samples)));
}
