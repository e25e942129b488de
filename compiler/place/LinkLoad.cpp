// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Words on every link of the mesh, from the rules of the streams.

#include "compiler/place/PlacementDump.h"

#include <algorithm>

using namespace wsec;

static constexpr const char *ports[] = {"north", "south", "east", "west"};

/// Calls `use` with the number of each link of the mesh that a rule sends on.
template <typename Use>
static void forLinks(const PlacementView &view,
                     const PlacementView::RouteView &route, Use use) {
  for (size_t port = 0; port < std::size(ports); ++port) {
    if (std::find(route.transmit.begin(), route.transmit.end(), ports[port]) ==
        route.transmit.end())
      continue;
    for (int64_t y = route.y[0]; y < route.y[1]; y += route.y[2])
      for (int64_t x = route.x[0]; x < route.x[1]; x += route.x[2])
        use((size_t(y) * view.machine.width + size_t(x)) * std::size(ports) +
            port);
  }
}

PlacementView::LinkView wsec::busiestLink(const PlacementView &view) {
  std::vector<int64_t> words(std::size(ports) * view.machine.width *
                             view.machine.height);
  for (const PlacementView::StreamView &stream : view.streams)
    for (const PlacementView::RouteView &route : stream.routes)
      forLinks(view, route, [&](size_t link) { words[link] += stream.words; });
  const auto most = std::max_element(words.begin(), words.end());
  PlacementView::LinkView busiest;
  if (most == words.end() || *most == 0)
    return busiest;
  const size_t number = size_t(most - words.begin());
  const int64_t pe = int64_t(number / std::size(ports));
  busiest = {*most,
             pe % view.machine.width,
             pe / view.machine.width,
             ports[number % std::size(ports)],
             {}};
  for (const PlacementView::StreamView &stream : view.streams) {
    bool passes = false;
    for (const PlacementView::RouteView &route : stream.routes)
      forLinks(view, route, [&](size_t link) { passes |= link == number; });
    if (passes && stream.words > 0)
      busiest.streams.push_back(stream.name);
  }
  return busiest;
}
