// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/program/facts/CommandRoom.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace wsec::runtime {

/// Of a queue of which nothing is said.
static constexpr int smallestDepth = 2;

int64_t CommandQueues::ofPe() const {
  if (inputQueueWords.empty())
    return smallestDepth + rampCycles;
  // Such a program binds commands to the deepest queue, where all are its own.
  const auto [least, most] =
      std::minmax_element(inputQueueWords.begin(), inputQueueWords.end());
  return std::max(1, reservedInputQueues > 0 ? *least : *most) + rampCycles;
}

int64_t CommandQueues::ofRouter() const {
  const int hop = std::max(1, hopCycles);
  return (routerWords > 0 ? routerWords : smallestDepth * hop) + hop - 1;
}

/// Routers from where the way down the columns to the other region branches off
/// to the nearest of the busy PEs that it comes by or passes.
static int64_t routersBetween(const CommandTarget &busy,
                              const CommandTarget &other) {
  int64_t routers = std::numeric_limits<int64_t>::max();
  if (busy.x0 < other.x1 - 1) // in a column further east
    routers = std::min(routers, busy.y0);
  if (busy.x1 - 1 > other.x0) // further west
    routers = std::min(routers,
                       std::max<int64_t>(1, busy.x0 - other.x1 + 1) + busy.y0);
  if (busy.x0 < other.x1 && other.x0 < busy.x1) // in the same column
    routers = std::min(routers, std::max<int64_t>(0, busy.y0 - other.y1 + 1));
  return routers;
}

static int64_t routersBetween(CommandPaths paths, const CommandTarget &busy,
                              const CommandTarget &other) {
  auto turned = [](const CommandTarget &its) {
    return CommandTarget{its.y0, its.x0, its.y1, its.x1};
  };
  return paths == CommandPaths::Columns
             ? routersBetween(busy, other)
             : routersBetween(turned(busy), turned(other));
}

CommandPaths commandPaths(const std::vector<CommandTarget> &regions) {
  auto inTheWay = [&](CommandPaths paths) {
    size_t pairs = 0;
    for (const CommandTarget &busy : regions)
      for (const CommandTarget &other : regions)
        pairs += &busy != &other && routersBetween(paths, busy, other) == 0;
    return pairs;
  };
  return inTheWay(CommandPaths::Rows) < inTheWay(CommandPaths::Columns)
             ? CommandPaths::Rows
             : CommandPaths::Columns;
}

size_t commandsAhead(const CommandQueues &queues, CommandPaths paths,
                     const CommandTarget &busy, const CommandTarget &other) {
  return size_t(queues.ofPe() +
                queues.ofRouter() * routersBetween(paths, busy, other));
}

std::vector<std::vector<size_t>>
commandsAhead(const CommandQueues &queues,
              const std::vector<CommandTarget> &regions) {
  std::vector<std::vector<size_t>> ahead(
      regions.size(),
      std::vector<size_t>(regions.size(), std::numeric_limits<size_t>::max()));
  const CommandPaths paths = commandPaths(regions);
  for (size_t busy = 0; busy < regions.size(); ++busy)
    for (size_t other = 0; other < regions.size(); ++other)
      if (busy != other)
        ahead[busy][other] =
            commandsAhead(queues, paths, regions[busy], regions[other]);
  return ahead;
}

CommandLine::CommandLine(std::vector<std::vector<size_t>> ahead)
    : ahead(std::move(ahead)), done(this->ahead.size()) {}

double CommandLine::reaches(size_t region) const {
  double when = 0;
  for (size_t busy = 0; busy < ahead.size(); ++busy)
    if (ahead[busy][region] < count)
      when = std::max(when, done[busy][count - ahead[busy][region] - 1]);
  return when;
}

void CommandLine::give(const std::vector<double> &free) {
  for (size_t region = 0; region < done.size(); ++region)
    done[region].push_back(free[region]);
  ++count;
}

void CommandLine::extend(const std::vector<double> &free) {
  for (size_t region = 0; region < done.size(); ++region)
    done[region].back() = free[region];
}

void CommandLine::clear() {
  count = 0;
  for (std::vector<double> &each : done)
    each.clear();
}

} // namespace wsec::runtime
