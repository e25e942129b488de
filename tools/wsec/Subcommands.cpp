// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/wsec/Subcommands.h"
#include "compiler/machine/Machine.h"
#include "tools/estimate/Report.h"
#include "tools/flags/CommandLine.h"
#include "tools/presets/ReadModel.h"
#include "tools/presets/WriteModel.h"
#include "tools/wsec/ConfigFile.h"
#include "tools/wsec/CountFlag.h"
#include "tools/wsec/PlaceCommand.h"
#include "tools/wsec/TrainCommand.h"

#include "absl/flags/flag.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "runtime/files/NewFile.h"
#include "runtime/program/NearestNames.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>

using wsec::estimate::Efficiency;
using wsec::estimate::Step;
using wsec::presets::Weights;

namespace wsec::tools {
namespace {
/// Above 0, up to 1; 0 until it is given.
struct Fraction {
  double value;
};

bool AbslParseFlag(absl::string_view text, Fraction *fraction,
                   std::string *error) {
  if (absl::SimpleAtod(text, &fraction->value) && fraction->value > 0 &&
      fraction->value <= 1)
    return true;
  *error = absl::StrCat("wants a number above 0, up to 1, found '", text, "'");
  return false;
}

std::string AbslUnparseFlag(Fraction fraction) {
  return fraction.value > 0 ? absl::StrCat(fraction.value) : "";
}

struct Counts {
  std::vector<int64_t> values;
};

bool AbslParseFlag(absl::string_view text, Counts *counts, std::string *error) {
  counts->values.clear();
  for (absl::string_view word : absl::StrSplit(text, ',')) {
    Count count{};
    if (!AbslParseFlag(word, &count, error))
      return false;
    counts->values.push_back(count.value);
  }
  return true;
}

std::string AbslUnparseFlag(const Counts &counts) {
  return absl::StrJoin(counts.values, ",");
}

Counts defaultSystems() { return {{1, 2, 4, 16, 192}}; }
} // namespace
} // namespace wsec::tools

using wsec::tools::Count;
using wsec::tools::Counts;
using wsec::tools::Fraction;

ABSL_FLAG(std::string, preset, "",
          "NAME  one of the models that wsec knows; --list names them");
ABSL_FLAG(std::string, config, "",
          "FILE.yaml  model, cluster, batch_size and sequence");
ABSL_FLAG(bool, list, false, "list the presets");
ABSL_FLAG(std::string, o, "", "FILE  where to write it");
ABSL_FLAG(std::string, weights, "absent",
          "KIND  absent: named, not there; seeded: random, in FILE.onnx.data; "
          "procedural: the same numbers, computed by the store as it streams");
ABSL_FLAG(uint64_t, seed, 0, "N  of what is random");
ABSL_FLAG(
    Count, batch, {0},
    "B  sequences of a step (default: the published one), or of a model's "
    "input (default: symbolic)");
ABSL_FLAG(
    Count, sequence, {0},
    "S  tokens of a sequence (default: the model's, of a preset those that it "
    "was published with; where 'wsec model' writes a graph, symbolic)");

ABSL_FLAG(
    Count, kv_capacity, {0},
    "N  tokens whose keys and values are inputs, past.*; a call writes its "
    "own there from the input position on, and gives them as present.*: "
    "states for wsec --states");

ABSL_FLAG(bool, last_token, false,
          "   logits of one token of each sequence, whose number is the input "
          "last (default: of all)");

ABSL_FLAG(Count, top_k, {0},
          "K  of each token only the K largest logits leave, top.logits, and "
          "whose they are, top.ids (default: all, logits)");

ABSL_FLAG(Count, num_systems, {0}, "N  wafers (default: 1)");
ABSL_FLAG(std::string, mesh, "",
          "WxH  a part of the wafer that programs run on here");
ABSL_FLAG(
    std::string, machine, "",
    "NAME|FILE  instead of a CS-2: the wafer that programs run on here, in "
    "f32: wse1, wse2, wse3 or a JSON file");
