// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Caches that are written at places of their own: each place of the result is
// a row of the past or of what is written, looked up.
#include "compiler/infer/Operators.h"
#include "compiler/infer/Places.h"
#include "compiler/infer/States.h"

using namespace wsec::infer;

static bool tensorScatter(Node &node) {
  const Fact &past = node.input(0), &update = node.input(1);
  std::optional<int64_t> axis = node.axisAttr(past.rank());
  if (!axis)
    return false;
  if (*axis == 0)
    return node.fail("writes along its batch");
  Shape expected = past.shape;
  if (update.rank() == past.rank())
    expected[*axis] = std::min(expected[*axis], update.shape[*axis]);
  if (!node.hasShape(1, "an update", expected) ||
      !node.hasShape(2, "places", {past.shape[0]}))
    return false;
  return node.setOutput(unknown(past.type, past.shape));
}

Value wsec::infer::rowsWritten(Legalization &n, Value past, Value written,
                               Value start, int64_t axis, bool isCircular) {
  ArrayRef<int64_t> shape = shapeOf(past);
  const int64_t batch = shape[0], length = shape[axis];
  const int64_t between = numElements(shape.slice(1, axis - 1));
  const int64_t width = numElements(shape.drop_front(axis + 1));
  const int64_t count = shapeOf(written)[axis];
  const int64_t pastRows = batch * between * length;
  const int64_t all = pastRows + batch * between * count;
  Value table = n.concat({n.reshape(past, {pastRows, width}),
                          n.reshape(written, {all - pastRows, width})},
                         0);
  auto along = [&](int64_t d, int64_t extent, int64_t step) {
    return countAlong(n, ElementType::Int32, 3, d, extent, step);
  };
  // Which row of what is written: the place, from where it is written.
  Value row = along(2, length, 1), isInside;
  if (start) {
    start = n.reshape(asI32(n, start), {batch, 1, 1});
    row = n.sub(row, start);
    if (isCircular) {
      row = n.mod(row, double(length));
    } else {
      // What is written has to end on the cache.
      Value fits = n.less(start, double(length - count + 1));
      Value negative = n.less(start, 0.0);
      isInside = n.logicalAnd(fits, n.logicalNot(negative));
    }
  }
  Value isWritten =
      n.logicalAnd(n.less(row, double(count)), n.logicalNot(n.less(row, 0.0)));
  auto rowsBefore = [&](int64_t each) {
    return n.add(along(0, batch, between * each), along(1, between, each));
  };
  Value kept = n.add(rowsBefore(length), along(2, length, 1));
  Value replaced = n.add(n.add(row, double(pastRows)), rowsBefore(count));
  Value places = n.where(isWritten, replaced, kept);
  // A place outside of the table ends the run.
  if (isInside)
    places = n.where(isInside, places, n.scalarLike(places, double(all)));
  return n.reshape(rowsAt(n, table, places), shape);
}

static bool tensorScatter(Legalization &n) {
  const int64_t axis = *n.node().axisAttr(shapeOf(n.input(0)).size());
  const bool isCircular = n.node().stringAttr("mode") == "circular";
  auto write = isOfState(n.input(0)) ? updateState : rowsWritten;
  Value present =
      write(n, n.input(0), n.input(1), n.optional(2), axis, isCircular);
  return present && n.replace(present);
}

llvm::ArrayRef<Operator> wsec::infer::cachesOperators() {
  static const Operator operators[] = {
      {"TensorScatter", tensorScatter, tensorScatter,
       "axis mode=linear|circular"},
  };
  return operators;
}
