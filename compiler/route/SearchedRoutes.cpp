// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each row of a transfer is a net, and each channel of what enters or leaves
// the mesh; those of one color are a bundle. What is routed already are
// obstacles, and keep-outs are. Rows whose ways would cross on one color do not
// on two; where colors do not help, links pass words of several rows in turn.

#include "compiler/route/SearchedRoutes.h"
#include "compiler/route/PathRouter.h"
#include "compiler/route/PatternSemantics.h"
#include "compiler/route/RouteRules.h"

#include <algorithm>
#include <optional>
#include <tuple>

using namespace wsec;

namespace {

/// A stream, and among how many colors the rows of a transfer are dealt.
struct Searched {
  size_t stream = 0;
  int64_t colors = 1;
  struct Net {
    size_t number;
    int64_t slot; ///< of the stream's colors
  };
  std::vector<Net> nets;
};

class SearchedRouter {
public:
  SearchedRouter(const RoutingProblem &problem,
                 const std::vector<bool> &searched, Routing &routing);

  std::string run();
  /// Of a failure: whether another color would do.
  bool lacksColors = false;

private:
  int64_t firstColors(const Searched &its) const;
  int64_t leastLinkWords() const;
  void findWindow();
  void addObstacles();
  void addNets();
  void addRows(Searched &its, size_t bundle);
  void addChannels(Searched &its, size_t bundle);
  void addNet(Searched &its, size_t bundle, int64_t slot, PathNet net);
  bool yield(const PathFailure &failure);
  void write(const Paths &paths);
  std::string describe(const PathFailure &failure) const;
  const StreamRequest &requestOf(const Searched &its) const {
    return problem.streams[its.stream];
  }
  bool isTransfer(const Searched &its) const {
    return requestOf(its).pattern.movement == fabric::Movement::Transfer;
  }
  const RouteRegion &sourceOf(const Searched &its) const {
    return problem.regions[requestOf(its).region];
  }
  const RouteRegion &targetOf(const Searched &its) const {
    return problem.regions[requestOf(its).target];
  }
  /// Bundles count through the colors of all transfers.
  size_t ownerOf(size_t bundle) const; ///< index in `all`

  const RoutingProblem &problem;
  Routing &routing;
  std::vector<Searched> all;
  Rect window; ///< of the mesh, in which ways are looked for
  PathProblem paths;
};

} // namespace

SearchedRouter::SearchedRouter(const RoutingProblem &problem,
                               const std::vector<bool> &searched,
                               Routing &routing)
    : problem(problem), routing(routing) {
  for (size_t i = 0; i < problem.streams.size(); ++i)
    if (searched[i])
      all.push_back({i, 1, {}});
  for (Searched &its : all)
    if (isTransfer(its))
      its.colors = firstColors(its);
}

/// Rows that go straight but for keep-outs fill their lanes: those in the way
/// turn aside into lanes of rows that have another color.
int64_t SearchedRouter::firstColors(const Searched &its) const {
  const StreamRequest &request = requestOf(its);
  const int64_t least = problem.leastColors(request);
  return problem.isSearched(request) || sourceOf(its).height == 1
             ? least
             : std::max<int64_t>(2, least);
}

/// That some link passes at a time wherever the ways lie: of a transfer that
/// goes past a keep-out more rows may have words than there are rows beside it.
int64_t SearchedRouter::leastLinkWords() const {
  int64_t most = 1;
  for (const Searched &its : all) {
    if (!isTransfer(its) || problem.isSearched(requestOf(its)))
      continue;
    const RouteRegion &from = sourceOf(its), &to = targetOf(its);
    const int64_t begin = std::min(from.x + from.width, to.x + to.width);
    const int64_t end = std::max(from.x, to.x);
    for (const Rect &keepOut : problem.keepOuts)
      if (const int64_t lanes = problem.meshHeight - (keepOut.y1 - keepOut.y0);
          keepOut.x0 < end && keepOut.x1 > begin && lanes > 0)
        most = std::max(most, (from.height + lanes - 1) / lanes);
  }
  return most;
}

/// Around all regions that take part, with room to pass beside them; all of
/// the mesh if words go to its edges, or have to go round keep-outs.
void SearchedRouter::findWindow() {
  window = {problem.meshWidth, 0, 1, problem.meshHeight, 0, 1};
  int64_t room = 1;
  for (const Searched &its : all)
    for (const RouteRegion *region : {&sourceOf(its), &targetOf(its)}) {
      window.x0 = std::min(window.x0, region->x);
      window.x1 = std::max(window.x1, region->x + region->width);
      window.y0 = std::min(window.y0, region->y);
      window.y1 = std::max(window.y1, region->y + region->height);
      room = std::max(room, region->height);
    }
  if (!problem.keepOuts.empty() ||
      !std::all_of(all.begin(), all.end(),
                   [&](const Searched &its) { return isTransfer(its); }))
    window = {0, problem.meshWidth, 1, 0, problem.meshHeight, 1};
  window.x0 = std::max<int64_t>(0, window.x0 - room);
  window.x1 = std::min(problem.meshWidth, window.x1 + room);
  window.y0 = std::max<int64_t>(0, window.y0 - room);
  window.y1 = std::min(problem.meshHeight, window.y1 + room);
  paths.meshWidth = window.x1 - window.x0;
  paths.meshHeight = window.y1 - window.y0;
  paths.colors = problem.colors;
  paths.mostSteps = problem.searchSteps;
}

