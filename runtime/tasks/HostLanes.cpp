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
      if (stream.direction() == Direction::Out)
        for (unsigned i = 0; i < stream.lanes()->size(); ++i)
          out[{stream.lanes()->Get(i)->row(), stream.color()}].uses.push_back(
              {l, s, i, host.words(s, i)});
    }
  }
}

void HostLanes::feed(size_t index, Time when) {
  const program::Program &program = wafer.program;
  const program::Launch &launch = *program.launches()->Get(unsigned(index));
  if (!launch.streams())
    return;
  for (uint32_t s : *launch.streams()) {
    const program::HostStream &stream = *program.streams()->Get(s);
    if (stream.direction() == Direction::Out)
      continue;
    for (unsigned i = 0; i < stream.lanes()->size(); ++i) {
      const int row = stream.lanes()->Get(i)->row();
      Time &time = free[{row, stream.color()}];
      time = std::max(time, when + wafer.machine.store_latency_cycles());
      const uint32_t inlet = wafer.network.edgeInlet(row, stream.color());
      for (;;) {
        const WordView view = host.next(s, i, size_t(1) << 16);
        if (view.empty())
          break;
        auto words = std::make_shared<std::vector<uint32_t>>();
        for (size_t r = 0; r < view.rows; ++r)
          for (size_t w = 0; w < view.length; ++w)
            words->push_back(
                std::bit_cast<uint32_t>(view.data[r * view.stride + w]));
        Chunk chunk;
        chunk.count = uint32_t(words->size());
        chunk.words = std::move(words);
        chunk.form = wireForm(ElementType::F32, Packing::Single);
        chunk.first = time;
        chunk.last = time + chunk.count - 1;
        time += chunk.count;
        wordsIn += chunk.count;
        if (Observer *observer = wafer.options.observer)
          observer->hostWords(s, i, chunk.count, chunk.first, chunk.last);
        wafer.network.send(inlet, std::move(chunk));
      }
    }
  }
}

void HostLanes::leave(Outlet &edge) {
  OutLane &lane = out[{wafer.network.coordinate(edge.pe).y, edge.color}];
  for (; !edge.queue.empty(); edge.queue.pop_front()) {
    const Chunk &chunk = edge.queue.front();
    wafer.network.take(edge, chunk.count, chunk.first, chunk.last);
    if (chunk.control)
      continue;
    std::vector<float> words;
    for (uint32_t i = 0; i < chunk.count; ++i)
      words.push_back(std::bit_cast<float>(chunk.at(i)));
    for (size_t done = 0; done < words.size();) {
      while (lane.next < lane.uses.size() && lane.uses[lane.next].left == 0)
        ++lane.next;
      if (lane.next == lane.uses.size()) {
        lane.tooMany += words.size() - done;
        break;
      }
      Use &use = lane.uses[lane.next];
      const auto n = size_t(std::min<uint64_t>(use.left, words.size() - done));
      host.store(use.stream, use.lane, {&words[done], 1, n, n, nullptr});
      wafer.noteActive(use.launch, chunk.time(uint32_t(done + n - 1)));
      if (Observer *observer = wafer.options.observer)
        observer->hostWords(use.stream, use.lane, n, chunk.time(uint32_t(done)),
                            chunk.time(uint32_t(done + n - 1)));
      use.left -= n;
      wordsOut += n;
      done += n;
    }
  }
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
