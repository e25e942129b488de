// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every word that a router passes was sent by one PE or entered at one row of
// the west edge: its source, to which the routes lead back from any PE. So
// words are counted at their sources, color by color, and looked up from all
// PEs between them and their hearers.
#include "runtime/program/facts/LinkWords.h"
#include "runtime/program/Ports.h"
#include "runtime/program/program_generated.h"
#include "runtime/program/proof/FabricUse.h"
#include "runtime/program/proof/HostWords.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>

namespace wsec::runtime {

namespace {

using program::Port;
using Axis = AxisScalars::Axis;

/// The routers of one color.
class ColorRouters {
public:
  static constexpr int none = -1;

  ColorRouters(const program::Program &program, int color)
      : width(program.machine()->width()), height(program.machine()->height()),
        receives(size_t(width) * size_t(height), unrouted),
        sources(receives.size(), unknown) {
    for (const program::RouteRule *rule : *program.routes()) {
      if (rule->color() != color)
        continue;
      rules.push_back(rule);
      moves |= rule->positions() && rule->positions()->size() > 0;
      const program::Rect &rect = *rule->rect();
      for (int y = rect.y0(); y < rect.y1(); y += rect.ystep())
        for (int x = rect.x0(); x < rect.x1(); x += rect.xstep())
          receives[index(x, y)] = uint8_t(rule->receive());
    }
    for (int pe = 0; pe < int(sources.size()); ++pe)
      follow(pe);
  }

  /// The PE whose words a PE's router passes, or the number of PEs and the row
  /// where they enter; none.
  int sourceOf(int pe) const { return sources[size_t(pe)]; }
  int pes() const { return width * height; }

  std::vector<const program::RouteRule *> rules;
  bool moves = false; ///< some switch has several positions
  const int width, height;

private:
  static constexpr uint8_t unrouted = 255;
  static constexpr int unknown = -2;

  size_t index(int x, int y) const { return size_t(y) * size_t(width) + x; }

  /// Back along the route, until a PE whose source is known.
  void follow(int pe) {
    way.clear();
    int source = unknown;
    for (int at = pe; source == unknown;) {
      if (sources[size_t(at)] != unknown) {
        source = sources[size_t(at)];
        break;
      }
      sources[size_t(at)] = none; // what goes round has no source
      way.push_back(at);
      const auto from = Port(receives[size_t(at)]);
      const Way back = wayOf(from);
      const int x = at % width + back.x, y = at / width + back.y;
      if (receives[size_t(at)] == unrouted)
        source = none;
      else if (from == Port::Ramp)
        source = at;
      else if (x >= 0 && x < width && y >= 0 && y < height)
        at = int(index(x, y));
      else
        source = from == Port::West ? pes() + y : none;
    }
    for (int at : way)
      sources[size_t(at)] = source;
  }

  std::vector<uint8_t> receives;
  std::vector<int> sources;
  std::vector<int> way;
};

/// Of PEs, both ends inside; empty at first.
struct Box {
  int x0 = std::numeric_limits<int>::max(), y0 = x0, x1 = -1, y1 = -1;

  void add(int x, int y) {
    x0 = std::min(x0, x);
    y0 = std::min(y0, y);
    x1 = std::max(x1, x);
    y1 = std::max(y1, y);
  }
  void add(const Box &other) {
    if (other.x1 < 0)
      return;
    add(other.x0, other.y0);
    add(other.x1, other.y1);
  }
};

/// A class and its routines, each read when a launch first needs it.
struct ClassCode {
  ClassCode(const program::Program &program, const program::PEClass &peClass,
            ProofSteps &steps)
      : peClass(peClass), rects(peClass.rects()->size()),
        scalars(peClass.scalars(), copyRects(), program.machine()->width(),
                program.machine()->height(), steps) {}

  /// Null: the class does nothing in it.
  const program::Routine *find(uint32_t id) const {
    if (peClass.routines())
      for (const program::Routine *each : *peClass.routines())
        if (each->id() == id)
          return each;
    return nullptr;
  }

  /// A routine, and a number that those which do the same to the fabric share.
  std::pair<const FabricRoutine *, int64_t> read(const program::Routine &its) {
    auto [at, isNew] = routines.try_emplace(its.id());
    if (isNew)
      at->second = readRoutine(*its.body(), its.id(), scalars, false);
    const int64_t number =
        numbers.try_emplace(signatureOf(at->second), int64_t(numbers.size()))
            .first->second;
    return {&at->second, number};
  }

