// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Settings are sorted by color and place, so that looking for one costs a
// search in their list and nothing depends on the size of the mesh.

#include "compiler/route/PathProblem.h"
#include "compiler/route/RouteRules.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

using namespace wsec;

static std::string text(const PathNet &net) { return "net '" + net.name + "'"; }

//===----------------------------------------------------------------------===//
// The input
//===----------------------------------------------------------------------===//

static bool liesIn(const PathProblem &problem, const Rect &r) {
  return r.x0 >= 0 && r.x0 < r.x1 && r.x1 <= problem.meshWidth && r.y0 >= 0 &&
         r.y0 < r.y1 && r.y1 <= problem.meshHeight && r.xstep >= 1 &&
         r.ystep >= 1;
}

/// Whether words can enter or leave the mesh there.
static bool isAtEdge(const PathProblem &problem, const Rect &r, Port port) {
  switch (port) {
  case Port::North:
    return r.y0 == 0 && r.y0 + r.ystep >= r.y1;
  case Port::South:
    return r.y0 + 1 == problem.meshHeight;
  case Port::East:
    return r.x0 + 1 == problem.meshWidth;
  case Port::West:
    return r.x0 == 0 && r.x0 + r.xstep >= r.x1;
  case Port::Ramp:
    return true;
  }
  return false;
}

static std::string checkNet(const PathProblem &problem, const PathNet &net) {
  if (net.x < 0 || net.x >= problem.meshWidth || net.y < 0 ||
      net.y >= problem.meshHeight)
    return text(net) + " begins at " + describePE(net.x, net.y) +
           ", which is not on the mesh";
  if (!isAtEdge(problem, {net.x, net.x + 1, 1, net.y, net.y + 1, 1}, net.entry))
    return text(net) + " enters the mesh at " + describePE(net.x, net.y) +
           " from " + name(net.entry) + ", where there is no edge";
  if (net.destinations.empty())
    return text(net) + " has no destination";
  for (const Rect &rect : net.destinations) {
    if (!liesIn(problem, rect))
      return text(net) + " has a destination that is not on the mesh";
    if (!isAtEdge(problem, rect, net.exit))
      return text(net) + " leaves the mesh to " + name(net.exit) +
             ", where there is no edge";
    if (net.exit != Port::Ramp && net.exit == net.entry &&
        rect.contains(net.x, net.y))
      return text(net) + " leaves the mesh where it enters";
  }
  if (net.begin >= net.end)
    return text(net) + " is never in use";
  if (net.words < 1 || net.words > problem.linkWords)
    return text(net) + " brings " + std::to_string(net.words) +
           " words in a unit of time, a link passes " +
           std::to_string(problem.linkWords);
  return "";
}

std::string PathProblem::check() const {
  if (meshWidth < 1 || meshHeight < 1)
    return "the mesh has no PEs";
  if (colors < 1 || colors > 32)
    return std::to_string(colors) + " colors, expected 1 to 32";
  for (const PathNet &net : nets)
    if (std::string error = checkNet(*this, net); !error.empty())
      return error;
  std::map<size_t, const PathNet *> firstOf; // by bundle
  for (const PathNet &net : nets)
    if (const PathNet *first =
            firstOf.try_emplace(net.bundle, &net).first->second;
        first->family != net.family)
      return text(net) + " and " + text(*first) +
             " are of one bundle and of different families";
  for (const PathObstacle &obstacle : obstacles)
    if (obstacle.color < PathObstacle::everyColor || obstacle.color >= colors ||
        !liesIn(*this, obstacle.rect))
      return "an obstacle is of no color or not on the mesh";
  return "";
}

//===----------------------------------------------------------------------===//
// The solution
//===----------------------------------------------------------------------===//

namespace {

using Place = std::pair<int64_t, int64_t>; // y, x

/// A setting, and whose it is.
struct Owned {
  int64_t color;
  Place place;
  size_t net;
};

class PathChecker {
public:
  PathChecker(const PathProblem &problem, const Paths &paths)
      : problem(problem), paths(paths) {}
  std::string run();

private:
  std::string checkColors() const;
  std::string checkSettings(size_t net) const;
  std::string checkExclusive() const;
  std::string followNet(size_t net);
  std::string checkHeard(size_t net) const;
  std::string checkLinks() const;
  bool fail(std::string message) {
    if (error.empty())
      error = std::move(message);
    return false;
  }
  bool follow(size_t net, const PathSetting &from);
  std::string where(size_t net) const {
    return text(problem.nets[net]) + ", color " +
           std::to_string(paths.nets[net].color) + ": ";
  }