/// The part of a progression from `begin` on and below `end`.
static bool clip(int64_t &from, int64_t &to, int64_t step, int64_t begin,
                 int64_t end) {
  if (from < begin)
    from += (begin - from + step - 1) / step * step;
  to = std::min(to, end);
  from -= begin;
  to -= begin;
  return from < to;
}

void SearchedRouter::addObstacles() {
  auto add = [&](int64_t color, Rect rect, const std::string &name) {
    if (clip(rect.x0, rect.x1, rect.xstep, window.x0, window.x1) &&
        clip(rect.y0, rect.y1, rect.ystep, window.y0, window.y1))
      paths.obstacles.push_back({color, rect, name});
  };
  for (size_t i = 0; i < routing.streams.size(); ++i)
    for (const RouteRule &rule : routing.streams[i].rules)
      add(rule.color, rule.rect, "stream '" + problem.streams[i].name + "'");
  for (const Rect &rect : problem.keepOuts)
    add(PathObstacle::everyColor, rect, describeKeepOut(rect));
}

/// A net that has coordinates of the mesh.
void SearchedRouter::addNet(Searched &its, size_t bundle, int64_t slot,
                            PathNet net) {
  net.x -= window.x0;
  net.y -= window.y0;
  for (Rect &rect : net.destinations) {
    rect.x0 -= window.x0;
    rect.x1 -= window.x0;
    rect.y0 -= window.y0;
    rect.y1 -= window.y0;
  }
  net.bundle = bundle + size_t(slot);
  net.family = int64_t(its.stream);
  its.nets.push_back({paths.nets.size(), slot});
  paths.nets.push_back(std::move(net));
}

void SearchedRouter::addRows(Searched &its, size_t bundle) {
  const RouteRegion &from = sourceOf(its), &to = targetOf(its);
  for (int64_t row = 0; row < from.height; ++row) {
    PathNet net;
    net.destinations = heardBy(problem, requestOf(its), row);
    if (net.destinations.empty())
      continue;
    net.name =
        "row " + std::to_string(row) + " of @" + from.name + " to @" + to.name;
    net.x = senderColumn(problem, requestOf(its));
    net.y = from.y + row;
    addNet(its, bundle, row % its.colors, std::move(net));
  }
}

/// What enters the mesh for the PEs of a channel, or leaves it from one.
void SearchedRouter::addChannels(Searched &its, size_t bundle) {
  const RouteRegion &region = sourceOf(its);
  for (const Span &span : spansOf(problem, requestOf(its), 0, 1))
    for (const Progression &row : span.lines) {
      PathNet net;
      net.x = region.x + span.sources.begin;
      net.y = region.y + row.begin;
      net.name = (span.exits ? "the exit in row " : "the channel in row ") +
                 std::to_string(net.y) + (span.exits ? " of @" : " to @") +
                 region.name;
      Rect to{net.x + span.low, net.x + span.high + 1, 1, net.y, net.y + 1, 1};
      if (span.exits) { // at the edge
        net.exit = Port::East;
        --to.x0;
        --to.x1;
      } else {
        net.entry = Port::West;
      }
      net.destinations = {to};
      addNet(its, bundle, 0, std::move(net));
    }
}

void SearchedRouter::addNets() {
  paths.nets.clear();
  size_t bundle = 0;
  for (Searched &its : all) {
    its.nets.clear();
    isTransfer(its) ? addRows(its, bundle) : addChannels(its, bundle);
    bundle += size_t(its.colors);
  }
}

size_t SearchedRouter::ownerOf(size_t bundle) const {
  size_t i = 0;
  for (; bundle >= size_t(all[i].colors); ++i)
    bundle -= size_t(all[i].colors);
  return i;
}

/// Tries with more colors, or more words on a link. False if that is in vain.
bool SearchedRouter::yield(const PathFailure &failure) {
  if (failure.kind == PathFailure::Effort)
    return false;
  if (failure.kind == PathFailure::Link) {
    paths.linkWords *= 2;
    return true;
  }
  Searched &its = all[ownerOf(failure.bundle)];
  if (!isTransfer(its))
    return false;
  const int64_t most = std::min(sourceOf(its).height, problem.colors);
  if (its.colors == most)
    return false;
  its.colors = std::min(its.colors + (its.colors + 1) / 2, most);
  return true;
}