  const program::PEClass &peClass;
  std::vector<program::Rect> rects;
  AxisScalars scalars;

private:
  const std::vector<program::Rect> &copyRects() {
    for (unsigned i = 0; i < peClass.rects()->size(); ++i)
      rects[i] = *peClass.rects()->Get(i);
    return rects;
  }

  std::map<uint32_t, FabricRoutine> routines;
  std::map<std::vector<int64_t>, int64_t> numbers; ///< by signature
};

/// What the PEs of a class send on a color in a routine. PEs that agree in all
/// scalars that matter send the same.
class Senders {
public:
  Senders(const FabricRoutine &routine, const AxisScalars &scalars, int color)
      : scalars(scalars), color(color) {
    std::set<int> atoms;
    for (const FabricOp &op : routine.ops)
      if (op.outColors.count(color))
        add(op, atoms);
    xs = &scalars.kinds(atoms, Axis::X);
    ys = &scalars.kinds(atoms, Axis::Y);
    // Where guards y == f(x) tell one row of each column there are too many
    // kinds to remember, and few senders.
    if (const size_t kinds = xs->count() * ys->count(); kinds <= mostKinds)
      known.assign(kinds, -1);
  }

  bool empty() const { return ops.empty(); }

  int64_t wordsAt(int x, int y) {
    if (known.empty())
      return count(x, y);
    int64_t &words = known[ys->of[size_t(y)] * xs->count() + xs->of[size_t(x)]];
    if (words < 0)
      words = count(x, y);
    return words;
  }

private:
  static constexpr size_t mostKinds = 1 << 16;

  void add(const FabricOp &op, std::set<int> &atoms) {
    ops.push_back(&op);
    for (int guard : op.guards)
      scalars.atoms(guard, atoms);
    scalars.atoms(op.turns, atoms);
    scalars.atoms(*op.out->color(), atoms);
    for (const program::Affine *size : sizesOf(op, *op.out))
      scalars.atoms(*size, atoms);
  }

  int64_t count(int x, int y) const {
    int64_t words = 0;
    for (const FabricOp *op : ops)
      if (runsAt(op->guards, op->turns, scalars, x, y) &&
          scalars.value(*op->out->color(), x, y) == color)
        words += wordsOf(*op, *op->out, scalars, x, y);
    return words;
  }

  const AxisScalars &scalars;
  const int color;
  std::vector<const FabricOp *> ops;
  const AxisKinds *xs = nullptr, *ys = nullptr;
  std::vector<int64_t> known; ///< by kinds; -1: not yet
};

/// Launches that bring the same words to the same code.
struct Work {
  const program::Launch *launch = nullptr;
  std::vector<std::pair<ClassCode *, const FabricRoutine *>> code;
  std::vector<uint32_t> tables;
  std::string unknown;
};

class LinkCounter {
public:
  explicit LinkCounter(const program::Program &program)
      : program(program), width(program.machine()->width()),
        classOf(size_t(width) * size_t(program.machine()->height()), -1),
        words(classOf.size() + size_t(program.machine()->height())) {
    for (const program::PEClass *each : *program.classes()) {
      const int number = int(classes.size());
      classes.push_back(std::make_unique<ClassCode>(program, *each, steps));
      forPes(classes.back()->rects,
             [&](int x, int y) { classOf[index(x, y)] = number; });
    }
  }

  LinkWords count() {
    for (const program::Entry *entry : *program.entries())
      for (const program::Launch *launch : *entry->launches()) {
        result.launches.push_back(
            {entry->name()->str(), launch->kernel(), {}, {}});
        workOf.push_back(workFor(*launch));
      }
    for (int color = 0; color < program.machine()->colors(); ++color)
      if (color != program.launch_color())
        countColor(color);
    for (size_t i = 0; i < workOf.size(); ++i) {
      Work &work = works[workOf[i]];
      result.launches[i].unknown = work.unknown;
      if (work.unknown.empty())
        result.launches[i].tables = work.tables;
    }
    for (const auto &[table, number] : tables)
      result.tables[number] = table;
    return std::move(result);
  }

private:
  size_t index(int x, int y) const { return size_t(y) * size_t(width) + x; }

  template <typename Use>
  static void forPes(const std::vector<program::Rect> &rects, Use use) {
    for (const program::Rect &rect : rects)
      for (int y = rect.y0(); y < rect.y1(); y += rect.ystep())
        for (int x = rect.x0(); x < rect.x1(); x += rect.xstep())
          use(x, y);
  }

