// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Nets on small meshes: what the router finds is legal, and where it finds
// nothing on a tiny mesh, there is nothing: the oracle goes through all sets of
// PEs that hold together.
#include "compiler/route/PathRouter.h"
#include "test/compiler/problems/Problems.h"

#include <algorithm>
#include <bitset>
#include <functional>

using namespace wsec;
using namespace wsec::test;

namespace {

using Rules = std::set<std::string>;

const std::vector<Complaint> complaints = {
    {"N1", "expected paths of"},
    {"N1", "there are 0 to"},
    {"N1", "of its bundle has"},
    {"N1", "of another bundle of its family"},
    {"N2", "is not on the mesh"},
    {"N2", "transmits to no port"},
    {"N2", "sends words back to"},
    {"N3", "has two settings of this color"},
    {"N3", "has a setting of this color already"},
    {"N4", "has no setting of the net"},
    {"N4", ", but PE ("}, // ... receives from
    {"N5", "is its source, but does not receive from"},
    {"N5", "which is not meant"},
    {"N5", "words do not reach"},
    {"N6", "settings are fed by nothing"},
    {"N7", "has to pass"},
};

//===----------------------------------------------------------------------===//
// Problems
//===----------------------------------------------------------------------===//

/// A rectangle of at most `width` x `height` PEs, steps of 1 or 2.
Rect randomRect(const PathProblem &problem, int64_t width, int64_t height,
                Random &random) {
  Rect rect;
  rect.x0 = random.below(problem.meshWidth);
  rect.x1 = std::min(problem.meshWidth, rect.x0 + random.between(1, width));
  rect.y0 = random.below(problem.meshHeight);
  rect.y1 = std::min(problem.meshHeight, rect.y0 + random.between(1, height));
  rect.xstep = random.oneIn(6) ? 2 : 1;
  rect.ystep = random.oneIn(6) ? 2 : 1;
  return rect;
}

void placeSource(const PathProblem &problem, PathNet &net, Random &random) {
  net.x = random.below(problem.meshWidth);
  net.y = random.below(problem.meshHeight);
  if (!random.oneIn(5))
    return;
  switch (random.below(4)) {
  case 0:
    net.entry = Port::North;
    net.y = 0;
    return;
  case 1:
    net.entry = Port::South;
    net.y = problem.meshHeight - 1;
    return;
  case 2:
    net.entry = Port::East;
    net.x = problem.meshWidth - 1;
    return;
  case 3:
    net.entry = Port::West;
    net.x = 0;
    return;
  }
}

/// Sometimes the words leave the mesh, by one PE or all of an edge.
void placeExit(const PathProblem &problem, PathNet &net, bool tiny,
               Random &random) {
  if (!random.oneIn(5))
    return;
  Rect rect = randomRect(problem, tiny ? 1 : 4, tiny ? 1 : 2, random);
  net.exit = random.oneIn(2) ? Port::East : Port::North;
  if (net.exit == Port::East)
    rect.x0 = problem.meshWidth - 1, rect.x1 = problem.meshWidth;
  else
    rect.y0 = 0, rect.y1 = 1;
  const bool enters = net.entry == net.exit && net.x >= rect.x0 &&
                      net.x < rect.x1 && net.y >= rect.y0 && net.y < rect.y1;
  if (enters)
    net.exit = Port::Ramp;
  else
    net.destinations = {rect};
}

/// Whether no end of the net is among `ends`; if so, adds them.
bool isApart(const PathProblem &problem, const PathNet &net,
             std::set<int64_t> &ends) {
  std::set<int64_t> own = {net.y * problem.meshWidth + net.x};
  for (const Rect &r : net.destinations)
    for (int64_t y = r.y0; y < r.y1; y += r.ystep)
      for (int64_t x = r.x0; x < r.x1; x += r.xstep)
        own.insert(y * problem.meshWidth + x);
  for (int64_t end : own)
    if (ends.count(end))
      return false;
  ends.insert(own.begin(), own.end());
  return true;
}

PathProblem randomProblem(bool tiny, Random &random) {
  PathProblem problem;
  problem.meshWidth = random.between(2, tiny ? 4 : 9);
  problem.meshHeight = random.between(1, tiny ? 3 : 9);
  problem.colors = random.between(1, tiny ? 2 : 4);
  problem.linkWords = tiny ? 99 : random.between(1, 4);
  const int64_t count = random.between(1, tiny ? 4 : 6);
  std::vector<int64_t> families; // by bundle
  for (int64_t n = 0; n < count; ++n)
    families.push_back(random.oneIn(3) ? 0 : -1);
  const bool apart = !random.oneIn(5);
  std::set<int64_t> ends;
  for (int64_t n = 0; n < count; ++n) {
    PathNet net;
    net.name = "n" + std::to_string(n);
    placeSource(problem, net, random);
    for (int64_t i = random.between(1, 2); i > 0; --i)
      net.destinations.push_back(
          randomRect(problem, tiny ? 1 : 4, tiny ? 1 : 2, random));
    placeExit(problem, net, tiny, random);
    // Mostly nets whose ends do not meet.
    if (apart && !isApart(problem, net, ends))
      continue;
    net.bundle = size_t(random.below(count));
    net.family = families[net.bundle];
    net.words = random.between(1, problem.linkWords);
    net.begin = random.below(4);
    net.end = random.between(net.begin + 1, 4);
    problem.nets.push_back(net);
  }
  for (int64_t i = random.oneIn(2) ? 0 : random.between(1, 3); i > 0; --i)
    problem.obstacles.push_back({random.between(-1, problem.colors - 1),
                                 randomRect(problem, tiny ? 1 : 3, 2, random)});
  return problem;
}

//===----------------------------------------------------------------------===//
// Oracle of rules
//===----------------------------------------------------------------------===//

class PathOracle {
public:
  PathOracle(const PathProblem &problem, const Paths &paths)
      : problem(problem), paths(paths) {}

