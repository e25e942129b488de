// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/tasks/HostLanes.h"

#include <algorithm>
#include <bit>

namespace wsec::runtime::tasks {

using program::Direction;
using program::ElementType;
using program::Packing;

HostLanes::HostLanes(Wafer &wafer, HostPort &host) : wafer(wafer), host(host) {
  const program::Program &program = wafer.program;
  for (unsigned l = 0; l < program.launches()->size(); ++l) {
    const program::Launch &launch = *program.launches()->Get(l);
    if (!launch.streams())
      continue;
    for (uint32_t s : *launch.streams()) {
      const program::HostStream &stream = *program.streams()->Get(s);
      for (unsigned i = 0; i < stream.lanes()->size(); ++i) {
        const std::pair place(stream.lanes()->Get(i)->row(),
                              int(stream.color()));
        auto &uses = stream.direction() == Direction::Out ? out[place].uses
                                                          : in[place].uses;
        uses.push_back({l, s, i, host.words(s, i)});
      }
    }
  }
  for (const auto &[place, lane] : in)
    ++rows[place.first].lanes;
  wafer.network.west = [this](Station &edge) { return fill(edge); };
  wafer.network.east = [this](int row, int color, const Word &word) {
    leave(row, color, word);
  };
}

void HostLanes::start() {
  for (auto &[place, lane] : in)
    wafer.network.start(wafer.network.westEdge(place.first, place.second));
}

/// Makes the next word of a lane available.
bool HostLanes::fetch(InLane &lane) {
  for (; lane.at == lane.view.words(); ++lane.next) {
    if (lane.next == lane.uses.size())
      return false;
    const Use &use = lane.uses[lane.next];
    lane.view = host.next(use.stream, use.lane, size_t(1) << 14);
    lane.at = 0;
    if (!lane.view.empty())
      return true;
  }
  return true;
}

/// The next words of a lane: many, or one if others share the row's link.
bool HostLanes::fill(Station &edge) {
  const int y = wafer.network.coordinate(edge.pe).y;
  InLane &lane = in.at({y, edge.color});
  Row &row = rows.at(y);
  if (!fetch(lane))
    return false;
  const size_t left = lane.view.words() - lane.at;
  const size_t count = row.lanes > 1 ? 1 : left;
  for (size_t i = 0; i < count; ++i, ++lane.at) {
    Word word;
    word.form = wireForm(ElementType::F32, Packing::Single);
    word.payload = std::bit_cast<uint32_t>(lane.view.word(lane.at));
    word.ready = std::max<Cycle>(wafer.machine.store_latency_cycles(),
                                 edge.lastTaken + 1);
    if (row.lanes > 1) {
      word.ready = row.entry.next(word.ready);
      row.entry.take(word.ready, wafer.agenda.now());
    }
    edge.queue.push(word);
    ++edge.delivered;
    ++wordsIn;
    if (Observer *observer = wafer.options.observer) {
      const Use &use = lane.uses[lane.next];
      const Time when = Time(word.ready) + (row.lanes > 1 ? 0 : Time(i));
      observer->hostWords(use.stream, use.lane, 1, when, when);
    }
  }
  return true;
}

void HostLanes::leave(int row, int color, const Word &word) {
  if (word.control)
    return;
  OutLane &lane = out[{row, color}];
  while (lane.next < lane.uses.size() && lane.uses[lane.next].left == 0)
    ++lane.next;
  if (lane.next == lane.uses.size()) {
    ++lane.tooMany;
    return;
  }
  Use &use = lane.uses[lane.next];
  const float value = std::bit_cast<float>(word.payload);
  host.store(use.stream, use.lane, {&value, 1, 1, 1, nullptr});
  wafer.noteActive(use.launch, Time(word.ready));
  if (Observer *observer = wafer.options.observer)
    observer->hostWords(use.stream, use.lane, 1, Time(word.ready),
                        Time(word.ready));
  --use.left;
  ++wordsOut;
}

std::vector<std::string> HostLanes::waits() const {
  std::vector<std::string> result;
  for (const auto &[place, lane] : out)
    for (const Use &use : lane.uses)
      if (use.left > 0)
        result.push_back(
            "output stream '" +
            wafer.program.streams()->Get(use.stream)->name()->str() +
            "' at row " + std::to_string(place.first) + " lacks " +
            std::to_string(use.left) + " words");
  return result;
}

std::vector<std::string> HostLanes::surplus() const {
  std::vector<std::string> result;
  for (const auto &[place, lane] : out)
    if (lane.tooMany > 0)
      result.push_back("color " + std::to_string(place.second) +
                       " over the east edge of row " +
                       std::to_string(place.first) + ", " +
                       std::to_string(lane.tooMany) + " words");
  return result;
}

} // namespace wsec::runtime::tasks
