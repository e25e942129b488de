// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/strips/Datapath.h"

#include <algorithm>

namespace wsec::runtime {

void Datapath::owe(int thread, int lane, double work) {
  auto its = std::find_if(owed.begin(), owed.end(),
                          [&](const Owed &o) { return o.thread == thread; });
  if (its == owed.end())
    its = owed.insert(its, {thread, std::vector<double>(lanes)});
  if (lane >= 0) {
    its->work[size_t(lane)] += work;
    return;
  }
  for (double &cycles : its->work)
    cycles += work;
}

void Datapath::receive(int thread, double words, double slowed) {
  if (slowed > 1)
    flows.push_back({thread, words, slowed, worked});
}

double Datapath::late(int thread) const {
  double cycles = 0;
  for (const Flow &flow : flows)
    if (flow.thread == thread)
      cycles = std::max(cycles,
                        std::min((worked - flow.before) * (1 - 1 / flow.slowed),
                                 flow.words * (flow.slowed - 1)));
  return cycles;
}

double Datapath::share(double elapsed, const std::vector<double> &work) {
  worked += *std::max_element(work.begin(), work.end());
  if (owed.empty())
    return 0;
  auto own = [&](size_t lane) { return work[work.size() == 1 ? 0 : lane]; };
  double longer = 0;
  for (size_t lane = 0; lane < lanes; ++lane) {
    double rest = own(lane) - elapsed;
    for (const Owed &its : owed)
      rest += its.work[lane];
    longer = std::max(longer, std::clamp(rest, 0.0, own(lane)));
  }

  bool left = false;
  for (size_t lane = 0; lane < lanes; ++lane) {
    double free = std::max(0.0, elapsed + longer - own(lane));
    for (Owed &its : owed) {
      const double served = std::min(free, its.work[lane]);
      its.work[lane] -= served;
      free -= served;
      left |= its.work[lane] > 0;
    }
  }
  if (!left)
    owed.clear();
  return longer;
}

void Datapath::settle(int thread) {
  auto isIts = [&](const auto &its) { return its.thread == thread; };
  std::erase_if(owed, isIts);
  std::erase_if(flows, isIts);
}

} // namespace wsec::runtime
