// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/wse-inspect/Sram.h"

#include "runtime/program/RectSet.h"
#include "runtime/program/facts/Holdings.h"
#include "tools/wse-inspect/Table.h"

#include <algorithm>
#include <map>

namespace wsec::inspect {

using namespace runtime;

namespace {

bool livesIn(const Json &buffer, int first, int last) {
  return std::any_of(
      buffer["launches"].begin(), buffer["launches"].end(),
      [&](const Json &span) { return span[0] <= last && first <= span[1]; });
}

/// Bytes of [begin, end) that are in none of the ranges, as [address, bytes].
Json gaps(std::vector<std::pair<int64_t, int64_t>> used, int64_t begin,
          int64_t end) {
  std::sort(used.begin(), used.end());
  Json free = Json::array();
  used.push_back({end, end});
  for (const auto &[from, to] : used) {
    if (from > begin)
      free.push_back({begin, from - begin});
    begin = std::max(begin, to);
  }
  return free;
}

int64_t bytesIn(const Json &free) {
  int64_t bytes = 0;
  for (const Json &gap : free)
    bytes += gap[1].get<int64_t>();
  return bytes;
}

/// Ranges of buffers that live in a launch, or in any if it is negative.
std::vector<std::pair<int64_t, int64_t>> rangesIn(const Json &map, int launch) {
  std::vector<std::pair<int64_t, int64_t>> ranges = {
      {0, map["code"][0].get<int64_t>() + map["code"][1].get<int64_t>()}};
  for (const Json &buffer : map["buffers"]) {
    const int64_t address = buffer["address"];
    if (launch < 0 || livesIn(buffer, launch, launch))
      ranges.push_back({address, address + buffer["bytes"].get<int64_t>()});
  }
  return ranges;
}

/// The launch with the most bytes in use.
Json peakOf(const Json &map) {
  const int64_t end = map["sram_bytes"];
  int64_t most = -1;
  int where = 0;
  for (int l = 0; l < std::max(1, map["launches"].get<int>()); ++l) {
    const int64_t used = end - bytesIn(gaps(rangesIn(map, l), 0, end));
    if (used > most)
      where = l;
    most = std::max(most, used);
  }
  return {{"bytes", most}, {"launch", where}};
}

Json describeBuffer(const program::Program &program,
                    const program::Buffer &buffer, const Holdings &holdings) {
  Json launches = Json::array(), kernels = Json::array();
  for (const Holding &holding : holdings) {
    launches.push_back({holding.first, holding.last});
    kernels.push_back(ownerOf(program, holding));
  }
  return {{"name", buffer.name()->str()},
          {"address", buffer.address()},
          {"bytes", buffer.bytes()},
          {"type", program::EnumNameElementType(buffer.type())},
          {"persistent", buffer.persistent()},
          {"launches", launches},
          {"kernels", kernels}};
}

Json sramMap(const program::Program &program, const program::Entry &entry,
             const program::PEClass &peClass, const std::pair<int, int> *pe) {
  const program::Machine &machine = *program.machine();
  Json map = {{"name", peClass.name()->str()}};
  int64_t pes = 0;
  Json rects = Json::array(), buffers = Json::array();
  for (const program::Rect *rect : *peClass.rects()) {
    pes += rectSize(*rect);
    rects.push_back(describeRect(*rect));
  }
  map["pes"] = pes;
  map["rects"] = rects;
  map["sram_bytes"] = machine.sram_bytes();
  map["launches"] = entry.launches()->size();
  map["runtime"] = {0, machine.runtime_bytes()};
  map["code"] = {machine.runtime_bytes(), peClass.code_bytes()};
  const std::vector<Holdings> holdings = bufferHoldings(entry, peClass, pe);
  std::vector<unsigned> order(holdings.size());
  for (unsigned b = 0; b < order.size(); ++b)
    order[b] = b;
  std::sort(order.begin(), order.end(), [&](unsigned a, unsigned b) {
    return std::pair(peClass.buffers()->Get(a)->address(), a) <
           std::pair(peClass.buffers()->Get(b)->address(), b);
  });
  for (unsigned b : order)
    buffers.push_back(
        describeBuffer(program, *peClass.buffers()->Get(b), holdings[b]));
  map["buffers"] = buffers;
  const int64_t end = machine.sram_bytes();
  map["free"] = gaps(rangesIn(map, -1), 0, end);
  map["free_bytes"] = bytesIn(map["free"]);
  map["peak"] = peakOf(map);
  return map;
}

// ---------------------------------------------------------------- drawing

constexpr int drawnColumns = 64, drawnRows = 32;

/// What is in some bytes during some launches, as one character.
char cell(const Json &map, int64_t from, int64_t to, int first, int last) {
  if (from < map["runtime"][1])
    return 'r';
  if (from < map["code"][0].get<int64_t>() + map["code"][1].get<int64_t>())
    return 'c';
  for (const Json &buffer : map["buffers"]) {
    const int64_t address = buffer["address"];
    if (address < to && from < address + buffer["bytes"].get<int64_t>() &&
        livesIn(buffer, first, last))
      return '#';
  }
  return '.';
}

std::string drawing(const Json &map) {
  const int64_t bytes = map["sram_bytes"];
  const int launches = map["launches"];
  const int64_t perColumn = (bytes + drawnColumns - 1) / drawnColumns;
  const int perRow = std::max(1, (launches + drawnRows - 1) / drawnRows);
  std::string text = "  a column is " + std::to_string(perColumn) +
                     " bytes, a row " +
                     (perRow == 1 ? std::string("a launch")
                                  : std::to_string(perRow) + " launches") +
                     "; r host runtime, c code, # in use, . free\n";
  for (int l = 0; l < launches; l += perRow) {
    std::string number = std::to_string(l);
    text += "  " + std::string(number.size() < 6 ? 6 - number.size() : 0, ' ') +
            number + " |";
    for (int64_t from = 0; from < bytes; from += perColumn)
      text += cell(map, from, from + perColumn, l, l + perRow - 1);
    text += "|\n";
  }
  return text;
}

} // namespace

Json sramMaps(const program::Program &program, int only,
              const std::pair<int, int> *pe, unsigned entry) {
  Json maps = Json::array();
  const program::Entry &its = *program.entries()->Get(entry);
  for (unsigned c = 0; c < program.classes()->size(); ++c)
    if (only < 0 || only == int(c))
      maps.push_back(sramMap(program, its, *program.classes()->Get(c), pe));
  return {{"model", program.model() ? program.model()->str() : ""},
          {"entry", its.name()->str()},
          {"classes", maps}};
}

std::vector<std::vector<Json>> bufferRows(const Json &buffer) {
  std::vector<std::vector<Json>> rows;
  auto add = [&](const Json &launches, const Json &kernel) {
    rows.push_back({buffer["address"], buffer["bytes"], buffer["name"],
                    buffer["type"], launches, kernel});
  };
  for (size_t i = 0; i < buffer["launches"].size(); ++i) {
    const Json &span = buffer["launches"][i];
    add(plain(span[0]) + (span[0] == span[1] ? "" : ".." + plain(span[1])),
        buffer["kernels"][i]);
  }
  if (rows.empty())
    add("never", "");
  return rows;
}

std::string showSram(const Json &maps) {
  std::string text;
  for (const Json &map : maps["classes"]) {
    text += (text.empty() ? "class '" : "\nclass '") + plain(map["name"]) +
            "': " + plain(map["pes"]) + " PEs (" + joined(map["rects"]) +
            "), " + plain(map["peak"]["bytes"]) + " of " +
            plain(map["sram_bytes"]) + " bytes in use in launch " +
            plain(map["peak"]["launch"]) + ", " + plain(map["free_bytes"]) +
            " always free\n";
    // By address and name; the values of a buffer stay in order.
    std::multimap<std::pair<int64_t, std::string>, std::vector<Json>> sorted;
    auto add = [&](const std::vector<Json> &row) {
      sorted.insert({{row[0].get<int64_t>(), plain(row[2])}, row});
    };
    add({0, map["runtime"][1], "(host runtime)", "", "", ""});
    add({map["code"][0], map["code"][1], "(code)", "", "", ""});
    for (const Json &buffer : map["buffers"])
      for (const std::vector<Json> &row : bufferRows(buffer))
        add(row);
    for (const Json &gap : map["free"])
      add({gap[0], gap[1], "(free)", "", "", ""});
    std::vector<std::vector<Json>> rows;
    for (const auto &[place, row] : sorted)
      rows.push_back(row);
    text += table({"address", "bytes", "name", "type", "launches", "kernel"},
                  rows) +
            drawing(map);
  }
  return text;
}

} // namespace wsec::inspect
