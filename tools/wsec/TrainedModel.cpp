// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/wsec/TrainedModel.h"
#include "compiler/presets/ReadModel.h"
#include "compiler/presets/WriteModel.h"
#include "runtime/program/Digest.h"
#include "runtime/program/NearestNames.h"
#include "tools/flags/CommandLine.h"
#include "tools/wsec/ConfigFile.h"

#include "absl/flags/declare.h"
#include "absl/flags/flag.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

#include <filesystem>
#include <stdexcept>

using wsec::tools::Words;

ABSL_DECLARE_FLAG(std::string, loss);
ABSL_DECLARE_FLAG(std::string, logits);
ABSL_DECLARE_FLAG(std::string, input);
ABSL_DECLARE_FLAG(double, label_smoothing);
ABSL_DECLARE_FLAG(Words, train);
ABSL_DECLARE_FLAG(Words, freeze);
ABSL_DECLARE_FLAG(std::string, precision);
ABSL_DECLARE_FLAG(bool, validate_only);
ABSL_DECLARE_FLAG(bool, compile_only);
ABSL_DECLARE_FLAG(std::string, mesh);
ABSL_DECLARE_FLAG(std::string, machine);
ABSL_DECLARE_FLAG(uint64_t, seed);

namespace fs = std::filesystem;

namespace wsec::tools {

using namespace wsec::runtime;

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
  const std::string all =
      its.name + "," + text + digestOfFile("/proc/self/exe");
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

/// What is said of extents fits what the model says of them.
static void checkShape(const presets::SignatureTensor &tensor, uint64_t batch,
                       uint64_t sequence) {
  const auto fits = [](int64_t extent, uint64_t wanted) {
    return extent < 0 || uint64_t(extent) == wanted;
  };
  if (tensor.hasShape &&
      (tensor.dims.size() != 2 || !fits(tensor.dims[0], batch) ||
       !fits(tensor.dims[1], sequence)))
    throw std::runtime_error(absl::StrCat(
        "input ", printable(tensor.description()), " of the model takes no ",
        batch, " sequences of ", sequence,
        " tokens: change --micro-batch or --sequence, or export the "
        "model with symbolic dimensions"));
}

static void readOnnx(TrainedModel &model, uint64_t batch, uint64_t sequence) {
  TrainingProgram &training = model.training;
  const presets::ModelSignature signature =
      presets::readSignature(training.model);
  const fs::path folder = fs::path(training.model).parent_path();
  for (const std::string &file : signature.weightFiles)
    training.weightFiles.push_back((folder / file).string());
  const presets::SignatureTensor &input = tokenInput(signature);
  checkShape(input, batch, sequence);
  model.tokens = input.name;
  training.shapes = {{input.name, {int64_t(batch), int64_t(sequence)}}};
  if (training.loss != "cross-entropy" || signature.outputs.empty())
    return;
  const presets::SignatureTensor &logits =
      training.logits.empty()
          ? signature.outputs.front()
          : chosen(signature.outputs, training.logits, "output");
  if (logits.hasShape && logits.dims.size() != 3)
    throw std::runtime_error(absl::StrCat(
        "output ", printable(logits.description()),
        " of the model has no logits of tokens, [sequences, tokens, "
        "vocabulary]; name another one with --logits=NAME: there are ",
        descriptions(signature.outputs)));
  if (logits.hasShape && logits.dims[2] > 0)
    model.vocabulary = logits.dims[2];
}

/// As given, or a preset, alone or in a configuration.
TrainedModel readTrainedModel(const std::string &word,
                              const std::string &folder, uint64_t batch,
                              uint64_t sequence) {
  TrainedModel model;
  TrainingProgram &training = model.training;
  training.machine = absl::GetFlag(FLAGS_machine);
  training.mesh = absl::GetFlag(FLAGS_mesh);
  training.precision = absl::GetFlag(FLAGS_precision);
  training.loss = absl::GetFlag(FLAGS_loss);
  training.logits = absl::GetFlag(FLAGS_logits);
  training.labelSmoothing = absl::GetFlag(FLAGS_label_smoothing);
  if (const Words train = absl::GetFlag(FLAGS_train); !train.values.empty())
    training.train = train.values;
  training.freeze = absl::GetFlag(FLAGS_freeze).values;
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
      training.allowsAbsentWeights = absl::GetFlag(FLAGS_compile_only) ||
                                     absl::GetFlag(FLAGS_validate_only);
      training.model = writePreset(shape, folder, batch, sequence,
                                   training.allowsAbsentWeights);
    }
  }
  if (absl::EndsWith(training.model, ".onnx"))
    readOnnx(model, batch, sequence);
  else if (const std::string name = absl::GetFlag(FLAGS_input); !name.empty())
    model.tokens = name;
  return model;
}

} // namespace wsec::tools
