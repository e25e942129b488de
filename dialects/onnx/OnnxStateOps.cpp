// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operators on caches that are states.
#include "dialects/onnx/OnnxVerify.h"

using namespace mlir;
using namespace wsec;
using namespace wsec::onnx;

static LogicalResult verifyPosition(Operation *op, Value position,
                                    int64_t batch) {
  if (shapeOf(position) == ArrayRef<int64_t>{batch} &&
      elementOf(position).isInteger())
    return success();
  return withMaker(op->emitOpError() << "position is " << position.getType()
                                     << ", expected " << batch << " integers",
                   position);
}

LogicalResult UpdateOp::verify() {
  ArrayRef<int64_t> present = shapeOf(getPresent()), past = shapeOf(getPast()),
                    value = shapeOf(getValue());
  const bool fits =
      present.size() == 3 &&
      (past == present ||
       (past.size() == 4 && past[0] == present[0] && past[2] == present[1] &&
        past[1] * past[3] == present[2]));
  if (!fits) // C1
    return withMaker(emitOpError()
                         << "past is " << getPast().getType()
                         << " for a result " << getPresent().getType()
                         << ", expected [batch, capacity, features] or "
                            "[batch, heads, capacity, size]",
                     getPast());
  if (value.size() != 3 || value[0] != present[0] || value[2] != present[2] ||
      value[1] < 1 || value[1] > present[1] ||
      llvm::any_of(ValueRange{getPast(), getValue(), getPresent()},
                   [](Value its) { return !elementOf(its).isF32(); })) // C2
    return withMaker(emitOpError()
                         << "writes " << getValue().getType()
                         << ", expected f32 [" << present[0] << ", 1 to "
                         << present[1] << ", " << present[2] << "]",
                     getValue());
  return verifyPosition(*this, getPosition(), present[0]); // C3
}

LogicalResult CachedAttentionOp::verify() {
  ArrayRef<int64_t> q = shapeOf(getQ()), keys = shapeOf(getKeys()),
                    values = shapeOf(getValues());
  if (q.size() != 3 || keys.size() != 3 || values.size() != 3 ||
      q[0] != keys[0] || q[0] != values[0] || keys[1] != values[1]) // C1
    return withMaker(
        emitOpError("needs q, keys and values of rank 3 and equal batch, "
                    "the last two of equal tokens, found ")
            << getQ().getType() << ", " << getKeys().getType() << ", "
            << getValues().getType(),
        getKeys());
  const int64_t heads = getNumHeads(), shared = getKvHeads();
  if (heads < 1 || shared < 1 || heads % shared != 0 || q[2] % heads != 0 ||
      keys[2] % shared != 0 || values[2] % shared != 0 ||
      q[2] / heads != keys[2] / shared) // C2
    return withMaker(emitOpError() << q[2] << ", " << keys[2] << " and "
                                   << values[2] << " features are not those of "
                                   << heads << " and " << shared << " heads",
                     getKeys());
  if (failed(verifyPosition(*this, getPosition(), q[0]))) // C3
    return failure();
  if (getSoftcap() && !(getSoftcap()->convertToDouble() > 0)) // C5
    return emitOpError("bounds scores by ")
           << getSoftcap()->convertToDouble() << ", expected a positive number";
  if (getChunked() && !getSlidingWindow()) // C7
    return emitOpError("is chunked, expected a sliding_window");
  if (getSinks() && shapeOf(getSinks()) != ArrayRef<int64_t>(heads)) // C6
    return withMaker(emitOpError("needs one sink for each of ")
                         << heads << " heads, found " << getSinks().getType(),
                     getSinks());
  return expectType(*this, "result", getY(),
                    {q[0], q[1], values[2] / shared * heads},
                    elementOf(getQ())); // C4
}
