// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/program/HostWords.h"

#include <algorithm>

namespace wsec::runtime {

namespace {

using program::Port;

class LaunchWords {
public:
  LaunchWords(const program::Program &program, const FabricRoutine &routine,
              const Handovers &handovers, const AxisScalars &scalars)
      : program(program), routine(routine), handovers(handovers),
        scalars(scalars) {}

  void checkIn(const program::HostStream &stream) const;
  void checkOut(const program::HostStream &stream) const;

private:
  void checkInLane(const program::HostStream &stream, const program::Lane &lane,
                   const std::vector<size_t> &relays) const;
  int64_t headOf(const FabricOp &op, int64_t x) const;
  int64_t wordsOut(int64_t color, int64_t row) const;

  const program::Program &program;
  const FabricRoutine &routine;
  const Handovers &handovers;
  const AxisScalars &scalars;
};

/// The only row in which the op runs in column x.
int64_t LaunchWords::headOf(const FabricOp &op, int64_t x) const {
  for (int guard : op.guards)
    if (int row = scalars.pinnedRow(guard); row >= 0)
      return scalars.along(row, AxisScalars::X, x);
  if (program.machine()->height() > 1)
    throw NotUnderstood{"words of the host are taken in several rows"};
  return 0;
}

/// Segments and relays, in order.
void LaunchWords::checkIn(const program::HostStream &stream) const {
  auto found = handovers.fromHost.find(stream.color());
  std::vector<size_t> relays;
  if (found != handovers.fromHost.end())
    relays.assign(found->second.begin(), found->second.end());
  if (relays.size() != stream.segments()->size())
    throw NotUnderstood{"segments of the host and relays differ in number"};
  int64_t columns = 0;
  for (const program::Lane *lane : *stream.lanes()) {
    checkInLane(stream, *lane, relays);
    columns += lane->end() - lane->begin();
  }
  if (columns != program.machine()->width())
    throw NotUnderstood{"columns without a lane"};
}

void LaunchWords::checkInLane(const program::HostStream &stream,
                              const program::Lane &lane,
                              const std::vector<size_t> &relays) const {
  if (lane.begin() == lane.end())
    return;
  auto hear = handovers.hostColumns.find({stream.color(), lane.row()});
  if (hear == handovers.hostColumns.end() || hear->second.size() != 1 ||
      hear->second[0] != std::pair<int64_t, int64_t>(lane.begin(), lane.end()))
    throw NotUnderstood{"the lane of row " + std::to_string(lane.row()) +
                        " is heard by other columns than it serves"};
  std::vector<int64_t> sums(relays.size(), 0), lines(relays.size(), 0), values;
  for (int64_t x = lane.begin(); x < lane.end(); ++x) {
    evaluateScalars(stream.scalars(), x, 0, values);
    for (size_t s = 0; s < relays.size(); ++s) {
      const program::Segment &segment = *stream.segments()->Get(unsigned(s));
      int64_t words = 1;
      for (const program::Affine *extent : *segment.extents())
        words *= std::max<int64_t>(0, evaluateAffine(*extent, values));
      sums[s] += words;
      int64_t here = evaluateAffine(*segment.lines(), values);
      if (x > lane.begin() && here != lines[s])
        throw NotUnderstood{"columns of a lane have different lines"};
      lines[s] = here;
    }
    scalars.steps += int64_t(values.size());
  }
  for (int64_t x = lane.begin(); x < lane.end(); ++x)
    for (size_t s = 0; s < relays.size(); ++s) {
      const FabricOp &op = routine.ops[relays[s]];
      const program::Affine &turns = *op.instruction->extents()->Get(0);
      int64_t row = lane.row();
      if (headOf(op, x) != row ||
          !runsAt(op.guards, op.turns, scalars, x, row) ||
          wordsOf(op, *op.in, scalars, x, row) != lines[s] * sums[s] ||
          (sums[s] > 0 && scalars.value(turns, x, row) != lines[s]))
        throw NotUnderstood{"a lane brings other words than column " +
                            std::to_string(x) + " takes"};
    }
}

/// What the last PE of a row sends off the mesh.
int64_t LaunchWords::wordsOut(int64_t color, int64_t row) const {
  int64_t x = program.machine()->width() - 1, words = 0;
  for (const FabricOp &op : routine.ops)
    if (op.outColors.count(color) &&
        runsAt(op.guards, op.turns, scalars, x, row) &&
        scalars.value(*op.out->color(), x, row) == color)
      words += wordsOf(op, *op.out, scalars, x, row);
  return words;
}

/// The sum over a range of an axis of the product of the extents that depend on
/// it.
static int64_t sumAlong(const program::Segment &segment,
                        const AxisScalars &scalars, AxisScalars::Axis axis,
                        int64_t begin, int64_t end) {
  int64_t sum = 0;
  for (int64_t i = begin; i < end; ++i) {
    int64_t product = 1;
    for (const program::Affine *extent : *segment.extents()) {
      int axes = scalars.axes(*extent);
      if (axes == (AxisScalars::X | AxisScalars::Y))
        throw NotUnderstood{"blocks of an output whose extents depend on both "
                            "coordinates"};
      // Constants count along rows.
      if ((axes == AxisScalars::Y) == (axis == AxisScalars::Y))
        product *= std::max<int64_t>(0, axis == AxisScalars::X
                                            ? scalars.value(*extent, i, 0)
                                            : scalars.value(*extent, 0, i));
    }
    sum += product;
  }
  return sum;
}

void LaunchWords::checkOut(const program::HostStream &stream) const {
  const program::Machine &machine = *program.machine();
  for (const program::RouteRule *rule : *program.routes()) {
    const program::Rect &rect = *rule->rect();
    bool last = (machine.width() - 1 - rect.x0()) % rect.xstep() == 0 &&
                rect.x1() == machine.width();
    if (rule->color() == stream.color() && last &&
        (rule->transmit() >> unsigned(Port::East) & 1) &&
        rule->receive() != Port::Ramp)
      throw NotUnderstood{"words of an output only pass the last column"};
  }
  AxisScalars host(stream.scalars(), {}, machine.width(), machine.height(),
                   scalars.steps);
  for (const program::Lane *lane : *stream.lanes()) {
    int64_t expected = 0;
    for (const program::Segment *segment : *stream.segments())
      expected +=
          sumAlong(*segment, host, AxisScalars::X, 0, machine.width()) *
          sumAlong(*segment, host, AxisScalars::Y, lane->begin(), lane->end());
    int64_t sent = wordsOut(stream.color(), lane->row());
    if (sent != expected)
      throw NotUnderstood{"row " + std::to_string(lane->row()) + " sends " +
                          std::to_string(sent) + " words to output '" +
                          stream.name()->str() + "', which takes " +
                          std::to_string(expected)};
  }
}

} // namespace

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
                      const program::Launch &launch,
                      const FabricRoutine &routine, const Handovers &handovers,
                      const AxisScalars &scalars) {
  LaunchWords words(program, routine, handovers, scalars);
  std::set<std::pair<program::Direction, int64_t>> colors;
  if (launch.streams())
    for (uint32_t index : *launch.streams()) {
      const program::HostStream &stream = *program.streams()->Get(index);
      if (!colors.insert({stream.direction(), stream.color()}).second)
        throw NotUnderstood{"two streams of the host on one color"};
      if (stream.direction() == program::Direction::In)
        words.checkIn(stream);
      else
        words.checkOut(stream);
    }
  for (const auto &[color, ops] : handovers.fromHost)
    if (!ops.empty() && !colors.count({program::Direction::In, color}))
      throw NotUnderstood{"words of the host that no stream brings"};
}

