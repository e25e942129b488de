// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A placed program for people (text, SVG, HTML) and for tools (JSON, described
// by placement.schema.json). What is not decided yet is left out.

#ifndef WSEC_TOOLS_MAP_PLACEMENTDUMP_H
#define WSEC_TOOLS_MAP_PLACEMENTDUMP_H

#include "compiler/kernels/Kernel.h"
#include "compiler/machine/Machine.h"
#include "compiler/placement/PlacementProblem.h"
#include "runtime/program/facts/LinkWords.h"

#include "llvm/ADT/ArrayRef.h"

#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace wsec::wse {
class ProgramOp;
} // namespace wsec::wse

namespace wsec::map {

/// An I/O channel that serves a region: a west channel brings the words of
/// columns [begin, end) in, an east channel takes the words of rows [begin,
/// end) out; both sit at `row`.
struct PlacedChannel {
  int64_t row = 0;
  int64_t begin = 0, end = 0;
};

/// What there is to show, without MLIR.
struct PlacementView {
  /// Words between host and region for one launch, on each of the channels at
  /// most; in cycles [begin, end) as predicted.
  struct FlowView {
    std::string stream;
    int64_t words = 0;
    std::array<int64_t, 2> window;
  };
  struct KernelView {
    std::string name, kind, entry;
    std::vector<std::string> nodes;   // ONNX nodes it computes
    std::vector<std::string> streams; // names, from the routed state on
    std::string region;
    PlacedRegion pes;
    std::vector<int64_t> reads; // numbers of the kernels of its operands
    KernelCost cost;
    std::optional<int64_t> slot, address, scratchAddress;
    int64_t bytes = 0, scratchBytes = 0;
    std::optional<std::array<int64_t, 2>> window;
    std::vector<FlowView> flows;
    std::vector<uint32_t> passed; // numbers of what its launch has routers pass
    std::string passedUnknown;    // if not empty, why that is not known
  };
  /// Routers at x and y (begin, end, step) pass words of `color` from the port
  /// `receive` to those of `transmit`.
  struct RouteView {
    int64_t color = 0;
    std::array<int64_t, 3> x, y;
    std::string receive;
    std::vector<std::string> transmit;
  };
  struct StreamView {
    std::string name, pattern;
    std::vector<int64_t> colors;
    std::vector<RouteView> routes;
    std::string region, target; // empty: of all, or the only one; no transfer
    std::map<std::string, int64_t> words; // by entry: of a call and one of the
                                          // colors, on the link that has most
    std::vector<int64_t> groups; // number, pitch, used; if it depends on them
  };
  /// A kernel that moves a tensor from one region to another.
  struct TransferView {
    std::string kernel, from, to;
  };
  /// A state or resident parameter, which all PEs of a region hold from call to
  /// call.
  struct HeldView {
    std::string name, kind;
    PlacedRegion pes;
    int64_t bytes = 0;
    std::optional<int64_t> address;
  };
  /// The fullest of the links out of routers by one port that the same streams
  /// use.
  struct LinkView {
    int64_t words = 0;
    int64_t links = 0;
    int64_t x = 0, y = 0; // the router that the first of them leaves
    std::string port;
    std::vector<std::pair<std::string, int64_t>> streams; // with their words
  };
  /// The fullest links of an entry, from the fullest down.
  struct LoadView {
    std::string entry;
    std::vector<LinkView> fullest;
    int64_t unknown = 0; // launches of which words are not known
  };
  /// As in wse.region.
  struct RegionView {
    std::string name;
    PlacedRegion pes;
    std::string role;
    std::optional<int64_t> firstKernel;
    int64_t shareBegin = 0, shareCount = 0; // none: all of its rows
    std::optional<int64_t> group;           // with which it shares them out
    bool spreadHeads = false;
    int64_t kernels = 0;
  };
  /// As in #wse.selection.
  struct SelectionView {
    int64_t code = 0;
    bool fewColors = false, littleScratch = false, weightsStay = false;
    std::map<std::string, int64_t> scratch;
  };

  std::string name, model, state;
  Machine machine;
  std::vector<PlacedChannel> west, east;
  std::vector<RegionView> regions; // the largest first
  SelectionView selection;
  std::vector<KernelView> kernels;
  std::vector<HeldView> held;
  std::vector<TransferView> transfers;
  std::vector<StreamView> streams;
  std::vector<runtime::PassedWords> passed; // of one launch; from lowering on
  std::vector<LoadView> loads;              // by entry, likewise
  std::optional<int64_t> sramPeak;
  std::string sramOwner;
  int64_t codeBytes = 0; // between the host runtime and the lowest buffer
};

/// What wse-run counted, as JSON texts; empty: not given.
struct MeasuredRun {
  std::string counters; // runtime/observe/counters.schema.json
  std::string report;   // runtime/host/report.schema.json
  std::string entry;    // of the report
};

/// Reads a program that is at least placed.
PlacementView viewPlacement(wse::ProgramOp program);

/// Adds what crosses links, counted in the program that became of it.
void addLinkWords(const runtime::LinkWords &words, PlacementView &view);

std::string placementAsText(const PlacementView &view);
std::string placementAsJson(const PlacementView &view, unsigned indent = 2);
std::string placementAsSvg(const PlacementView &view);
/// One file that loads nothing: the JSON and the scripts of page/.
std::string placementAsHtml(const PlacementView &view, const MeasuredRun &run);

/// Adds what the file at `path` says to `run`. Returns empty or why it says
/// nothing of a run of this program.
std::string readMeasured(const std::string &path, const PlacementView &view,
                         MeasuredRun &run);

/// Writes to `path`, in the format its ending names: .txt, .json, .svg or
/// .html; this one with the files of a run in `measured`. Returns empty or what
/// went wrong.
std::string writePlacement(const PlacementView &view, const std::string &path,
                           llvm::ArrayRef<std::string> measured);

} // namespace wsec::map

#endif // WSEC_TOOLS_MAP_PLACEMENTDUMP_H
