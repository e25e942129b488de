// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/route/PathRouter.h"
#include "compiler/route/PathSearch.h"
#include "compiler/route/RouteRules.h"

#include <algorithm>

using namespace wsec;

namespace {

/// Rounds without less trouble than before, after which negotiation is hopeless
/// in the colors at hand.
constexpr int64_t patience = 6;
/// Beyond this, being dearer changes no choice.
constexpr int64_t mostPressure = int64_t(1) << 20;

struct Bundle {
  std::vector<size_t> nets;
  int64_t color = -1; ///< the last one tried
  size_t number = 0;
};

class Negotiation {
public:
  Negotiation(const PathProblem &problem, Paths &paths)
      : problem(problem), paths(paths), demand(problem),
        search(problem, demand) {}

  std::optional<PathFailure> run();

private:
  std::string describeCrowd() const;
  std::string describeLink(int64_t link) const;
  std::string describeLinks() const;
  std::string describePlace(size_t net, PathPE pe) const;
  std::string describeNoWay(size_t net, int64_t color, PathPE pe);
  bool isOutOfSteps() const { return search.steps() >= problem.mostSteps; }
  std::string remedy(const Bundle &bundle) const;
  bool nextColor(Bundle &bundle);
  bool isTakenInFamily(const Bundle &bundle);
  void forget(Bundle &bundle);
  bool routeNet(size_t net, int64_t pressure);
  bool isCrowded(size_t net) const;
  int64_t round(bool all, int64_t pressure);
  bool settle();
  bool moveSome();
  void gather();
  void prefer(size_t index);
  bool attempt();
  PathPE indexOf(const PathSetting &setting) const {
    return setting.y * problem.meshWidth + setting.x;
  }
  Bundle &bundleOf(size_t net) { return bundles[bundleIndex[net]]; }

  const PathProblem &problem;
  Paths &paths;
  PathDemand demand;
  PathSearch search;
  std::vector<Bundle> bundles;
  std::vector<size_t> bundleIndex; ///< by net
  std::optional<size_t> walled;    ///< a net that no way is left for
  size_t failed = 0;               ///< the bundle that has no color left
  std::string reason;
  PathFailure::Kind kind = PathFailure::Settings; ///< of the trouble
  bool lacksColors = false;                       ///< the one that failed
};

} // namespace

//===----------------------------------------------------------------------===//
// Words for failures
//===----------------------------------------------------------------------===//

static std::string quoted(const std::string &name) { return "'" + name + "'"; }

std::string Negotiation::remedy(const Bundle &bundle) const {
  std::string text =
      "\nof " + std::to_string(problem.colors) + " colors none is left for ";
  text += quoted(problem.nets[bundle.nets.front()].name);
  if (bundle.nets.size() > 1)
    text += " and the " + std::to_string(bundle.nets.size() - 1) +
            " others that share its color";
  return text;
}

/// The link by which a net enters a PE.
std::string Negotiation::describePlace(size_t net, PathPE pe) const {
  for (const PathSetting &setting : paths.nets[net].settings)
    if (indexOf(setting) == pe)
      return quoted(problem.nets[net].name) + " from " + name(setting.receive);
  return quoted(problem.nets[net].name);
}

/// The link that has to pass too many words; or nothing.
std::string Negotiation::describeLinks() const {
  for (const auto &[number, link] : demand.links())
    if (demand.isOverloaded(number))
      return describeLink(number);
  return "";
}

/// The PE that most nets of a color want; or nothing.
std::string Negotiation::describeCrowd() const {
  int64_t most = 1, color = 0;
  PathPE where = 0;
  for (const RoutedPath &path : paths.nets)
    for (const PathSetting &setting : path.settings)
      if (int64_t users = demand.usersOf(path.color, indexOf(setting));
          users > most) {
        most = users;
        color = path.color;
        where = indexOf(setting);
      }
  if (most == 1)
    return "";
  std::string who;
  for (size_t n = 0; n < paths.nets.size(); ++n)
    for (const PathSetting &setting : paths.nets[n].settings)
      if (paths.nets[n].color == color && indexOf(setting) == where)
        who += (who.empty() ? "" : " and ") + describePlace(n, where);
  return who + " compete for color " + std::to_string(color) + " of " +
         describePE(where % problem.meshWidth, where / problem.meshWidth);
}

