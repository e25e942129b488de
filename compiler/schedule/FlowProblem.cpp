// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/schedule/FlowProblem.h"

#include <algorithm>
#include <map>

using namespace wsec;

static std::string text(const CycleWindow &window) {
  return "[" + std::to_string(window.begin) + "," + std::to_string(window.end) +
         ")";
}

static std::string nameOf(const FlowProblem &problem, size_t transfer) {
  return "the words of '" +
         problem.launches[problem.transfers[transfer].launch].name + "'";
}

std::string FlowProblem::check() const {
  for (const LaunchCost &launch : launches)
    if (launch.regions.empty() || !(launch.cycles >= 0) || !(launch.lead >= 0))
      return "'" + launch.name + "' runs nowhere, or for negative cycles";
  for (size_t t = 0; t < transfers.size(); ++t) {
    const HostTransfer &transfer = transfers[t];
    if (transfer.launch >= launches.size() ||
        (t > 0 && transfer.launch < transfers[t - 1].launch))
      return "transfers are not in the order of launches";
    if (transfer.words < 0 || transfer.queue < 0 || transfer.firstUse < 0 ||
        transfer.lastUse < transfer.firstUse || transfer.lastUse > 1)
      return nameOf(*this, t) + " are used outside of their launch, or fewer "
                                "than none";
    for (size_t before : transfer.after)
      if (before >= t || transfers[before].in)
        return nameOf(*this, t) + " come of what nothing has stored";
  }
  return "";
}

//===----------------------------------------------------------------------===//
// Verification. Shares nothing with the solver.
//===----------------------------------------------------------------------===//

/// T5.
std::string FlowProblem::verifySlots(const FlowSchedule &schedule,
                                     Launches &about) const {
  std::map<size_t, size_t> lastOfStream; // transfers
  std::map<int64_t, size_t> ownerOf;
  for (size_t t = 0; t < transfers.size(); ++t) {
    about = {transfers[t].launch};
    int64_t slot = schedule.transfers[t].slot;
    auto [owner, isFree] = ownerOf.emplace(slot, t);
    if (!isFree)
      about.push_back(transfers[owner->second].launch);
    if (slot < 0 || slot >= int64_t(transfers.size()) || !isFree)
      return nameOf(*this, t) + " have slot " + std::to_string(slot) +
             ", which is not one of " + std::to_string(transfers.size()) +
             " or is another's";
    auto last = lastOfStream.emplace(transfers[t].stream, t).first;
    const int64_t before = schedule.transfers[last->second].slot;
    if (slot < before) {
      about.push_back(transfers[last->second].launch);
      return nameOf(*this, t) + " have slot " + std::to_string(slot) +
             ", but an earlier launch has " + std::to_string(before) +
             " on their color: words of a color do not overtake one another";
    }
    last->second = t;
  }
  return "";
}

/// T6.
std::string FlowProblem::verifyColors(const FlowSchedule &schedule,
                                      Launches &about) const {
  std::map<size_t, size_t> last; // by stream
  for (size_t t = 0; t < transfers.size(); ++t) {
    about = {transfers[t].launch};
    const CycleWindow &window = schedule.transfers[t].window;
    if (window.end - window.begin < transfers[t].words)
      return nameOf(*this, t) + " flow in " + text(window) +
             ", too short for " + std::to_string(transfers[t].words) +
             " words of a channel";
    auto [before, isNew] = last.emplace(transfers[t].stream, t);
    const CycleWindow &earlier = schedule.transfers[before->second].window;
    if (!isNew && window.begin < earlier.end) {
      about.push_back(transfers[before->second].launch);
      return nameOf(*this, t) + " flow in " + text(window) + ", but " +
             nameOf(*this, before->second) + " have their color until cycle " +
             std::to_string(earlier.end);
    }
    before->second = t;
  }
  return "";
}