  const PathProblem &problem;
  const Paths &paths;
  std::map<Place, const PathSetting *> own; // of the net that is followed
  std::set<Place> fed, heard;
  std::string error;
};

} // namespace

/// N1.
std::string PathChecker::checkColors() const {
  if (paths.nets.size() != problem.nets.size())
    return "N1: expected paths of " + std::to_string(problem.nets.size()) +
           " nets, found " + std::to_string(paths.nets.size());
  std::map<size_t, size_t> firstOf;
  std::map<std::pair<int64_t, int64_t>, size_t> ownerOf; // by family and color
  for (size_t n = 0; n < paths.nets.size(); ++n) {
    const int64_t color = paths.nets[n].color;
    if (color < 0 || color >= problem.colors)
      return "N1: " + text(problem.nets[n]) + " has color " +
             std::to_string(color) + ", there are 0 to " +
             std::to_string(problem.colors - 1);
    const size_t first =
        firstOf.try_emplace(problem.nets[n].bundle, n).first->second;
    if (paths.nets[first].color != color)
      return "N1: " + text(problem.nets[n]) + " has color " +
             std::to_string(color) + ", " + text(problem.nets[first]) +
             " of its bundle has " + std::to_string(paths.nets[first].color);
    if (problem.nets[n].family < 0)
      continue;
    const size_t owner =
        ownerOf.try_emplace({problem.nets[n].family, color}, n).first->second;
    if (problem.nets[owner].bundle != problem.nets[n].bundle)
      return "N1: " + text(problem.nets[n]) + " has color " +
             std::to_string(color) + " like " + text(problem.nets[owner]) +
             " of another bundle of its family";
  }
  return "";
}

/// N2.
std::string PathChecker::checkSettings(size_t net) const {
  for (const PathSetting &setting : paths.nets[net].settings) {
    if (setting.x < 0 || setting.x >= problem.meshWidth || setting.y < 0 ||
        setting.y >= problem.meshHeight)
      return "N2: " + where(net) + describePE(setting.x, setting.y) +
             " is not on the mesh";
    const unsigned transmit = setting.transmit;
    if (transmit == 0 || transmit > 31 || unsigned(setting.receive) > 4)
      return "N2: " + where(net) + describePE(setting.x, setting.y) +
             " transmits to no port";
    if (setting.receive != Port::Ramp && (transmit & portBit(setting.receive)))
      return "N2: " + where(net) + describePE(setting.x, setting.y) +
             " sends words back to " + name(setting.receive);
  }
  return "";
}

/// N3.
std::string PathChecker::checkExclusive() const {
  std::vector<Owned> all;
  for (size_t n = 0; n < paths.nets.size(); ++n)
    for (const PathSetting &setting : paths.nets[n].settings)
      all.push_back({paths.nets[n].color, {setting.y, setting.x}, n});
  std::sort(all.begin(), all.end(), [](const Owned &a, const Owned &b) {
    return std::tie(a.color, a.place, a.net) <
           std::tie(b.color, b.place, b.net);
  });
  for (size_t i = 0; i < all.size(); ++i) {
    const auto [y, x] = all[i].place;
    if (i > 0 && all[i].color == all[i - 1].color &&
        all[i].place == all[i - 1].place)
      return "N3: " + where(all[i].net) + describePE(x, y) +
             " has two settings of this color, the other of " +
             text(problem.nets[all[i - 1].net]);
    for (const PathObstacle &obstacle : problem.obstacles)
      if ((obstacle.color == all[i].color ||
           obstacle.color == PathObstacle::everyColor) &&
          obstacle.rect.contains(x, y))
        return "N3: " + where(all[i].net) + describePE(x, y) +
               " has a setting of this color already, or may have none";
  }
  return "";
}

