// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/wse-inspect/PlacementText.h"

#include "runtime/program/NearestNames.h"
#include "tools/wse-inspect/Difference.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <set>

namespace wsec::inspect {

namespace {

std::string sizeOf(const Json &shape, const char *columns, const char *rows) {
  return shape.at(columns).dump() + "x" + shape.at(rows).dump();
}

std::string placeOf(const Json &rectangle) {
  return "(" + rectangle.at("x").dump() + "," + rectangle.at("y").dump() + ")";
}

/// Regions side by side share channels.
std::string rowsOf(const Json &channels) {
  std::set<int64_t> rows;
  for (const Json &channel : channels)
    rows.insert(channel.at("row").get<int64_t>());
  if (rows.empty())
    return "none";
  return std::to_string(rows.size()) + " in rows " +
         std::to_string(*rows.begin()) + " to " +
         std::to_string(*rows.rbegin());
}

bool isOn(const Json &kernel, const Json &region) {
  const Json &its = kernel.at("region");
  return std::all_of(
      its.items().begin(), its.items().end(),
      [&](const auto &side) { return region.at(side.key()) == side.value(); });
}

Json describeKernel(const Json &kernel, const Json &regions) {
  Json words = {{"name", kernel.at("name")}, {"kind", kernel.at("kind")}};
  for (const Json &region : regions)
    if (isOn(kernel, region))
      words["region"] = "@" + region.at("name").get<std::string>();
  words["cycles"] = std::llround(kernel.at("cost").at("cycles").get<double>());
  words["onnx_nodes"] = kernel.at("onnx_nodes");
  for (const char *fact : {"bytes", "scratch_bytes"})
    if (kernel.contains(fact))
      words[fact] = kernel[fact];
  words["streams"] = Json::array();
  for (const Json &stream : kernel.value("streams", Json::array()))
    words["streams"].push_back({{"name", stream}});
  return words;
}

Json describeStream(const Json &stream) {
  return {{"name", "@" + stream.at("name").get<std::string>()},
          {"pattern", stream.at("pattern")},
          {"colors", stream.at("colors")}};
}

/// What people compare. What one change moves for all that follows, such as
/// addresses, is left to `placementDifferences`.
Json describe(const Json &placement) {
  const Json &machine = placement.at("machine");
  Json words = {{"state", placement.at("state")},
                {"machine", machine.at("name")},
                {"mesh", sizeOf(machine, "width", "height")},
                {"regions", Json::array()},
                {"channels in", rowsOf(placement.at("channels").at("west"))},
                {"channels out", rowsOf(placement.at("channels").at("east"))}};
  int64_t end = 0;
  for (const Json &kernel : placement.at("kernels"))
    if (kernel.contains("window"))
      end = std::max(end, kernel["window"].at(1).get<int64_t>());
  words["predicted cycles"] = end;
  if (placement.contains("sram"))
    words["sram"] = placement["sram"];
  for (const Json &region : placement.at("regions")) {
    Json &its = words["regions"].emplace_back(
        Json{{"name", "@" + region.at("name").get<std::string>()},
             {"shape", sizeOf(region, "columns", "rows")},
             {"at", placeOf(region)}});
    for (const char *fact :
         {"role", "first_kernel", "channels", "spread_heads"})
      if (region.contains(fact))
        its[fact] = region[fact];
  }
  if (placement.contains("selection"))
    words["selection"] = placement["selection"];
  words["kernels"] = words["streams"] = Json::array();
  for (const Json &kernel : placement.at("kernels"))
    words["kernels"].push_back(describeKernel(kernel, placement.at("regions")));
  for (const Json &stream : placement.at("streams"))
    words["streams"].push_back(describeStream(stream));
  return words;
}

/// Names of what is in both lists with another value for some of these facts.
std::vector<std::string> withOther(const Json &before, const Json &after,
                                   std::initializer_list<const char *> facts) {
  const auto right = named(after);
  const std::map<std::string, const Json *> byName(right.begin(), right.end());
  std::vector<std::string> names;
  for (const auto &[name, item] : named(before)) {
    const auto match = byName.find(name);
    if (match != byName.end() &&
        std::any_of(facts.begin(), facts.end(), [&](const char *fact) {
          return item->value(fact, Json()) !=
                 match->second->value(fact, Json());
        }))
      names.push_back(name);
  }
  return names;
}

/// The kernels of `among` in the order of their launches.
std::vector<std::string> launchOrder(const Json &kernels, const Json &among) {
  std::set<std::string> wanted;
  for (const auto &[name, kernel] : named(among))
    wanted.insert(name);
  std::vector<std::pair<int64_t, std::string>> order;
  for (const auto &[name, kernel] : named(kernels))
    if (wanted.contains(name))
      order.emplace_back(kernel->value("slot", int64_t(order.size())), name);
  std::sort(order.begin(), order.end());
  std::vector<std::string> names;
  for (auto &[slot, name] : order)
    names.push_back(std::move(name));
  return names;
}

/// Kernels of both that have another place among those of both: one that is
/// inserted does not move the ones behind it.
std::vector<std::string> launchedElsewhere(const Json &before,
                                           const Json &after) {
  const std::vector<std::string> was = launchOrder(before, after);
  const std::vector<std::string> is = launchOrder(after, before);
  std::vector<std::string> names;
  for (size_t i = 0; i < was.size(); ++i)
    if (was[i] != is[i])
      names.push_back(was[i]);
  return names;
}

} // namespace

Json readPlacement(const std::string &path) {
  std::ifstream stream(path);
  if (!stream)
    throw std::runtime_error("cannot read '" + path + "'");
  return readPlacement(path, stream);
}

Json readPlacement(const std::string &path, std::istream &text) {
  std::string reason = "it is no JSON";
  try {
    Json placement = Json::parse(text);
    reason = "it is no object";
    if (placement.is_object()) {
      reason = "some part of it is missing or of another type";
      for (const char *part :
           {"state", "machine", "channels", "regions", "kernels", "streams"})
        if (!placement.contains(part)) {
          reason = std::string("it has no '") + part + "'";
          break;
        }
      describe(placement); // has all that is compared
      return placement;
    }
  } catch (const Json::exception &) {
    // What the library says is of its own types and numbers.
  }
  throw std::runtime_error(
      runtime::inQuotes(path) +
      " is not what wsec --dump-placement=FILE.json writes: " + reason);
}

std::vector<std::string> placementDifferences(const Json &before,
                                              const Json &after) {
  std::vector<std::string> lines =
      differences(describe(before), describe(after));
  auto tell = [&](const char *list, const char *what,
                  const std::vector<std::string> &names) {
    if (!names.empty())
      lines.push_back(list + (" " + briefly(names)) + ": " + what);
  };
  auto other = [&](const char *list, const char *what,
                   std::initializer_list<const char *> facts) {
    tell(list, what, withOther(before[list], after[list], facts));
  };
  other("streams", "other routes", {"routes"});
  tell("kernels", "another place in the order of launches",
       launchedElsewhere(before["kernels"], after["kernels"]));
  other("kernels", "buffers at other addresses",
        {"address", "scratch_address"});
  other("kernels", "words or launch in other cycles", {"window", "flows"});
  // Something that is not told above.
  return lines.empty() ? differences(before, after) : lines;
}

} // namespace wsec::inspect