ABSL_FLAG(Counts, systems, wsec::tools::defaultSystems(), "N,N,...  wafers");
ABSL_FLAG(std::string, mode, "train", "MODE  train or eval");
ABSL_FLAG(Fraction, density, {1}, "X  share of the weights that is not zero");
ABSL_FLAG(Count, backward_passes, {0},
          "K  times that weights stream in backward (default: 1; 2 on the "
          "wafer that programs run on here, whose layers are computed again)");
ABSL_FLAG(Count, recompute, {0},
          "R  forward passes that backward repeats (default: 0; on the wafer "
          "that programs run on here what they repeat); in a measured eta they "
          "are contained");
ABSL_FLAG(Count, total_tokens, {0},
          "N  also what so many tokens take, step by step: time, energy and "
          "money, as the cluster of a CONFIG.yaml assumes them");
ABSL_FLAG(bool, offload, false, "keep layer inputs in the store");
ABSL_FLAG(Fraction, eta, {0},
          "X  used fraction of the peak, instead of 0.22 (measured) and 1");
ABSL_FLAG(Fraction, beta, {0},
          "X  used fraction of the link, instead of 1 and 0.66 (measured)");
ABSL_FLAG(bool, json, false, "print JSON");
ABSL_FLAG(std::string, svg, "", "FILE.svg  write a picture");