/// N4 for all hops of one setting; goes on behind them.
bool PathChecker::follow(size_t net, const PathSetting &from) {
  const Port exit = problem.nets[net].exit;
  std::vector<const PathSetting *> work = {&from};
  while (!work.empty()) {
    const PathSetting &at = *work.back();
    work.pop_back();
    // Received from one side only, so met once.
    fed.insert({at.y, at.x});
    if (at.transmit & portBit(Port::Ramp)) {
      if (exit != Port::Ramp)
        return fail("N5: " + where(net) + "words reach " +
                    describePE(at.x, at.y) + ", which is not meant");
      heard.insert({at.y, at.x});
    }
    for (Port side : fabric::sides) {
      if (!(at.transmit & portBit(side)))
        continue;
      if (side == exit &&
          isAtEdge(problem, {at.x, at.x + 1, 1, at.y, at.y + 1, 1}, side)) {
        heard.insert({at.y, at.x});
        continue;
      }
      const int64_t x = at.x + stepX(side);
      const int64_t y = at.y + stepY(side);
      const auto next = own.find({y, x});
      const std::string hop =
          where(net) + describePE(at.x, at.y) + " sends words to " + name(side);
      if (next == own.end())
        return fail("N4: " + hop + ", but " + describePE(x, y) +
                    " has no setting of the net");
      if (next->second->receive != opposite(side))
        return fail("N4: " + hop + ", but " + describePE(x, y) +
                    " receives from " + name(next->second->receive));
      work.push_back(next->second);
    }
  }
  return true;
}

/// N5.
std::string PathChecker::checkHeard(size_t net) const {
  const PathNet &its = problem.nets[net];
  std::set<Place> meant;
  for (const Rect &r : its.destinations)
    for (int64_t y = r.y0; y < r.y1; y += r.ystep)
      for (int64_t x = r.x0; x < r.x1; x += r.xstep)
        meant.insert({y, x});
  if (heard == meant)
    return "";
  for (const auto &[y, x] : heard)
    if (!meant.count({y, x}))
      return "N5: " + where(net) + "words reach " + describePE(x, y) +
             ", which is not meant";
  for (const auto &[y, x] : meant)
    if (!heard.count({y, x}))
      return "N5: " + where(net) + "words do not reach " + describePE(x, y);
  return "";
}

/// N4 to N6.
std::string PathChecker::followNet(size_t net) {
  const PathNet &its = problem.nets[net];
  own.clear();
  fed.clear();
  heard.clear();
  for (const PathSetting &setting : paths.nets[net].settings)
    own[{setting.y, setting.x}] = &setting;
  const auto source = own.find({its.y, its.x});
  if (source == own.end() || source->second->receive != its.entry)
    return "N5: " + where(net) + describePE(its.x, its.y) +
           " is its source, but does not receive from " + name(its.entry);
  if (!follow(net, *source->second))
    return error;
  if (std::string wrong = checkHeard(net); !wrong.empty())
    return wrong;
  return fed.size() == own.size()
             ? ""
             : "N6: " + where(net) + std::to_string(own.size() - fed.size()) +
                   " settings are fed by nothing";
}

/// N7. What a link passes is most where some net begins.
std::string PathChecker::checkLinks() const {
  std::map<std::tuple<int64_t, int64_t, unsigned>, std::vector<size_t>> users;
  for (size_t n = 0; n < paths.nets.size(); ++n)
    for (const PathSetting &setting : paths.nets[n].settings)
      for (Port side : fabric::sides)
        if (setting.transmit & portBit(side))
          users[{setting.y, setting.x, unsigned(side)}].push_back(n);
  for (const auto &[link, nets] : users)
    for (size_t at : nets) {
      const int64_t time = problem.nets[at].begin;
      int64_t words = 0;
      std::string who;
      for (size_t n : nets) {
        const PathNet &net = problem.nets[n];
        if (net.begin > time || time >= net.end)
          continue;
        words += net.words;
        who += (who.empty() ? "" : ", ") + net.name;
      }
      if (words > problem.linkWords)
        return "N7: the link from " +
               describePE(std::get<1>(link), std::get<0>(link)) + " to " +
               name(Port(std::get<2>(link))) + " has to pass " +
               std::to_string(words) + " words of " + who + " and passes " +
               std::to_string(problem.linkWords);
    }
  return "";
}

std::string PathChecker::run() {
  std::string wrong = checkColors();
  for (size_t n = 0; n < problem.nets.size() && wrong.empty(); ++n)
    wrong = checkSettings(n);
  if (wrong.empty())
    wrong = checkExclusive();
  for (size_t n = 0; n < problem.nets.size() && wrong.empty(); ++n)
    wrong = followNet(n);
  return wrong.empty() ? checkLinks() : wrong;
}

std::string PathProblem::verify(const Paths &paths) const {
  return PathChecker(*this, paths).run();
}
