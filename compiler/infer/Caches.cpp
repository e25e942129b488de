// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Caches that are written at places of their own: each place of the result is
// a row of the past or of what is written, looked up.
#include "compiler/infer/Operators.h"
#include "compiler/infer/Places.h"
#include "compiler/infer/States.h"

using namespace mlir;
using namespace wsec;
using namespace wsec::infer;
using namespace wsec::values;
using onnx::BinaryKind;
using onnx::UnaryKind;

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
  node.outputs[0] = unknown(past.type, past.shape);
  return true;
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
    row = n.binary(BinaryKind::Sub, row, start);
    if (isCircular) {
      row = n.binary(BinaryKind::Mod, row, double(length));
    } else {
      // What is written has to end on the cache.
      Value fits =
          n.binary(BinaryKind::Less, start, double(length - count + 1));
      Value negative = n.binary(BinaryKind::Less, start, 0.0);
      isInside =
          n.binary(BinaryKind::And, fits, n.unary(UnaryKind::Not, negative));
    }
  }
  Value isWritten =
      n.binary(BinaryKind::And, n.binary(BinaryKind::Less, row, double(count)),
               n.unary(UnaryKind::Not, n.binary(BinaryKind::Less, row, 0.0)));
  auto rowsBefore = [&](int64_t each) {
    return n.binary(BinaryKind::Add, along(0, batch, between * each),
                    along(1, between, each));
  };
  Value kept =
      n.binary(BinaryKind::Add, rowsBefore(length), along(2, length, 1));
  Value replaced = n.binary(BinaryKind::Add,
                            n.binary(BinaryKind::Add, row, double(pastRows)),
                            rowsBefore(count));
  Value places = n.where(isWritten, replaced, kept);
  // A place outside of the table ends the run.
  if (isInside)
    places = n.where(isInside, places,
                     scalarLike(n.builder(), n.loc(), places, double(all)));
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
