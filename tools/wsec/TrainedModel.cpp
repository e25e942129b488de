// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/wsec/TrainedModel.h"
#include "runtime/files/Digest.h"
#include "runtime/host/TensorProto.h"
#include "runtime/program/NearestNames.h"
#include "tools/flags/CommandLine.h"
#include "tools/presets/ReadModel.h"
#include "tools/presets/WriteModel.h"
#include "tools/wsec/ConfigFile.h"
#include "tools/wsec/CountFlag.h"
#include "tools/wsec/SparsityFlags.h"

#include "absl/flags/declare.h"
#include "absl/flags/flag.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

#include <filesystem>
#include <stdexcept>

using wsec::tools::Any;
using wsec::tools::Words;

ABSL_DECLARE_FLAG(std::string, loss);
ABSL_DECLARE_FLAG(std::string, logits);
ABSL_DECLARE_FLAG(std::string, input);
ABSL_DECLARE_FLAG(std::string, targets);
ABSL_DECLARE_FLAG(double, label_smoothing);
ABSL_DECLARE_FLAG(Words, train);
ABSL_DECLARE_FLAG(Words, freeze);
ABSL_DECLARE_FLAG(std::string, lora);
ABSL_DECLARE_FLAG(std::string, training_plan);
ABSL_DECLARE_FLAG(std::string, precision);
ABSL_DECLARE_FLAG(Any, precision_opt_level);
ABSL_DECLARE_FLAG(bool, validate_only);
ABSL_DECLARE_FLAG(bool, compile_only);
ABSL_DECLARE_FLAG(std::string, mesh);
ABSL_DECLARE_FLAG(std::string, machine);
ABSL_DECLARE_FLAG(uint64_t, seed);

namespace fs = std::filesystem;

namespace wsec::tools {

using namespace wsec::runtime;

namespace {
/// The model has inputs of other extents than the data.
struct WrongExtents : std::runtime_error {
  using std::runtime_error::runtime_error;
};
} // namespace

/// A digest of all that the file of a preset depends on.
static std::string digestOfPreset(const presets::ModelShape &its,
                                  const presets::WriteOptions &options) {
  const std::string text = absl::StrJoin({its.layers,
                                          its.width,
                                          its.heads,
                                          its.keyValueHeads,
                                          its.headSize,
                                          its.feedForward,
                                          its.vocabulary,
                                          its.sequence,
                                          int64_t(its.architecture),
                                          int64_t(its.positions),
                                          its.rotaryFeatures,
                                          int64_t(its.rotaryInterleaved),
                                          int64_t(its.norm),
                                          int64_t(its.activation),
                                          int64_t(its.residual),
                                          int64_t(its.attentionBias),
                                          int64_t(its.feedForwardBias),
                                          int64_t(its.tiedHead),
                                          int64_t(its.headBias),
                                          its.decoderSequence,
                                          int64_t(options.seed),
                                          options.batch,
                                          options.sequence,
                                          int64_t(options.weights)},
                                         ",");
  const std::string all = absl::StrCat(its.name, ",", text, ",", its.rotaryBase,
                                       ",", its.normEpsilon, ",") +
                          digestOfFile("/proc/self/exe");
  return absl::StrFormat("%016x", runtime::digestOf(all.data(), all.size()));
}

/// A preset's model is written to the cache, by what it is made of.
static std::string writePreset(const presets::ModelShape &shape,
                               const std::string &folder, uint64_t batch,
                               uint64_t sequence, bool isAbsent) {
  presets::WriteOptions options;
  options.seed = absl::GetFlag(FLAGS_seed);
  options.batch = int64_t(batch);
  options.sequence = int64_t(sequence);
  options.weights =
      isAbsent ? presets::Weights::Absent : presets::Weights::Seeded;
  fs::create_directories(folder);
  options.path = folder + "/preset-" + digestOfPreset(shape, options) + ".onnx";
  if (!fs::exists(options.path))
    writeModel(shape, options);
  return options.path;
}

static std::string
descriptions(const std::vector<presets::SignatureTensor> &tensors) {
  return absl::StrJoin(tensors, ", ", [](std::string *text, const auto &its) {
    absl::StrAppend(text, printable(its.description()));
  });
}

static const presets::SignatureTensor &
chosen(const std::vector<presets::SignatureTensor> &all,
       const std::string &name, const char *what) {
  std::vector<std::string> names;
  for (const presets::SignatureTensor &each : all) {
    if (each.name == name)
      return each;
    names.push_back(each.name);
  }
  throw std::runtime_error(absl::StrCat("the model has no ", what, " ",
                                        inQuotes(name),
                                        nearestNames(name, names)));
}

static const presets::SignatureTensor &
tokenInput(const presets::ModelSignature &signature) {
  const std::string name = absl::GetFlag(FLAGS_input);
  if (!name.empty())
    return chosen(signature.inputs, name, "input");
  const presets::SignatureTensor *found = nullptr;
  for (const presets::SignatureTensor &each : signature.inputs) {
    if (!each.isInteger)
      continue;
    if (found)
      throw std::runtime_error(
          "say which input takes tokens, with --input=NAME: the model has " +
          descriptions(signature.inputs));
    found = &each;
  }
  if (!found)
    throw std::runtime_error("the model has no input of integers to give "
                             "tokens to, but " +
                             descriptions(signature.inputs));
  return *found;
}

namespace {
/// What data and an ONNX model are to each other.
class ModelReader {
public:
  ModelReader(TrainedModel &model, uint64_t batch, const NamedArrays *arrays)
      : model(model), training(model.training),
        signature(presets::readSignature(training.model)),
        batch(int64_t(batch)), arrays(arrays) {}
  void read();

private:
  void take(const presets::SignatureTensor &input, std::vector<int64_t> shape);
  void takeTokens();
  void takeArrays();
  const presets::SignatureTensor *outputOfLoss() const;
  void takeTargets(const presets::SignatureTensor &output);
  bool hasOwnLoss() const { return training.loss == "result"; }

