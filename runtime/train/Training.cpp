// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/train/Training.h"
#include "runtime/memoryx/Checkpoint.h"
#include "runtime/memoryx/StrictJson.h"
#include "runtime/program/Checker.h"
#include "runtime/program/Errors.h"
#include "runtime/program/NearestNames.h"
#include "runtime/program/facts/Facts.h"
#include "runtime/train/Anomaly.h"

#include "absl/strings/str_cat.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <limits>

namespace wsec::runtime {

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

void Training::readShapes(const Session &session) {
  const program::Tensor *loss = nullptr;
  for (const program::Tensor *tensor : *session.program().tensors())
    if (tensor->role() == program::TensorRole::Output && !tensor->gradient() &&
        tensor->name()->string_view() == options.loss)
      loss = tensor;
  if (!loss || loss->type() != program::ElementType::F32 ||
      elementCount(*loss) != 1)
    throw Error(ErrorClass::BadTensor,
                absl::StrCat("the program has no output ",
                             inQuotes(options.loss),
                             ", one number of float32, that is the loss"));
}

/// The first extent of each input is the samples of a call.
void Training::fitInputs(const Session &session, TrainingData &its) {
  const program::Program &program = session.program();
  for (uint32_t i = 0; i < program.tensors()->size(); ++i) {
    const program::Tensor *tensor = program.tensors()->Get(i);
    if (tensor->role() != program::TensorRole::Input)
      continue;
    const std::string name = tensor->name()->str();
    const std::vector<int64_t> shape = shapeOf(*tensor);
    const uint64_t first = shape.empty() ? 0 : uint64_t(shape[0]);
    if (first == 0 || (rows != 0 && rows != first))
      throw Error(
          ErrorClass::BadTensor,
          absl::StrCat("input ", inQuotes(name), " is ",
                       describe(dataType(tensor->type()), shape),
                       ", which is not by samples along its first axis",
                       rows ? absl::StrCat(", ", rows, " of a call") : "",
                       "; export the model with a batch there"));
    rows = first;
    if (options.store.lossScale && name == lossScaleName)
      continue;
    its.fit(name, dataType(tensor->type()), shape);
    if (const auto vocabulary = vocabularyOf(program, i))
      its.requireWithin(name, *vocabulary);
  }
}

void Training::requireBatch(uint64_t batch, uint64_t rows, unsigned systems) {
  if (batch == 0 || batch % rows != 0)
    throw Error(ErrorClass::BadTensor,
                absl::StrCat("a batch of ", batch,
                             " samples is no multiple of the micro-batch of ",
                             rows, "; take another --batch or --micro-batch"));
  if (batch / rows < systems)
    throw Error(ErrorClass::BadTensor,
                absl::StrCat("a batch of ", batch, " samples is ", batch / rows,
                             " micro-batches of ", rows, ", and there are ",
                             systems,
                             " systems; take a larger batch, a smaller "
                             "micro-batch or fewer systems"));
}

void Training::requireData(const TrainingData &data,
                           const TrainingOptions &options, uint64_t done,
                           uint64_t position) {
  const uint64_t left = options.steps - std::min(options.steps, done);
  data.requireSamples(position, left * options.batch, options.batch,
                      absl::StrCat(left,
                                   done ? " more steps of " : " steps of ",
                                   options.batch));
}

// ---------------------------------------------------------------- begin

Training::Training(std::unique_ptr<Cluster> cluster,
                   std::unique_ptr<TrainingData> its,
                   std::unique_ptr<TrainingData> others,
                   TrainingOptions options)
    : options(std::move(options)), data(std::move(its)),
      evaluated(std::move(others)) {
  readShapes(cluster->session());
  fitInputs(cluster->session(), *data);
  digest = data->digest();
  requireBatch(this->options.batch, rows, cluster->tree().systems());
  if (evaluated) {
    fitInputs(cluster->session(), *evaluated);
    const uint64_t whole = std::max(rows, evaluated->samples() / rows * rows);
    evaluated->requireSamples(0, whole, whole,
                              absl::StrCat("evaluations of ", rows));
  }
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
                                 checkpoint.value_or(""), options.loss,
                                 options.link));
  const Session &session = wafers->wafers().session();
  call = valueOf(session.callOf("", {}));
  masks.emplace(options.sparsity, session.program());
  streamed = options.sparsity.sparsityAt(0);
  masks->begin(wafers->store());
  if (masks->any())
    density = masks->density(wafers->store());
  if (checkpoint)
    restore();
  else
    requireData(*data, options, 0, 0);
}

