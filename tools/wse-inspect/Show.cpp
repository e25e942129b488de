// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/wse-inspect/Show.h"

#include "tools/wse-inspect/Table.h"

namespace wsec::inspect {

namespace {

std::string showVerdict(const Json &summary) {
  if (!summary.contains("deadlock"))
    return "";
  const Json &proof = summary["deadlock"];
  std::string text = "deadlock   " + plain(proof["verdict"]);
  if (proof["reason"] != "")
    text += ": " + plain(proof["reason"]);
  return text + "\n";
}

std::string head(const Json &s) {
  const Json &machine = s["machine"], &memory = s["memory"];
  auto mesh = [&](const char *key) {
    return plain(machine[key][0]) + "x" + plain(machine[key][1]);
  };
  return "program '" + plain(s["model"]) + "', compiled by " +
         plain(s["compiler"]) + "\n" + "machine    " + plain(machine["name"]) +
         ", " + mesh("mesh") + " of " + mesh("fabric") + " PEs, " +
         plain(machine["sram_bytes"]) + " bytes each (" +
         plain(machine["runtime_bytes"]) + " taken by the host runtime), " +
         plain(machine["channels"]) + " channels, " +
         plain(machine["clock_ghz"]) + " GHz\n" + "SRAM       " +
         plain(memory["sram_peak_bytes"]) + " bytes in the fullest PE ('" +
         plain(memory["sram_owner"]) + "')\nweights    " +
         plain(memory["streamed_weight_bytes"]) + " bytes streamed, " +
         plain(memory["resident_weight_bytes"]) + " stay between launches, " +
         plain(memory["buffered_weight_bytes"]) + " at most at a time\n" +
         showVerdict(s);
}

std::string showClass(const Json &peClass) {
  std::vector<std::vector<Json>> buffers;
  for (const Json &buffer : peClass["buffers"])
    buffers.push_back({buffer["address"], buffer["bytes"], buffer["name"],
                       buffer["onnx_node"]});
  std::string text =
      "\nclass '" + plain(peClass["name"]) + "': " + plain(peClass["pes"]) +
      " PEs (" + joined(peClass["rects"]) + "), " +
      plain(peClass["code_bytes"]) + " bytes of code, " +
      (peClass["persistent_bytes"] > 0
           ? plain(peClass["persistent_bytes"]) + " bytes persistent, "
           : "") +
      std::to_string(peClass["routines"].size()) + " routines\n";
  if (!buffers.empty())
    text += table({"address", "bytes", "buffer", "ONNX node"}, buffers);
  std::vector<std::vector<Json>> tasks;
  for (const Json &task : peClass["tasks"])
    tasks.push_back({task["id"], task["kind"], task["name"],
                     task["instructions"], task["blocked"]});
  if (!tasks.empty())
    text += table({"id", "kind", "task", "instructions", "blocked"}, tasks);
  for (const Json &line : peClass["ramp"])
    text += "  " + plain(line) + "\n";
  return text;
}

std::string showRoutes(const Json &summary) {
  std::string text = "\nroutes\n";
  for (const Json &route : summary["routes"]) {
    bool launches = route["color"] == summary["launch_color"];
    text += "  color " + plain(route["color"]) +
            (launches ? " (launches)" : "") + ", " + plain(route["pes"]) +
            " PEs\n";
    for (const Json &rule : route["rules"])
      text += "    " + plain(rule) + "\n";
  }
  return text;
}

/// Its launches and copies; `alone`: there is no other.
std::string showEntry(const Json &entry, bool alone) {
  std::vector<std::vector<Json>> launches, copies;
  size_t index = 0;
  bool carries = false;
  for (const Json &launch : entry["launches"]) {
    launches.push_back({index++, launch["routine"], launch["kernel"],
                        joined(launch["streams"])});
    carries |= launch["arguments"] > 0;
  }
  std::vector<std::string> columns = {"launch", "routine", "kernel", "streams"};
  for (size_t l = 0; carries && l < launches.size(); ++l)
    launches[l].push_back(entry["launches"][l]["arguments"]);
  if (carries)
    columns.push_back("arguments");
  const bool plainMain =
      alone && entry["name"] == "main" && entry["arguments"].empty();
  std::string text = plainMain ? "" : "\nentry " + plain(entry["call"]) + "\n";
  text += (plainMain ? "\nlaunches\n" : "") + table(columns, launches);
  for (const Json &copy : entry["copies"])
    copies.push_back({copy["launch"], copy["direction"], copy["tensor"],
                      copy["buffer"], copy["pes"], copy["elements"],
                      copy["order"]});
  if (!copies.empty())
    text += "\ncopies\n" + table({"before launch", "direction", "tensor",
                                  "buffer", "PEs", "elements of each", "order"},
                                 copies);
  return text;
}

} // namespace

std::string showValues(const Json &summary) {
  std::string text;
  for (const Json &entry : summary["entries"]) {
    std::vector<std::vector<Json>> values;
    for (const Json &value : entry["values"]) {
      const Json &launch = entry["launches"][value["launch"].get<size_t>()];
      values.push_back({value["name"], value["type"],
                        "[" + joined(value["shape"]) + "]", value["launch"],
                        launch["kernel"], value["buffer"], value["pes"]});
    }
    if (values.empty())
      continue;
    if (summary["entries"].size() > 1)
      text += "entry " + plain(entry["call"]) + "\n";
    text += table(
        {"value", "type", "shape", "after launch", "kernel", "buffer", "PEs"},
        values);
  }
  return text.empty() ? "the program says of no value where PEs hold it\n"
                      : text;
}

std::string show(const Json &summary) {
  std::string text = head(summary);
  for (const Json &peClass : summary["classes"])
    text += showClass(peClass);
  text += showRoutes(summary);
  std::vector<std::vector<Json>> tensors, streams;
  for (const Json &tensor : summary["tensors"])
    if (tensor["role"] == "Input" || tensor["role"] == "Output")
      tensors.push_back({tensor["role"], tensor["name"], tensor["type"],
                         "[" + joined(tensor["shape"]) + "]"});
  for (const Json &stream : summary["streams"])
    streams.push_back({stream["name"], stream["direction"], stream["color"],
                       plain(stream["type"]) +
                           (stream["packing"] == "Pair" ? ", pairs" : "") +
                           (stream["indexed"] == true ? ", indexed" : ""),
                       stream["channels"], joined(stream["tensors"])});
  text += "\ntensors\n" + table({"role", "name", "type", "shape"}, tensors);
  text += "\nstreams\n" + table({"name", "direction", "color", "elements",
                                 "channels", "tensors"},
                                streams);
  for (const Json &entry : summary["entries"])
    text += showEntry(entry, summary["entries"].size() == 1);
  return text;
}

} // namespace wsec::inspect
