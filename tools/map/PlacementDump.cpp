// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/map/PlacementDump.h"
#include "compiler/place/ReadPlacement.h"
#include "dialects/onnx/Onnx.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>

using namespace mlir;
using namespace wsec;
using namespace wsec::map;

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

/// When words of the host flow for a kernel, and how many.
static std::vector<PlacementView::FlowView>
viewFlows(wse::KernelOp kernel, const Kernel &library, const Machine &machine) {
  std::vector<PlacementView::FlowView> views;
  ArrayAttr flows = kernel.getStreamFlows();
  if (!flows)
    return views;
  SmallVector<HostFlow> words = library.flows(kernel, machine);
  for (auto flow : flows.getAsRange<wse::FlowAttr>()) {
    auto stream = SymbolTable::lookupNearestSymbolFrom<wse::StreamOp>(
        kernel, flow.getStream());
    for (const HostFlow &its : words)
      if (stream && its.pattern == stream.getPattern())
        views.push_back({nameOf(flow.getStream().getValue()),
                         its.words,
                         {flow.getBegin(), flow.getEnd()}});
  }
  return views;
}

static PlacementView::KernelView viewKernel(wse::KernelOp kernel,
                                            const Machine &machine) {
  PlacementView::KernelView view;
  view.name = nameOf(kernel.getReportName());
  view.kind = kernel->getName().stripDialect();
  auto entry = dyn_cast<wse::EntryOp>(kernel->getParentOp());
  view.entry = entry ? nameOf(entry.getSymName()) : "main";
  for (ArrayAttr nodes :
       {kernel.getNodeNames(),
        kernel->getAttrOfType<ArrayAttr>(onnx::absorbedAttrName)})
    if (nodes)
      for (auto node : nodes.getAsRange<StringAttr>())
        if (!llvm::is_contained(view.nodes, nameOf(node.getValue())))
          view.nodes.push_back(nameOf(node.getValue()));
  if (ArrayAttr streams = kernel.getStreamRefs())
    for (auto stream : streams.getAsRange<FlatSymbolRefAttr>())
      view.streams.push_back(nameOf(stream.getValue()));
  view.region = nameOf(kernel.getRegionRef().getValue());
  view.pes = {machine.x, machine.y, machine.width, machine.height};
  if (const Kernel *library = findKernel(kernel)) {
    view.cost = library->cost(kernel, machine);
    view.flows = viewFlows(kernel, *library, machine);
  }
  if (auto window = kernel.getRunWindow())
    view.window = {(*window)[0], (*window)[1]};
  view.slot = kernel.getTimeSlot();
  view.address = kernel.getResultAddress();
  view.scratchAddress = kernel.getScratch();
  view.scratchBytes = kernel.getScratchSize().value_or(0);
  view.bytes = wse::resultBytes(kernel, machine.width, machine.height);
  return view;
}

static std::vector<PlacementView::HeldView> viewHeld(wse::ProgramOp program) {
  std::vector<PlacementView::HeldView> views;
  for (wse::PersistentOp held : program.persistents()) {
    auto region = SymbolTable::lookupNearestSymbolFrom<wse::RegionOp>(
        held, held.getHome());
    Machine machine = region.machine();
    views.push_back({nameOf(held.getHeldName().getValue()),
                     held->getName().stripDialect().str(),
                     {machine.x, machine.y, machine.width, machine.height},
                     held.getHeldBytes(machine.width, machine.height),
                     held.getHeldAddress()});
  }
  return views;
}

static std::vector<PlacementView::RouteView> viewRoutes(wse::StreamOp stream) {
  std::vector<PlacementView::RouteView> routes;
  for (auto rule : stream.getRules().getAsRange<wse::RuleAttr>()) {
    const fabric::Rect &r = rule.getRect();
    PlacementView::RouteView route{rule.getColor(),
                                   {r.x0, r.x1, r.xstep},
                                   {r.y0, r.y1, r.ystep},
                                   keyword(rule.getReceive()),
                                   {}};
    for (fabric::Port port : fabric::allPorts)
      if (rule.getTransmit() & portBit(port))
        route.transmit.push_back(keyword(port));
    routes.push_back(std::move(route));
  }
  return routes;
}

/// The largest first, so that others are not hidden when they are drawn on top;
/// of one size, from west to east.
static std::vector<PlacementView::RegionView>
viewRegions(wse::ProgramOp program,
            const std::vector<PlacementView::KernelView> &kernels) {
  std::vector<PlacementView::RegionView> views;
  for (wse::RegionOp region : regionsOf(program)) {
    Machine machine = region.machine();
    PlacementView::RegionView &its = views.emplace_back();
    its.name = nameOf(region.getSymName());
    its.pes = {machine.x, machine.y, machine.width, machine.height};
    its.role = wse::stringifyRegionRole(
        region.getRole().value_or(wse::RegionRole::Whole));
    its.firstKernel = region.getFirstKernel();
    its.shareBegin = int64_t(region.getShareBegin().value_or(0));
    its.shareCount = int64_t(region.getShareCount().value_or(0));
    its.group = region.getGroup();
    its.spreadHeads = region.getSpreadHeads();
    for (const PlacementView::KernelView &kernel : kernels)
      its.kernels += kernel.region == its.name;
  }
  auto key = [](const PlacementView::RegionView &view) {
    return std::make_tuple(-view.pes.columns * view.pes.rows, view.pes.x,
                           view.pes.y, view.name);
  };
  std::sort(views.begin(), views.end(),
            [&](const auto &a, const auto &b) { return key(a) < key(b); });
  return views;
}

