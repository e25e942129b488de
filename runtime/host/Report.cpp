// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/host/Report.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "runtime/program/Lengths.h"
#include "runtime/program/NearestNames.h"
#include "runtime/program/facts/Facts.h"
#include "runtime/program/facts/Residency.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>

namespace wsec::runtime {

namespace {

std::string text(const flatbuffers::String *string) {
  return string ? string->str() : std::string();
}

void addMemory(const program::Program &program, RunReport &report) {
  report.pesUsed = computingPes(program);
  SramPeak peak = sramPeak(program);
  report.sramPeakBytes = peak.bytes;
  report.sramOwner = peak.owner;
  WeightResidency residency = weightResidency(program);
  report.precision = precisionOf(program);
  report.residentBytes = residency.residentBytes;
  report.bufferedBytes = residency.bufferedBytes;
}

void addKernels(const Call &call, const RunResult &run, RunReport &report) {
  const program::Program &program = call.program();
  if (!program.kernels())
    return;
  for (flatbuffers::uoffset_t i = 0; i < program.kernels()->size(); ++i) {
    const program::Kernel &kernel = *program.kernels()->Get(i);
    KernelReport entry;
    entry.name = text(kernel.name());
    entry.kind = text(kernel.kind());
    entry.bound = text(kernel.bound());
    if (kernel.onnx_nodes())
      for (const flatbuffers::String *node : *kernel.onnx_nodes())
        entry.onnxNodes.push_back(node->str());
    if (const program::Rect *region = kernel.region())
      entry.region = {region->x0(), region->y0(), region->x1(), region->y1()};
    entry.lowerBoundCycles = kernel.lower_bound_cycles();
    if (i < run.kernelCycles.size())
      entry.cycles = run.kernelCycles[i];
    report.kernels.push_back(std::move(entry));
  }
  for (size_t i = 0; i < run.launches.size(); ++i) {
    const program::Launch &launch = call.launch(i);
    KernelReport &kernel = report.kernels[launch.kernel()];
    kernel.span += run.launches[i].end - run.launches[i].start;
    kernel.sparse += sparseWeights(program, launch);
  }
}

/// Three digits and a prefix: "124 M", "1.45 ms".
std::string readable(double value, const std::string &unit) {
  static const char *const prefixes[] = {"n", "u", "m", "", "k",
                                         "M", "G", "T", "P"};
  int prefix = 3;
  while (value >= 999.5 && prefix < 8) {
    value /= 1000;
    ++prefix;
  }
  while (value > 0 && value < 1 && prefix > 0) {
    value *= 1000;
    --prefix;
  }
  std::string result =
      absl::StrFormat("%.3g %s%s", value, prefixes[prefix], unit);
  while (result.back() == ' ')
    result.pop_back();
  return result;
}

/// Kernels of one kind together.
struct Kind {
  std::string name;
  unsigned count = 0;
  double cycles = 0, lowerBound = 0;
  std::vector<std::pair<std::string, double>> bounds;