  Rules brokenRules();

private:
  bool covers(const Rect &r, int64_t x, int64_t y) const {
    for (int64_t i = r.x0; i < r.x1; i += r.xstep)
      for (int64_t j = r.y0; j < r.y1; j += r.ystep)
        if (i == x && j == y)
          return true;
    return false;
  }
  bool isSound(const PathSetting &s) const {
    return s.x >= 0 && s.y >= 0 && s.x < problem.meshWidth &&
           s.y < problem.meshHeight && s.transmit > 0 && s.transmit < 32 &&
           s.receive <= Port::Ramp &&
           (s.receive == Port::Ramp || !(s.transmit & portBit(s.receive)));
  }
  void judgeNet(size_t n, Rules &broken) const;
  void judgeLinks(Rules &broken) const;
  bool haveColors() const;

  const PathProblem &problem;
  const Paths &paths;
};

bool PathOracle::haveColors() const {
  if (paths.nets.size() != problem.nets.size())
    return false;
  for (size_t a = 0; a < paths.nets.size(); ++a) {
    if (paths.nets[a].color < 0 || paths.nets[a].color >= problem.colors)
      return false;
    for (size_t b = 0; b < a; ++b)
      if (problem.nets[a].bundle == problem.nets[b].bundle
              ? paths.nets[a].color != paths.nets[b].color
              : problem.nets[a].family >= 0 &&
                    problem.nets[a].family == problem.nets[b].family &&
                    paths.nets[a].color == paths.nets[b].color)
        return false;
  }
  return true;
}

/// Spreads words from PE to PE until nothing changes.
void PathOracle::judgeNet(size_t n, Rules &broken) const {
  const PathNet &net = problem.nets[n];
  const int64_t width = problem.meshWidth, height = problem.meshHeight;
  std::vector<const PathSetting *> plane(size_t(width * height), nullptr);
  for (const PathSetting &s : paths.nets[n].settings)
    if (isSound(s))
      plane[size_t(s.y * width + s.x)] = &s;
  auto settingAt = [&](int64_t x, int64_t y) -> const PathSetting * {
    return x < 0 || y < 0 || x >= width || y >= height
               ? nullptr
               : plane[size_t(y * width + x)];
  };
  std::vector<bool> wet(plane.size(), false);
  auto leaves = [&](const PathSetting &s) {
    return (s.transmit & portBit(net.exit)) &&
           (net.exit == Port::Ramp ||
            (net.exit == Port::East ? s.x + 1 == width : s.y == 0));
  };
  const PathSetting *source = settingAt(net.x, net.y);
  if (!source || source->receive != net.entry)
    broken.insert("N5");
  else
    wet[size_t(net.y * width + net.x)] = true;
  const int64_t dx[] = {0, 0, 1, -1}, dy[] = {-1, 1, 0, 0};
  for (bool changed = true; changed;) {
    changed = false;
    for (const PathSetting *s : plane)
      for (unsigned side = 0; s && side < 4; ++side) {
        if (!wet[size_t(s->y * width + s->x)] || !(s->transmit >> side & 1))
          continue;
        const PathSetting *to = settingAt(s->x + dx[side], s->y + dy[side]);
        if (leaves(*s) && side == unsigned(net.exit))
          continue;
        if (!to || unsigned(to->receive) != (side ^ 1))
          broken.insert("N4");
        else if (!wet[size_t(to->y * width + to->x)])
          changed = wet[size_t(to->y * width + to->x)] = true;
      }
  }
  for (int64_t y = 0; y < height; ++y)
    for (int64_t x = 0; x < width; ++x) {
      const size_t i = size_t(y * width + x);
      const bool meant =
          std::any_of(net.destinations.begin(), net.destinations.end(),
                      [&](const Rect &rect) { return covers(rect, x, y); });
      const bool hears = wet[i] && leaves(*plane[i]);
      const bool ramp = wet[i] && (plane[i]->transmit & portBit(Port::Ramp));
      if (meant != hears || (ramp && net.exit != Port::Ramp))
        broken.insert("N5");
      if (plane[i] && !wet[i])
        broken.insert("N6");
    }
}

void PathOracle::judgeLinks(Rules &broken) const {
  std::map<std::vector<int64_t>, int64_t> words; // by PE, port and time
  for (size_t n = 0; n < paths.nets.size(); ++n)
    for (const PathSetting &s : paths.nets[n].settings)
      for (int64_t side = 0; side < 4; ++side)
        for (int64_t time = problem.nets[n].begin; time < problem.nets[n].end;
             ++time)
          if (s.transmit >> side & 1)
            words[{s.x, s.y, side, time}] += problem.nets[n].words;
  for (const auto &[link, sum] : words)
    if (sum > problem.linkWords)
      broken.insert("N7");
}

Rules PathOracle::brokenRules() {
  if (!haveColors())
    return {"N1"};
  Rules broken;
  std::set<std::vector<int64_t>> taken;
  for (size_t n = 0; n < paths.nets.size(); ++n) {
    const RoutedPath &path = paths.nets[n];
    for (const PathSetting &s : path.settings) {
      if (!isSound(s))
        broken.insert("N2");
      if (!taken.insert({path.color, s.x, s.y}).second)
        broken.insert("N3");
      for (const PathObstacle &obstacle : problem.obstacles)
        if ((obstacle.color == path.color || obstacle.color < 0) &&
            covers(obstacle.rect, s.x, s.y))
          broken.insert("N3");
    }
    judgeNet(n, broken);
  }
  judgeLinks(broken);
  return broken;
}

//===----------------------------------------------------------------------===//
// Oracle of solutions
//===----------------------------------------------------------------------===//

/// Sets of PEs, one bit each: at most 12.
using PEs = unsigned;

PEs neighboursOf(const PathProblem &problem, PEs set) {
  const int64_t width = problem.meshWidth, height = problem.meshHeight;
  PEs all = 0;
  for (int64_t i = 0; i < width * height; ++i) {
    if (!(set >> i & 1))
      continue;
    const int64_t x = i % width, y = i / width;
    all |= (x > 0 ? 1u << (i - 1) : 0) | (x + 1 < width ? 1u << (i + 1) : 0) |
           (y > 0 ? 1u << (i - width) : 0) |
           (y + 1 < height ? 1u << (i + width) : 0);
  }
  return all;
}

bool holdsTogether(const PathProblem &problem, PEs set) {
  PEs reached = set & (~set + 1);
  for (PEs before = 0; before != reached;) {
    before = reached;
    reached |= neighboursOf(problem, reached) & set;
  }
  return reached == set;
}

/// The sets of PEs that a net may take, none within another.
std::vector<PEs> waysOf(const PathProblem &problem, const PathNet &net) {
  const int64_t count = problem.meshWidth * problem.meshHeight;
  PEs ends = 1u << (net.y * problem.meshWidth + net.x);
  for (const Rect &r : net.destinations)
    ends |= 1u << (r.y0 * problem.meshWidth + r.x0);
  std::vector<PEs> ways;
  for (PEs set = 0; set < 1u << count; ++set)
    if ((set & ends) == ends && holdsTogether(problem, set) &&
        std::none_of(ways.begin(), ways.end(),
                     [&](PEs way) { return (way & set) == way; }))
      ways.push_back(set);
  return ways;
}

/// Of a problem whose links pass everything and whose destinations are single.
bool hasSolution(const PathProblem &problem) {
  std::vector<PEs> taken(size_t(problem.colors), 0);
  for (const PathObstacle &obstacle : problem.obstacles) {
    const Rect &r = obstacle.rect;
    for (int64_t y = r.y0; y < r.y1; y += r.ystep)
      for (int64_t x = r.x0; x < r.x1; x += r.xstep)
        for (int64_t color = 0; color < problem.colors; ++color)
          if (obstacle.color == color || obstacle.color < 0)
            taken[size_t(color)] |= 1u << (y * problem.meshWidth + x);
  }
  std::vector<std::vector<PEs>> ways;
  for (const PathNet &net : problem.nets)
    ways.push_back(waysOf(problem, net));
  std::map<size_t, size_t> colorOf; // of bundles
  auto isTaken = [&](const PathNet &net, size_t color) {
    for (const PathNet &other : problem.nets)
      if (net.family >= 0 && other.family == net.family &&
          other.bundle != net.bundle && colorOf.count(other.bundle) &&
          colorOf[other.bundle] == color)
        return true;
    return false;
  };
  std::function<bool(size_t)> place = [&](size_t n) {
    if (n == problem.nets.size())
      return true;
    const size_t bundle = problem.nets[n].bundle;
    const bool open = !colorOf.count(bundle);
    for (size_t color = 0; color < taken.size(); ++color) {
      if (!open && colorOf[bundle] != color)
        continue;
      if (open && isTaken(problem.nets[n], color))
        continue;
      colorOf[bundle] = color;
      for (PEs way : ways[n]) {
        if (taken[color] & way)
          continue;
        taken[color] |= way;
        const bool found = place(n + 1);
        taken[color] &= ~way;
        if (found)
          return true;
      }
    }
    if (open)
      colorOf.erase(bundle);
    return false;
  };
  return place(0);
}

//===----------------------------------------------------------------------===//
// Changes
//===----------------------------------------------------------------------===//

/// Changes the solution, or the problem, so that rule N1 to N7 is probably
/// broken.
void breakRule(int64_t rule, PathProblem &problem, Paths &paths,
               Random &random) {
  RoutedPath &path = random.of(paths.nets);
  PathSetting &setting = random.of(path.settings);
  switch (rule) {
  case 1:
    if (random.oneIn(3))
      paths.nets.pop_back();
    else
      path.color = random.between(-1, problem.colors);
    return;
  case 2:
    if (random.oneIn(3))
      (random.oneIn(2) ? setting.x : setting.y) += random.between(-9, 9);
    else if (random.oneIn(2))
      setting.transmit |= portBit(setting.receive);
    else
      setting.transmit = random.oneIn(2) ? 0 : 32;
    return;
  case 3:
    if (random.oneIn(2))
      path.settings.push_back(setting);
    else
      problem.obstacles.push_back(
          {path.color, randomRect(problem, 2, 2, random)});
    return;
  case 4:
    if (random.oneIn(2))
      setting.transmit = uint8_t(random.between(1, 31));
    else
      path.settings.erase(path.settings.begin() +
                          (&setting - path.settings.data()));
    return;
  case 5:
    if (random.oneIn(3))
      setting.receive = Port(random.below(5));
    else
      setting.transmit ^= portBit(Port::Ramp);
    return;
  case 6:
    path.settings.push_back(
        {random.below(problem.meshWidth), random.below(problem.meshHeight),
         Port(random.below(5)), uint8_t(random.between(1, 31))});
    return;
  case 7:
    random.of(problem.nets).words += random.below(4);
    random.of(problem.nets).begin -= random.below(3);
    return;
  }
}

void run(Random &random, Tally &tally) {
  const bool tiny = random.oneIn(3);
  const PathProblem problem = randomProblem(tiny, random);
  tally.expect(problem.check().empty(), problem.check());
  Paths paths, again;
  const auto failure = routeByNegotiation(problem, paths);
  const auto same = routeByNegotiation(problem, again);
  const std::string error = failure ? failure->reason : "";
  tally.expect(failure ? same && same->reason == error : !same,
               "the router is of two minds: " + error);
  tally.expect(!failure || ((failure->kind == PathFailure::Link) ==
                            (error.find("the link from") != std::string::npos)),
               "says it is a link, or not: " + error);
  tally.met("problems solved", error.empty());
  if (tiny) {
    const bool possible = hasSolution(problem);
    tally.expect(possible || !error.empty(), "a solution where there is none");
    tally.met("tiny problems without a solution", !possible);
    if (possible && !error.empty())
      tally.met("tiny problems whose solution was not found");
  }
  if (!error.empty()) {
    tally.met("problems refused for a link",
              error.find("the link from") != std::string::npos);
    tally.met("problems refused for a PE",
              error.find("compete for color") != std::string::npos);
    tally.met("problems refused for a wall",
              error.find("no way is left for") != std::string::npos);
    return;
  }
  tally.judge(problem.verify(paths), PathOracle(problem, paths).brokenRules());
  tally.expect(problem.verify(paths).empty(), problem.verify(paths));
  for (int64_t rule = 1; rule <= 7; ++rule) {
    PathProblem changed = problem;
    Paths broken = paths;
    breakRule(rule, changed, broken, random);
    tally.judge(changed.verify(broken),
                PathOracle(changed, broken).brokenRules());
  }
}

} // namespace

Phase wsec::test::paths() { return {"path", complaints, run}; }
