// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/wse-inspect/Places.h"

#include "runtime/program/NearestNames.h"
#include "runtime/program/RectSet.h"
#include "tools/wse-inspect/Sram.h"
#include "tools/wse-inspect/Table.h"

#include <algorithm>
#include <cstdio>

namespace wsec::inspect {

using namespace runtime;

namespace {

bool runs(const program::PEClass &peClass, uint32_t routine) {
  return peClass.routines() &&
         std::any_of(
             peClass.routines()->begin(), peClass.routines()->end(),
             [&](const program::Routine *one) { return one->id() == routine; });
}

bool contains(const program::Rect &rect, int x, int y) {
  return x >= rect.x0() && x < rect.x1() &&
         (x - rect.x0()) % rect.xstep() == 0 && y >= rect.y0() &&
         y < rect.y1() && (y - rect.y0()) % rect.ystep() == 0;
}

Json nodesOf(const program::Kernel &kernel) {
  Json nodes = Json::array();
  if (kernel.onnx_nodes())
    for (const flatbuffers::String *node : *kernel.onnx_nodes())
      nodes.push_back(node->str());
  return nodes;
}

bool concerns(const program::Kernel &kernel, const std::string &node) {
  const Json nodes = nodesOf(kernel);
  return kernel.name()->string_view() == node ||
         std::find(nodes.begin(), nodes.end(), node) != nodes.end();
}

/// Of all entries, with their numbers.
std::vector<std::pair<const program::Entry *, unsigned>>
allLaunches(const program::Program &program) {
  std::vector<std::pair<const program::Entry *, unsigned>> all;
  for (const program::Entry *entry : *program.entries())
    for (unsigned l = 0; l < entry->launches()->size(); ++l)
      all.push_back({entry, l});
  return all;
}

Json kernelAndLaunches(const program::Program &program, unsigned index) {
  const program::Kernel &kernel = *program.kernels()->Get(index);
  Json json = {
      {"name", kernel.name()->str()},
      {"kind", kernel.kind() ? kernel.kind()->str() : ""},
      {"onnx_nodes", nodesOf(kernel)},
      {"region", kernel.region() ? describeRect(*kernel.region()) : ""}};
  Json launches = Json::array(), classes = Json::array();
  std::vector<bool> added(program.classes()->size());
  for (const auto &[entry, l] : allLaunches(program)) {
    const program::Launch &launch = *entry->launches()->Get(l);
    if (launch.kernel() != index)
      continue;
    Json streams = Json::array();
    if (launch.streams())
      for (uint32_t stream : *launch.streams())
        streams.push_back(program.streams()->Get(stream)->name()->str());
    launches.push_back({{"entry", entry->name()->str()},
                        {"launch", l},
                        {"routine", launch.routine()},
                        {"streams", streams}});
    for (unsigned c = 0; c < added.size(); ++c) {
      const program::PEClass &peClass = *program.classes()->Get(c);
      if (added[c] || !runs(peClass, launch.routine()))
        continue;
      added[c] = true;
      Json rects = Json::array();
      for (const program::Rect *rect : *peClass.rects())
        rects.push_back(describeRect(*rect));
      classes.push_back({{"name", peClass.name()->str()}, {"rects", rects}});
    }
  }
  json["launches"] = launches;
  json["classes"] = classes;
  return json;
}

/// Leaves of a buffer the values that one of these kernels wrote.
void keepValuesOf(const Json &kernels, Json &buffer) {
  Json launches = Json::array(), names = Json::array();
  for (size_t i = 0; i < buffer["launches"].size(); ++i)
    if (std::any_of(kernels.begin(), kernels.end(), [&](const Json &kernel) {
          return kernel["name"] == buffer["kernels"][i];
        })) {
      launches.push_back(buffer["launches"][i]);
      names.push_back(buffer["kernels"][i]);
    }
  buffer["launches"] = launches;
  buffer["kernels"] = names;
}

} // namespace

// ---------------------------------------------------------------- where

Json whereIs(const program::Program &program, const std::string &node) {
  Json kernels = Json::array(), buffers = Json::array();
  std::vector<std::string> names;
  for (unsigned k = 0; program.kernels() && k < program.kernels()->size();
       ++k) {
    const program::Kernel &kernel = *program.kernels()->Get(k);
    names.push_back(kernel.name()->str());
    for (const Json &name : nodesOf(kernel))
      names.push_back(name);
    if (concerns(kernel, node))
      kernels.push_back(kernelAndLaunches(program, k));
  }
  const Json maps = sramMaps(program);
  for (const Json &map : maps["classes"])
    for (Json buffer : map["buffers"]) {
      keepValuesOf(kernels, buffer);
      if (buffer["launches"].empty())
        continue;
      buffer["class"] = map["name"];
      buffers.push_back(buffer);
    }
  if (kernels.empty())
    throw PlaceError("nothing in the program belongs to a node " +
                     inQuotes(node) + nearestNames(node, names));
  return {{"node", node}, {"kernels", kernels}, {"buffers", buffers}};
}

static std::string bufferTable(const Json &buffers) {
  std::vector<std::vector<Json>> rows;
  for (const Json &buffer : buffers)
    for (std::vector<Json> &row : bufferRows(buffer)) {
      if (buffer.contains("class"))
        row.push_back(buffer["class"]);
      rows.push_back(std::move(row));
    }
  std::vector<std::string> heads = {"address", "bytes",    "buffer",
                                    "type",    "launches", "kernel"};
  if (!rows.empty() && rows[0].size() > heads.size())
    heads.push_back("class");
  return rows.empty() ? "" : table(heads, rows);
}

std::string showWhere(const Json &where) {
  std::string text = "node '" + plain(where["node"]) + "'\n";
  for (const Json &kernel : where["kernels"]) {
    text += "kernel '" + plain(kernel["name"]) + "'";
    if (kernel["kind"] != "")
      text += ", " + plain(kernel["kind"]);
    if (kernel["region"] != "")
      text += ", PEs " + plain(kernel["region"]);
    text += "\n  ONNX nodes: " + joined(kernel["onnx_nodes"]) + "\n";
    for (const Json &launch : kernel["launches"]) {
      text += "  launch " + plain(launch["launch"]) + ", routine " +
              plain(launch["routine"]);
      if (!launch["streams"].empty())
        text += ", streams " + joined(launch["streams"]);
      text += "\n";
    }
    for (const Json &peClass : kernel["classes"])
      text += "  run by class '" + plain(peClass["name"]) +
              "': " + joined(peClass["rects"]) + "\n";
  }
  return text + bufferTable(where["buffers"]);
}

// ---------------------------------------------------------------- at

std::pair<int, int> parsePe(const program::Program &program,
                            const std::string &text) {
  int x = 0, y = 0, end = 0;
  if (std::sscanf(text.c_str(), "%d,%d%n", &x, &y, &end) != 2 ||
      size_t(end) != text.size())
    throw PlaceError("expected a PE as x,y, found " + inQuotes(text));
  const int width = program.machine()->width(),
            height = program.machine()->height();
  if (x < 0 || y < 0 || x >= width || y >= height)
    throw PlaceError("PE (" + std::to_string(x) + ", " + std::to_string(y) +
                     ") is outside of the mesh, which has " +
                     std::to_string(width) + " x " + std::to_string(height) +
                     " PEs");
  return {x, y};
}

int classAt(const program::Program &program, const std::string &pe) {
  const auto [x, y] = parsePe(program, pe);
  for (unsigned c = 0; c < program.classes()->size(); ++c)
    for (const program::Rect *rect : *program.classes()->Get(c)->rects())
      if (contains(*rect, x, y))
        return int(c);
  return -1;
}

/// Rules of the router, by color, with the host streams that use it.
static Json routesAt(const program::Program &program, int x, int y) {
  Json routes = Json::array();
  for (const program::RouteRule *rule : *program.routes()) {
    if (!contains(*rule->rect(), x, y))
      continue;
    Json streams = Json::array();
    if (program.streams())
      for (const program::HostStream *stream : *program.streams())
        if (stream->color() == rule->color())
          streams.push_back(stream->name()->str());
    routes.push_back({{"color", rule->color()},
                      {"launches", rule->color() == program.launch_color()},
                      {"rule", describeRule(*rule)},
                      {"streams_of_color", streams}});
  }
  std::sort(routes.begin(), routes.end(), [](const Json &a, const Json &b) {
    return a["color"].get<int>() < b["color"].get<int>();
  });
  return routes;
}

static Json kernelsOf(const program::Program &program,
                      const program::PEClass &peClass) {
  Json kernels = Json::array();
  for (const auto &[whose, l] : allLaunches(program)) {
    const program::Launch &launch = *whose->launches()->Get(l);
    if (!runs(peClass, launch.routine()))
      continue;
    Json entry = {{"entry", whose->name()->str()},
                  {"launch", l},
                  {"routine", launch.routine()}};
    const bool known =
        program.kernels() && launch.kernel() < program.kernels()->size();
    const program::Kernel *kernel =
        known ? program.kernels()->Get(launch.kernel()) : nullptr;
    entry["kernel"] = kernel ? kernel->name()->str() : "";
    entry["onnx_nodes"] = kernel ? nodesOf(*kernel) : Json::array();
    kernels.push_back(entry);
  }
  return kernels;
}

Json whatIsAt(const program::Program &program, const std::string &pe) {
  const auto [x, y] = parsePe(program, pe);
  Json at = {{"pe", {x, y}}, {"routes", routesAt(program, x, y)}};
  const int index = classAt(program, pe);
  if (index < 0)
    return at;
  const program::PEClass &peClass = *program.classes()->Get(unsigned(index));
  const std::pair<int, int> here(x, y);
  at["class"] = sramMaps(program, index, &here)["classes"][0];
  at["kernels"] = kernelsOf(program, peClass);
  Json tasks = Json::array();
  if (peClass.tasks())
    for (const program::Task *task : *peClass.tasks())
      tasks.push_back({{"name", task->name()->str()},
                       {"kind", program::EnumNameTaskKind(task->kind())},
                       {"id", task->id()},
                       {"blocked", task->blocked()}});
  at["tasks"] = tasks;
  return at;
}

/// The first of a kernel's nodes, and how many more it computes.
static std::string briefly(const Json &nodes) {
  if (nodes.size() < 3)
    return joined(nodes);
  return plain(nodes[0]) + " and " + std::to_string(nodes.size() - 1) + " more";
}

std::string showAt(const Json &at) {
  std::string text =
      "PE (" + plain(at["pe"][0]) + ", " + plain(at["pe"][1]) + ")";
  if (!at.contains("class"))
    text += ": no code\n";
  if (at.contains("class")) {
    const Json &its = at["class"];
    text += ": class '" + plain(its["name"]) + "', " + plain(its["code"][1]) +
            " bytes of code, " + plain(its["free_bytes"]) + " bytes free\n\n" +
            bufferTable(its["buffers"]);
    std::vector<std::vector<Json>> kernels, tasks;
    for (const Json &kernel : at["kernels"])
      kernels.push_back({kernel["entry"], kernel["launch"], kernel["routine"],
                         kernel["kernel"], briefly(kernel["onnx_nodes"])});
    for (const Json &task : at["tasks"])
      tasks.push_back(
          {task["id"], task["kind"], task["name"], task["blocked"]});
    if (!kernels.empty())
      text +=
          "\n" + table({"entry", "launch", "routine", "kernel", "ONNX nodes"},
                       kernels);
    if (!tasks.empty())
      text += "\n" + table({"id", "kind", "task", "blocked"}, tasks);
  }
  std::vector<std::vector<Json>> routes;
  for (const Json &route : at["routes"]) {
    // Many streams may take turns on a color.
    Json first = Json::array();
    constexpr size_t most = 3;
    for (size_t i = 0; i < std::min(most, route["streams_of_color"].size());
         ++i)
      first.push_back(route["streams_of_color"][i]);
    std::string streams =
        route["launches"] == true ? "(launches)" : joined(first);
    if (route["streams_of_color"].size() > most)
      streams += ", and " +
                 std::to_string(route["streams_of_color"].size() - most) +
                 " more";
    routes.push_back({route["color"], route["rule"], streams});
  }
  if (!routes.empty())
    text +=
        "\n" + table({"color", "route", "host streams of the color"}, routes);
  return text;
}

} // namespace wsec::inspect