  /// Number of the work of a launch: the same for those that are alike.
  size_t workFor(const program::Launch &launch) {
    Work work;
    work.launch = &launch;
    std::vector<int64_t> key;
    try {
      for (size_t c = 0; c < classes.size(); ++c)
        if (const program::Routine *its = classes[c]->find(launch.routine())) {
          requirePlain(classes[c]->peClass);
          const auto [routine, number] = classes[c]->read(*its);
          work.code.push_back({classes[c].get(), routine});
          key.insert(key.end(), {int64_t(c), number});
        }
      requirePlain(launch);
      key.push_back(-1);
      for (int64_t number : signatureOf(program, launch))
        key.push_back(number);
    } catch (const NotUnderstood &problem) {
      work.unknown = problem.reason;
      works.push_back(std::move(work));
      return works.size() - 1;
    }
    const auto [at, isNew] = alike.try_emplace(std::move(key), works.size());
    if (isNew)
      works.push_back(std::move(work));
    return at->second;
  }

  static void requirePlain(const program::PEClass &peClass) {
    if (peClass.tasks() && peClass.tasks()->size() > 0)
      throw NotUnderstood{"tasks, which other words may start"};
  }

  /// Streams whose sizes a call's arguments decide have no number before it.
  void requirePlain(const program::Launch &launch) const {
    for (unsigned i = 0; launch.streams() && i < launch.streams()->size(); ++i)
      if (const auto *nodes =
              program.streams()->Get(launch.streams()->Get(i))->scalars())
        for (const program::ScalarNode *node : *nodes)
          if (node->op() == program::ScalarOp::Argument)
            throw NotUnderstood{"blocks of the host that depend on arguments"};
  }

  void countColor(int color) {
    std::optional<ColorRouters> routers;
    for (Work &work : works) {
      if (!work.unknown.empty() || !uses(work, color))
        continue;
      if (!routers) {
        routers.emplace(program, color);
        findReach(*routers);
      }
      try {
        countWork(work, *routers, color);
      } catch (const NotUnderstood &problem) {
        work.unknown = problem.reason;
      }
      for (size_t source : sending)
        words[source] = 0;
      sending.clear();
    }
  }

  bool uses(const Work &work, int color) const {
    for (const auto &[code, routine] : work.code)
      for (const FabricOp &op : routine->ops)
        if (op.outColors.count(color))
          return true;
    const auto *streams = work.launch->streams();
    return streams &&
           std::any_of(streams->begin(), streams->end(), [&](uint32_t stream) {
             return program.streams()->Get(stream)->color() == color;
           });
  }

  /// Where words of a class, and of a row of the west edge, may come.
  void findReach(const ColorRouters &routers) {
    reach.assign(classes.size() + size_t(routers.height), {});
    for (int pe = 0; pe < routers.pes(); ++pe)
      if (const int source = routers.sourceOf(pe);
          source >= routers.pes() ||
          (source >= 0 && classOf[size_t(source)] >= 0))
        reach[source >= routers.pes()
                  ? classes.size() + size_t(source - routers.pes())
                  : size_t(classOf[size_t(source)])]
            .add(pe % width, pe / width);
  }

  void countWork(Work &work, const ColorRouters &routers, int color) {
    if (routers.moves)
      throw NotUnderstood{"a color with switch positions"};
    Box box;
    for (const auto &[code, routine] : work.code)
      countSent(*code, *routine, routers, color, box);
    countEntering(*work.launch, routers, color, box);
    PassedWords table = makeTable(routers, color, box);
    if (table.rows.empty())
      return;
    const auto [at, isNew] =
        tables.try_emplace(std::move(table), uint32_t(tables.size()));
    if (isNew)
      result.tables.emplace_back();
    work.tables.push_back(at->second);
  }

  void note(size_t source, int64_t more) {
    if (more == 0)
      return;
    if (words[source] == 0)
      sending.push_back(source);
    words[source] += more;
  }

  void countSent(const ClassCode &code, const FabricRoutine &routine,
                 const ColorRouters &routers, int color, Box &box) {
    Senders senders(routine, code.scalars, color);
    if (senders.empty())
      return;
    const int number = classOf[index(code.rects[0].x0(), code.rects[0].y0())];
    for (const program::RouteRule *rule : routers.rules)
      if (rule->receive() == Port::Ramp)
        forPes({*rule->rect()}, [&](int x, int y) {
          if (classOf[index(x, y)] == number)
            note(index(x, y), senders.wordsAt(x, y));
        });
    box.add(reach[size_t(number)]);
  }

