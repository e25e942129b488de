// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/wsec/TrainCommand.h"
#include "runtime/host/OutputFiles.h"
#include "runtime/program/NearestNames.h"
#include "runtime/swarmx/MpiLink.h"
#include "runtime/train/ServeTraining.h"
#include "runtime/train/TensorboardEvents.h"
#include "runtime/train/TrainingLog.h"
#include "tools/wsec/CountFlag.h"
#include "tools/wsec/MicroBatch.h"
#include "tools/wsec/SparsityFlags.h"
#include "tools/wsec/TrainFiles.h"
#include "tools/wsec/TrainedModel.h"

#include "absl/flags/declare.h"
#include "absl/flags/flag.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <csignal>
#include <filesystem>
#include <fnmatch.h>
#include <set>
#include <thread>
#include <unistd.h>

namespace fs = std::filesystem;

namespace wsec::tools {
namespace {

/// At least 0; less until it is given.
struct Real {
  double value;
  double orElse(double other) const { return value >= 0 ? value : other; }
};
bool AbslParseFlag(absl::string_view text, Real *number, std::string *error) {
  if (absl::SimpleAtod(text, &number->value) && number->value >= 0 &&
      std::isfinite(number->value))
    return true;
  *error = absl::StrCat("wants a number of at least 0, found '", text, "'");
  return false;
}
std::string AbslUnparseFlag(Real number) {
  return number.value >= 0 ? absl::StrCat(number.value) : "";
}

struct Betas {
  double first, second;
};
bool AbslParseFlag(absl::string_view text, Betas *betas, std::string *error) {
  const std::vector<std::string> parts = absl::StrSplit(text, ',');
  if (parts.size() == 2 && absl::SimpleAtod(parts[0], &betas->first) &&
      absl::SimpleAtod(parts[1], &betas->second) && betas->first >= 0 &&
      betas->first < 1 && betas->second >= 0 && betas->second < 1)
    return true;
  *error = absl::StrCat("wants two numbers from 0 to below 1 as 0.9,0.999, "
                        "found '",
                        text, "'");
  return false;
}
std::string AbslUnparseFlag(const Betas &betas) {
  return absl::StrCat(betas.first, ",", betas.second);
}
} // namespace
} // namespace wsec::tools

using wsec::tools::Any;
using wsec::tools::Betas;
using wsec::tools::Count;
using wsec::tools::MicroBatch;
using wsec::tools::Real;
using wsec::tools::Words;

ABSL_DECLARE_FLAG(std::string, o);
ABSL_DECLARE_FLAG(std::string, mesh);
ABSL_DECLARE_FLAG(std::string, machine);
ABSL_DECLARE_FLAG(uint64_t, seed);
ABSL_DECLARE_FLAG(int, threads);
ABSL_DECLARE_FLAG(Count, batch);
ABSL_DECLARE_FLAG(Count, sequence);
ABSL_DECLARE_FLAG(Count, num_systems);

ABSL_FLAG(Any, eval_every, {0}, "N  steps between evaluations");
ABSL_FLAG(Count, early_stop, {0},
          "N  evaluations in a row without a lower loss that end the run");
ABSL_FLAG(MicroBatch, micro_batch, {1},
          "K  samples of a call, of which a step has B / K (default: 1); auto: "
          "as many as a step takes the fewest cycles with");
ABSL_FLAG(Count, steps, {0}, "N  of the whole run");

ABSL_FLAG(
    std::string, loss, "cross-entropy",
    "KIND  cross-entropy of logits, mean-square, or result: the model has "
    "its loss");
ABSL_FLAG(std::string, logits, "",
          "NAME  the output that the loss is of (default: the only one, or "
          "'logits')");
ABSL_FLAG(std::string, input, "",
          "NAME  the input that takes tokens (default: the only one)");
ABSL_FLAG(double, label_smoothing, 0,
          "E  share of the probability that is all labels' alike");
ABSL_FLAG(Words, train, {},
          "GLOB  parameters that train (default: all that can); may be "
          "repeated");
ABSL_FLAG(Words, freeze, {}, "GLOB  of those, which do not; may be repeated");

ABSL_FLAG(std::string, lora, "",
          "rank=N,alpha=X,targets=GLOB  only low-rank adapters train, beside "
          "weights of products with these names, and what --train names");

