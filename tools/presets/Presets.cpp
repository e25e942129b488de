// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shapes as their authors published them; README.md says where.
#include "tools/presets/ModelShape.h"

#include "absl/strings/str_cat.h"
#include "runtime/program/NearestNames.h"

#include <algorithm>
#include <stdexcept>

namespace wsec::presets {

static constexpr int64_t kGptWords = 50257;

static ModelShape gpt(const char *name, int64_t layers, int64_t width,
                      int64_t heads, int64_t sequence, int64_t batch = 0) {
  ModelShape shape;
  shape.name = name;
  shape.layers = layers;
  shape.width = width;
  shape.heads = shape.keyValueHeads = heads;
  shape.headSize = width / heads;
  shape.feedForward = 4 * width;
  shape.vocabulary = kGptWords;
  shape.sequence = sequence;
  shape.batch = batch;
  return shape;
}

/// For tests and first steps.
static ModelShape tiny() {
  ModelShape shape = gpt("tiny", 2, 64, 4, 32);
  shape.vocabulary = 211;
  return shape;
}

static ModelShape gptJ() {
  ModelShape shape = gpt("gptj-6b", 28, 4096, 16, 2048, 65);
  shape.positions = Positions::Rotary;
  shape.rotaryFeatures = 64;
  shape.rotaryInterleaved = true;
  shape.residual = Residual::ParallelOneNorm;
  shape.attentionBias = false;
  shape.tiedHead = false;
  shape.headBias = true;
  return shape;
}

static ModelShape neoX() {
  ModelShape shape = gpt("neox-20b", 44, 6144, 64, 2048, 45);
  shape.vocabulary = 50277;
  shape.positions = Positions::Rotary;
  shape.rotaryFeatures = 24;
  shape.residual = Residual::ParallelTwoNorms;
  shape.tiedHead = false;
  return shape;
}

static ModelShape megatron() {
  ModelShape shape = gpt("megatron-1t", 128, 25600, 160, 2048, 3072);
  shape.vocabulary = 51200;
  return shape;
}

static ModelShape llama(const char *name, int64_t layers, int64_t width,
                        int64_t heads, int64_t keyValueHeads,
                        int64_t feedForward, int64_t sequence, int64_t batch) {
  ModelShape shape = gpt(name, layers, width, heads, sequence, batch);
  shape.keyValueHeads = keyValueHeads;
  shape.feedForward = feedForward;
  shape.vocabulary = 32000;
  shape.positions = Positions::Rotary;
  shape.rotaryFeatures = shape.headSize;
  shape.norm = Norm::Rms;
  shape.activation = Activation::SwiGlu;
  shape.attentionBias = shape.feedForwardBias = shape.tiedHead = false;
  return shape;
}

static ModelShape tinyLlama() {
  ModelShape shape = llama("tiny-llama", 2, 64, 4, 2, 176, 32, 0);
  shape.vocabulary = 211;
  return shape;
}

static ModelShape smolLm2() {
  ModelShape shape = llama("smollm2-135m", 30, 576, 9, 3, 1536, 8192, 0);
  shape.vocabulary = 49152;
  shape.rotaryBase = 100000;
  shape.tiedHead = true;
  return shape;
}

static ModelShape llama3(const char *name, int64_t layers, int64_t width,
                         int64_t heads, int64_t feedForward) {
  ModelShape shape = llama(name, layers, width, heads, 8, feedForward, 8192, 0);
  shape.vocabulary = 128256;
  shape.rotaryBase = 500000;
  return shape;
}

static ModelShape mistral(const char *name) {
  ModelShape shape = llama(name, 32, 4096, 32, 8, 14336, 32768, 0);
  shape.rotaryBase = 1000000;
  return shape;
}

static ModelShape mixtral() {
  ModelShape shape = mistral("mixtral-8x7b");
  shape.experts = 8;
  shape.expertsPerToken = 2;
  return shape;
}

static ModelShape tinyMixtral() {
  ModelShape shape = tinyLlama();
  shape.name = "tiny-mixtral";
  shape.experts = 4;
  shape.expertsPerToken = 2;
  return shape;
}

static ModelShape bert(const char *name, int64_t layers, int64_t width,
                       int64_t heads, int64_t batch) {
  ModelShape shape = gpt(name, layers, width, heads, 512, batch);
  shape.vocabulary = 30522;
  shape.architecture = Architecture::Encoder;
  return shape;
}

static ModelShape t5(const char *name, int64_t layers, int64_t width,
                     int64_t heads, int64_t headSize, int64_t feedForward,
                     int64_t batch) {
  ModelShape shape = gpt(name, layers, width, heads, 512, batch);
  shape.headSize = headSize;
  shape.feedForward = feedForward;
  shape.vocabulary = 32001;
  shape.architecture = Architecture::EncoderDecoder;
  shape.positions = Positions::Relative;
  shape.norm = Norm::Rms;
  shape.activation = Activation::Relu;
  shape.attentionBias = shape.feedForwardBias = false;
  shape.decoderSequence = 114;
  return shape;
}

static std::vector<ModelShape> makePresets() {
  return {tiny(),
          tinyLlama(),
          tinyMixtral(),
          bert("bert-base", 12, 768, 12, 800),
          gpt("cerebras-gpt-111m", 10, 768, 12, 2048),
          gpt("gpt2-s", 12, 768, 12, 1024, 112),
          smolLm2(),
          t5("t5-base", 12, 768, 12, 64, 3072, 216),
          gpt("cerebras-gpt-256m", 14, 1088, 17, 2048),
          bert("bert-large", 24, 1024, 16, 800),
          gpt("gpt2-m", 24, 1024, 16, 1024, 32),
          gpt("cerebras-gpt-590m", 18, 1536, 12, 2048),
          gpt("gpt2-l", 36, 1280, 20, 1024, 32),
          gpt("gpt3-xl", 24, 2048, 16, 2048, 528),
          gpt("gpt2-xl", 48, 1600, 25, 1024, 95),
          gpt("cerebras-gpt-2.7b", 32, 2560, 32, 2048),
          t5("t5-3b", 24, 1024, 32, 128, 16384, 558),
          gptJ(),
          gpt("gpt3-6.7b", 32, 4096, 32, 2048, 1040),
          llama("llama-7b", 32, 4096, 32, 32, 11008, 2048, 99),
          mistral("mistral-7b"),
          llama3("llama3-8b", 32, 4096, 32, 14336),
          t5("t5-11b", 24, 1024, 128, 128, 65536, 260),
          gpt("gpt3-13b", 40, 5120, 40, 2048, 720),
          neoX(),
          mixtral(),
          llama("llama2-70b", 80, 8192, 64, 8, 28672, 4096, 55),
          llama3("llama3-70b", 80, 8192, 64, 28672),
          gpt("gpt3-175b", 96, 12288, 96, 2048, 1472),
          megatron()};
}

const std::vector<ModelShape> &allPresets() {
  static const std::vector<ModelShape> all = makePresets();
  return all;
}

const ModelShape &presetNamed(const std::string &name) {
  std::vector<std::string> names;
  std::string list;
  for (const ModelShape &shape : allPresets()) {
    if (shape.name == name)
      return shape;
    names.push_back(shape.name);
    absl::StrAppend(&list, list.empty() ? "" : ", ", shape.name);
  }
  throw std::runtime_error(
      absl::StrCat("there is no preset ", runtime::inQuotes(name),
                   runtime::nearestNames(name, names), "; all: ", list));
}

} // namespace wsec::presets
