// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/wsec/PlaceCommand.h"
#include "compiler/placement/PlacementBound.h"
#include "runtime/files/NewFile.h"
#include "tools/flags/CommandLine.h"
#include "tools/place/KernelGraph.h"
#include "tools/place/PlacementConstraints.h"
#include "tools/place/SolveKernels.h"

#include "absl/flags/declare.h"
#include "absl/flags/flag.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <thread>
#include <unistd.h>

ABSL_DECLARE_FLAG(std::string, o);
ABSL_DECLARE_FLAG(uint64_t, seed);
ABSL_FLAG(std::string, ispd2020, "",
          "FILE.kgraph  kernel graph of the ISPD-2020 contest");
ABSL_FLAG(std::string, constraints, "",
          "FILE  lines such as `pin k1 at (0, 0)`, `keep_out shape(4x2) at "
          "(9, 3)`, `near k2 to k3 weight 5`, `near k2 to (2, 0)`, `near k4 "
          "to east`");
ABSL_FLAG(std::string, check, "",
          "FILE.place  instead of placing, check and score this placement");
ABSL_FLAG(int64_t, changes, 0,
          "N  changes that the search tries (default: less than a minute)");
ABSL_FLAG(int, threads, 0, "N  threads (default: one per core)");

namespace wsec::tools {

/// Whole numbers and halves as they are.
static std::string shown(double value) {
  return absl::StrFormat("%.10g", value);
}

static void printScore(const KernelGraph &graph, const KernelScore &score,
                       PlacementProblem problem) {
  std::printf("%s: %zu kernels, %zu edges, %lldx%lld tiles\n",
              graph.file.c_str(), graph.kernels.size(), graph.edges.size(),
              (long long)graph.width, (long long)graph.height);
  std::printf("score %s = %s x time %s + %s x wire %s\n",
              shown(score.total).c_str(), shown(graph.timeWeight).c_str(),
              shown(score.time).c_str(), shown(graph.wireWeight).c_str(),
              shown(score.wire).c_str());
  if (!problem.wishes.empty())
    std::printf("near %s: distances of what is to lie near, x weights\n",
                shown(score.near).c_str());
  problem.wishes.clear(); // are not of the score
  const double time = graph.timeWeight * throughputBound(problem);
  const double bound = scoreBound(problem);
  std::printf("bound %s of the time: with less, the smallest rectangles have "
              "more tiles than are free\n",
              shown(time).c_str());
  std::printf("bound %s of the score: neighbours lie as far apart as half of "
              "their shortest sides together\n",
              shown(bound).c_str());
  if (time > 0)
    std::printf("ratio %.4f to the bound of the score, %.4f to that of the "
                "time\n",
                score.total / bound, score.total / time);
}

static AnnealingOptions searchOptions() {
  AnnealingOptions options;
  options.seed = absl::GetFlag(FLAGS_seed);
  options.changes = absl::GetFlag(FLAGS_changes);
  const int threads = absl::GetFlag(FLAGS_threads);
  if (options.changes < 0 || threads < 0)
    throw UsageError("--changes and --threads want numbers of at least 0");
  options.threads =
      threads ? threads : std::max(1, int(std::thread::hardware_concurrency()));
  if (isatty(STDERR_FILENO))
    options.progress = [](double done, double score) {
      const std::string line =
          absl::StrFormat("%.0f %%, score %s", 100 * done, shown(score));
      std::fprintf(stderr, "\r%s\033[K", done < 1 ? line.c_str() : "");
    };
  return options;
}

static KernelScore place(const KernelGraph &graph,
                         const KernelPlacement &kernels,
                         const std::string &output) {
  Placement placement;
  const std::string problem =
      solveKernels(kernels.problem, searchOptions(), placement);
  if (!problem.empty())
    throw std::runtime_error(absl::StrCat(graph.file, ": ", problem));
  const std::string text = kernelPlacementText(graph, kernels, placement);
  std::istringstream written(text);
  const KernelScore score =
      checkKernelPlacement(graph, kernels.problem, written, output);
  runtime::NewFile out(output);
  out.write(text.data(), text.size());
  out.commit();
  return score;
}

static KernelScore check(const KernelGraph &graph,
                         const PlacementProblem &problem,
                         const std::string &path) {
  std::ifstream in(path);
  if (!in)
    throw std::runtime_error(absl::StrCat(path, ": cannot be read"));
  return checkKernelPlacement(graph, problem, in, path);
}

int runPlace(const std::vector<std::string> &words) {
  if (!words.empty())
    throw UsageError("no words but flags, found '" + words[0] + "'");
  const std::string input = absl::GetFlag(FLAGS_ispd2020);
  const std::string output = absl::GetFlag(FLAGS_o);
  const std::string checked = absl::GetFlag(FLAGS_check);
  if (input.empty())
    throw UsageError("no graph is given: --ispd2020=FILE.kgraph");
  if (output.empty() == checked.empty())
    throw UsageError(output.empty()
                         ? "say where to write the placement, -o FILE.place, "
                           "or which one to check, --check=FILE.place"
                         : "-o writes a placement and --check reads one; "
                           "leave one out");
  const KernelGraph graph = readKernelGraph(input);
  if (graph.adapterWeight != 0)
    throw std::runtime_error(absl::StrCat(
        graph.file, ": wadapter=", graph.adapterWeight,
        ": what an adapter is has not been published, so there is no score; "
        "graphs with wadapter=0 have one"));
  KernelPlacement kernels = placementProblemOf(graph);
  if (const std::string path = absl::GetFlag(FLAGS_constraints); !path.empty())
    readConstraints(path, "kernel", kernels.problem);
  const KernelScore score = checked.empty()
                                ? place(graph, kernels, output)
                                : check(graph, kernels.problem, checked);
  printScore(graph, score, kernels.problem);
  return 0;
}

} // namespace wsec::tools
