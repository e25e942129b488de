// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "test/compiler/problems/RoutingOracle.h"

#include <algorithm>
#include <numeric>

using namespace wsec;
using namespace wsec::test;

using Rules = std::set<std::string>;
using PE = RoutingOracle::PE;

namespace {

constexpr Port sides[] = {Port::North, Port::South, Port::East, Port::West};

bool carries(const RouteChannel &channel, int64_t i) {
  return i >= channel.begin && i < channel.end;
}

/// The channel at a row; null if there is none.
const RouteChannel *channelAt(const std::vector<RouteChannel> &channels,
                              int64_t row) {
  for (const RouteChannel &channel : channels)
    if (channel.row == row)
      return &channel;
  return nullptr;
}

bool entersFromTheEdge(StreamPattern pattern) {
  return pattern == StreamPattern::Channel ||
         pattern == StreamPattern::ChannelRow ||
         pattern == StreamPattern::Launch;
}

bool leavesTheMesh(StreamPattern pattern) {
  return pattern == StreamPattern::OutExit ||
         pattern == StreamPattern::OutBand || pattern == StreamPattern::OutHalf;
}

/// The tokens of a row of a region of a transfer, one after the other dealt to
/// the rows of their batch element, or batch elements to rows.
std::set<int64_t> tokensIn(const StreamRequest &transfer, int64_t height,
                           int64_t row) {
  const int64_t batch = transfer.rows.groups, tokens = transfer.rows.pitch;
  if (batch == 0) // as many rows in both regions
    return {row};
  std::vector<std::set<int64_t>> rows(static_cast<size_t>(height));
  // The first `n % p` of p parts have one more than the others.
  auto deal = [](int64_t n, int64_t p, auto give) {
    for (int64_t part = 0, next = 0; part < p; ++part)
      for (int64_t i = n / p + (part < n % p ? 1 : 0); i > 0; --i)
        give(part, next++);
  };
  if (batch > height)
    deal(batch, height, [&](int64_t part, int64_t element) {
      for (int64_t t = 0; t < tokens; ++t)
        rows[size_t(part)].insert(element * tokens + t);
    });
  else
    for (int64_t element = 0; element < batch; ++element)
      deal(tokens, std::min(tokens, height / batch),
           [&](int64_t part, int64_t t) {
             rows[size_t(element * (height / batch) + part)].insert(
                 element * tokens + t);
           });
  return rows[size_t(row)];
}

/// The exit of a column for words of `rows`: its row, and whether the column is
/// the last that has it, or the last of the west half of those. Columns are
/// dealt to the exits one after the other.
struct ColumnExit {
  int64_t row = -1;
  bool last = false, lastOfHalf = false;
};
ColumnExit exitOf(const RouteRegion &region, const RowSet &rows, int64_t x) {
  std::vector<int64_t> exits;
  for (const RouteChannel &channel : region.east)
    if (channel.row >= (rows.groups - 1) * rows.pitch + rows.used - 1)
      exits.push_back(channel.row);
  const int64_t count = int64_t(exits.size());
  int64_t column = 0;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t some = region.width / count + (i < region.width % count);
    if (x < column + some)
      return {exits[size_t(i)], x + 1 == column + some,
              x + 1 == column + some / 2};
    column += some;
  }
  return {};
}