std::string Negotiation::describeLink(int64_t link) const {
  std::string who;
  int64_t words = 0;
  for (size_t net : demand.links().at(link).nets) {
    who += (who.empty() ? "" : " and ") + quoted(problem.nets[net].name);
    words = std::max(words,
                     problem.nets[net].words + demand.wordsBeside(net, link));
  }
  const PathPE pe = link / 4;
  return who + " compete for the link from " +
         describePE(pe % problem.meshWidth, pe / problem.meshWidth) + " to " +
         name(Port(link % 4)) + ", which would have to pass " +
         std::to_string(words) + " words at a time and passes " +
         std::to_string(problem.linkWords);
}

std::string Negotiation::describeNoWay(size_t net, int64_t color, PathPE pe) {
  std::string who;
  for (const std::string &name : search.blockers(net, color))
    who += (who.empty() ? " past " : ", ") + name;
  return "on color " + std::to_string(color) + " no way is left for " +
         quoted(problem.nets[net].name) + " from " +
         describePE(problem.nets[net].x, problem.nets[net].y) + " to " +
         describePE(pe % problem.meshWidth, pe / problem.meshWidth) + who;
}

//===----------------------------------------------------------------------===//
// Negotiation
//===----------------------------------------------------------------------===//

void Negotiation::forget(Bundle &bundle) {
  for (size_t net : bundle.nets) {
    demand.remove(net, paths.nets[net]);
    demand.release(net, bundle.color);
    paths.nets[net] = {};
  }
}

/// Whether another bundle of its family has the color; says so.
bool Negotiation::isTakenInFamily(const Bundle &bundle) {
  const int64_t family = problem.nets[bundle.nets.front()].family;
  for (const Bundle &other : bundles)
    if (family >= 0 && &other != &bundle && other.color == bundle.color &&
        problem.nets[other.nets.front()].family == family) {
      reason = quoted(problem.nets[bundle.nets.front()].name) + " and " +
               quoted(problem.nets[other.nets.front()].name) +
               " need different colors";
      return true;
    }
  return false;
}

/// Claims the ends of its nets on the next color where they are free.
bool Negotiation::nextColor(Bundle &bundle) {
  for (++bundle.color; bundle.color < problem.colors; ++bundle.color) {
    if (isTakenInFamily(bundle))
      continue;
    size_t claimed = 0;
    while (claimed < bundle.nets.size() &&
           demand.claim(bundle.nets[claimed], bundle.color))
      ++claimed;
    if (claimed == bundle.nets.size())
      return true;
    const PathPE pe = demand.clashedPE();
    reason = quoted(problem.nets[bundle.nets[claimed]].name) + " and " +
             demand.whoHas(bundle.nets[claimed], bundle.color, pe) +
             " compete for color " + std::to_string(bundle.color) + " of " +
             describePE(pe % problem.meshWidth, pe / problem.meshWidth);
    while (claimed > 0)
      demand.release(bundle.nets[--claimed], bundle.color);
  }
  return false;
}

bool Negotiation::routeNet(size_t net, int64_t pressure) {
  RoutedPath &path = paths.nets[net];
  demand.remove(net, path);
  path = {};
  const int64_t color = bundleOf(net).color;
  if (auto found = search.grow(net, color, pressure)) {
    path = std::move(*found);
    demand.add(net, path);
    return true;
  }
  walled = net;
  if (isOutOfSteps()) {
    reason = "the search for " + quoted(problem.nets[net].name) +
             " and the others has looked at " +
             std::to_string(problem.mostSteps) + " PEs and gives up";
    std::string crowd = describeCrowd();
    if (crowd.empty())
      crowd = describeLinks();
    if (!crowd.empty())
      reason += "\n" + crowd;
    kind = PathFailure::Effort;
  } else {
    reason = describeNoWay(net, color, search.missed());
  }
  return false;
}

bool Negotiation::isCrowded(size_t net) const {
  const RoutedPath &path = paths.nets[net];
  for (const PathSetting &setting : path.settings) {
    const PathPE pe = indexOf(setting);
    if (demand.usersOf(path.color, pe) > 1)
      return true;
    for (int64_t side = 0; side < 4; ++side)
      if ((setting.transmit >> side & 1) && demand.isOverloaded(pe * 4 + side))
        return true;
  }
  return path.settings.empty();
}

