// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/plan/TrainingPlanner.h"

#include "gtest/gtest.h"
#include <algorithm>

using namespace wsec::plan;

namespace {

/// A model of equal layers of two pieces, and a piece in front and behind: a
/// layer's forward pass takes 100 cycles, keeps 1000 bytes, its input 40.
struct Model {
  Model(int64_t layers, int64_t room) : layers(layers), room(room) {}
  const int64_t layers, room;
  int64_t code = 0; ///< of each of the first four layers; others have the same
  int64_t elements = 0; ///< bytes of a layer that their functions make
  int64_t most = 0;     ///< layers that were tried at once
  int64_t trials = 0;
  bool carries = false; ///< where attention is a kernel, launches carry numbers

  Trial operator()(const TrainingPlan &plan, int64_t few) {
    ++trials;
    Trial trial;
    trial.pieces = 2 * layers + 2;
    trial.layer = 2;
    trial.layers = layers;
    trial.attentions = plan.attention == "kernel";
    trial.carries = carries && trial.attentions;
    const int64_t count = few ? std::min(few, layers) : layers;
    most = std::max(most, count);
    const auto depth = double(count);
    trial.sramLimit = room;
    trial.sramBytes = plan.logits ? 1000 + 2 * plan.logits : 6000;
    trial.cycles = 300 * depth +
                   (plan.logits ? 8000. / double(plan.logits) : 0) +
                   (plan.attention == "kernel" ? 0 : 50 * depth);
    trial.sramBytes += code * std::min<int64_t>(count, 4);
    if (plan.attention == "kernel")
      trial.sramBytes += 2000;
    if (plan.recompute == "none") {
      trial.sramBytes += 1000 * count;
    } else {
      const int64_t pieces = 2 * count + 2 - plan.kept,
                    segments = (pieces + plan.segment - 1) / plan.segment;
      trial.sramBytes += 500 * plan.kept;
      trial.cycles += 50 * double(pieces);
      if (plan.inputs == "wafer")
        trial.sramBytes += 20 * segments;
      else
        trial.cycles += 10 * double(segments);
      if (plan.recompute == "segments")
        trial.sramBytes += 500 * plan.segment;
      else
        trial.cycles += 50 * double(pieces - segments);
    }
    if (elements && plan.elements == "kept") {
      trial.sramBytes += elements * (plan.recompute == "none" ? count : 1);
      trial.cycles -= 10 * depth;
    }
    trial.asked = trial.sramBytes;
    trial.fits = trial.sramBytes <= room;
    trial.why = trial.fits ? "" : "too much";
    return trial;
  }
};

std::string chosen(Model &model, const char *asked = "auto") {
  AskedPlan plan;
  EXPECT_EQ(parse(asked, plan), "");
  TrainingPlanner planner(plan, 100, std::ref(model));
  EXPECT_TRUE(planner.run());
  const Considered &first = planner.ranking().front();
  return (first.its.fits ? "" : "does not fit: ") + first.plan.text();
}

} // namespace

TEST(TrainingPlan, IsItsText) {
  for (const char *text :
       {"recompute=none,elements=again,attention=kernel,norms=kernels,logits="
        "all",
        "recompute=segments,segment=3,inputs=wafer,kept=2,elements=kept,"
        "attention=products,norms=kernel,logits=512"}) {
    AskedPlan asked;
    EXPECT_EQ(parse(text, asked), "");
    EXPECT_EQ(asked.plan.text(), text);
  }
}

TEST(TrainingPlan, WhatIsWrongIsSaid) {
  const auto problem = [](const char *text) {
    AskedPlan asked;
    return parse(text, asked);
  };
  EXPECT_EQ(problem("inputs=disk"),
            "wants as inputs store, wafer, found 'disk'");
  EXPECT_EQ(problem("kept=0"), "wants as kept a number from 1 on, found '0'");
  EXPECT_EQ(problem("logits=-1"),
            "wants as logits all or a number from 1 on, found '-1'");
  EXPECT_EQ(problem("depth=3"),
            "has no 'depth'; it has auto, recompute, segment, inputs, kept, "
            "elements, attention, norms and logits");
  EXPECT_EQ(problem("recompute=none,segment=2"),
            "computes nothing again with recompute=none; leave out segment");
  EXPECT_EQ(problem("kept=2,auto,kept=3"), "has 'kept' twice; leave one out");
}

