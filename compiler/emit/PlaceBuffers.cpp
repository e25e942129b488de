// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Addresses for buffers of hand-written programs that leave them open.

#include "compiler/emit/Translation.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace wsec::emit {

/// Every buffer starts at a new word of the widest memory access.
static constexpr uint64_t kAlignment = 16;

static LogicalResult placeInClass(pe::ClassOp op, uint64_t runtimeBytes,
                                  program::PEClassT &table) {
  uint64_t next = runtimeBytes + table.code_bytes;
  auto buffers = llvm::to_vector(op.getOps<pe::BufferOp>());
  for (const auto &[buffer, placed] : llvm::zip_equal(buffers, table.buffers))
    if (buffer.getAddress())
      next = std::max(next, uint64_t(placed->address) + placed->bytes);
  for (const auto &[buffer, placed] : llvm::zip_equal(buffers, table.buffers)) {
    if (buffer.getAddress())
      continue;
    Narrower narrow(buffer);
    next = llvm::alignTo(next, kAlignment);
    placed->address = narrow.to<uint32_t>(next, "address");
    next += placed->bytes;
    if (narrow.hasFailed())
      return failure();
  }
  return success();
}

LogicalResult placeBuffers(pe::ProgramOp op, program::ProgramT &result) {
  for (auto [peClass, table] :
       llvm::zip_equal(op.getOps<pe::ClassOp>(), result.classes))
    if (failed(placeInClass(peClass, result.machine->runtime_bytes, *table)))
      return failure();
  return success();
}

} // namespace wsec::emit
