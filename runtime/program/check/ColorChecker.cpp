// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The routers of a color fall into parts that no word leaves. In each part
// those who send and those who receive must fit together.
#include "runtime/program/check/ColorChecker.h"
#include "runtime/program/Checker.h"
#include "runtime/program/Ports.h"
#include "runtime/program/check/ColorUses.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace wsec::runtime {

namespace {

using program::Packing;
using program::Port;

/// How elements travel, in words: "f16, pair".
std::string formText(program::ElementType type, Packing packing) {
  std::string text = program::EnumNameElementType(type);
  std::transform(text.begin(), text.end(), text.begin(),
                 [](char c) { return char(std::tolower(c)); });
  return text + (packing == Packing::Pair ? " in pairs" : "");
}
uint64_t formBit(program::ElementType type, Packing packing) {
  return uint64_t(1) << (2 * unsigned(type) + unsigned(packing));
}

/// A use of a color, without the stack it was found on.
struct Use {
  bool isCertain = false, isControl = false;
  program::ElementType type{};
  Packing packing{};
  std::vector<int64_t> xs, ys;
  std::vector<PlaceStep> place;

  std::string form() const { return formText(type, packing); }
  uint64_t bit() const { return formBit(type, packing); }
};

/// All that a program does with one color.
struct Color {
  std::vector<Use> sends, receives;
  std::vector<const program::RouteRule *> rules;
  std::vector<int64_t> ruleNumbers;
  std::vector<const program::HostStream *> in, out;
  /// Classes with a data task or filter of the color: these take any word.
  std::vector<const program::PEClass *> takers;
};

/// Routers that words of a color may pass among.
struct Endpoint {
  const Use *sender = nullptr, *receiver = nullptr; ///< one of them
  int64_t senderPe = -1, receiverPe = -1;
  uint64_t sent = 0, received = 0; ///< forms
  const program::HostStream *in = nullptr, *out = nullptr;
  bool isSwitched = false;
  bool takesAll = false; ///< in some PE, or beyond the mesh
  /// A router that sends on to one which does not take it, and that one.
  int64_t deadEnd = -1, beyond = -1;
};

class ColorChecker {
public:
  ColorChecker(const program::Program &program, int64_t number,
               const Color &color, ProofSteps &steps)
      : number(number), color(color), steps(steps),
        width(program.machine()->width()), height(program.machine()->height()),
        ruleOf(size_t(width * height), -1), parent(size_t(width * height)),
        partNumber(size_t(width * height), -1) {}

  std::optional<ColorMistake> find();

private:
  void placeRules();
  void join();
  void findDeadEnds();
  void addUses();
  void addEdges();
  template <class Visit>
  void forEachPe(const Use &use, const Visit &visit);
  template <class Visit>
  void forEachLink(int64_t pe, const Visit &visit);

  std::optional<ColorMistake> checkSend(const Use &use, int64_t pe);
  std::optional<ColorMistake> checkReceive(const Use &use, int64_t pe);
  ColorMistake mistake(ErrorClass errorClass, const Use &use,
                       const std::string &what) const {
    return {errorClass, use.place, what, {}, ""};
  }
  ColorMistake withRule(ColorMistake its, int64_t pe,
                        const std::string &note) const;
  ColorMistake withUse(ColorMistake its, const Use &other, int64_t pe,
                       const std::string &verb) const;

  int64_t root(int64_t pe) {
    while (parent[size_t(pe)] != pe)
      pe = parent[size_t(pe)] = parent[size_t(parent[size_t(pe)])];
    return pe;
  }
  Endpoint &partOf(int64_t pe) {
    int &part = partNumber[size_t(root(pe))];
    if (part < 0) {
      part = int(parts.size());
      parts.emplace_back();
    }
    return parts[size_t(part)];
  }
  const program::RouteRule *ruleAt(int64_t pe) const {
    const int rule = ruleOf[size_t(pe)];
    return rule < 0 ? nullptr : color.rules[size_t(rule)];
  }
  std::string peText(int64_t pe) const {
    return "PE (" + std::to_string(pe % width) + ", " +
           std::to_string(pe / width) + ")";
  }
  std::string colorText() const { return "color " + std::to_string(number); }

