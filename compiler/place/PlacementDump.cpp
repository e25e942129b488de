// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/place/PlacementDump.h"
#include "compiler/place/ReadPlacement.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>

using namespace mlir;
using namespace wsec;

//===----------------------------------------------------------------------===//
// Reading the program
//===----------------------------------------------------------------------===//

static std::vector<PlacedChannel> viewChannels(ArrayAttr attrs) {
  std::vector<PlacedChannel> channels;
  if (attrs)
    for (auto channel : attrs.getAsRange<wse::ChannelAttr>())
      channels.push_back(
          {channel.getRow(), channel.getBegin(), channel.getEnd()});
  return channels;
}

/// Names are those of the model, which may hold any bytes; dumps are UTF-8.
static std::string nameOf(StringRef name) { return llvm::json::fixUTF8(name); }

static PlacementView::KernelView viewKernel(wse::KernelOp kernel,
                                            const Machine &machine) {
  PlacementView::KernelView view;
  view.name = nameOf(kernel.getReportName());
  view.kind = kernel->getName().stripDialect();
  if (ArrayAttr nodes = kernel.getNodeNames())
    for (auto node : nodes.getAsRange<StringAttr>())
      view.nodes.push_back(nameOf(node.getValue()));
  if (ArrayAttr streams = kernel.getStreamRefs())
    for (auto stream : streams.getAsRange<FlatSymbolRefAttr>())
      view.streams.push_back(nameOf(stream.getValue()));
  if (wse::RectAttr r = kernel.getRect())
    view.region = {r.getX0(), r.getY0(), r.getX1() - r.getX0(),
                   r.getY1() - r.getY0()};
  view.slot = kernel.getTimeSlot();
  view.address = kernel.getResultAddress();
  view.scratchAddress = kernel.getScratch();
  view.scratchBytes = kernel.getScratchSize().value_or(0);
  if (kernel->getNumResults()) {
    Type type = kernel->getResult(0).getType();
    view.bytes = wse::TiledAttr::of(type).bytesPerPE(
        wse::featuresOf(type), machine.width, machine.height);
  }
  return view;
}

static bool sameRegion(const PlacedRegion &a, const PlacedRegion &b) {
  return a.x == b.x && a.y == b.y && a.columns == b.columns && a.rows == b.rows;
}

/// Each different region once; the largest first, so that later ones are not
/// hidden when they are drawn on top.
static std::vector<PlacementView::RegionView>
collectRegions(const std::vector<PlacementView::KernelView> &kernels) {
  std::vector<PlacementView::RegionView> regions;
  for (const PlacementView::KernelView &kernel : kernels) {
    auto it = std::find_if(regions.begin(), regions.end(),
                           [&](const PlacementView::RegionView &view) {
                             return sameRegion(view.region, kernel.region);
                           });
    if (it == regions.end())
      it = regions.insert(regions.end(), {kernel.region, 0});
    ++it->kernels;
  }
  auto key = [](const PlacementView::RegionView &view) {
    const PlacedRegion &r = view.region;
    return std::make_tuple(-r.columns * r.rows, r.y, r.x, r.columns);
  };
  std::sort(regions.begin(), regions.end(),
            [&](const auto &a, const auto &b) { return key(a) < key(b); });
  return regions;
}

PlacementView wsec::viewPlacement(wse::ProgramOp program) {
  PlacementView view;
  view.name = nameOf(program.getSymName());
  view.state = wse::stringifyState(program.getState()).str();
  view.machine = program.targetMachine();
  view.machine.name = nameOf(view.machine.name);
  view.west = viewChannels(program.getWestChannelsAttr());
  view.east = viewChannels(program.getEastChannelsAttr());
  for (wse::KernelOp kernel : kernelsOf(program))
    view.kernels.push_back(viewKernel(kernel, view.machine));
  view.regions = collectRegions(view.kernels);
  for (auto stream : program.bodyBlock().getOps<wse::StreamOp>())
    view.streams.push_back(
        {nameOf(stream.getSymName()),
         wse::stringifyStreamPattern(stream.getPattern()).str(),
         std::vector<int64_t>(stream.getColors()),
         int64_t(stream.getRules().size())});
  if (auto peak = program.getSramPeak())
    view.sramPeak = int64_t(*peak);
  view.sramOwner = nameOf(program.getSramOwner().value_or(""));
  return view;
}