/// Sources of both colors of a pattern that lie in its region.
bool sends(const RoutingProblem &problem, const StreamRequest &request, PE p) {
  const RouteRegion &region = problem.regions[request.region];
  const RowSet &rows = request.rows;
  const RouteChannel *west = channelAt(region.west, p.y);
  const RouteChannel *east = channelAt(region.east, p.y);
  switch (numberOf(request.pattern)) {
  case numberOf(StreamPattern::Column):
  case numberOf(StreamPattern::ColumnRest):
    return west && carries(*west, p.x);
  case numberOf(StreamPattern::RowWest):
    return p.x > 0;
  case numberOf(StreamPattern::RowEast):
    return p.x + 1 < region.width;
  case numberOf(StreamPattern::RowCast):
    return p.x == 0;
  case numberOf(StreamPattern::KeyNorth):
  case numberOf(StreamPattern::ValueNorth):
    return p.y > 0;
  case numberOf(StreamPattern::SumSouth):
    return p.y + 1 < region.height;
  case numberOf(StreamPattern::KeyCast):
  case numberOf(StreamPattern::ValueCast):
    return p.y % rows.pitch == 0 && p.y / rows.pitch < rows.groups;
  case numberOf(StreamPattern::OutNorth):
    return p.x + 1 == region.width &&
           std::any_of(region.east.begin(), region.east.end(),
                       [&](const RouteChannel &channel) {
                         return carries(channel, p.y) && channel.row < p.y;
                       });
  case numberOf(StreamPattern::OutExit):
    return p.x + 1 == region.width && east && east->begin < east->end;
  case numberOf(StreamPattern::OutColumn):
    return rows.contains(p.y) && p.y < exitOf(region, rows, p.x).row;
  case numberOf(StreamPattern::OutBand):
  case numberOf(StreamPattern::OutHalf): {
    const ColumnExit exit = exitOf(region, rows, p.x);
    return p.y == exit.row &&
           (request.pattern == StreamPattern::OutHalf ? exit.lastOfHalf
                                                      : exit.last);
  }
  case numberOf(StreamPattern::RootWest):
    return p.x > 0 && p.x % rows.pitch == 0 && p.x / rows.pitch < rows.groups;
  case numberOf(StreamPattern::RootNorth):
    return p.y > 0 && p.y % rows.pitch == 0 && p.y / rows.pitch < rows.groups;
  case numberOf(StreamPattern::HeadCast):
    return p.x % rows.pitch == 0 && p.x / rows.pitch < rows.groups;
  case numberOf(StreamPattern::Transfer):
    return (problem.regions[request.target].x < region.x
                ? p.x == 0
                : p.x + 1 == region.width) &&
           !tokensIn(request, region.height, p.y).empty();
  default:
    return false;
  }
}

/// Sources at the west edge of the mesh, which is column -x of a region.
bool enters(const RoutingProblem &problem, const StreamRequest &request, PE p) {
  const RouteRegion &region = problem.regions[request.region];
  const RouteChannel *channel = channelAt(region.west, p.y);
  if (p.x != -region.x)
    return false;
  switch (numberOf(request.pattern)) {
  case numberOf(StreamPattern::Channel):
    return channel && channel->begin < channel->end;
  case numberOf(StreamPattern::ChannelRow):
    return channel;
  case numberOf(StreamPattern::Launch):
    return p.y == -region.y;
  default:
    return false;
  }
}

/// Of a pattern with several colors, which one the source sends on.
int64_t colorOf(const StreamRequest &request, PE source, int64_t colors) {
  switch (numberOf(request.pattern)) {
  case numberOf(StreamPattern::RowWest):
  case numberOf(StreamPattern::RowEast):
    return source.x % 2;
  case numberOf(StreamPattern::KeyNorth):
  case numberOf(StreamPattern::ValueNorth):
  case numberOf(StreamPattern::OutNorth):
  case numberOf(StreamPattern::SumSouth):
    return source.y % 2;
  case numberOf(StreamPattern::OutColumn): {
    int64_t number = 0;
    for (int64_t y = 0; y < source.y; ++y)
      number += request.rows.contains(y);
    return number % 2;
  }
  case numberOf(StreamPattern::RootWest):
    return source.x / request.rows.pitch % 2;
  case numberOf(StreamPattern::RootNorth):
    return source.y / request.rows.pitch % 2;
  case numberOf(StreamPattern::Transfer):
    return source.y % colors;
  default:
    return 0;
  }
}

/// Whether a PE in row `y` of the region a transfer goes to hears row `source`.
bool meets(const RoutingProblem &problem, const StreamRequest &transfer,
           int64_t source, int64_t y) {
  const RouteRegion &from = problem.regions[transfer.region];
  const RouteRegion &to = problem.regions[transfer.target];
  const std::set<int64_t> some = tokensIn(transfer, from.height, source);
  for (int64_t token : tokensIn(transfer, to.height, y))
    if (some.count(token))
      return true;
  return false;
}

