// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/presets/WriteModel.h"
#include "onnx-ml.pb.h"
#include "runtime/files/ProceduralFile.h"
#include "tools/presets/ReadModel.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

using namespace wsec;
using namespace wsec::presets;

namespace {
class WriteModelTest : public ::testing::Test {
protected:
  void SetUp() override {
    folder = std::filesystem::temp_directory_path() /
             ("write-model-" + std::to_string(getpid()));
    std::filesystem::create_directories(folder);
  }
  void TearDown() override { std::filesystem::remove_all(folder); }

  std::string path(const std::string &name) const { return folder / name; }
  onnx::ModelProto read(const std::string &name) const {
    onnx::ModelProto model;
    std::ifstream file(path(name), std::ios::binary);
    EXPECT_TRUE(model.ParseFromIstream(&file));
    return model;
  }
  std::string bytes(const std::string &name) const {
    std::ifstream file(path(name), std::ios::binary);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
  }
  std::filesystem::path folder;
};
} // namespace

static std::map<std::string, std::string>
externalData(const onnx::TensorProto &tensor) {
  std::map<std::string, std::string> fields;
  for (const auto &entry : tensor.external_data())
    fields[entry.key()] = entry.value();
  return fields;
}

TEST_F(WriteModelTest, ValuesAreDefinedBeforeTheyAreUsedOnce) {
  for (const ModelShape &shape : allPresets()) {
    if (shape.architecture != Architecture::Decoder)
      continue;
    writeModel(shape, {path("m.onnx"), Weights::Absent, 0, 0, 0});
    const onnx::ModelProto model = read("m.onnx");
    std::set<std::string> known{"input_ids", ""}; // "": an input left out
    std::set<std::string> unused;
    for (const auto &tensor : model.graph().initializer()) {
      EXPECT_TRUE(known.insert(tensor.name()).second) << tensor.name();
      unused.insert(tensor.name());
    }
    for (const auto &node : model.graph().node()) {
      for (const std::string &input : node.input()) {
        EXPECT_TRUE(known.count(input)) << shape.name << " " << input;
        unused.erase(input);
      }
      EXPECT_TRUE(known.insert(node.output(0)).second) << node.output(0);
    }
    EXPECT_TRUE(known.count("logits"));
    EXPECT_TRUE(unused.empty()) << shape.name << " " << *unused.begin();
  }
}

TEST_F(WriteModelTest, AModelThatIsReadBackAsksForTheSameWork) {
  for (const char *name : {"gpt2-s", "gptj-6b", "neox-20b", "llama2-70b",
                           "megatron-1t", "mixtral-8x7b"}) {
    const ModelShape &shape = presetNamed(name);
    writeModel(shape, {path("m.onnx"), Weights::Absent, 0, 0, 0});
    const Workload written = readWorkload(path("m.onnx"), shape.sequence);
    const Workload preset = workloadOf(shape);
    EXPECT_EQ(written.parameters, preset.parameters) << name;
    EXPECT_EQ(written.productParameters, preset.productParameters) << name;
    EXPECT_EQ(written.firstLayerParameters, preset.firstLayerParameters)
        << name;
    EXPECT_EQ(written.layers, preset.layers) << name;
    EXPECT_EQ(written.width, preset.width) << name;
    EXPECT_EQ(written.productFlops, preset.productFlops) << name;
    EXPECT_EQ(written.attentionFlops, preset.attentionFlops) << name;
  }
}

TEST_F(WriteModelTest, AbsentWeightsTakeNoBytes) {
  const WrittenModel written =
      writeModel(presetNamed("megatron-1t"),
                 {path("m.onnx"), Weights::Absent, 0, 1, 2048});
  EXPECT_FALSE(std::filesystem::exists(path("m.onnx.data")));
  EXPECT_LT(written.graphBytes, 2u << 20);
  EXPECT_GE(written.weightBytes, 4u * 1008038758400);
}

TEST_F(WriteModelTest, StoredWeightsAreTheComputedOnes) {
  const ModelShape &shape = presetNamed("tiny");
  writeModel(shape, {path("s.onnx"), Weights::Seeded, 7, 0, 0});
  writeModel(shape, {path("p.onnx"), Weights::Procedural, 7, 0, 0});
  const onnx::ModelProto stored = read("s.onnx"), computed = read("p.onnx");
  const std::string data = bytes("s.onnx.data");
  ASSERT_EQ(stored.graph().initializer_size(),
            computed.graph().initializer_size());
  for (int i = 0; i < stored.graph().initializer_size(); ++i) {
    const auto file = externalData(stored.graph().initializer(i));
    const auto procedure = externalData(computed.graph().initializer(i));
    EXPECT_EQ(file.at("location"), "s.onnx.data");
    EXPECT_EQ(file.at("offset"), procedure.at("offset"));
    const uint64_t offset = std::stoull(file.at("offset"));
    const size_t count = std::stoull(file.at("length")) / 4;
    const auto source =
        runtime::ProceduralFile::parse(procedure.at("location"));
    ASSERT_TRUE(source) << procedure.at("location");
    std::vector<float> values(count);
    source->read(offset / 4, 1, count, values.data());
    EXPECT_EQ(std::memcmp(values.data(), data.data() + offset, count * 4), 0)
        << stored.graph().initializer(i).name();
  }
}

TEST_F(WriteModelTest, TheSameSeedGivesTheSameBytes) {
  const ModelShape &shape = presetNamed("tiny");
  std::string files[3];
  const uint64_t seeds[3] = {1, 1, 2};
  for (int i = 0; i < 3; ++i) {
    writeModel(shape, {path("m.onnx"), Weights::Seeded, seeds[i], 1, 8});
    files[i] = bytes("m.onnx") + bytes("m.onnx.data");
  }
  EXPECT_EQ(files[0], files[1]);
  EXPECT_NE(files[0], files[2]);
}

TEST_F(WriteModelTest, WhatIsNoDecoderIsRefused) {
  EXPECT_THROW(writeModel(presetNamed("bert-base"),
                          {path("m.onnx"), Weights::Absent, 0, 0, 0}),
               std::runtime_error);
  EXPECT_THROW(writeModel(presetNamed("tiny"),
                          {path("m.onnx"), Weights::Absent, 0, 1, 33}),
               std::runtime_error);
}

TEST_F(WriteModelTest, WhatCannotBeToldFromAModelIsNamed) {
  writeModel(presetNamed("tiny"), {path("m.onnx"), Weights::Absent, 0, 0, 0});
  EXPECT_THROW(readWorkload(path("m.onnx"), 0), std::runtime_error);
  std::ofstream(path("bad.onnx")) << "no model";
  EXPECT_THROW(readWorkload(path("bad.onnx"), 8), std::runtime_error);
}
