// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/train/StepReport.h"
#include "runtime/program/Checker.h"

#include "absl/strings/match.h"
#include "absl/strings/str_format.h"

#include <nlohmann/json.hpp>
#include <set>

namespace wsec::runtime {

/// What is a gradient, or has the elements of one.
static std::set<uint32_t> gradientTensors(const program::Program &program) {
  std::set<uint32_t> found;
  for (uint32_t i = 0; i < program.tensors()->size(); ++i)
    if (const program::Tensor &tensor = *program.tensors()->Get(i);
        tensor.gradient())
      found.insert(tensor.alias() < 0 ? i : uint32_t(tensor.alias()));
  return found;
}

/// Kernels that write to the store, and nothing but gradients.
static std::set<uint32_t> gradientKernels(const Call &call) {
  const std::set<uint32_t> gradients = gradientTensors(call.program());
  std::set<uint32_t> some, others;
  for (const program::Launch *launch : call.launchList())
    for (unsigned s = 0; launch->streams() && s < launch->streams()->size();
         ++s) {
      const program::HostStream &stream =
          *call.program().streams()->Get(launch->streams()->Get(s));
      if (stream.direction() != program::Direction::Out)
        continue;
      for (const program::Segment *segment : *stream.segments())
        (gradients.count(segment->tensor()) ? some : others)
            .insert(launch->kernel());
    }
  for (const uint32_t other : others)
    some.erase(other);
  return some;
}

static size_t partOf(const program::Kernel &kernel, bool storesGradients) {
  enum Part { Forward, Recomputation, Backward, GradientsOut };
  if (storesGradients)
    return GradientsOut;
  if (kernel.onnx_nodes())
    for (const flatbuffers::String *node : *kernel.onnx_nodes()) {
      if (absl::EndsWith(node->str(), "/backward"))
        return Backward;
      if (absl::EndsWith(node->str(), "/recompute"))
        return Recomputation;
    }
  return Forward;
}

StepReport makeStepReport(const Call &call, const Tree &tree,
                          const ClusterRun &run, uint64_t size,
                          const std::string &unit, uint64_t gradientRootBytes) {
  const program::Program &program = call.program();
  StepReport report;
  report.systems = tree.systems();
  report.passes = run.passes;
  for (const SystemRun &system : run.systems)
    report.calls += system.calls;
  report.parts = {{"forward", 0, 0, 0},
                  {"recomputation", 0, 0, 0},
                  {"backward", 0, 0, 0},
                  {"gradients out", 0, 0, 0}};
  const std::vector<double> &cycles = run.calls.front().result.kernelCycles;
  const std::set<uint32_t> storing = gradientKernels(call);
  for (uint32_t i = 0; program.kernels() && i < program.kernels()->size();
       ++i) {
    const program::Kernel &kernel = *program.kernels()->Get(i);
    StepPart &part = report.parts[partOf(kernel, storing.count(i) > 0)];
    ++part.kernels;
    part.cycles += i < cycles.size() ? cycles[i] : 0;
    part.predictedCycles += kernel.predicted_cycles();
    report.predictedCycles += kernel.predicted_cycles() * double(run.passes);
  }
  report.cycles = run.cycles();
  report.clockGhz = program.machine()->clock_ghz();
  report.size = size;
  report.unit = unit;
  report.weightBytes = run.edgeBytes.back();
  for (const program::Tensor *tensor : *program.tensors())
    if (tensor->gradient())
      report.gradientBytes +=
          elementCount(*tensor) * sizeof(float) * report.calls;
  report.gradientRootBytes = gradientRootBytes;
  return report;
}

std::string StepReport::text() const {
  double all = 0;
  for (const StepPart &part : parts)
    all += part.cycles;
  std::string out = absl::StrFormat(
      "a step of %d calls in %d passes: %.3g ms on %d wafer%s, predicted %.3g "
      "ms; %.0f %s/s\n"
      "  of a call          cycles   share    predicted   kernels\n",
      calls, passes, 1e3 * seconds(), systems, systems == 1 ? "" : "s",
      1e3 * predictedSeconds(), double(size) / seconds(), unit);
  for (const StepPart &part : parts)
    absl::StrAppendFormat(&out, "  %-14s %10.0f  %5.1f %%   %10.0f  %8d\n",
                          part.name, part.cycles,
                          all > 0 ? 100 * part.cycles / all : 0,
                          part.predictedCycles, part.kernels);
  absl::StrAppendFormat(&out,
                        "  down           %.3g MB of weights from the store\n"
                        "  up             %.3g MB of gradients from the "
                        "wafers, %.3g MB to the store\n",
                        1e-6 * double(weightBytes),
                        1e-6 * double(gradientBytes),
                        1e-6 * double(gradientRootBytes));
  return out;
}

std::string StepReport::json() const {
  using Json = nlohmann::ordered_json;
  Json all = Json::array();
  for (const StepPart &part : parts)
    all.push_back({{"name", part.name},
                   {"kernels", part.kernels},
                   {"cycles", part.cycles},
                   {"predicted_cycles", part.predictedCycles}});
  return Json{{"calls", calls},
              {"passes", passes},
              {"cycles", cycles},
              {"predicted_cycles", predictedCycles},
              {"seconds", seconds()},
              {"predicted_seconds", predictedSeconds()},
              {unit + "_per_second", double(size) / seconds()},
              {"parts", all},
              {"weight_bytes_down", weightBytes},
              {"gradient_bytes_up", gradientBytes},
              {"gradient_bytes_at_root", gradientRootBytes}}
      .dump();
}

} // namespace wsec::runtime
