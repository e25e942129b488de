// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/lower/CodeSpace.h"
#include "compiler/machine/Machine.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace wsec;

/// Buffers keep their alignment when they move.
static constexpr int64_t kAlignment = 16;

void lower::eraseUnusedScalars(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (isa<pe::ConstantOp, pe::ScalarOp>(op) && op.use_empty())
      op.erase();
}

LogicalResult lower::makeRoomForCode(pe::ClassOp op, const Machine &machine) {
  int64_t codeEnd = machine.runtimeBytes + pe::codeBytes(op);
  int64_t lowest = machine.sramBytes, highest = codeEnd;
  for (auto buffer : op.getOps<pe::BufferOp>()) {
    auto address = static_cast<int64_t>(*buffer.getAddress());
    lowest = std::min(lowest, address);
    highest = std::max<int64_t>(highest, address + buffer.getBytes());
  }
  if (codeEnd <= lowest && highest <= machine.sramBytes)
    return success();
  int64_t shift =
      llvm::alignTo(std::max<int64_t>(codeEnd - lowest, 0), kAlignment);
  if (highest + shift > machine.sramBytes)
    return op.emitOpError("SramOverflow: ")
           << pe::codeBytes(op) << " bytes of code and " << highest - lowest
           << " of buffers beside the host runtime's " << machine.runtimeBytes
           << " exceed the " << machine.sramBytes << " bytes of a PE of "
           << machine.name << "; use a larger mesh";
  for (auto buffer : op.getOps<pe::BufferOp>())
    buffer.setAddress(*buffer.getAddress() + shift);
  return success();
}
