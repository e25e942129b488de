// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/train/Training.h"
#include "runtime/memoryx/Checkpoint.h"
#include "runtime/memoryx/StrictJson.h"
#include "runtime/program/Checker.h"
#include "runtime/program/Errors.h"
#include "runtime/program/NearestNames.h"

#include "absl/strings/str_cat.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>

namespace wsec::runtime {

template <class T>
static T valueOf(absl::StatusOr<T> value) {
  requireOk(value.status());
  return *std::move(value);
}

namespace {
class Stopwatch {
public:
  double seconds() const {
    return std::chrono::duration<double>(Clock::now() - start).count();
  }

private:
  using Clock = std::chrono::steady_clock;
  const Clock::time_point start = Clock::now();
};
} // namespace

// ---------------------------------------------------------------- the input

static const program::Tensor &tensorNamed(const Session &session,
                                          const std::string &name,
                                          program::TensorRole role,
                                          const char *what) {
  std::vector<std::string> names;
  for (const program::Tensor *tensor : *session.program().tensors()) {
    if (tensor->role() != role || tensor->gradient())
      continue;
    if (tensor->name()->string_view() == name)
      return *tensor;
    names.push_back(tensor->name()->str());
  }
  throw Error(ErrorClass::BadTensor,
              absl::StrCat("the program has no ", what, " ", inQuotes(name),
                           nearestNames(name, names)));
}

static std::vector<int64_t> shapeOf(const program::Tensor &tensor) {
  if (!tensor.shape())
    return {};
  return {tensor.shape()->begin(), tensor.shape()->end()};
}

void Training::readShapes(const Session &session) {
  const TrainingTensors &names = options.tensors;
  const program::Tensor &inputs =
      tensorNamed(session, names.tokens, program::TensorRole::Input, "input");
  const program::Tensor &targets =
      tensorNamed(session, names.targets, program::TensorRole::Input, "input");
  const std::vector<int64_t> shape = shapeOf(inputs);
  const auto refuse = [&](const std::string &name, const program::Tensor &its) {
    throw Error(ErrorClass::BadTensor,
                absl::StrCat("input ", inQuotes(name), " is ",
                             describe(dataType(its.type()), shapeOf(its)),
                             "; tokens are int64[sequences, tokens], and "
                             "targets as many"));
  };
  if (shape.size() != 2 || inputs.type() != program::ElementType::I64)
    refuse(names.tokens, inputs);
  if (shapeOf(targets) != shape || targets.type() != program::ElementType::I64)
    refuse(names.targets, targets);
  const program::Tensor &loss =
      tensorNamed(session, names.loss, program::TensorRole::Output, "output");
  if (loss.type() != program::ElementType::F32 || elementCount(loss) != 1)
    throw Error(ErrorClass::BadTensor,
                absl::StrCat("output ", inQuotes(names.loss), " is ",
                             describe(dataType(loss.type()), shapeOf(loss)),
                             "; a loss is one number of float32"));
  rows = uint64_t(shape[0]);
  length = uint64_t(shape[1]);
  if (options.batch == 0 || options.batch % rows != 0)
    throw Error(ErrorClass::BadTensor,
                absl::StrCat("a batch of ", options.batch,
                             " sequences is no multiple of the micro-batch of ",
                             rows, " that the program was compiled for"));
}

/// Rows of the tables that tokens look up: what they know is the vocabulary.
static std::optional<int64_t> vocabularyOf(const Session &session,
                                           const std::string &input) {
  const program::Program &program = session.program();
  std::optional<int64_t> least;
  for (const program::HostStream *stream : *program.streams())
    for (const program::Segment *segment : *stream->segments()) {
      if (segment->index_tensor() < 0)
        continue;
      const auto &index =
          *program.tensors()->Get(uint32_t(segment->index_tensor()));
      const auto &table = *program.tensors()->Get(segment->tensor());
      if (index.name()->string_view() == input && table.shape() &&
          table.shape()->size() > 0)
        least = std::min(least.value_or(std::numeric_limits<int64_t>::max()),
                         table.shape()->Get(0));
    }
  return least;
}

void Training::checkTokens(const Session &session) const {
  if (evaluated)
    evaluated->requireCount(
        rows * length + 1,
        absl::StrCat("evaluations of ", rows, " x ", length,
                     " tokens at a time, and the target of the last,"));
  const auto vocabulary = vocabularyOf(session, options.tensors.tokens);
  if (!vocabulary)
    return;
  tokens.requireWithin(*vocabulary);
  if (evaluated)
    evaluated->requireWithin(*vocabulary);
}

// ---------------------------------------------------------------- begin

Training::Training(std::unique_ptr<Cluster> cluster, Tokens tokens,
                   std::optional<Tokens> evaluated, TrainingOptions options)
    : options(std::move(options)), tokens(std::move(tokens)),
      evaluated(std::move(evaluated)), digest(this->tokens.digest()) {
  readShapes(cluster->session());
  checkTokens(cluster->session());
  const unsigned systems = cluster->tree().systems();
  if (callsPerStep() < systems)
    throw Error(ErrorClass::BadTensor,
                absl::StrCat("a batch of ", this->options.batch,
                             " sequences is ", callsPerStep(),
                             " micro-batches of ", rows, ", and there are ",
                             systems,
                             " systems; take a larger batch, a "
                             "smaller micro-batch or fewer systems"));
  open(std::move(cluster));
}

void Training::open(std::unique_ptr<Cluster> cluster) {
  std::optional<std::string> checkpoint;
  if (!options.checkpointFolder.empty())
    checkpoint = Checkpoint::latest(options.checkpointFolder);
  if (checkpoint && !options.resume)
    throw Error(ErrorClass::BadState,
                "there is a checkpoint already, " + inQuotes(*checkpoint) +
                    "; go on from there with --resume, or name another folder");
  wafers = valueOf(Trainer::open(std::move(cluster), options.store,
                                 checkpoint.value_or(""), options.tensors.loss,
                                 options.link));
  call = valueOf(wafers->wafers().session().callOf("", {}));
  if (checkpoint)
    restore();
  else
    tokens.requireCount(options.steps * options.batch * length + 1,
                        absl::StrCat(options.steps, " steps of ", options.batch,
                                     " x ", length,
                                     " tokens, and the target of the last,"));
}

/// Where the data go on. A step takes the tokens behind those of the one before
/// it, also where its batch is another.
void Training::restore() {
  done = wafers->store().steps();
  const auto &progress = wafers->store().progress;
  const auto data = progress.find("tokens");
  if (data == progress.end() || data->second.size() != 2)
    throw Error(ErrorClass::BadState,
                "the checkpoint does not say where the data went on");
  position = data->second[0];
  const auto model = progress.find("model");
  if (options.model && model != progress.end() &&
      model->second != std::vector<uint64_t>{options.model})
    throw Error(ErrorClass::BadState,
                "the checkpoint is of a run of another model: its file, loss, "
                "precision, or what of it trains differs; resume it with "
                "those, or begin anew in another folder");
  if (data->second[1] != digest)
    throw Error(ErrorClass::BadState,
                "the checkpoint is of a run with other tokens than " +
                    inQuotes(tokens.path()) +
                    "; resume it with those, or begin anew in another folder");
  const uint64_t left = options.steps - std::min(options.steps, done);
  tokens.requireCount(position + left * options.batch * length + 1,
                      absl::StrCat(left, " more steps after token ", position));
}

// ---------------------------------------------------------------- steps

void Training::bind(const Tokens &from, uint64_t first, uint64_t calls) {
  Cluster &cluster = wafers->wafers();
  cluster.clearInputs();
  requireOk(cluster.bind(options.tensors.tokens,
                         from.rows(first, calls * rows, length)));
  requireOk(cluster.bind(options.tensors.targets,
                         from.rows(first + 1, calls * rows, length)));
}

/// In the order of the calls.
static double sumOfLosses(const BatchShare &batch) {
  double sum = 0;
  for (const auto &[call, loss] : batch.losses)
    sum += loss;
  return sum;
}

TrainingStep Training::makeStep(uint64_t number) {
  const Stopwatch watch;
  TrainingStep step;
  step.step = number;
  const uint64_t calls = callsPerStep();
  bind(tokens, position, calls);
  BatchShare batch = valueOf(
      wafers->makeGradients(*call, options.engineOptions, options.engine));
  step.loss = sumOfLosses(batch) / double(calls);
  lastRun = std::move(batch.run);
  if (!std::isfinite(step.loss))
    throw Error(ErrorClass::NotFinite,
                absl::StrCat("the loss of step ", number, " is ", step.loss,
                             "; take a smaller learning rate, or clip "
                             "gradients"));
  step.learningRate = options.schedule.rate(number - 1);
  const ParameterStore::StepResult result =
      valueOf(wafers->endStep(step.learningRate, double(calls)));
  step.gradientNorm = result.gradientNorm;
  if (!result.applied)
    throw Error(ErrorClass::NotFinite,
                absl::StrCat("the norm of the gradients of step ", number,
                             " is ", result.gradientNorm, ", its loss ",
                             step.loss));
  step.ownTokens = options.batch * length;
  position += step.ownTokens;
  step.tokens = position;
  step.cycles = lastRun->cycles();
  step.seconds = watch.seconds();
  return step;
}

Evaluation Training::evaluate(uint64_t step) {
  const Stopwatch watch;
  const uint64_t each = rows * length;
  // As many at a time as a step has, so that all systems have some.
  const uint64_t all = (evaluated->size() - 1) / each;
  Evaluation result;
  result.step = step;
  for (uint64_t at = 0; at < all; at += callsPerStep()) {
    const uint64_t calls = std::min(callsPerStep(), all - at);
    bind(*evaluated, at * each, calls);
    const BatchShare batch =
        valueOf(wafers->evaluate(*call, options.engineOptions, options.engine));
    result.loss += sumOfLosses(batch);
    result.cycles += batch.run.cycles();
  }
  result.loss /= double(all);
  result.tokens = all * each;
  result.seconds = watch.seconds();
  return result;
}

void Training::save(uint64_t step, TrainingObserver &observer) {
  ParameterStore &store = wafers->store();
  store.progress["tokens"] = {position, digest};
  if (options.model)
    store.progress["model"] = {options.model};
  observer.saved(step, Checkpoint::save(store, options.checkpointFolder,
                                        {.keep = options.keptCheckpoints}));
}

bool Training::run(TrainingObserver &observer) {
  observer.begins(done, *wafers);
  const auto stopped = [&] { return options.stop && *options.stop; };
  const auto isDue = [](uint64_t every, uint64_t step) {
    return every != 0 && step % every == 0;
  };
  if (evaluated && done == 0 && options.evaluateEvery)
    observer.ended(evaluate(0));
  while (done < options.steps && !stopped()) {
    observer.ended(makeStep(done + 1));
    ++done;
    const bool isLast = done == options.steps || stopped();
    if (evaluated && (isDue(options.evaluateEvery, done) || isLast))
      observer.ended(evaluate(done));
    if (!options.checkpointFolder.empty() &&
        (isDue(options.checkpointEvery, done) || isLast))
      save(done, observer);
  }
  return done >= options.steps;
}

// ---------------------------------------------------------------- report

std::optional<RunReport> Training::report() const {
  if (!lastRun)
    return std::nullopt;
  return makeReport(*call, wafers->wafers().tree(), *lastRun);
}

std::optional<StepReport> Training::stepReport() const {
  if (!lastRun)
    return std::nullopt;
  return makeStepReport(*call, wafers->wafers().tree(), *lastRun,
                        options.batch * length, wafers->gradientBytes().back());
}

std::string Training::reportJson(const std::string &compilation) const {
  const ParameterStore &store = wafers->store();
  uint64_t elements = 0;
  for (size_t i = 0; i < store.size(); ++i)
    elements += store.elements(i);
  Json json = {{"compilation", Json::parse(compilation)},
               {"training",
                {{"steps", done},
                 {"tokens", position},
                 {"batch", options.batch},
                 {"sequence", length},
                 {"micro_batch", rows},
                 {"parameters", store.size()},
                 {"trained_elements", elements},
                 {"store_bytes", store.bytes()}}}};
  if (const auto step = stepReport())
    json["training"]["step"] = Json::parse(step->json());
  if (const auto step = report())
    json["step"] = Json::parse(step->json());
  return json.dump(1) + "\n";
}

} // namespace wsec::runtime
