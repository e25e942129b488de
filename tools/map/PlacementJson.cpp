// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What placement.schema.json describes.

#include "tools/map/PlacementDump.h"

#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <map>
#include <numeric>
#include <utility>

using namespace wsec;
using namespace wsec::map;
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
    json.attribute("clock_ghz", machine.clockGhz);
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
/// What routers pass, as JSON: each row by what it has more than the row
/// before. That is mostly a multiple of a few: the tokens of a row, say, times
/// the features of each column, which a chain has gathered so far.
class PassedText {
public:
  explicit PassedText(const PlacementView &view)
      : row(size_t(view.machine.width)) {}

  void add(const runtime::PassedWords &passed) {
    std::vector<Band> bands;
    int end = 0;
    for (const runtime::PassedWords::Rows &its : passed.rows) {
      if (its.begin != end)
        std::fill(row.begin(), row.end(), 0);
      auto [more, times] = change(its.runs);
      const Band next{its.begin, its.end - its.begin, 1, number(more), times};
      if (!bands.empty() && its.begin == end && bands.back().isAlike(next))
        ++bands.back().count;
      else
        bands.push_back(next);
      end = its.end;
    }
    std::fill(row.begin(), row.end(), 0);
    tables.push_back({passed.color, textOf(bands)});
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
  using Runs = std::vector<runtime::PassedWords::Run>;
  /// So often, one below the other, so many rows that have that much more than
  /// what is above them.
  struct Band {
    int begin, rows;
    int64_t count;
    size_t more;
    int64_t times;

    bool isAlike(const Band &next) const {
      return rows == next.rows && more == next.more && times == next.times;
    }
  };

  static std::string textOf(const std::vector<Band> &bands) {
    std::string text;
    for (const Band &band : bands) {
      text += text.empty() ? "[[" : ",[";
      for (int64_t part : {int64_t(band.begin), int64_t(band.rows), band.count,
                           int64_t(band.more)})
        text += std::to_string(part) + ",";
      text += std::to_string(band.times) + "]";
    }
    return text + "]";
  }

  /// From `row` to what it has next, as runs and how many times their words.
  std::pair<Runs, int64_t> change(const Runs &next) {
    Runs more;
    int64_t times = 0;
    auto add = [&](int x, int64_t words) {
      const int64_t its = words - std::exchange(row[size_t(x)], words);
      if (its == 0)
        return;
      times = std::gcd(times, its);
      if (!more.empty() && more.back().end == x && more.back().words == its)
        ++more.back().end;
      else
        more.push_back({x, x + 1, its});
    };
    auto run = next.begin();
    for (int x = 0; x < int(row.size()); ++x) {
      while (run != next.end() && run->end <= x)
        ++run;
      add(x, run != next.end() && run->begin <= x ? run->words : 0);
    }
    if (!more.empty() && more.front().words < 0)
      times = -times;
    for (runtime::PassedWords::Run &its : more)
      its.words /= times;
    return {std::move(more), times};
  }

  size_t number(const Runs &more) {
    std::string text;
    for (const runtime::PassedWords::Run &run : more)
      text += (text.empty() ? "[" : ",") + std::to_string(run.begin) + "," +
              std::to_string(run.end) + "," + std::to_string(run.words);
    const auto [at, isNew] = numbers.try_emplace(text + "]", runs.size());
    if (isNew)
      runs.push_back(at->first);
    return at->second;
  }

  std::vector<int64_t> row; // what it has so far, by column
  std::map<std::string, size_t> numbers;
  std::vector<std::string> runs;
  std::vector<std::pair<int64_t, std::string>> tables; // colors and rows
};
} // namespace

static void writeLoads(llvm::json::OStream &json, const PlacementView &view) {
  PassedText passed(view);
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

std::string map::placementAsJson(const PlacementView &view, unsigned indent) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  llvm::json::OStream json(stream, indent);
  json.object([&] {
    json.attribute("version", 1);
    json.attribute("program", view.name);
    json.attribute("model", view.model);
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
          if (region.group)
            json.attribute("group", *region.group);
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
      if (!view.selection.scratch.empty())
        json.attributeObject("scratch", [&] {
          for (const auto &[kernel, bytes] : view.selection.scratch)
            json.attribute(kernel, bytes);
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
