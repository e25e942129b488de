// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/strips/PendingWork.h"

#include <algorithm>

namespace wsec::runtime {

void PendingWork::Reach::add(const std::optional<MemoryPattern> &pattern) {
  if (!pattern)
    return;
  low = std::min(low, pattern->low());
  high = std::max(high, pattern->high());
}

/// A bit for a color; none for no color.
static uint64_t bitOf(int color) {
  return color < 0 ? 0 : uint64_t(1) << (color & 63);
}

void PendingWork::note(const InstructionRun &run) {
  if (atWork == 0) {
    written = read = {};
    received = sent = 0;
  }
  atWork |= 1u << run.code().thread;
  written.add(run.destination());
  for (int source : {0, 1}) {
    read.add(run.source(source));
    received |= bitOf(run.receives()[size_t(source)]);
  }
  sent |= bitOf(run.sends());
  Uses &uses = run.lane() < 0 ? ofAll : ofLane[size_t(run.lane())];
  if (run.lane() >= 0 && uses.empty())
    lanesInUse.push_back(run.lane());
  uses.push_back({run.code().thread,
                  run.destination(),
                  {run.source(0), run.source(1)},
                  run.receives(),
                  run.sends()});
}

template <class Visit>
bool PendingWork::anyIn(int lane, const Visit &visit) const {
  auto any = [&](int where, const Uses &uses) {
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
  if (!(atWork >> thread & 1))
    return found;
  anyIn(lane, [&](int where, const Use &use) {
    if (use.thread == thread)
      found = where;
    return found.has_value();
  });
  return found;
}

std::string PendingWork::conflict(const Use &use, const InstructionRun &run) {
  auto other = [&] { return "microthread " + std::to_string(use.thread); };
  if (use.written && run.touches(*use.written))
    return "touches what " + other() + " writes";
  for (const std::optional<MemoryPattern> &read : use.read)
    if (read && run.writes(*read))
      return "writes what " + other() + " reads";
  auto color = [&](const char *does, int which) {
    return std::string(does) + " color " + std::to_string(which) + " as " +
           other() + " does";
  };
  for (int receives : run.receives())
    if (receives >= 0 &&
        (receives == use.receives[0] || receives == use.receives[1]))
      return color("receives", receives);
  if (run.sends() >= 0 && run.sends() == use.sends)
    return color("sends on", run.sends());
  return {};
}

/// False: it shares nothing with what is at work in any lane.
bool PendingWork::mayConflict(const InstructionRun &run) const {
  const auto [a, b] = run.receives();
  return written.meets(run.destination()) || written.meets(run.source(0)) ||
         written.meets(run.source(1)) || read.meets(run.destination()) ||
         ((bitOf(a) | bitOf(b)) & received) != 0 ||
         (bitOf(run.sends()) & sent) != 0;
}

/// Likewise of one use.
bool PendingWork::mayConflict(const Use &use, const InstructionRun &run) {
  auto meet = [](const std::optional<MemoryPattern> &one,
                 const std::optional<MemoryPattern> &other) {
    return one && other && one->overlaps(*other);
  };
  const std::optional<MemoryPattern> &its = run.destination();
  const auto [a, b] = run.receives();
  return meet(use.written, its) || meet(use.written, run.source(0)) ||
         meet(use.written, run.source(1)) || meet(use.read[0], its) ||
         meet(use.read[1], its) ||
         (a >= 0 && (a == use.receives[0] || a == use.receives[1])) ||
         (b >= 0 && (b == use.receives[0] || b == use.receives[1])) ||
         (run.sends() >= 0 && run.sends() == use.sends);
}

std::string PendingWork::conflict(const InstructionRun &run) const {
  std::string what;
  if (atWork == 0 || !mayConflict(run))
    return what;
  anyIn(run.lane(), [&](int, const Use &use) {
    if (mayConflict(use, run))
      what = conflict(use, run);
    return !what.empty();
  });
  return what;
}

std::string PendingWork::conflict(const MemoryPattern &read, int lane) const {
  std::string what;
  if (atWork == 0)
    return what;
  anyIn(lane, [&](int, const Use &use) {
    if (use.written && use.written->sharesHalves(read))
      what =
          "touches what microthread " + std::to_string(use.thread) + " writes";
    return !what.empty();
  });
  return what;
}

void PendingWork::settle(int thread, Strip &strip) {
  if (!(atWork >> thread & 1))
    return;
  atWork &= ~(1u << thread);
  auto settleIn = [&](int lane, Uses &uses) {
    std::erase_if(uses, [&](const Use &use) {
      if (use.thread != thread)
        return false;
      if (use.written)
        markInitialised(strip, *use.written, lane);
      return true;
    });
  };
  settleIn(-1, ofAll);
  for (int lane : lanesInUse)
    settleIn(lane, ofLane[size_t(lane)]);
  std::erase_if(lanesInUse,
                [&](int lane) { return ofLane[size_t(lane)].empty(); });
}

} // namespace wsec::runtime
