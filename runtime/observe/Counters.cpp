// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/observe/Counters.h"

#include "runtime/engine/Router.h"
#include "runtime/pe/Code.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

namespace wsec::runtime {

using program::Port;
using Json = nlohmann::ordered_json;

static constexpr const char *portNames[] = {"north", "south", "east", "west",
                                            "ramp"};

Counters::Counters(const program::Program &program)
    : program(program), meshWidth(program.machine()->width()),
      meshHeight(program.machine()->height()) {
  pes.resize(size_t(meshWidth) * size_t(meshHeight));
  links.resize(pes.size() * 5);
  sentOn.resize(size_t(program.machine()->colors()));
  entered.resize(sentOn.size());
  streams.resize(program.streams() ? program.streams()->size() : 0);
}

// ---------------------------------------------------------------- events

void Counters::instruction(ObservedPes who, const ObservedInstruction &what) {
  for (int pe : who) {
    PeCount &count = pes[size_t(pe)];
    ++count.instructions;
    count.busy += what.busy;
    count.waitsToReceive += what.waitsToReceive;
    count.waitsToSend += what.waitsToSend;
  }
}

void Counters::sent(ObservedPes who, size_t, int color, uint64_t words, double,
                    double) {
  std::vector<uint64_t> &sent = sentOn[size_t(color)];
  sent.resize(pes.size());
  for (int pe : who) {
    pes[size_t(pe)].sent += words;
    sent[size_t(pe)] += words;
  }
}

void Counters::received(ObservedPes who, int, uint64_t words) {
  for (int pe : who)
    pes[size_t(pe)].received += words;
}

void Counters::passed(int pe, Port port, int color, uint64_t words,
                      double first, double last) {
  if (color == program.launch_color())
    return;
  linkWords(pe, port) += words;
  peaks.resize(links.size());
  notePeak(peaks[size_t(pe) * 5 + size_t(port)], words, first, last);
}

/// Spreads words evenly over the windows between two times. What comes later
/// than two windows after its time no longer counts for the peak.
void Counters::notePeak(LinkPeak &peak, uint64_t words, double first,
                        double last) {
  auto windowOf = [&](uint64_t word) {
    const double share = words < 2 ? 0 : double(word) / double(words - 1);
    return uint32_t(std::max(0.0, first + (last - first) * share) /
                    double(windowCycles));
  };
  for (uint64_t word = 0; word < words;) {
    const uint32_t window = windowOf(word);
    uint64_t end = word + 1;
    if (windowOf(words - 1) == window)
      end = words;
    while (end < words && windowOf(end) == window)
      ++end;
    const size_t slot = window % 2;
    if (window > peak.window[slot]) {
      peak.window[slot] = window;
      peak.words[slot] = 0;
    }
    if (window == peak.window[slot]) {
      peak.words[slot] += uint32_t(end - word);
      peak.most = std::max(peak.most, peak.words[slot]);
    }
    word = end;
  }
}

void Counters::hostWords(uint32_t stream, uint32_t channel, uint64_t words,
                         double first, double last) {
  StreamCount &count = streams[stream];
  count.first = count.words ? std::min(count.first, first) : first;
  count.last = std::max(count.last, last);
  count.words += words;
  const program::HostStream &source = *program.streams()->Get(stream);
  if (source.direction() == program::Direction::Out)
    return;
  std::vector<uint64_t> &rows = entered[source.color()];
  rows.resize(size_t(meshHeight));
  rows[size_t(source.channels()->Get(channel)->row())] += words;
}

void Counters::inspect(const Inspection &state, RunEnd) {
  cycles = state.cycle();
  if (peaks.empty())
    followRoutes();
}

// ---------------------------------------------------------------- routes

/// No link reported anything: sends every word along the routes again. Words
/// are counted here though they may still be on their way. Not along rules that
/// move: which way a word took only those know who step it.
void Counters::followRoutes() {
  const bool any =
      std::any_of(sentOn.begin(), sentOn.end(),
                  [](const auto &sent) { return !sent.empty(); }) ||
      std::any_of(entered.begin(), entered.end(),
                  [](const auto &rows) { return !rows.empty(); });
  const auto &rules = *program.routes();
  if (!any || std::any_of(rules.begin(), rules.end(), [](auto *rule) {
        return rule->positions() && rule->positions()->size() > 0;
      }))
    return;
  const RouterTables router(program);
  /// Along the tree of one source; the engine has checked that it is one.
  auto follow = [&](int color, int from, Port entersBy, uint64_t words) {
    router.follow(color, {from % meshWidth, from / meshWidth}, entersBy,
                  [&](Coordinate pe, Port out, int, bool) {
                    linkWords(pe.y * meshWidth + pe.x, out) += words;
                  });
  };
  for (int color = 0; color < int(sentOn.size()); ++color) {
    const auto &sent = sentOn[size_t(color)], &rows = entered[size_t(color)];
    for (size_t pe = 0; pe < sent.size(); ++pe)
      if (sent[pe] > 0)
        follow(color, int(pe), Port::Ramp, sent[pe]);
    for (size_t row = 0; row < rows.size(); ++row)
      if (rows[row] > 0)
        follow(color, int(row) * meshWidth, Port::West, rows[row]);
  }
}

// ---------------------------------------------------------------- results

std::vector<double> Counters::sramBytes() const {
  std::vector<double> bytes(pes.size());
  for (unsigned c = 0; c < program.classes()->size(); ++c) {
    const double high = double(decodeClass(program, c).highWaterBytes);
    for (const program::Rect *rect : *program.classes()->Get(c)->rects())
      for (int y = rect->y0(); y < rect->y1(); y += rect->ystep())
        for (int x = rect->x0(); x < rect->x1(); x += rect->xstep())
          bytes[size_t(y) * size_t(meshWidth) + size_t(x)] = high;
  }
  return bytes;
}

std::vector<PeMap> Counters::maps() const {
  std::vector<PeMap> maps;
  auto add = [&](const std::string &name, const char *unit, auto &&value) {
    PeMap map{name, unit, {}};
    for (size_t pe = 0; pe < pes.size(); ++pe)
      map.values.push_back(double(value(pe)));
    maps.push_back(std::move(map));
  };
  auto cents = [](double x) { return std::round(x * 100) / 100; };
  add("busy_cycles", "cycles", [&](size_t i) { return cents(pes[i].busy); });
  add("instructions", "vector instructions",
      [&](size_t i) { return pes[i].instructions; });
  add("words_sent", "words", [&](size_t i) { return pes[i].sent; });
  add("words_received", "words", [&](size_t i) { return pes[i].received; });
  add("waits_to_receive_cycles", "cycles",
      [&](size_t i) { return cents(pes[i].waitsToReceive); });
  add("waits_to_send_cycles", "cycles",
      [&](size_t i) { return cents(pes[i].waitsToSend); });
  maps.push_back({"sram_bytes", "bytes", sramBytes()});
  for (size_t port = 0; port < 5; ++port) {
    add(std::string("link_words_") + portNames[port], "words",
        [&](size_t i) { return links[i * 5 + port]; });
    if (!peaks.empty())
      add(std::string("link_peak_") + portNames[port], "words in 1024 cycles",
          [&](size_t i) { return peaks[i * 5 + port].most; });
  }
  return maps;
}

/// Row by row from the west, runs of equal numbers; equal rows once.
static Json compressed(const PeMap &map, int width, int height) {
  Json rows = Json::array();
  double total = 0;
  size_t most = 0;
  for (int y = 0; y < height; ++y) {
    Json runs = Json::array();
    for (int x = 0; x < width; ++x) {
      const size_t at = size_t(y) * size_t(width) + size_t(x);
      const double value = map.values[at];
      total += value;
      most = value > map.values[most] ? at : most;
      if (!runs.empty() && runs.back()[0] == value)
        runs.back()[1] = runs.back()[1].get<int>() + 1;
      else
        runs.push_back({value, 1});
    }
    if (!rows.empty() && rows.back()["runs"] == runs)
      rows.back()["y"][1] = y + 1;
    else
      rows.push_back({{"y", {y, y + 1}}, {"runs", runs}});
  }
  return {{"unit", map.unit},
          {"total", total},
          {"max", map.values[most]},
          {"max_at", {int(most) % width, int(most) / width}},
          {"rows", rows}};
}

std::string Counters::json() const {
  Json json = {{"format", "wsec-counters-1"},
               {"model", program.model() ? program.model()->str() : ""},
               {"mesh", {meshWidth, meshHeight}},
               {"cycles", int64_t(std::ceil(cycles))}};
  Json list = Json::array();
  for (size_t s = 0; s < streams.size(); ++s) {
    const program::HostStream &stream = *program.streams()->Get(unsigned(s));
    list.push_back(
        {{"name", stream.name()->str()},
         {"direction", program::EnumNameDirection(stream.direction())},
         {"color", stream.color()},
         {"words", streams[s].words},
         {"first_cycle", streams[s].first},
         {"last_cycle", streams[s].last}});
  }
  json["streams"] = list;
  Json maps = Json::object();
  for (const PeMap &map : this->maps())
    maps[map.name] = compressed(map, meshWidth, meshHeight);
  json["maps"] = maps;
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

} // namespace wsec::runtime
