// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/pe/MicrothreadUses.h"

#include <algorithm>

namespace wsec::runtime {

MicrothreadUses::Conflict
MicrothreadUses::conflict(const InstructionUse &use) const {
  const std::string without = ", without an await between";
  for (const Pending &its : pending) {
    if (its.thread == use.thread)
      continue;
    const std::string other = std::to_string(its.thread);
    if (its.color < 0) {
      if (use.destination.overlaps(its.span) ||
          use.sources[0].overlaps(its.span) ||
          use.sources[1].overlaps(its.span))
        return {"touches what microthread " + other + " writes" + without,
                true};
      continue;
    }
    const bool receives =
        use.receives[0] == its.color || use.receives[1] == its.color;
    if (its.sent ? use.sends == its.color : receives)
      return {(its.sent ? "sends on color " : "receives color ") +
                  std::to_string(its.color) + " as microthread " + other +
                  " does" + without,
              false};
  }
  return {};
}

void MicrothreadUses::add(const Pending &use) {
  if (std::find(pending.begin(), pending.end(), use) == pending.end())
    pending.push_back(use);
}

void MicrothreadUses::note(const InstructionUse &use) {
  if (use.destination.low < use.destination.high)
    add({use.thread, use.destination, -1, false});
  for (int color : use.receives)
    if (color >= 0)
      add({use.thread, {}, color, false});
  if (use.sends >= 0)
    add({use.thread, {}, use.sends, true});
}

void MicrothreadUses::forget(unsigned threads) {
  std::erase_if(pending, [&](const Pending &its) {
    return its.thread >= 0 && (threads >> its.thread & 1);
  });
}

} // namespace wsec::runtime