/// Whether `p`, of the region, hears what `source` sends.
bool hears(const RouteRegion &region, const StreamRequest &request, PE source,
           PE p) {
  const RowSet &rows = request.rows;
  switch (numberOf(request.pattern)) {
  case numberOf(StreamPattern::Channel):
    return p.y == source.y && carries(*channelAt(region.west, p.y), p.x);
  case numberOf(StreamPattern::Column):
    return p.x == source.x && rows.contains(p.y);
  case numberOf(StreamPattern::ColumnRest):
    return p.x == source.x && p.y != source.y && rows.contains(p.y);
  case numberOf(StreamPattern::RowWest):
    return p.y == source.y && p.x == source.x - 1;
  case numberOf(StreamPattern::RowEast):
    return p.y == source.y && p.x == source.x + 1;
  case numberOf(StreamPattern::RowCast):
  case numberOf(StreamPattern::ChannelRow):
    return p.y == source.y;
  case numberOf(StreamPattern::KeyNorth):
  case numberOf(StreamPattern::ValueNorth):
  case numberOf(StreamPattern::OutNorth):
    return p.x == source.x && p.y == source.y - 1;
  case numberOf(StreamPattern::SumSouth):
    return p.x == source.x && p.y == source.y + 1;
  case numberOf(StreamPattern::KeyCast):
  case numberOf(StreamPattern::ValueCast):
    return p.x == source.x && p.y / rows.pitch == source.y / rows.pitch &&
           p.y % rows.pitch < rows.used;
  case numberOf(StreamPattern::OutColumn): {
    const int64_t exit = exitOf(region, rows, p.x).row;
    if (p.x != source.x || p.y <= source.y || p.y > exit)
      return false;
    for (int64_t y = source.y + 1; y < p.y; ++y)
      if (rows.contains(y))
        return false;
    return p.y == exit || rows.contains(p.y);
  }
  case numberOf(StreamPattern::OutExit):
  case numberOf(StreamPattern::OutBand):
  case numberOf(StreamPattern::OutHalf):
    return false;
  case numberOf(StreamPattern::RootWest):
    return p.y == source.y && p.x == source.x - rows.pitch;
  case numberOf(StreamPattern::RootNorth):
    return p.x == source.x && p.y == source.y - rows.pitch;
  case numberOf(StreamPattern::HeadCast):
    return p.y == source.y && p.x / rows.pitch == source.x / rows.pitch &&
           p.x % rows.pitch < rows.used;
  case numberOf(StreamPattern::Launch):
    return true;
  case numberOf(StreamPattern::Transfer): // see `meets`
    return false;
  }
  return false;
}

bool contains(const RouteRegion &region, PE p) {
  return p.x >= 0 && p.x < region.width && p.y >= 0 && p.y < region.height;
}

/// The regions whose PEs may hear a stream.
std::vector<size_t> listeners(const RoutingProblem &problem,
                              const StreamRequest &request) {
  if (request.pattern == StreamPattern::Transfer)
    return {request.target};
  if (request.pattern != StreamPattern::Launch)
    return {request.region};
  std::vector<size_t> all(problem.regions.size());
  std::iota(all.begin(), all.end(), size_t(0));
  return all;
}

/// R2.
bool isSound(const RoutingProblem &problem, const RoutedStream &stream,
             const RouteRule &rule) {
  auto within = [](int64_t begin, int64_t end, int64_t step, int64_t length) {
    return begin >= 0 && begin < end && end <= length && step > 0 &&
           step <= INT32_MAX;
  };
  const Rect &r = rule.rect;
  const std::vector<int64_t> &colors = stream.colors;
  return std::count(colors.begin(), colors.end(), rule.color) &&
         within(r.x0, r.x1, r.xstep, problem.meshWidth) &&
         within(r.y0, r.y1, r.ystep, problem.meshHeight) && rule.transmit > 0 &&
         rule.transmit < 32 && rule.receive <= Port::Ramp &&
         (rule.receive == Port::Ramp ||
          !(rule.transmit & portBit(rule.receive)));
}

/// Whether a PE of the rule may have no setting.
bool isKeptOut(const RoutingProblem &problem, const RouteRule &rule) {
  const Rect &r = rule.rect;
  for (int64_t y = r.y0; y < r.y1; y += r.ystep)
    for (int64_t x = r.x0; x < r.x1; x += r.xstep)
      for (const Rect &out : problem.keepOuts)
        if (x >= out.x0 && x < out.x1 && y >= out.y0 && y < out.y1)
          return true;
  return false;
}

/// The settings of one color of one stream, by PE; null: none.
using Settings = std::vector<const RouteRule *>;

Settings settingsOf(const RoutingProblem &problem, const RoutedStream &stream,
                    int64_t color, Rules &broken) {
  const int64_t columns = problem.meshWidth;
  Settings settings(size_t(columns * problem.meshHeight), nullptr);
  for (const RouteRule &rule : stream.rules) {
    if (rule.color != color || !isSound(problem, stream, rule))
      continue;
    const Rect &r = rule.rect;
    for (int64_t y = r.y0; y < r.y1; y += r.ystep)
      for (int64_t x = r.x0; x < r.x1; x += r.xstep) {
        if (settings[size_t(y * columns + x)])
          broken.insert("R3");
        settings[size_t(y * columns + x)] = &rule;
      }
  }
  return settings;
}

