// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/place/KernelGraph.h"
#include "tools/place/PlacementConstraints.h"
#include "tools/place/SolveKernels.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <sstream>

using namespace wsec;

namespace {

const char *const header =
    "(*\ntest=own\nwidth=40\nheight=40\nwdeltat=1\nwlength=2\n"
    "wadapter=0\nmemlimit=700\n*)\n\n(* Node Definitions *)\n";

/// A graph with a conv and a dblock, in all the spellings there are.
const char *const nodes =
    "input[ 0] n=[8 8 16] name='x' name='k0'\n"
    "conv[1]\tW=4  H=5 R=3 S=2 C=4 K=6 T=1 U=1 name='k1'\n"
    "dblock[ 2] f=8 h=4 w=3 name='k2'\n"
    "output[3] n=[ 7 ] name='k3'\n\n";
const char *const edges = "input[ 0]:_ -> conv[1]:x, shape:[8][8][16]\n"
                          "conv[ 1]:y\t->\tdblock[2]:x, shape:[1][1]\n"
                          "dblock[2]:y -> output[3]:_, shape:[1]";

KernelGraph graphOf(const std::string &text) {
  const std::string path = testing::TempDir() + "KernelGraphTest.kgraph";
  std::ofstream(path) << text;
  KernelGraph graph = readKernelGraph(path);
  graph.file = "g";
  return graph;
}

KernelGraph exampleGraph() {
  return graphOf(std::string(header) + nodes + edges);
}

/// What is wrong with a file; its name is cut off.
std::string errorOf(const std::string &text) {
  try {
    graphOf(text);
  } catch (const std::runtime_error &error) {
    const std::string what = error.what();
    return what.substr(what.find(".kgraph") + 7);
  }
  return "";
}

std::string errorOfNode(const std::string &node) {
  return errorOf(std::string(header) + node);
}

double checkText(const KernelGraph &graph, const std::string &text) {
  std::istringstream in(text);
  return checkKernelPlacement(graph, placementProblemOf(graph).problem, in, "p")
      .total;
}

std::string placementError(const std::string &text) {
  try {
    checkText(exampleGraph(), text);
  } catch (const std::runtime_error &error) {
    return error.what();
  }
  return "";
}

TEST(KernelGraph, ReadsEverySpelling) {
  const KernelGraph graph = exampleGraph();
  EXPECT_EQ(graph.width, 40);
  EXPECT_EQ(graph.memoryLimit, 700);
  EXPECT_EQ(graph.wireWeight, 2);
  ASSERT_EQ(graph.kernels.size(), 2u);
  EXPECT_EQ(graph.kernels[0].name, "k1");
  EXPECT_EQ(graph.kernels[0].line, 13);
  EXPECT_EQ(graph.kernels[1].convolutions.size(), 3u);
  ASSERT_EQ(graph.edges.size(), 1u);
  EXPECT_EQ(graph.edges[0], std::make_pair(size_t(0), size_t(1)));
}

TEST(KernelGraph, SaysWhatIsWrongAndWhere) {
  const std::string conv = "conv[1] W=4 H=5 R=3 S=2 C=4 K=6 T=1 U=1 ";
  EXPECT_EQ(errorOfNode(conv), ":12: conv[1] has no name='...'");
  EXPECT_EQ(errorOfNode(conv + "name='k"), ":12: no ' ends the name");
  EXPECT_EQ(errorOfNode(conv + "name=k1"), ":12: expected ''', found 'k1'");
  EXPECT_EQ(errorOfNode(conv + "X=1 name='k1'"), ":12: a conv has no X=");
  EXPECT_EQ(errorOfNode("conv[1] W=4 name='k1'"), ":12: no H= is given");
  EXPECT_EQ(errorOfNode("conv[1 W=4 name='k1'"),
            ":12: no ] closes the bracket");
  EXPECT_EQ(errorOfNode("conv[1] W=0 name='k1'"),
            ":12: W wants a number from 1 to 65535, found '0 name='k1''");
  EXPECT_EQ(errorOfNode("conv[1] W=4x name='k1'"),
            ":12: W wants a number from 1 to 65535, found '4x name='k1''");
  EXPECT_EQ(errorOfNode("conv[1] W="),
            ":12: W wants a number from 1 to 65535, found the end of the line");
  EXPECT_EQ(errorOfNode("pool[1] name='k1'"),
            ":12: expected input, output, conv, dblock or cblock, found "
            "'pool'");
  EXPECT_EQ(errorOfNode("dblock[1] f=6 h=2 w=2 name='k1'"),
            ":12: f=6 is no multiple of 4");
  EXPECT_EQ(errorOfNode("cblock[1] f=8 h=2 w=3 name='k1'"),
            ":12: h and w of a cblock are even, found 2 and 3");
  EXPECT_EQ(errorOfNode("conv[1] W=4096 H=4096 R=3 S=3 C=4096 K=4096 T=1 U=1 "
                        "name='k1'"),
            ":12: H x W x C x K x R x S is more than 2^46");
  EXPECT_EQ(errorOfNode(conv + "name='k1'\n" + conv + "name='k2'"),
            ":13: there is a node conv[1] already");
  EXPECT_EQ(errorOfNode(conv + "name='k1'\ninput[1] n=[1] name='k1'"),
            ":13: the name 'k1' is taken by line 12");
  EXPECT_EQ(errorOfNode(conv + "name='k1'\nconv[1]:y -> conv[2]:x"),
            ":13: there is no node conv[2] above");
  EXPECT_EQ(errorOfNode(conv + "name='k1'\nconv[1]:y - conv[1]:x"),
            ":13: expected '->', found '- conv[1]:x'");
  EXPECT_EQ(errorOfNode("? "), ":12: expected a word, found '? '");
  EXPECT_EQ(errorOfNode(""), ": there is no kernel");
  EXPECT_EQ(errorOf("(*\nwidth=3"), ": no *) ends the comment");
  EXPECT_EQ(errorOf("(*\nwidth=3.5\n*)"),
            ":2: width wants a number from 1 to 65535, found '3.5'");
  EXPECT_EQ(errorOf("(*\nwidth=3 x\n*)"),
            ":2: width= is followed by more than a number");
  EXPECT_EQ(errorOf("(*\nwidth=3\n*)\n"), ": the header has no height=");
}

TEST(KernelGraph, KernelThatCannotFit) {
  KernelGraph graph = exampleGraph();
  graph.memoryLimit = 3;
  try {
    placementProblemOf(graph);
    FAIL();
  } catch (const std::runtime_error &error) {
    EXPECT_STREQ(
        error.what(),
        "g:13: kernel k1 fits no rectangle of the wafer of 40x40 tiles "
        "with 3 words of memory each");
  }
}

/// All executions of a conv, by the formulas of the contest.
TEST(KernelGraph, ShapesOfAConvAreTheParetoFront) {
  const KernelGraph graph = exampleGraph();
  const KernelPlacement kernels = placementProblemOf(graph);
  const std::vector<CandidateShape> &shapes = kernels.problem.shapeSets[0];
  std::vector<CandidateShape> all;
  auto split = [](double a, int64_t b) { return std::ceil(a / double(b)); };
  for (int64_t h = 1; h <= 5; ++h)
    for (int64_t w = 1; w <= 4; ++w)
      for (int64_t c = 1; c <= 4; ++c)
        for (int64_t k = 1; k <= 6; ++k)
          for (bool turned : {false, true})
            if (4. / c * 6 / k * 6 + 5. / w * 7 / h * 6 / k <= 700 &&
                h * w * (c + 1) <= 40)
              all.push_back(
                  {turned ? h * w * (c + 1) : 3 * k,
                   turned ? 3 * k : h * w * (c + 1),
                   split(5, h) * split(4, w) * split(4, c) * split(6, k) * 6});
  auto beats = [](const CandidateShape &a, const CandidateShape &b) {
    return a.columns <= b.columns && a.rows <= b.rows && a.cost <= b.cost;
  };
  for (const CandidateShape &one : all)
    EXPECT_TRUE(std::any_of(shapes.begin(), shapes.end(),
                            [&](auto &shape) { return beats(shape, one); }));
  for (const CandidateShape &shape : shapes) {
    EXPECT_TRUE(std::any_of(all.begin(), all.end(), [&](auto &one) {
      return beats(one, shape) && beats(shape, one);
    }));
    EXPECT_EQ(std::count_if(shapes.begin(), shapes.end(),
                            [&](auto &other) { return beats(other, shape); }),
              1);
  }
}

TEST(KernelGraph, WhatIsPlacedIsWhatIsChecked) {
  const KernelGraph graph = exampleGraph();
  const KernelPlacement kernels = placementProblemOf(graph);
  Placement placement;
  AnnealingOptions options;
  options.changes = 3000;
  ASSERT_EQ(solveKernels(kernels.problem, options, placement), "");
  const std::string text = kernelPlacementText(graph, kernels, placement);
  EXPECT_EQ(checkText(graph, text), kernels.problem.cost(placement).score);
}

/// By hand: k1 is 6x6 PEs, 5 x 2 x 2 x 3 x 6 = 360 steps; k2 has three convs of
/// 4 x 3 x 8 x 2, 4 x 3 x 2 x 9 x 2 and 4 x 3 x 2 x 8 steps, the second counts.
TEST(KernelPlacement, ScoreByHand) {
  const std::string good = "k1 = conv( 5 4 4 6 3 2 1 1 1 2 2 2 )\n"
                           "k2 = dblock( 4 3 8 1 1 1 1 1 1 1 1 )\n"
                           "k1 : place(10 2 R0)\nk2:place( 0 1 R90)";
  // Centres (13, 5) and (1, 5.5): R90 makes k2 2x9.
  EXPECT_EQ(checkText(exampleGraph(), good), 432 + 2 * 12.5);
}

TEST(KernelPlacement, SaysWhatIsWrongAndWhere) {
  const std::string sizes = "k1 = conv( 5 4 4 6 3 2 1 1 1 2 2 2 )\n"
                            "k2 = dblock( 4 3 8 1 1 1 1 1 1 1 1 )\n";
  const std::string place = "k1 : place(10 2 R0)\n";
  EXPECT_EQ(placementError(sizes + place), "p: kernel k2 has no place");
  EXPECT_EQ(placementError(place), "p: kernel k1 has no execution values");
  EXPECT_EQ(placementError(sizes + place + place),
            "p:4: kernel k1 has a place already, on line 3");
  EXPECT_EQ(placementError(sizes + sizes),
            "p:3: kernel k1 has execution values already, on line 1");
  EXPECT_EQ(placementError("k7 : place(1 2 R0)"),
            "p:1: the graph has no kernel k7");
  EXPECT_EQ(placementError("k1 : place(1 40 R0)"),
            "p:1: y wants a number from 0 to 39, found '40 R0)'");
  EXPECT_EQ(placementError("k1 : place(1 2 R180)"),
            "p:1: expected R0 or R90, found 'R180'");
  EXPECT_EQ(placementError("k1 : place(1 2 R0) 3"),
            "p:1: more than expected on the line");
  EXPECT_EQ(placementError("k1 = conv( 5 4 4 6 3 2 1 1 1 2 2"),
            "p:1: k wants a number from 1 to 65535, found the end of the line");
  EXPECT_EQ(placementError("k1 = conv( 5 4 4 7 3 2 1 1 1 2 2 2 )"),
            "p:1: the graph has other dimensions, on line 13");
  EXPECT_EQ(placementError("k1 = conv( 5 4 4 6 3 2 1 1 1 5 2 2 )"),
            "p:1: execution values 1 5 2 2 exceed the dimensions 5 4 4 6");
  EXPECT_EQ(placementError(sizes + place + "k2 : place(32 0 R0)"),
            "p:4: kernel k2 of 9x2 at (32, 0) leaves the wafer of 40x40");
  EXPECT_EQ(placementError(sizes + place + "k2 : place(2 3 R0)"),
            "p:4: kernel k2 of 9x2 at (2, 3) overlaps kernel k1 of 6x6 at "
            "(10, 2)");
  KernelGraph graph = exampleGraph();
  graph.memoryLimit = 88;
  try {
    checkText(graph, sizes);
    FAIL();
  } catch (const std::runtime_error &error) {
    EXPECT_STREQ(error.what(),
                 "p:1: memory of 89 words in a tile, the limit is 88");
  }
}

/// The example with what a file asks for; its errors lose its name.
PlacementProblem constrained(const std::string &text) {
  PlacementProblem problem = placementProblemOf(exampleGraph()).problem;
  const std::string path = testing::TempDir() + "KernelGraphTest.constraints";
  std::ofstream(path) << text;
  try {
    readConstraints(path, "kernel", problem);
  } catch (const std::runtime_error &error) {
    const std::string what = error.what();
    throw std::runtime_error(what.substr(what.find(".constraints") + 12));
  }
  return problem;
}

TEST(PlacementConstraints, AreOfTheProblem) {
  const PlacementProblem problem =
      constrained("# what a user says\n\npin k1 at (3, 4) # here\n"
                  "keep_out shape(2x5) at (38,35)\nnear k2 to k1 weight 5\n"
                  "near k2 to (0, 39)\nnear k1 to west\n");
  EXPECT_EQ(problem.check(), "");
  ASSERT_TRUE(problem.regions[0].pin);
  EXPECT_EQ(*problem.regions[0].pin, (PlacedOrigin{3, 4}));
  ASSERT_EQ(problem.keepOuts.size(), 1u);
  EXPECT_EQ(problem.keepOuts[0].rows, 5);
  ASSERT_EQ(problem.wishes.size(), 3u);
  EXPECT_EQ(problem.wishes[0].weight, 5);
  EXPECT_EQ(problem.wishes[0].other, 0u);
  EXPECT_EQ(problem.wishes[1].pe, (PlacedOrigin{0, 39}));
  EXPECT_EQ(problem.wishes[2].target, NearWish::Target::West);
}

TEST(PlacementConstraints, SayWhatIsWrongAndWhere) {
  auto errorOf = [](const std::string &text) -> std::string {
    try {
      constrained(text);
    } catch (const std::runtime_error &error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(errorOf("\nput k1 at (0, 0)"),
            ":2: expected pin, keep_out or near, found 'put'");
  EXPECT_EQ(errorOf("pin k9 at (0, 0)"), ":1: there is no kernel k9");
  EXPECT_EQ(errorOf("pin k1 at (40, 0)"),
            ":1: x wants a number from 0 to 39, found '40, 0)'");
  EXPECT_EQ(errorOf("pin k1 at (0, 0)\npin k1 at (0, 1)"),
            ":2: kernel k1 is pinned already");
  EXPECT_EQ(errorOf("keep_out shape(0x2) at (1, 1)"),
            ":1: its width wants a number from 1 to 40, found '0x2) at (1, "
            "1)'");
  EXPECT_EQ(errorOf("keep_out shape(2x2) at (39, 1)"),
            ":1: it leaves the mesh of 40x40");
  EXPECT_EQ(errorOf("near k1 to k1"), ":1: a kernel is to lie near itself");
  EXPECT_EQ(errorOf("near k1 to up"), ":1: there is no kernel up");
  EXPECT_EQ(errorOf("near k1 to k2 weight 0"),
            ":1: a weight wants a number from 1 to 1000, found '0'");
  EXPECT_EQ(errorOf("near k1 to east 3"), ":1: more than expected on the line");
}

/// k1 is 6x6 PEs, k2 9x2 or turned.
TEST(PlacementConstraints, AreChecked) {
  const KernelGraph graph = exampleGraph();
  const std::string good = "k1 = conv( 5 4 4 6 3 2 1 1 1 2 2 2 )\n"
                           "k2 = dblock( 4 3 8 1 1 1 1 1 1 1 1 )\n"
                           "k1 : place(10 2 R0)\nk2:place( 0 1 R90)";
  auto check = [&](const std::string &constraints) {
    std::istringstream in(good);
    try {
      return std::to_string(
          checkKernelPlacement(graph, constrained(constraints), in, "p").near);
    } catch (const std::runtime_error &error) {
      return std::string(error.what());
    }
  };
  EXPECT_EQ(check("pin k1 at (10, 2)\nkeep_out shape(8x9) at (2, 0)\n"
                  "keep_out shape(9x1) at (9, 8)"),
            std::to_string(0.));
  EXPECT_EQ(check("pin k1 at (10, 3)"),
            "p:3: kernel k1 of 6x6 at (10, 2) is pinned to (10, 3)");
  EXPECT_EQ(check("keep_out shape(1x1) at (1, 9)"),
            "p:4: kernel k2 of 2x9 at (0, 1) has tiles of the keep-out of 1x1 "
            "at (1, 9)");
  // Centres (13, 5) and (1, 5.5).
  EXPECT_EQ(check("near k1 to k2 weight 2\nnear k1 to (12, 6)\n"
                  "near k2 to south\nnear k1 to east\nnear k1 to north\n"
                  "near k2 to west"),
            std::to_string(2 * 12.5 + 2 + 34.5 + 27 + 5 + 1));
}

} // namespace