  void add(const KernelReport &kernel) {
    ++count;
    cycles += kernel.cycles;
    lowerBound += kernel.lowerBoundCycles;
    auto known = std::find_if(bounds.begin(), bounds.end(), [&](auto &bound) {
      return bound.first == kernel.bound;
    });
    if (known == bounds.end())
      bounds.emplace_back(kernel.bound, kernel.cycles);
    else
      known->second += kernel.cycles;
  }
  std::string limitedBy() const {
    return std::max_element(
               bounds.begin(), bounds.end(),
               [](auto &a, auto &b) { return a.second < b.second; })
        ->first;
  }
};

std::vector<Kind> groupKinds(const std::vector<KernelReport> &kernels) {
  std::vector<Kind> kinds;
  for (const KernelReport &kernel : kernels) {
    auto kind = std::find_if(kinds.begin(), kinds.end(), [&](const Kind &k) {
      return k.name == kernel.kind;
    });
    if (kind == kinds.end()) {
      kinds.push_back({kernel.kind, 0, 0, 0, {}});
      kind = kinds.end() - 1;
    }
    kind->add(kernel);
  }
  std::sort(kinds.begin(), kinds.end(), [](auto &a, auto &b) {
    return a.cycles != b.cycles ? a.cycles > b.cycles : a.name < b.name;
  });
  return kinds;
}

std::string kindTable(const RunReport &report) {
  std::string table = "  kernel            count       cycles   share   vs "
                      "bound  limited by\n";
  for (const Kind &kind : groupKinds(report.kernels)) {
    double share = report.cycles > 0 ? 100 * kind.cycles / report.cycles : 0;
    // Of the kernel's share of the run, as in the columns before: the spans
    // of launches overlap and hold much waiting.
    std::string ratio =
        kind.lowerBound > 0
            ? absl::StrFormat("%.2f x", kind.cycles / kind.lowerBound)
            : "-";
    absl::StrAppendFormat(
        &table, "  %-16.24s %6u %12.0f  %5.1f %%  %9s  %.24s\n", kind.name,
        kind.count, kind.cycles, share, ratio, kind.limitedBy());
  }
  return table;
}

} // namespace

RunReport makeReport(const Call &call, const std::vector<SessionRun> &runs) {
  const SessionRun &run = runs.back();
  const program::Program &program = call.program();
  const program::Machine &machine = *program.machine();
  RunReport report;
  report.model = text(program.model());
  report.parameters = program.parameters();
  report.weightBytes = program.weight_bytes();
  report.machine = text(machine.name());
  report.width = machine.width();
  report.height = machine.height();
  report.clockGhz = machine.clock_ghz();
  report.cycles = run.result.cycles;
  report.engine = nameOf(run.countedBy);
  report.sramLimitBytes = uint64_t(machine.sram_bytes());
  for (const ClassMemory &memory : run.result.classes)
    report.sramWrittenBytes =
        std::max(report.sramWrittenBytes, memory.writtenBytes);
  report.streamedBytes = run.streamedWeightBytes;
  report.instructions = run.result.vectorInstructions;
  report.elements = run.result.operations;
  report.firstSeconds = report.seconds = runs.front().seconds;
  for (const SessionRun &each : runs)
    report.seconds = std::min(report.seconds, each.seconds);
  report.runs = runs.size();
  report.replayed = run.result.replayed;
  report.rememberedLaunches = run.result.rememberedLaunches;
  // Of a program with a length the call says how many there are.
  report.tokens = lengthOf(call.entry()) ? 0 : tokensPerRun(program);
  report.experts = run.experts;
  report.westEdge = run.result.westEdge;
  const EdgeForecast forecast = edgeForecast(program, call.entryIndex());
  report.predictedWestEdge = forecast.rows;
  report.predictedCycles = forecast.cycles;
  addMemory(program, report);
  addKernels(call, run.result, report);
  return report;
}

static SystemsReport systemsOf(const Tree &tree, const ClusterRun &run) {
  SystemsReport report;
  report.passes = run.passes;
  report.cycles = run.cycles();
  report.oneSystemCycles = run.oneSystemCycles();
  report.speedUp = run.speedUp();
  report.systems = run.systems;
  for (const SystemRun &system : run.systems)
    report.calls += system.calls;
  report.nodes = tree.nodes();
  report.depth = tree.depth();
  for (unsigned member = 0; member < tree.members(); ++member)
    report.edges.push_back(
        {member == tree.top() ? "store" : tree.name(tree.parent(member)),
         tree.name(member), tree.level(member), run.edgeBytes[member]});
  return report;
}

RunReport makeReport(const Call &call, const Tree &tree,
                     const ClusterRun &run) {
  RunReport report = makeReport(call, run.calls);
  report.firstSeconds = report.seconds = run.seconds;
  report.systems = systemsOf(tree, run);
  return report;
}

RunReport makeReport(const Pipeline &pipeline, const PipelineRun &run) {
  RunReport report = makeReport(pipeline.call(), {run.run});
  // The program knows these of one sample.
  report.tokens *= run.samples;
  for (KernelReport &kernel : report.kernels)
    if (kernel.span > 0) // else it is of another entry
      kernel.lowerBoundCycles *= double(run.samples);
  report.pipeline = run;
  return report;
}

RunReport makeReport(const Generator &generator, const Generation &generation) {
  RunReport report = makeReport(generator.lastCall(), {generator.lastRun()});
  report.generation = generation;
  report.experts = generation.experts;
  return report;
}

static double perSecond(double cycles, double clockGhz) {
  return cycles > 0 ? clockGhz * 1e9 / cycles : 0;
}

static std::string pipelineText(const PipelineRun &run, double clockGhz) {
  std::string out = absl::StrFormat(
      "%d samples in flight, %d stages\n"
      "  from sample to sample  %.0f cycles, predicted %.0f\n"
      "  latency of a sample    %.0f cycles alone, predicted %.0f; "
      "%.0f behind others, predicted %.0f\n%s"
      "  stage                cycles    predicted   per second      latency    "
      "predicted\n",
      run.samples, run.stages.size(), run.measured, run.predicted,
      run.firstLatency, run.predictedFirstLatency, run.lastLatency,
      run.predictedLastLatency,
      run.loadCycles > 0
          ? absl::StrFormat("  weights, once          %.0f cycles\n",
                            run.loadCycles)
          : "");
  const auto slowest = std::max_element(
      run.stages.begin(), run.stages.end(),
      [](auto &a, auto &b) { return a.measured < b.measured; });
  for (auto stage = run.stages.begin(); stage != run.stages.end(); ++stage) {
    const auto &[x0, y0, x1, y1] = stage->region;
    absl::StrAppendFormat(
        &out, "    %-14s %10.0f   %10.0f   %10s   %10.0f   %10.0f%s\n",
        absl::StrFormat("%dx%d at (%d,%d)", x1 - x0, y1 - y0, x0, y0),
        stage->measured, stage->predicted,
        readable(perSecond(stage->measured, clockGhz), ""), stage->latency,
        stage->predictedLatency,
        stage == slowest && run.stages.size() > 1 ? "  the slowest" : "");
  }
  return out;
}

/// "4 x 1.05 MB": edges of a level, whose bytes mostly are the same.
static std::string edgesText(const SystemsReport &report, unsigned level) {
  std::map<uint64_t, unsigned, std::greater<>> byBytes;
  for (const SystemsReport::Edge &edge : report.edges)
    byBytes[edge.bytes] += edge.level == level && edge.from != "store";
  std::string text;
  for (const auto &[bytes, edges] : byBytes)
    if (edges > 0)
      absl::StrAppendFormat(&text, "%s%d x %s", text.empty() ? "" : ", ", edges,
                            readable(double(bytes), "B"));
  return text;
}

static std::string systemsText(const SystemsReport &report) {
  const auto [least, most] = std::minmax_element(
      report.systems.begin(), report.systems.end(),
      [](const auto &a, const auto &b) { return a.cycles < b.cycles; });
  std::string out = absl::StrFormat(
      "%d systems, %d calls in %d passes of the weights\n"
      "  cycles         %.0f, of one system %.0f: %.2f x as fast\n"
      "  per system     %.0f to %.0f cycles\n",
      report.systems.size(), report.calls, report.passes, report.cycles,
      report.oneSystemCycles, report.speedUp, least->cycles, most->cycles);
  absl::StrAppendFormat(
      &out, "  from store     %s of weights in all, %s a pass\n",
      readable(double(report.edges.back().bytes), "B"),
      readable(double(report.edges.back().bytes) / double(report.passes), "B"));
  absl::StrAppendFormat(&out, "  tree           %d nodes, depth %d\n",
                        report.nodes, report.depth);
  for (unsigned level = report.depth; level-- > 0;)
    absl::StrAppendFormat(&out, "    to %-10s %s\n",
                          level == 0 ? "systems"
                                     : absl::StrCat("level ", level),
                          edgesText(report, level));
  return out;
}

/// What channels did, and under it what they were predicted to do.
static std::string channelsText(const RunReport &report) {
  const size_t rows =
      std::max(report.westEdge.size(), report.predictedWestEdge.size());
  if (rows == 0)
    return "";
  std::string out = absl::StrFormat("  channels       %d in: ", rows);
  if (report.westEdge.empty())
    absl::StrAppend(&out, report.engine, " does not know when words enter");
  else
    absl::StrAppend(&out, shares(report.westEdge, report.cycles));
  if (!report.predictedWestEdge.empty() && report.predictedCycles > 0)
    absl::StrAppend(&out, "\n                 predicted: ",
                    shares(report.predictedWestEdge, report.predictedCycles));
  return out + "\n";
}

static std::string generationText(const Generation &its, double clockGhz) {
  std::string out = absl::StrFormat(
      "  generated      %d tokens behind %d%s, the first after %s\n",
      its.ids.size(), its.promptTokens,
      its.ended ? ", of which the last ends the text" : "",
      readable(its.firstCycles / (clockGhz * 1e9), "s"));
  if (its.steps > 0)
    out += absl::StrFormat(
        "                 %.0f cycles a token after it, %s a second\n",
        its.cycles / double(its.steps),
        readable(double(its.steps) * clockGhz * 1e9 / its.cycles, ""));
  return out;
}

/// How far mixtures are from giving all experts as many tokens.
static std::string expertsText(const std::vector<ExpertLoad> &loads) {
  const auto busiest = [](const ExpertLoad &load) {
    double sum = 0;
    for (uint64_t tokens : load.tokens)
      sum += double(tokens);
    const uint64_t most =
        *std::max_element(load.tokens.begin(), load.tokens.end());
    return sum > 0 ? double(most) * double(load.tokens.size()) / sum : 1;
  };
  const auto worst =
      std::max_element(loads.begin(), loads.end(), [&](auto &a, auto &b) {
        return busiest(a) < busiest(b);
      });
  return absl::StrFormat("  experts        of %d mixtures; the busiest expert "
                         "has %.2f x its share, of %s\n",
                         loads.size(), busiest(*worst),
                         inQuotes(worst->mixture));
}

std::string RunReport::text() const {
  std::string out = absl::StrFormat("%s on %s, %dx%d PEs at %.3g GHz\n",
                                    model.empty() ? "program" : model, machine,
                                    width, height, clockGhz);
  if (parameters > 0)
    out += "  parameters     " + readable(double(parameters), "") + ", " +
           readable(double(weightBytes), "B") + "\n";
  if (parameters > 0 || streamedBytes > 0)
    out += "  streamed       " + readable(double(streamedBytes), "B") +
           " of weights per run, " + readable(double(residentBytes), "B") +
           " stay on the wafer\n" + "  buffered       at most " +
           readable(double(bufferedBytes), "B") + " of weights at a time\n";
  SparseWeights sparse;
  for (const KernelReport &kernel : kernels)
    sparse += kernel.sparse;
  if (sparse.weights > 0)
    out += "  sparse         " + sparse.text() + "\n";
  absl::StrAppendFormat(&out, "  PEs used       %d of %d\n", pesUsed,
                        int64_t(width) * height);
  absl::StrAppendFormat(&out, "  SRAM peak      %d of %d bytes", sramPeakBytes,
                        sramLimitBytes);
  if (!sramOwner.empty())
    absl::StrAppend(&out, " (", inQuotes(sramOwner), ")");
  if (sramWrittenBytes)
    absl::StrAppendFormat(&out, ", written up to %d", sramWrittenBytes);
  absl::StrAppendFormat(&out, "\n  cycles         %.0f, %s, counted by %s\n",
                        cycles, readable(wallClock(), "s"), engine);
  out += channelsText(*this);
  if (tokens > 0)
    out += "  tokens         " + std::to_string(tokens) + " per run, " +
           readable(tokensPerSecond(), "") + " per second\n";
  if (!experts.empty())
    out += expertsText(experts);
  if (!kernels.empty())
    out += kindTable(*this);
  if (systems)
    out += systemsText(*systems);
  if (pipeline)
    out += pipelineText(*pipeline, clockGhz);
  if (generation)
    out += generationText(*generation, clockGhz);
  if (runs == 1)
    return out + absl::StrFormat("emulated in %.2f s\n", seconds);
  return out +
         absl::StrFormat("emulated in %.4f s, the shortest of %d runs; "
                         "the first took %.4f s%s\n",
                         seconds, runs, firstSeconds,
                         replayed ? ", later ones replay its operations" : "");
}

using Json = nlohmann::ordered_json;

static Json generationJson(const Generation &its, double clockGhz) {
  Json json = {{"prompt_tokens", its.promptTokens},
               {"tokens", its.ids.size()},
               {"ids", its.ids},
               {"ended", its.ended},
               {"position", its.position},
               {"time_to_first_token", its.firstCycles / (clockGhz * 1e9)}};
  const auto steps = double(its.steps);
  Json emulator = {{"time_to_first_token", its.firstSeconds}};
  if (its.steps > 0) {
    json["cycles_per_token"] = its.cycles / steps;
    json["tokens_per_second"] = steps * clockGhz * 1e9 / its.cycles;
    json["streamed_bytes_per_token"] = its.streamedBytes / its.steps;
    emulator["seconds_per_token"] = its.seconds / steps;
  }
  json["emulator"] = emulator;
  return json;
}

static Json systemsJson(const SystemsReport &report) {
  Json systems = Json::array(), edges = Json::array();
  for (const SystemRun &system : report.systems)
    systems.push_back({{"calls", system.calls},
                       {"cycles", std::llround(system.cycles)},
                       {"own_bytes_in", system.ownBytesIn},
                       {"bytes_out", system.bytesOut}});
  for (const SystemsReport::Edge &edge : report.edges)
    edges.push_back({{"from", edge.from},
                     {"to", edge.to},
                     {"level", edge.level},
                     {"bytes", edge.bytes}});
  return {
      {"num_systems", report.systems.size()},
      {"calls", report.calls},
      {"passes", report.passes},
      {"cycles", std::llround(report.cycles)},
      {"one_system_cycles", std::llround(report.oneSystemCycles)},
      {"speed_up", report.speedUp},
      {"efficiency", report.speedUp / double(report.systems.size())},
      {"root_bytes", report.edges.back().bytes},
      {"tree",
       {{"nodes", report.nodes}, {"depth", report.depth}, {"edges", edges}}},
      {"per_system", systems}};
}

static Json pipelineJson(const PipelineRun &run, double clockGhz) {
  Json stages = Json::array();
  for (const StageRun &stage : run.stages)
    stages.push_back(
        {{"region", stage.region},
         {"cycles", std::llround(stage.measured)},
         {"predicted_cycles", std::llround(stage.predicted)},
         {"samples_per_second", perSecond(stage.measured, clockGhz)},
         {"predicted_samples_per_second", perSecond(stage.predicted, clockGhz)},
         {"latency_cycles", std::llround(stage.latency)},
         {"predicted_latency_cycles", std::llround(stage.predictedLatency)}});
  return {
      {"samples", run.samples},
      {"cycles_per_sample", std::llround(run.measured)},
      {"predicted_cycles_per_sample", std::llround(run.predicted)},
      {"samples_per_second", perSecond(run.measured, clockGhz)},
      {"predicted_samples_per_second", perSecond(run.predicted, clockGhz)},
      {"first_latency_cycles", std::llround(run.firstLatency)},
      {"predicted_first_latency_cycles",
       std::llround(run.predictedFirstLatency)},
      {"last_latency_cycles", std::llround(run.lastLatency)},
      {"predicted_last_latency_cycles", std::llround(run.predictedLastLatency)},
      {"load_cycles", std::llround(run.loadCycles)},
      {"predicted_load_cycles", std::llround(run.predictedLoadCycles)},
      {"stages", stages}};
}

/// The error is that of the output that is furthest off, against its largest
/// value: from the same model in f32, if that is what it was compared with.
static Json precisionJson(const RunReport &report) {
  Json json = {{"format", report.precision.name()},
               {"accumulate", "f32"},
               {"elements_per_word", report.precision.elementsPerWord()},
               {"streamed_bytes",
                {{"here", report.precision.streamedBytes},
                 {"in_f32", report.precision.streamedBytesAsF32}}}};
  const OutputError *worst = nullptr;
  for (const OutputError &error : report.errors)
    if (!worst || error.comparison.ratio() > worst->comparison.ratio())
      worst = &error;
  if (!worst || !std::isfinite(worst->comparison.maxError))
    return json;
  const double largest = worst->comparison.largest;
  json["error"] = {{"output", worst->output},
                   {"max", worst->comparison.ratio()},
                   {"rms", largest > 0 ? worst->comparison.rms / largest
                                       : worst->comparison.rms}};
  return json;
}

static Json edgeJson(const EdgeUse &row, double cycles) {
  return {{"busy_cycles", row.words},
          {"stalled_cycles", row.stalledCycles},
          {"idle_cycles", row.idleCycles(cycles)}};
}

/// By row; engines and programs that do not know leave their half out.
static Json channelsJson(const RunReport &report) {
  std::map<int, Json> rows;
  for (const EdgeUse &row : report.westEdge)
    rows[row.row]["measured"] = edgeJson(row, report.cycles);
  for (const EdgeUse &row : report.predictedWestEdge)
    rows[row.row]["predicted"] = edgeJson(row, report.predictedCycles);
  Json list = Json::array();
  for (auto &[row, its] : rows) {
    its["row"] = row;
    list.push_back(std::move(its));
  }
  return list;
}

std::string RunReport::json() const {
  auto whole = [](double value) { return std::llround(value); };
  Json list = Json::array(), perKernel = Json::array();
  for (const KernelReport &kernel : kernels) {
    perKernel.push_back(whole(kernel.cycles));
    list.push_back({{"name", kernel.name},
                    {"onnx_nodes", kernel.onnxNodes},
                    {"kind", kernel.kind},
                    {"region", kernel.region},
                    {"cycles", whole(kernel.cycles)},
                    {"span_cycles", whole(kernel.span)},
                    {"bound", kernel.bound},
                    {"lower_bound_cycles", whole(kernel.lowerBoundCycles)}});
    if (const SparseWeights &sparse = kernel.sparse; sparse.weights > 0)
      list.back()["sparse"] = {{"weights", sparse.weights},
                               {"kept", sparse.kept},
                               {"density", sparse.density()},
                               {"streamed_bytes", sparse.bytes}};
  }
  Json json;
  json["model"] = {{"name", model},
                   {"parameters", parameters},
                   {"weight_bytes", weightBytes}};
  json["machine"] = {{"name", machine},
                     {"mesh", Json::array({width, height})},
                     {"clock_ghz", clockGhz}};
  json["cycles"] = {
      {"total", whole(cycles)}, {"engine", engine}, {"per_kernel", perKernel}};
  json["pes"] = {{"used", pesUsed},
                 {"available", int64_t(width) * int64_t(height)}};
  json["sram"] = {{"peak_bytes", sramPeakBytes},
                  {"limit_bytes", sramLimitBytes},
                  {"owner", sramOwner}};
  if (sramWrittenBytes)
    json["sram"]["written_bytes"] = sramWrittenBytes;
  json["weights"] = {{"resident_bytes", residentBytes},
                     {"buffered_bytes", bufferedBytes},
                     {"streamed_bytes", streamedBytes}};
  json["precision"] = precisionJson(*this);
  if (tokens > 0)
    json["tokens"] = {{"per_run", tokens}, {"per_second", tokensPerSecond()}};
  if (Json channels = channelsJson(*this); !channels.empty())
    json["channels"] = channels;
  json["kernels"] = list;
  for (const ExpertLoad &load : experts)
    json["experts"].push_back(
        {{"mixture", load.mixture}, {"tokens", load.tokens}});
  for (const OutputError &error : errors) {
    Json its = {{"output", error.output},
                {"largest", error.comparison.largest},
                {"elements", error.comparison.elements},
                {"beyond", error.comparison.beyond}};
    if (std::isfinite(error.comparison.maxError)) {
      its["max_abs"] = error.comparison.maxError;
      its["rms"] = error.comparison.rms;
    }
    json["errors"].push_back(its);
  }
  json["work"] = {{"instructions", instructions}, {"elements", elements}};
  if (systems)
    json["systems"] = systemsJson(*systems);
  if (pipeline)
    json["pipeline"] = pipelineJson(*pipeline, clockGhz);
  if (generation)
    json["generation"] = generationJson(*generation, clockGhz);
  json["time"] = {{"emulate_s", seconds},
                  {"first_emulate_s", firstSeconds},
                  {"runs", runs},
                  {"replayed", replayed},
                  {"remembered_launches", rememberedLaunches}};
  // Names come out of model files and may hold any bytes.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

} // namespace wsec::runtime