/// T7.
std::string FlowProblem::verifyStore(const FlowSchedule &schedule,
                                     Launches &about) const {
  for (size_t t = 0; t < transfers.size(); ++t) {
    about = {transfers[t].launch};
    if (!transfers[t].in)
      continue;
    int64_t there = 0;
    for (size_t before : transfers[t].after) {
      about.push_back(transfers[before].launch);
      there = std::max(there, schedule.transfers[before].window.end);
    }
    if (schedule.transfers[t].window.begin < there + storeLatency)
      return nameOf(*this, t) + " flow in " +
             text(schedule.transfers[t].window) +
             ", before the store can send them in cycle " +
             std::to_string(there + storeLatency);
  }
  return "";
}

/// T8.
std::string FlowProblem::verifyAhead(const FlowSchedule &schedule,
                                     Launches &about) const {
  for (size_t t = 0; t < transfers.size(); ++t) {
    about = {transfers[t].launch};
    const HostTransfer &transfer = transfers[t];
    const TransferSlot &slot = schedule.transfers[t];
    const CycleWindow &launch = schedule.launches[transfer.launch];
    if (slot.ahead < 0 || slot.ahead > std::min(transfer.words, transfer.queue))
      return std::to_string(slot.ahead) + " of " + nameOf(*this, t) +
             " are ahead of it, of " + std::to_string(transfer.words) +
             " words the way holds " + std::to_string(transfer.queue);
    int64_t least = transfer.words > slot.ahead
                        ? launch.begin + transfer.words - slot.ahead
                        : 0;
    if (slot.window.end > launch.end || slot.window.end < least ||
        (!transfer.in && slot.window.begin < launch.begin))
      return nameOf(*this, t) + " flow in " + text(slot.window) + ", with " +
             std::to_string(slot.ahead) + " ahead of a launch that runs in " +
             text(launch);
  }
  return "";
}

/// T9.
std::string FlowProblem::verifyLaunches(const FlowSchedule &schedule,
                                        Launches &about) const {
  std::map<size_t, int64_t> ends;                  // by region
  std::vector<int64_t> stored(launches.size(), 0); // all that it reads
  for (const HostTransfer &transfer : transfers)
    for (size_t before : transfer.after)
      stored[transfer.launch] = std::max(stored[transfer.launch],
                                         schedule.transfers[before].window.end);
  for (size_t l = 0; l < launches.size(); ++l) {
    about = {l};
    const LaunchCost &launch = launches[l];
    const CycleWindow &window = schedule.launches[l];
    int64_t begin = stored[l];
    for (size_t region : launch.regions)
      begin = std::max(begin, ends[region]);
    // Windows are whole cycles.
    double least = launch.cycles + launch.lead - 1;
    if (window.begin != begin || double(window.end - window.begin) < least)
      return "'" + launch.name + "' runs in " + text(window) +
             ", expected it from cycle " + std::to_string(begin) + " on for " +
             std::to_string(int64_t(launch.cycles + launch.lead)) + " or more";
    for (size_t region : launch.regions)
      ends[region] = window.end;
  }
  return "";
}

std::string FlowProblem::verify(const FlowSchedule &schedule,
                                std::vector<size_t> *about) const {
  if (schedule.launches.size() != launches.size() ||
      schedule.transfers.size() != transfers.size())
    return "expected windows of " + std::to_string(launches.size()) +
           " launches and " + std::to_string(transfers.size()) + " transfers";
  Launches concerned;
  for (auto check : {&FlowProblem::verifySlots, &FlowProblem::verifyColors,
                     &FlowProblem::verifyStore, &FlowProblem::verifyAhead,
                     &FlowProblem::verifyLaunches})
    if (std::string error = (this->*check)(schedule, concerned);
        !error.empty()) {
      for (size_t launch : concerned)
        if (about &&
            std::find(about->begin(), about->end(), launch) == about->end())
          about->push_back(launch);
      return error;
    }
  return "";
}