TEST(TrainingPlanner, KeepsAllWhereThereIsRoom) {
  Model model(4, 48000);
  EXPECT_EQ(
      chosen(model),
      "recompute=none,elements=again,attention=kernel,norms=kernel,logits=all");
}

TEST(TrainingPlanner, KeepsWhatFunctionsOfElementsMakeWhereThereIsRoom) {
  for (const auto &[room, plan] :
       {std::pair(14400, "recompute=none,elements=kept,attention=kernel,"
                         "norms=kernel,logits=all"),
        std::pair(14399,
                  "recompute=none,elements=again,attention=kernel,norms=kernel,"
                  "logits=all")}) {
    Model model(4, room);
    model.elements = 600;
    EXPECT_EQ(chosen(model), plan);
  }
  Model model(4, 48000);
  model.elements = 600;
  EXPECT_EQ(chosen(model, "auto,elements=again").find("=kept"),
            std::string::npos);
}

TEST(TrainingPlanner, KeepsAsMuchAsFits) {
  Model model(24, 14000);
  EXPECT_EQ(chosen(model),
            "recompute=pieces,segment=1,inputs=wafer,kept=8,elements=again,"
            "attention=kernel,norms=kernel,logits=all");
}

TEST(TrainingPlanner, LayersThatAreLeftOutCount) {
  // Few of 96 layers would fit without anything computed again.
  Model model(96, 9100);
  EXPECT_NE(chosen(model).find("recompute=pieces"), std::string::npos);
  EXPECT_LE(model.most, 20);
}

TEST(TrainingPlanner, NoPlanIsTriedTwiceWhereNoLayersRepeat) {
  Model model(0, 48000);
  TrainingPlanner planner({{}, {"auto"}}, 100, std::ref(model));
  EXPECT_TRUE(planner.run());
  EXPECT_EQ(model.trials, int64_t(planner.ranking().size()));
}

TEST(TrainingPlanner, CodeThatLayersShareDoesNotCountTwice) {
  // By what the third one takes more than the second there would be no room.
  Model model(12, 30000);
  model.code = 2000;
  EXPECT_EQ(
      chosen(model),
      "recompute=none,elements=again,attention=kernel,norms=kernel,logits=all");
}

TEST(TrainingPlanner, KernelsGiveWay) {
  Model model(24, 3000);
  const std::string plan = chosen(model);
  EXPECT_NE(plan.find("attention=products"), std::string::npos) << plan;
}

TEST(TrainingPlanner, LaunchesCarryNumbersOnlyWhereNothingElseFits) {
  Model model(4, 48000);
  model.carries = true;
  const std::string plan = chosen(model);
  EXPECT_NE(plan.find("attention=products"), std::string::npos) << plan;
  EXPECT_NE(chosen(model, "auto,attention=kernel").find("attention=kernel"),
            std::string::npos);
}

TEST(TrainingPlanner, WhatIsAskedForIsDone) {
  Model model(8, 48000);
  EXPECT_EQ(
      chosen(model, "auto,segment=3,recompute=segments,attention=products"),
      "recompute=segments,segment=3,inputs=wafer,kept=16,elements=again,"
      "attention=products,norms=kernel,logits=all");
}

TEST(TrainingPlanner, ChoosesKernelsAloneUnlessAsked) {
  Model model(4, 48000);
  EXPECT_EQ(chosen(model, ""),
            "recompute=pieces,segment=1,inputs=store,kept=1,elements=again,"
            "attention=kernel,norms=kernel,logits=100");
}

TEST(TrainingPlanner, TheLeastOneFailsLast) {
  Model model(24, 100);
  EXPECT_EQ(chosen(model),
            "does not fit: "
            "recompute=pieces,segment=1,inputs=store,kept=1,elements=again,"
            "attention=products,norms=kernel,logits=25");
}
