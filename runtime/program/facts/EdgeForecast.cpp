// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/program/facts/EdgeForecast.h"

#include "absl/strings/str_format.h"
#include "runtime/program/Call.h"
#include "runtime/program/Scalars.h"
#include "runtime/program/Wire.h"
#include "runtime/program/check/StreamShape.h"

#include <algorithm>
#include <map>
#include <utility>

namespace wsec::runtime {

/// Words of one run of a stream, by channel.
static std::vector<uint64_t>
wordsByChannel(const program::HostStream &stream,
               const std::vector<int64_t> &arguments) {
  std::vector<uint64_t> words(stream.channels()->size());
  std::vector<int64_t> scalars;
  for (unsigned i = 0; i < words.size(); ++i) {
    const program::Channel &channel = *stream.channels()->Get(i);
    for (int column = channel.begin(); column < channel.end(); ++column) {
      evaluateScalars(stream.scalars(), column, channel.row(), scalars,
                      arguments.data());
      for (const program::Segment *segment : *stream.segments()) {
        uint64_t block = 1;
        for (const program::Affine *extent : *segment->extents())
          block *= uint64_t(evaluateAffine(*extent, scalars));
        words[i] += uint64_t(evaluateAffine(*segment->lines(), scalars)) *
                    Wire(stream, *segment).wavelets(block);
      }
    }
  }
  return words;
}

namespace {

/// The channels of a row: their words, and when there is one to offer.
struct Row {
  uint64_t words = 0;
  std::vector<std::pair<uint64_t, uint64_t>> windows;

  void add(uint64_t begin, uint64_t end) {
    if (!windows.empty() && windows.back().first <= begin &&
        begin <= windows.back().second)
      windows.back().second = std::max(windows.back().second, end);
    else
      windows.push_back({begin, end});
  }
  /// Cycles of all windows, each counted once.
  uint64_t covered() {
    std::sort(windows.begin(), windows.end());
    uint64_t cycles = 0, until = 0;
    for (const auto &[begin, end] : windows)
      if (end > until) {
        cycles += end - std::max(begin, until);
        until = end;
      }
    return cycles;
  }
};

} // namespace

EdgeForecast edgeForecast(const program::Program &program, uint32_t entry) {
  const Call call = largestCall(program, entry);
  std::map<std::string, std::vector<uint64_t>> known; // by their shape
  std::map<int, Row> rows;
  EdgeForecast forecast;
  for (const program::Launch *launch : *call.entry().launches()) {
    const unsigned count = launch->streams() ? launch->streams()->size() : 0;
    if (count > 0 && !launch->slots())
      return {};
    for (unsigned s = 0; s < count; ++s) {
      const program::HostStream &stream =
          *program.streams()->Get(launch->streams()->Get(s));
      const program::Slot &slot = *launch->slots()->Get(s);
      forecast.cycles = std::max(forecast.cycles, double(slot.end()));
      if (stream.direction() != program::Direction::In)
        continue;
      const std::vector<int64_t> arguments = call.carried(*launch);
      auto [words, isNew] = known.try_emplace(streamShape(stream, arguments));
      if (isNew)
        words->second = wordsByChannel(stream, arguments);
      for (unsigned i = 0; i < stream.channels()->size(); ++i)
        if (words->second[i] > 0) {
          Row &row = rows[stream.channels()->Get(i)->row()];
          row.words += words->second[i];
          row.add(slot.begin(), slot.end());
        }
    }
  }
  for (auto &[number, row] : rows)
    forecast.rows.push_back(
        {number, row.words, std::max(row.covered(), row.words) - row.words});
  return forecast;
}

std::string shares(const std::vector<EdgeUse> &rows, double cycles) {
  double busy = 0, stalled = 0;
  for (const EdgeUse &row : rows) {
    busy += double(row.words);
    stalled += double(row.stalledCycles);
  }
  const double all = cycles * double(rows.size()) / 100;
  return absl::StrFormat("busy %.1f %%, stalled %.1f %%, idle %.1f %%",
                         busy / all, stalled / all,
                         100 - (busy + stalled) / all);
}

} // namespace wsec::runtime
