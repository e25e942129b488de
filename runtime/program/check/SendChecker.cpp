// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/program/check/SendChecker.h"
#include "runtime/program/Ports.h"
#include "runtime/program/check/ColorUses.h"

#include <algorithm>
#include <bit>

namespace wsec::runtime {

namespace {

/// PEs of a row, a bit each.
using RowBits = std::vector<uint64_t>;

/// PEs whose routers may receive a color from the ramp.
class RampRoutes {
public:
  RampRoutes(const program::Program &program, ProofSteps &steps)
      : words((size_t(program.machine()->width()) + 63) / 64),
        height(size_t(program.machine()->height())), colors(256), steps(steps) {
    for (const program::RouteRule *rule : *program.routes())
      if (everReceives(*rule, program::Port::Ramp))
        add(*rule);
  }

  /// The first column among `columns` of row y without such a route, or -1.
  int64_t missing(int64_t color, const RowBits &columns, int64_t y) {
    const RowBits &bits = colors[size_t(color)];
    steps += int64_t(words);
    for (size_t i = 0; i < words; ++i) {
      const uint64_t here = bits.empty() ? 0 : bits[size_t(y) * words + i];
      if (const uint64_t lacking = columns[i] & ~here)
        return int64_t(i * 64) + std::countr_zero(lacking);
    }
    return -1;
  }

  /// Throws MissingRoute where a PE sends without one.
  void check(const ColorUse &use) {
    RowBits bits(words);
    for (int64_t x : use.xs)
      bits[size_t(x) / 64] |= uint64_t(1) << (x % 64);
    for (int64_t y : use.ys)
      if (const int64_t x = missing(use.color, bits, y); x >= 0)
        throw errorAt(ErrorClass::MissingRoute, use.where,
                      "sends on color " + std::to_string(use.color) +
                          " in PE (" + std::to_string(x) + ", " +
                          std::to_string(y) +
                          "), where no route of the color receives from the "
                          "ramp: add one, or do not send there");
  }

private:
  static bool everReceives(const program::RouteRule &rule, program::Port port) {
    bool found = rule.receive() == port;
    for (unsigned i = 0; i < furtherPositions(rule); ++i)
      found |= rule.positions()->Get(i)->receive() == int(port);
    return found;
  }

  void add(const program::RouteRule &rule) {
    RowBits &bits = colors[rule.color()];
    bits.resize(words * height);
    const program::Rect &rect = *rule.rect();
    const RowBits columns = columnsOf(rect);
    for (int64_t y = rect.y0(); y < rect.y1(); y += rect.ystep()) {
      steps += int64_t(words);
      for (size_t i = 0; i < words; ++i)
        bits[size_t(y) * words + i] |= columns[i];
    }
  }
  RowBits columnsOf(const program::Rect &rect) const {
    RowBits columns(words);
    for (int64_t x = rect.x0(); x < rect.x1(); x += rect.xstep())
      columns[size_t(x) / 64] |= uint64_t(1) << (x % 64);
    return columns;
  }

  size_t words, height;
  std::vector<RowBits> colors;
  ProofSteps &steps;
};

} // namespace

void checkSends(const program::Program &program) {
  ProofSteps steps;
  try {
    RampRoutes routes(program, steps);
    for (const program::PEClass *peClass : *program.classes())
      if (!setsRoutes(*peClass))
        forEachColorUse(*peClass, program, /*onlySends=*/true, steps,
                        [&](const ColorUse &use) { routes.check(use); });
  } catch (const NotUnderstood &) {
    // More than is checked in advance; engines look at every word that is sent.
  }
}

} // namespace wsec::runtime
