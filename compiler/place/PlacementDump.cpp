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

/// Channels of a region, with rows and columns of the mesh.
static std::vector<PlacedChannel>
viewChannels(const std::vector<ChannelPosition> &channels, int64_t row,
             int64_t origin) {
  std::vector<PlacedChannel> views;
  for (const ChannelPosition &channel : channels)
    views.push_back(
        {row + channel.row, origin + channel.begin, origin + channel.end});
  return views;
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
  view.region = nameOf(kernel.getRegionRef().getValue());
  view.pes = {machine.x, machine.y, machine.width, machine.height};
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

static std::vector<PlacementView::RouteView> viewRoutes(wse::StreamOp stream) {
  std::vector<PlacementView::RouteView> routes;
  for (auto rule : stream.getRules().getAsRange<wse::RuleAttr>()) {
    wse::RectAttr r = rule.getRect();
    PlacementView::RouteView route{rule.getColor(),
                                   {r.getX0(), r.getX1(), r.getXstep()},
                                   {r.getY0(), r.getY1(), r.getYstep()},
                                   wse::stringifyPort(rule.getReceive()).str(),
                                   {}};
    for (unsigned port = 0; port <= unsigned(wse::Port::Ramp); ++port)
      if (uint32_t(rule.getTransmit()) >> port & 1)
        route.transmit.push_back(wse::stringifyPort(wse::Port(port)).str());
    routes.push_back(std::move(route));
  }
  return routes;
}

/// The largest first, so that others are not hidden when they are drawn on top.
static std::vector<PlacementView::RegionView>
viewRegions(wse::ProgramOp program,
            const std::vector<PlacementView::KernelView> &kernels) {
  std::vector<PlacementView::RegionView> views;
  for (wse::RegionOp region : regionsOf(program)) {
    Machine machine = region.machine();
    views.push_back({nameOf(region.getSymName()),
                     {machine.x, machine.y, machine.width, machine.height},
                     0});
    for (const PlacementView::KernelView &kernel : kernels)
      views.back().kernels += kernel.region == views.back().name;
  }
  auto key = [](const PlacementView::RegionView &view) {
    return std::make_tuple(-view.pes.columns * view.pes.rows, view.name);
  };
  std::sort(views.begin(), views.end(),
            [&](const auto &a, const auto &b) { return key(a) < key(b); });
  return views;
}

PlacementView wsec::viewPlacement(wse::ProgramOp program) {
  PlacementView view;
  view.name = nameOf(program.getSymName());
  view.state = wse::stringifyState(program.getState()).str();
  view.machine = program.targetMachine();
  view.machine.name = nameOf(view.machine.name);
  for (const Machine &region : program.kernelMachines()) {
    llvm::append_range(view.west,
                       viewChannels(region.westChannels(), region.y, region.x));
    llvm::append_range(view.east,
                       viewChannels(region.eastChannels(), region.y, region.y));
  }
  llvm::DenseMap<Attribute, Machine> machines; // looked up only
  for (wse::RegionOp region : program.kernelRegions())
    machines[region.getSymNameAttr()] = region.machine();
  for (wse::KernelOp kernel : program.kernels()) {
    view.kernels.push_back(
        viewKernel(kernel, machines[kernel.getRegionRef().getAttr()]));
    if (auto transfer = dyn_cast<wse::TransferOp>(*kernel))
      view.transfers.push_back({nameOf(kernel.getReportName()),
                                nameOf(transfer.sourceRegion().getSymName()),
                                nameOf(transfer.getRegion())});
  }
  view.regions = viewRegions(program, view.kernels);
  for (auto stream : program.bodyBlock().getOps<wse::StreamOp>())
    view.streams.push_back(
        {nameOf(stream.getSymName()),
         wse::stringifyStreamPattern(stream.getPattern()).str(),
         std::vector<int64_t>(stream.getColors()), viewRoutes(stream)});
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

static void writeRectangle(llvm::json::OStream &json,
                           const PlacedRegion &region) {
  json.attribute("x", region.x);
  json.attribute("y", region.y);
  json.attribute("columns", region.columns);
  json.attribute("rows", region.rows);
}

static void writeRegion(llvm::json::OStream &json, const PlacedRegion &region) {
  json.attributeObject("region", [&] { writeRectangle(json, region); });
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
  writeRegion(json, kernel.pes);
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
    json.attributeArray("regions", [&] {
      for (const PlacementView::RegionView &region : view.regions)
        json.object([&] {
          json.attribute("name", region.name);
          writeRectangle(json, region.pes);
        });
    });
    json.attributeArray("transfers", [&] {
      for (const PlacementView::TransferView &transfer : view.transfers)
        json.object([&] {
          json.attribute("kernel", transfer.kernel);
          json.attribute("from", transfer.from);
          json.attribute("to", transfer.to);
        });
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
          json.attribute("rules", int64_t(stream.routes.size()));
          json.attributeArray("routes", [&] {
            for (const PlacementView::RouteView &route : stream.routes)
              json.object([&] {
                json.attribute("color", route.color);
                writeArray(json, "x", route.x);
                writeArray(json, "y", route.y);
                json.attribute("receive", route.receive);
                writeArray(json, "transmit", route.transmit);
              });
          });
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
