// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Routings are judged twice: hop by hop (RouteTracer) and from rectangles
// (RouteProof), which must hold for all that the router makes and for nothing
// in which the oracle finds a broken rule.
#include "compiler/route/ColoringRouter.h"
#include "compiler/route/RouteProof.h"
#include "compiler/route/RouteTracer.h"
#include "test/compiler/problems/Problems.h"
#include "test/compiler/problems/RoutingOracle.h"
#include "test/compiler/route/TransformerStreams.h"

#include <algorithm>

using namespace wsec;
using namespace wsec::test;

namespace {

const std::vector<Complaint> complaints = {
    {"R8", " has PEs of the keep-out of "},
    {"R1", "routed streams, found"},
    {"R1", " colors, pattern "},
    {"R1", "programs may use 0 to"},
    {"R1", " twice"},
    {"R2", "which is not its own"},
    {"R2", "does not lie in the mesh"},
    {"R2", ", the longest is"},
    {"R2", "transmits to no port"},
    {"R2", "sends words back to"},
    {"R3", "has two settings of this color"},
    {"R4", "sends words off the mesh to"},
    {"R4", "has no setting of this color"},
    {"R4", ", but PE ("}, // ... receives from
    {"R5", "is a source, but does not receive from"},
    {"R5", "which is not meant"},
    {"R5", " PEs"}, // reach 3 of 4 PEs
    {"R6", "are fed by no source"},
    {"R7", "relays to itself in more than one direction"},
    {"R7", "wait for themselves through relays"},
};

/// Channels with random rows and shares, some of them empty.
void moveChannels(RouteRegion &region, Random &random) {
  for (auto *channels : {&region.west, &region.east}) {
    const int64_t extent = channels->back().end;
    int64_t next = 0, row = 0;
    for (size_t l = 0; l < channels->size(); ++l) {
      RouteChannel &channel = (*channels)[l];
      const bool last = l + 1 == channels->size();
      channel.begin = next;
      channel.end = last ? extent : random.between(next, extent);
      next = channel.end;
      const int64_t spare = region.height - row - int64_t(channels->size() - l);
      channel.row = random.between(row, row + spare);
      row = channel.row + 1;
    }
  }
}

/// Groups of lines that fit into `extent` of them.
RowSet randomRows(int64_t extent, Random &random) {
  RowSet rows;
  rows.pitch = random.between(1, extent);
  rows.used = random.between(1, rows.pitch);
  rows.groups = random.between(1, (extent - rows.used) / rows.pitch + 1);
  return rows;
}

/// A region east of the others, in the same rows as the last if it can, with
/// some of the streams of a transformer.
void addRegion(RoutingProblem &problem, Random &random) {
  const size_t index = problem.regions.size();
  const bool beside = index > 0 && !random.oneIn(3);
  const int64_t width = random.between(1, 6);
  const int64_t height =
      beside ? problem.regions.back().height : random.between(1, 7);
  const RoutingProblem alone = transformerProblem(
      width, height, random.between(1, height), {1, height, height});
  RouteRegion region = alone.regions[0];
  if (random.oneIn(2))
    moveChannels(region, random);
  region.x = problem.meshWidth + (random.oneIn(2) ? 0 : random.below(3));
  region.y = beside && !random.oneIn(3)
                 ? problem.regions.back().y
                 : (random.oneIn(2) ? 0 : random.below(4));
  problem.meshWidth = region.x + width;
  problem.meshHeight = std::max(problem.meshHeight, region.y + height);
  problem.regions.push_back(region);
  for (StreamRequest stream : alone.streams) {
    if (!random.oneIn(3) ||
        (index > 0 && stream.pattern == StreamPattern::Launch))
      continue;
    stream.region = index;
    if (stream.rows.groups)
      stream.rows = randomRows(stream.pattern == StreamPattern::RootWest ||
                                       stream.pattern == StreamPattern::HeadCast
                                   ? width
                                   : height,
                               random);
    problem.streams.push_back(stream);
  }
}

void addTransfers(RoutingProblem &problem, Random &random) {
  for (size_t from = 0; from < problem.regions.size(); ++from)
    for (size_t to = 0; to < problem.regions.size(); ++to)
      if (from != to && random.oneIn(2)) {
        RowSet rows; // tokens, for those that have different rows
        if (problem.regions[from].height != problem.regions[to].height) {
          rows.groups = random.oneIn(2) ? 1 : random.between(1, 4);
          rows.pitch = rows.used = random.between(1, 9);
        }
        problem.streams.push_back(
            {"transfer", StreamPattern::Transfer, rows, from, to});
      }
}

/// Leaves PEs of no region around the regions.
void makeRoom(RoutingProblem &problem, Random &random) {
  const int64_t right = random.below(4), down = random.below(3);
  for (RouteRegion &region : problem.regions) {
    region.x += right;
    region.y += down;
  }
  problem.meshWidth += right + random.below(4);
  problem.meshHeight += down;
}

/// A few rectangles beside the regions.
void addKeepOuts(RoutingProblem &problem, Random &random) {
  for (int64_t i = random.between(1, 3); i > 0; --i) {
    Rect rect;
    rect.x0 = random.below(problem.meshWidth);
    rect.x1 = std::min(problem.meshWidth, rect.x0 + random.between(1, 3));
    rect.y0 = random.below(problem.meshHeight);
    rect.y1 = std::min(problem.meshHeight, rect.y0 + random.between(1, 3));
    problem.keepOuts.push_back(rect);
    if (!problem.check().empty())
      problem.keepOuts.pop_back();
  }
}

RoutingProblem randomProblem(Random &random) {
  for (;;) {
    RoutingProblem problem;
    for (int64_t i = random.oneIn(2) ? 1 : random.between(2, 3); i > 0; --i)
      addRegion(problem, random);
    addTransfers(problem, random);
    problem.meshWidth += random.oneIn(2) ? 0 : random.below(3);
    problem.meshHeight += random.oneIn(2) ? 0 : random.below(3);
    problem.colors = random.oneIn(3) ? random.between(1, 9) : 24;
    problem.relays = transformerProblem(1, 1, 1, {1, 1, 1}).relays;
    const std::vector<StreamRequest> all = problem.streams;
    problem.streams.clear();
    for (const StreamRequest &stream : all)
      if (problem.connects(stream))
        problem.streams.push_back(stream);
    if (problem.streams.empty() || !problem.check().empty())
      continue;
    if (random.oneIn(2))
      makeRoom(problem, random);
    if (random.oneIn(2))
      addKeepOuts(problem, random);
    return problem;
  }
}

Rect randomRect(const RoutingProblem &problem, Random &random) {
  Rect rect;
  rect.x0 = random.below(problem.meshWidth);
  rect.x1 = random.between(rect.x0 + 1, problem.meshWidth);
  rect.xstep = random.between(1, 3);
  rect.y0 = random.below(problem.meshHeight);
  rect.y1 = random.between(rect.y0 + 1, problem.meshHeight);
  rect.ystep = random.between(1, 3);
  return rect;
}

RouteRule randomRule(const RoutingProblem &problem, const RoutedStream &stream,
                     Random &random) {
  return {random.of(stream.colors), randomRect(problem, random),
          Port(random.below(5)), uint8_t(random.between(1, 31))};
}

void breakColors(RoutingProblem &problem, Routing &routing, Random &random) {
  std::vector<int64_t> &colors = random.of(routing.streams).colors;
  switch (random.below(5)) {
  case 0:
    return routing.streams.pop_back();
  case 1:
    return colors.push_back(random.below(problem.colors));
  case 2:
    return colors.pop_back();
  case 3:
    random.of(colors) = random.between(-1, problem.colors);
    return;
  case 4:
    colors.back() = colors.front();
    return;
  }
}

void breakRuleItself(RouteRule &rule, Random &random) {
  switch (random.below(5)) {
  case 0:
    rule.color += random.between(-2, 2);
    return;
  case 1: {
    Rect &r = rule.rect;
    int64_t *const sides[] = {&r.x0, &r.x1, &r.y0, &r.y1, &r.xstep, &r.ystep};
    *random.of(sides) += random.between(-12, 12);
    return;
  }
  case 2:
    (random.oneIn(2) ? rule.rect.xstep : rule.rect.ystep) =
        INT32_MAX + random.between(0, 1);
    return;
  case 3:
    rule.transmit = uint8_t(random.oneIn(2) ? 0 : random.between(32, 255));
    return;
  case 4:
    rule.transmit |= portBit(rule.receive);
    return;
  }
}

/// Gives a stream the color of another; harmless if they share no PE.
void shareColor(Routing &routing, Random &random) {
  RoutedStream &stream = random.of(routing.streams);
  const int64_t old = random.of(stream.colors);
  const int64_t color = random.of(random.of(routing.streams).colors);
  if (std::count(stream.colors.begin(), stream.colors.end(), color))
    return;
  std::replace(stream.colors.begin(), stream.colors.end(), old, color);
  for (RouteRule &rule : stream.rules)
    if (rule.color == old)
      rule.color = color;
}

/// Cuts a rule in two along x; nothing changes but the rectangles.
void cutInTwo(std::vector<RouteRule> &rules, RouteRule &rule, Random &random) {
  RouteRule second = rule;
  const int64_t count = (rule.rect.x1 - rule.rect.x0 - 1) / rule.rect.xstep;
  if (count == 0)
    return;
  rule.rect.x1 = second.rect.x0 =
      rule.rect.x0 + random.between(1, count) * rule.rect.xstep;
  rules.push_back(second);
}

/// Changes a rule of a stream, usually for the worse.
void bend(const RoutingProblem &problem, RoutedStream &stream, Random &random) {
  if (stream.rules.empty())
    return;
  RouteRule &rule = random.of(stream.rules);
  switch (random.below(8)) {
  case 0:
    stream.rules.erase(stream.rules.begin() + (&rule - stream.rules.data()));
    return;
  case 1:
    rule.transmit = uint8_t(random.between(1, 31));
    return;
  case 2:
    rule.receive = Port(random.below(5));
    return;
  case 3:
    rule.rect = randomRect(problem, random);
    return;
  case 4:
    (random.oneIn(2) ? rule.rect.x1 : rule.rect.y1) -= 1;
    return;
  case 5:
    return cutInTwo(stream.rules, rule, random);
  case 6:
    std::swap(rule, stream.rules.front());
    return;
  case 7:
    stream.rules.push_back(randomRule(problem, stream, random));
    return;
  }
}

/// A single PE with a setting, or four in a ring that feed each other.
void addLeftOver(const RoutingProblem &problem, RoutedStream &stream,
                 Random &random) {
  const int64_t color = random.of(stream.colors);
  const int64_t x = random.below(problem.meshWidth);
  const int64_t y = random.below(problem.meshHeight);
  auto add = [&](int64_t x, int64_t y, Port receive, Port transmit) {
    stream.rules.push_back(
        {color, {x, x + 1, 1, y, y + 1, 1}, receive, portBit(transmit)});
  };
  if (random.oneIn(2))
    return add(x, y, Port(random.below(4)), Port::Ramp);
  add(x, y, Port::South, Port::East);
  add(x + 1, y, Port::West, Port::South);
  add(x + 1, y + 1, Port::North, Port::West);
  add(x, y + 1, Port::East, Port::North);
}

/// Changes the routing, or what relays to what, so that the rule is probably
/// broken; 0: anything, twice.
void breakRule(int rule, RoutingProblem &problem, Routing &routing,
               Random &random) {
  RoutedStream &stream = random.of(routing.streams);
  switch (rule) {
  case 0:
    bend(problem, stream, random);
    return bend(problem, random.of(routing.streams), random);
  case 1:
    return breakColors(problem, routing, random);
  case 2:
    return breakRuleItself(random.of(stream.rules), random);
  case 3:
    return shareColor(routing, random);
  case 4:
    random.of(stream.rules).transmit |= uint8_t(1u << random.below(4));
    return;
  case 5: // of two PEs: as many hear the words as should
    for (int64_t i = random.between(1, 2); i > 0; --i)
      random.of(stream.rules).transmit ^= portBit(Port::Ramp);
    return;
  case 6:
    return addLeftOver(problem, stream, random);
  case 8:
    problem.keepOuts.push_back(randomRect(problem, random));
    problem.keepOuts.back().xstep = problem.keepOuts.back().ystep = 1;
    return;
  case 7: {
    const StreamPattern from = random.of(problem.streams).pattern;
    problem.relays.emplace_back(
        from,
        random.oneIn(4)
            ? from
            : fabric::allPatterns[random.below(std::size(fabric::allPatterns))]
                  .pattern);
    return;
  }
  }
}

/// A tree of random ways from the source of `words` through PEs that are not
/// `taken`, cut back to the hearers; takes its PEs. False if it misses one.
bool growTree(const RoutingProblem &problem, const MeantWords &words,
              int64_t color, std::vector<bool> &taken,
              std::vector<RouteRule> &rules, Random &random) {
  const int64_t columns = problem.meshWidth;
  const int64_t rows = problem.meshHeight;
  std::map<int64_t, Port> receive;     // of what was reached
  std::map<int64_t, uint8_t> transmit; // of what is needed
  std::vector<int64_t> reached = {int64_t(words.source)};
  receive[reached[0]] = words.entry;
  const int64_t dx[] = {0, 0, 1, -1}, dy[] = {-1, 1, 0, 0};
  for (int64_t tries = 12 * columns * rows; tries > 0; --tries) {
    const int64_t from = random.of(reached), side = random.below(4);
    const int64_t x = from % columns + dx[side], y = from / columns + dy[side];
    const int64_t to = y * columns + x;
    if (x < 0 || x >= columns || y < 0 || y >= rows || receive.count(to) ||
        (taken[size_t(to)] && !words.hearers[size_t(to)]))
      continue;
    receive[to] = Port(side ^ 1);
    reached.push_back(to);
  }
  auto need = [&](int64_t at, Port port) {
    if (!receive.count(at))
      return false;
    while (transmit[at] |= portBit(port), at != int64_t(words.source)) {
      const size_t side = size_t(receive[at]);
      port = Port(side ^ 1);
      at += dy[side] * columns + dx[side];
    }
    return true;
  };
  bool complete = true;
  for (int64_t i = 0; i < columns * rows; ++i)
    if (words.hearers[size_t(i)])
      complete &= need(i, Port::Ramp);
  // Sometimes in a row that is not the source's.
  const int64_t row =
      random.oneIn(8) ? random.below(rows) : int64_t(words.source) / columns;
  if (words.exits)
    complete &= need((row + 1) * columns - 1, Port::East);
  for (auto [at, ports] : transmit) {
    const int64_t x = at % columns, y = at / columns;
    rules.push_back({color, {x, x + 1, 1, y, y + 1, 1}, receive[at], ports});
    taken[size_t(at)] = true;
  }
  return complete;
}

/// Sends all words of a stream another way. False if that went wrong.
bool detour(const RoutingProblem &problem, const RoutingOracle &oracle,
            Routing &routing, Random &random) {
  RoutedStream &stream = random.of(routing.streams);
  const size_t index = size_t(&stream - routing.streams.data());
  bool complete = true;
  stream.rules.clear();
  for (size_t c = 0; c < stream.colors.size(); ++c) {
    const std::vector<MeantWords> meant =
        oracle.meantOf(index, c, stream.colors.size());
    std::vector<bool> taken(size_t(problem.meshWidth * problem.meshHeight),
                            false);
    for (const MeantWords &words : meant) {
      taken[words.source] = true;
      for (size_t i = 0; i < taken.size(); ++i)
        taken[i] = taken[i] || words.hearers[i];
    }
    for (const MeantWords &words : meant)
      complete &= growTree(problem, words, stream.colors[c], taken,
                           stream.rules, random);
  }
  return complete;
}

void judge(const RoutingProblem &problem, const RoutingOracle &oracle,
           const Routing &routing, Tally &tally) {
  const std::set<std::string> broken = oracle.brokenRules(routing);
  const std::string said = problem.verify(routing);
  tally.judge(said, broken);
  tally.expect(traceRouting(problem, routing) == said,
               "verify and the walk over all PEs disagree: " + said);
  const bool proved = proveRouting(problem, routing);
  tally.expect(!proved || broken.empty(), "the proof holds for a broken rule");
  tally.met("changed routings that the proof holds for", proved);
  tally.met("sound ones that it does not hold for", !proved && broken.empty());
}

/// Without enough colors there is no routing; with as many as the router
/// asks for there is one, but for ways that are searched.
void checkTooManyColors(RoutingProblem problem, const std::string &error,
                        Tally &tally) {
  const bool crowded = error.compare(0, 17, "RouteCongestion: ") == 0;
  tally.met("problems without a way for a transfer",
            error.find("ways for a transfer") != std::string::npos);
  tally.met("problems without a way to or from the edge",
            error.find("ways for stream '") != std::string::npos);
  tally.met("problems with a region that launches do not reach",
            error.find("launches do not reach") != std::string::npos);
  if (crowded)
    return;
  const std::string before = "ColorOverflow: the streams of the program need ";
  tally.expect(error.compare(0, before.size(), before) == 0, error);
  const int64_t needed = std::atoll(error.c_str() + before.size());
  tally.expect(needed > problem.colors, error);
  problem.colors = needed;
  Routing routing;
  const std::string still = routeByColoring(problem, routing);
  tally.expect(still.compare(0, 17, "RouteCongestion: ") == 0 ||
                   (still.empty() && problem.verify(routing).empty()),
               "still no routing: " + error);
}

/// Rules all over the mesh: mostly nonsense, sometimes loops.
Routing nonsense(const RoutingProblem &problem, Random &random) {
  Routing routing;
  int64_t next = 0;
  for (const StreamRequest &request : problem.streams) {
    RoutedStream stream;
    for (int i = 0; i < request.pattern.colors(); ++i)
      stream.colors.push_back(next++ % problem.colors);
    for (int64_t i = random.between(1, 4); i > 0; --i)
      stream.rules.push_back(randomRule(problem, stream, random));
    routing.streams.push_back(stream);
  }
  return routing;
}

void run(Random &random, Tally &tally) {
  const RoutingProblem problem = randomProblem(random);
  const RoutingOracle oracle(problem);
  judge(problem, oracle, nonsense(problem, random), tally);
  Routing routing;
  const std::string error = routeByColoring(problem, routing);
  tally.met("problems with too few colors", !error.empty());
  if (!error.empty())
    return checkTooManyColors(problem, error, tally);
  tally.met("routings");
  const bool searched = std::any_of(
      problem.streams.begin(), problem.streams.end(),
      [&](const StreamRequest &each) { return problem.isSearched(each); });
  tally.met("routings with searched ways", searched);
  const bool straight = proveRouting(problem, routing);
  tally.met("routings round keep-outs",
            !straight && !searched && !problem.keepOuts.empty());
  tally.met("routings of too few colors to go straight",
            !straight && !searched && problem.keepOuts.empty());
  tally.expect(straight != searched || (!straight && problem.colors < 24) ||
                   !problem.keepOuts.empty(),
               "straight ways were not taken");
  tally.expect(!(straight && searched) &&
                   traceRouting(problem, routing).empty() &&
                   oracle.brokenRules(routing).empty(),
               "the router breaks a rule: " + problem.verify(routing));
  Routing around = routing;
  const bool found = detour(problem, oracle, around, random);
  tally.met("streams sent another way", found);
  judge(problem, oracle, around, tally);
  for (int rule : {0, 1, 2, 3, 4, 5, 6, 7, 8}) {
    RoutingProblem changed = problem;
    Routing bent = found && random.oneIn(4) ? around : routing;
    breakRule(rule, changed, bent, random);
    judge(changed, rule >= 7 ? RoutingOracle(changed) : oracle, bent, tally);
  }
}

} // namespace

Phase wsec::test::routings() { return {"route", complaints, run}; }
