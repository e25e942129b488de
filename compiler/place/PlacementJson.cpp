// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What placement.schema.json describes.

#include "compiler/place/PlacementDump.h"

#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <numeric>

using namespace wsec;
using llvm::StringRef;

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

static void writeCost(llvm::json::OStream &json, const KernelCost &cost) {
  json.attributeObject("cost", [&] {
    json.attribute("cycles", cost.total());
    json.attribute("compute", cost.compute);
    json.attribute("stream", cost.stream);
    json.attribute("fabric", cost.fabric);
    json.attribute("serial", cost.serial);
    json.attribute("lower_bound", cost.lowerBound);
    json.attribute("bound", cost.bound());
  });
}

static void writeKernel(llvm::json::OStream &json,
                        const PlacementView::KernelView &kernel) {
  json.attribute("name", kernel.name);
  json.attribute("kind", kernel.kind);
  json.attribute("entry", kernel.entry);
  writeArray(json, "onnx_nodes", kernel.nodes);
  writeRegion(json, kernel.pes);
  writeArray(json, "reads", kernel.reads);
  writeCost(json, kernel.cost);
  if (!kernel.streams.empty())
    writeArray(json, "streams", kernel.streams);
  if (kernel.slot)
    json.attribute("slot", *kernel.slot);
  if (kernel.window)
    writeArray(json, "window", *kernel.window);
  if (!kernel.flows.empty())
    json.attributeArray("flows", [&] {
      for (const PlacementView::FlowView &flow : kernel.flows)
        json.object([&] {
          json.attribute("stream", flow.stream);
          json.attribute("words", flow.words);
          writeArray(json, "window", flow.window);
        });
    });
  if (!kernel.passed.empty())
    writeArray(json, "passed_words", kernel.passed);
  if (!kernel.passedUnknown.empty())
    json.attribute("passed_unknown", kernel.passedUnknown);
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
    json.attributeArray("keep_outs", [&] {
      for (const PeRectangle &its : machine.keepOuts)
        json.object([&] {
          writeRectangle(json, {its.x, its.y, its.width, its.height});
        });
    });
  });
}

namespace {
/// What routers pass, as JSON. Rows are mostly multiples of a few: words of a
/// row are, say, its tokens times the features of each column.
class PassedText {
public:
  void add(const runtime::PassedWords &passed) {
    std::string rows;
    for (const runtime::PassedWords::Rows &its : passed.rows) {
      int64_t times = 0;
      for (const runtime::PassedWords::Run &run : its.runs)
        times = std::gcd(times, run.words);
      rows += (rows.empty() ? "[" : ",[") + std::to_string(its.begin) + "," +
              std::to_string(its.end) + "," + number(its.runs, times) + "," +
              std::to_string(times) + "]";
    }
    tables.push_back({passed.color, "[" + rows + "]"});
  }

  /// Arrays on one line: nobody reads these numbers one by one.
  void write(llvm::json::OStream &json) const {
    json.attributeArray("runs", [&] {
      for (const std::string &text : runs)
        json.rawValue(text);
    });
    json.attributeArray("tables", [&] {
      for (const auto &table : tables)
        json.object([&] {
          json.attribute("color", table.first);
          json.attributeBegin("rows");
          json.rawValue(table.second);
          json.attributeEnd();
        });
    });
  }

private:
  /// Of the runs with words divided by `times`.
  std::string number(const std::vector<runtime::PassedWords::Run> &row,
                     int64_t times) {
    std::string text;
    for (const runtime::PassedWords::Run &run : row)
      text += (text.empty() ? "[" : ",") + std::to_string(run.begin) + "," +
              std::to_string(run.end) + "," + std::to_string(run.words / times);
    const auto [at, isNew] = numbers.try_emplace(text + "]", runs.size());
    if (isNew)
      runs.push_back(at->first);
    return std::to_string(at->second);
  }

  std::map<std::string, size_t> numbers;
  std::vector<std::string> runs;
  std::vector<std::pair<int64_t, std::string>> tables; // colors and rows
};
} // namespace

static void writeLoads(llvm::json::OStream &json, const PlacementView &view) {
  PassedText passed;
  for (const runtime::PassedWords &table : view.passed)
    passed.add(table);
  json.attributeObject("passed_words", [&] { passed.write(json); });
  json.attributeArray("link_load", [&] {
    for (const PlacementView::LoadView &load : view.loads)
      json.object([&] {
        json.attribute("entry", load.entry);
        json.attribute("unknown_launches", load.unknown);
        json.attributeArray("fullest", [&] {
          for (const PlacementView::LinkView &link : load.fullest)
            json.object([&] {
              json.attribute("words", link.words);
              json.attribute("links", link.links);
              json.attribute("x", link.x);
              json.attribute("y", link.y);
              json.attribute("port", link.port);
              json.attributeObject("streams", [&] {
                for (const auto &[stream, words] : link.streams)
                  json.attribute(stream, words);
              });
            });
        });
      });
  });
}

std::string wsec::placementAsJson(const PlacementView &view, unsigned indent) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  llvm::json::OStream json(stream, indent);
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
          json.attribute("role", region.role);
          if (region.firstKernel)
            json.attribute("first_kernel", *region.firstKernel);
          if (region.shareCount)
            json.attributeObject("channels", [&] {
              json.attribute("from", region.shareBegin);
              json.attribute("count", region.shareCount);
            });
          json.attribute("spread_heads", region.spreadHeads);
        });
    });
    json.attributeObject("selection", [&] {
      json.attribute("code_bytes", view.selection.code);
      json.attribute("few_colors", view.selection.fewColors);
      json.attribute("little_scratch", view.selection.littleScratch);
      json.attribute("weights_stay", view.selection.weightsStay);
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
    json.attributeArray("held", [&] {
      for (const PlacementView::HeldView &held : view.held)
        json.object([&] {
          json.attribute("name", held.name);
          json.attribute("kind", held.kind);
          writeRegion(json, held.pes);
          json.attribute("bytes", held.bytes);
          if (held.address)
            json.attribute("address", *held.address);
        });
    });
    json.attributeArray("streams", [&] {
      for (const PlacementView::StreamView &stream : view.streams)
        json.object([&] {
          json.attribute("name", stream.name);
          json.attribute("pattern", stream.pattern);
          if (!stream.region.empty())
            json.attribute("region", stream.region);
          if (!stream.target.empty())
            json.attribute("target", stream.target);
          if (!stream.groups.empty())
            writeArray(json, "groups", stream.groups);
          if (!stream.words.empty())
            json.attributeObject("words", [&] {
              for (const auto &[entry, words] : stream.words)
                json.attribute(entry, words);
            });
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
    if (!view.loads.empty())
      writeLoads(json, view);
    if (view.sramPeak)
      json.attributeObject("sram", [&] {
        json.attribute("peak_bytes", *view.sramPeak);
        json.attribute("limit_bytes", view.machine.sramBytes);
        json.attribute("owner", view.sramOwner);
        json.attribute("code_bytes", view.codeBytes);
      });
  });
  return text + "\n";
}
