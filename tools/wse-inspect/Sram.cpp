// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/wse-inspect/Sram.h"

#include "runtime/program/RectSet.h"
#include "tools/wse-inspect/Table.h"

#include <algorithm>
#include <map>

namespace wsec::inspect {

using namespace runtime;

namespace {

using Statements = flatbuffers::Vector<flatbuffers::Offset<program::Statement>>;

/// Buffers that code touches, each with whether it reads it first.
using Touches = std::map<int, bool>;

void addInstruction(const program::Instruction &instruction, Touches &touches) {
  auto add = [&](const program::Operand *operand, bool reads) {
    if (operand && operand->kind() == program::OperandKind::Memory)
      touches.emplace(operand->buffer(), reads);
  };
  add(instruction.a(), true);
  add(instruction.b(), true);
  add(instruction.dst(), instruction.op() == program::Opcode::Fmac ||
                             instruction.op() == program::Opcode::Select);
}

/// Statement after statement, a loop as if it ran once.
void addTouched(const Statements *body, Touches &touches) {
  if (!body)
    return;
  for (const program::Statement *statement : *body) {
    if (const auto *instruction = statement->kind_as_Instruction())
      addInstruction(*instruction, touches);
    if (const auto *load = statement->kind_as_Load())
      touches.emplace(load->buffer(), true);
    if (const auto *store = statement->kind_as_Store())
      touches.emplace(store->buffer(), false);
    if (const auto *clock = statement->kind_as_ReadClock())
      touches.emplace(clock->buffer(), false);
    if (const auto *loop = statement->kind_as_Loop())
      addTouched(loop->body(), touches);
    if (const auto *branch = statement->kind_as_If()) {
      addTouched(branch->then(), touches);
      addTouched(branch->otherwise(), touches);
    }
  }
}

/// Launches in which a buffer holds something, as [first, last].
class Lifetime {
public:
  void touch(int launch, bool reads) {
    if (spans.empty() || (!reads && spans.back()[1] < launch))
      spans.push_back({launch, launch});
    spans.back()[1] = launch;
  }
  Json spans = Json::array();
};

Touches touchesOf(const program::PEClass &peClass, uint32_t routine) {
  Touches touches;
  for (unsigned r = 0; peClass.routines() && r < peClass.routines()->size();
       ++r)
    if (peClass.routines()->Get(r)->id() == routine)
      addTouched(peClass.routines()->Get(r)->body(), touches);
  return touches;
}

/// Buffers that tasks touch.
Touches touchedByTasks(const program::PEClass &peClass) {
  Touches touches;
  for (unsigned t = 0; peClass.tasks() && t < peClass.tasks()->size(); ++t) {
    const program::Task &task = *peClass.tasks()->Get(t);
    addTouched(task.body(), touches);
    for (int given : {task.word_buffer(), task.index_buffer()})
      if (given >= 0)
        touches.emplace(given, false);
  }
  return touches;
}

/// The host's copies before a launch.
void addCopies(const program::Program &program, const program::PEClass &peClass,
               int launch, std::vector<Lifetime> &lives) {
  const int launches = int(program.launches()->size());
  for (unsigned c = 0; program.copies() && c < program.copies()->size(); ++c) {
    const program::HostCopy &copy = *program.copies()->Get(c);
    const bool in = copy.direction() == program::Direction::In;
    for (size_t b = 0; int(copy.launch()) == launch && b < lives.size(); ++b)
      if (peClass.buffers()->Get(unsigned(b))->name()->string_view() ==
          copy.buffer()->string_view())
        lives[b].touch(
            in ? std::min(launch, launches - 1) : std::max(0, launch - 1), !in);
  }
}

std::vector<Lifetime> lifetimes(const program::Program &program,
                                const program::PEClass &peClass) {
  const int launches = int(program.launches()->size());
  std::vector<Lifetime> lives(peClass.buffers() ? peClass.buffers()->size()
                                                : 0);
  std::map<uint32_t, Touches> routines;
  for (int l = 0; l < launches; ++l) {
    addCopies(program, peClass, l, lives);
    const uint32_t id = program.launches()->Get(unsigned(l))->routine();
    auto [routine, fresh] = routines.try_emplace(id);
    if (fresh)
      routine->second = touchesOf(peClass, id);
    for (const auto &[buffer, reads] : routine->second)
      lives[size_t(buffer)].touch(l, reads);
  }
  addCopies(program, peClass, launches, lives);
  for (const auto &[buffer, reads] : touchedByTasks(peClass))
    lives[size_t(buffer)].spans = {{0, std::max(0, launches - 1)}};
  return lives;
}

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

Json sramMap(const program::Program &program, const program::PEClass &peClass) {
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
  map["launches"] = program.launches()->size();
  map["runtime"] = {0, machine.runtime_bytes()};
  map["code"] = {machine.runtime_bytes(), peClass.code_bytes()};
  const std::vector<Lifetime> lives = lifetimes(program, peClass);
  std::vector<unsigned> order(lives.size());
  for (unsigned b = 0; b < order.size(); ++b)
    order[b] = b;
  std::sort(order.begin(), order.end(), [&](unsigned a, unsigned b) {
    return std::pair(peClass.buffers()->Get(a)->address(), a) <
           std::pair(peClass.buffers()->Get(b)->address(), b);
  });
  for (unsigned b : order) {
    const program::Buffer &buffer = *peClass.buffers()->Get(b);
    buffers.push_back(
        {{"name", buffer.name()->str()},
         {"address", buffer.address()},
         {"bytes", buffer.bytes()},
         {"type", program::EnumNameElementType(buffer.type())},
         {"onnx_node", buffer.onnx_node() ? buffer.onnx_node()->str() : ""},
         {"launches", lives[b].spans}});
  }
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

Json sramMaps(const program::Program &program, int only) {
  Json maps = Json::array();
  for (unsigned c = 0; c < program.classes()->size(); ++c)
    if (only < 0 || only == int(c))
      maps.push_back(sramMap(program, *program.classes()->Get(c)));
  return {{"model", program.model() ? program.model()->str() : ""},
          {"classes", maps}};
}

std::string describeLaunches(const Json &spans) {
  constexpr size_t most = 3;
  std::string text;
  for (size_t i = 0; i < std::min(most, spans.size()); ++i) {
    text += (i ? ", " : "") + plain(spans[i][0]);
    if (spans[i][0] != spans[i][1])
      text += ".." + plain(spans[i][1]);
  }
  if (spans.size() > most)
    text += ", " + std::to_string(spans.size() - most) + " more";
  return text.empty() ? "never" : text;
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
    std::vector<std::vector<Json>> rows = {
        {0, map["runtime"][1], "(host runtime)", "", "", ""},
        {map["code"][0], map["code"][1], "(code)", "", "", ""}};
    for (const Json &buffer : map["buffers"]) {
      rows.push_back({buffer["address"], buffer["bytes"], buffer["name"],
                      buffer["type"], describeLaunches(buffer["launches"]),
                      buffer["onnx_node"]});
    }
    for (const Json &gap : map["free"])
      rows.push_back({gap[0], gap[1], "(free)", "", "", ""});
    auto place = [](const std::vector<Json> &row) {
      return std::pair(row[0].get<int64_t>(), plain(row[2]));
    };
    std::sort(rows.begin(), rows.end(), [&](const auto &a, const auto &b) {
      return place(a) < place(b);
    });
    text += table({"address", "bytes", "name", "type", "launches", "ONNX node"},
                  rows) +
            drawing(map);
  }
  return text;
}

} // namespace wsec::inspect