  void countEntering(const program::Launch &launch, const ColorRouters &routers,
                     int color, Box &box) {
    for (unsigned i = 0; launch.streams() && i < launch.streams()->size();
         ++i) {
      const program::HostStream &stream =
          *program.streams()->Get(launch.streams()->Get(i));
      if (stream.color() != color ||
          stream.direction() != program::Direction::In)
        continue;
      const AxisScalars host(stream.scalars(), {}, width, routers.height,
                             steps);
      for (const program::Channel *channel : *stream.channels()) {
        note(size_t(routers.pes() + channel->row()),
             channelWords(stream, *channel, host));
        box.add(reach[classes.size() + size_t(channel->row())]);
      }
    }
  }

  /// Of what the sources in `sending` send, all PEs in the box.
  PassedWords makeTable(const ColorRouters &routers, int color,
                        const Box &box) const {
    PassedWords table;
    table.color = color;
    std::vector<PassedWords::Run> runs;
    for (int y = box.y0; y <= box.y1; ++y) {
      runs.clear();
      for (int x = box.x0; x <= box.x1; ++x) {
        const int source = routers.sourceOf(int(index(x, y)));
        const int64_t its = source < 0 ? 0 : words[size_t(source)];
        if (its == 0)
          continue;
        if (!runs.empty() && runs.back().end == x && runs.back().words == its)
          ++runs.back().end;
        else
          runs.push_back({x, x + 1, its});
      }
      if (runs.empty())
        continue;
      if (!table.rows.empty() && table.rows.back().end == y &&
          table.rows.back().runs == runs)
        ++table.rows.back().end;
      else
        table.rows.push_back({y, y + 1, runs});
    }
    return table;
  }

  const program::Program &program;
  const int width;
  ProofSteps steps;
  std::vector<int> classOf; ///< by PE; -1: without code
  std::vector<std::unique_ptr<ClassCode>> classes;
  std::vector<Work> works;
  std::map<std::vector<int64_t>, size_t> alike; ///< numbers of works
  std::vector<size_t> workOf;                   ///< by launch
  std::vector<int64_t> words;  ///< by source; 0 but where a color is counted
  std::vector<size_t> sending; ///< sources with words
  std::vector<Box> reach;      ///< by class, then by row of the west edge
  std::map<PassedWords, uint32_t> tables;
  LinkWords result;
};

} // namespace

LinkWords countLinkWords(const program::Program &program) {
  return LinkCounter(program).count();
}

std::array<std::vector<int64_t>, 5> wordsByLink(const program::Program &program,
                                                const LinkWords &words,
                                                std::string_view entry) {
  const int width = program.machine()->width();
  const size_t pes = size_t(width) * size_t(program.machine()->height());
  std::map<int, std::vector<int64_t>> passed; // by color
  for (const LinkWords::Launch &launch : words.launches)
    for (size_t i = 0; launch.entry == entry && i < launch.tables.size(); ++i) {
      const PassedWords &table = words.tables[launch.tables[i]];
      std::vector<int64_t> &its = passed[table.color];
      its.resize(pes);
      for (const PassedWords::Rows &rows : table.rows)
        for (int y = rows.begin; y < rows.end; ++y)
          for (const PassedWords::Run &run : rows.runs)
            for (int x = run.begin; x < run.end; ++x)
              its[size_t(y) * size_t(width) + size_t(x)] += run.words;
    }
  std::array<std::vector<int64_t>, 5> links;
  for (std::vector<int64_t> &port : links)
    port.resize(pes);
  for (const program::RouteRule *rule : *program.routes()) {
    const auto its = passed.find(rule->color());
    if (its == passed.end())
      continue;
    const program::Rect &rect = *rule->rect();
    for (int y = rect.y0(); y < rect.y1(); y += rect.ystep())
      for (int x = rect.x0(); x < rect.x1(); x += rect.xstep()) {
        const size_t pe = size_t(y) * size_t(width) + size_t(x);
        for (size_t port = 0; port < links.size(); ++port)
          if (rule->transmit() >> port & 1)
            links[port][pe] += its->second[pe];
      }
  }
  return links;
}

} // namespace wsec::runtime
