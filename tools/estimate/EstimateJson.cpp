// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/estimate/Report.h"

#include <nlohmann/json.hpp>

#include <cmath>

namespace wsec::estimate {

using Json = nlohmann::ordered_json;

static Json modelOf(const Workload &work) {
  return {{"name", work.name},
          {"parameters", work.parameters},
          {"active_parameters", work.activeParameters},
          {"product_parameters", work.productParameters},
          {"layers", work.layers},
          {"width", work.width},
          {"sequence", work.sequence},
          {"forward_flops_per_token", work.forwardFlops()}};
}

static Json clusterOf(const Cluster &cluster) {
  return {{"peak_flops", cluster.peakFlops},
          {"link_bytes_per_second", cluster.linkBytesPerSecond},
          {"activation_bytes", cluster.activationBytes},
          {"store_bytes_per_second", cluster.storeBytesPerSecond},
          {"hop_seconds", cluster.hopSeconds},
          {"input_tokens_per_second", cluster.inputTokensPerSecond},
          {"system_watts", cluster.systemWatts},
          {"dollars_per_system_hour", cluster.dollarsPerSystemHour},
          {"dollars_per_kilowatt_hour", cluster.dollarsPerKilowattHour}};
}

static Json memoryOf(const Memory &memory) {
  return {{"weight_bytes_per_pass", memory.weightBytes},
          {"store_bytes", memory.storeBytes},
          {"activation_bytes_per_token", memory.activationBytesPerToken},
          {"layer_bytes", memory.layerBytes},
          {"sequences_per_wafer_most", memory.sequencesPerWafer},
          {"tokens_per_wafer_most", memory.tokensPerWaferMost},
          {"imbalance", memory.imbalance}};
}

static Json estimateOf(const Estimate &e) {
  Json flags = Json::object();
  for (const Flag &flag : e.flags)
    flags[flag.name] = flag.reason;
  return {{"eta", e.efficiency.eta},
          {"beta", e.efficiency.beta},
          {"tokens_per_wafer", e.tokensPerWafer},
          {"microbatches", e.microbatches},
          {"forward_compute_seconds", e.forwardCompute},
          {"backward_compute_seconds", e.backwardCompute},
          {"weights_down_seconds", e.weightsDown},
          {"gradients_up_seconds", e.gradientsUp},
          {"offload_seconds", e.offload},
          {"forward_seconds", e.forward},
          {"backward_seconds", e.backward},
          {"boundary_seconds", e.boundary},
          {"optimizer_seconds", e.optimizer},
          {"exposed_optimizer_seconds", e.exposedOptimizer},
          {"exposed_input_seconds", e.exposedInput},
          {"step_seconds", e.step},
          {"tokens_per_second", e.tokensPerSecond},
          {"total_seconds", e.seconds},
          {"total_joules", e.joules},
          {"total_dollars", e.dollars},
          {"sustained_flops", e.sustainedFlops},
          {"peak_fraction", e.peakFraction},
          {"efficiency", e.scaling},
          {"linear_systems", e.linearSystems},
          {"break_even_tokens", e.breakEvenForward},
          {"break_even_tokens_backward", e.breakEvenBackward},
          {"regime", nameOf(e.regime)},
          {"reason", e.reason},
          {"flags", flags}};
}

static Json estimatesOf(const std::vector<Estimate> &estimates) {
  Json list = Json::array();
  for (const Estimate &each : estimates)
    list.push_back(estimateOf(each));
  return list;
}

static Json stepOf(const Step &step) {
  return {{"mode", step.mode == Step::Mode::Train ? "train" : "eval"},
          {"systems", step.systems},
          {"batch", step.batch},
          {"total_tokens", step.totalTokens},
          {"density", step.density},
          {"backward_passes", step.backwardPasses},
          {"recompute", step.recompute},
          {"offload", step.offload}};
}

/// Names of strangers may hold any bytes.
static std::string dump(const Json &json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

/// What a wafer makes of so many tokens in each pass over the weights, on any
/// number of wafers: one, a few, a sequence, four, as many as hide the stream,
/// and all that its SRAM holds.
static Json perWafer(const StepReport &report) {
  const double sequence = double(report.work.sequence);
  Json rows = Json::array();
  for (double tokens : {1.0, 256.0, sequence, 4 * sequence,
                        std::ceil(report.estimates.front().breakEvenForward),
                        report.memory.tokensPerWaferMost}) {
    Json row = {{"tokens", tokens}, {"estimates", Json::array()}};
    for (const Estimate &e : report.estimates) {
      const double rate = steadyTokensPerSecond(
          report.work, report.cluster, report.step, e.efficiency, tokens);
      const double flops = e.sustainedFlops / e.tokensPerSecond;
      row["estimates"].push_back(
          {{"eta", e.efficiency.eta},
           {"beta", e.efficiency.beta},
           {"tokens_per_second", rate},
           {"peak_fraction", rate * flops / report.cluster.peakFlops}});
    }
    rows.push_back(row);
  }
  return rows;
}

/// The first estimate is repeated at the top.
std::string jsonOf(const StepReport &report) {
  Json json = {{"model", modelOf(report.work)},
               {"cluster", clusterOf(report.cluster)},
               {"step", stepOf(report.step)},
               {"memory", memoryOf(report.memory)}};
  json.update(estimateOf(report.estimates.front()));
  json["estimates"] = estimatesOf(report.estimates);
  json["per_wafer"] = perWafer(report);
  Json schemes = Json::array();
  for (const Scheme &scheme : report.schemes)
    schemes.push_back({{"name", scheme.name},
                       {"memory_bytes", scheme.memoryBytes},
                       {"traffic_bytes_per_step", scheme.trafficBytes},
                       {"blocking_events_per_step", scheme.blockingEvents},
                       {"limit", scheme.limit}});
  json["schemes"] = schemes;
  return dump(json);
}

std::string jsonOf(const ScaleReport &report) {
  Json step = stepOf(report.step);
  step.erase("systems");
  Json json = {{"model", modelOf(report.work)},
               {"cluster", clusterOf(report.cluster)},
               {"step", step},
               {"rows", Json::array()}};
  for (const ScaleReport::Row &row : report.rows) {
    Json entry = {{"systems", row.systems}};
    if (!row.note.empty())
      entry["note"] = row.note;
    if (!row.problem.empty()) {
      entry["problem"] = row.problem;
    } else {
      entry.update(estimateOf(row.estimates.front()));
      entry["estimates"] = estimatesOf(row.estimates);
    }
    json["rows"].push_back(entry);
  }
  return dump(json);
}

} // namespace wsec::estimate
