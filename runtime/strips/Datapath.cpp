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

double Datapath::share(double elapsed, const std::vector<double> &work) {
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
  std::erase_if(owed, [&](const Owed &its) { return its.thread == thread; });
}

} // namespace wsec::runtime
