// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/program/KindMesh.h"

namespace wsec::runtime {

namespace {

using program::Port;
using Axis = AxisScalars::Axis;

struct Span {
  int begin, end, step;
};
Span spanOf(const program::Rect &rect, Axis axis) {
  if (axis == Axis::X)
    return {rect.x0(), rect.x1(), rect.xstep()};
  return {rect.y0(), rect.y1(), rect.ystep()};
}

/// Whether words travel along the axis.
bool hasLinks(const program::Program &program, Axis axis) {
  Port one = axis == Axis::X ? Port::East : Port::North;
  Port other = axis == Axis::X ? Port::West : Port::South;
  unsigned ports = 1u << unsigned(one) | 1u << unsigned(other);
  for (const program::RouteRule *rule : *program.routes())
    if (rule->transmit() & ports)
      return true;
  return false;
}

/// Numbers equal keys equally, in the order they are first met.
std::vector<size_t> number(const std::vector<std::vector<int64_t>> &keys) {
  std::map<std::vector<int64_t>, size_t> numbers;
  std::vector<size_t> result;
  for (const std::vector<int64_t> &key : keys)
    result.push_back(numbers.try_emplace(key, numbers.size()).first->second);
  return result;
}

/// Splits kinds until neighbours of a kind are of one kind.
void refine(std::vector<size_t> &kind) {
  for (size_t count = 0;;) {
    std::vector<std::vector<int64_t>> keys;
    for (size_t i = 0; i < kind.size(); ++i)
      keys.push_back({int64_t(kind[i]), i > 0 ? int64_t(kind[i - 1]) : -1,
                      i + 1 < kind.size() ? int64_t(kind[i + 1]) : -1});
    kind = number(keys);
    size_t now = std::set<size_t>(kind.begin(), kind.end()).size();
    if (now == count)
      return;
    count = now;
  }
}

KindMesh::Line lineOf(const program::Program &program,
                      const std::vector<std::set<int>> &atoms,
                      const std::vector<AxisScalars> &scalars, Axis axis) {
  const program::Machine &machine = *program.machine();
  std::vector<std::vector<int64_t>> keys(
      size_t(axis == Axis::X ? machine.width() : machine.height()));
  auto cover = [&](const program::Rect &rect, auto add) {
    Span span = spanOf(rect, axis);
    for (int i = span.begin; i < span.end; i += span.step)
      add(keys[size_t(i)], i);
  };
  int64_t number = 0;
  for (const program::RouteRule *rule : *program.routes()) {
    cover(*rule->rect(), [&](auto &key, int) { key.push_back(number); });
    ++number;
  }
  for (unsigned c = 0; c < program.classes()->size(); ++c)
    for (const program::Rect *rect : *program.classes()->Get(c)->rects()) {
      cover(*rect, [&](auto &key, int position) {
        key.push_back(number);
        for (int atom : atoms[c])
          if (scalars[c].axes(atom) == axis)
            key.push_back(scalars[c].along(atom, axis, position));
      });
      ++number;
    }
  KindMesh::Line line;
  line.kind = wsec::runtime::number(keys);
  if (hasLinks(program, axis))
    refine(line.kind);
  for (size_t i = 0; i < line.kind.size(); ++i)
    if (line.kind[i] == line.representative.size())
      line.representative.push_back(int64_t(i));
  return line;
}

} // namespace

std::string KindMesh::Line::describe(size_t of) const {
  std::string text;
  for (size_t i = 0; i < kind.size(); ++i) {
    if (kind[i] != of)
      continue;
    size_t end = i;
    while (end + 1 < kind.size() && kind[end + 1] == of)
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
                    const std::vector<AxisScalars> &scalars) {
  return {lineOf(program, atoms, scalars, Axis::X),
          lineOf(program, atoms, scalars, Axis::Y)};
}

} // namespace wsec::runtime