//===----------------------------------------------------------------------===//
// JSON
//===----------------------------------------------------------------------===//

static void writeChannels(llvm::json::OStream &json, StringRef key,
                          const std::vector<PlacedChannel> &channels) {
  json.attributeArray(key, [&] {
    for (const PlacedChannel &channel : channels)
      json.object([&] {
        json.attribute("row", channel.row);
        json.attribute("begin", channel.begin);
        json.attribute("end", channel.end);
      });
  });
}

static void writeRegion(llvm::json::OStream &json, const PlacedRegion &region) {
  json.attributeObject("region", [&] {
    json.attribute("x", region.x);
    json.attribute("y", region.y);
    json.attribute("columns", region.columns);
    json.attribute("rows", region.rows);
  });
}

template <typename Values>
static void writeArray(llvm::json::OStream &json, StringRef key,
                       const Values &values) {
  json.attributeArray(key, [&] {
    for (const auto &value : values)
      json.value(value);
  });
}

static void writeKernel(llvm::json::OStream &json,
                        const PlacementView::KernelView &kernel) {
  json.attribute("name", kernel.name);
  json.attribute("kind", kernel.kind);
  writeArray(json, "onnx_nodes", kernel.nodes);
  writeRegion(json, kernel.region);
  if (!kernel.streams.empty())
    writeArray(json, "streams", kernel.streams);
  if (kernel.slot)
    json.attribute("slot", *kernel.slot);
  if (kernel.address) {
    json.attribute("address", *kernel.address);
    json.attribute("bytes", kernel.bytes);
  }
  if (kernel.scratchAddress) {
    json.attribute("scratch_address", *kernel.scratchAddress);
    json.attribute("scratch_bytes", kernel.scratchBytes);
  }
}

static void writeMachine(llvm::json::OStream &json, const Machine &machine) {
  json.attributeObject("machine", [&] {
    json.attribute("name", machine.name);
    json.attribute("width", machine.width);
    json.attribute("height", machine.height);
    json.attribute("sram_bytes", machine.sramBytes);
    json.attribute("runtime_bytes", machine.runtimeBytes);
    json.attribute("colors", machine.usableColors());
  });
}

std::string wsec::placementAsJson(const PlacementView &view) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  llvm::json::OStream json(stream, 2);
  json.object([&] {
    json.attribute("version", 1);
    json.attribute("program", view.name);
    json.attribute("state", view.state);
    writeMachine(json, view.machine);
    json.attributeObject("channels", [&] {
      writeChannels(json, "west", view.west);
      writeChannels(json, "east", view.east);
    });
    json.attributeArray("kernels", [&] {
      for (const PlacementView::KernelView &kernel : view.kernels)
        json.object([&] { writeKernel(json, kernel); });
    });
    json.attributeArray("streams", [&] {
      for (const PlacementView::StreamView &stream : view.streams)
        json.object([&] {
          json.attribute("name", stream.name);
          json.attribute("pattern", stream.pattern);
          writeArray(json, "colors", stream.colors);
          json.attribute("rules", stream.rules);
        });
    });
    if (view.sramPeak)
      json.attributeObject("sram", [&] {
        json.attribute("peak_bytes", *view.sramPeak);
        json.attribute("limit_bytes", view.machine.sramBytes);
        json.attribute("owner", view.sramOwner);
      });
  });
  return text + "\n";
}

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

std::string wsec::dumpPlacement(wse::ProgramOp program,
                                const std::string &path) {
  if (program.getState() < wse::State::Placed)
    return "cannot show where a program is placed that is only " +
           wse::stringifyState(program.getState()).str();
  StringRef file(path);
  std::string (*render)(const PlacementView &) =
      file.ends_with(".txt")    ? placementAsText
      : file.ends_with(".json") ? placementAsJson
      : file.ends_with(".svg")  ? placementAsSvg
                                : nullptr;
  if (!render)
    return "cannot write a placement to '" + path +
           "': expected a name that ends in .txt, .json or .svg";
  std::error_code error;
  llvm::raw_fd_ostream stream(path, error);
  if (!error) {
    stream << render(viewPlacement(program));
    stream.close();
    error = stream.error();
    stream.clear_error();
    if (error && llvm::sys::fs::is_regular_file(path))
      llvm::sys::fs::remove(path); // what a full disk left of it
  }
  return error ? "cannot write '" + path + "': " + error.message() : "";
}
