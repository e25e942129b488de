// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/engine/Router.h"

#include "runtime/engine/Mesh.h"
#include "runtime/program/Errors.h"

namespace wsec::runtime {

using program::Port;

static const char *portName(Port port) { return program::EnumNamePort(port); }

static std::string place(int color, Coordinate pe) {
  return "color " + std::to_string(color) + " at PE " + toString(pe);
}

RouterTables::RouterTables(const program::Program &program)
    : meshWidth(program.machine()->width()),
      meshHeight(program.machine()->height()), tables(256) {
  for (const program::RouteRule *rule : *program.routes())
    addRule(*rule);
}

void RouterTables::addRule(const program::RouteRule &rule) {
  const program::Rect &rect = *rule.rect();
  if (rect.xstep() < 1 || rect.ystep() < 1 || rect.x0() < 0 || rect.y0() < 0 ||
      rect.x1() > meshWidth || rect.y1() > meshHeight || rule.transmit() > 31)
    throw Error(ErrorClass::BadProgram,
                "a route of color " + std::to_string(rule.color()) +
                    " leaves the mesh or names a port that does not exist");
  std::vector<uint8_t> &table = tables[rule.color()];
  if (table.empty())
    table.assign(size_t(meshWidth) * meshHeight, noRule);
  uint8_t value = uint8_t(rule.receive()) | uint8_t(rule.transmit() << 3);
  for (int y = rect.y0(); y < rect.y1(); y += rect.ystep())
    for (int x = rect.x0(); x < rect.x1(); x += rect.xstep()) {
      uint8_t &slot = table[size_t(y) * meshWidth + x];
      if (slot != noRule)
        throw Error(ErrorClass::RouteConflict,
                    place(rule.color(), {x, y}) + " has two rules: receives " +
                        portName(Port(slot & 7)) + " and " +
                        portName(rule.receive()));
      slot = value;
    }
}

void RouterTables::follow(int color, Coordinate from, Port port,
                          const Visit &visit) const {
  struct Step {
    Coordinate pe;
    Port entered;
    int hops;
  };
  std::vector<Step> pending{{from, port, 0}};
  while (!pending.empty()) {
    const Step step = pending.back();
    pending.pop_back();
    if (!hasRule(color, step.pe))
      throw Error(ErrorClass::MissingRoute,
                  place(color, step.pe) + ": a wavelet enters from " +
                      portName(step.entered) + " and there is no rule for it");
    // A PE has one receive port, so a route that runs in a circle, or meets
    // itself, shows here.
    if (receive(color, step.pe) != step.entered)
      throw Error(ErrorClass::RouteConflict,
                  place(color, step.pe) + ": a wavelet enters from " +
                      portName(step.entered) + " where the router receives " +
                      portName(receive(color, step.pe)));
    for (Port out :
         {Port::Ramp, Port::North, Port::South, Port::East, Port::West}) {
      if (!transmits(color, step.pe, out))
        continue;
      const Coordinate next = neighbour(step.pe, out);
      const bool inside = next.x >= 0 && next.x < meshWidth && next.y >= 0 &&
                          next.y < meshHeight;
      if (!inside && out != Port::East)
        throw Error(ErrorClass::MissingRoute,
                    place(color, step.pe) + " leads over the " + portName(out) +
                        " edge of the mesh");
      visit(step.pe, out, step.hops, inside);
      if (inside && out != Port::Ramp)
        pending.push_back({next, opposite(out), step.hops + 1});
    }
  }
}

Flow RouterTables::trace(int color, Coordinate from, Port port) const {
  Flow flow;
  follow(color, from, port, [&](Coordinate pe, Port out, int hops, bool on) {
    if (out == Port::Ramp)
      flow.delivered.push_back({pe, hops});
    else if (!on)
      flow.exits.push_back({pe, hops + 1});
  });
  return flow;
}

} // namespace wsec::runtime
