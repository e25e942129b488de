// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The kernel graphs of the ISPD-2020 contest (wafer-scale deep learning
// accelerator placement): a benchmark of the placer. Plain C++.

#ifndef WSEC_TOOLS_PLACE_KERNELGRAPH_H
#define WSEC_TOOLS_PLACE_KERNELGRAPH_H

#include "compiler/placement/PlacementProblem.h"

#include <istream>
#include <string>
#include <vector>

namespace wsec {

/// One convolution of a kernel: H x W positions, R x S weights for each of C
/// inputs and K outputs; `stride` (T in the files) divides its work twice.
struct Convolution {
  int64_t H = 1, W = 1, R = 1, S = 1, C = 1, K = 1, stride = 1;
};

/// How the loops of a kernel are split: height and width for all of its
/// convolutions, inputs c[i] and outputs k[i] for each. Nothing is split into
/// more parts than it has. It takes (PEs, steps, words of SRAM in a PE):
///
///   height = h w (c + 1)      width = 3 k
///   time   = ceil(H/h) ceil(W/w) ceil(C/c) ceil(K/k) R S / T^2
///   memory = (C/c)(K/k) R S + ((W+S-1)/w)((H+R-1)/h)(K/k)
///
/// of each convolution; their widths add up, of the rest the largest counts.
struct Execution {
  int64_t h = 1, w = 1;
  std::vector<int64_t> c, k;
  bool turned = false; ///< R90: width and height change places
};

/// A kernel of a file, not one of the library (kernels/Kernel.h).
struct GraphKernel {
  enum class Kind { Conv, DBlock, CBlock };
  std::string name;
  Kind kind = Kind::Conv;
  int64_t line = 0; ///< of the file
  /// What the output repeats of it: H W F of a block, H W C K R S T U.
  std::vector<int64_t> fields;
  std::vector<Convolution> convolutions;
};

struct KernelGraph {
  std::string file;
  int64_t width = 0, height = 0, memoryLimit = 0;
  double timeWeight = 0, wireWeight = 0, adapterWeight = 0;
  std::vector<GraphKernel> kernels; ///< in the order of the file
  /// Pairs of kernels; inputs and outputs have no place.
  std::vector<std::pair<size_t, size_t>> edges;
};

/// Throws std::runtime_error with file and line.
KernelGraph readKernelGraph(const std::string &path);

/// A placement problem, and the execution behind each shape: shape s of kernel
/// k is executions[problem.regions[k].shapeSet][s].
struct KernelPlacement {
  PlacementProblem problem;
  std::vector<std::vector<Execution>> executions;
};

/// Every execution that fits the memory and that no other one beats in height,
/// width and time, as it is and turned. Throws std::runtime_error if a kernel
/// has none.
KernelPlacement placementProblemOf(const KernelGraph &graph);

/// What a placement is worth.
struct KernelScore {
  double time = 0, wire = 0, total = 0;
  double near = 0; ///< of wishes, which are not of the contest
};

/// The contest's output format: a line of execution values and a line with the
/// place of each kernel.
std::string kernelPlacementText(const KernelGraph &graph,
                                const KernelPlacement &kernels,
                                const Placement &placement);

/// Reads the contest's output format and computes, from it and the graph alone,
/// what it is worth; no code of the solver is used. Of `problem` it has pins,
/// keep-outs and wishes. Throws std::runtime_error if it breaks a rule, with
/// `name` and the line.
KernelScore checkKernelPlacement(const KernelGraph &graph,
                                 const PlacementProblem &problem,
                                 std::istream &text, const std::string &name);

} // namespace wsec

#endif // WSEC_TOOLS_PLACE_KERNELGRAPH_H