  const int64_t number;
  const Color &color;
  ProofSteps &steps;
  const int64_t width, height;
  std::vector<int> ruleOf;     ///< by PE; -1: none
  std::vector<int64_t> parent; ///< of the PEs of a part
  std::vector<int> partNumber; ///< by the root of the part; -1: not yet
  std::vector<Endpoint> parts;
};

/// Whether some position of a rule receives from a port.
bool everReceives(const program::RouteRule &rule, Port port) {
  for (unsigned i = 0; i <= furtherPositions(rule); ++i)
    if (portsAt(rule, i).receive == port)
      return true;
  return false;
}

void ColorChecker::placeRules() {
  std::iota(parent.begin(), parent.end(), 0);
  for (size_t i = 0; i < color.rules.size(); ++i) {
    const program::Rect &rect = *color.rules[i]->rect();
    for (int64_t y = rect.y0(); y < rect.y1(); y += rect.ystep())
      for (int64_t x = rect.x0(); x < rect.x1(); x += rect.xstep(), ++steps)
        ruleOf[size_t(y * width + x)] = int(i);
  }
}

/// Calls `visit(port, neighbour)` for the ports to neighbours that the router
/// of a PE ever transmits to; -1 beyond the mesh.
template <class Visit>
void ColorChecker::forEachLink(int64_t pe, const Visit &visit) {
  const unsigned transmit = everTransmits(*ruleAt(pe));
  for (unsigned port = 0; port < 4; ++port)
    if (transmit >> port & 1) {
      const Way way = wayOf(Port(port));
      const int64_t x = pe % width + way.x, y = pe / width + way.y;
      const bool isInside = x >= 0 && x < width && y >= 0 && y < height;
      visit(Port(port), isInside ? y * width + x : -1);
    }
}

void ColorChecker::join() {
  for (int64_t pe = 0; pe < width * height; ++pe, ++steps)
    if (ruleAt(pe))
      forEachLink(pe, [&](Port port, int64_t next) {
        if (next >= 0 && ruleAt(next) &&
            everReceives(*ruleAt(next), opposite(port)))
          parent[size_t(root(pe))] = root(next);
      });
}

void ColorChecker::findDeadEnds() {
  for (int64_t pe = 0; pe < width * height; ++pe, ++steps) {
    const program::RouteRule *rule = ruleAt(pe);
    if (!rule)
      continue;
    Endpoint &part = partOf(pe);
    part.isSwitched |= furtherPositions(*rule) > 0;
    forEachLink(pe, [&](Port port, int64_t next) {
      if (next < 0)
        part.takesAll = true;
      else if (part.deadEnd < 0 &&
               (!ruleAt(next) || !everReceives(*ruleAt(next), opposite(port))))
        part.deadEnd = pe, part.beyond = next;
    });
  }
}

template <class Visit>
void ColorChecker::forEachPe(const Use &use, const Visit &visit) {
  for (int64_t y : use.ys)
    for (int64_t x : use.xs) {
      ++steps;
      visit(y * width + x);
    }
}

void ColorChecker::addUses() {
  for (const Use &use : color.sends)
    forEachPe(use, [&](int64_t pe) {
      Endpoint &part = partOf(pe);
      part.sent |= use.isControl ? 0 : use.bit();
      if (!part.sender)
        part.sender = &use, part.senderPe = pe;
    });
  for (const Use &use : color.receives)
    forEachPe(use, [&](int64_t pe) {
      Endpoint &part = partOf(pe);
      part.received |= use.bit();
      if (!part.receiver)
        part.receiver = &use, part.receiverPe = pe;
    });
  for (const program::PEClass *taker : color.takers)
    for (const program::Rect *rect : *taker->rects())
      for (int64_t y = rect->y0(); y < rect->y1(); y += rect->ystep())
        for (int64_t x = rect->x0(); x < rect->x1();
             x += rect->xstep(), ++steps)
          partOf(y * width + x).takesAll = true;
}

void ColorChecker::addEdges() {
  for (const program::HostStream *stream : color.in)
    for (const program::Channel *channel : *stream->channels()) {
      Endpoint &part = partOf(channel->row() * width);
      part.in = stream;
      part.sent |= formBit(stream->type(), stream->packing());
    }
  for (const program::HostStream *stream : color.out)
    for (const program::Channel *channel : *stream->channels()) {
      Endpoint &part = partOf(channel->row() * width + width - 1);
      part.out = stream;
      part.takesAll = true;
    }
}

ColorMistake ColorChecker::withRule(ColorMistake its, int64_t pe,
                                    const std::string &note) const {
  if (const int rule = ruleOf[size_t(pe)]; rule >= 0) {
    its.other = {{"route rule", color.ruleNumbers[size_t(rule)], ""}};
    its.note = note + peText(pe);
  }
  return its;
}

ColorMistake ColorChecker::withUse(ColorMistake its, const Use &other,
                                   int64_t pe, const std::string &verb) const {
  its.other = other.place;
  its.note = peText(pe) + " " + verb + " here" +
             (other.isControl ? "" : ", " + other.form());
  return its;
}

std::optional<ColorMistake> ColorChecker::checkSend(const Use &use,
                                                    int64_t pe) {
  const Endpoint &part = partOf(pe);
  if (part.isSwitched || use.isControl || !ruleAt(pe))
    return std::nullopt;
  if (part.deadEnd >= 0) {
    const program::RouteRule *beyond = ruleAt(part.beyond);
    return withRule(
        mistake(ErrorClass::MissingRoute, use,
                "sends on " + colorText() + " in " + peText(pe) +
                    "; its words come to " + peText(part.beyond) +
                    (beyond ? ", whose route of the color does not receive "
                              "them"
                            : ", which has no route of the color") +
                    ": add one, or end the way before"),
        part.deadEnd, "this route sends them on from ");
  }
  if (part.receiver || part.takesAll)
    return std::nullopt;
  ColorMistake its = mistake(
      ErrorClass::UnreadTraffic, use,
      "sends on " + colorText() + " in " + peText(pe) +
          ", but no code and no stream of the PEs that its routes lead to "
          "receives the color");
  if (color.receives.empty())
    return withRule(std::move(its), pe, "the route of ");
  const Use &other = color.receives.front();
  return withUse(std::move(its), other,
                 other.ys.front() * width + other.xs.front(),
                 "receives it, off these routes,");
}

std::optional<ColorMistake> ColorChecker::checkReceive(const Use &use,
                                                       int64_t pe) {
  const program::RouteRule *rule = ruleAt(pe);
  const std::string receives =
      "receives on " + colorText() + " in " + peText(pe);
  if (!rule || !(everTransmits(*rule) >> unsigned(Port::Ramp) & 1))
    return withRule(mistake(ErrorClass::MissingRoute, use,
                            receives + ", where no route of the color leads to "
                                       "the ramp: add one, or do not receive "
                                       "there"),
                    pe, "the route of ");
  const Endpoint &part = partOf(pe);
  if (!part.sender && !part.in) {
    ColorMistake its = mistake(
        ErrorClass::Deadlock, use,
        receives + ", but no code and no stream sends the color where its "
                   "routes come from");
    if (color.sends.empty())
      return withRule(std::move(its), pe, "the route of ");
    const Use &other = color.sends.front();
    return withUse(std::move(its), other,
                   other.ys.front() * width + other.xs.front(),
                   "sends it, on other routes,");
  }
  if (part.sent == 0 || part.sent & use.bit())
    return std::nullopt;
  ColorMistake its =
      mistake(ErrorClass::PackingMismatch, use,
              receives + " " + use.form() +
                  ", but what comes to it is sent as another type");
  if (part.sender && !part.sender->isControl)
    return withUse(std::move(its), *part.sender, part.senderPe, "sends");
  if (!part.in)
    return std::nullopt;
  its.other = {{"stream", -1, part.in->name()->str()}};
  its.note =
      "this stream sends " + formText(part.in->type(), part.in->packing());
  return its;
}

std::optional<ColorMistake> ColorChecker::find() {
  placeRules();
  join();
  findDeadEnds();
  addUses();
  addEdges();
  std::optional<ColorMistake> found;
  auto checkAll = [&](const std::vector<Use> &uses, auto check) {
    for (const Use &use : uses)
      if (use.isCertain)
        forEachPe(use, [&](int64_t pe) {
          if (!found)
            found = (this->*check)(use, pe);
        });
  };
  checkAll(color.sends, &ColorChecker::checkSend);
  checkAll(color.receives, &ColorChecker::checkReceive);
  return found;
}

std::map<int64_t, Color> colorsOf(const program::Program &program,
                                  ProofSteps &steps) {
  std::map<int64_t, Color> colors;
  for (const program::PEClass *peClass : *program.classes()) {
    forEachColorUse(
        *peClass, program, /*onlySends=*/false, steps,
        [&](const ColorUse &its) {
          Color &color = colors[its.color];
          Use &use = (its.sends ? color.sends : color.receives).emplace_back();
          use.isCertain = its.isCertain;
          use.isControl = !its.operand;
          if (its.operand) {
            use.type = its.operand->type();
            use.packing = its.operand->packing();
          }
          use.xs = its.xs;
          use.ys = its.ys;
          use.place = its.where.path();
          steps += int64_t(its.xs.size() + its.ys.size());
        });
    if (peClass->tasks())
      for (const program::Task *task : *peClass->tasks())
        if (task->kind() == program::TaskKind::Data)
          colors[task->id()].takers.push_back(peClass);
    if (peClass->filters())
      for (const program::Filter *filter : *peClass->filters())
        colors[filter->color()].takers.push_back(peClass);
  }
  int64_t number = 0;
  for (const program::RouteRule *rule : *program.routes()) {
    colors[rule->color()].rules.push_back(rule);
    colors[rule->color()].ruleNumbers.push_back(number++);
  }
  if (program.streams())
    for (const program::HostStream *stream : *program.streams())
      (stream->direction() == program::Direction::In
           ? colors[stream->color()].in
           : colors[stream->color()].out)
          .push_back(stream);
  return colors;
}

} // namespace

std::optional<ColorMistake> findColorMistake(const program::Program &program) {
  ProofSteps steps;
  const program::Machine &machine = *program.machine();
  try {
    for (const program::PEClass *peClass : *program.classes())
      if (setsRoutes(*peClass))
        return std::nullopt;
    for (const auto &[number, color] : colorsOf(program, steps)) {
      if (number == program.launch_color())
        continue;
      steps += int64_t(machine.width()) * machine.height(); // a list of all PEs
      if (auto found = ColorChecker(program, number, color, steps).find())
        return found;
    }
  } catch (const NotUnderstood &) {
    // More than is checked in advance; engines look at every word.
  }
  return std::nullopt;
}

} // namespace wsec::runtime
