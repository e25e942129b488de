// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/strips/PendingWork.h"

#include <algorithm>

namespace wsec::runtime {

void PendingWork::note(const InstructionRun &run) {
  Use use{run.code().thread,
          run.destination(),
          {run.source(0), run.source(1)},
          run.receives(),
          run.sends()};
  if (run.lane() < 0) {
    ofAll.push_back(std::move(use));
    return;
  }
  std::vector<Use> &uses = ofLane[size_t(run.lane())];
  if (uses.empty())
    lanesInUse.push_back(run.lane());
  uses.push_back(std::move(use));
}

template <class Visit>
bool PendingWork::anyIn(int lane, const Visit &visit) const {
  auto any = [&](int where, const std::vector<Use> &uses) {
    return std::any_of(uses.begin(), uses.end(),
                       [&](const Use &use) { return visit(where, use); });
  };
  if (any(-1, ofAll))
    return true;
  if (lane >= 0)
    return any(lane, ofLane[size_t(lane)]);
  return std::any_of(lanesInUse.begin(), lanesInUse.end(), [&](int other) {
    return any(other, ofLane[size_t(other)]);
  });
}

std::optional<int> PendingWork::busy(int thread, int lane) const {
  std::optional<int> found;
  anyIn(lane, [&](int where, const Use &use) {
    if (use.thread == thread)
      found = where;
    return found.has_value();
  });
  return found;
}

std::string PendingWork::conflict(const Use &use, const InstructionRun &run) {
  const std::string other = "microthread " + std::to_string(use.thread);
  if (use.written && run.touches(*use.written))
    return "touches what " + other + " writes";
  for (const std::optional<MemoryPattern> &read : use.read)
    if (read && run.writes(*read))
      return "writes what " + other + " reads";
  auto color = [&](const char *does, int which) {
    return std::string(does) + " color " + std::to_string(which) + " as " +
           other + " does";
  };
  for (int receives : run.receives())
    if (receives >= 0 &&
        (receives == use.receives[0] || receives == use.receives[1]))
      return color("receives", receives);
  if (run.sends() >= 0 && run.sends() == use.sends)
    return color("sends on", run.sends());
  return {};
}

std::string PendingWork::conflict(const InstructionRun &run) const {
  std::string what;
  anyIn(run.lane(), [&](int, const Use &use) {
    what = conflict(use, run);
    return !what.empty();
  });
  return what;
}

void PendingWork::settle(int thread, Strip &strip) {
  auto settleIn = [&](int lane, std::vector<Use> &uses) {
    for (const Use &use : uses)
      if (use.thread == thread && use.written)
        markInitialised(strip, *use.written, lane);
    std::erase_if(uses, [&](const Use &use) { return use.thread == thread; });
  };
  settleIn(-1, ofAll);
  for (int lane : lanesInUse)
    settleIn(lane, ofLane[size_t(lane)]);
  std::erase_if(lanesInUse,
                [&](int lane) { return ofLane[size_t(lane)].empty(); });
}

} // namespace wsec::runtime