/// Routes nets that are in trouble, or all. What trouble is left; -1: one of
/// them has no way.
int64_t Negotiation::round(bool all, int64_t pressure) {
  for (const Bundle &bundle : bundles)
    for (size_t net : bundle.nets)
      if ((all || isCrowded(net)) && !routeNet(net, pressure))
        return -1;
  return demand.punish();
}

/// Negotiates with the colors as they are. False if that leads nowhere.
bool Negotiation::settle() {
  demand.forget();
  walled.reset();
  kind = PathFailure::Settings;
  int64_t least = INT64_MAX, pressure = 1;
  for (int64_t since = 0, number = 0; since < patience; ++since, ++number) {
    const int64_t trouble = round(number == 0, pressure);
    if (trouble <= 0)
      return trouble == 0;
    if (trouble < least) {
      least = trouble;
      since = 0;
    }
    pressure = std::min(pressure * 2, mostPressure);
  }
  reason = describeCrowd();
  if (reason.empty()) {
    kind = PathFailure::Link;
    reason = describeLinks();
  }
  return false;
}

/// The last of the bundles in trouble goes on to its next color. Alone on its
/// color it would fare no better on another. False if none has one.
bool Negotiation::moveSome() {
  if (isOutOfSteps()) {
    failed = walled ? bundleIndex[*walled] : 0;
    lacksColors = false;
    return false;
  }
  const std::string why = reason;
  std::string full;
  for (size_t i = bundles.size(); i-- > 0;) {
    Bundle &bundle = bundles[i];
    const bool troubled =
        walled ? bundleIndex[*walled] == i
               : std::any_of(bundle.nets.begin(), bundle.nets.end(),
                             [&](size_t net) { return isCrowded(net); });
    if (!troubled)
      continue;
    if (full.empty()) {
      full = remedy(bundle);
      failed = i;
    }
    if (!demand.isShared(bundle.color, bundle.number))
      continue;
    const Bundle before = bundle;
    forget(bundle);
    if (nextColor(bundle))
      return true;
    bundle.color = before.color;
    for (size_t net : bundle.nets)
      demand.claim(net, bundle.color);
  }
  reason = why + full;
  lacksColors = !full.empty();
  return false;
}

void Negotiation::gather() {
  std::map<size_t, size_t> numbers;
  for (size_t net = 0; net < problem.nets.size(); ++net) {
    const size_t number = problem.nets[net].bundle;
    const size_t index =
        numbers.try_emplace(number, bundles.size()).first->second;
    if (index == bundles.size())
      bundles.push_back({{}, -1, number});
    bundles[index].nets.push_back(net);
  }
}

/// Lets the bundle choose before all others, who begin anew, too.
void Negotiation::prefer(size_t index) {
  for (Bundle &bundle : bundles)
    if (bundle.color >= 0 && bundle.color < problem.colors)
      forget(bundle);
  std::rotate(bundles.begin(), bundles.begin() + ptrdiff_t(index),
              bundles.begin() + ptrdiff_t(index) + 1);
  for (Bundle &bundle : bundles)
    bundle.color = -1;
}

/// With the bundles in this order.
bool Negotiation::attempt() {
  bundleIndex.assign(problem.nets.size(), 0);
  for (size_t i = 0; i < bundles.size(); ++i)
    for (size_t net : bundles[i].nets)
      bundleIndex[net] = i;
  for (size_t i = 0; i < bundles.size(); ++i)
    if (!nextColor(bundles[i])) {
      failed = i;
      reason += remedy(bundles[i]);
      lacksColors = true;
      return false;
    }
  while (!settle())
    if (!moveSome())
      return false;
  return true;
}

std::optional<PathFailure> Negotiation::run() {
  paths.nets.assign(problem.nets.size(), {});
  gather();
  std::optional<PathFailure> first;
  // Whoever fails chooses first in the next attempt.
  for (size_t attempts = 0; attempts <= std::min<size_t>(bundles.size(), 2);
       ++attempts) {
    if (attempt())
      return std::nullopt;
    if (!first)
      first = {reason, bundles[failed].number, kind, lacksColors};
    if (failed == 0 || isOutOfSteps())
      break; // it had the first choice already
    prefer(failed);
  }
  return first;
}

std::optional<PathFailure> wsec::routeByNegotiation(const PathProblem &problem,
                                                    Paths &paths) {
  return Negotiation(problem, paths).run();
}