ABSL_FLAG(std::string, training_plan, "",
          "KEY=VALUE,..  what of the plan that reports print is not to be "
          "chosen, as for wsec; auto: choose all of the rest");

ABSL_FLAG(std::string, optimizer, "adamw",
          "RULE  sgd, adamw or adafactor, with PyTorch's rules and defaults");
ABSL_FLAG(Real, lr, {-1},
          "RATE  learning rate (default: 1e-3; adafactor: 1e-2)");
ABSL_FLAG(Betas, betas, (Betas{0.9, 0.999}), "A,B  of adamw");
ABSL_FLAG(Real, eps, {1e-8}, "E  of adamw");
ABSL_FLAG(Real, momentum, {0}, "M  of sgd");
ABSL_FLAG(bool, nesterov, false, "with sgd and momentum");
ABSL_FLAG(Real, weight_decay, {-1},
          "W  of all that trains (default: adamw 0.01, else 0)");
ABSL_FLAG(Words, no_decay, {},
          "GLOB  parameters whose weights do not decay; may be repeated");
ABSL_FLAG(Real, clip_norm, {0}, "X  largest norm of all gradients together");
ABSL_FLAG(std::string, schedule, "constant",
          "KIND  of the learning rate: constant, linear, cosine or "
          "inverse-sqrt");
ABSL_FLAG(Any, warmup_steps, {0}, "N  steps in which it grows from 0");
ABSL_FLAG(Real, end_lr, {0}, "RATE  that linear and cosine end at");
ABSL_FLAG(Count, decay_steps, {0},
          "N  step that they end at (default: --steps)");

ABSL_FLAG(std::string, precision, "f32",
          "TYPE  of what streams: f32, f16, bf16 or cb16");
ABSL_FLAG(Any, precision_opt_level, {0},
          "0|1|2  what of 16 bits is summed in as many: nothing, products with "
          "weights, or attention and softmax, too");
ABSL_FLAG(std::string, engine, "burst",
          "NAME  what emulates: burst, strips or wavelet");

ABSL_FLAG(std::string, log, "", "FILE.jsonl  a line for each step");
ABSL_FLAG(std::string, tensorboard, "",
          "DIR  the same as events of TensorBoard");
ABSL_FLAG(Count, log_every, {1}, "N  steps from one shown line to the next");
ABSL_FLAG(std::string, checkpoint_dir, "", "DIR  where checkpoints go");
ABSL_FLAG(Any, checkpoint_every, {0},
          "N  steps between them; there is one at the end, too");
ABSL_FLAG(Any, checkpoint_keep, {0}, "N  of them stay (default: all)");
ABSL_FLAG(bool, resume, false, "go on from the last of them, if there is one");
ABSL_FLAG(std::string, report, "",
          "FILE.json  what the compiler reports, and the run");
ABSL_FLAG(std::string, cache, "",
          "DIR  where programs are kept (default: ~/.cache/wsec/programs)");
ABSL_FLAG(bool, quiet, false, "say nothing but errors");
ABSL_FLAG(
    bool, detect_anomaly, false,
    "where a loss or gradient is no number, say which kernel has made the "
    "first");
ABSL_FLAG(bool, validate_only, false,
          "stop when there is a kernel for each operator");
ABSL_FLAG(bool, compile_only, false, "stop when the program is there");

