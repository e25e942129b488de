// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/program/proof/KindMesh.h"

#include "runtime/program/Checker.h"
#include "runtime/program/Ports.h"

namespace wsec::runtime {

namespace {

using program::Port;
using Axis = AxisScalars::Axis;

/// Whether words travel along the axis.
bool hasLinks(const program::Program &program, Axis axis) {
  Port one = axis == Axis::X ? Port::East : Port::North;
  Port other = axis == Axis::X ? Port::West : Port::South;
  unsigned ports = 1u << unsigned(one) | 1u << unsigned(other);
  for (const program::RouteRule *rule : *program.routes())
    if (everTransmits(*rule) & ports)
      return true;
  return false;
}

KindMesh::Line lineOf(const program::Program &program,
                      const std::vector<std::set<int>> &atoms,
                      const std::vector<AxisScalars> &scalars, Axis axis,
                      ProofSteps &steps) {
  const program::Machine &machine = *program.machine();
  std::vector<std::vector<int64_t>> keys(
      size_t(axis == Axis::X ? machine.width() : machine.height()));
  auto cover = [&](const program::Rect &rect, auto add) {
    Span span = spanOf(rect, axis);
    for (int i = span.begin; i < span.end; i += span.step, ++steps)
      add(keys[size_t(i)], i);
  };
  int64_t number = 0;
  // The host is met in the first and last column, and in the rows of channels.
  const bool commanded = program.launch_color() != noLaunchColor;
  const bool streams = program.streams() && program.streams()->size() > 0;
  if (axis == Axis::X && (commanded || streams)) {
    keys.front().push_back(--number);
    keys.back().push_back(--number);
  } else if (commanded) {
    keys.front().push_back(--number);
  }
  for (unsigned s = 0;
       axis == Axis::Y && streams && s < program.streams()->size(); ++s)
    for (const program::Channel *channel :
         *program.streams()->Get(s)->channels())
      keys[size_t(channel->row())].push_back(--number);
  number = 0;
  for (const program::RouteRule *rule : *program.routes()) {
    cover(*rule->rect(), [&](auto &key, int) { key.push_back(number); });
    ++number;
  }
  for (unsigned c = 0; c < program.classes()->size(); ++c)
    for (const program::Rect *rect : *program.classes()->Get(c)->rects()) {
      cover(*rect, [&](auto &key, int position) {
        key.push_back(number);
        steps += int64_t(atoms[c].size());
        for (int atom : atoms[c])
          if (scalars[c].axes(atom) == axis)
            key.push_back(scalars[c].along(atom, axis, position));
      });
      ++number;
    }
  // Seen from the edge of the mesh no two neighbourhoods are alike.
  if (hasLinks(program, axis))
    for (size_t i = 0; i < keys.size(); ++i)
      if (!keys[i].empty())
        keys[i].push_back(int64_t(i));
  return {
      kindsBy(keys.size(), [&](size_t i) -> const auto & { return keys[i]; })};
}

} // namespace

std::string KindMesh::Line::describe(size_t kind) const {
  std::string text;
  for (size_t i = 0; i < of.size(); ++i) {
    if (of[i] != kind)
      continue;
    size_t end = i;
    while (end + 1 < of.size() && of[end + 1] == kind)
      ++end;
    text += (text.empty() ? "" : ", ") + std::to_string(i);
    if (end > i)
      text += ".." + std::to_string(end);
    i = end;
  }
  return text;
}

KindMesh kindsOfPes(const program::Program &program,
                    const std::vector<std::set<int>> &atoms,
                    const std::vector<AxisScalars> &scalars,
                    ProofSteps &steps) {
  return {lineOf(program, atoms, scalars, Axis::X, steps),
          lineOf(program, atoms, scalars, Axis::Y, steps)};
}

} // namespace wsec::runtime