std::string signatureOf(const program::Program &program,
                        const program::Launch &launch) {
  std::string text = std::to_string(launch.routine());
  auto add = [&](int64_t value) { text += " " + std::to_string(value); };
  auto addAffine = [&](const program::Affine &affine) {
    add(affine.constant());
    if (affine.terms())
      for (const program::Term *term : *affine.terms()) {
        add(term->index());
        add(term->scale());
      }
    text += ";";
  };
  if (!launch.streams())
    return text;
  for (uint32_t index : *launch.streams()) {
    const program::HostStream &stream = *program.streams()->Get(index);
    text += "|";
    add(int64_t(stream.direction()));
    add(stream.color());
    for (const program::Lane *lane : *stream.lanes())
      for (int32_t value : {lane->row(), lane->begin(), lane->end()})
        add(value);
    if (stream.scalars())
      for (const program::ScalarNode *node : *stream.scalars())
        for (int64_t value : {int64_t(node->op()), int64_t(node->a()),
                              int64_t(node->b()), int64_t(node->c())})
          add(value);
    for (const program::Segment *segment : *stream.segments()) {
      text += "/";
      addAffine(*segment->lines());
      for (const program::Affine *extent : *segment->extents())
        addAffine(*extent);
    }
  }
  return text;
}

} // namespace wsec::runtime
