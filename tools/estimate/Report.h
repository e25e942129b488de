// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Estimates as text, JSON and pictures.
#ifndef WSEC_TOOLS_ESTIMATE_REPORT_H
#define WSEC_TOOLS_ESTIMATE_REPORT_H

#include "tools/estimate/Estimate.h"

namespace wsec::estimate {

/// One model on one number of systems, for several used fractions; the first
/// is the one that scripts read.
struct StepReport {
  Workload work;
  Cluster cluster;
  Step step;
  Memory memory;
  std::vector<Estimate> estimates;
  std::vector<Scheme> schemes;
};

/// Estimates over numbers of systems.
struct ScaleReport {
  struct Row {
    int64_t systems;
    std::string note;    ///< a machine of that size
    std::string problem; ///< why there is no estimate
    std::vector<Estimate> estimates;
  };
  Workload work;
  Cluster cluster;
  Step step;
  std::vector<Efficiency> efficiencies;
  std::vector<Row> rows;
};

/// Throws as estimateStep does.
StepReport reportStep(const Workload &work, const Cluster &cluster,
                      const Step &step,
                      const std::vector<Efficiency> &efficiencies);
/// Throws std::invalid_argument where no row can be estimated.
ScaleReport reportScale(const Workload &work, const Cluster &cluster,
                        const Step &step, const std::vector<int64_t> &systems,
                        const std::vector<Efficiency> &efficiencies);

std::string textOf(const StepReport &report);
std::string textOf(const ScaleReport &report);
std::string jsonOf(const StepReport &report);
std::string jsonOf(const ScaleReport &report);
/// Which regime how many tokens per wafer and pass lead to, for the model and
/// the presets; self-contained SVG.
std::string regimeMap(const StepReport &report);
/// Step time over systems.
std::string scaleChart(const ScaleReport &report);

} // namespace wsec::estimate

#endif // WSEC_TOOLS_ESTIMATE_REPORT_H