namespace wsec::tools {

const char *const subcommandsText =
    "  wsec model --preset=gpt2-s -o gpt2.onnx       write a model\n"
    "  wsec train gpt2-s --tokens=text.txt ...       train one\n"
    "  wsec estimate gpt3-175b --num-systems=16      what a cluster would do\n"
    "  wsec scale gpt3-175b --systems=1,16,192       the same over systems\n"
    "  wsec place --ispd2020=A.kgraph -o A.place     the placer alone\n"
    "  (each has a --help of its own)\n";

static const char *const exitCodes =
    "Exit code: 0 done; 1 the input is at fault; 2 wrong usage.\n";

//===----------------------------------------------------------------------===//
// What the command line says
//===----------------------------------------------------------------------===//

namespace {
/// The model and the step that are asked for.
struct Task {
  estimate::Workload work;
  estimate::Cluster cluster;
  Step step;
};
} // namespace

static Config configOf(const std::string &file) {
  return file.empty() ? Config() : readConfig(file);
}

static std::string onlyWord(const std::vector<std::string> &words,
                            const char *what) {
  if (words.size() != 1)
    throw UsageError(words.empty()
                         ? absl::StrCat("no ", what, " is given")
                         : absl::StrCat("one ", what, " at a time: '", words[0],
                                        "' and '", words[1], "'"));
  return words[0];
}

static bool isConfigFile(const std::string &word) {
  return absl::EndsWith(word, ".yaml") || absl::EndsWith(word, ".yml") ||
         absl::EndsWith(word, ".json");
}

static int64_t given(Count flag, int64_t otherwise) {
  return flag.value ? flag.value : otherwise;
}

/// The wafer of --machine and --mesh.
static estimate::Cluster emulatedWafer() {
  const std::string name = absl::GetFlag(FLAGS_machine);
  const std::string mesh = absl::GetFlag(FLAGS_mesh);
  std::string problem;
  std::optional<Machine> machine =
      readMachine(name.empty() ? defaultMachine : name, problem);
  if (!machine)
    throw UsageError(absl::StrCat("--machine=", name, ": ", problem));
  if (!mesh.empty()) {
    const auto extents = parseMesh(mesh);
    if (!extents)
      throw UsageError("--mesh=" + mesh + ": expected WxH, as 8x8");
    if (auto what = machine->setMesh(extents->first, extents->second))
      throw UsageError("--mesh=" + mesh + ": " + *what);
  }
  return estimate::waferOf(*machine);
}

static Task taskOf(const std::vector<std::string> &words) {
  const std::string word = onlyWord(words, "model");
  Task task;
  Config config;
  if (isConfigFile(word))
    config = readConfig(word);
  const int64_t sequence =
      given(absl::GetFlag(FLAGS_sequence), config.sequence);
  if (absl::EndsWith(word, ".onnx")) {
    task.work = presets::readWorkload(word, sequence);
  } else {
    if (!config.model && isConfigFile(word))
      throw std::runtime_error(word + ": no model is named");
    task.work = presets::workloadOf(
        config.model ? *config.model : presets::presetNamed(word), sequence);
  }
  task.cluster = config.cluster;
  Step &step = task.step;
  step.systems = given(absl::GetFlag(FLAGS_num_systems),
                       config.systems ? config.systems : 1);
  step.batch = given(absl::GetFlag(FLAGS_batch),
                     config.batch ? config.batch : task.work.batch);
  if (step.batch == 0)
    throw UsageError(absl::StrCat("no batch is published for ", task.work.name,
                                  ": name one with --batch"));
  const std::string mode = absl::GetFlag(FLAGS_mode);
  if (mode != "train" && mode != "eval")
    throw UsageError("--mode wants train or eval, found '" + mode + "'");
  step.mode = mode == "eval" ? Step::Mode::Eval : Step::Mode::Train;
  const bool isEmulated = !absl::GetFlag(FLAGS_machine).empty() ||
                          !absl::GetFlag(FLAGS_mesh).empty();
  if (isEmulated)
    task.cluster = emulatedWafer();
  step.density = absl::GetFlag(FLAGS_density).value;
  step.backwardPasses =
      given(absl::GetFlag(FLAGS_backward_passes), isEmulated ? 2 : 1);
  step.recompute = double(absl::GetFlag(FLAGS_recompute).value);
  if (isEmulated && step.recompute == 0)
    step.recompute = estimate::recomputedOf(task.work);
  step.totalTokens = absl::GetFlag(FLAGS_total_tokens).value;
  step.offload = absl::GetFlag(FLAGS_offload);
  return task;
}

/// Measured and ideal, side by side; the first is the one in front.
static std::vector<Efficiency> efficiencies() {
  std::vector<double> etas{estimate::measuredEta, estimate::idealEta};
  std::vector<double> betas{estimate::idealBeta, estimate::measuredBeta};
  if (const double eta = absl::GetFlag(FLAGS_eta).value)
    etas = {eta};
  if (const double beta = absl::GetFlag(FLAGS_beta).value)
    betas = {beta};
  std::vector<Efficiency> all;
  for (double eta : etas)
    for (double beta : betas)
      all.push_back({eta, beta});
  return all;
}

template <class Report>
static void print(const Report &report, const std::string &picture) {
  const std::string file = absl::GetFlag(FLAGS_svg);
  if (!file.empty()) {
    runtime::NewFile out(file);
    out.write(picture.data(), picture.size());
    out.commit();
  }
  std::fputs(
      (absl::GetFlag(FLAGS_json) ? jsonOf(report) : textOf(report)).c_str(),
      stdout);
}

//===----------------------------------------------------------------------===//
// model
//===----------------------------------------------------------------------===//

static void listPresets() {
  std::printf("%-20s%22s%8s%8s%8s%10s\n", "preset", "parameters", "layers",
              "width", "heads", "sequence");
  for (const presets::ModelShape &shape : presets::allPresets())
    std::printf("%-20s%22lld%8lld%8lld%8lld%10lld\n", shape.name.c_str(),
                (long long)presets::workloadOf(shape).parameters,
                (long long)shape.layers, (long long)shape.width,
                (long long)shape.heads, (long long)shape.sequence);
}

static Weights weightsNamed(const std::string &name) {
  if (name == "absent")
    return Weights::Absent;
  if (name == "seeded")
    return Weights::Seeded;
  if (name == "procedural")
    return Weights::Procedural;
  throw UsageError("--weights wants absent, seeded or procedural, found '" +
                   name + "'");
}

static int runModel(const std::vector<std::string> &words) {
  if (!words.empty())
    throw UsageError("no words but flags, found '" + words[0] + "'");
  if (absl::GetFlag(FLAGS_list)) {
    listPresets();
    return 0;
  }
  const std::string preset = absl::GetFlag(FLAGS_preset);
  const Config config = configOf(absl::GetFlag(FLAGS_config));
  if (preset.empty() == !config.model)
    throw UsageError(preset.empty() ? "no model is given: --preset=NAME, or "
                                      "--config=FILE.yaml with one"
                                    : "--preset and --config name a model "
                                      "each; leave one out");
  presets::WriteOptions options;
  options.path = absl::GetFlag(FLAGS_o);
  if (options.path.empty())
    throw UsageError("say where to write the model: -o FILE.onnx");
  options.weights = weightsNamed(absl::GetFlag(FLAGS_weights));
  options.seed = absl::GetFlag(FLAGS_seed);
  options.batch = absl::GetFlag(FLAGS_batch).value;
  options.sequence = absl::GetFlag(FLAGS_sequence).value;
  options.cacheCapacity = absl::GetFlag(FLAGS_kv_capacity).value;
  options.lastToken = absl::GetFlag(FLAGS_last_token);
  options.topK = absl::GetFlag(FLAGS_top_k).value;
  const presets::ModelShape shape =
      config.model ? *config.model : presets::presetNamed(preset);
  const presets::WrittenModel written = writeModel(shape, options);
  std::printf(
      "%s: %lld parameters, graph of %.1f kB, weights of %.4g GB %s\n",
      shape.name.c_str(), (long long)presets::workloadOf(shape).parameters,
      double(written.graphBytes) / 1e3, double(written.weightBytes) / 1e9,
      absl::GetFlag(FLAGS_weights).c_str());
  return 0;
}

//===----------------------------------------------------------------------===//
// estimate, scale
//===----------------------------------------------------------------------===//

/// A step that cannot be is the input's fault.
static int runEstimate(const std::vector<std::string> &words) {
  const Task task = taskOf(words);
  const auto report =
      reportStep(task.work, task.cluster, task.step, efficiencies());
  print(report, absl::GetFlag(FLAGS_svg).empty() ? "" : regimeMap(report));
  return 0;
}

static int runScale(const std::vector<std::string> &words) {
  const Task task = taskOf(words);
  const auto report =
      reportScale(task.work, task.cluster, task.step,
                  absl::GetFlag(FLAGS_systems).values, efficiencies());
  print(report, absl::GetFlag(FLAGS_svg).empty() ? "" : scaleChart(report));
  return 0;
}

static std::vector<FlagGroup> trainGroups(const FlagGroup &own) {
  std::vector<FlagGroup> groups = trainFlags();
  groups.push_back(own);
  return groups;
}

static const std::vector<Tool> &tools() {
  static const FlagGroup step = {"the step",
                                 {"batch", "sequence", "mode", "density",
                                  "backward-passes", "recompute", "offload"}};
  static const FlagGroup fractions = {
      "used fractions; measured and ideal are shown side by side",
      {"eta", "beta"}};
  static const FlagGroup output = {"output", {"json", "svg"}};
  static const FlagGroup own = {"this tool", {"help", "version"}};
  static const std::vector<Tool> all = {
      {"wsec model",
       "usage: wsec model --preset=NAME -o FILE.onnx [flags]\n\n"
       "Writes the forward graph of a transformer as ONNX.\n",
       {{"the model",
         {"preset", "config", "list", "batch", "sequence", "kv-capacity",
          "last-token", "top-k"}},
        {"the file", {"o", "weights", "seed"}},
        own},
       exitCodes,
       runModel},
      {"wsec estimate",
       "usage: wsec estimate PRESET|MODEL.onnx|CONFIG.yaml [flags]\n\n"
       "Says what a step takes on wafers that stream weights, and what limits "
       "it: an\nestimate, never a measurement.\n",
       {{"the cluster", {"num-systems", "machine", "mesh"}},
        step,
        {"all steps", {"total-tokens"}},
        fractions,
        output,
        own},
       exitCodes,
       runEstimate},
      {"wsec scale",
       "usage: wsec scale PRESET|MODEL.onnx|CONFIG.yaml [flags]\n\n"
       "The estimate over numbers of wafers, of one batch.\n",
       {{"the cluster", {"systems"}}, step, fractions, output, own},
       exitCodes,
       runScale},
      {"wsec place",
       "usage: wsec place --ispd2020=FILE.kgraph -o FILE.place [flags]\n"
       "       wsec place --ispd2020=FILE.kgraph --check=FILE.place\n\n"
       "Places a kernel graph of the ISPD-2020 contest: the shape of each "
       "kernel and its\nposition on the wafer. The same seed and number of "
       "changes give the same file.\n",
       {{"the graph", {"ispd2020", "constraints"}},
        {"the placement", {"o", "check"}},
        {"the search", {"seed", "changes", "threads"}},
        own},
       exitCodes,
       runPlace},
      {"wsec train",
       "usage: wsec train MODEL.onnx|PRESET|CONFIG.yaml --tokens=FILE "
       "--sequence=S --batch=B --steps=N [flags]\n"
       "       mpirun -np N wsec train ...\n\n"
       "Trains a model on emulated wafers. Sequence j of step i, both from 0, "
       "is\ntokens[(i * B + j) * S] and the S tokens behind it. A "
       "configuration has any of\nthese flags as keys of `training`.\n",
       trainGroups(own),
       "Exit code: 0 done; 1 the input is at fault; 2 wrong usage; 130 stopped "
       "by Ctrl-C.\n",
       runTrain}};
  return all;
}

/// The flag that a word of a command line sets, as --help has it.
static std::string flagIn(const std::string &word) {
  return absl::StrReplaceAll(word.substr(0, word.find('=')), {{"_", "-"}});
}

/// The flags that a configuration is for. Of those that the command line has,
/// too, the command line's count.
static std::vector<std::string> flagsOf(const Config &config) {
  std::vector<std::string> words;
  const auto add = [&](const char *flag, int64_t value) {
    if (value)
      words.push_back(absl::StrCat("--", flag, "=", value));
  };
  add("batch", config.batch);
  add("sequence", config.sequence);
  add("num-systems", config.systems);
  for (const auto &[key, value] : config.training)
    words.push_back(absl::StrCat("--", key, "=", value));
  return words;
}

static int runTrainTool(const Tool &tool, int argc, char **argv) {
  std::vector<std::string> words{argv[0]};
  try {
    for (int i = 1; i < argc; ++i)
      if (isConfigFile(argv[i]) && argv[i][0] != '-')
        for (std::string &word : flagsOf(readConfig(argv[i])))
          if (std::none_of(argv, argv + argc, [&](const char *given) {
                return flagIn(given) == flagIn(word);
              }))
            words.push_back(std::move(word));
  } catch (const std::exception &error) {
    std::fprintf(stderr, "%s: error: %s\n", tool.name,
                 runtime::printable(error.what()).c_str());
    return 1;
  }
  words.insert(words.end(), argv + 1, argv + argc);
  std::vector<char *> pointers;
  for (std::string &word : words)
    pointers.push_back(word.data());
  return runTool(tool, int(pointers.size()), pointers.data());
}

std::optional<int> runSubcommand(int argc, char **argv) {
  if (argc < 2)
    return std::nullopt;
  const std::string word = argv[1];
  for (const Tool &tool : tools())
    if (tool.name == "wsec " + word &&
        !std::filesystem::is_regular_file(std::filesystem::path(word)))
      return word == "train" ? runTrainTool(tool, argc - 1, argv + 1)
                             : runTool(tool, argc - 1, argv + 1);
  return std::nullopt;
}

} // namespace wsec::tools