/// Where the data go on. A step takes what is behind that of the one before it,
/// also where its batch is another.
void Training::restore() {
  done = wafers->store().steps();
  const auto &progress = wafers->store().progress;
  const auto stopped = progress.find(data->unit());
  if (stopped == progress.end() || stopped->second.size() != 2)
    throw Error(ErrorClass::BadState,
                absl::StrCat("the checkpoint does not say after how many ",
                             data->unit(), " the data go on"));
  position = stopped->second[0];
  if (const auto skipped = progress.find("skipped");
      skipped != progress.end() && skipped->second.size() == 1)
    done += skipped->second[0];
  const auto model = progress.find("model");
  if (options.model && model != progress.end() &&
      model->second != std::vector<uint64_t>{options.model})
    throw Error(ErrorClass::BadState,
                "the checkpoint is of a run of another model: its file, loss, "
                "precision, or what of it trains differs; resume it with "
                "those, or begin anew in another folder");
  if (stopped->second[1] != digest)
    throw Error(ErrorClass::BadState,
                absl::StrCat("the checkpoint is of a run with other ",
                             data->unit(), " than ", inQuotes(data->path()),
                             "; resume it with those, or begin anew in "
                             "another folder"));
  if (const auto its = progress.find("evaluation");
      its != progress.end() && its->second.size() == 3)
    best = {its->second[0], std::bit_cast<double>(its->second[1]),
            its->second[2]};
  requireData(*data, options, done, position);
}

// ---------------------------------------------------------------- steps

void Training::bind(const TrainingData &its, uint64_t from, uint64_t calls) {
  Cluster &cluster = wafers->wafers();
  cluster.clearInputs();
  for (auto &[name, tensor] : its.at(from, calls * rows))
    requireOk(cluster.bind(name, std::move(tensor)));
  if (options.store.lossScale)
    requireOk(cluster.bind(lossScaleName, scales(calls * rows)));
}

HostTensor Training::scales(uint64_t samples) const {
  const std::vector<float> all(samples, float(wafers->store().lossScale()));
  const auto *bytes = reinterpret_cast<const uint8_t *>(all.data());
  return {DataType::Float32,
          {int64_t(samples)},
          {bytes, bytes + samples * sizeof(float)}};
}

/// In the order of the calls.
static double sumOfLosses(const BatchShare &batch) {
  double sum = 0;
  for (const auto &[call, loss] : batch.losses)
    sum += loss;
  return sum;
}

/// What the sum of the losses of calls, and of their gradients, is divided by.
double Training::divisorOf(const TrainingData &its, uint64_t from,
                           uint64_t calls) const {
  const uint64_t labels = its.summedLabels(from, calls * rows);
  return double(labels ? labels : calls);
}

/// Of the calls of a step, with the parameters that they had.
std::string Training::anomalyOf(uint64_t calls) {
  if (!options.detectAnomaly)
    return "; --detect-anomaly names the kernel that made it";
  Session &session = wafers->wafers().session();
  requireOk(session.bindParameters(wafers->store()));
  for (uint64_t i = 0; i < calls; ++i) {
    for (auto &[name, tensor] :
         data->at(position + i * rows * data->stride(), rows))
      requireOk(session.bind(name, std::move(tensor)));
    if (options.store.lossScale)
      requireOk(session.bind(lossScaleName, scales(rows)));
    const std::string found =
        findAnomaly(session, *call, options.engineOptions, options.engine);
    if (!found.empty())
      return absl::StrCat("; call ", i, " of it: ", found);
  }
  return "; each call of it gives numbers, and their sum does not";
}

void Training::followPruning(uint64_t step) {
  const double sparsity = options.sparsity.sparsityBefore(step);
  if (!options.wafersFor || !masks->any() || sparsity == streamed)
    return;
  wafers->use(options.wafersFor(sparsity));
  call = valueOf(wafers->wafers().session().callOf("", {}));
  streamed = sparsity;
}

