// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/program/proof/HostWords.h"
#include "runtime/program/NearestNames.h"
#include "runtime/program/Ports.h"
#include "runtime/program/Wire.h"

#include <algorithm>

namespace wsec::runtime {

namespace {

using program::Port;

/// The words of one block of a segment, summed over the columns before each;
/// and the columns by their number of lines.
struct Blocks {
  std::vector<int64_t> before;
  std::vector<int64_t> lines;
};

/// Blocks of pairs are no products of extents.
void requireSingles(const program::HostStream &stream) {
  if (Wire(stream).pairs())
    throw NotUnderstood{"host words of two elements"};
}

/// The product of the extents that `counts`.
template <typename Counts>
int64_t blockAt(const program::Segment &segment, const AxisScalars &scalars,
                int64_t x, int64_t y, const Counts &counts) {
  int64_t words = 1;
  for (const program::Affine *extent : *segment.extents())
    if (counts(*extent))
      words =
          countable(words, std::max<int64_t>(0, scalars.value(*extent, x, y)));
  return words;
}

/// Whether its blocks depend on the row.
bool changesInRows(const program::Segment &segment,
                   const AxisScalars &scalars) {
  auto inRows = [&](const program::Affine &size) {
    return (scalars.axes(size) & AxisScalars::Y) != 0;
  };
  return std::any_of(segment.extents()->begin(), segment.extents()->end(),
                     [&](auto *extent) { return inRows(*extent); }) ||
         inRows(*segment.lines());
}

/// Of the columns, in a row.
Blocks blocksOf(const program::HostStream &stream,
                const program::Segment &segment, const AxisScalars &scalars,
                int64_t row) {
  std::set<int> atoms;
  for (const program::Affine *extent : *segment.extents())
    scalars.atoms(*extent, atoms);
  scalars.atoms(*segment.lines(), atoms);
  const AxisKinds &kinds = scalars.kinds(atoms, AxisScalars::X);
  std::vector<int64_t> words, lines;
  for (int64_t x : kinds.representative) {
    words.push_back(Wire(stream, segment)
                        .wavelets(blockAt(segment, scalars, x, row,
                                          [](auto &) { return true; })));
    lines.push_back(scalars.value(*segment.lines(), x, row));
  }
  Blocks blocks{{0}, {}};
  for (uint32_t kind : kinds.of) {
    blocks.before.push_back(blocks.before.back() + words[kind]);
    blocks.lines.push_back(lines[kind]);
  }
  scalars.steps += int64_t(kinds.of.size());
  return blocks;
}

class LaunchWords {
public:
  LaunchWords(const program::Program &program, const FabricRoutine &routine,
              const Handovers &handovers, const AxisScalars &scalars)
      : program(program), routine(routine), handovers(handovers),
        scalars(scalars) {}

  void checkIn(const program::HostStream &stream) const;
  void checkOut(const program::HostStream &stream) const;

private:
  void collectAtoms(const FabricOp &op, const program::Operand &operand,
                    std::set<int> &atoms) const;
  void checkHeard(int64_t color, const program::Channel &channel) const;
  /// The segments that are left, the first of them without `used` lines.
  struct Segments {
    std::vector<Blocks>::const_iterator next, end;
    int64_t used = 0;
  };
  /// Takes what one relay takes.
  /// `alone`: nobody else takes words of the host in these columns.
  void checkInChannel(const program::Channel &channel, size_t relay, bool alone,
                      Segments &left) const;
  void checkOtherRows(const program::HostStream &stream,
                      const FabricOp &op) const;
  int64_t headOf(const FabricOp &op, int64_t x) const;
  int64_t wordsSent(int64_t color, int64_t x, int64_t y) const;
  int64_t wordsOut(int64_t color, int64_t row) const;
  const program::RouteRule *ruleAt(int64_t color, int64_t x, int64_t y) const;

