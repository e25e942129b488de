// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/program/proof/RouteTable.h"
#include "runtime/program/Ports.h"

#include <algorithm>
#include <string_view>
#include <tuple>

namespace wsec::runtime {

using program::Port;
using Axis = AxisScalars::Axis;

ColorRules &RouteTable::of(int64_t color, Axis axis) {
  auto [at, isNew] = known.try_emplace({color, int(axis)});
  if (isNew)
    sort(at->second, color, axis);
  return at->second;
}

void RouteTable::sort(ColorRules &rules, int64_t color, Axis axis) const {
  constexpr unsigned eastWest =
      1u << unsigned(Port::East) | 1u << unsigned(Port::West);
  constexpr unsigned northSouth =
      1u << unsigned(Port::North) | 1u << unsigned(Port::South);
  auto portsOf = [](const program::RouteRule &rule) {
    return rule.transmit() | 1u << unsigned(rule.receive());
  };
  for (const program::RouteRule *rule : *program.routes())
    rules.turn |= rule->color() == color && (portsOf(*rule) & eastWest) &&
                  (portsOf(*rule) & northSouth);
  for (const program::RouteRule *rule : *program.routes()) {
    if (rule->color() != color)
      continue;
    rules.enters |= rule->receive() == Port::West && rule->rect()->x0() == 0;
    if (rule->positions() && rule->positions()->size() > 0)
      rules.problem = "has switch positions";
    if (rules.turn) {
      rules.mine.push_back(rule);
      continue;
    }
    const unsigned ports = portsOf(*rule);
    // From a PE to itself: counts as a row.
    bool row = !(ports & northSouth);
    (row == (axis == Axis::X) ? rules.mine : rules.foreign).push_back(rule);
  }
  if (rules.mine.empty() && !rules.foreign.empty())
    return; // nothing to follow
  rules.kindOfX = kindsOf(rules, Axis::X);
  rules.kindOfY = kindsOf(rules, Axis::Y);
  Axis cross = axis == Axis::X ? Axis::Y : Axis::X;
  rules.met.resize(
      (cross == Axis::X ? rules.kindOfX : rules.kindOfY).of.size());
  uint32_t number = 0;
  for (const auto *list : {&rules.mine, &rules.foreign})
    for (const program::RouteRule *rule : *list) {
      Span span = spanOf(*rule->rect(), cross);
      for (int i = span.begin; i < span.end; i += span.step, ++steps)
        rules.met[size_t(i)].push_back(number);
      ++number;
    }
}

/// Positions of an axis have the same settings if the rules they lie in set the
/// same on the same stretches of the other axis.
AxisKinds RouteTable::kindsOf(const ColorRules &rules, Axis which) const {
  const program::Machine &machine = *program.machine();
  std::vector<std::u32string> settings(
      size_t(which == Axis::X ? machine.width() : machine.height()));
  std::map<std::tuple<int, int, int, int>, char32_t> numbers;
  auto add = [&](const program::RouteRule &rule, int setting) {
    Span across = spanOf(*rule.rect(), which == Axis::X ? Axis::Y : Axis::X);
    char32_t number =
        numbers
            .try_emplace({across.begin, across.end, across.step, setting},
                         char32_t(numbers.size()))
            .first->second;
    Span span = spanOf(*rule.rect(), which);
    for (int i = span.begin; i < span.end; i += span.step, ++steps)
      settings[size_t(i)].push_back(number);
  };
  for (const program::RouteRule *rule : rules.mine)
    add(*rule, rule->transmit() << 8 | int(rule->receive()));
  for (const program::RouteRule *rule : rules.foreign)
    add(*rule, -1);
  for (std::u32string &here : settings)
    std::sort(here.begin(), here.end());
  return kindsBy(settings.size(),
                 [&](size_t i) { return std::u32string_view(settings[i]); });
}

} // namespace wsec::runtime
