// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/program/proof/TokenWaits.h"
#include "runtime/program/NearestNames.h"
#include "runtime/program/Ports.h"

#include <set>

namespace wsec::runtime::tokens {

static std::string describeCell(const Code &code, const KindMesh &mesh,
                                const Place &place) {
  return "PEs x " + mesh.columns.describe(mesh.columns.of[size_t(place.x)]) +
         ", y " + mesh.rows.describe(mesh.rows.of[size_t(place.y)]) +
         " (class " +
         inQuotes(code.program.classes()
                      ->Get(unsigned(place.peClass))
                      ->name()
                      ->str()) +
         ")";
}

static std::string describeWait(const Code &code, const Fabric &fabric,
                                const Cell &cell, const Progress &progress) {
  std::string text = "statement " + std::to_string(progress.op->statement);
  if (!progress.op->main())
    text += " on microthread " + std::to_string(progress.op->thread());
  const FabricRoutine &its = *progress.code;
  text += its.isTask ? " of " + code.nameOfTask(cell.place.peClass, its.id)
                     : " of routine " + std::to_string(its.id);
  if (progress.waitsToSend(fabric))
    return text + " waits to send on color " +
           std::to_string(fabric.color(progress.out));
  return text + " waits for a word of color " +
         std::to_string(fabric.color(progress.in));
}

/// The kind of PE that has to send a word, or to take one.
static size_t waitsFor(const Fabric &fabric, const Progress &progress) {
  if (!progress.waitsToSend(fabric)) {
    size_t at = progress.in;
    while (at != none && fabric.route(at).receive != Port::Ramp)
      at = fabric.route(at).input().from;
    return at == none ? none : fabric.route(at).cell;
  }
  for (size_t at = progress.out;;) {
    const Route &route = fabric.route(at);
    if (route.transmits(Port::Ramp) && route.inbox.free() == 0)
      return route.cell;
    size_t full = none;
    for (Port port : {Port::North, Port::South, Port::East, Port::West})
      if (const auto [to, into] = route.links[size_t(port)];
          full == none && route.transmits(port) && to != none &&
          fabric.route(to).receive == into &&
          fabric.route(to).input().free() == 0)
        full = to;
    if (full == none)
      return none;
    at = full;
  }
}

std::string describeStuck(const Code &code, const KindMesh &mesh,
                          const Fabric &fabric, const Cells &all) {
  const std::vector<Cell> &cells = all.all();
  auto blocked = [&](size_t cell) -> const Progress * {
    for (const Thread &thread : cells[cell].threads)
      if (thread.now)
        return &*thread.now;
    return nullptr;
  };
  size_t at = 0;
  while (at < cells.size() && !blocked(at))
    ++at;
  if (at == cells.size())
    return "";
  auto describe = [&](size_t cell) {
    return describeCell(code, mesh, cells[cell].place);
  };
  std::string text;
  std::set<size_t> seen;
  while (true) {
    if (!seen.insert(at).second)
      return text + "; these wait for the ones above in a cycle, at " +
             describe(at);
    const Progress &progress = *blocked(at);
    text += (text.empty() ? "" : "; from ") + describe(at) + ", where " +
            describeWait(code, fabric, cells[at], progress);
    size_t next = waitsFor(fabric, progress);
    if (next >= cells.size())
      return text + ", which nobody does";
    if (!blocked(next))
      return text + ", and " + describe(next) + " has ended";
    at = next;
  }
}

} // namespace wsec::runtime::tokens