/// Follows words through the settings of one color.
class Walk {
public:
  Walk(const RoutingProblem &problem, const Settings &settings)
      : columns(problem.meshWidth), rows(problem.meshHeight),
        settings(settings), fed(settings.size(), false) {}

  void follow(const MeantWords &words, Rules &broken);
  /// Of all settings, fed or not.
  void checkHops(bool mayExit, Rules &broken) const;
  bool feedsAll() const {
    for (size_t i = 0; i < settings.size(); ++i)
      if (settings[i] && !fed[i])
        return false;
    return true;
  }

private:
  /// The PE beside `from`; -1 if that is off the mesh.
  int64_t beside(size_t from, Port side) const {
    const int64_t x = int64_t(from) % columns, y = int64_t(from) / columns;
    switch (side) {
    case Port::North:
      return y > 0 ? int64_t(from) - columns : -1;
    case Port::South:
      return y + 1 < rows ? int64_t(from) + columns : -1;
    case Port::East:
      return x + 1 < columns ? int64_t(from) + 1 : -1;
    default:
      return x > 0 ? int64_t(from) - 1 : -1;
    }
  }
  bool arrives(int64_t at, Port side) const {
    static constexpr Port opposite[] = {Port::South, Port::North, Port::West,
                                        Port::East};
    return settings[size_t(at)] &&
           settings[size_t(at)]->receive == opposite[unsigned(side)];
  }

  const int64_t columns, rows;
  const Settings &settings;
  std::vector<bool> fed;
};

} // namespace

void Walk::checkHops(bool mayExit, Rules &broken) const {
  for (size_t i = 0; i < settings.size(); ++i)
    for (Port side : sides) {
      if (!settings[i] || !(settings[i]->transmit & portBit(side)))
        continue;
      const int64_t next = beside(i, side);
      if (next < 0 ? !(mayExit && side == Port::East) : !arrives(next, side))
        broken.insert("R4");
    }
}

/// R5, and R4 for words that leave the mesh in a row that is not theirs.
void Walk::follow(const MeantWords &words, Rules &broken) {
  const RouteRule *first = settings[words.source];
  if (!first || first->receive != words.entry) {
    broken.insert("R5");
    return;
  }
  std::vector<bool> heard(settings.size(), false), seen = heard;
  std::vector<size_t> work = {words.source};
  bool left = false;
  while (!work.empty()) {
    const size_t at = work.back();
    work.pop_back();
    if (seen[at])
      continue;
    seen[at] = fed[at] = true;
    heard[at] = settings[at]->transmit & portBit(Port::Ramp);
    for (Port side : sides) {
      if (!(settings[at]->transmit & portBit(side)))
        continue;
      const int64_t next = beside(at, side);
      const bool ownRow =
          int64_t(at) / columns == int64_t(words.source) / columns;
      if (next >= 0 && arrives(next, side))
        work.push_back(size_t(next));
      else if (next < 0 && words.exits && side == Port::East && ownRow)
        left = true;
      else
        broken.insert("R4");
    }
  }
  if (heard != words.hearers || left != words.exits)
    broken.insert("R5");
}

/// What the PE at `source` means to send on the stream.
MeantWords RoutingOracle::wordsOf(const StreamRequest &request,
                                  size_t source) const {
  const bool edge = entersFromTheEdge(request.pattern);
  MeantWords words{
      source, edge ? Port::West : Port::Ramp,
      std::vector<bool>(size_t(problem.meshWidth * problem.meshHeight)),
      leavesTheMesh(request.pattern)};
  for (size_t r : listeners(problem, request))
    for (size_t i = 0; i < words.hearers.size(); ++i) {
      const RouteRegion &region = problem.regions[r];
      const PE p = place(region, i);
      const PE from = place(problem.regions[request.region], source);
      if (contains(region, p) && (request.pattern == StreamPattern::Transfer
                                      ? meets(problem, request, from.y, p.y)
                                      : hears(region, request, from, p)))
        words.hearers[i] = true;
    }
  return words;
}

RoutingOracle::RoutingOracle(const RoutingProblem &problem) : problem(problem) {
  const size_t count = size_t(problem.meshWidth * problem.meshHeight);
  for (const StreamRequest &request : problem.streams) {
    const RouteRegion &region = problem.regions[request.region];
    const bool edge = entersFromTheEdge(request.pattern);
    meant.emplace_back();
    for (size_t i = 0; i < count; ++i) {
      const PE p = place(region, i);
      if (edge ? enters(problem, request, p)
               : contains(region, p) && sends(problem, request, p))
        meant.back().push_back(wordsOf(request, i));
    }
  }
}