  TrainedModel &model;
  TrainingProgram &training;
  const presets::ModelSignature signature;
  const int64_t batch;
  const NamedArrays *const arrays;
};
} // namespace

static void requireSequence(const TrainedModel &model) {
  if (!model.sequence)
    throw UsageError("say how many tokens a sequence has: --sequence=S");
}

/// What is said of extents fits what the model says of them.
void ModelReader::take(const presets::SignatureTensor &input,
                       std::vector<int64_t> shape) {
  bool fits = !input.hasShape || input.dims.size() == shape.size();
  for (size_t i = 0; fits && input.hasShape && i < shape.size(); ++i)
    fits = input.dims[i] < 0 || input.dims[i] == shape[i];
  if (!fits)
    throw WrongExtents(absl::StrCat(
        "input ", printable(input.description()), " of the model takes no ",
        batch,
        arrays ? absl::StrCat(" samples of array ", inQuotes(input.name), ", [",
                              absl::StrJoin(shape, ", "),
                              "]: change --micro-batch or the array")
               : absl::StrCat(" sequences of ", model.sequence,
                              " tokens: change --micro-batch or --sequence"),
        ", or export the model with symbolic dimensions"));
  const auto type = dataTypeOf(input.elementType);
  if (!type)
    throw std::runtime_error("input " + inQuotes(input.name) +
                             " of the model has a type that no array has");
  training.shapes.emplace_back(input.name, shape);
  model.inputs.push_back(
      {input.name, *type, std::move(shape), input.tableRows});
}

void ModelReader::takeTokens() {
  training.takesTokens = true;
  const presets::SignatureTensor &tokens = tokenInput(signature);
  model.tokens = tokens.name;
  for (const presets::SignatureTensor &input : signature.inputs)
    if (input.name != tokens.name &&
        !(hasOwnLoss() && input.name == training.targets))
      throw std::runtime_error(absl::StrCat(
          "nothing gives input ", printable(input.description()),
          " of the model anything: --tokens is for ", inQuotes(tokens.name),
          "; give arrays of all inputs and targets with --data=FILE.npz, or "
          "export the model without it"));
  if (!model.sequence && tokens.hasShape && tokens.dims.size() == 2)
    model.sequence = uint64_t(std::max<int64_t>(tokens.dims[1], 0));
  requireSequence(model);
  take(tokens, {batch, int64_t(model.sequence)});
}

void ModelReader::takeArrays() {
  for (const presets::SignatureTensor &input : signature.inputs) {
    if (!hasOwnLoss() && input.name == training.targets)
      throw std::runtime_error(
          "the model has an input " + inQuotes(input.name) +
          ", as the array of targets is called: give that another name, and "
          "--targets=NAME; or take --loss=result if the model has its loss");
    std::vector<int64_t> shape = arrays->named(input.name).shape;
    shape[0] = batch;
    take(input, std::move(shape));
  }
}

/// Null: the model says nothing of its outputs.
const presets::SignatureTensor *ModelReader::outputOfLoss() const {
  const auto &outputs = signature.outputs;
  if (!training.logits.empty())
    return &chosen(outputs, training.logits, "output");
  if (outputs.size() < 2)
    return outputs.empty() ? nullptr : &outputs.front();
  const std::string usual = hasOwnLoss() ? "loss" : "logits";
  for (const presets::SignatureTensor &output : outputs)
    if (output.name == usual)
      return &output;
  throw std::runtime_error("say which output the loss is of, with "
                           "--logits=NAME: the model has " +
                           descriptions(outputs));
}

void ModelReader::takeTargets(const presets::SignatureTensor &output) {
  const bool hasClasses = training.loss == "cross-entropy";
  if (!arrays && !hasClasses)
    throw std::runtime_error("tokens are labels, of which the loss is "
                             "cross-entropy; give numbers with "
                             "--data=FILE.npz, for --loss=" +
                             training.loss);
  if (arrays)
    (void)arrays->named(training.targets);
  if (!output.hasShape)
    return;
  std::vector<int64_t> shape = output.dims;
  if (hasClasses && (shape.empty() || (!arrays && shape.size() != 3)))
    throw std::runtime_error(
        absl::StrCat("output ", printable(output.description()),
                     " of the model has no logits of ",
                     arrays ? "labels, [samples, ..., classes]"
                            : "tokens, [sequences, tokens, vocabulary]",
                     "; name another one with --logits=NAME: there are ",
                     descriptions(signature.outputs)));
  int64_t classes = 0;
  if (hasClasses) {
    classes = std::max<int64_t>(shape.back(), 0);
    shape.pop_back();
  }
  if (!arrays)
    shape = {batch, int64_t(model.sequence)};
  model.inputs.push_back({training.targets,
                          hasClasses ? DataType::Int64 : DataType::Float32,
                          std::move(shape), classes});
}

void ModelReader::read() {
  const fs::path folder = fs::path(training.model).parent_path();
  for (const std::string &file : signature.weightFiles)
    training.weightFiles.push_back((folder / file).string());
  if (arrays)
    takeArrays();
  else
    takeTokens();
  const presets::SignatureTensor *output = outputOfLoss();
  if (!output)
    return;
  training.logits = output->name;
  if (!hasOwnLoss())
    takeTargets(*output);
}

/// As given, or a preset, alone or in a configuration.
TrainedModel readTrainedModel(const std::string &word,
                              const std::string &folder, uint64_t batch,
                              uint64_t sequence, const NamedArrays *arrays) {
  TrainedModel model;
  model.sequence = sequence;
  TrainingProgram &training = model.training;
  training.machine = absl::GetFlag(FLAGS_machine);
  training.mesh = absl::GetFlag(FLAGS_mesh);
  training.precision = absl::GetFlag(FLAGS_precision);
  if (training.precision != "f32" && training.precision != "f16" &&
      training.precision != "bf16" && training.precision != "cb16")
    throw UsageError("--precision wants f32, f16, bf16 or cb16, found '" +
                     training.precision + "'");
  training.precisionLevel =
      int64_t(absl::GetFlag(FLAGS_precision_opt_level).value);
  if (std::string problem = problemOfPrecisionLevel(training); !problem.empty())
    throw UsageError("--" + problem);
  training.loss = absl::GetFlag(FLAGS_loss);
  training.logits = absl::GetFlag(FLAGS_logits);
  training.targets = absl::GetFlag(FLAGS_targets);
  if (arrays && training.loss == "cross-entropy")
    training.reduction = "sum"; // labels that do not count are in no mean
  training.labelSmoothing = absl::GetFlag(FLAGS_label_smoothing);
  if (!(training.labelSmoothing >= 0 && training.labelSmoothing <= 1))
    throw UsageError(absl::StrCat("--label-smoothing wants a number from 0 to "
                                  "1, found '",
                                  training.labelSmoothing, "'"));
  training.plan = absl::GetFlag(FLAGS_training_plan);
  if (const std::string problem = problemOfPlan(training.plan);
      !problem.empty())
    throw UsageError("--training-plan " + problem);
  training.lora = absl::GetFlag(FLAGS_lora);
  if (!training.lora.empty())
    if (const std::string problem = problemOfAdapters(training.lora);
        !problem.empty())
      throw UsageError("--lora " + problem);
  training.seed = absl::GetFlag(FLAGS_seed);
  const Words train = absl::GetFlag(FLAGS_train);
  if (!training.lora.empty() || !train.values.empty())
    training.train = train.values;
  training.freeze = absl::GetFlag(FLAGS_freeze).values;
  readSparsity(training);
  if (absl::EndsWith(word, ".onnx") || absl::EndsWith(word, ".mlir")) {
    training.model = word;
  } else {
    const bool isConfig =
        absl::EndsWith(word, ".yaml") || absl::EndsWith(word, ".yml");
    const Config config = isConfig ? readConfig(word) : Config();
    if (!config.modelFile.empty()) {
      training.model = config.modelFile;
    } else if (isConfig && !config.model) {
      throw std::runtime_error(word + ": no model is named");
    } else {
      const presets::ModelShape shape =
          config.model ? *config.model : presets::presetNamed(word);
      if (!sequence && !arrays)
        model.sequence = uint64_t(shape.sequence);
      training.allowsAbsentWeights = absl::GetFlag(FLAGS_compile_only) ||
                                     absl::GetFlag(FLAGS_validate_only);
      requireSequence(model);
      training.model = writePreset(shape, folder, batch, model.sequence,
                                   training.allowsAbsentWeights);
    }
  }
  if (absl::EndsWith(training.model, ".onnx")) {
    ModelReader(model, batch, arrays).read();
    return model;
  }
  if (!arrays)
    requireSequence(model);
  if (const std::string name = absl::GetFlag(FLAGS_input); !name.empty())
    model.tokens = name;
  return model;
}

std::optional<double> cyclesOfCall(const std::string &word,
                                   const std::string &folder, uint64_t batch,
                                   uint64_t sequence,
                                   const NamedArrays *arrays) {
  try {
    return cyclesOfCall(
        readTrainedModel(word, folder, batch, sequence, arrays).training,
        folder);
  } catch (const WrongExtents &) {
    return std::nullopt;
  }
}

} // namespace wsec::tools
