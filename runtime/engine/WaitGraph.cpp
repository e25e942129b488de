// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/engine/WaitGraph.h"

#include "runtime/engine/Launches.h"
#include "runtime/engine/Mesh.h"
#include "runtime/engine/Rectangles.h"
#include "runtime/program/NearestNames.h"
#include "runtime/program/Ports.h"

#include <algorithm>
#include <variant>

namespace wsec::runtime {

using program::Port;

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

/// Counts statements up to the instruction; whether the body holds it.
static bool count(const Body &body, const InstructionCode &instruction,
                  size_t &statement) {
  for (const StatementCode &code : body) {
    const auto *control = std::get_if<SendControlCode>(&code);
    if (std::get_if<InstructionCode>(&code) == &instruction ||
        (control && &control->instruction == &instruction))
      return true;
    ++statement;
    if (const auto *loop = std::get_if<LoopCode>(&code))
      if (count(loop->body, instruction, statement))
        return true;
    if (const auto *branch = std::get_if<IfCode>(&code))
      if (count(branch->then, instruction, statement) ||
          count(branch->otherwise, instruction, statement))
        return true;
  }
  return false;
}

std::string locate(const ClassCode &code, const InstructionCode &instruction) {
  auto in = [&](const Body &body, const std::string &where) {
    size_t statement = 0;
    return count(body, instruction, statement)
               ? "statement " + std::to_string(statement) + " of " + where
               : "";
  };
  for (const auto &[id, routine] : code.routines)
    if (std::string text = in(routine.body, "routine " + std::to_string(id));
        !text.empty())
      return text;
  for (const TaskCode &task : code.tasks)
    if (std::string text = in(task.body, "task " + inQuotes(task.name));
        !text.empty())
      return text;
  return "";
}

static std::string lower(Port port) {
  std::string name = program::EnumNamePort(port);
  name[0] = char(name[0] - 'A' + 'a');
  return port == Port::Ramp ? "PE" : name;
}

static std::string colorName(int color) {
  return "color " + std::to_string(color);
}

/// The queue between a PE and its router that holds a color's words.
static std::string queueName(const ClassCode &code, int color, bool output) {
  for (const QueueCode &queue : code.queues)
    if (queue.color == color && queue.output == output)
      return (output ? "output queue " : "input queue ") +
             std::to_string(queue.queue);
  return output ? "its output queue" : "its input queue";
}

//===----------------------------------------------------------------------===//
// What engines add
//===----------------------------------------------------------------------===//

void WaitGraph::add(const PeWait &wait) { waits[key(wait.pe)].push_back(wait); }
void WaitGraph::addWords(Coordinate pe, int color, Port cameIn) {
  words.insert({pe.y, pe.x, color, cameIn});
}
void WaitGraph::addDelivered(Coordinate pe, int color, size_t count) {
  delivered[{pe.y, pe.x, color}] += count;
}
void WaitGraph::addBlocked(Coordinate pe, const TaskCode &task,
                           bool activated) {
  if (activated || task.kind == program::TaskKind::Data)
    blocked[key(pe)].push_back(&task);
}
void WaitGraph::addOutput(int row, int color, uint32_t stream, uint64_t has,
                          uint64_t words) {
  outputs.push_back({row, color, stream, has, words});
}

//===----------------------------------------------------------------------===//
// Causes
//===----------------------------------------------------------------------===//

bool WaitGraph::inMesh(Coordinate pe) const {
  return pe.x >= 0 && pe.y >= 0 && pe.x < program.machine()->width() &&
         pe.y < program.machine()->height();
}

WaitGraph::Cause WaitGraph::hostFor(int row, int color) const {
  if (program.streams())
    for (const program::HostStream *stream : *program.streams())
      if (stream->direction() == program::Direction::In &&
          stream->color() == color)
        for (const program::Channel *channel : *stream->channels())
          if (channel->row() == row)
            return {"the words come from stream " +
                        inQuotes(stream->name()->str()) +
                        " of the host, which has brought all it has",
                    {}};
  return {"the words would come over the west edge, where no stream of the "
          "host brings any",
          {}};
}

/// Goes against the route, from router to router, to the PE that sends or to
/// where words are stuck. A loop: routes may be as long as the mesh has PEs.
WaitGraph::Cause WaitGraph::senderFor(Coordinate pe, int color) const {
  std::vector<Place> passed;
  Cause cause;
  for (std::optional<Coordinate> at = pe; at;) {
    const Place place(at->y, at->x, color);
    // A route in a circle comes back to a place that was passed.
    auto [found, isNew] = senders.try_emplace(
        place,
        Cause{"the route of " + colorName(color) + " runs in a circle", {}});
    if (!isNew) {
      cause = found->second;
      break;
    }
    passed.push_back(place);
    at = towardsSender(*at, color, cause);
  }
  for (const Place &place : passed)
    senders[place] = cause;
  return cause;
}

/// The router that words of `pe` come from; nothing if they come from no other,
/// and why.
std::optional<Coordinate> WaitGraph::towardsSender(Coordinate pe, int color,
                                                   Cause &cause) const {
  auto endsWith = [&](Cause found) {
    cause = std::move(found);
    return std::nullopt;
  };
  const std::optional<RouteNow> route = routeOf(pe, color);
  if (!route)
    return endsWith(
        {"no rule of " + colorName(color) + " holds in the router of", pe});
  if (route->tornDown)
    return endsWith({colorName(color) + " is torn down in the router of", pe});
  for (Port port :
       {Port::North, Port::South, Port::East, Port::West, Port::Ramp})
    if (words.count({pe.y, pe.x, color, port}))
      return endsWith(port == route->receive ? takerOf(pe, color)
                                             : deafTo(port, pe));
  if (route->receive == Port::Ramp)
    return endsWith({"the words come from", pe, true});
  const Coordinate next = neighbour(pe, route->receive);
  if (!inMesh(next))
    return endsWith(hostFor(pe.y, color));
  const std::optional<RouteNow> from = routeOf(next, color);
  const Port out = opposite(route->receive);
  if (!from || !(from->transmit >> unsigned(out) & 1))
    return endsWith({"no " + colorName(color) + " goes " + lower(out) +
                         " from the router of",
                     next});
  return next;
}

WaitGraph::Cause WaitGraph::deafTo(Port port, Coordinate pe) {
  return {"the switch does not listen to the " + lower(port) +
              ", where words wait, in the router of",
          pe};
}

/// Goes with the route from the router of `pe` to the PE that does not take
/// what has come, or to where words cannot pass.
WaitGraph::Cause WaitGraph::takerOf(Coordinate pe, int color) const {
  const Taking &taking = takingFrom(pe, color);
  if (taking.most)
    return {"words that have come are not taken by", taking.taker, true};
  if (!taking.closed)
    return {"nobody takes the words before", {}};
  return taking.cameIn
             ? deafTo(*taking.cameIn, *taking.closed)
             : Cause{colorName(color) + " is torn down in the router of",
                     taking.closed};
}

/// What becomes of words that the router of `pe` has let in.
const WaitGraph::Taking &WaitGraph::takingFrom(Coordinate pe, int color) const {
  const Place start(pe.y, pe.x, color);
  std::vector<Coordinate> open;
  if (takings.try_emplace(start).second)
    open.push_back(pe);
  for (size_t i = 0; i < open.size(); ++i)
    for (const auto &[next, entered] : nextOf(open[i], color))
      if (const std::optional<RouteNow> route = routeOf(next, color);
          route && (route->tornDown || route->receive == entered) &&
          takings.try_emplace({next.y, next.x, color}).second)
        open.push_back(next);
  // A router comes after the one that sends to it: the last is known first.
  for (; !open.empty(); open.pop_back())
    takings[{open.back().y, open.back().x, color}] =
        takingAt(open.back(), color);
  return takings[start];
}

/// From what is known of the routers that the one of `pe` sends to. The PE with
/// most words is the taker, the nearest of equals.
WaitGraph::Taking WaitGraph::takingAt(Coordinate pe, int color) const {
  Taking here;
  const std::optional<RouteNow> route = routeOf(pe, color);
  if (!route)
    return here;
  if (route->tornDown) {
    here.closed = pe;
    return here;
  }
  const auto there = delivered.find({pe.y, pe.x, color});
  if ((route->transmit >> unsigned(Port::Ramp) & 1) && there != delivered.end())
    here.most = there->second, here.taker = pe;
  for (const auto &[next, entered] : nextOf(pe, color)) {
    const std::optional<RouteNow> onward = routeOf(next, color);
    if (!onward)
      continue;
    Taking behind;
    if (onward->tornDown || onward->receive == entered)
      behind = takings[{next.y, next.x, color}];
    else
      behind.closed = next, behind.cameIn = entered;
    if (behind.most > here.most ||
        (behind.most == here.most && behind.toTaker + 1 < here.toTaker)) {
      here.most = behind.most;
      here.taker = behind.taker;
      here.toTaker = behind.toTaker + 1;
    }
    if (behind.closed &&
        (!here.closed || behind.toClosed + 1 < here.toClosed)) {
      here.closed = behind.closed;
      here.cameIn = behind.cameIn;
      here.toClosed = behind.toClosed + 1;
    }
  }
  return here;
}

/// The routers that the one of `pe` sends a color to, and where words come in.
std::vector<std::pair<Coordinate, Port>> WaitGraph::nextOf(Coordinate pe,
                                                           int color) const {
  std::vector<std::pair<Coordinate, Port>> next;
  const std::optional<RouteNow> route = routeOf(pe, color);
  if (!route || route->tornDown)
    return next;
  for (Port port : {Port::North, Port::South, Port::East, Port::West})
    if (route->transmit >> unsigned(port) & 1)
      if (const Coordinate at = neighbour(pe, port); inMesh(at))
        next.push_back({at, opposite(port)});
  return next;
}

WaitGraph::Cause WaitGraph::causeOf(const PeWait &wait) const {
  if (!wait.room) {
    const std::optional<RouteNow> route = routeOf(wait.pe, wait.color);
    if (route && !(route->transmit >> unsigned(Port::Ramp) & 1))
      return {"its router sends none of them up the ramp", {}};
    return senderFor(wait.pe, wait.color);
  }
  const std::optional<RouteNow> route = routeOf(wait.pe, wait.color);
  if (route && !route->tornDown && route->receive != Port::Ramp)
    return {"its router lets in words from " + lower(route->receive) + " only",
            {}};
  return takerOf(wait.pe, wait.color);
}

/// What keeps a PE from acting, as far as one can tell.
std::string WaitGraph::stateOf(Coordinate pe) const {
  if (waits.count(key(pe)))
    return " (waiting, too)";
  std::string text;
  if (const auto here = blocked.find(key(pe)); here != blocked.end())
    for (const TaskCode *task : here->second)
      // A data task would run if words had come.
      if (task->kind != program::TaskKind::Data ||
          delivered.count({pe.y, pe.x, task->id}))
        text += (text.empty() ? ": task " : ", task ") + inQuotes(task->name) +
                " is blocked";
  return " (at rest" + text + ")";
}

//===----------------------------------------------------------------------===//
// The report
//===----------------------------------------------------------------------===//

namespace {

/// PEs that wait alike, and for whom.
struct Group {
  std::string what, where, cause, then;
  std::vector<Coordinate> pes, causes;
};

std::string describeCauses(const Group &group) {
  const Coordinate first = group.pes[0], whom = group.causes[0];
  const int dx = whom.x - first.x, dy = whom.y - first.y;
  bool alike = group.pes.size() == group.causes.size();
  for (size_t i = 0; alike && i < group.pes.size(); ++i)
    alike = group.causes[i].x - group.pes[i].x == dx &&
            group.causes[i].y - group.pes[i].y == dy;
  if (alike && dx == 0 && dy == 0)
    return "the same PE";
  if (!alike || group.pes.size() == 1 || (dx != 0 && dy != 0))
    return describeRectangles(group.causes);
  const int far = std::abs(dx + dy);
  return (far == 1 ? "the neighbour"
                   : "the PE " + std::to_string(far) + " PEs") +
         " to the " +
         (dx > 0   ? "east"
          : dx < 0 ? "west"
          : dy > 0 ? "south"
                   : "north");
}

std::string describeGroup(const Group &group) {
  std::string text =
      "\n  " + group.what + " at " + describeRectangles(group.pes);
  if (!group.where.empty())
    text += " (" + group.where + ")";
  text += ": " + group.cause;
  return group.causes.empty() ? text
                              : text + " " + describeCauses(group) + group.then;
}

} // namespace

std::string WaitGraph::describeWait(const PeWait &wait) const {
  std::string text = describeLaunch(call, wait.launch) + ", class " +
                     inQuotes(wait.code->name) + ": ";
  text += wait.instruction ? runtime::describe(*wait.instruction) : "control";
  text += (wait.room ? " waits to send on " : " waits for a word of ") +
          colorName(wait.color);
  return text;
}

std::string WaitGraph::describePlace(const PeWait &wait) const {
  std::string text;
  if (wait.instruction) {
    auto [found, isNew] = located.try_emplace(wait.instruction);
    if (isNew)
      found->second = locate(*wait.code, *wait.instruction);
    text = found->second;
  }
  const bool any =
      delivered.count({wait.pe.y, wait.pe.x, wait.color}) && !wait.room;
  text += (text.empty() ? "" : "; ") +
          queueName(*wait.code, wait.color, wait.room) +
          (wait.room ? " is full"
           : any     ? " holds other words"
                     : " is empty");
  if (wait.awaited)
    text += "; the main thread awaits it";
  return text;
}

/// Groups in the order of their first PEs, row by row.
std::string WaitGraph::describeGroups() const {
  std::vector<Group> groups;
  std::map<std::tuple<std::string, std::string, std::string, std::string>,
           size_t>
      numbers;
  auto groupOf = [&](const std::string &what, const std::string &where,
                     const Cause &cause) -> Group & {
    const std::string then = cause.acts ? stateOf(*cause.who) : "";
    auto [at, isNew] = numbers.try_emplace(
        std::tuple(what, where, cause.text, then), groups.size());
    if (isNew)
      groups.push_back({what, where, cause.text, then, {}, {}});
    Group &group = groups[at->second];
    if (cause.who)
      group.causes.push_back(*cause.who);
    return group;
  };
  for (const auto &[at, here] : waits)
    for (const PeWait &wait : here)
      groupOf(describeWait(wait), describePlace(wait), causeOf(wait))
          .pes.push_back(wait.pe);
  constexpr size_t shown = 6;
  std::string text;
  for (size_t i = 0; i < std::min(shown, groups.size()); ++i)
    text += describeGroup(groups[i]);
  if (groups.size() > shown)
    text += "\n  and " + std::to_string(groups.size() - shown) +
            " more ways to wait";
  for (size_t i = 0; i < std::min(shown, outputs.size()); ++i) {
    const Output &output = outputs[i];
    const Coordinate last{program.machine()->width() - 1, output.row};
    const Cause cause = senderFor(last, output.color);
    text += "\n  output stream " +
            inQuotes(program.streams()->Get(output.stream)->name()->str()) +
            " (" + colorName(output.color) + ", row " +
            std::to_string(output.row) + ") has " + std::to_string(output.has) +
            " of " + std::to_string(output.words) + " words: " + cause.text;
    if (cause.who)
      text += " PE " + toString(*cause.who) +
              (cause.acts ? stateOf(*cause.who) : "");
  }
  if (outputs.size() > shown)
    text +=
        "\n  and " + std::to_string(outputs.size() - shown) + " more outputs";
  return text;
}

/// Follows waits from PE to PE, until they close in a cycle or end.
std::string WaitGraph::describeEnd() const {
  // A PE's waits are tried in order; `path` is where we are. Of each PE that
  // was left, how far it is to the end of its longest way, and the next on it.
  struct Way {
    size_t length = 1;
    std::optional<Coordinate> next;
  };
  std::vector<Coordinate> path;
  std::set<std::tuple<int, int>> onPath;
  std::map<std::tuple<int, int>, Way> left;
  Coordinate farthest;
  size_t most = 0;
  auto lengthen = [&](Coordinate pe, Coordinate next) {
    Way &way = left[key(pe)];
    if (const size_t length = left.at(key(next)).length + 1;
        length > way.length)
      way = {length, next};
  };
  for (const auto &[start, unused] : waits) {
    if (left.count(start))
      continue;
    path = {{std::get<1>(start), std::get<0>(start)}};
    onPath = {start};
    std::vector<size_t> tried{0};
    while (!path.empty()) {
      const auto here = waits.find(key(path.back()));
      if (here == waits.end() || tried.back() == here->second.size()) {
        const Coordinate pe = path.back();
        if (const size_t length = left[key(pe)].length; length > most) {
          most = length;
          farthest = pe;
        }
        onPath.erase(key(pe));
        path.pop_back();
        tried.pop_back();
        if (!path.empty())
          lengthen(path.back(), pe);
        continue;
      }
      const Cause cause = causeOf(here->second[tried.back()++]);
      if (!cause.acts)
        continue;
      if (!onPath.insert(key(*cause.who)).second) {
        path.erase(path.begin(),
                   std::find(path.begin(), path.end(), *cause.who));
        path.push_back(path.front());
        return "\n  a cycle: " + describePath(path);
      }
      if (left.count(key(*cause.who))) {
        onPath.erase(key(*cause.who));
        lengthen(path.back(), *cause.who);
        continue;
      }
      path.push_back(*cause.who);
      tried.push_back(0);
    }
  }
  if (most < 3)
    return ""; // The groups have said it.
  for (std::optional<Coordinate> at = farthest; at; at = left.at(key(*at)).next)
    path.push_back(*at);
  return "\n  in the end: " + describePath(path) + stateOf(path.back());
}

std::string WaitGraph::describePath(const std::vector<Coordinate> &path) {
  constexpr size_t shown = 6;
  std::string text;
  for (size_t i = 0; i < path.size(); ++i) {
    text += i ? " waits for " : "";
    if (path.size() > shown && i == shown / 2) {
      const size_t skipped = path.size() - shown;
      text += std::to_string(skipped) + " more, the last of them for ";
      i += skipped;
    }
    text += toString(path[i]);
  }
  return text;
}

std::string WaitGraph::describe() const {
  return describeGroups() + describeEnd();
}

} // namespace wsec::runtime