std::vector<MeantWords> RoutingOracle::meantOf(size_t stream, size_t color,
                                               size_t colors) const {
  const StreamRequest &request = problem.streams[stream];
  const RouteRegion &region = problem.regions[request.region];
  std::vector<MeantWords> result;
  for (const MeantWords &words : meant[stream])
    if (colorOf(request, place(region, words.source), int64_t(colors)) ==
        int64_t(color))
      result.push_back(words);
  return result;
}

/// How many colors a stream may have: rows whose words a PE hears, and those
/// between them, have different ones.
static bool fits(const RoutingProblem &problem, const StreamRequest &request,
                 size_t colors) {
  if (request.pattern == StreamPattern::Transfer) {
    const int64_t rows = problem.regions[request.region].height;
    for (int64_t y = 0; y < problem.regions[request.target].height; ++y)
      for (int64_t a = 0; a < rows; ++a)
        for (int64_t b = a + int64_t(colors); b < rows; ++b)
          if (meets(problem, request, a, y) && meets(problem, request, b, y))
            return false;
    return colors > 0 && int64_t(colors) <= rows;
  }
  return colors == size_t(request.pattern.colors());
}

/// R1.
static bool haveColors(const RoutingProblem &problem, const Routing &routing) {
  if (routing.streams.size() != problem.streams.size())
    return false;
  for (size_t i = 0; i < problem.streams.size(); ++i) {
    const std::vector<int64_t> &colors = routing.streams[i].colors;
    const std::set<int64_t> different(colors.begin(), colors.end());
    if (!fits(problem, problem.streams[i], colors.size()) ||
        different.size() != colors.size() || *different.begin() < 0 ||
        *different.rbegin() >= problem.colors)
      return false;
  }
  return true;
}

/// R7: who waits for whom, over any number of relays; and streams that relay
/// to themselves by two sides.
static bool mayWaitForItself(const RoutingProblem &problem,
                             const Routing &routing) {
  constexpr size_t patterns = std::size(fabric::allPatterns);
  bool waits[patterns][patterns] = {};
  bool toItself[patterns] = {};
  for (auto [from, to] : problem.relays)
    (from == to ? toItself[numberOf(from)]
                : waits[numberOf(from)][numberOf(to)]) = true;
  for (unsigned via = 0; via < patterns; ++via)
    for (auto &row : waits)
      for (unsigned to = 0; to < patterns; ++to)
        row[to] |= row[via] && waits[via][to];
  bool found = false;
  for (unsigned p = 0; p < patterns; ++p)
    found |= waits[p][p];
  for (size_t i = 0; i < problem.streams.size(); ++i) {
    std::set<Port> used;
    for (const RouteRule &rule : routing.streams[i].rules)
      for (Port side : sides)
        if (rule.transmit & portBit(side))
          used.insert(side);
    found |= toItself[numberOf(problem.streams[i].pattern)] && used.size() > 1;
  }
  return found;
}

std::set<std::string> RoutingOracle::brokenRules(const Routing &routing) const {
  if (!haveColors(problem, routing))
    return {"R1"};
  Rules broken;
  std::vector<std::set<size_t>> taken(size_t(problem.colors)); // PEs by color
  for (size_t i = 0; i < problem.streams.size(); ++i) {
    const RoutedStream &stream = routing.streams[i];
    for (const RouteRule &rule : stream.rules)
      if (!isSound(problem, stream, rule))
        broken.insert("R2");
      else if (isKeptOut(problem, rule))
        broken.insert("R8");
    for (size_t c = 0; c < stream.colors.size(); ++c) {
      const Settings settings =
          settingsOf(problem, stream, stream.colors[c], broken);
      for (size_t pe = 0; pe < settings.size(); ++pe)
        if (settings[pe] && !taken[size_t(stream.colors[c])].insert(pe).second)
          broken.insert("R3");
      Walk walk(problem, settings);
      for (const MeantWords &words : meantOf(i, c, stream.colors.size()))
        walk.follow(words, broken);
      walk.checkHops(leavesTheMesh(problem.streams[i].pattern), broken);
      if (!walk.feedsAll())
        broken.insert("R6");
    }
  }
  if (mayWaitForItself(problem, routing))
    broken.insert("R7");
  return broken;
}