TrainingStep Training::makeStep(uint64_t number) {
  const Stopwatch watch;
  followPruning(number - 1);
  TrainingStep step;
  step.step = number;
  const uint64_t calls = callsPerStep();
  bind(*data, position, calls);
  const double divisor = divisorOf(*data, position, calls);
  BatchShare batch = valueOf(
      wafers->makeGradients(*call, options.engineOptions, options.engine));
  step.loss = sumOfLosses(batch) / divisor;
  lastRun = std::move(batch.run);
  if (!std::isfinite(step.loss))
    throw Error(
        ErrorClass::NotFinite,
        absl::StrCat("the loss of step ", number, " is ", step.loss,
                     "; take a smaller learning rate, or clip "
                     "gradients; labels that are no class make one, too",
                     anomalyOf(calls)));
  step.learningRate = options.schedule.rate(number - 1);
  if (options.store.lossScale)
    step.lossScale = wafers->store().lossScale();
  if (masks->update(wafers->store(), number - 1))
    density = masks->density(wafers->store());
  step.density = density;
  const ParameterStore::StepResult result =
      valueOf(wafers->endStep(step.learningRate, divisor));
  step.gradientNorm = result.gradientNorm;
  step.isSkipped = !result.applied;
  // A smaller scale may do.
  const bool isLast =
      !step.lossScale || *step.lossScale <= options.store.lossScale->least;
  if (step.isSkipped && isLast)
    throw Error(ErrorClass::NotFinite,
                absl::StrCat("the norm of the gradients of step ", number,
                             " is ", result.gradientNorm, ", its loss ",
                             step.loss, anomalyOf(calls)));
  step.size = options.batch * data->stride();
  position += step.size;
  step.position = position;
  step.cycles = lastRun->cycles();
  step.seconds = watch.seconds();
  return step;
}

Evaluation Training::evaluate(uint64_t step) {
  const Stopwatch watch;
  const uint64_t each = rows * evaluated->stride();
  // As many at a time as a step has, so that all systems have some.
  const uint64_t all = evaluated->samples() / rows;
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
  result.loss /= divisorOf(*evaluated, 0, all);
  result.size = all * each;
  result.seconds = watch.seconds();
  return result;
}

void Training::evaluate(TrainingObserver &observer, bool counts) {
  const Evaluation its = evaluate(done);
  if (!counts)
    return observer.ended(its);
  if (!best || std::isnan(best->loss) || its.loss < best->loss)
    best = {its.step, its.loss, 0};
  else
    ++best->since;
  observer.ended(its);
}

void Training::save(uint64_t step, TrainingObserver &observer) {
  ParameterStore &store = wafers->store();
  store.progress[data->unit()] = {position, digest};
  if (done > store.steps()) // those that overflow are no updates
    store.progress["skipped"] = {done - store.steps()};
  if (options.model)
    store.progress["model"] = {options.model};
  if (best)
    store.progress["evaluation"] = {
        best->step, std::bit_cast<uint64_t>(best->loss), best->since};
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
    evaluate(observer, true);
  for (bool ends = stopped() || endsEarly(); done < options.steps && !ends;) {
    observer.ended(makeStep(done + 1));
    ++done;
    const bool isLast = done == options.steps;
    const bool counts = isDue(options.evaluateEvery, done) || isLast;
    if (evaluated && (counts || stopped()))
      evaluate(observer, counts);
    ends = stopped() || endsEarly(); // also while it evaluates
    if (!options.checkpointFolder.empty() &&
        (isDue(options.checkpointEvery, done) || isLast || ends))
      save(done, observer);
  }
  if (done < options.steps && endsEarly())
    observer.endedEarly(*best);
  return done >= options.steps || endsEarly();
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
                        options.batch * data->stride(), data->unit(),
                        wafers->gradientBytes().back());
}

std::string Training::reportJson(const std::string &compilation) const {
  const ParameterStore &store = wafers->store();
  uint64_t elements = 0;
  for (size_t i = 0; i < store.size(); ++i)
    elements += store.elements(i);
  Json json = {{"compilation", Json::parse(compilation)},
               {"training",
                {{"steps", done},
                 {data->unit(), position},
                 {"batch", options.batch},
                 {"micro_batch", rows},
                 {"parameters", store.size()},
                 {"trained_elements", elements},
                 {"store_bytes", store.bytes()}}}};
  if (data->stride() > 1)
    json["training"]["sequence"] = data->stride();
  if (best && std::isfinite(best->loss))
    json["training"]["best_evaluation"] = {{"step", best->step},
                                           {"loss", best->loss}};
  if (const auto step = stepReport())
    json["training"]["step"] = Json::parse(step->json());
  if (const auto step = report())
    json["step"] = Json::parse(step->json());
  return json.dump(1) + "\n";
}

} // namespace wsec::runtime
