// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/kernels/code/ScalarBuilder.h"

#include "runtime/program/Scalars.h"

using namespace mlir;

namespace wsec {

using pe::ScalarKind;

ScalarBuilder::ScalarBuilder(Block *block, Location loc, const Machine &region,
                             bool everywhere)
    : builder(loc.getContext()), block(block), loc(loc), region(region),
      everywhere(everywhere) {}

std::optional<int64_t> ScalarBuilder::known(Value scalar) {
  if (auto constant = scalar.getDefiningOp<pe::ConstantOp>())
    return constant.getValue();
  return std::nullopt;
}

/// The value of `kind` for known inputs; nothing where a PE would refuse.
static std::optional<int64_t> evaluate(ScalarKind kind, ArrayRef<int64_t> in) {
  const bool divides = kind == ScalarKind::Div || kind == ScalarKind::Mod;
  if (in.empty() || (divides && in[1] == 0))
    return std::nullopt;
  const program::ScalarNode node(static_cast<program::ScalarOp>(kind), 0, 1, 2);
  return runtime::evaluateNode(node, in.data(), 0, 0);
}

/// What `create` makes, behind the scalars made so far.
template <typename Create>
Value ScalarBuilder::append(Create create) {
  if (last)
    builder.setInsertionPointAfter(last);
  else
    builder.setInsertionPointToStart(block);
  last = create(pe::ScalarType::get(loc.getContext()));
  numbers[last->getResult(0)] = numbers.size();
  return last->getResult(0);
}

Value ScalarBuilder::constant(int64_t value) {
  Value &result = constants[value];
  if (!result)
    result = append([&](Type type) {
      return pe::ConstantOp::create(builder, loc, type,
                                    builder.getI64IntegerAttr(value));
    });
  return result;
}

Value ScalarBuilder::get(ScalarKind kind, ArrayRef<Value> inputs) {
  SmallVector<int64_t> values;
  for (Value input : inputs)
    if (std::optional<int64_t> value = known(input))
      values.push_back(*value);
  if (values.size() == inputs.size())
    if (std::optional<int64_t> value = evaluate(kind, values))
      return constant(*value);

  std::vector<int64_t> key = {int64_t(kind)};
  for (Value input : inputs)
    key.push_back(numbers.lookup(input));
  Value &result = made[key];
  if (!result)
    result = append([&](Type type) {
      return pe::ScalarOp::create(builder, loc, type, kind, inputs);
    });
  return result;
}

static pe::ScalarOp scalarOf(Value value, ScalarKind kind) {
  auto op = value.getDefiningOp<pe::ScalarOp>();
  return op && op.getKind() == kind ? op : pe::ScalarOp();
}

static bool isNotOf(Value value, Value other) {
  auto negated = scalarOf(value, ScalarKind::Not);
  if (!negated)
    return false;
  Value input = negated.getInputs()[0];
  auto sum = scalarOf(input, ScalarKind::Add);
  return input == other || (sum && llvm::is_contained(sum.getInputs(), other));
}

bool ScalarBuilder::excludes(Value a, Value b) {
  if (isNotOf(a, b) || isNotOf(b, a))
    return true;
  auto one = scalarOf(a, ScalarKind::Equal),
       two = scalarOf(b, ScalarKind::Equal);
  if (!one || !two || one.getInputs()[0] != two.getInputs()[0])
    return false;
  std::optional<int64_t> some = known(one.getInputs()[1]);
  std::optional<int64_t> other = known(two.getInputs()[1]);
  return some && other && *some != *other;
}

Value ScalarBuilder::coordinate(ScalarKind kind, int64_t begin, int64_t extent,
                                int64_t meshExtent) {
  if (extent == 1)
    return constant(0);
  Value inRegion = sub(get(kind, {}), begin);
  if (everywhere && begin > 0)
    inRegion = max(inRegion, 0);
  if (everywhere && begin + extent < meshExtent)
    inRegion = min(inRegion, extent - 1);
  return inRegion;
}
Value ScalarBuilder::px() {
  return coordinate(ScalarKind::Px, region.x, region.width, region.meshWidth);
}
Value ScalarBuilder::py() {
  return coordinate(ScalarKind::Py, region.y, region.height, region.meshHeight);
}
Value ScalarBuilder::pyOfMesh() {
  return region.height == 1 ? constant(region.y) : get(ScalarKind::Py, {});
}

Value ScalarBuilder::inColumns() {
  Value inside = constant(1);
  if (region.x > 0)
    inside = less(region.x - 1, get(ScalarKind::Px, {}));
  int64_t end = region.x + region.width;
  if (end < region.meshWidth)
    inside = logicalAnd(inside, less(get(ScalarKind::Px, {}), end));
  return inside;
}

Value ScalarBuilder::channelRowOfMesh(Value channel) {
  int64_t rows = region.meshHeight ? region.meshHeight : region.height;
  return tileStart(rows, region.channelsOfMesh(),
                   add(channel, region.firstChannel()));
}
Value ScalarBuilder::channelOfRow() {
  int64_t rows = region.meshHeight ? region.meshHeight : region.height;
  return sub(tileIndex(rows, region.channelsOfMesh(), pyOfMesh()),
             region.firstChannel());
}

Value ScalarBuilder::add(Value a, Value b) {
  if (is(a, 0))
    return b;
  return is(b, 0) ? a : get(ScalarKind::Add, {a, b});
}
Value ScalarBuilder::sub(Value a, Value b) {
  return is(b, 0) ? a : get(ScalarKind::Sub, {a, b});
}
Value ScalarBuilder::mul(Value a, Value b) {
  if (is(a, 0) || is(b, 1))
    return a;
  return is(b, 0) || is(a, 1) ? b : get(ScalarKind::Mul, {a, b});
}
Value ScalarBuilder::div(Value a, Value b) {
  return is(b, 1) ? a : get(ScalarKind::Div, {a, b});
}
Value ScalarBuilder::mod(Value a, Value b) {
  return is(b, 1) ? constant(0) : get(ScalarKind::Mod, {a, b});
}
Value ScalarBuilder::min(Value a, Value b) {
  return a == b ? a : get(ScalarKind::Min, {a, b});
}
Value ScalarBuilder::max(Value a, Value b) {
  return a == b ? a : get(ScalarKind::Max, {a, b});
}
Value ScalarBuilder::equal(Value a, Value b) {
  return get(ScalarKind::Equal, {a, b});
}
Value ScalarBuilder::less(Value a, Value b) {
  return get(ScalarKind::Less, {a, b});
}

Value ScalarBuilder::logicalAnd(Value a, Value b) {
  if (is(a, 0) || is(b, 0))
    return constant(0);
  if (known(a))
    return b;
  return known(b) || a == b ? a : get(ScalarKind::And, {a, b});
}
Value ScalarBuilder::logicalNot(Value a) { return get(ScalarKind::Not, {a}); }

Value ScalarBuilder::tileStart(int64_t elements, int64_t parts, Value part) {
  if (elements % parts == 0)
    return mul(part, elements / parts);
  return get(ScalarKind::TileStart,
             {constant(elements), constant(parts), part});
}
Value ScalarBuilder::tileSize(int64_t elements, int64_t parts, Value part) {
  return get(ScalarKind::TileSize, {constant(elements), constant(parts), part});
}
Value ScalarBuilder::tileIndex(int64_t elements, int64_t parts, Value element) {
  return get(ScalarKind::TileIndex,
             {constant(elements), constant(parts), element});
}
Value ScalarBuilder::spreadStart(int64_t elements, int64_t parts, Value part) {
  return add(mul(part, elements / parts),
             div(mul(part, elements % parts), constant(parts)));
}
// The remainder of the start is short of the next element by less than what a
// part adds to it. So written, the checker sees that no part is larger.
Value ScalarBuilder::spreadSize(int64_t elements, int64_t parts, Value part) {
  int64_t more = elements % parts;
  if (more == 0)
    return constant(elements / parts);
  Value isLarger =
      less(parts - more - 1, mod(mul(part, more), constant(parts)));
  return add(isLarger, elements / parts);
}

} // namespace wsec