/// Code ends where the first buffer begins.
static int64_t codeBytes(const PlacementView &view) {
  int64_t lowest = view.machine.sramBytes;
  for (const PlacementView::KernelView &kernel : view.kernels)
    for (std::optional<int64_t> address :
         {kernel.address, kernel.scratchAddress})
      lowest = std::min(lowest, address.value_or(lowest));
  for (const PlacementView::HeldView &held : view.held)
    lowest = std::min(lowest, held.address.value_or(lowest));
  return lowest - view.machine.runtimeBytes;
}

PlacementView map::viewPlacement(wse::ProgramOp program) {
  PlacementView view;
  view.name = nameOf(program.getSymName());
  // As programs are named, and with them counters and reports.
  view.model = nameOf(
      program->getParentOfType<ModuleOp>().getSymName().value_or(view.name));
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
  llvm::DenseMap<Operation *, int64_t> numbers; // looked up only
  for (wse::KernelOp kernel : program.kernels()) {
    FlatSymbolRefAttr region = kernel.getRegionRef();
    numbers[kernel] = int64_t(view.kernels.size());
    view.kernels.push_back(viewKernel(kernel, machines[region.getAttr()]));
    for (Value operand : kernel->getOperands()) {
      auto producer = operand.getDefiningOp<wse::KernelOp>();
      if (!producer)
        continue; // an argument of the call
      view.kernels.back().reads.push_back(numbers.lookup(producer));
      if (FlatSymbolRefAttr from = producer.getRegionRef(); from != region)
        view.transfers.push_back({nameOf(kernel.getReportName()),
                                  nameOf(from.getValue()),
                                  nameOf(region.getValue())});
    }
  }
  view.held = viewHeld(program);
  view.regions = viewRegions(program, view.kernels);
  if (wse::SelectionAttr selection = program.getSelectionAttr()) {
    view.selection = {selection.getCode(),
                      selection.getFewColors(),
                      selection.getLittleScratch(),
                      selection.getWeightsStay(),
                      {}};
    if (DictionaryAttr scratch = selection.getScratch())
      for (NamedAttribute its : scratch)
        view.selection.scratch[its.getName().str()] =
            cast<IntegerAttr>(its.getValue()).getInt();
  }
  for (auto stream : program.bodyBlock().getOps<wse::StreamOp>()) {
    PlacementView::StreamView &its = view.streams.emplace_back();
    its.name = nameOf(stream.getSymName());
    its.pattern = name(stream.getPattern());
    its.colors = std::vector<int64_t>(stream.getColors());
    its.routes = viewRoutes(stream);
    its.region = nameOf(stream.getRegion().value_or(""));
    its.target = nameOf(stream.getTarget().value_or(""));
    if (wse::RowSetAttr rows = stream.getRowsAttr())
      its.groups = {rows.getGroups(), rows.getPitch(), rows.getUsed()};
  }
  if (auto peak = program.getSramPeak()) {
    view.sramPeak = int64_t(*peak);
    view.codeBytes = codeBytes(view);
  }
  view.sramOwner = nameOf(program.getSramOwner().value_or(""));
  return view;
}

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

static std::string renderPlacement(const PlacementView &view, StringRef file,
                                   const MeasuredRun &run) {
  if (file.ends_with(".txt"))
    return placementAsText(view);
  if (file.ends_with(".json"))
    return placementAsJson(view);
  return file.ends_with(".svg") ? placementAsSvg(view)
                                : placementAsHtml(view, run);
}

std::string map::writePlacement(const PlacementView &view,
                                const std::string &path,
                                llvm::ArrayRef<std::string> measured) {
  StringRef file(path);
  if (!llvm::any_of(ArrayRef<StringRef>{".txt", ".json", ".svg", ".html"},
                    [&](StringRef end) { return file.ends_with(end); }))
    return "cannot write a placement to '" + path +
           "': expected a name that ends in .txt, .json, .svg or .html";
  if (!measured.empty() && !file.ends_with(".html"))
    return "what a run measured is shown in .html, not in '" + path + "'";
  MeasuredRun run;
  for (const std::string &name : measured)
    if (std::string error = readMeasured(name, view, run); !error.empty())
      return error;
  std::error_code error;
  llvm::raw_fd_ostream stream(path, error);
  if (!error) {
    stream << renderPlacement(view, file, run);
    stream.close();
    error = stream.error();
    stream.clear_error();
    if (error && llvm::sys::fs::is_regular_file(path))
      llvm::sys::fs::remove(path); // what a full disk left of it
  }
  return error ? "cannot write '" + path + "': " + error.message() : "";
}