  const program::Program &program;
  const FabricRoutine &routine;
  const Handovers &handovers;
  const AxisScalars &scalars;
  mutable std::map<int64_t, std::vector<const program::RouteRule *>> rules;
};

/// The only row in which the op runs in column x.
int64_t LaunchWords::headOf(const FabricOp &op, int64_t x) const {
  for (int guard : op.guards)
    if (int row = scalars.pinnedRow(guard); row >= 0)
      return scalars.along(row, AxisScalars::X, x);
  if (scalars.first(AxisScalars::Y) != scalars.last(AxisScalars::Y))
    throw NotUnderstood{"words of the host are taken in several rows"};
  return scalars.first(AxisScalars::Y);
}

/// Whether each channel is for all columns: then it is of its row alone.
static bool serveRows(const program::HostStream &stream, int first, int end) {
  return std::all_of(
      stream.channels()->begin(), stream.channels()->end(), [&](auto *channel) {
        return channel->begin() == first && channel->end() == end;
      });
}

/// Segments and relays, in order: a relay takes lines of one or more segments.
void LaunchWords::checkIn(const program::HostStream &stream) const {
  requireSingles(stream);
  auto found = handovers.fromHost.find(stream.color());
  std::vector<size_t> relays;
  if (found != handovers.fromHost.end())
    relays.assign(found->second.begin(), found->second.end());
  const int first = int(scalars.first(AxisScalars::X));
  const int end = int(scalars.last(AxisScalars::X)) + 1;
  const int height = program.machine()->height();
  const bool inRows = serveRows(stream, first, end);
  AxisScalars host(stream.scalars(),
                   {program::Rect(first, end, 1, 0, height, 1)},
                   program.machine()->width(), height, scalars.steps);
  std::vector<Blocks> segments;
  const bool changes =
      std::any_of(stream.segments()->begin(), stream.segments()->end(),
                  [&](auto *segment) { return changesInRows(*segment, host); });
  int64_t columns = 0;
  for (const program::Channel *channel : *stream.channels()) {
    checkHeard(stream.color(), *channel);
    if (channel->begin() < first || channel->end() > end)
      throw NotUnderstood{
          "columns without code that words of the host are for"};
    columns += channel->end() - channel->begin();
    if (channel->begin() == channel->end())
      continue;
    if (segments.empty() || changes) {
      segments.clear();
      for (const program::Segment *segment : *stream.segments())
        segments.push_back(blocksOf(stream, *segment, host, channel->row()));
    }
    Segments left{segments.cbegin(), segments.cend()};
    for (size_t relay : relays)
      checkInChannel(*channel, relay, !inRows, left);
    if (left.next != left.end)
      throw NotUnderstood{"segments of the host and relays differ in number"};
  }
  if (columns != end - first && !inRows)
    throw NotUnderstood{"columns without a channel"};
  for (size_t relay : relays)
    if (inRows)
      checkOtherRows(stream, routine.ops[relay]);
}

/// D8: rows without a channel take no words of the host.
void LaunchWords::checkOtherRows(const program::HostStream &stream,
                                 const FabricOp &op) const {
  std::set<int64_t> served;
  for (const program::Channel *channel : *stream.channels())
    if (channel->begin() != channel->end())
      served.insert(channel->row());
  std::set<int> atoms;
  collectAtoms(op, *op.in, atoms);
  const AxisKinds &columns = scalars.kinds(atoms, AxisScalars::X);
  const int64_t first = scalars.first(AxisScalars::Y);
  for (int64_t y = first; y <= scalars.last(AxisScalars::Y); ++y) {
    if (served.count(y) || !scalars.has(AxisScalars::Y, y))
      continue;
    scalars.steps += int64_t(columns.representative.size());
    for (int64_t x : columns.representative)
      if (runsAt(op.guards, op.turns, scalars, x, y) &&
          wordsOf(op, *op.in, scalars, x, y) > 0)
        throw NotUnderstood{"row " + std::to_string(y) +
                            ", which has no channel, takes words of the host"};
  }
}

/// The scalars that decide how many words an operand moves, and where.
void LaunchWords::collectAtoms(const FabricOp &op,
                               const program::Operand &operand,
                               std::set<int> &atoms) const {
  for (int guard : op.guards)
    scalars.atoms(guard, atoms);
  scalars.atoms(op.turns, atoms);
  scalars.atoms(*operand.color(), atoms);
  for (const program::Affine *size : sizesOf(op, operand))
    scalars.atoms(*size, atoms);
}

/// D8: those columns hear a channel that it serves.
void LaunchWords::checkHeard(int64_t color,
                             const program::Channel &channel) const {
  if (channel.begin() == channel.end())
    return;
  auto hear = handovers.hostColumns.find({color, channel.row()});
  if (hear == handovers.hostColumns.end() || hear->second.size() != 1 ||
      hear->second[0] !=
          std::pair<int64_t, int64_t>(channel.begin(), channel.end()))
    throw NotUnderstood{"the channel of row " + std::to_string(channel.row()) +
                        " is heard by other columns than it serves"};
}

/// D8: each column takes as many words as the channel brings it.
void LaunchWords::checkInChannel(const program::Channel &channel, size_t relay,
                                 bool alone, Segments &left) const {
  const FabricOp &op = routine.ops[relay];
  const program::Affine &turns = *op.instruction->extents()->Get(0);
  const int64_t row = channel.row();
  if (!scalars.has(AxisScalars::Y, row))
    throw NotUnderstood{"a channel in a row without code"};
  const int64_t taken = scalars.value(turns, channel.begin(), row, op.turns);
  int64_t lines = 0, each = 0;
  do {
    if (left.next == left.end)
      throw NotUnderstood{"segments of the host and relays differ in number"};
    const Blocks &blocks = *left.next;
    auto first = blocks.lines.begin() + channel.begin();
    if (std::any_of(first, blocks.lines.begin() + channel.end(),
                    [&](int64_t count) { return count != *first; }))
      throw NotUnderstood{"columns of a channel have different lines"};
    int64_t words = blocks.before[size_t(channel.end())] -
                    blocks.before[size_t(channel.begin())];
    if (lines > 0 && words != each)
      throw NotUnderstood{"a relay takes segments of different sizes"};
    each = words;
    const int64_t here =
        std::max<int64_t>(0, std::min(*first - left.used, taken - lines));
    lines += here;
    left.used += here;
    if (left.used >= *first) {
      ++left.next;
      left.used = 0;
    }
  } while (lines < taken);
  std::set<int> atoms;
  collectAtoms(op, *op.in, atoms);
  const AxisKinds &kinds = scalars.kinds(atoms, AxisScalars::X);
  for (int64_t x = channel.begin(); x < channel.end(); ++x) {
    // Neighbours of a kind take the same.
    if (x > channel.begin() && kinds.of[size_t(x)] == kinds.of[size_t(x - 1)])
      continue;
    if ((alone && headOf(op, x) != row) ||
        !runsAt(op.guards, op.turns, scalars, x, row) ||
        wordsOf(op, *op.in, scalars, x, row) !=
            countable(std::max<int64_t>(0, lines), each) ||
        (each > 0 && scalars.value(turns, x, row, op.turns) != lines))
      throw NotUnderstood{"a channel brings other words than column " +
                          std::to_string(x) + " takes"};
  }
  scalars.steps += channel.end() - channel.begin();
}

/// What a PE sends.
int64_t LaunchWords::wordsSent(int64_t color, int64_t x, int64_t y) const {
  int64_t words = 0;
  if (!scalars.has(AxisScalars::X, x) || !scalars.has(AxisScalars::Y, y))
    return words;
  for (const FabricOp &op : routine.ops)
    if (op.outColors.count(color) &&
        runsAt(op.guards, op.turns, scalars, x, y) &&
        scalars.value(*op.out->color(), x, y) == color)
      words += wordsOf(op, *op.out, scalars, x, y);
  return words;
}

/// Whether the words of some block are no product of those of its row and its
/// column: an odd number of elements of 16 bits.
static bool endsInHalves(const Wire &wire, const program::Segment &segment,
                         const AxisScalars &scalars) {
  auto alongRows = [&](const program::Affine &extent) {
    return scalars.axes(extent) != AxisScalars::Y;
  };
  bool any = false;
  for (int64_t x = 0; wire.pairs() && x < scalars.length(AxisScalars::X); ++x)
    any |= blockAt(segment, scalars, x, 0, alongRows) % 2 != 0;
  return any;
}

/// The product of the extents that depend on an axis, summed over the positions
/// before each.
static std::vector<int64_t> sumsAlong(const Wire &wire,
                                      const program::Segment &segment,
                                      const AxisScalars &scalars,
                                      AxisScalars::Axis axis) {
  std::vector<int64_t> sums{0};
  auto counts = [&](const program::Affine &extent) {
    int axes = scalars.axes(extent);
    if (axes == (AxisScalars::X | AxisScalars::Y))
      throw NotUnderstood{"blocks of an output whose extents depend on both "
                          "coordinates"};
    // Constants count along rows.
    return (axes == AxisScalars::Y) == (axis == AxisScalars::Y);
  };
  for (int64_t i = 0; i < scalars.length(axis); ++i)
    sums.push_back(sums.back() +
                   (axis == AxisScalars::X
                        ? wire.wavelets(blockAt(segment, scalars, i, 0, counts))
                        : blockAt(segment, scalars, 0, i, counts)));
  return sums;
}

const program::RouteRule *LaunchWords::ruleAt(int64_t color, int64_t x,
                                              int64_t y) const {
  auto [at, isNew] = rules.try_emplace(color);
  for (const program::RouteRule *rule : *program.routes())
    if (isNew && rule->color() == color)
      at->second.push_back(rule);
  scalars.steps += int64_t(at->second.size());
  const auto found =
      std::find_if(at->second.begin(), at->second.end(), [&](const auto *rule) {
        return spanOf(*rule->rect(), AxisScalars::X).has(x) &&
               spanOf(*rule->rect(), AxisScalars::Y).has(y);
      });
  return found == at->second.end() ? nullptr : *found;
}

/// The words that leave the mesh in a row: those of one PE, to which their way
/// leads back from the edge. All PEs that they pass send them on, and nowhere
/// else.
int64_t LaunchWords::wordsOut(int64_t color, int64_t row) const {
  int64_t x = program.machine()->width() - 1, y = row;
  Port onward = Port::East;
  for (;;) {
    const program::RouteRule *rule = ruleAt(color, x, y);
    if (!rule || !(rule->transmit() >> unsigned(onward) & 1))
      return 0;
    const Port back = rule->receive();
    if (back == Port::Ramp)
      return wordsSent(color, x, y);
    if (rule->transmit() != 1u << unsigned(onward))
      throw NotUnderstood{
          "words of an output that branch on their way to row " +
          std::to_string(row)};
    // As far as the rule leads straight on.
    const program::Rect &rect = *rule->rect();
    const bool straight = onward == opposite(back);
    switch (back) {
    case Port::West:
      x = straight && rect.xstep() == 1 ? rect.x0() - 1 : x - 1;
      break;
    case Port::East:
      x = straight && rect.xstep() == 1 ? rect.x1() : x + 1;
      break;
    case Port::North:
      y = straight && rect.ystep() == 1 ? rect.y0() - 1 : y - 1;
      break;
    default:
      y = straight && rect.ystep() == 1 ? rect.y1() : y + 1;
    }
    if (x < 0 || y < 0 || x == program.machine()->width() ||
        y == program.machine()->height())
      throw NotUnderstood{"words that enter the mesh and leave it in row " +
                          std::to_string(row)};
    onward = opposite(back);
  }
}

/// D8: an output takes as many words as are sent.
void LaunchWords::checkOut(const program::HostStream &stream) const {
  requireSingles(stream);
  const program::Machine &machine = *program.machine();
  AxisScalars host(stream.scalars(), {}, machine.width(), machine.height(),
                   scalars.steps);
  std::vector<int64_t> before(size_t(machine.height()) + 1, 0);
  std::vector<const program::Segment *> apart; // rows are counted one by one
  for (const program::Segment *segment : *stream.segments()) {
    if (host.axes(*segment->lines()) != 0)
      throw NotUnderstood{"blocks of an output whose lines depend on the PE"};
    const int64_t lines =
        std::max<int64_t>(0, host.value(*segment->lines(), 0, 0));
    const Wire wire(stream, *segment);
    if (endsInHalves(wire, *segment, host) ||
        std::any_of(segment->extents()->begin(), segment->extents()->end(),
                    [&](const program::Affine *extent) {
                      return host.axes(*extent) ==
                             (AxisScalars::X | AxisScalars::Y);
                    })) {
      apart.push_back(segment);
      continue;
    }
    int64_t row = countable(
        lines, sumsAlong(wire, *segment, host, AxisScalars::X).back());
    std::vector<int64_t> rows = sumsAlong(wire, *segment, host, AxisScalars::Y);
    for (size_t y = 0; y < before.size(); ++y)
      before[y] += countable(row, rows[y]);
  }
  for (const program::Channel *channel : *stream.channels()) {
    int64_t expected =
        before[size_t(channel->end())] - before[size_t(channel->begin())];
    for (const program::Segment *segment : apart)
      for (int64_t y = channel->begin(); y < channel->end(); ++y)
        for (int64_t x = 0; x < machine.width(); ++x, ++host.steps)
          expected += countable(
              std::max<int64_t>(0, host.value(*segment->lines(), x, y)),
              Wire(stream, *segment)
                  .wavelets(blockAt(*segment, host, x, y,
                                    [](auto &) { return true; })));
    const int64_t sent = wordsOut(stream.color(), channel->row());
    if (sent != expected)
      throw NotUnderstood{"row " + std::to_string(channel->row()) + " sends " +
                          std::to_string(sent) + " words to output " +
                          inQuotes(stream.name()->str()) + ", which takes " +
                          std::to_string(expected)};
  }
}

} // namespace

/// D8: columns change phases at the same lines.
void alignColumns(const FabricRoutine &routine, const AxisScalars &scalars,
                  Handovers &handovers) {
  struct Lines {
    int64_t count;
    size_t receiver;
  };
  std::map<std::pair<size_t, int64_t>, Lines> known; // by relay and first line
  for (const Relayed &relayed : handovers.relayed)
    for (const Portion &portion : relayed.portions) {
      const FabricOp &relay = routine.ops[portion.sender];
      bool fromHost = false;
      for (const auto &[color, ops] : handovers.fromHost)
        fromHost |= ops.count(portion.sender) > 0;
      if (!fromHost)
        continue;
      int64_t lines = scalars.value(*relay.instruction->extents()->Get(0),
                                    relayed.x, relayed.y, relay.turns);
      int64_t words = wordsOf(relay, *relay.out, scalars, relayed.x, relayed.y);
      int64_t each = words / std::max<int64_t>(1, lines);
      if (relay.instruction->extents()->size() < 2 || each == 0 ||
          portion.first % each != 0 || portion.words % each != 0)
        throw NotUnderstood{"a line of the host's words is split"};
      Lines here{portion.words / each, portion.receiver};
      auto [at, isNew] =
          known.try_emplace({portion.sender, portion.first / each}, here);
      if (at->second.count != here.count)
        throw NotUnderstood{"columns stop at different lines of the host"};
      if (at->second.receiver != here.receiver)
        handovers.together.insert(
            std::minmax(at->second.receiver, here.receiver));
    }
}

void checkLaunchWords(const program::Program &program,
                      const std::vector<const program::Launch *> &launches,
                      const FabricRoutine &routine, const Handovers &handovers,
                      const AxisScalars &scalars) {
  LaunchWords words(program, routine, handovers, scalars);
  std::set<std::pair<program::Direction, int64_t>> colors;
  auto check = [&](uint32_t index) {
    const program::HostStream &stream = *program.streams()->Get(index);
    if (!colors.insert({stream.direction(), stream.color()}).second)
      throw NotUnderstood{"two streams of the host on one color"};
    if (stream.direction() == program::Direction::In)
      words.checkIn(stream);
    else
      words.checkOut(stream);
  };
  for (const program::Launch *launch : launches)
    if (launch->streams())
      std::for_each(launch->streams()->begin(), launch->streams()->end(),
                    check);
  for (const auto &[color, ops] : handovers.fromHost)
    if (!ops.empty() && !colors.count({program::Direction::In, color}))
      throw NotUnderstood{"words of the host that no stream brings"};
}

int64_t channelWords(const program::HostStream &stream,
                     const program::Channel &channel,
                     const AxisScalars &scalars) {
  const bool in = stream.direction() == program::Direction::In;
  auto all = [](auto &) { return true; };
  int64_t words = 0;
  auto add = [&](const program::Segment &segment, int64_t x, int64_t y) {
    const int64_t lines = scalars.value(*segment.lines(), x, y);
    words += countable(
        std::max<int64_t>(0, lines),
        Wire(stream, segment).wavelets(blockAt(segment, scalars, x, y, all)));
    ++scalars.steps;
  };
  for (const program::Segment *segment : *stream.segments())
    for (int64_t i = channel.begin(); i < channel.end(); ++i) {
      if (in)
        add(*segment, i, channel.row());
      for (int64_t x = 0; !in && x < scalars.length(AxisScalars::X); ++x)
        add(*segment, x, i);
    }
  return words;
}

std::vector<int64_t> signatureOf(const program::Program &program,
                                 const program::Launch &launch) {
  std::vector<int64_t> signature;
  if (!launch.streams())
    return signature;
  for (uint32_t index : *launch.streams()) {
    const program::HostStream &stream = *program.streams()->Get(index);
    const auto *nodes = stream.scalars();
    for (int64_t value :
         {int64_t(stream.direction()), int64_t(stream.color()),
          int64_t(stream.channels()->size()),
          int64_t(stream.segments()->size()),
          int64_t(nodes ? nodes->size() : 0), int64_t(stream.packing())})
      signature.push_back(value);
    for (const program::Channel *channel : *stream.channels())
      signature.insert(signature.end(),
                       {channel->row(), channel->begin(), channel->end()});
    for (unsigned i = 0; nodes && i < nodes->size(); ++i) {
      const program::ScalarNode &node = *nodes->Get(i);
      signature.insert(signature.end(),
                       {int64_t(node.op()), node.a(), node.b(), node.c()});
    }
    for (const program::Segment *segment : *stream.segments()) {
      signature.push_back(segment->extents()->size());
      signature.push_back(int64_t(segment->halves()));
      sign(segment->lines(), signature);
      for (const program::Affine *extent : *segment->extents())
        sign(extent, signature);
    }
  }
  return signature;
}

} // namespace wsec::runtime
