// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/program/Intervals.h"

#include "absl/numeric/int128.h"

#include <algorithm>

namespace wsec::runtime {

namespace {

/// Hull of values computed with 128 bits, if it is within the limit.
std::optional<Interval> hull(std::initializer_list<absl::int128> values) {
  absl::int128 low = *values.begin(), high = low;
  for (absl::int128 value : values) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  if (low < -largestScalar || high > largestScalar)
    return std::nullopt;
  return Interval{int64_t(low), int64_t(high)};
}

/// Quotients towards zero by every divisor except zero: the extremes are at the
/// ends and at the divisors next to zero.
std::optional<Interval> divide(Interval a, Interval b) {
  std::optional<Interval> result;
  for (int64_t divisor : {b.low, b.high, int64_t(-1), int64_t(1)}) {
    if (divisor == 0 || divisor < b.low || divisor > b.high)
      continue;
    int64_t low = a.low / divisor, high = a.high / divisor;
    if (!result)
      result = Interval{low, low};
    result->low = std::min({result->low, low, high});
    result->high = std::max({result->high, low, high});
  }
  // Without a result the only divisor is zero, which is refused elsewhere.
  return result ? result : Interval{0, 0};
}

/// Remainders have the sign of the dividend and less than the divisor's size.
Interval remainder(Interval a, Interval b) {
  int64_t limit =
      std::max<int64_t>(0, std::max(std::abs(b.low), std::abs(b.high)) - 1);
  if (a.low >= 0 && b.exact() && b.low > a.high)
    return a;
  return {a.low < 0 ? -std::min(limit, -a.low) : 0,
          a.high > 0 ? std::min(limit, a.high) : 0};
}

/// Tilings are monotone in the part (or element) when n and p are constants.
std::optional<Interval> tileStartInterval(Interval n, Interval p, Interval i) {
  if (n.exact() && p.exact() && n.low >= 0 && p.low >= 1)
    return hull(
        {absl::int128(i.low) * (n.low / p.low) + std::min(i.low, n.low % p.low),
         absl::int128(i.high) * (n.low / p.low) +
             std::min(i.high, n.low % p.low)});
  absl::int128 largest =
      std::max<int64_t>(0, n.high) / std::max<int64_t>(1, p.low) + 1;
  return hull({0, i.low * largest, i.high * largest});
}

Interval tileSizeInterval(Interval n, Interval p, Interval i) {
  int64_t parts = std::max<int64_t>(1, p.low);
  if (n.exact() && p.exact() && i.low >= 0 && i.high < p.low)
    return {tileSize(n.low, p.low, i.high), tileSize(n.low, p.low, i.low)};
  int64_t largest = n.high > 0 ? (n.high - 1) / parts + 1 : 0;
  return {0, largest};
}

Interval tileIndexInterval(Interval n, Interval p, Interval e) {
  if (n.exact() && p.exact() && p.low >= 1)
    return {tileIndex(n.low, p.low, e.low), tileIndex(n.low, p.low, e.high)};
  return {-1, std::max<int64_t>(0, p.high)};
}

} // namespace

std::optional<Interval> addIntervals(Interval a, Interval b) {
  return hull({absl::int128(a.low) + b.low, absl::int128(a.high) + b.high});
}

std::optional<Interval> multiplyIntervals(Interval a, Interval b) {
  return hull({absl::int128(a.low) * b.low, absl::int128(a.low) * b.high,
               absl::int128(a.high) * b.low, absl::int128(a.high) * b.high});
}

std::optional<Interval> nodeInterval(const program::ScalarNode &node,
                                     const std::vector<Interval> &earlier,
                                     Interval x, Interval y) {
  using program::ScalarOp;
  auto a = [&] { return earlier[node.a()]; };
  auto b = [&] { return earlier[node.b()]; };
  auto c = [&] { return earlier[node.c()]; };
  switch (node.op()) {
  case ScalarOp::Constant:
    return Interval{node.a(), node.a()};
  case ScalarOp::Argument:
    return std::nullopt; // who has arguments knows their ranges
  case ScalarOp::Px:
    return x;
  case ScalarOp::Py:
    return y;
  case ScalarOp::Add:
    return addIntervals(a(), b());
  case ScalarOp::Sub:
    return addIntervals(a(), {-b().high, -b().low});
  case ScalarOp::Mul:
    return multiplyIntervals(a(), b());
  case ScalarOp::Div:
    return divide(a(), b());
  case ScalarOp::Mod:
    return remainder(a(), b());
  case ScalarOp::Min:
    return Interval{std::min(a().low, b().low), std::min(a().high, b().high)};
  case ScalarOp::Max:
    return Interval{std::max(a().low, b().low), std::max(a().high, b().high)};
  case ScalarOp::TileStart:
    return tileStartInterval(a(), b(), c());
  case ScalarOp::TileSize:
    return tileSizeInterval(a(), b(), c());
  case ScalarOp::TileIndex:
    return tileIndexInterval(a(), b(), c());
  case ScalarOp::Equal:
  case ScalarOp::Less:
  case ScalarOp::And:
  case ScalarOp::Or:
  case ScalarOp::Not:
    return Interval{0, 1};
  case ScalarOp::BitAnd:
  case ScalarOp::BitOr:
  case ScalarOp::BitXor:
  case ScalarOp::ShiftLeft:
  case ScalarOp::ShiftRight:
    return Interval{INT32_MIN, INT32_MAX};
  }
  return std::nullopt;
}

std::optional<Interval> affineInterval(const program::Affine &affine,
                                       const std::vector<Interval> &scalars,
                                       const std::vector<Interval> &loops,
                                       const LocalIntervals &locals) {
  std::optional<Interval> sum =
      hull({absl::int128(affine.constant()), absl::int128(affine.constant())});
  if (!affine.terms())
    return sum;
  for (const program::Term *term : *affine.terms()) {
    Interval range =
        term->kind() == program::TermKind::Local  ? locals.at(term->index())
        : term->kind() == program::TermKind::Loop ? loops[term->index()]
                                                  : scalars[term->index()];
    Interval scale{term->scale(), term->scale()};
    auto product = multiplyIntervals(range, scale);
    if (!sum || !product)
      return std::nullopt;
    sum = addIntervals(*sum, *product);
  }
  return sum;
}

} // namespace wsec::runtime