namespace wsec::tools {

using namespace wsec::runtime;

std::vector<FlagGroup> trainFlags() {
  return {{"what to learn",
           {"tokens", "text", "tokenizer", "eval-tokens", "sequence", "data",
            "targets", "eval-data", "eval-every", "early-stop", "batch",
            "micro-batch", "steps"}},
          {"the model",
           {"loss", "logits", "input", "label-smoothing", "train", "freeze",
            "lora", "seed"}},
          {"the optimizer",
           {"optimizer", "lr", "betas", "eps", "momentum", "nesterov",
            "weight-decay", "no-decay", "clip-norm", "schedule", "warmup-steps",
            "end-lr", "decay-steps"}},
          {"sparse weights",
           {"sparsity", "sparsity-algorithm", "sparsity-method",
            "sparsity-filter", "sparsity-initial", "sparsity-every",
            "sparsity-stop", "drop-fraction"}},
          {"the wafers",
           {"num-systems", "machine", "mesh", "training-plan", "precision",
            "precision-opt-level", "engine", "threads"}},
          {"what stays",
           {"log", "tensorboard", "log-every", "checkpoint-dir",
            "checkpoint-every", "checkpoint-keep", "resume", "report", "cache",
            "quiet", "detect-anomaly"}},
          {"less than a run", {"validate-only", "compile-only"}}};
}

static uint64_t needed(Count flag, const char *what) {
  if (!flag.value)
    throw UsageError(absl::StrCat("say ", what));
  return uint64_t(flag.value);
}

//===----------------------------------------------------------------------===//
// What the command line says
//===----------------------------------------------------------------------===//

static UpdatePtr updateRule(const std::string &name, double weightDecay) {
  if (name == "sgd")
    return sgd({.momentum = absl::GetFlag(FLAGS_momentum).value,
                .weightDecay = weightDecay,
                .nesterov = absl::GetFlag(FLAGS_nesterov)});
  if (name == "adamw") {
    const Betas betas = absl::GetFlag(FLAGS_betas);
    return adamW({.beta1 = betas.first,
                  .beta2 = betas.second,
                  .epsilon = absl::GetFlag(FLAGS_eps).value,
                  .weightDecay = weightDecay});
  }
  if (name != "adafactor")
    throw UsageError("--optimizer wants sgd, adamw or adafactor, found '" +
                     name + "'");
  return adafactor({.weightDecay = weightDecay});
}

static StoreOptions storeOptions() {
  const std::string name = absl::GetFlag(FLAGS_optimizer);
  const double decay =
      absl::GetFlag(FLAGS_weight_decay).orElse(name == "adamw" ? 0.01 : 0);
  if (absl::GetFlag(FLAGS_nesterov) &&
      (name != "sgd" || absl::GetFlag(FLAGS_momentum).value == 0))
    throw UsageError("--nesterov goes with --optimizer=sgd and --momentum");
  StoreOptions options;
  options.update = updateRule(name, decay);
  options.clipNorm = absl::GetFlag(FLAGS_clip_norm).value;
  return options;
}

static Schedule schedule(uint64_t steps) {
  Schedule schedule;
  const std::string name = absl::GetFlag(FLAGS_schedule);
  const auto kind = findSchedule(name);
  if (!kind)
    throw UsageError("--schedule wants constant, linear, cosine or "
                     "inverse-sqrt, found '" +
                     name + "'");
  schedule.kind = *kind;
  schedule.learningRate = absl::GetFlag(FLAGS_lr).orElse(
      absl::GetFlag(FLAGS_optimizer) == "adafactor" ? 1e-2 : 1e-3);
  schedule.endRate = absl::GetFlag(FLAGS_end_lr).value;
  schedule.warmupSteps = uint64_t(absl::GetFlag(FLAGS_warmup_steps).value);
  const auto end = uint64_t(absl::GetFlag(FLAGS_decay_steps).value);
  schedule.steps = end ? end : steps;
  return schedule;
}

//===----------------------------------------------------------------------===//
// The run
//===----------------------------------------------------------------------===//

namespace {
std::atomic<bool> interrupted = false;

/// The first Ctrl-C ends the run behind its step, the second one now.
class EndsAtInterrupt {
public:
  EndsAtInterrupt() {
    interrupted = false;
    before = std::signal(SIGINT, [](int) {
      interrupted = true;
      std::signal(SIGINT, SIG_DFL);
    });
  }
  ~EndsAtInterrupt() { std::signal(SIGINT, before); }

private:
  void (*before)(int);
};

/// Both are told of what the run does.
class LogAndEvents : public TrainingObserver {
public:
  LogAndEvents(TrainingLog &log, TensorboardEvents &events)
      : log(log), events(events) {}
  void begins(uint64_t step, const Trainer &trainer) override {
    log.begins(step, trainer);
    events.begins(step, trainer);
  }
  void ended(const TrainingStep &step) override {
    log.ended(step);
    events.ended(step);
  }
  void ended(const Evaluation &evaluation) override {
    log.ended(evaluation);
    events.ended(evaluation);
  }
  void saved(uint64_t step, const std::string &path) override {
    log.saved(step, path);
  }
  void endedEarly(const BestEvaluation &best) override { log.endedEarly(best); }

private:
  TrainingLog &log;
  TensorboardEvents &events;
};

/// What is asked for, apart from the model.
struct Task {
  TrainFiles files;
  TrainingOptions options;
  std::unique_ptr<TrainingData> data, evaluated;
};
} // namespace

static Task readTask(const std::string &cache) {
  Task task;
  task.files = readTrainFiles(cache);
  TrainingOptions &options = task.options;
  options.batch = needed(absl::GetFlag(FLAGS_batch),
                         "how many samples a step has: --batch=B");
  options.steps =
      needed(absl::GetFlag(FLAGS_steps), "how many steps to make: --steps=N");
  options.schedule = schedule(options.steps);
  options.store = storeOptions();
  options.sparsity = sparsityOptions(options.steps);
  options.store.lossScale =
      runtime::LossScale::of(absl::GetFlag(FLAGS_precision));
  options.evaluateEvery = uint64_t(absl::GetFlag(FLAGS_eval_every).value);
  if (options.evaluateEvery && !task.files.evaluatedTokens &&
      !task.files.evaluatedArrays)
    throw UsageError("--eval-every goes with --eval-tokens=FILE or "
                     "--eval-data=FILE");
  options.patience = uint64_t(absl::GetFlag(FLAGS_early_stop).value);
  if (options.patience && !options.evaluateEvery)
    throw UsageError("--early-stop goes with --eval-every=N");
  options.checkpointFolder = absl::GetFlag(FLAGS_checkpoint_dir);
  options.checkpointEvery =
      uint64_t(absl::GetFlag(FLAGS_checkpoint_every).value);
  options.keptCheckpoints =
      unsigned(absl::GetFlag(FLAGS_checkpoint_keep).value);
  options.resume = absl::GetFlag(FLAGS_resume);
  if (options.checkpointFolder.empty() &&
      (options.checkpointEvery || options.resume))
    throw UsageError("--checkpoint-every and --resume go with "
                     "--checkpoint-dir=DIR");
  const auto engine = engineNamed(absl::GetFlag(FLAGS_engine));
  if (!engine)
    throw UsageError(absl::StrCat("--engine wants ", engineNames));
  options.engine = *engine;
  options.engineOptions.threads = unsigned(absl::GetFlag(FLAGS_threads));
  options.engineOptions.replay = true;
  options.detectAnomaly = absl::GetFlag(FLAGS_detect_anomaly);
  options.stop = &interrupted;
  return task;
}

/// What is wrong with the data is said before the model is compiled, as far as
/// the model tells.
static void bindData(const TrainedModel &model, Task &task, uint64_t microBatch,
                     unsigned systems) {
  const auto make = [&](std::unique_ptr<NamedArrays> arrays,
                        std::optional<Tokens> tokens) {
    if (!tokens)
      return std::unique_ptr<TrainingData>(std::move(arrays));
    return sequencesOf(*std::move(tokens), model.tokens, model.training.targets,
                       model.sequence);
  };
  TrainFiles &files = task.files;
  task.data = make(std::move(files.arrays), std::move(files.tokens));
  task.evaluated =
      make(std::move(files.evaluatedArrays), std::move(files.evaluatedTokens));
  for (TrainingData *data : {task.data.get(), task.evaluated.get()})
    for (const TakenInput &input : model.inputs) {
      if (!data)
        continue;
      data->fit(input.name, input.type, input.shape);
      if (input.limit)
        data->requireWithin(input.name, input.limit);
    }
  Training::requireBatch(task.options.batch, microBatch, systems);
  if (!task.options.resume) // else from where its checkpoint is
    Training::requireData(*task.data, task.options, 0, 0);
}

/// Results that cannot be kept should not be computed.
static void checkOutputs(const TrainedModel &model) {
  std::vector<std::string> written, read = namesOfTrainFiles();
  read.push_back(model.training.model);
  for (const std::string &path :
       {absl::GetFlag(FLAGS_log), absl::GetFlag(FLAGS_report)})
    if (!path.empty())
      written.push_back(path);
  checkOutputPaths(written, read);
}

static std::string textOf(const std::string &path) {
  const std::vector<uint8_t> bytes = readFile(path);
  return {bytes.begin(), bytes.end()};
}

static void writeReport(const std::string &text) {
  OutputFiles files;
  files.add(absl::GetFlag(FLAGS_report), text);
  files.commit();
}

/// Patterns of --no-decay name parameters that the program trains, as they are
/// called or as their modules call them.
static void readUndecayed(const program::Program &program,
                          const CachedProgram &compiled,
                          StoreOptions &options) {
  const std::vector<std::string> globs = absl::GetFlag(FLAGS_no_decay).values;
  if (globs.empty())
    return;
  const auto modules = moduleNamesOf(compiled);
  std::vector<std::string> names;
  std::set<std::string> matched, undecayed;
  for (const program::Tensor *tensor : *program.tensors()) {
    if (!tensor->parameter())
      continue;
    const std::string name = tensor->parameter()->str();
    const auto module = modules.find(name);
    names.push_back(module == modules.end() ? name : module->second);
    for (const std::string &glob : globs)
      if (!fnmatch(glob.c_str(), name.c_str(), 0) ||
          !fnmatch(glob.c_str(), names.back().c_str(), 0)) {
        matched.insert(glob);
        undecayed.insert(name);
      }
  }
  for (const std::string &glob : globs)
    if (!matched.count(glob))
      throw std::runtime_error(absl::StrCat("--no-decay=", printable(glob),
                                            " names no parameter that trains",
                                            nearestNames(glob, names)));
  options.updateOf = [undecayed, all = options.update,
                      none = updateRule(absl::GetFlag(FLAGS_optimizer), 0)](
                         const std::string &its) {
    return undecayed.count(its) ? none : all;
  };
}

/// That of the model.
static std::string weightFolder(const TrainedModel &model) {
  return fs::absolute(model.training.model).parent_path().string();
}

/// Of `systems` those of this process.
static std::unique_ptr<Cluster> openWafers(const TrainedModel &model,
                                           const CachedProgram &compiled,
                                           unsigned systems, SampleRange here) {
  return std::make_unique<Cluster>(
      valueOf(Session::open(compiled.program,
                            std::vector<std::string>{weightFolder(model)})),
      systems, here);
}

static std::string cacheFolder() {
  const std::string cache = absl::GetFlag(FLAGS_cache);
  return cache.empty() ? programCache() : cache;
}

static int train(const TrainedModel &model, const CachedProgram &compiled,
                 Task task, const Link &link, unsigned systems) {
  const bool isQuiet = absl::GetFlag(FLAGS_quiet);
  auto cluster =
      openWafers(model, compiled, systems, samplesOf(0, link.size(), systems));
  readUndecayed(cluster->session().program(), compiled, task.options.store);
  if (link.size() == 1)
    task.options.wafersFor = [&model, systems](double sparsity) {
      TrainingProgram pruned = model.training;
      pruned.sparsity = sparsity;
      return openWafers(model, findOrCompile(pruned, cacheFolder(), true),
                        systems, samplesOf(0, 1, systems));
    };
  const uint64_t batch = task.options.batch, steps = task.options.steps;
  task.options.model = model.training.modelDigest();
  const std::string unit = task.data->unit();
  Training training(std::move(cluster), std::move(task.data),
                    std::move(task.evaluated), std::move(task.options));
  TrainingLog log(absl::GetFlag(FLAGS_log), isQuiet ? nullptr : stdout, steps,
                  batch, unit, uint64_t(absl::GetFlag(FLAGS_log_every).value));
  const EndsAtInterrupt guard;
  TensorboardEvents events(absl::GetFlag(FLAGS_tensorboard));
  LogAndEvents observer(log, events);
  const bool isWhole = training.run(observer);
  if (const auto report = training.report(); report && !isQuiet)
    std::fputs(
        printable(report->text() + training.stepReport()->text()).c_str(),
        stdout);
  if (!absl::GetFlag(FLAGS_report).empty())
    writeReport(training.reportJson(textOf(compiled.report)));
  if (isWhole)
    return 0;
  std::fprintf(stderr, "wsec train: stopped\n");
  constexpr int afterInterrupt = 130;
  return afterInterrupt;
}

static int runHere(const std::string &word, const std::shared_ptr<Link> &link,
                   unsigned systems) {
  const bool isQuiet = absl::GetFlag(FLAGS_quiet);
  const std::string loss = absl::GetFlag(FLAGS_loss);
  if (loss != "cross-entropy" && loss != "mean-square" && loss != "result")
    throw UsageError("--loss wants cross-entropy, mean-square or result, "
                     "found '" +
                     loss + "'");
  const auto sequence = uint64_t(absl::GetFlag(FLAGS_sequence).value);
  uint64_t batch = absl::GetFlag(FLAGS_micro_batch).samples;
  const std::string cache = cacheFolder();
  const bool stopsEarly =
      absl::GetFlag(FLAGS_validate_only) || absl::GetFlag(FLAGS_compile_only);
  std::optional<Task> task;
  if (!stopsEarly || !namesOfTrainFiles().empty())
    task = readTask(cache);
  const NamedArrays *arrays = task ? task->files.arrays.get() : nullptr;
  if (!batch)
    batch = chooseMicroBatch(
        needed(absl::GetFlag(FLAGS_batch),
               "of how many samples --micro-batch=auto is to be: --batch=B"),
        systems, isQuiet, [&](uint64_t samples) {
          return cyclesOfCall(word, cache, samples, sequence, arrays);
        });
  const TrainedModel model =
      readTrainedModel(word, cache, batch, sequence, arrays);
  if (!isQuiet && !(task && task->files.arrays) && !sequence)
    std::printf("sequences of %llu tokens, as the model has them\n",
                static_cast<unsigned long long>(model.sequence));
  checkOutputs(model);
  if (task)
    bindData(model, *task, batch, systems);
  if (absl::GetFlag(FLAGS_validate_only))
    return compileTraining(model.training, "", "", isQuiet) ? 0 : 1;
  const CachedProgram compiled = findOrCompile(model.training, cache, isQuiet);
  if (!isQuiet)
    std::printf("program %s%s\n", printable(compiled.program).c_str(),
                compiled.wasThere ? ", compiled before" : "");
  if (!isQuiet && compiled.wasThere)
    for (const std::string &note : notesOf(compiled))
      std::printf("  note %s\n", printable(note).c_str());
  if (absl::GetFlag(FLAGS_compile_only)) {
    if (!absl::GetFlag(FLAGS_report).empty())
      writeReport("{\"compilation\": " + textOf(compiled.report) + "}\n");
    return 0;
  }
  tellTraining(*link,
               {fs::absolute(compiled.program).string(), weightFolder(model),
                task->options.loss, systems, task->options.engine});
  task->options.link = link;
  return train(model, compiled, *std::move(task), *link, systems);
}

/// There is nobody to talk to any more, and threads that wait.
static void endSystemLost(const std::string &what, bool speaks) {
  if (speaks)
    std::fprintf(stderr, "wsec train: error: %s\n", printable(what).c_str());
  _exit(1);
}

int runTrain(const std::vector<std::string> &words) {
  if (words.size() != 1)
    throw UsageError(words.empty() ? "say what to train: MODEL.onnx, a preset "
                                     "or CONFIG.yaml"
                                   : "one model at a time: '" + words[0] +
                                         "' and '" + words[1] + "'");
  const MpiLaunch mpi = mpiLaunch();
  const auto systems = unsigned(absl::GetFlag(FLAGS_num_systems).value);
  if (!mpi.size)
    return runHere(words[0], std::make_shared<OneProcess>(),
                   std::max(1u, systems));
  // Until the process ends, as in wse-run: errors are said before others end.
  static const std::shared_ptr<Link> link = openMpiLink(endSystemLost);
  if (!link)
    throw std::runtime_error("mpirun has started this process, but it is built "
                             "without Open MPI; take --num-systems=N");
  if (systems && systems < mpi.size)
    throw UsageError(absl::StrCat("mpirun has started ", mpi.size,
                                  " processes for ", systems, " systems"));
  const unsigned threads = std::max(
      1u, std::max(1u, std::thread::hardware_concurrency()) / mpi.size);
  if (link->rank() > 0)
    return serveTraining(*link, threads) ? 0 : 1;
  OtherProcesses others(*link);
  const int code = runHere(words[0], link, std::max(systems, mpi.size));
  others.end(code == 0);
  return code;
}

} // namespace wsec::tools