/// Settings that are alike, as rectangles: runs of rows, one over the other.
static std::vector<RouteRule> makeRules(std::vector<PathSetting> settings,
                                        int64_t color) {
  auto kind = [](const PathSetting &s) {
    return std::make_tuple(s.receive, s.transmit);
  };
  std::sort(settings.begin(), settings.end(),
            [&](const PathSetting &a, const PathSetting &b) {
              return std::make_tuple(kind(a), a.y, a.x) <
                     std::make_tuple(kind(b), b.y, b.x);
            });
  std::vector<RouteRule> runs;
  for (const PathSetting &s : settings) {
    RouteRule *last = runs.empty() ? nullptr : &runs.back();
    if (last && last->receive == s.receive && last->transmit == s.transmit &&
        last->rect.y0 == s.y && last->rect.x1 == s.x)
      ++last->rect.x1;
    else
      runs.push_back(
          {color, {s.x, s.x + 1, 1, s.y, s.y + 1, 1}, s.receive, s.transmit});
  }
  std::sort(runs.begin(), runs.end(),
            [](const RouteRule &a, const RouteRule &b) {
              return std::make_tuple(a.receive, a.transmit, a.rect.x0,
                                     a.rect.x1, a.rect.y0) <
                     std::make_tuple(b.receive, b.transmit, b.rect.x0,
                                     b.rect.x1, b.rect.y0);
            });
  std::vector<RouteRule> rules;
  for (const RouteRule &run : runs) {
    RouteRule *last = rules.empty() ? nullptr : &rules.back();
    if (last && last->receive == run.receive &&
        last->transmit == run.transmit && last->rect.x0 == run.rect.x0 &&
        last->rect.x1 == run.rect.x1 && last->rect.y1 == run.rect.y0)
      ++last->rect.y1;
    else
      rules.push_back(run);
  }
  return rules;
}

void SearchedRouter::write(const Paths &found) {
  for (const Searched &its : all) {
    RoutedStream &stream = routing.streams[its.stream];
    for (int64_t slot = 0; slot < its.colors; ++slot) {
      std::vector<PathSetting> settings;
      int64_t color = -1;
      for (const Searched::Net &each : its.nets) {
        if (each.slot != slot)
          continue;
        const RoutedPath &net = found.nets[each.number];
        color = net.color;
        for (PathSetting setting : net.settings) {
          setting.x += window.x0;
          setting.y += window.y0;
          settings.push_back(setting);
        }
      }
      stream.colors.push_back(color);
      for (const RouteRule &rule : makeRules(std::move(settings), color))
        stream.rules.push_back(rule);
    }
    // Turns of rows without tokens: colors that nobody sends on.
    int64_t unused = 0;
    for (int64_t &color : stream.colors)
      if (color < 0) {
        while (std::find(stream.colors.begin(), stream.colors.end(), unused) !=
               stream.colors.end())
          ++unused;
        color = unused;
      }
  }
}

static std::string describe(const RouteRegion &region) {
  return "@" + region.name + " in rows " + std::to_string(region.y) + " to " +
         std::to_string(region.y + region.height - 1);
}

std::string SearchedRouter::describe(const PathFailure &failure) const {
  const Searched &its = all[ownerOf(failure.bundle)];
  if (failure.kind == PathFailure::Effort)
    return "RouteEffort: " + failure.reason +
           "\nplace regions in the same rows, or leave columns free between "
           "them";
  if (!isTransfer(its))
    return "RouteCongestion: there are no ways for stream '" +
           requestOf(its).name + "' of " + ::describe(sourceOf(its)) + "\n" +
           failure.reason +
           "\nplace it elsewhere, or leave a lane of PEs free to the edge";
  return "RouteCongestion: there are no ways for a transfer from " +
         ::describe(sourceOf(its)) + " to " + ::describe(targetOf(its)) + "\n" +
         failure.reason +
         "\nplace both in the same rows, or leave columns free between them";
}

std::string SearchedRouter::run() {
  if (all.empty())
    return "";
  for (const Searched &its : all)
    if (its.colors > problem.colors)
      return "RouteCongestion: " + std::to_string(its.colors) + " rows of " +
             ::describe(sourceOf(its)) + " meet in one of " +
             ::describe(targetOf(its)) + ", each in a color of its own, of " +
             std::to_string(problem.colors) +
             "\nplace both in regions whose heights differ less";
  findWindow();
  paths.linkWords = leastLinkWords();
  addObstacles();
  for (;;) {
    addNets();
    Paths found;
    const std::optional<PathFailure> failure = routeByNegotiation(paths, found);
    if (!failure) {
      write(found);
      return "";
    }
    if (yield(*failure))
      continue;
    lacksColors = failure->lacksColors;
    return describe(*failure);
  }
}

std::string wsec::routeSearched(const RoutingProblem &problem,
                                const std::vector<bool> &searched,
                                Routing &routing, bool &lacksColors) {
  SearchedRouter router(problem, searched, routing);
  const std::string error = router.run();
  lacksColors = router.lacksColors;
  return error;
}
