// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/program/Scalars.h"

#include "runtime/program/check/ScalarChecker.h"

#include <algorithm>

namespace wsec::runtime {

/// Wraps: code computes with whatever numbers it finds.
static int64_t multiply(int64_t a, int64_t b) {
  return int64_t(uint64_t(a) * uint64_t(b));
}

int64_t tileStart(int64_t n, int64_t p, int64_t i) {
  return int64_t(uint64_t(multiply(i, n / p)) + uint64_t(std::min(i, n % p)));
}

int64_t tileSize(int64_t n, int64_t p, int64_t i) {
  if (i < 0 || i >= p)
    return 0;
  return n / p + (i < n % p);
}

int64_t tileIndex(int64_t n, int64_t p, int64_t e) {
  if (e < 0)
    return -1;
  if (e >= n)
    return p;
  int64_t small = n / p, large = n % p;
  if (e < large * (small + 1))
    return e / (small + 1);
  return large + (e - large * (small + 1)) / small;
}

int64_t evaluateNode(const program::ScalarNode &node, const int64_t *earlier,
                     int64_t x, int64_t y, const int64_t *arguments) {
  using program::ScalarOp;
  auto a = [&] { return earlier[node.a()]; };
  auto b = [&] { return earlier[node.b()]; };
  auto c = [&] { return earlier[node.c()]; };
  switch (node.op()) {
  case ScalarOp::Constant:
    return node.a();
  case ScalarOp::Argument:
    return arguments[node.a()];
  case ScalarOp::Px:
    return x;
  case ScalarOp::Py:
    return y;
  case ScalarOp::Add:
    return a() + b();
  case ScalarOp::Sub:
    return a() - b();
  case ScalarOp::Mul:
    return multiply(a(), b());
  case ScalarOp::Div:
    return a() / b();
  case ScalarOp::Mod:
    return a() % b();
  case ScalarOp::Min:
    return std::min(a(), b());
  case ScalarOp::Max:
    return std::max(a(), b());
  case ScalarOp::Equal:
    return a() == b();
  case ScalarOp::Less:
    return a() < b();
  case ScalarOp::And:
    return a() != 0 && b() != 0;
  case ScalarOp::Or:
    return a() != 0 || b() != 0;
  case ScalarOp::Not:
    return a() == 0;
  case ScalarOp::TileStart:
    return tileStart(a(), b(), c());
  case ScalarOp::TileSize:
    return tileSize(a(), b(), c());
  case ScalarOp::TileIndex:
    return tileIndex(a(), b(), c());
  case ScalarOp::BitAnd:
    return int32_t(a() & b());
  case ScalarOp::BitOr:
    return int32_t(a() | b());
  case ScalarOp::BitXor:
    return int32_t(a() ^ b());
  case ScalarOp::ShiftLeft:
    return int32_t(uint32_t(a()) << (b() & 31));
  case ScalarOp::ShiftRight:
    return int32_t(a()) >> (b() & 31);
  }
  return 0;
}

void evaluateScalars(const ScalarList *nodes, int64_t x, int64_t y,
                     std::vector<int64_t> &values, const int64_t *arguments) {
  values.resize(nodes ? nodes->size() : 0);
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = evaluateNode(*nodes->Get(i), values.data(), x, y, arguments);
}

bool dependsOnArguments(const program::HostStream &stream) {
  return stream.scalars() &&
         std::any_of(stream.scalars()->begin(), stream.scalars()->end(),
                     [](const program::ScalarNode *node) {
                       return node->op() == program::ScalarOp::Argument;
                     });
}

int64_t evaluateAffine(const program::Affine &affine,
                       const std::vector<int64_t> &scalars) {
  int64_t value = affine.constant();
  if (affine.terms())
    for (const program::Term *term : *affine.terms())
      value += term->scale() * scalars[term->index()];
  return value;
}

std::vector<uint8_t> axesOf(const ScalarList *nodes) {
  std::vector<uint8_t> axes;
  for (unsigned i = 0; nodes && i < nodes->size(); ++i) {
    const program::ScalarNode &node = *nodes->Get(i);
    const int32_t operands[] = {node.a(), node.b(), node.c()};
    uint8_t its = node.op() == program::ScalarOp::Px   ? AxisX
                  : node.op() == program::ScalarOp::Py ? AxisY
                                                       : NoAxis;
    for (int k = 0; k < operandCount(node.op()); ++k)
      its |= axes[size_t(operands[k])];
    axes.push_back(its);
  }
  return axes;
}

uint8_t axesOf(const program::Affine &affine,
               const std::vector<uint8_t> &axes) {
  uint8_t its = NoAxis;
  if (affine.terms())
    for (const program::Term *term : *affine.terms())
      its |= axes[size_t(term->index())];
  return its;
}

bool isSeparable(const program::Segment &segment,
                 const std::vector<uint8_t> &axes) {
  if (axesOf(*segment.lines(), axes) != NoAxis)
    return false;
  for (const program::Affine *extent : *segment.extents())
    if (axesOf(*extent, axes) == BothAxes)
      return false;
  if (segment.offset()->terms())
    for (const program::Term *term : *segment.offset()->terms())
      if (axes[size_t(term->index())] == BothAxes)
        return false;
  return true;
}

} // namespace wsec::runtime
